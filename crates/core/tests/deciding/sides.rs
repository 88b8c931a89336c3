//! Comparisons of runs that were measured apart, simulated with the scatter of real machines: runs by 5 %, boots by 4 %.

use syscost_core::decide::sides::{SideContrast, Stratum, decide_sides};
use syscost_core::decide::{Decision, MARGIN, Verdict};
use syscost_core::stats::random::Random;

const COMPARISONS: u32 = 2_000;
const RUN: f64 = 0.05;
const BOOT: f64 = 0.04;
/// The upper end of what chance makes of 5 % in so many comparisons (one in a thousand is beyond it).
const MOST_FALSE: f64 = 0.0655;

/// What is compared: runs of one boot, or boots that are means of three runs.
#[derive(Clone, Copy)]
struct Design {
    a_side: usize,
    boots: bool,
    cells: usize,
    /// The share of the scatter that cells of a run have in common.
    common: f64,
    /// Do cells scatter differently?
    uneven: bool,
}

impl Design {
    fn side(&self, random: &mut Random, effect: f64) -> Vec<Vec<f64>> {
        let mut cells = vec![Vec::new(); self.cells];
        for _ in 0..self.a_side {
            let together = random.normal();
            for (number, cell) in cells.iter_mut().enumerate() {
                let own = self.common.sqrt() * together + (1.0 - self.common).sqrt() * random.normal();
                let scale = if self.uneven { [0.4, 0.7, 1.0, 2.0][number % 4] } else { 1.0 };
                let scatter = if self.boots { (BOOT.powi(2) + RUN.powi(2) / 3.0).sqrt() } else { RUN };
                cell.push(effect + scale * scatter * own);
            }
        }
        cells
    }

    fn answers(&self, random: &mut Random, effect: f64) -> Vec<Decision> {
        let (base, candidate) = (self.side(random, 0.0), self.side(random, effect));
        let one = |(base, candidate)| vec![Stratum { base, candidate, ..Stratum::default() }];
        let contrasts: Vec<SideContrast> = base.into_iter().zip(candidate).map(one).collect();
        decide_sides(&contrasts, 0.95, 1.0, MARGIN)
    }

    /// The share of comparisons in which any cell has this answer, and of cells that have it.
    fn share(&self, effect: f64, is: fn(&Decision) -> bool) -> (f64, f64) {
        let mut random = Random::new(21);
        let (mut any, mut found) = (0, 0);
        for _ in 0..COMPARISONS {
            let count = self.answers(&mut random, effect).iter().filter(|answer| is(answer)).count();
            any += u32::from(count > 0);
            found += count;
        }
        let all = f64::from(COMPARISONS);
        (f64::from(any) / all, found as f64 / all / self.cells as f64)
    }
}

fn designs() -> impl Iterator<Item = Design> {
    [(3, 1), (3, 8), (5, 8), (8, 32), (10, 8)].into_iter().flat_map(|(a_side, cells)| {
        let each = [(0.0, false), (0.5, true), (0.9, false)];
        each.map(|(common, uneven)| Design { a_side, boots: false, cells, common, uneven })
    })
}

#[test]
fn where_nothing_differs_a_twentieth_of_comparisons_claims_anything_at_most() {
    for design in designs() {
        for boots in [false, true] {
            let (any, _) = Design { boots, ..design }
                .share(0.0, |answer| matches!(answer.verdict, Verdict::More | Verdict::Less));
            assert!(any <= MOST_FALSE, "{any} of {} a side, {} cells", design.a_side, design.cells);
        }
    }
}

/// Turns of variants: runs that were measured next to each other, while the machine drifts by 10 % over the group.
fn by_turns(cells: usize, turns: usize, effect: f64, random: &mut Random) -> Vec<SideContrast> {
    const DRIFT: f64 = 0.1;
    let run = |place: usize, effect: f64, random: &mut Random| {
        effect + DRIFT * place as f64 / (2 * turns) as f64 + RUN * random.normal()
    };
    let mut cell = || -> SideContrast {
        let turn = |turn: usize| {
            // A B B A
            let (of_base, of_candidate) = (2 * turn + turn % 2, 2 * turn + 1 - turn % 2);
            let base = vec![run(of_base, 0.0, random)];
            Stratum { base, candidate: vec![run(of_candidate, effect, random)], ..Stratum::default() }
        };
        (0..turns).map(turn).collect()
    };
    (0..cells).map(|_| cell()).collect()
}

#[test]
fn variants_that_took_turns_err_in_a_twentieth_at_most_while_the_machine_drifts() {
    for turns in [3, 5, 8, 10] {
        let mut random = Random::new(22);
        let mut share = |cells: usize, by: f64| {
            let found = (0..COMPARISONS).filter(|_| {
                let answers =
                    decide_sides(&by_turns(cells, turns, by.ln_1p(), &mut random), 0.95, 1.0, MARGIN);
                let different = |answer: &Decision| match answer.verdict {
                    Verdict::More => true,
                    Verdict::Less => by == 0.0,
                    _ => false,
                };
                answers.iter().any(different)
            });
            found.count() as f64 / f64::from(COMPARISONS)
        };
        for cells in [1, 8] {
            let any = share(cells, 0.0);
            assert!(any <= MOST_FALSE, "{any} of {turns} turns, {cells} cells");
        }
        let found = [0.05, 0.1, 0.2].map(|by| share(1, by));
        println!("{turns} turns: 5 %, 10 %, 20 %: {found:.2?}");
        assert!(turns < 8 || found[1] > 0.8 && found[2] > 0.99, "{found:?}");
    }
}

#[test]
fn a_difference_at_the_margin_is_called_the_same_in_a_twentieth_at_most() {
    for design in designs() {
        let (any, _) = design.share(0.03f64.ln_1p(), |answer| answer.verdict == Verdict::Same);
        assert!(any <= MOST_FALSE, "{any} of {} a side, {} cells", design.a_side, design.cells);
    }
}

/// The table of docs/comparing.md: `cargo test --release -p syscost-core --test deciding sides:: -- --nocapture`.
#[test]
fn power_is_as_documented() {
    let mut last = 0.0;
    for boots in [false, true] {
        for a_side in [3, 5, 8, 10] {
            let design = Design { a_side, boots, cells: 1, common: 0.0, uneven: false };
            let found =
                [0.05, 0.1, 0.2].map(|by: f64| design.share(by.ln_1p(), |a| a.verdict == Verdict::More).1);
            let of_eight =
                Design { cells: 8, ..design }.share(0.1f64.ln_1p(), |a| a.verdict == Verdict::More).1;
            println!(
                "{} {a_side} a side: 5 %, 10 %, 20 %: {found:.2?}; 10 % in 8 cells {of_eight:.2}",
                if boots { "boots" } else { "runs" }
            );
            if a_side == 8 {
                assert!(found[1] > 0.9 && found[2] > 0.99, "{found:?}");
            }
            last = found[1];
        }
    }
    assert!(last > 0.9, "ten boots find 10 %");
}

/// Fourteen runs of one command (64 KiB on veth), in the order they ran: what a message costs both sides, in ns. Their
/// 95 % intervals are disjoint in up to 29 of 100 pairs, and their costs fall by 4 % from the first half to the last.
const IDENTICAL: &str = include_str!("../../../../tests/data/aa14.csv");

#[test]
fn identical_runs_are_silent_however_their_sides_alternate() {
    let runs: Vec<Vec<f64>> = IDENTICAL
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).map(|cost| cost.parse::<f64>().expect("a number").ln()).collect())
        .collect();
    assert_eq!((runs.len(), runs[0].len()), (14, 2));
    // A B B A, turn by turn.
    let paired = |cell: usize| -> SideContrast {
        let turn = |(number, pair): (usize, &[Vec<f64>])| {
            let [first, second] = [&pair[0], &pair[1]].map(|run| vec![run[cell]]);
            let (base, candidate) = if number % 2 == 0 { (first, second) } else { (second, first) };
            Stratum { base, candidate, ..Stratum::default() }
        };
        runs.chunks(2).enumerate().map(turn).collect()
    };
    let turns = decide_sides(&[paired(0), paired(1)], 0.95, 1.0, MARGIN);
    assert!(turns.iter().all(|answer| !matches!(answer.verdict, Verdict::More | Verdict::Less)), "{turns:?}");
    // ABAB, ABBA, and pairs of runs.
    let orders: [fn(usize) -> bool; 3] = [|i| i % 2 == 0, |i| i % 4 == 0 || i % 4 == 3, |i| i % 4 < 2];
    // All of them are silent; of every stretch of at least six at most as many speak as may err.
    let stretches = (6..=runs.len()).flat_map(|n| runs.windows(n));
    let (mut splits, mut spoke) = (0, 0);
    for (runs, is_base) in stretches.flat_map(|stretch| orders.map(|order| (stretch, order))) {
        for turned in [false, true] {
            let side = |base: bool, cell: usize| -> Vec<f64> {
                let of_it = runs.iter().enumerate().filter(|(i, _)| (is_base(*i) != turned) == base);
                of_it.map(|(_, costs)| costs[cell]).collect()
            };
            let contrast = |cell| {
                vec![Stratum { base: side(true, cell), candidate: side(false, cell), ..Stratum::default() }]
            };
            let answers = decide_sides(&[contrast(0), contrast(1)], 0.95, 1.0, MARGIN);
            let speaks = answers.iter().any(|answer| matches!(answer.verdict, Verdict::More | Verdict::Less));
            assert!(!speaks || runs.len() < 14, "{answers:?}");
            spoke += i32::from(speaks);
            splits += 1;
        }
    }
    assert_eq!(splits, 270);
    println!("{spoke} of {splits} stretches differ significantly");
    assert!(f64::from(spoke) <= 0.05 * f64::from(splits), "{spoke} of {splits}");
}
