//! Columns whose figures follow from what stands there: sizes as powers of two, and what user mode and the kernel count
//! apart.

use super::layout::TableRecord;
use crate::TableColumn;
use crate::naming;
use crate::remark::COUNTERS;
use crate::unit::{self, DecimalMark};
use crate::vocabulary::tokens;

/// 2 to this is more than any size or number of threads.
const HIGHEST_POWER: f64 = 40.0;
/// The last digit of a power that tells which size it is.
const FINEST: f64 = 1e-6;

/// Does the arithmetic below a line of headings; what was done.
pub fn done(all: &mut [TableRecord], at: usize, mark: DecimalMark) -> Vec<String> {
    let exponents = (0..all[at].cells.len()).filter_map(|column| power(all, at, column, mark)).collect();
    [exponents, modes(all, at, mark)].concat()
}

/// `log2(size)`, `size (log2)`, `Message Size (2^n)`: the name of the size.
fn of_power(heading: &str) -> Option<String> {
    let text = heading.trim().to_ascii_lowercase();
    let behind = ["(log2)", "[log2]", "_log2", " log2", "(2^n)", "(2^x)", "(power of 2)", "(power of two)"];
    let name = text
        .strip_prefix("log2")
        .or_else(|| text.strip_prefix("pow "))
        .or_else(|| behind.iter().find_map(|end| text.strip_suffix(end)))?;
    let name = name.trim_matches(|c: char| !c.is_alphanumeric()).to_string();
    naming::column_of(&name).filter(|named| named.column.is_place()).map(|_| name)
}

fn power(all: &mut [TableRecord], at: usize, column: usize, mark: DecimalMark) -> Option<String> {
    let heading = all[at].cells[column].clone();
    let name = of_power(&heading)?;
    let size = |record: &TableRecord| size_of(record.cells.get(column)?, mark);
    let below = &mut all[at + 1..];
    let sizes: Vec<f64> = below.iter().map(size).collect::<Option<_>>()?;
    if below.is_empty() {
        return None;
    }
    for (record, size) in below.iter_mut().zip(sizes) {
        record.cells[column] = size.to_string();
    }
    all[at].cells[column] = name;
    Some(format!("{heading:?}: 2 to the power of its figures"))
}

fn alone(text: &str, mark: DecimalMark) -> Option<f64> {
    unit::number(text, mark).filter(|(.., of)| of.is_none()).map(|(value, ..)| value)
}

/// 2 to the power; `11.5849625` is 3072, and `11.58` leaves open which size it is.
fn size_of(text: &str, mark: DecimalMark) -> Option<f64> {
    let (power, rounding, _) = unit::number(text, mark).filter(|(.., of)| of.is_none())?;
    let told = power.fract() == 0.0 || rounding < FINEST;
    (told && (0.0..=HIGHEST_POWER).contains(&power)).then(|| 2f64.powf(power).round())
}

#[derive(Clone, Copy, PartialEq)]
enum CountedMode {
    User,
    Kernel,
}

/// `cycles:u`, `cycles_kernel`, `sys_time_s`: the heading of both together, and in which mode.
fn in_mode(heading: &str) -> Option<(String, CountedMode)> {
    let mut words = tokens(heading);
    let modes = ["u", "user", "usr", "utime", "k", "kernel", "kern", "sys", "system", "stime"];
    let at = words.iter().position(|word| modes.contains(&word.as_str()))?;
    let mode = if words.remove(at).starts_with('u') { CountedMode::User } else { CountedMode::Kernel };
    let counted = naming::column_of(&words.join(" ")).is_some_and(|of| COUNTERS.contains(&of.column));
    let (units, others): (Vec<String>, Vec<String>) =
        words.iter().cloned().partition(|word| naming::unit_for(TableColumn::CpuTime, word).is_ok());
    let timed = others.iter().all(|word| ["cpu", "time"].contains(&word.as_str()));
    match &units[..] {
        _ if counted => Some((words.join(" "), mode)),
        [unit] if timed => Some((format!("cpu time {unit}"), mode)),
        _ => None,
    }
}

/// An event, or time, is counted in user mode or in the kernel: both together are all of it.
fn modes(all: &mut [TableRecord], at: usize, mark: DecimalMark) -> Vec<String> {
    let mut said = Vec::new();
    for user in 0..all[at].cells.len() {
        let Some((whole, CountedMode::User)) = in_mode(&all[at].cells[user]) else { continue };
        let is_other = |cell: &String| in_mode(cell) == Some((whole.clone(), CountedMode::Kernel));
        let Some(kernel) = all[at].cells.iter().position(is_other) else { continue };
        // Somebody added them up.
        if all[at].cells.iter().any(|cell| tokens(cell) == tokens(&whole)) {
            continue;
        }
        let sum = |record: &TableRecord| {
            let of = |column: usize| alone(record.cells.get(column)?, mark);
            Some(of(user)? + of(kernel)?)
        };
        let sums: Vec<Option<f64>> = all[at + 1..].iter().map(sum).collect();
        if sums.iter().all(Option::is_none) {
            continue;
        }
        said.push(format!("{:?} and {:?} are added up", all[at].cells[user], all[at].cells[kernel]));
        let column = user.min(kernel);
        let texts = sums.into_iter().map(|sum| sum.map(|sum| sum.to_string()).unwrap_or_default());
        let cells = std::iter::once(whole).chain(texts);
        for (record, text) in all[at..].iter_mut().zip(cells) {
            // Columns stay where they are: another pair may follow.
            if let [Some(_), Some(_)] = [user, kernel].map(|at| record.cells.get(at)) {
                record.cells[user.max(kernel)].clear();
                record.cells[column] = text;
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use crate::{PublishedTable, TableColumn};

    fn table(text: &str) -> PublishedTable {
        crate::read("t", text, &Default::default()).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    #[test]
    fn powers_of_two_are_sizes_and_modes_are_added_up() {
        for heading in ["log2(size)", "log2_size", "Message Size (log2)", "msg size (2^n)"] {
            let table = table(&format!("{heading},impl,gbps\n6,A1,0.5\n10,A2,2\n"));
            let sizes: Vec<_> = table.rows.iter().map(|row| row.count(TableColumn::MessageBytes)).collect();
            assert_eq!(sizes, [Some(64), Some(1024)], "{heading}");
        }
        let between =
            table(",Log2 (memory sizes in bytes),Memory access times (clock cycles)\n,10,3\n,11.5849625,4\n");
        assert_eq!(between.rows[1].count(TableColumn::MessageBytes), Some(3072));
        assert_eq!(between.rows[1].value(TableColumn::Measured), Some(4.0));
        let both = table("impl,size,cycles:u,cycles:k\nA1,64,10,90\nA2,64,20,60\n");
        assert_eq!(both.rows[1].value(TableColumn::Cycles), Some(80.0));
        assert!(!both.user_mode && both.understood.iter().any(|told| told.contains("added up")));
        let words = table("impl,size,user_cycles,kernel_cycles,gbps\nA1,64,10,90,1\nA2,64,20,60,2\n");
        assert_eq!(words.rows[0].value(TableColumn::Cycles), Some(100.0));
        let summed = table("impl,size,cycles,cycles:u,cycles:k\nA1,64,100,10,90\nA2,64,80,20,60\n");
        assert_eq!(summed.rows[1].value(TableColumn::Cycles), Some(80.0));
        assert!(table("impl,size,cycles:u\nA1,64,10\n").user_mode);
        let timed = table("impl,size,user_s,sys_s,gbps\nA1,64,0.5,2.5,1\nA2,64,1,2,2\n");
        assert_eq!(timed.rows[0].value(TableColumn::CpuTime), Some(3e9));
    }
}
