//! Several numbers in a word, as people type them: `64..1M`, `1..8`, `1,2,..8`.
//!
//! Sizes go by four, as studies of sizes do, where four reaches the end, and by two otherwise; other numbers go one by one.
//! After two or more numbers `..8` goes on as they began.

/// More are a mistake, or another experiment.
const MOST: usize = 1024;

/// `from..to` of sizes.
pub fn sizes(from: u64, to: u64) -> Result<Vec<u64>, String> {
    by_factor(from, to, 4).or_else(|| by_factor(from, to, 2)).ok_or_else(|| {
        format!("doubling {from} does not reach {to}: name an end that it reaches, or each value")
    })
}

/// `from..to` of other numbers.
pub fn numbers(from: u64, to: u64) -> Result<Vec<u64>, String> {
    by_step(from, to, 1).ok_or_else(|| format!("{from} to {to} is no range of at most {MOST} numbers"))
}

/// What `..to` adds to the numbers before it: by their factor where it reaches the end, else by their step.
pub fn onward(before: &[u64], to: u64) -> Result<Vec<u64>, String> {
    let [.., a, b] = *before else { return Err("write two numbers before it: 1,2,..8".into()) };
    let factor = (a > 0 && b % a == 0).then(|| b / a);
    let all =
        factor.and_then(|factor| by_factor(b, to, factor)).or_else(|| by_step(b, to, b.checked_sub(a)?));
    all.map(|all| all[1..].to_vec())
        .ok_or_else(|| format!("neither {a}, {b} multiplied on nor counted on reaches {to}"))
}

fn by_factor(from: u64, to: u64, factor: u64) -> Option<Vec<u64>> {
    if from == 0 || factor < 2 {
        return None;
    }
    let all: Vec<u64> =
        std::iter::successors(Some(from), |n| n.checked_mul(factor)).take_while(|n| *n <= to).collect();
    (all.last() == Some(&to)).then_some(all)
}

fn by_step(from: u64, to: u64, step: u64) -> Option<Vec<u64>> {
    let reached = step > 0 && from <= to && (to - from) % step == 0 && (to - from) / step < MOST as u64;
    reached.then(|| (0..=(to - from) / step).map(|n| from + n * step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::{Axis, IntAxis, Value, suggest};

    #[test]
    fn a_list_of_values_takes_ranges_and_suffixes() {
        let sizes = IntAxis::new("size").bytes(1, 1 << 30);
        let threads = IntAxis::new("threads").count(1, 1_000_000);
        let of = |axis: Axis, text: &str| {
            axis.parse_values(text).map(|all| all.iter().filter_map(Value::as_int).collect::<Vec<_>>())
        };
        assert_eq!(of(sizes, "64,1K..16K"), Ok(vec![64, 1024, 4096, 16384]));
        assert_eq!(of(threads, "1,2,..8,10k"), Ok(vec![1, 2, 4, 8, 10_000]));
        assert_eq!(of(threads, "1..3"), Ok(vec![1, 2, 3]));
        for wrong in ["..8", "1,..8", "1..", "1..x", "3..1", "1k..2M"] {
            let error = of(threads, wrong).unwrap_err();
            assert_eq!(error.flag, "threads", "{wrong}");
        }
    }

    #[test]
    fn letters_in_the_wrong_order_and_the_beginning_of_a_name_are_near() {
        let names = ["compare", "pack_send", "run"];
        for (wanted, name) in [("rnu", "run"), ("pack", "pack_send"), ("comparr", "compare")] {
            assert!(suggest(wanted, &names, &[]).starts_with(&format!("did you mean {name}?")), "{wanted}");
        }
        assert!(suggest("zzz", &names, &[]).starts_with("valid are"));
    }

    #[test]
    fn ranges_hold_both_ends_and_say_what_is_wrong() {
        assert_eq!(sizes(64, 4096), Ok(vec![64, 256, 1024, 4096]));
        assert_eq!(sizes(64, 128), Ok(vec![64, 128]));
        assert_eq!(numbers(1, 4), Ok(vec![1, 2, 3, 4]));
        assert_eq!(onward(&[1, 2], 16), Ok(vec![4, 8, 16]));
        assert_eq!(onward(&[10, 20], 50), Ok(vec![30, 40, 50]));
        assert_eq!(onward(&[7, 0, 5], 10), Ok(vec![10]));
        for wrong in [sizes(64, 100), sizes(0, 64), sizes(128, 64), numbers(8, 1), numbers(1, u64::MAX)] {
            assert!(wrong.is_err(), "{wrong:?}");
        }
        for (before, to) in [(&[1][..], 8), (&[3, 3], 9), (&[4, 2], 8), (&[1, 3], 8)] {
            assert!(onward(before, to).is_err(), "{before:?} {to}");
        }
    }
}
