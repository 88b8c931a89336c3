//! Whose a sample is: a role's process or what it started, a softirq that runs on top of somebody else, or nobody's.

use crate::files::Root;
use std::collections::BTreeMap;

/// Softirqs outside the sampled processes: in ksoftirqd, in an idle CPU or on top of another process.
pub const SOFTIRQ: &str = "softirq elsewhere";
/// The CPU had nothing to do.
pub const IDLE: &str = "idle";
/// Other processes.
pub const OTHERS: &str = "others";

/// The functions that run softirqs of the network, and what they are called from.
const NETWORK_SOFTIRQS: [&str; 2] = ["net_rx_action", "net_tx_action"];

/// These processes and all they have started so far, which play the same role.
pub(super) fn with_children(root: &Root, mut roles: BTreeMap<u32, String>) -> BTreeMap<u32, String> {
    let parents: Vec<(u32, u32)> = root
        .names("proc")
        .iter()
        .filter_map(|name| Some((name.parse().ok()?, parent(&root.text(&format!("proc/{name}/stat"))?)?)))
        .collect();
    adopt(&mut roles, &parents);
    roles
}

/// The fourth field; the second is a name in brackets that may hold anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// A child plays its parent's role; pairs are (child, parent), in any order.
pub(super) fn adopt(roles: &mut BTreeMap<u32, String>, parents: &[(u32, u32)]) {
    loop {
        let known = roles.len();
        for (child, parent) in parents {
            if let Some(role) = roles.get(parent).filter(|_| !roles.contains_key(child)).cloned() {
                roles.insert(*child, role);
            }
        }
        if roles.len() == known {
            return;
        }
    }
}

/// Whose is a sample of this process with these functions, the innermost last?
pub(super) fn owner<'r>(roles: &'r BTreeMap<u32, String>, pid: u32, functions: &[&str]) -> &'r str {
    if let Some(role) = roles.get(&pid) {
        return role;
    }
    let softirq = functions.iter().any(|function| NETWORK_SOFTIRQS.contains(function));
    match pid {
        _ if softirq => SOFTIRQ,
        0 => IDLE,
        _ => OTHERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles() -> BTreeMap<u32, String> {
        BTreeMap::from([(10, "sender".to_string()), (20, "receiver".to_string())])
    }

    #[test]
    fn what_a_role_starts_plays_it_too() {
        let mut roles = roles();
        adopt(&mut roles, &[(12, 11), (11, 10), (31, 30), (10, 20)]);
        let of = |pid| roles.get(&pid).map(String::as_str);
        assert_eq!([of(10), of(11), of(12), of(31)], [Some("sender"), Some("sender"), Some("sender"), None]);
        assert_eq!(parent("77 (a) b) S 10 77"), Some(10));
    }

    #[test]
    fn softirqs_of_the_network_are_the_flows_wherever_they_run() {
        let roles = roles();
        let softirq = ["common_interrupt", "handle_softirqs", "net_rx_action", "tcp_v4_rcv"];
        assert_eq!(owner(&roles, 10, &softirq), "sender", "on top of a role's own process");
        assert_eq!(owner(&roles, 99, &softirq), SOFTIRQ);
        assert_eq!(owner(&roles, 0, &softirq), SOFTIRQ);
        assert_eq!(owner(&roles, 0, &["do_idle"]), IDLE);
        assert_eq!(owner(&roles, 99, &["tcp_v4_rcv"]), OTHERS, "another process's own work");
    }
}
