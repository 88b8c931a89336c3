//! What a receiver on another host reports of its window is held against what the sender saw of the same turn.
//!
//! Nothing is under way when a turn begins or ends, so its bytes are exactly the sender's, and its time lies within what the
//! sender waited. CPU time, system calls and switches are the far host's own word: only their bounds are known here.

use super::axes::{MESSAGE_BYTES, THREADS};
use crate::probe::{RoleReport, Window};
use crate::receiver::options::{BUSY_POLL, SLEEP, WAITING};
use syscost_core::axis::Point;
use syscost_core::sample::Sample;

/// Totals of the sender, of the turn that holds its window: what was sent, the shortest time in which it can have
/// arrived unless the receiver was held up, and until the receiver's answer.
const TURN_BYTES: &str = "turn_bytes";
const TURN_LEAST: &str = "turn_least_ns";
const TURN_MOST: &str = "turn_most_ns";
/// A total of the receiver: of these bytes, what had arrived when its time began.
pub const FIRST_BYTES: &str = "window_first_bytes";

/// The mark of a window that is shorter than the sender saw.
pub const TIMES_DISAGREE: &str = "times_disagree";

/// Clocks of two hosts do not go alike.
pub const CLOCKS: f64 = 1.01;
/// A receiver sees the first piece when it has a CPU: for this share of a turn it may wait for one.
const NOT_SEEN: f64 = 0.25;
/// No machine does less for a system call, or copies faster.
const LEAST_CALL_NS: f64 = 10.0;
const LEAST_BYTE_NS: f64 = 0.002;

/// One turn as the sender saw it, from its first call.
#[derive(Clone, Copy, Debug)]
pub struct WindowTurn {
    pub bytes: u64,
    /// Until all of it was there, or at least had been handed over.
    pub arrived_ns: u64,
    /// Until that was heard.
    pub heard_ns: u64,
}

impl WindowTurn {
    /// `round_trip_ns`: the first piece takes half of it, and what is late is told by the other half.
    pub fn totals(self, round_trip_ns: u64) -> [(String, f64); 3] {
        let least_ns = (self.arrived_ns as f64 - round_trip_ns as f64) * (1.0 - NOT_SEEN);
        [(TURN_BYTES, self.bytes as f64), (TURN_LEAST, least_ns.max(0.0)), (TURN_MOST, self.heard_ns as f64)]
            .map(|(id, value)| (id.to_string(), value))
    }
}

/// Holds what a far receiver reports against the sender; marks what disagrees and may be honest.
pub fn held(point: &Point, reports: &[RoleReport], samples: &mut [Sample]) -> Result<(), String> {
    let [received, sent] = reports else { return Ok(()) };
    let turn = |id: &str| sent.totals.get(id).copied();
    let (Some(bytes), Some(least), Some(most)) = (turn(TURN_BYTES), turn(TURN_LEAST), turn(TURN_MOST)) else {
        return Ok(());
    };
    let first = received.totals.get(FIRST_BYTES).copied().unwrap_or(0.0);
    for (window, sample) in received.windows.iter().zip(samples) {
        carried(point, window, bytes, first)?;
        let elapsed = window.elapsed_ns;
        for (what, ns) in [("elapsed_ns", elapsed), ("its quantity", quantity(window, "elapsed_ns"))] {
            if ns > most * CLOCKS || ns != elapsed {
                return Err(format!(
                    "the receiver's window has {ns:.0} ns ({what}), the sender saw {most:.0}"
                ));
            }
        }
        if elapsed < least {
            sample.marks.push(TIMES_DISAGREE.into());
        }
        worked(point, window, most)?;
    }
    Ok(())
}

/// Is the window exactly what was sent in it, less what came before its time began?
pub fn carried(point: &Point, window: &Window, sent: f64, first: f64) -> Result<(), String> {
    let each = point.int(MESSAGE_BYTES).unwrap_or(1) as f64;
    let is = |found: f64, known: f64| (found - known).abs() <= 1e-9 * known;
    let of = [
        ("bytes", window.bytes, sent - first),
        ("ops", window.ops * each, sent - first),
        ("messages", quantity(window, "messages") * each, sent),
    ];
    match of.into_iter().find(|(_, found, known)| !is(*found, *known)) {
        None => Ok(()),
        Some((what, found, known)) => Err(format!(
            "the receiver's {what} are {found} bytes, and the sender sent {known} in that window"
        )),
    }
}

/// Can its threads have done this in so long?
pub fn worked(point: &Point, window: &Window, most_ns: f64) -> Result<(), String> {
    let of = |id: &str| quantity(window, id);
    let (cpu, calls, uncopied) = (of("cpu_ns"), of("system_calls"), of("uncopied_bytes"));
    let moved = of("messages") * point.int(MESSAGE_BYTES).unwrap_or(1) as f64;
    if uncopied > moved || calls < 1.0 {
        return Err(format!("{calls} system calls and {uncopied} bytes uncopied, of {moved} that were sent"));
    }
    let least = calls * LEAST_CALL_NS + (moved - uncopied) * LEAST_BYTE_NS;
    let threads = point.int(THREADS).unwrap_or(1) as f64;
    let most = if spins(point) { f64::INFINITY } else { threads * most_ns * CLOCKS };
    if cpu < least || cpu > most {
        return Err(format!(
            "{cpu:.0} ns of CPU time, and {calls} system calls of {threads} threads in {most_ns:.0} ns take {least:.0} to {most:.0}"
        ));
    }
    Ok(())
}

/// Such a receiver works between turns too.
pub fn spins(point: &Point) -> bool {
    point.text_at(WAITING.id).is_some_and(|how| how != SLEEP)
        || point.int_at(BUSY_POLL.id).is_some_and(|us| us > 0)
}

/// 0: it has none.
pub fn quantity(window: &Window, id: &str) -> f64 {
    window.quantities.get(id).copied().flatten().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::played;
    use crate::mechanism;
    use crate::probe::transfer::axes::{MECHANISM, PATH, RECEIVER};
    use crate::probe::{BlockTask, Probe, Task, Timing, find, streaming};
    use serde_json::Value as Json;
    use syscost_core::axis::Value;

    const FACTORS: [f64; 9] = [0.0, 0.1, 0.5, 0.67, 0.9, 1.1, 1.5, 2.0, 10.0];
    /// What a far host says for itself: any other fields have to be listed where they are caught.
    const OWN_WORD: [&str; 5] =
        ["tsc_cycles", "voluntary_switches", "involuntary_switches", "uncopied_bytes", "sleeps"];

    fn point(probe: &str) -> Point {
        let mut point = Point::default();
        point.set(MECHANISM.id, Value::text(mechanism::control().about().id));
        point.set(RECEIVER.id, Value::text("recv"));
        point.set(MESSAGE_BYTES.id, Value::Int(4096));
        point.set(THREADS.id, Value::Int(if probe == "tcp_path" { 1 } else { 2 }));
        point.set("placement", Value::text("none"));
        point.set("loop", Value::text("closed"));
        point.set("step", Value::text(crate::probe::path_steps::SINGLE));
        point.set(PATH.id, Value::text("ssh://elsewhere"));
        point
    }

    /// A receiver's and a sender's report of one case, from real sockets, in a block or alone; its times are made even.
    fn honest(probe: &'static dyn Probe, rivals: usize) -> [RoleReport; 2] {
        let id = probe.about().id;
        let task = |role: &str, peer| Task {
            probe: id.into(),
            role: role.into(),
            token: "a token".into(),
            address: "127.0.0.1".into(),
            peer,
            block: (rivals > 0).then(|| BlockTask {
                rivals: vec![point(id); rivals],
                warmup_ns: 1_000_000,
                slice_ns: 500_000,
                passes: 6,
                ..BlockTask::default()
            }),
            ..Task::of(point(id), Timing { warmup_ns: 1_000_000, window_ns: 4_000_000, windows: 1 })
        };
        let mut reports = played(probe, task);
        if rivals > 0 {
            reports = reports.map(|mut report| report.rivals.pop().expect("that of a rival"));
        }
        for (report, ns) in reports.iter_mut().zip([10e6, 9.5e6]) {
            for window in &mut report.windows {
                window.elapsed_ns = ns;
                for (id, even) in [("elapsed_ns", ns), ("cpu_ns", 4e6), ("receive_ns", 4e6 / window.ops)] {
                    window.quantities.entry(id.into()).and_modify(|value| *value = Some(even));
                }
            }
        }
        if reports[1].totals.contains_key(TURN_MOST) {
            reports[1].totals.extend([(TURN_LEAST.into(), 7.5e6), (TURN_MOST.into(), 10.3e6)]);
        }
        if id == "tcp_path" {
            reports[1].windows.iter_mut().for_each(|window| window.elapsed_ns = 10.3e6);
        }
        reports
    }

    fn is_caught(probe: &dyn Probe, reports: &[RoleReport]) -> bool {
        let marked = |sample: &Sample| sample.marks.iter().any(|mark| mark == TIMES_DISAGREE);
        let point = point(probe.about().id);
        probe.merge(&point, reports).map_or(true, |samples| samples.is_empty() || samples.iter().any(marked))
    }

    /// Places of numbers in a report's windows and totals, by the name of their field.
    fn numbers(json: &Json, place: &str, found: &mut Vec<String>) {
        match json {
            Json::Number(n) if n.as_f64() != Some(0.0) => found.push(place.to_string()),
            Json::Array(all) => {
                all.iter().enumerate().for_each(|(i, one)| numbers(one, &format!("{place}/{i}"), found))
            }
            Json::Object(all) => {
                all.iter().for_each(|(id, one)| numbers(one, &format!("{place}/{id}"), found))
            }
            _ => {}
        }
    }

    fn lied(honest: &RoleReport, places: &[&str], factor: f64) -> RoleReport {
        let mut json = serde_json::to_value(honest).unwrap();
        for place in places {
            let number = json.pointer_mut(place).unwrap();
            *number = serde_json::json!(number.as_f64().unwrap() * factor);
        }
        serde_json::from_value(json).unwrap()
    }

    /// The factors of each field that do not pass, whatever the rest of the report says.
    fn caught(probe: &str, field: &str) -> Option<Vec<f64>> {
        let all = || FACTORS.to_vec();
        Some(match (probe, field) {
            (_, "bytes" | "ops" | "messages" | "turns" | FIRST_BYTES | "answered_bytes") => all(),
            ("transfer", "elapsed_ns") => all(),
            // Two fields of one report.
            ("transfer", "both") => vec![0.0, 0.1, 0.5, 0.67, 1.1, 1.5, 2.0, 10.0],
            ("tcp_path", "elapsed_ns") => vec![1.1, 1.5, 2.0, 10.0],
            ("tcp_latency", "elapsed_ns") => vec![0.1, 0.5, 0.67, 0.9],
            ("tcp_path", "receive_ns" | "receive_calls") => vec![0.0, 10.0],
            (_, "cpu_ns") => vec![0.0, 10.0],
            (_, "system_calls") => vec![0.0],
            _ => return None,
        })
    }

    #[test]
    fn a_far_report_is_held_against_what_the_sender_saw_field_by_field() {
        for (id, rivals) in [("transfer", 0), ("transfer", 2), ("tcp_latency", 0), ("tcp_path", 0)] {
            let probe = find(id).unwrap();
            let [received, sent] = honest(probe, rivals);
            let merged = probe.merge(&point(id), &[received.clone(), sent.clone()]);
            assert!(merged.as_ref().is_ok_and(|samples| samples.len() == 1), "{id}: {merged:?}");
            let passes =
                |places: &[&str], factor| !is_caught(probe, &[lied(&received, places, factor), sent.clone()]);
            assert!(passes(&[], 1.0), "{id}: an honest report");
            let json = serde_json::to_value(&received).unwrap();
            let mut places = Vec::new();
            for part in ["windows", "totals"] {
                numbers(&json[part], &format!("/{part}"), &mut places);
            }
            assert!(places.len() > 6, "{id}: {places:?}");
            for place in places.iter().filter(|place| !place.ends_with("/start_ns")) {
                let field = place.rsplit('/').next().unwrap();
                if OWN_WORD.contains(&field) || place.starts_with("/totals/own_in_") {
                    continue;
                }
                // In a latency's windows the quantity is the one that is kept.
                if (id, place.as_str()) == ("tcp_latency", "/windows/0/elapsed_ns") {
                    continue;
                }
                let caught = caught(id, field).unwrap_or_else(|| panic!("{id}: nothing is said of {field}"));
                for factor in caught {
                    assert!(!passes(&[place], factor), "{id}, {rivals} rivals: {place} x {factor} passes");
                }
            }
            if id != "transfer" {
                continue;
            }
            let elapsed = ["/windows/0/elapsed_ns", "/windows/0/quantities/elapsed_ns"];
            let moved = ["/windows/0/bytes", "/windows/0/ops", "/windows/0/quantities/messages"];
            for factor in caught(id, "both").unwrap() {
                assert!(!passes(&elapsed, factor), "both times x {factor} pass");
                assert!(!passes(&moved, factor), "all that was moved x {factor} passes");
            }
        }
    }

    #[test]
    fn what_a_slow_link_or_a_late_thread_does_is_no_disagreement() {
        let turn = WindowTurn { bytes: 8, arrived_ns: 100, heard_ns: 150 };
        let least = |round_trip_ns| turn.totals(round_trip_ns)[1].1;
        assert_eq!(least(0), 75.0, "a quarter of the turn may pass before the first piece is seen");
        assert_eq!(least(20), 60.0);
        assert_eq!(least(1000), 0.0, "a link whose round trip is longer than the turn");
        assert!(streaming::merge(&[RoleReport::default(), RoleReport::default()]).is_err());
    }
}
