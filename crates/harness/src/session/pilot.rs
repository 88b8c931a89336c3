//! How long a slice should be: the first rounds play slices of several lengths side by side.
//!
//! Shorter slices are more of them in a second, and each scatters hardly more than a longer one; but what starting costs
//! is a larger part of a shorter one. So the length is the one that scatters least for a second of wall time, among those
//! whose ratios are equivalent to those of the longest. Slices of lengths that are not are kept and not used.

use std::collections::BTreeMap;
use std::time::Duration;
use syscost_core::stats::{self, student};
use syscost_experiment::run::{LengthTried, Pilot};
use syscost_measure::probe::Slice;

/// The part of a run in which lengths may be tried.
const SHARE: f64 = 0.3;
/// Lengths of slices; the longest is the reference: ratios by slices of one millisecond and of 64 are the same.
const LENGTHS_NS: [u64; 3] = [250_000, 500_000, 1_000_000];
/// Where round trips are not of this machine, slices are this much longer.
const FARTHER: u64 = 8;
/// Rivals of the first look; every look has twice as many as the one before, so that looks are few.
const FIRST_LOOK: usize = 24;

/// What one pilot round said of one rival, by length: the median of its log ratios to the control, their scatter, and
/// the wall time of a pass.
type RivalSeen = Vec<(f64, f64, f64)>;

pub struct Trial {
    lengths: Vec<u64>,
    rivals: Vec<RivalSeen>,
    rounds: u32,
    spent: Duration,
    budget: Duration,
    /// Rivals of the next look.
    next_look: usize,
    chosen: Option<u64>,
}

impl Trial {
    /// Of a run that takes so long; a resumed one goes on with what it has.
    pub fn new(limit: Duration, far: bool, known: Option<&Pilot>) -> Trial {
        let factor = if far { FARTHER } else { 1 };
        Trial {
            lengths: LENGTHS_NS.map(|ns| ns * factor).to_vec(),
            rivals: Vec::new(),
            rounds: 0,
            spent: Duration::ZERO,
            budget: limit.mul_f64(SHARE),
            next_look: FIRST_LOOK,
            chosen: known.map(|pilot| pilot.slice_ns),
        }
    }

    /// Of a run beside another, whose slices have to be as long: the longest, untried.
    pub fn none(far: bool) -> Trial {
        let trial = Trial::new(Duration::ZERO, far, None);
        Trial { chosen: Some(trial.longest()), ..trial }
    }

    /// The lengths of the slices of the next round: several, while they are tried.
    pub fn next(&self) -> Vec<u64> {
        self.chosen.map_or_else(|| self.lengths.clone(), |length| vec![length])
    }

    /// Takes in a round of several lengths. Rivals are known by their place in the block.
    pub fn saw(&mut self, slices: &[(usize, Slice)], is_control: impl Fn(usize) -> bool, took: Duration) {
        self.rounds += 1;
        self.spent += took;
        self.rivals.extend(seen(slices, is_control, &self.lengths));
    }

    fn longest(&self) -> u64 {
        *self.lengths.last().expect("there are some")
    }

    /// What the rounds so far settle, once they do.
    pub fn look(&mut self) -> Option<Pilot> {
        let over = self.spent >= self.budget;
        if self.chosen.is_some() || self.rounds == 0 || (self.rivals.len() < self.next_look && !over) {
            return None;
        }
        self.next_look = 2 * self.rivals.len();
        let lengths = self.judged();
        let by_scatter = |a: &&LengthTried, b: &&LengthTried| a.scatter.total_cmp(&b.scatter);
        let least = lengths.iter().min_by(by_scatter);
        if !over && !least.is_some_and(LengthTried::is_equivalent) {
            return None;
        }
        let best = lengths.iter().filter(|tried| tried.is_equivalent()).min_by(by_scatter);
        let slice_ns = best.map_or(self.longest(), |tried| tried.slice_ns);
        self.chosen = Some(slice_ns);
        Some(Pilot { slice_ns, rounds: self.rounds, lengths })
    }

    fn judged(&self) -> Vec<LengthTried> {
        let last = self.lengths.len() - 1;
        let tried = |(place, slice_ns): (usize, &u64)| {
            let off: Vec<f64> = self.rivals.iter().map(|seen| seen[place].0 - seen[last].0).collect();
            let (low, high) = if place == last { (0.0, 0.0) } else { interval(&off) };
            let scatter: Vec<f64> =
                self.rivals.iter().map(|seen| seen[place].1 * seen[place].2.sqrt()).collect();
            LengthTried {
                slice_ns: *slice_ns,
                low: low.exp(),
                high: high.exp(),
                scatter: stats::median(&scatter).unwrap_or(f64::MAX),
            }
        };
        self.lengths.iter().enumerate().map(tried).collect()
    }
}

/// The 90 % interval of the mean without the outer tenths (some rivals have two levels): inside the margin, both
/// one-sided tests of 5 % reject. Source: Yuen, Biometrika 61, 1974.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 10;
    let kept = &sorted[cut..sorted.len() - cut];
    let (n, k) = (sorted.len() as f64, kept.len() as f64);
    if k < 2.0 {
        return (-f64::MAX.ln(), f64::MAX.ln());
    }
    let mean = kept.iter().sum::<f64>() / k;
    let winsorised: Vec<f64> = sorted.iter().map(|v| v.clamp(kept[0], kept[kept.len() - 1])).collect();
    let middle = winsorised.iter().sum::<f64>() / n;
    let squares: f64 = winsorised.iter().map(|v| (v - middle).powi(2)).sum();
    let half = student::critical(0.1, k - 1.0) * (squares / (k * (k - 1.0))).sqrt();
    (mean - half, mean + half)
}

/// Slices of a pass, each with its rival.
type Turns<'a> = Vec<&'a (usize, Slice)>;

/// Of each rival that had slices of all lengths.
fn seen(slices: &[(usize, Slice)], is_control: impl Fn(usize) -> bool, lengths: &[u64]) -> Vec<RivalSeen> {
    let mut passes: BTreeMap<u32, Turns> = BTreeMap::new();
    slices.iter().for_each(|one| passes.entry(one.1.pass).or_default().push(one));
    let mut rivals: BTreeMap<usize, Vec<Vec<(f64, f64)>>> = BTreeMap::new();
    for pass in passes.values() {
        let cost = |slice: &Slice| slice.cost().map(f64::ln);
        let (controls, others): (Turns, Turns) =
            pass.iter().copied().partition(|(rival, _)| is_control(*rival));
        let of_control: Vec<f64> = controls.iter().filter_map(|(_, slice)| cost(slice)).collect();
        let of_length = |length: &u64| pass.iter().all(|(_, slice)| slice.length_ns == *length);
        let Some(place) = lengths.iter().position(of_length).filter(|_| !of_control.is_empty()) else {
            continue;
        };
        let level = of_control.iter().sum::<f64>() / of_control.len() as f64;
        let end = pass.iter().map(|(_, slice)| slice.start_ns + slice.wall_ns).max().unwrap_or(0);
        let start = pass.iter().map(|(_, slice)| slice.start_ns).min().unwrap_or(end);
        for (rival, slice) in others {
            let by_length = rivals.entry(*rival).or_insert_with(|| vec![Vec::new(); lengths.len()]);
            by_length[place].extend(cost(slice).map(|log| (log - level, (end - start) as f64 / 1e9)));
        }
    }
    let summary = |values: &Vec<(f64, f64)>| {
        let logs: Vec<f64> = values.iter().map(|(log, _)| *log).collect();
        let middle = stats::median(&logs)?;
        let off: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        let walls: Vec<f64> = values.iter().map(|(_, wall)| *wall).collect();
        Some((middle, stats::median(&off)?, stats::median(&walls)?))
    };
    rivals.values().filter_map(|by_length| by_length.iter().map(summary).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::random::Random;

    /// A pilot round of a control, its twin and four rivals, where every slice costs this much more by its length.
    fn round(random: &mut Random, start_ns: impl Fn(usize) -> f64) -> Vec<(usize, Slice)> {
        let mut slices = Vec::new();
        let mut now = 0;
        for pass in 0..24u32 {
            let length_ns = LENGTHS_NS[pass as usize % LENGTHS_NS.len()];
            for rival in 0..6usize {
                let noise = 1.0 + 0.1 * (random.unit() - 0.5);
                let messages = length_ns / 1000;
                let cost = (1000.0 * messages as f64 + start_ns(rival)) * noise;
                let slice = Slice {
                    pass,
                    position: rival as u32,
                    length_ns,
                    start_ns: now,
                    wall_ns: length_ns,
                    messages,
                    sender_cpu_ns: cost as u64,
                    receiver_cpu_ns: 0,
                };
                slices.push((rival, slice));
                now += length_ns + 50_000;
            }
        }
        slices
    }

    fn chosen(start_ns: impl Fn(usize) -> f64 + Copy) -> Pilot {
        let mut random = Random::new(5);
        let mut trial = Trial::new(Duration::from_secs(60), false, None);
        loop {
            assert_eq!(trial.next(), LENGTHS_NS);
            trial.saw(&round(&mut random, start_ns), |rival| rival < 2, Duration::from_millis(200));
            if let Some(pilot) = trial.look() {
                assert_eq!(trial.next(), [pilot.slice_ns]);
                return pilot;
            }
        }
    }

    #[test]
    fn the_shortest_is_taken_where_ratios_do_not_hang_on_the_length() {
        let pilot = chosen(|_| 0.0);
        assert_eq!(pilot.slice_ns, 250_000, "{pilot:?}");
        assert!(pilot.lengths.windows(2).all(|two| two[0].scatter < two[1].scatter), "{pilot:?}");
    }

    #[test]
    fn slices_of_which_starting_is_a_part_are_too_short() {
        // 40 us of 250, of the rivals only.
        let pilot = chosen(|rival| if rival < 2 { 0.0 } else { 40_000.0 });
        assert_eq!(pilot.slice_ns, 1_000_000, "{pilot:?}");
        assert!(!pilot.lengths[0].is_equivalent() && pilot.lengths[2].is_equivalent());
    }

    #[test]
    fn without_a_proof_the_longest_is_taken_and_the_trial_keeps_to_its_share() {
        let mut trial = Trial::new(Duration::from_secs(10), true, None);
        let mut rounds = 0;
        let pilot = loop {
            rounds += 1;
            trial.saw(&[], |rival| rival == 0, Duration::from_millis(200));
            if let Some(pilot) = trial.look() {
                break pilot;
            }
        };
        assert_eq!((rounds, pilot.slice_ns), (15, 8_000_000));
        let again = Trial::new(Duration::from_secs(10), true, Some(&pilot));
        assert_eq!(again.next(), [8_000_000], "a resumed run goes on with it");
    }
}
