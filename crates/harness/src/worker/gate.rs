//! What a worker says is held against what can be, before anything of it is kept: it may run on another host, and a reader
//! of the run's files would refuse what is here refused first. A lie costs its round.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use syscost_core::sample::Sample;
use syscost_host::Unavailable;
use syscost_measure::probe::{BlockTask, Missing, RoleReport, Slice, Timing, Window};

/// Honest workers give a handful of each.
const MOST_MARKS: usize = 16;
const MOST_FACTS: usize = 64;
const MOST_TOTALS: usize = 64;
const MOST_MISSING: usize = 128;
const MOST_QUANTITIES: usize = 256;
/// Of ids, and of words: a record keeps both, of every case.
const LONGEST_ID: usize = 64;
const LONGEST_WORDS: usize = 2048;
/// The CPUs of a thousand threads are the longest.
const LONGEST_FACT: usize = 8 << 10;
/// Of all facts of a role together.
const MOST_FACT_BYTES: usize = 16 << 10;
/// All that a minute has at three significant digits is less.
const MOST_BUCKETS: usize = 40_000;
const LONGEST_OFFER: usize = 4096;
/// Fields of an offer that say where its role is to be found.
const PLACES: [&str; 3] = ["address", "host", "server"];
/// Above, no count is exact and no time is one of a machine.
const LARGEST: f64 = 1e18;
/// Clocks of two hosts do not go alike.
const CLOCKS: f64 = 1.01;
const ROUNDING: f64 = 1e-6;
/// More than any machine has.
const MOST_CPUS: u64 = 1 << 14;

/// What a round's reports may hold.
#[derive(Clone, Copy)]
pub struct ReportGate {
    windows: usize,
    rivals: usize,
    slices: usize,
    /// From the word to begin to the last report.
    took: Duration,
    /// The rate by which the threads of a role on another host count cycles; `None`: it is not constant, or not known.
    tsc_hz: Option<f64>,
}

impl ReportGate {
    pub fn of(timing: Timing, block: Option<&BlockTask>, took: Duration) -> ReportGate {
        let rivals = block.map_or(0, |block| block.rivals.len());
        let slices = block.map_or(0, |block| rivals * block.passes as usize);
        ReportGate { windows: timing.windows.max(1) as usize, rivals, slices, took, tsc_hz: None }
    }

    /// The gate of a role on another host.
    pub fn of_far(self, tsc_hz: Option<f64>) -> ReportGate {
        ReportGate { tsc_hz, ..self }
    }

    /// `keeps_slices`: only the role that leads a block has any.
    pub fn admits(&self, report: &RoleReport, keeps_slices: bool) -> Result<(), String> {
        self.own(report)?;
        few("rivals", report.rivals.len(), self.rivals)?;
        few("slices", report.slices.len(), if keeps_slices { self.slices } else { 0 })?;
        report.slices.iter().try_for_each(|(rival, slice)| self.slice(*rival, slice))?;
        report.rivals.iter().try_for_each(|rival| {
            few("rivals of a rival", rival.rivals.len() + rival.slices.len(), 0)?;
            self.own(rival)
        })
    }

    fn own(&self, report: &RoleReport) -> Result<(), String> {
        few("windows", report.windows.len(), self.windows)?;
        marks(&report.marks)?;
        few("totals", report.totals.len(), MOST_TOTALS)?;
        for (id, total) in &report.totals {
            name("total", id)?;
            within(id, *total, 0.0..=LARGEST)?;
        }
        few("facts", report.facts.len(), MOST_FACTS)?;
        for (id, fact) in &report.facts {
            name("fact", id)?;
            short(id, fact, LONGEST_FACT)?;
        }
        let bytes = report.facts.iter().map(|(id, fact)| id.len() + fact.len()).sum();
        few("bytes of facts", bytes, MOST_FACT_BYTES)?;
        few("missing quantities", report.missing.len(), MOST_MISSING)?;
        for Missing { quantity, why } in &report.missing {
            name("quantity", quantity)?;
            short("a reason", &why.reason, LONGEST_WORDS)?;
            short("a remedy", &why.remedy, LONGEST_WORDS)?;
        }
        report.windows.iter().try_for_each(|window| self.window(window))?;
        // One follows the other.
        let all = report.windows.iter().map(|window| window.elapsed_ns).sum();
        within("elapsed_ns of all windows", all, 0.0..=self.longest_ns())
    }

    fn window(&self, window: &Window) -> Result<(), String> {
        marks(&window.marks)?;
        self.length("elapsed_ns", window.elapsed_ns)?;
        within("ops", window.ops, 0.0..=LARGEST)?;
        within("bytes", window.bytes, 0.0..=LARGEST)?;
        few("quantities", window.quantities.len(), MOST_QUANTITIES)?;
        for (id, value) in &window.quantities {
            name("quantity", id)?;
            value.map_or(Ok(()), |value| within(id, value, -LARGEST..=LARGEST))?;
        }
        let of = |id: &str| window.quantities.get(id).copied().flatten();
        if let (Some(hz), Some(cycles), Some(ns)) = (self.tsc_hz, of("tsc_cycles"), of("cpu_ns")) {
            let known = ns * hz / 1e9;
            if (cycles - known).abs() > ROUNDING * known {
                return Err(format!(
                    "{ns:.0} ns of CPU time (cpu_ns) in {cycles:.0} cycles, where {known:.0} pass (tsc_cycles)"
                ));
            }
        }
        window.histogram.as_ref().map_or(Ok(()), |times| few("buckets", times.buckets().len(), MOST_BUCKETS))
    }

    fn slice(&self, rival: usize, slice: &Slice) -> Result<(), String> {
        if rival >= self.rivals {
            return Err(format!("a slice of rival {rival}, of {}", self.rivals));
        }
        self.length("wall_ns", slice.wall_ns as f64)?;
        let most = self.longest_ns() * MOST_CPUS as f64;
        within("sender_cpu_ns", slice.sender_cpu_ns as f64, 0.0..=most)?;
        within("receiver_cpu_ns", slice.receiver_cpu_ns as f64, 0.0..=most)?;
        within("messages", slice.messages as f64, 0.0..=LARGEST)
    }

    /// Nothing that was timed took no time, or longer than its round.
    fn length(&self, what: &str, ns: f64) -> Result<(), String> {
        within(what, ns, f64::MIN_POSITIVE..=self.longest_ns())
    }

    fn longest_ns(&self) -> f64 {
        self.took.as_nanos() as f64 * CLOCKS
    }
}

/// What is made of reports: the file of samples has no room for what is no number.
pub fn samples(samples: &[Sample]) -> Result<(), String> {
    let all = samples.iter().flat_map(|sample| sample.quantities.iter());
    all.into_iter().try_for_each(|(id, value)| within(id, value, -LARGEST..=LARGEST))
}

/// Where a role is to be found, as it offers it: at the address that was agreed, on a port that was. Whoever connects
/// presents the round's token there.
pub fn offer(offer: &serde_json::Value, address: &str, ports: Option<(u16, u16)>) -> Result<(), String> {
    few("bytes of an offer", offer.to_string().len(), LONGEST_OFFER)?;
    let agreed: Option<IpAddr> = address.parse().ok();
    let (from, to) = ports.unwrap_or((1, u16::MAX));
    let is_agreed = |place: &str| match place.parse::<SocketAddr>() {
        Ok(listens) => Some(listens.ip()) == agreed && (from..=to).contains(&listens.port()),
        Err(_) => place.parse().ok() == agreed && agreed.is_some(),
    };
    let places = PLACES.iter().filter_map(|place| offer.get(place));
    match places.into_iter().find(|place| !place.as_str().is_some_and(is_agreed)) {
        None => Ok(()),
        Some(place) => Err(format!("an offer to connect to {place}, and {address} was agreed")),
    }
}

/// What a record keeps of a reason that a worker gave.
pub fn reason(why: Unavailable) -> Unavailable {
    let cut = |text: String| text.chars().take(LONGEST_WORDS).collect();
    Unavailable { reason: cut(why.reason), remedy: cut(why.remedy) }
}

fn few(what: &str, found: usize, most: usize) -> Result<(), String> {
    if found <= most { Ok(()) } else { Err(format!("{found} {what}, of at most {most}")) }
}

fn marks(marks: &[String]) -> Result<(), String> {
    few("marks", marks.len(), MOST_MARKS)?;
    marks.iter().try_for_each(|mark| name("mark", mark))
}

fn name(what: &str, id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    if !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(plain) {
        return Ok(());
    }
    let begins: String = id.chars().take(LONGEST_ID).collect();
    Err(format!("{begins:?} as the name of a {what}"))
}

fn short(what: &str, text: &str, most: usize) -> Result<(), String> {
    few(&format!("bytes in {what}"), text.len(), most)
}

fn within(what: &str, number: f64, range: std::ops::RangeInclusive<f64>) -> Result<(), String> {
    let is_less = number < 0.0 && *range.start() >= 0.0;
    let why = match range.contains(&number) {
        true => return Ok(()),
        false if !number.is_finite() => "which is no number".into(),
        false if is_less => "which is less than nothing".into(),
        false => format!("which cannot be: it is {:e} to {:e}", range.start(), range.end()),
    };
    Err(format!("{number:e} as {what}, {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use syscost_core::axis::Point;

    const TOOK: Duration = Duration::from_millis(100);

    fn timing(windows: u32) -> Timing {
        Timing { warmup_ns: 0, window_ns: 1000, windows }
    }

    fn honest() -> Value {
        let window = json!({ "elapsed_ns": 50e6, "ops": 10.0, "bytes": 640.0, "marks": ["stopped"],
            "quantities": { "cpu_ns": 5.0, "cycles": null, "drift_ns": -3.0 }, "histogram": "5:10 7:1" });
        json!({ "windows": [window], "slices": [], "rivals": [], "totals": { "bytes": 640.0 }, "marks": [],
            "facts": { "cpus": "0", "congestion_control": "cubic" },
            "missing": [{ "quantity": "cycles", "reason": "none", "remedy": "none" }] })
    }

    fn admitted(report: &Value) -> Result<(), String> {
        let report: RoleReport = serde_json::from_value(report.clone()).expect("a report by its form");
        ReportGate::of(timing(2), None, TOOK).admits(&report, true)
    }

    /// As a far host would write it into its report: where, what, and what is said of it.
    #[test]
    fn a_lie_in_any_field_is_refused_and_named() {
        assert_eq!(admitted(&honest()), Ok(()));
        let window = honest()["windows"][0].clone();
        let many =
            |n: usize| (0..n).map(|i| (format!("f{i}"), json!("v"))).collect::<serde_json::Map<_, _>>();
        let numbers =
            |n: usize| (0..n).map(|i| (format!("q{i}"), json!(1.0))).collect::<serde_json::Map<_, _>>();
        let why =
            |reason: String, remedy: String| json!([{ "quantity": "q", "reason": reason, "remedy": remedy }]);
        let long = |n: usize| "x".repeat(n);
        let buckets: String = (1..50_000).map(|ns| format!("{ns}:1 ")).collect();
        for (place, lie, said) in [
            ("/windows", json!([window, window, window]), "3 windows"),
            ("/windows/0/marks", json!([long(1_500_000)]), "name of a mark"),
            ("/windows/0/marks", json!(vec!["m"; 100]), "100 marks"),
            ("/windows/0/marks", json!(["=cmd|'/c calc'!A1"]), "name of a mark"),
            ("/windows/0/marks", json!([""]), "name of a mark"),
            ("/windows/0/elapsed_ns", json!(0.0), "elapsed_ns"),
            ("/windows/0/elapsed_ns", json!(-1.0), "less than nothing"),
            ("/windows/0/elapsed_ns", json!(1e308), "elapsed_ns"),
            ("/windows/0/elapsed_ns", json!(102e6), "elapsed_ns"),
            ("/windows/0/ops", json!(-1.0), "less than nothing"),
            ("/windows/0/bytes", json!(1e300), "bytes"),
            ("/windows/0/quantities", json!(numbers(300)), "300 quantities"),
            ("/windows/0/quantities", json!({ "cpu_ns": 1e20 }), "cpu_ns"),
            ("/windows/0/quantities", json!({ long(100): 1.0 }), "name of a quantity"),
            ("/windows/0/histogram", json!(buckets.trim()), "49999 buckets"),
            ("/totals", json!({ "bytes": -1.0 }), "less than nothing"),
            ("/totals", json!(numbers(65)), "65 totals"),
            ("/totals", json!({ "a b": 1.0 }), "name of a total"),
            ("/facts", json!({ "cpus": long(12 << 20) }), "bytes in cpus"),
            ("/facts", json!({ long(12 << 20): "0" }), "name of a fact"),
            ("/facts", json!(many(65)), "65 facts"),
            ("/missing", json!(vec![honest()["missing"][0].clone(); 129]), "129 missing"),
            ("/missing", why(long(9000), "r".into()), "a reason"),
            ("/missing", why("r".into(), long(9000)), "a remedy"),
            ("/marks", json!(vec!["m"; 17]), "17 marks"),
        ] {
            let mut report = honest();
            *report.pointer_mut(place).unwrap() = lie;
            let refused = admitted(&report).expect_err(place);
            assert!(refused.contains(said), "{place}: {refused}");
            assert!(refused.len() < 300, "{place}: {} bytes are said of it", refused.len());
        }
        let mut all = honest();
        all["facts"] =
            (0..40).map(|i| (format!("f{i}"), json!(long(500)))).collect::<serde_json::Map<_, _>>().into();
        assert!(admitted(&all).unwrap_err().contains("bytes of facts"));
    }

    #[test]
    fn cycles_of_a_far_role_are_those_of_its_cpu_time() {
        let gate = ReportGate::of(timing(1), None, TOOK).of_far(Some(2e9));
        let of = |cpu_ns: f64, cycles: f64| {
            let quantities = [("cpu_ns", Some(cpu_ns)), ("tsc_cycles", Some(cycles))];
            let quantities = quantities.map(|(id, value)| (id.to_string(), value)).into();
            let windows = vec![Window { elapsed_ns: 1e6, quantities, ..Window::default() }];
            gate.admits(&RoleReport { windows, ..RoleReport::default() }, false)
        };
        assert_eq!(of(5e5, 1e6), Ok(()));
        for factor in [0.0, 0.1, 0.5, 0.67, 0.9, 1.1, 1.5, 2.0, 10.0] {
            assert!(of(5e5 * factor, 1e6).unwrap_err().contains("cycles"), "{factor}");
            assert!(of(5e5, 1e6 * factor).is_err(), "{factor}");
        }
    }

    #[test]
    fn slices_are_those_that_were_asked_for_of_rivals_that_are_there_by_the_role_that_leads() {
        let rivals = vec![Point::default(); 2];
        let block = BlockTask { rivals, passes: 3, slice_ns: 1000, ..BlockTask::default() };
        let gate = ReportGate::of(timing(1), Some(&block), TOOK);
        let slice =
            Slice { wall_ns: 1000, messages: 1, sender_cpu_ns: 5, receiver_cpu_ns: 5, ..Slice::default() };
        let report = |slices: Vec<(usize, Slice)>, rivals: usize| RoleReport {
            slices,
            rivals: vec![RoleReport::default(); rivals],
            ..RoleReport::default()
        };
        assert_eq!(gate.admits(&report(vec![(1, slice); 6], 2), true), Ok(()));
        let refused = |report: &RoleReport, leads| gate.admits(report, leads).unwrap_err();
        assert!(refused(&report(vec![(1, slice)], 2), false).contains("1 slices"));
        assert!(refused(&report(vec![(1, slice); 7], 2), true).contains("7 slices"));
        assert!(refused(&report(vec![(2, slice)], 2), true).contains("rival 2"));
        assert!(refused(&report(Vec::new(), 3), true).contains("3 rivals"));
        let long = Slice { wall_ns: 102_000_000, ..slice };
        let spent = Slice { receiver_cpu_ns: u64::MAX, ..slice };
        let sent = Slice { messages: u64::MAX, ..slice };
        for (lie, said) in [(long, "wall_ns"), (spent, "receiver_cpu_ns"), (sent, "messages")] {
            assert!(refused(&report(vec![(0, lie)], 2), true).contains(said), "{lie:?}");
        }
        let window = Window { elapsed_ns: 0.0, ..Window::default() };
        let mut within = report(Vec::new(), 2);
        within.rivals[1].windows = vec![window];
        assert!(refused(&within, true).contains("elapsed_ns"), "a rival's own report too");
        within.rivals[1] = report(vec![(0, slice)], 0);
        assert!(refused(&within, true).contains("rivals of a rival"));
    }

    #[test]
    fn nobody_connects_to_an_address_that_was_not_agreed() {
        let offered = |place: &str, text: &str, ports| offer(&json!({ place: text }), "10.0.0.2", ports);
        assert_eq!(offered("address", "10.0.0.2:40001", None), Ok(()));
        assert_eq!(offered("address", "10.0.0.2:40001", Some((40000, 40100))), Ok(()));
        assert_eq!(offered("host", "10.0.0.2", None), Ok(()));
        assert_eq!(offer(&json!({ "address": "[fd00::2]:9" }), "fd00::2", None), Ok(()));
        assert_eq!(offer(&json!({ "name": "a socket here" }), "127.0.0.1", None), Ok(()));
        for (place, text) in [
            ("address", "10.0.0.3:40001"),
            ("address", "127.0.0.1:22"),
            ("address", "169.254.169.254:80"),
            ("address", "10.0.0.2:0"),
            ("address", "localhost:40001"),
            ("host", "10.0.0.9"),
            ("server", "10.0.0.9"),
        ] {
            assert!(offered(place, text, None).unwrap_err().contains("was agreed"), "{place} {text}");
        }
        assert!(offered("address", "10.0.0.2:22", Some((40000, 40100))).is_err());
        assert!(offer(&json!({ "address": 7 }), "10.0.0.2", None).is_err());
        assert!(offer(&json!({ "name": "n".repeat(5000) }), "10.0.0.2", None).is_err());
    }

    #[test]
    fn no_sample_holds_what_is_no_number() {
        let sample = |n: f64| Sample {
            quantities: [("q".to_string(), Some(n))].into_iter().collect(),
            ..Sample::default()
        };
        assert_eq!(samples(&[sample(1.0)]), Ok(()));
        assert!(samples(&[sample(1.0), sample(f64::NAN)]).unwrap_err().contains("no number"));
    }
}
