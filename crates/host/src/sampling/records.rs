//! From the kernel's ring buffers to samples.

use super::SampledEvent;
use super::owners;
use super::symbols::KernelSymbols;
use super::user_code::{UserMaps, UserNames};
use perf_event::Sampler;
use perf_event::data::Record;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Addresses this high in a call chain tell what follows; they are no addresses (PERF_CONTEXT_MAX).
const FIRST_MARK: u64 = u64::MAX - 4095;
/// What follows is a chain of the kernel's, or of code outside of it (PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER).
const KERNELS_FOLLOW: u64 = -128i64 as u64;
const USERS_FOLLOW: u64 = -512i64 as u64;
/// The CPU's mode in the record's header (PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER).
const MODE_BITS: u16 = 7;
const USER_MODE: u16 = 2;
/// The frame of code outside the kernel.
pub const USER: &str = "user mode";

/// Is this frame code outside the kernel? `user mode`, or `forward (sum.so)`: no name of the kernel's has brackets.
pub fn is_user_frame(name: &str) -> bool {
    name == USER || name.ends_with(')')
}

/// One sample as the kernel wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawSample {
    pub pid: u32,
    pub time_ns: u64,
    pub user: bool,
    /// The innermost function first.
    addresses: Vec<u64>,
    /// The same outside the kernel, where that was asked for.
    user_addresses: Vec<u64>,
}

/// One sample: whose, when, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedSample {
    /// A role, or one of the words for what is nobody's.
    pub owner: String,
    /// Of CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The outermost function first.
    pub functions: Vec<String>,
}

/// What was sampled in a round.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    pub(super) raw: Vec<RawSample>,
    roles: BTreeMap<u32, String>,
    maps: UserMaps,
    /// Samples that found no room.
    pub lost: u64,
    /// Nanoseconds or cycles for each sample: a timer that is coarser than the period gives fewer samples than asked.
    pub per_sample: f64,
}

impl Collected {
    /// The samples with the names of functions.
    pub fn samples(&self, symbols: &KernelSymbols) -> Vec<OwnedSample> {
        let mut names = UserNames::of(&self.maps);
        self.raw.iter().map(|raw| self.named(raw, symbols, &mut names)).collect()
    }

    fn named(&self, raw: &RawSample, symbols: &KernelSymbols, names: &mut UserNames<'_>) -> OwnedSample {
        let of_user = if self.roles.contains_key(&raw.pid) {
            names.frames(raw.pid, &raw.user_addresses)
        } else {
            Vec::new()
        };
        let mut functions: Vec<&str> = of_user.iter().map(String::as_str).collect();
        functions.extend(raw.addresses.iter().rev().map(|address| symbols.name(*address)));
        if functions.is_empty() || raw.user && of_user.is_empty() {
            functions.push(USER);
        }
        OwnedSample {
            owner: owners::owner(&self.roles, raw.pid, &functions).to_string(),
            time_ns: raw.time_ns,
            functions: functions.into_iter().map(str::to_string).collect(),
        }
    }
}

/// What was read from the rings so far.
#[derive(Default)]
pub(super) struct DrainedRings {
    /// By ring.
    samples: Vec<Vec<RawSample>>,
    /// Children with their parents.
    parents: Vec<(u32, u32)>,
    maps: UserMaps,
    lost: u64,
}

/// The kernel's part of a call chain, and what is outside of it.
fn parts(chain: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let (mut addresses, mut user_addresses, mut of_user) = (Vec::new(), Vec::new(), false);
    for address in chain {
        match *address {
            USERS_FOLLOW => of_user = true,
            KERNELS_FOLLOW => of_user = false,
            FIRST_MARK.. => {}
            address if of_user => user_addresses.push(address),
            address => addresses.push(address),
        }
    }
    (addresses, user_addresses)
}

impl DrainedRings {
    /// Of processes that have code in these files.
    pub fn of(user_code: Vec<PathBuf>) -> DrainedRings {
        DrainedRings { maps: UserMaps::of(user_code), ..DrainedRings::default() }
    }

    /// Empties the rings; always the same ones.
    pub fn drain(&mut self, samplers: &mut [Sampler]) {
        self.samples.resize_with(samplers.len(), Vec::new);
        for (sampler, samples) in samplers.iter_mut().zip(&mut self.samples) {
            while let Some(record) = sampler.next_record() {
                let user = record.misc() & MODE_BITS == USER_MODE;
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        let (addresses, mut user_addresses) = parts(sample.callchain().unwrap_or_default());
                        let (pid, time_ns) = (sample.pid().unwrap_or(0), sample.time().unwrap_or(0));
                        // While the process lives: afterwards nobody knows what it had mapped.
                        if let Some(inside) = user_addresses.first().copied() {
                            self.maps.learn(pid, inside);
                            let caller =
                                self.maps.caller(pid, inside, sample.stack_user().unwrap_or_default());
                            let caller = caller.filter(|address| !user_addresses.contains(address));
                            caller.into_iter().for_each(|address| user_addresses.insert(1, address));
                        }
                        samples.push(RawSample { pid, time_ns, user, addresses, user_addresses });
                    }
                    Ok(Record::Fork(fork)) if fork.pid != fork.ppid => {
                        self.parents.push((fork.pid, fork.ppid))
                    }
                    Ok(Record::Lost(missed)) => self.lost += missed.lost,
                    Ok(Record::LostSamples(missed)) => self.lost += missed.lost,
                    // It may have been a sample: shares without it would be others.
                    Err(_) => self.lost += 1,
                    Ok(_) => {}
                }
            }
        }
    }

    /// A process may be sampled on one CPU before another's ring tells who started it.
    pub fn collected(self, event: SampledEvent, counted: u64, mut roles: BTreeMap<u32, String>) -> Collected {
        owners::adopt(&mut roles, &self.parents);
        let times = |pair: &[RawSample]| pair[1].time_ns.saturating_sub(pair[0].time_ns);
        let gaps = self.samples.iter().flat_map(|ring| ring.windows(2).map(times)).collect();
        let (raw, lost) = (self.samples.concat(), self.lost);
        let per_sample = match event {
            SampledEvent::Cycles => counted as f64 / (raw.len() as u64 + lost).max(1) as f64,
            SampledEvent::CpuClock => interval(event.period(), gaps) as f64,
        };
        Collected { raw, roles, maps: self.maps, lost, per_sample }
    }
}

/// What a sample by a timer stands for: the time between two of a busy CPU, which a kernel without fine timers makes longer
/// than asked. The clock's count would charge idle time to what was sampled: it goes on while a CPU idles, and samples of
/// an idle CPU are few or none. A tenth of the gaps has no such pause in it.
fn interval(period: u64, mut gaps: Vec<u64>) -> u64 {
    gaps.sort_unstable();
    gaps.get(gaps.len() / 10).copied().unwrap_or(0).max(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_named_from_the_outside_in() {
        let symbols =
            KernelSymbols::parse("1000 T entry\n2000 T tcp_sendmsg\n3000 t inner.isra.0\n").unwrap();
        let raw = |user, addresses: &[u64]| {
            let (addresses, user_addresses) = (addresses.to_vec(), Vec::new());
            RawSample { pid: 7, time_ns: 1, user, addresses, user_addresses }
        };
        let collected = Collected {
            raw: vec![raw(false, &[0x3004, 0x2010, 0x1001]), raw(true, &[])],
            roles: BTreeMap::from([(7, "sender".to_string())]),
            ..Collected::default()
        };
        let named = collected.samples(&symbols);
        assert_eq!(named[0].functions, ["entry", "tcp_sendmsg", "inner"]);
        assert_eq!(
            (named[1].functions.as_slice(), named[1].owner.as_str()),
            (&[USER.to_string()][..], "sender")
        );
    }

    #[test]
    fn a_chain_is_in_two_parts_by_its_marks() {
        let chain = [KERNELS_FOLLOW, 0xffff_8000_0000_1000, USERS_FOLLOW, 0x4000, 0x5000];
        assert_eq!(parts(&chain), (vec![0xffff_8000_0000_1000], vec![0x4000, 0x5000]));
        assert_eq!(parts(&[0xffff_8000_0000_1000]), (vec![0xffff_8000_0000_1000], vec![]));
        assert!(is_user_frame("forward (sum.so)") && is_user_frame(USER) && !is_user_frame("tcp_sendmsg"));
    }

    #[test]
    fn a_sample_by_a_timer_stands_for_its_interval_however_long_cpus_idle() {
        let gaps = |busy: u64, idle: u64, of_ten: usize| {
            (0..100).map(|i| if i % 10 < of_ten { busy + i as u64 } else { idle }).collect::<Vec<u64>>()
        };
        assert_eq!(interval(211_007, gaps(210_000, 1_000_000, 4)), 211_007);
        let coarse = interval(211_007, gaps(4_000_000, 90_000_000, 4));
        assert!((4_000_000..4_000_100).contains(&coarse), "a tick each: {coarse}");
        assert_eq!(interval(211_007, Vec::new()), 211_007);
    }
}
