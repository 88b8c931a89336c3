//! Judgement about one path that the user names: can the far side run there, and what lies between?

use super::{HostCheck, good};
use crate::Unavailable;
use crate::namespaces::named;
use crate::packet_sockets;
use crate::remote::{self, target};
use std::collections::BTreeMap;

/// Tries the path; an error says how one is written.
pub fn path(path: &str) -> Result<HostCheck, String> {
    let facts = if target::is_meant(path) {
        target::check(path)?;
        remote::open(path).map(|host| host.facts.clone())
    } else {
        named::check(path)?;
        named::open(path).map(|pair| pair.facts)
    };
    Ok(judged(path, facts))
}

fn judged(path: &str, facts: Result<BTreeMap<String, String>, Unavailable>) -> HostCheck {
    let judgement = match facts {
        Ok(facts) => {
            let holders: Vec<&str> = packet_sockets::of_ends(&facts).collect();
            let told = good(described(&facts));
            if holders.is_empty() {
                told
            } else {
                let seen = format!(
                    "every packet is seen by {}: {}",
                    holders.join(", "),
                    packet_sockets::CONSEQUENCE
                );
                told.caution(seen, packet_sockets::REMEDY)
            }
        }
        Err(why) => good(why.reason).bad("every case over it is skipped", why.remedy),
    };
    judgement.of("path", format!("path {path}"))
}

/// What decides figures first, of those that are known.
fn described(facts: &BTreeMap<String, String>) -> String {
    let fact = |name: &str| facts.get(name).cloned();
    let end = |role: &str| {
        let interface = fact(&format!("{role}_interface"))?;
        let driver = fact(&format!("{role}_driver")).map(|driver| format!(" ({driver})")).unwrap_or_default();
        let address =
            fact(&format!("{role}_address")).map(|address| format!("{address} by ")).unwrap_or_default();
        Some(format!("{address}{interface}{driver}"))
    };
    let milliseconds = |name: &str| Some(format!("{:.3} ms", fact(name)?.parse::<f64>().ok()? / 1e6));
    let told = [
        fact("receiver_cpu_model").map(|model| format!("far host {model}")),
        fact("receiver_kernel_release").map(|release| format!("Linux {release}")),
        end("sender").map(|end| format!("from {end}")),
        end("receiver").map(|end| format!("to {end}")),
        fact("mtu").map(|mtu| format!("MTU {mtu}")),
        milliseconds("path_control_round_trip_ns").map(|time| format!("control round trip {time}")),
        milliseconds("path_clock_offset_ns")
            .zip(milliseconds("path_clock_uncertainty_ns"))
            .map(|(offset, within)| format!("its clock is {offset} ahead, within {within}")),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn a_path_that_cannot_be_used_says_what_to_do() {
        let why = Unavailable { reason: "no".into(), remedy: "do".into() };
        let check = judged("ssh://lab", Err(why));
        assert_eq!((check.status, check.remedy.as_str()), (Status::Bad, "do"));
        assert!(path("ssh://-x").is_err() && path("veth").is_err());
    }
}
