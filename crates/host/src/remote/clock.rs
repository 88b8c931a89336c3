//! How far the other host's wall clock is from ours: the quickest of some exchanges of the time.
//!
//! The far time lies between our two; the true offset is within half the round trip of the middle.
//! Source: RFC 5905, section 8 (with one far time stamp instead of two).

use super::connection::Connection;
use super::frame::AgentQuestion;
use std::collections::BTreeMap;
use std::io;
use syscost_sys::clock::unix_ns;

const EXCHANGES: usize = 20;

/// How far a wall clock is ahead of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    ahead_ns: i128,
    round_trip_ns: u64,
}

impl Offset {
    /// Of the same clock, against one that is so far ahead itself.
    pub fn from(self, other: Offset) -> Offset {
        Offset {
            ahead_ns: self.ahead_ns - other.ahead_ns,
            round_trip_ns: self.round_trip_ns.saturating_add(other.round_trip_ns),
        }
    }

    /// The offset, its uncertainty and the round trip of the control line, as settings.
    pub fn facts(self) -> BTreeMap<String, String> {
        let facts = [
            ("clock_offset_ns", self.ahead_ns.to_string()),
            ("clock_uncertainty_ns", (self.round_trip_ns / 2).to_string()),
            ("control_round_trip_ns", self.round_trip_ns.to_string()),
        ];
        facts.into_iter().map(|(name, value)| (format!("path_{name}"), value)).collect()
    }
}

/// Of the clock there against ours; `None`: one of them was set meanwhile.
pub fn offset(line: &Connection) -> io::Result<Option<Offset>> {
    let mut times = Vec::new();
    for _ in 0..EXCHANGES {
        let sent = unix_ns();
        let there = line.ask(AgentQuestion::Time)?;
        times.push(Exchange { sent, there, back: unix_ns() });
    }
    Ok(best(&times))
}

/// One question for the time: ours before and after, theirs between.
#[derive(Clone, Copy)]
struct Exchange {
    sent: u64,
    there: u64,
    back: u64,
}

/// Their clock less ours by the quickest exchange, and how long that took. A clock that was set back
/// meanwhile gives none.
fn best(times: &[Exchange]) -> Option<Offset> {
    let quickest = times.iter().filter(|t| t.back >= t.sent).min_by_key(|t| t.back - t.sent)?;
    let round_trip_ns = quickest.back - quickest.sent;
    let ahead_ns = i128::from(quickest.there) - i128::from(quickest.sent) - i128::from(round_trip_ns / 2);
    Some(Offset { ahead_ns, round_trip_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_exchange_tells_the_offset() {
        let exchange = |sent, there, back| Exchange { sent, there, back };
        let times = [exchange(1000, 9000, 3000), exchange(5000, 11_100, 5200), exchange(900, 1, 800)];
        let offset = |ahead_ns, round_trip_ns| Offset { ahead_ns, round_trip_ns };
        assert_eq!(best(&times), Some(offset(6000, 200)));
        assert_eq!(best(&[exchange(5000, 4100, 5200)]), Some(offset(-1000, 200)), "behind us");
        assert_eq!(best(&times[2..]), None);
        assert_eq!(
            offset(6000, 200).from(offset(-1000, 100)),
            offset(7000, 300),
            "between two that are elsewhere"
        );
    }
}
