//! Receivers that only a network device with queues to give could serve: asked of every device here.
//!
//! They have no receive loop: no device that the developers could reach takes one, and one that was never
//! run would be a guess. What is here is the question, the kernel's answer, and what would have to change.

use super::{About, Receive, Receiver, ReceiverSetup, Receiving};
use std::collections::BTreeMap;
use std::io;
use syscost_host::Unavailable;
use syscost_host::files::Root;

/// A receiver that a device would have to serve.
pub struct DeviceQueue {
    pub about: About<Receiving>,
    pub why_not: fn() -> Unavailable,
}

impl Receive for DeviceQueue {
    fn about(&self) -> About<Receiving> {
        self.about
    }

    fn available(&self) -> Result<(), Unavailable> {
        Err((self.why_not)())
    }

    fn start(&self, _: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, (self.why_not)()))
    }
}

/// Devices that are asked: a host of containers has hundreds.
const ASKED: usize = 16;

/// Asks each device, and says who would do it or what the kernel answered.
pub fn nobody(ask: impl Fn(u32) -> io::Result<()>) -> Unavailable {
    let root = Root::here();
    let names = root.names("sys/class/net");
    let answers = names.into_iter().take(ASKED).filter_map(|name| {
        let index = root.number(&format!("sys/class/net/{name}/ifindex"))?;
        Some((name, ask(index as u32)))
    });
    verdict(answers)
}

fn verdict(answers: impl Iterator<Item = (String, io::Result<()>)>) -> Unavailable {
    let (mut able, mut refused) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    for (name, answer) in answers {
        match answer {
            Ok(()) => able.push(name),
            Err(error) => refused.entry(error.to_string()).or_default().push(name),
        }
    }
    if !able.is_empty() {
        return Unavailable {
            reason: format!(
                "{} could give a receive queue, but this version has no receive loop for it: it has never been \
                 run on such a device",
                able.join(", ")
            ),
            remedy: "tell the developers of a machine with such a device".into(),
        };
    }
    let because: Vec<String> =
        refused.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect();
    Unavailable {
        reason: format!("no network device here gives up a receive queue ({})", because.join("; ")),
        remedy: "a device whose driver has queue management (mlx5, bnxt, gve, fbnic), Linux 6.15 or later, \
                 and CAP_NET_ADMIN"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_answers_are_one_and_a_device_that_could_is_named() {
        let refused = |name: &str| (name.to_string(), Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)));
        let none = verdict([refused("eth0"), refused("lo")].into_iter());
        assert!(none.reason.contains("(eth0, lo: Operation not supported"), "{none:?}");
        let one = verdict([refused("lo"), ("eth1".to_string(), Ok(()))].into_iter());
        assert!(one.reason.starts_with("eth1 could"), "{one:?}");
        assert!(verdict(std::iter::empty()).reason.contains("no network device"));
    }
}
