//! What the kernel says of the connections of a visit, while it goes on: the sizes of their buffers.
//!
//! Programs are started with the same kernel settings; whether they kept them is asked of the kernel (sock_diag, by ss(8)),
//! in a visit of its own that is not timed. Autotuning grows buffers with what a program does: they need not be equal.

use crate::place::Place;
use crate::process::{self, Seat};
use std::sync::mpsc;
use std::time::Duration;
use syscost_core::units::Unit;

/// How far into a visit it is looked.
const INTO: Duration = Duration::from_millis(600);

/// The largest of all data connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    pub send_bytes: u64,
    pub receive_bytes: u64,
}

/// Runs the visit and looks at its connections in between; `None` where ss(8) is not here or saw none.
pub fn during<T>(place: &Place, visit: impl FnOnce() -> T) -> (T, Option<Buffers>) {
    let seats = [place.sender(), place.receiver()];
    let (over, waits) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let looking = scope.spawn(move || {
            // The visit may end before: it failed.
            let ended = waits.recv_timeout(INTO) != Err(mpsc::RecvTimeoutError::Timeout);
            (!ended).then(|| seats.map(|seat| said(seat).map_or(Buffers::default(), |text| largest(&text))))
        });
        let outcome = visit();
        drop(over);
        let seen = looking.join().expect("the thread does not panic");
        let both = seen.map(|[sender, receiver]| Buffers {
            send_bytes: sender.send_bytes,
            receive_bytes: receiver.receive_bytes,
        });
        (outcome, both.filter(|both| both.send_bytes > 0 && both.receive_bytes > 0))
    })
}

fn said(seat: Seat) -> Option<String> {
    let output = process::command("ss", seat).args(["-tnmOH", "state", "established"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `skmem:(r0,rb131072,t0,tb2626560,...)` of every line.
fn largest(text: &str) -> Buffers {
    let mut all = Buffers::default();
    for fields in text.split("skmem:(").skip(1).filter_map(|rest| rest.split(')').next()) {
        let field =
            |name: &str| fields.split(',').find_map(|f| f.strip_prefix(name)?.parse().ok()).unwrap_or(0);
        all.send_bytes = all.send_bytes.max(field("tb"));
        all.receive_bytes = all.receive_bytes.max(field("rb"));
    }
    all
}

/// `send 2.5 MiB, receive 6 MiB`
pub fn shown(buffers: Option<Buffers>) -> String {
    let bytes = |n: u64| Unit::Bytes.format(n as f64);
    match buffers {
        Some(seen) => format!("send {}, receive {}", bytes(seen.send_bytes), bytes(seen.receive_bytes)),
        None => "not seen".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_buffers_of_all_connections_are_read() {
        let text = "0 0 10.89.0.1:40000 10.89.0.2:10000 skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0)\n\
                    0 99 10.89.0.1:40001 10.89.0.2:10001 skmem:(r0,rb131072,t9,tb2626560,f9,w9,o0,bl0,d0)\n";
        assert_eq!(largest(text), Buffers { send_bytes: 2_626_560, receive_bytes: 131_072 });
        assert_eq!(largest("nothing\n"), Buffers::default());
        assert_eq!(shown(None), "not seen");
    }
}
