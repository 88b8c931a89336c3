//! An audit: what was counted in an untimed round of a case, and whether the parts add up.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syscost_core::axis::{Name, Point};
use syscost_host::Unavailable;
use syscost_host::kernel_threads::MachineTime;
use syscost_measure::ledger::{Counts, Functions, Spent, Tier};

/// A difference above this share of what was delivered is an error of the ledger, and is shown.
pub const TOLERANCE: f64 = 0.001;

/// The copies of one case. Bytes are those of the whole round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    pub probe: Name,
    pub point: Point,
    /// Payload that the receiver got; the sender sent as much, and it was verified.
    pub delivered_bytes: u64,
    pub tier: Tier,
    /// Copied from user memory to user memory, by the mechanism's own count: nobody else sees it.
    pub user_copied: u64,
    /// What went out beside the payload, inside TCP: the framing of encrypted records.
    pub framing_bytes: u64,
    /// What the receiver took without having it copied to its memory, by its own count.
    pub uncopied_out: u64,
    /// Zero-copy completions, and how many of them the kernel flagged as copied.
    pub completions: u64,
    pub completions_copied: u64,
    /// The kernel's copies; absent where nobody counted them.
    pub counts: Option<Counts>,
    /// Why they were not counted.
    pub uncounted: Option<Unavailable>,
    /// The same round by what the kernel's functions returned; absent where nobody could look.
    pub functions: Option<Functions>,
    /// Why nobody could look at them.
    pub no_functions: Option<Unavailable>,
    /// Who paid for the CPU time, from a round of its own.
    pub cpu: Option<CpuTimes>,
    /// What kernel threads spent, from a round of its own; absent where this machine does not show them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_threads: Option<KernelThreadTimes>,
    /// What disturbed its rounds however often they were tried: bytes are counted right all the same, but CPU
    /// times are then not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Rounds before this one whose counts did not account for every byte.
    #[serde(default, skip_serializing_if = "none")]
    pub incomplete_rounds: u32,
}

fn none(count: &u32) -> bool {
    *count == 0
}

/// CPU time of the machine's kernel threads in a while of a steady stream: the most that it can have caused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelThreadTimes {
    /// Payload that was moved meanwhile.
    pub bytes: u64,
    /// CPU time of the data threads of both sides, by their own clocks: what they are held against.
    pub data_threads_ns: u64,
    /// By the name of the threads up to its first `/`: `ksoftirqd`, `kworker`.
    pub spent_ns: BTreeMap<String, u64>,
    /// Absent in runs of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineTime>,
}

/// Kernel threads that can work for a flow: softirqs that were put off, deferred work, polling, threaded interrupts.
const OF_FLOWS: [&str; 4] = ["ksoftirqd", "kworker", "napi", "irq"];

impl KernelThreadTimes {
    /// What can be a flow's, and the rest.
    pub fn of_flows_and_others(&self) -> (u64, u64) {
        let sum = |flows: bool| {
            let own = |name: &str| OF_FLOWS.contains(&name) == flows;
            self.spent_ns.iter().filter(|(name, _)| own(name)).map(|(_, ns)| ns).sum()
        };
        (sum(true), sum(false))
    }
}

/// CPU time of a whole round, and what of it was work of softirqs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Payload that this time was spent on.
    pub bytes: u64,
    /// CPU time of each side's data threads, by their own clocks.
    pub sender_cpu_ns: u64,
    pub receiver_cpu_ns: u64,
    pub softirqs: Spent,
    /// Do those clocks contain the softirqs that ran on top of the threads? `None`: the kernel's
    /// configuration cannot be read; they do in most kernels.
    pub softirqs_charged: Option<bool>,
}

impl CpuTimes {
    /// The threads' own part: without softirqs.
    fn process_ns(&self, cpu_ns: u64, softirqs_ns: u64) -> u64 {
        if self.softirqs_charged == Some(false) { cpu_ns } else { cpu_ns.saturating_sub(softirqs_ns) }
    }

    pub fn sender_process_ns(&self) -> u64 {
        self.process_ns(self.sender_cpu_ns, self.softirqs.sender_net_rx_ns + self.softirqs.sender_other_ns)
    }

    pub fn receiver_process_ns(&self) -> u64 {
        self.process_ns(
            self.receiver_cpu_ns,
            self.softirqs.receiver_net_rx_ns + self.softirqs.receiver_other_ns,
        )
    }

    /// Both sides' own work and all softirqs of the machine, in its time.
    pub fn total_ns(&self) -> u64 {
        let s = &self.softirqs;
        let net_rx = s.sender_net_rx_ns + s.receiver_net_rx_ns + s.elsewhere_net_rx_ns;
        let other = s.sender_other_ns + s.receiver_other_ns + s.elsewhere_other_ns;
        self.sender_process_ns() + self.receiver_process_ns() + net_rx + other
    }

    /// The share of the receive path that ran in the sender; `None`: none was seen at all.
    pub fn net_rx_in_sender(&self) -> Option<f64> {
        let s = &self.softirqs;
        let all = s.sender_net_rx_ns + s.receiver_net_rx_ns + s.elsewhere_net_rx_ns;
        (all > 0).then(|| s.sender_net_rx_ns as f64 / all as f64)
    }

    pub fn per_byte(&self, ns: u64) -> f64 {
        ns as f64 / self.bytes.max(1) as f64
    }
}

/// What a ledger leaves unexplained, in bytes; negative: it counted more than there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Sent (payload and framing), less copied in, less sent without a copy, less what was dropped at first.
    pub sent: i64,
    /// Delivered, less copied out, less decrypted to the receiver, less taken without a copy.
    pub delivered: i64,
    /// Where both readings of the same bytes differ most, the functions' less the tracepoints'; 0 where
    /// there is one reading.
    pub readings: i64,
}

/// The largest whole number of a document.
fn largest(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::Array(list) => list.iter().map(largest).max().unwrap_or(0),
        serde_json::Value::Object(fields) => fields.values().map(largest).max().unwrap_or(0),
        value => value.as_u64().unwrap_or(0),
    }
}

impl Audit {
    /// Of so many bytes, with what the kernel's part was where that was counted, and nothing else known.
    pub fn of(probe: &str, point: Point, delivered_bytes: u64, counts: Option<Counts>) -> Audit {
        Audit {
            probe: probe.into(),
            point,
            delivered_bytes,
            tier: if counts.is_some() { Tier::Traced } else { Tier::Told },
            counts,
            ..Audit::default()
        }
    }

    /// Bytes per byte of payload.
    pub fn per_byte(&self, bytes: u64) -> f64 {
        bytes as f64 / self.delivered_bytes.max(1) as f64
    }

    /// Decrypted on the way to the receiver's memory. Where nothing was encrypted there is no such thing:
    /// bytes that a receive call returned and nobody saw copied are a hole in the ledger.
    pub fn decrypted_out(&self) -> u64 {
        self.counts.filter(|_| self.framing_bytes > 0).map_or(0, |counts| counts.decrypted_out)
    }

    /// Decrypted from one memory of the kernel's to another, before it was copied out.
    pub fn decrypted_inside(&self) -> u64 {
        if self.framing_bytes == 0 {
            return 0;
        }
        self.delivered_bytes.saturating_sub(self.decrypted_out())
    }

    /// Is there a count that no round can have come to? Sums of others neither wrap nor lose a byte as a float.
    pub fn impossible(&self) -> Option<u64> {
        const MOST: u64 = 1 << f64::MANTISSA_DIGITS;
        let written = serde_json::to_value(self).ok()?;
        Some(largest(&written)).filter(|largest| *largest > MOST)
    }

    /// The share of completions that the kernel flagged as copied.
    pub fn flagged(&self) -> Option<f64> {
        (self.completions > 0).then(|| self.completions_copied as f64 / self.completions as f64)
    }

    pub fn balance(&self) -> Option<Balance> {
        let counts = self.counts?;
        let seen = [counts.copied_out, self.decrypted_out(), self.uncopied_out];
        Some(Balance {
            sent: self.not_seen_leaving(&counts).saturating_sub_unsigned(self.left_only_again()),
            delivered: difference(&[self.delivered_bytes], &seen),
            readings: self.functions.map_or(0, |functions| self.difference(&counts, &functions)),
        })
    }

    /// Sent, and not seen to leave a first time.
    fn not_seen_leaving(&self, counts: &Counts) -> i64 {
        difference(&[self.delivered_bytes, self.framing_bytes], &[counts.copied_in, counts.uncopied_in])
    }

    /// Bytes that were dropped before a device took them, while later ones passed: they left when they were sent
    /// again, and nobody saw whose memory they lay in the first time.
    pub fn left_only_again(&self) -> u64 {
        let Some(counts) = self.counts else { return 0 };
        let missing = u64::try_from(self.not_seen_leaving(&counts)).unwrap_or(0);
        missing.min(counts.dropped).min(counts.retransmitted)
    }

    /// Where the functions and the tracepoints differ most about this round.
    fn difference(&self, counts: &Counts, functions: &Functions) -> i64 {
        let differ = |returned: u64, seen: u64| difference(&[returned], &[seen]);
        // A segment that is sent again, or lost between two readings, is copied again too.
        let again = |difference: i64| {
            let explained = i64::try_from(counts.retransmitted).unwrap_or(i64::MAX);
            difference - difference.clamp(-explained, explained)
        };
        let copied_in = differ(functions.copied_in(), counts.copied_in);
        let received = differ(functions.received, counts.copied_out);
        let differences = [
            difference(&[functions.sent], &[self.delivered_bytes, self.framing_bytes]),
            if functions.copied_leaving > 0 || counts.dropped > 0 { again(copied_in) } else { copied_in },
            again(differ(functions.orphan_copied, counts.orphan_copied)),
            // Who takes bytes uncopied may have the odd ones copied by another function than this, and who
            // has them decrypted gets them all from another.
            if self.uncopied_out > 0 || self.framing_bytes > 0 { received.max(0) } else { received },
        ];
        differences.into_iter().max_by_key(|difference| difference.unsigned_abs()).unwrap_or(0)
    }

    /// The same, known to what it is known: a ledger that saw no byte of a round that moved some counted nothing.
    pub fn as_seen(self) -> Audit {
        let blind = |counts: &Counts| {
            let Counts { copied_in, uncopied_in, copied_out, decrypted_out, .. } = *counts;
            let unread = self.functions.is_none_or(|functions| functions == Functions::default());
            self.delivered_bytes > 0
                && unread
                && copied_in.max(uncopied_in).max(copied_out).max(decrypted_out) == 0
        };
        let audit = match self.counts {
            Some(counts) if blind(&counts) => Audit {
                counts: None,
                functions: None,
                uncounted: Some(Unavailable {
                    reason: "the tracing program saw none of the bytes that were moved".into(),
                    remedy: "see `syscost doctor`: the kernel's types (/sys/kernel/btf/vmlinux) may be those of another \
                             kernel"
                        .into(),
                }),
                ..self
            },
            _ => self,
        };
        Audit { tier: audit.known_by(), ..audit }
    }

    /// How the copies of this round are known: two readings are better than one where they agree.
    pub fn known_by(&self) -> Tier {
        let within = |balance: Balance| self.per_byte(balance.readings.unsigned_abs()) <= TOLERANCE;
        match self.balance() {
            None => Tier::Told,
            Some(balance) if self.functions.is_some() && within(balance) => Tier::Agreed,
            Some(_) => Tier::Traced,
        }
    }

    /// The largest of the differences per byte delivered: 0 where every byte is accounted for.
    pub fn unexplained(&self) -> Option<f64> {
        let Balance { sent, delivered, readings } = self.balance()?;
        let largest = [sent, delivered, readings].into_iter().max_by_key(|bytes| bytes.unsigned_abs())?;
        Some(largest as f64 / self.delivered_bytes.max(1) as f64)
    }

    /// Do the parts add up? `None`: nothing was counted.
    pub fn balanced(&self) -> Option<bool> {
        self.unexplained().map(|share| share.abs() <= TOLERANCE)
    }
}

/// Of sums that are a file's: no crafted count may wrap and come out as 0.
fn difference(whole: &[u64], parts: &[u64]) -> i64 {
    let sum = |counts: &[u64]| counts.iter().map(|count| i128::from(*count)).sum::<i128>();
    (sum(whole) - sum(parts)).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(counts: Option<Counts>) -> Audit {
        let known = Audit::of("p", Point::default(), 100_000, counts);
        Audit { tier: Tier::Traced, completions: 8, completions_copied: 2, ..known }
    }

    #[test]
    fn softirqs_are_counted_once_whoever_is_charged_for_them() {
        let softirqs = Spent {
            sender_net_rx_ns: 30,
            sender_other_ns: 5,
            receiver_net_rx_ns: 10,
            elsewhere_net_rx_ns: 20,
            ..Spent::default()
        };
        let (sender_cpu_ns, receiver_cpu_ns) = (100, 50);
        let charged =
            CpuTimes { bytes: 10, sender_cpu_ns, receiver_cpu_ns, softirqs, softirqs_charged: Some(true) };
        assert_eq!((charged.sender_process_ns(), charged.receiver_process_ns()), (65, 40));
        assert_eq!(charged.total_ns(), 100 + 50 + 20);
        assert_eq!(charged.net_rx_in_sender(), Some(0.5));
        let apart = CpuTimes { softirqs_charged: Some(false), ..charged };
        assert_eq!(apart.total_ns(), 100 + 50 + 65, "clocks that leave softirqs out");
        let none = CpuTimes { softirqs: Spent::default(), ..charged };
        assert_eq!(none.net_rx_in_sender(), None);
    }

    #[test]
    fn zeros_are_a_count_only_where_bytes_were_seen() {
        let blind = audit(Some(Counts { dropped: 3, ..Counts::default() })).as_seen();
        assert_eq!((blind.counts, blind.tier), (None, Tier::Told));
        assert!(blind.uncounted.is_some_and(|why| why.reason.contains("none of the bytes")));
        for part in
            [Counts { copied_in: 1, ..Counts::default() }, Counts { copied_out: 1, ..Counts::default() }]
        {
            assert_eq!(audit(Some(part)).as_seen().counts, Some(part));
        }
        let differing = Functions { sent: 100_000, ..Functions::default() };
        let differing = Audit { functions: Some(differing), ..audit(Some(Counts::default())) };
        assert!(differing.as_seen().counts.is_some(), "two readings that differ are an error, not a silence");
        let nothing = Audit { delivered_bytes: 0, ..audit(Some(Counts::default())) };
        assert!(nothing.as_seen().counts.is_some());
    }

    #[test]
    fn two_readings_that_agree_are_better_than_one_and_a_difference_is_an_imbalance() {
        let counts = Counts {
            uncopied_in: 100_000,
            orphan_copied: 103_000,
            copied_out: 100_000,
            retransmitted: 4_000,
            ..Counts::default()
        };
        let functions = Functions {
            sent: 100_000,
            sent_uncopied: 100_000,
            copied_leaving: 0,
            orphan_copied: 104_000,
            received: 100_000,
        };
        let read = |functions| Audit { functions: Some(functions), ..audit(Some(counts)) };
        assert_eq!(audit(None).known_by(), Tier::Told);
        assert_eq!(audit(Some(counts)).known_by(), Tier::Traced);
        let agreed = read(functions);
        assert_eq!((agreed.known_by(), agreed.unexplained()), (Tier::Agreed, Some(0.0)));
        let fewer = read(Functions { sent_uncopied: 99_000, ..functions });
        assert_eq!(fewer.balance().unwrap().readings, 1_000, "copied in, by the functions alone");
        assert_eq!((fewer.known_by(), fewer.balanced()), (Tier::Traced, Some(false)));
        let orphans = read(Functions { orphan_copied: 108_000, ..functions });
        assert_eq!(orphans.balance().unwrap().readings, 1_000, "what was sent again explains 4000");
        let lost = read(Functions { received: 99_000, ..functions });
        assert_eq!(lost.balance().unwrap().readings, -1_000);
        let taken = Counts { copied_out: 60_000, ..counts };
        let mapped = Audit {
            uncopied_out: 40_000,
            counts: Some(taken),
            ..read(Functions { received: 50_000, ..functions })
        };
        assert_eq!(mapped.known_by(), Tier::Agreed, "the rest was copied beside its mapping");
    }

    #[test]
    fn what_is_encrypted_is_longer_on_its_way_and_decrypted_instead_of_copied() {
        let counts = Counts { copied_in: 100_800, decrypted_out: 100_000, ..Counts::default() };
        let encrypted = Audit { framing_bytes: 800, ..audit(Some(counts)) };
        assert_eq!(encrypted.balance(), Some(Balance { sent: 0, delivered: 0, readings: 0 }));
        assert_eq!(encrypted.decrypted_inside(), 0);
        let functions = Functions { sent: 100_800, ..Functions::default() };
        let read = Audit { functions: Some(functions), ..encrypted.clone() };
        assert_eq!(
            read.known_by(),
            Tier::Agreed,
            "records are hung into segments, but from the kernel's memory"
        );
        let twice = Counts { copied_out: 100_000, decrypted_out: 0, ..counts };
        let twice = Audit { counts: Some(twice), ..read };
        assert_eq!((twice.known_by(), twice.decrypted_inside()), (Tier::Agreed, 100_000), "and then copied");
        let plain = Audit { framing_bytes: 0, ..encrypted };
        assert_eq!(plain.balance(), Some(Balance { sent: -800, delivered: 100_000, readings: 0 }), "a hole");
    }

    #[test]
    fn what_was_dropped_before_the_device_is_accounted_for_and_no_more_than_that() {
        let counts = Counts {
            copied_in: 97_000,
            copied_out: 100_000,
            retransmitted: 5_000,
            dropped: 4_000,
            dropped_segments: 3,
            ..Counts::default()
        };
        let dropped = audit(Some(counts));
        assert_eq!((dropped.left_only_again(), dropped.unexplained()), (3_000, Some(0.0)));
        let left = |counts| audit(Some(counts)).balance().unwrap().sent;
        assert_eq!(left(Counts { dropped: 2_000, ..counts }), 1_000, "that few drops do not explain it");
        assert_eq!(left(Counts { retransmitted: 0, ..counts }), 3_000, "it was never sent again");
        assert_eq!(left(Counts { copied_in: 100_000, ..counts }), 0, "dropped whole: all left once");
        assert_eq!(left(Counts { copied_in: 101_000, ..counts }), -1_000, "more than there was");
        let functions = Functions { sent: 100_000, received: 100_000, ..Functions::default() };
        let read = Audit { functions: Some(functions), ..dropped };
        assert_eq!(read.known_by(), Tier::Agreed, "the functions saw all of it");
    }

    #[test]
    fn an_imbalance_is_an_error_and_not_a_rounding() {
        let counts =
            Counts { copied_in: 60_000, uncopied_in: 40_000, copied_out: 99_900, ..Counts::default() };
        let almost = audit(Some(counts));
        assert_eq!(almost.balance(), Some(Balance { sent: 0, delivered: 100, readings: 0 }));
        assert_eq!(almost.balanced(), Some(true));
        let short = audit(Some(Counts { copied_out: 99_899, ..counts }));
        assert_eq!(short.balanced(), Some(false));
        let too_much = audit(Some(Counts { copied_in: 60_102, ..counts }));
        assert_eq!(too_much.balanced(), Some(false));
        assert_eq!(too_much.unexplained(), Some(-0.00102));
        assert_eq!(audit(None).balanced(), None, "nothing counted is neither right nor wrong");
        assert_eq!(almost.flagged(), Some(0.25));
    }

    #[test]
    fn no_crafted_count_wraps_into_a_balance() {
        let half = 1 << 63;
        let honest = Counts { copied_in: 100_000, copied_out: 100_000, ..Counts::default() };
        let sent = Counts { copied_in: half, uncopied_in: half + 100_000, ..honest };
        assert_eq!(audit(Some(sent)).balanced(), Some(false), "{:?}", audit(Some(sent)).balance());
        let taken =
            Audit { uncopied_out: half, ..audit(Some(Counts { copied_out: half + 100_000, ..honest })) };
        assert_eq!(taken.balanced(), Some(false), "{:?}", taken.balance());
        let framed = Counts { copied_in: 99_999, decrypted_out: 0, ..honest };
        let framed = Audit { framing_bytes: u64::MAX, ..audit(Some(framed)) };
        assert_eq!(framed.balanced(), Some(false), "{:?}", framed.balance());
        let functions = Functions {
            sent: 100_000,
            copied_leaving: u64::MAX,
            sent_uncopied: 0,
            received: 100_000,
            orphan_copied: 0,
        };
        let read =
            Audit { functions: Some(functions), ..audit(Some(Counts { dropped: u64::MAX, ..honest })) };
        assert_ne!(read.known_by(), Tier::Agreed, "{:?}", read.balance());
    }
}
