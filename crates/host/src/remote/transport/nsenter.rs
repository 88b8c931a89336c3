//! nsenter: a process of this machine in the network (and host name) of another one, such as that of a container. It
//! keeps our files and our control group: nothing is copied, and limits of the container's CPU time do not hold.
//! Source: nsenter(1), user_namespaces(7).

use super::{Transport, owned};
use std::fs;

pub struct Nsenter;

impl Transport for Nsenter {
    fn name(&self) -> &'static str {
        "nsenter"
    }

    fn form(&self) -> &'static str {
        "nsenter:PID"
    }

    fn place(&self, text: &str) -> Result<String, String> {
        let number =
            text.parse::<u32>().ok().filter(|pid| *pid > 0 && text.chars().all(|c| c.is_ascii_digit()));
        let wanted =
            || format!("{text:?} is no process id: podman inspect -f '{{{{.State.Pid}}}}' NAME shows one");
        number.map(|pid| pid.to_string()).ok_or_else(wanted)
    }

    fn words(&self, place: &str) -> Vec<String> {
        let target = format!("--target={place}");
        let mut words = owned(&["nsenter", &target, "--net", "--uts"]);
        // Who is in a user namespace already cannot enter it again; who is not has no rights over its network.
        if is_elsewhere(place) {
            words.extend(owned(&["--user", "--preserve-credentials"]));
        }
        words.push("--".into());
        words
    }

    fn install(&self) -> &'static str {
        "install util-linux, which has nsenter"
    }

    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (
                &["no such file or directory", "no such process"],
                "name a process that runs: lsns -t net; podman inspect -f '{{.State.Pid}}' NAME; docker has the same",
            ),
            (
                &["operation not permitted", "permission denied"],
                "enter it as root, or as the user whose container it is",
            ),
            (&[""], "see what it says: {command} true"),
        ]
    }

    fn sees_our_files(&self) -> bool {
        true
    }
}

/// Is that process in another user namespace?
fn is_elsewhere(pid: &str) -> bool {
    let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/user")).ok();
    of(pid).zip(of("self")).is_some_and(|(theirs, ours)| theirs != ours)
}
