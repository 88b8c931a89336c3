//! Judgements about namespaces and TCP.

use super::{Judgement, Live, good};
use crate::files::Root;
use crate::namespaces::NamespaceRights;
use crate::{packet_sockets, settings};
use syscost_core::units::Unit;

pub fn namespaces(_: &Root, live: &Live) -> Judgement {
    match &live.namespaces {
        Ok(NamespaceRights::Root) => good("allowed to this process itself"),
        Ok(NamespaceRights::UserNamespace) => good("allowed inside a user namespace"),
        Err(why) => good(why.reason.clone()).caution(
            "the veth path is skipped; only loopback can be measured, where sender and receiver share one network",
            why.remedy.clone(),
        ),
    }
}

/// In a namespace such as a run uses: one is made, and its settings are read there.
pub fn carried(_: &Root, live: &Live) -> Judgement {
    let Some(carried) = &live.carried else {
        return good("as here: without namespaces everything is measured in this one");
    };
    if carried.read == 0 {
        return good("not told").worse(
            super::Status::Unknown,
            "settings of this machine (sysctl net.*) are not carried into the namespaces of the veth path",
            "mount -t proc proc /proc",
        );
    }
    let Some(first) = carried.differing.first() else {
        return good(match &carried.carried[..] {
            [] => "as here".to_string(),
            all => format!("as here, where these are not the kernel's own: {}", all.join("; ")),
        });
    };
    let all: Vec<String> = carried.differing.iter().map(|setting| setting.sentence()).collect();
    good(all.join("; "))
        .caution("cases over the veth path are measured with the settings there", first.remedy())
}

/// Whoever wants to see packets makes zero-copy copy.
pub fn packet_sockets(_: &Root, live: &Live) -> Judgement {
    match &live.packet_sockets {
        None => good("none"),
        Some(who) => {
            let seen = good(format!("every packet is seen by {who}"));
            seen.caution(packet_sockets::CONSEQUENCE, packet_sockets::REMEDY)
        }
    }
}

pub fn zerocopy(root: &Root, live: &Live) -> Judgement {
    /// The kernel's own default since 6.7; the one before filled up after some tens of sends.
    const ENOUGH_BYTES: u64 = 131_072;
    if let Err(error) = &live.zerocopy {
        return good(format!("refused: {error}"))
            .caution("the zero-copy mechanism is skipped", "use Linux 4.14 or later");
    }
    let Some(bytes) = root.number("proc/sys/net/core/optmem_max") else {
        return good("possible; net.core.optmem_max not told")
            .unknown("how many sends can be in flight cannot be seen");
    };
    let size = Unit::Bytes.format(bytes as f64);
    let check = good(format!("possible; net.core.optmem_max = {bytes} ({size})"));
    if bytes >= ENOUGH_BYTES {
        return check;
    }
    check.caution(
        "few sends fit before the kernel refuses more (ENOBUFS) and the sender must wait for completions",
        "sudo sysctl net.core.optmem_max=1048576",
    )
}

pub fn locked_memory(root: &Root, _: &Live) -> Judgement {
    /// In flight at once: a few megabytes a connection.
    const ENOUGH_BYTES: u64 = 8 << 20;
    let limit = settings::soft_limit(root, "Max locked memory");
    let exempt = settings::capabilities(root).is_some_and(|held| held.contains("CAP_IPC_LOCK"));
    let number = limit.as_deref().and_then(|text| text.parse::<u64>().ok());
    let observed = match (&limit, number) {
        (Some(_), Some(bytes)) => Unit::Bytes.format(bytes as f64),
        (Some(text), None) => text.clone(),
        (None, _) => "not told".into(),
    };
    let check = good(observed);
    match number {
        _ if exempt => check,
        Some(bytes) if bytes < ENOUGH_BYTES => check.caution(
            "pages that the kernel sends from are charged to this limit: zero-copy sends may be refused (ENOBUFS)",
            "ulimit -l 65536, or raise memlock in /etc/security/limits.conf",
        ),
        None if limit.is_none() => check.unknown("zero-copy sends may be refused (ENOBUFS)"),
        _ => check,
    }
}

pub fn congestion_control(root: &Root, _: &Live) -> Judgement {
    let words = |file: &str| root.text(&format!("proc/sys/net/ipv4/{file}"));
    let (Some(available), Some(default)) =
        (words("tcp_available_congestion_control"), words("tcp_congestion_control"))
    else {
        return good("not told").unknown("a case whose congestion control does not exist will fail");
    };
    let has = |list: &str, name: &str| list.split_whitespace().any(|word| word == name);
    let check = good(format!("default {default}; available {available}"));
    if !has(&available, "cubic") {
        return check.bad(
            "the study sets cubic on its sockets, and this kernel has none",
            settings::congestion_control_remedy(root, "cubic", Some(libc::ENOENT)),
        );
    }
    let allowed = words("tcp_allowed_congestion_control");
    let may_set_any = settings::capabilities(root).is_some_and(|held| held.contains("CAP_NET_ADMIN"));
    if !may_set_any && allowed.is_none() {
        return check.unknown("whether an ordinary user may set cubic on a socket cannot be seen");
    }
    if !may_set_any && allowed.is_some_and(|list| !has(&list, "cubic")) {
        return check.bad(
            "an ordinary user may not set cubic on a socket",
            settings::congestion_control_remedy(root, "cubic", Some(libc::EPERM)),
        );
    }
    if default.starts_with("bbr") {
        // Nothing to do: the sockets of the study do not use it. Other tools' sockets do.
        return check.worse(
            super::Status::Good,
            "sockets of the study are set to cubic; other tools use bbr here, whose pacing costs timer softirqs",
            "",
        );
    }
    check
}
