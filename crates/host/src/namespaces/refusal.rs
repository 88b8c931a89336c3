//! Why the kernel refused a namespace, and what would make it agree.
//!
//! It only reads. Source: user_namespaces(7), namespaces(7), and the documentation of the settings
//! that it names.

use super::build::{BuildStep, RefusedStep};
use crate::files::Root;
use crate::{Unavailable, settings};

const LOOPBACK: &str = "or measure over loopback: --path loopback";

/// The settings that can forbid namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub max_user_namespaces: Option<u64>,
    pub max_net_namespaces: Option<u64>,
    /// Debian's and Arch's switch.
    pub unprivileged_userns_clone: Option<u64>,
    /// Ubuntu's switch: namespaces are made, without capabilities inside.
    pub apparmor_restricts: Option<u64>,
    /// This process runs under a seccomp filter, as in most containers.
    pub seccomp_filter: bool,
}

impl Policy {
    pub fn read(root: &Root) -> Policy {
        Policy {
            max_user_namespaces: root.number("proc/sys/user/max_user_namespaces"),
            max_net_namespaces: root.number("proc/sys/user/max_net_namespaces"),
            unprivileged_userns_clone: root.number("proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: root.number("proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            seccomp_filter: settings::status(root, "Seccomp").as_deref() == Some("2"),
        }
    }
}

pub fn explain_here(refused: RefusedStep) -> Unavailable {
    explain(&refused, &Policy::read(&Root::here()))
}

pub fn explain(refused: &RefusedStep, policy: &Policy) -> Unavailable {
    let (why, remedy) = cause(refused, policy);
    Unavailable {
        reason: format!("no network namespaces here: {why} ({refused})"),
        remedy: format!("{remedy}, {LOOPBACK}"),
    }
}

fn cause(refused: &RefusedStep, policy: &Policy) -> (String, String) {
    let text = |why: &str, remedy: &str| (why.to_string(), remedy.to_string());
    match refused.errno {
        Some(libc::ENOSPC | libc::EUSERS) => {
            let (setting, limit) = match refused.step {
                BuildStep::UserNamespace => ("user.max_user_namespaces", policy.max_user_namespaces),
                _ => ("user.max_net_namespaces", policy.max_net_namespaces),
            };
            let limit = limit.map_or("unknown".into(), |n| n.to_string());
            let why = format!("the limit {setting} = {limit} is reached");
            (why, format!("sudo sysctl {setting}=15000, or run as root"))
        }
        Some(libc::EPERM | libc::EACCES) if policy.unprivileged_userns_clone == Some(0) => text(
            "kernel.unprivileged_userns_clone = 0 keeps user namespaces from ordinary users",
            "sudo sysctl kernel.unprivileged_userns_clone=1, or run as root",
        ),
        Some(libc::EPERM | libc::EACCES) if policy.apparmor_restricts == Some(1) => text(
            "kernel.apparmor_restrict_unprivileged_userns = 1 takes an ordinary user's rights in his namespaces",
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root",
        ),
        // A kernel without namespaces says EINVAL to unshare(2), which every kernel of today has.
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) if policy.seccomp_filter => text(
            "a seccomp filter, as a container has, forbids them",
            "start the container with --cap-add SYS_ADMIN --cap-add NET_ADMIN",
        ),
        Some(libc::EPERM | libc::EACCES) => text("the kernel does not permit it", "run as root"),
        Some(libc::EINVAL | libc::ENOSYS) if refused.step == BuildStep::UserNamespace => {
            text("this kernel has no user namespaces (CONFIG_USER_NS)", "run as root")
        }
        Some(libc::EINVAL | libc::ENOSYS) if refused.step == BuildStep::NetworkNamespace => {
            text("this kernel has none (CONFIG_NET_NS)", "use another kernel")
        }
        Some(libc::EOPNOTSUPP) if refused.step == BuildStep::Veth => {
            text("this kernel has no veth devices (CONFIG_VETH)", "sudo modprobe veth")
        }
        Some(libc::EMFILE) => {
            text("this process may not open more files", "raise the limit (ulimit -n 4096)")
        }
        _ => text("a step failed", "run `syscost doctor`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;

    fn refused(step: BuildStep, errno: i32) -> RefusedStep {
        let message = std::io::Error::from_raw_os_error(errno).to_string();
        RefusedStep { step, errno: Some(errno), message }
    }

    #[test]
    fn each_switch_is_named_with_its_remedy() {
        let free = Policy::default();
        let cases = [
            (
                refused(BuildStep::UserNamespace, libc::ENOSPC),
                Policy { max_user_namespaces: Some(0), ..free.clone() },
                "user.max_user_namespaces=15000",
            ),
            (
                refused(BuildStep::NetworkNamespace, libc::ENOSPC),
                Policy { max_net_namespaces: Some(4), ..free.clone() },
                "user.max_net_namespaces=15000",
            ),
            (
                refused(BuildStep::UserNamespace, libc::EPERM),
                Policy { unprivileged_userns_clone: Some(0), ..free.clone() },
                "unprivileged_userns_clone=1",
            ),
            (
                refused(BuildStep::Veth, libc::EPERM),
                Policy { apparmor_restricts: Some(1), ..free.clone() },
                "apparmor_restrict_unprivileged_userns=0",
            ),
            (
                refused(BuildStep::UserNamespace, libc::EPERM),
                Policy { seccomp_filter: true, ..free.clone() },
                "--cap-add SYS_ADMIN",
            ),
            (
                refused(BuildStep::NetworkNamespace, libc::ENOSYS),
                Policy { seccomp_filter: true, ..free.clone() },
                "--cap-add SYS_ADMIN",
            ),
            (refused(BuildStep::UserNamespace, libc::EINVAL), free.clone(), "run as root"),
            (refused(BuildStep::Veth, libc::EOPNOTSUPP), free.clone(), "modprobe veth"),
        ];
        for (refused, policy, remedy) in cases {
            let answer = explain(&refused, &policy);
            assert!(answer.remedy.contains(remedy), "{refused:?}: {answer:?}");
            assert!(answer.remedy.ends_with(LOOPBACK), "{answer:?}");
            assert!(answer.reason.contains(&refused.message), "{answer:?}");
        }
    }

    #[test]
    fn a_policy_is_read_from_proc() {
        let machine = Machine::empty();
        assert_eq!(Policy::read(&machine.root()), Policy::default());
        machine.write("proc/sys/user/max_user_namespaces", "0\n");
        machine.write("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        machine.write("proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        let policy = Policy::read(&machine.root());
        assert_eq!(policy.max_user_namespaces, Some(0));
        assert_eq!(policy.apparmor_restricts, Some(1));
        assert_eq!(policy.unprivileged_userns_clone, None);
        assert!(policy.seccomp_filter);
    }
}
