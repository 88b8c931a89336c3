//! The account of a round: what was sent came, or was dropped at a place that says so, or is in no counter.
//!
//! What does not add up is no measurement.

use crate::probe::RoleReport;
use crate::probe::transfer::axes::MESSAGE_BYTES;
use syscost_core::axis::Point;

/// Totals of the receiver.
pub const SENT: &str = "sent";
pub const LOST: &str = "lost";
pub const DUPLICATED: &str = "duplicated";
pub const REORDERED: &str = "reordered";
pub const TRUNCATED: &str = "truncated";
pub const SOCKET_DROPS: &str = "socket_drops";
pub const CHECKSUM_DROPS: &str = "checksum_drops";
pub const QUEUE_DROPS: &str = "queue_drops";
pub const DEVICE_DROPS: &str = "device_drops";
pub const WINDOW: &str = "window";
pub const RECEIVE_BUFFER: &str = "receive_buffer";

/// Datagrams of a round, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    sent: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    truncated: u64,
    /// Of the lost ones, by place.
    full: u64,
    checksum: u64,
    queue: u64,
    device: u64,
    in_no_counter: u64,
    window: u64,
    buffer_bytes: u64,
}

impl Loss {
    /// The socket's own counter holds only what was lost. Those of the namespace may hold datagrams of others: they explain no
    /// more than what is left.
    pub fn of(point: &Point, received: &RoleReport, sent: &RoleReport) -> Result<Loss, String> {
        let total = |id: &str| received.totals.get(id).map_or(0, |count| *count as u64);
        let bytes = point.int(MESSAGE_BYTES).unwrap_or(1).max(1);
        let handed_over = sent.totals.get("bytes").map_or(0, |all| *all as u64 / bytes);
        let came = received.totals.get("bytes").map_or(0, |all| *all as u64 / bytes);
        let (sent, lost, dropped) = (total(SENT), total(LOST), total(SOCKET_DROPS));
        // Where the receiver confirms, its bytes hold what is lost too: it is done with.
        let whole = if super::rate(point).is_some() { came + lost } else { came };
        if handed_over != sent || whole != sent || lost > sent {
            return Err(format!(
                "{handed_over} datagrams were handed over and {sent} counted as sent; {whole} came or are lost, {lost} of them lost"
            ));
        }
        if dropped > lost {
            return Err(format!("the receiver's socket dropped {dropped} datagrams, and {lost} are missing"));
        }
        let mut left = lost;
        let mut take = |count: u64| {
            let part = count.min(left);
            left -= part;
            part
        };
        // What came with another length counts as lost, and nothing dropped it.
        take(total(TRUNCATED));
        let checksum = take(total(CHECKSUM_DROPS).min(dropped));
        let (full, queue, device) =
            (take(dropped - checksum), take(total(QUEUE_DROPS)), take(total(DEVICE_DROPS)));
        Ok(Loss {
            sent,
            lost,
            duplicated: total(DUPLICATED),
            reordered: total(REORDERED),
            truncated: total(TRUNCATED),
            full,
            checksum,
            queue,
            device,
            in_no_counter: left,
            window: total(WINDOW),
            buffer_bytes: total(RECEIVE_BUFFER),
        })
    }

    /// Ways are compared where nothing is lost.
    pub fn none(&self) -> Result<(), String> {
        if (self.lost, self.duplicated, self.truncated) == (0, 0, 0) {
            return Ok(());
        }
        let places = [
            (self.full, "by the receiver's full socket buffer"),
            (self.checksum, "by a wrong checksum"),
            (self.queue, "by queue disciplines of the sender's namespace (tc -s qdisc)"),
            (self.device, "by links (ip -s link)"),
            (self.in_no_counter, "in no counter"),
        ];
        let told: Vec<String> = places
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, place)| format!("{count} {place}"))
            .collect();
        if self.sent > 0 && self.in_no_counter == self.sent {
            return Err(format!(
                "none of {} datagrams came, and no counter of either side has them: a firewall on the way may pass TCP and drop \
                 UDP; let UDP through to every port of the receiver, or use --path loopback",
                self.sent
            ));
        }
        let places = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
        Err(format!(
            "of {} datagrams {} were lost, {} came twice and {} with another length{places}; ways are compared where nothing is \
             lost (what is lost at a rate: --datagram-rate N)",
            self.sent, self.lost, self.duplicated, self.truncated
        ))
    }

    pub fn quantities(&self) -> impl Iterator<Item = (String, Option<f64>)> + use<> {
        [
            ("round_sent", self.sent),
            ("round_lost", self.lost),
            ("round_duplicated", self.duplicated),
            ("round_reordered", self.reordered),
            ("round_truncated", self.truncated),
            ("round_dropped_full", self.full),
            ("round_dropped_checksum", self.checksum),
            ("round_dropped_queue", self.queue),
            ("round_dropped_device", self.device),
            ("round_in_no_counter", self.in_no_counter),
            ("window_datagrams", self.window),
            ("receive_buffer_bytes", self.buffer_bytes),
        ]
        .into_iter()
        .map(|(id, count)| (id.to_string(), Some(count as f64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Value;

    fn account(sent: f64, bytes: f64, counts: &[(&str, f64)], rate: u64) -> Result<Loss, String> {
        let mut point = Point::default();
        point.set(MESSAGE_BYTES.id, Value::Int(100));
        point.set("datagram_rate", Value::Int(rate));
        let report = |totals: &[(&str, f64)]| RoleReport {
            totals: totals.iter().map(|(id, count)| (id.to_string(), *count)).collect(),
            ..RoleReport::default()
        };
        Loss::of(
            &point,
            &report(&[counts, &[("bytes", bytes)]].concat()),
            &report(&[("bytes", sent * 100.0)]),
        )
    }

    #[test]
    fn every_datagram_came_or_is_lost_at_a_place() {
        let counts =
            [(SENT, 100.0), (LOST, 10.0), (SOCKET_DROPS, 4.0), (CHECKSUM_DROPS, 1.0), (QUEUE_DROPS, 5.0)];
        let loss = account(100.0, 9_000.0, &counts, 1).unwrap();
        assert_eq!((loss.full, loss.checksum, loss.queue, loss.in_no_counter), (3, 1, 5, 1));
        assert!(loss.none().unwrap_err().contains("3 by the receiver's full socket buffer, 1 by a wrong"));
        assert_eq!(account(100.0, 10_000.0, &[(SENT, 100.0)], 0).unwrap().none(), Ok(()));
        let nothing = account(100.0, 10_000.0, &[(SENT, 100.0), (LOST, 100.0)], 0).unwrap();
        assert!(nothing.none().unwrap_err().contains("may pass TCP and drop UDP"));
    }

    #[test]
    fn others_drops_in_the_namespace_explain_no_more_than_is_lost() {
        let loss = account(100.0, 9_900.0, &[(SENT, 100.0), (LOST, 1.0), (DEVICE_DROPS, 500.0)], 1).unwrap();
        assert_eq!((loss.device, loss.in_no_counter), (1, 0));
    }

    #[test]
    fn what_does_not_add_up_is_no_measurement() {
        assert!(account(101.0, 10_000.0, &[(SENT, 100.0)], 1).is_err(), "sent, and not told");
        assert!(account(100.0, 9_900.0, &[(SENT, 100.0)], 1).is_err(), "neither came nor is missing");
        assert!(
            account(100.0, 10_000.0, &[(SENT, 100.0), (SOCKET_DROPS, 1.0)], 1).is_err(),
            "dropped, and came"
        );
    }
}
