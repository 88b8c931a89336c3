//! Why the kernel refused a namespace, and what would make it agree.
//!
//! It only reads. Source: user_namespaces(7), namespaces(7), and the documentation of the settings
//! that it names.

use crate::files::Root;
use crate::{Unavailable, settings};
use serde::{Deserialize, Serialize};
use std::io;

const LOOPBACK: &str = "or measure over loopback: --path loopback";

/// Which step the kernel refused: reasons and remedies differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildStep {
    UserNamespace,
    NetworkNamespace,
    /// Making a link of this kind.
    Link(String),
    /// Turning an offload off.
    Offload,
    Configure,
}

/// A refused step, in a form that crosses a process boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RefusedStep {
    pub step: BuildStep,
    pub errno: Option<i32>,
    pub message: String,
}

impl RefusedStep {
    pub fn is_permission(&self) -> bool {
        matches!(self.errno, Some(libc::EPERM | libc::EACCES))
    }
}

pub trait At<T> {
    /// Names the step in which an error happened.
    fn at(self, step: BuildStep, doing: &str) -> Result<T, RefusedStep>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: BuildStep, doing: &str) -> Result<T, RefusedStep> {
        self.map_err(|e| RefusedStep { step, errno: e.raw_os_error(), message: format!("{doing}: {e}") })
    }
}

pub fn explain_here(refused: RefusedStep) -> Unavailable {
    explain(&refused, &Root::here())
}

fn explain(refused: &RefusedStep, root: &Root) -> Unavailable {
    // A device that keeps one on says so by this error, or by nothing at all.
    if let (BuildStep::Offload, Some(libc::EOPNOTSUPP) | None) = (&refused.step, refused.errno) {
        return Unavailable {
            reason: format!(
                "offloads = off is not possible on this link: a device of it keeps one on ({refused})"
            ),
            remedy: "leave them on (--offloads on), or measure another path: --path veth".into(),
        };
    }
    let (why, remedy) = cause(refused, root);
    let what = match &refused.step {
        BuildStep::Link(kind) => kind,
        BuildStep::Configure | BuildStep::Offload => "such link between network namespaces",
        BuildStep::UserNamespace | BuildStep::NetworkNamespace => "network namespaces",
    };
    Unavailable {
        reason: format!("no {what} here: {why} ({refused})"),
        remedy: format!("{remedy}, {LOOPBACK}"),
    }
}

fn cause(refused: &RefusedStep, root: &Root) -> (String, String) {
    let switch = |name: &str| root.number(&format!("proc/sys/kernel/{name}"));
    let text = |why: &str, remedy: &str| (why.to_string(), remedy.to_string());
    if let (Some(libc::EOPNOTSUPP), BuildStep::Link(kind)) = (refused.errno, &refused.step) {
        let option = format!("CONFIG_{}", kind.to_uppercase());
        let why = format!("this kernel has no {kind} devices ({option})");
        return (why, settings::module_remedy(root, kind, &option));
    }
    match refused.errno {
        Some(libc::ENOSPC | libc::EUSERS) => {
            let kind = if refused.step == BuildStep::UserNamespace { "user" } else { "net" };
            let limit = root.number(&format!("proc/sys/user/max_{kind}_namespaces"));
            let setting = format!("user.max_{kind}_namespaces");
            let limit = limit.map_or("unknown".into(), |n| n.to_string());
            let why = format!("the limit {setting} = {limit} is reached");
            (why, format!("sudo sysctl {setting}=15000, or run as root"))
        }
        Some(libc::EPERM | libc::EACCES) if switch("unprivileged_userns_clone") == Some(0) => text(
            // Debian's and Arch's switch.
            "kernel.unprivileged_userns_clone = 0 keeps user namespaces from ordinary users",
            "sudo sysctl kernel.unprivileged_userns_clone=1, or run as root",
        ),
        Some(libc::EPERM | libc::EACCES) if switch("apparmor_restrict_unprivileged_userns") == Some(1) => {
            text(
                // Ubuntu's switch: namespaces are made, without capabilities inside.
                "kernel.apparmor_restrict_unprivileged_userns = 1 takes an ordinary user's rights in his namespaces",
                "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root",
            )
        }
        // A kernel without namespaces says EINVAL to unshare(2), which every kernel of today has.
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS)
            if settings::status(root, "Seccomp").as_deref() == Some("2") =>
        {
            text(
                "a seccomp filter, as a container has, forbids them",
                "start the container with --cap-add SYS_ADMIN --cap-add NET_ADMIN",
            )
        }
        Some(libc::EPERM | libc::EACCES) => text("the kernel does not permit it", "run as root"),
        Some(libc::EINVAL | libc::ENOSYS) if refused.step == BuildStep::UserNamespace => {
            text("this kernel has no user namespaces (CONFIG_USER_NS)", "run as root")
        }
        Some(libc::EINVAL | libc::ENOSYS) if refused.step == BuildStep::NetworkNamespace => {
            text("this kernel has none (CONFIG_NET_NS)", "use another kernel")
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
    fn an_offload_that_a_device_keeps_is_said_and_not_a_missing_link() {
        let why = explain(&refused(BuildStep::Offload, libc::EOPNOTSUPP), &Machine::empty().root());
        assert!(why.reason.contains("keeps one on") && why.remedy.contains("--offloads on"), "{why:?}");
    }

    #[test]
    fn each_switch_is_named_with_its_remedy() {
        let switch = "proc/sys/kernel/unprivileged_userns_clone";
        let ubuntu = "proc/sys/kernel/apparmor_restrict_unprivileged_userns";
        let (filter, seccomp) = ("proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        let (user, net) = ("proc/sys/user/max_user_namespaces", "proc/sys/user/max_net_namespaces");
        use BuildStep::{NetworkNamespace, UserNamespace};
        let link = |kind: &str| BuildStep::Link(kind.into());
        let cases = [
            (UserNamespace, libc::ENOSPC, user, "0\n", "user.max_user_namespaces=15000"),
            (NetworkNamespace, libc::ENOSPC, net, "4\n", "user.max_net_namespaces=15000"),
            (UserNamespace, libc::EPERM, switch, "0\n", "unprivileged_userns_clone=1"),
            (link("veth"), libc::EPERM, ubuntu, "1\n", "apparmor_restrict_unprivileged_userns=0"),
            (UserNamespace, libc::EPERM, filter, seccomp, "--cap-add SYS_ADMIN"),
            (NetworkNamespace, libc::ENOSYS, filter, seccomp, "--cap-add SYS_ADMIN"),
            (UserNamespace, libc::EINVAL, "unused", "", "run as root"),
            (link("veth"), libc::EOPNOTSUPP, "unused", "", "modprobe veth"),
            (link("vxlan"), libc::EOPNOTSUPP, "unused", "", "modprobe vxlan"),
        ];
        for (step, errno, file, text, remedy) in cases {
            let machine = Machine::empty();
            machine.write(file, text);
            let refused = refused(step, errno);
            let answer = explain(&refused, &machine.root());
            assert!(answer.remedy.contains(remedy), "{refused:?}: {answer:?}");
            assert!(answer.remedy.ends_with(LOOPBACK), "{answer:?}");
            assert!(answer.reason.contains(&refused.message), "{answer:?}");
            if errno == libc::ENOSPC {
                assert!(answer.reason.contains(&format!("= {} is reached", text.trim())), "{answer:?}");
            }
        }
    }
}
