//! Between two nodes of a real Slurm cluster, by `srun` alone.

use super::engine::Engine;
use crate::common;
use std::path::Path;

/// A cluster of so many nodes, `n1` and on.
pub fn cluster(test: &str, nodes: &str) -> Option<Engine> {
    let needs = ["slurmctld", "slurmd", "srun", "sinfo", "munged", "ip", "tc", "nsenter", "unshare"];
    let mut cluster = Engine::start(test, "slurm", &[nodes], &needs)?;
    cluster.set("SLURM_CONF", cluster.file("slurm.conf").display().to_string());
    Some(cluster)
}

/// Where a copy goes that a node is given.
const COPIES: &str = "home/.cache/syscost/bin";

/// A command of the user's own that leads to a place from which our file is not seen.
fn hidden(leads: &str, more: &str) -> String {
    let folder = Path::new(common::SYSCOST).parent().expect("a folder").display();
    let hide = format!("mount --make-rprivate / && mount -t tmpfs tmpfs {folder} && {more} exec \"$@\"");
    format!("place=$1; shift; {leads} unshare --mount sh -c '{hide}' sh \"$@\"")
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn two_nodes_are_measured_by_steps_and_nothing_stays_on_them() {
    let Some(cluster) = cluster("slurm::two_nodes_are_measured", "2") else { return };
    let run = cluster.measures(&[], "srun:n1,n2");
    let told = run.record.settings.values().next().expect("recorded");
    for (fact, value) in [
        ("sender_host", "srun:n1"),
        ("receiver_host", "srun:n2"),
        ("sender_address", "10.77.0.11"),
        ("receiver_address", "10.77.0.12"),
        ("receiver_driver", "veth"),
    ] {
        assert_eq!(told.get(fact).map(|value| &**value), Some(value), "{told:?}");
    }
    assert!(told.contains_key("sender_kernel_release") && told.contains_key("receiver_kernel_release"));
    let warned = |id: &str| run.record.warnings.iter().any(|warning| warning.id == id);
    assert!(warned("both_ends_elsewhere"), "{:?}", run.record.warnings);
    assert!(!warned("copied_to_host"), "nodes that share our file start it: {:?}", run.record.warnings);
    assert!(run.record.predictions.is_empty(), "rows of the login node price nothing here");
    // From the login node; and inside an allocation whose environment asks srun for something else.
    cluster.measures(&[], "srun:n2");
    let inside =
        ["--quiet", "-N2", "env", "SLURM_LABELIO=1", common::SYSCOST, "doctor", "--path", "srun:n1,n2"];
    assert!(cluster.told("salloc", &inside).contains("to 10.77.0.12 by eth0"), "in an allocation");
    // srun as a user would write it passes on whole lines only.
    let by_hand = cluster.doctor(&["--rsh", "srun --overlap -n1 -N1 -w {host}", "--path", "rsh:n1,n2"]);
    assert!(by_hand.starts_with("good"), "{by_hand}");
    assert!(!cluster.file(COPIES).exists(), "nothing was copied");
    // A node that shares nothing gets a copy through srun's own pipes.
    let apart = hidden("exec srun --overlap -n1 -N1 -w $place", "");
    common::script(&cluster.file("bin/apart"), &apart);
    let copied = cluster.doctor(&["--rsh", "apart", "--path", "rsh:n2"]);
    assert!(copied.starts_with("good") && cluster.file(COPIES).exists(), "{copied}");
    cluster.survives_kills(&[], "srun:n1,n2", "srun ");
    common::soon("no step is left", || cluster.told("squeue", &["--steps", "--noheader"]).is_empty());
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_node_that_cannot_be_used_is_an_answer_with_a_remedy() {
    let Some(cluster) = cluster("slurm::a_node_that_cannot_be_used", "2") else { return };
    let refused = |cluster: &Engine, path: &str, reason: &str, remedy: &str| {
        let said = cluster.doctor(&["--path", path]);
        assert!(said.starts_with("bad") && said.contains(reason) && said.contains(remedy), "{path}: {said}");
    };
    refused(&cluster, "srun:n9", "Invalid node name", "sinfo -N");
    refused(&cluster, "srun:n1,n9", "srun:n9", "sinfo -N");
    refused(&cluster, "srun:n2?data=10.77.0.99", "no device there has the address", "?data=ADDRESS");
    // A firewall between two nodes that drops, on the address that was found.
    cluster.told(
        "ip",
        &[
            "-n",
            "n2",
            "rule",
            "add",
            "from",
            "10.77.0.12",
            "ipproto",
            "tcp",
            "sport",
            "40000-40001",
            "blackhole",
        ],
    );
    refused(
        &cluster,
        "srun:n1,n2?ports=40000-40001",
        "from 10.77.0.11 to 10.77.0.12",
        "tcp dport 40000-40001 accept",
    );
    cluster.told("ip", &["-n", "n2", "rule", "delete", "from", "10.77.0.12", "blackhole"]);
    // A node whose every place for programs is read-only or forbids them, and that has no syscost.
    let forbidden =
        ["/tmp", "/var/tmp", "/dev/shm"].map(|at| format!("mount -t tmpfs -o noexec tmpfs {at} &&"));
    let without = hidden("exec env HOME=/proc/nowhere TMPDIR=/tmp PATH=/usr/bin:/bin", &forbidden.join(" "));
    common::script(&cluster.file("bin/without-room"), &without);
    let said = cluster.doctor(&["--rsh", "without-room", "--path", "rsh:n1"]);
    assert!(
        said.contains("could not be copied") && said.contains("noexec") && said.contains("/dev/shm"),
        "{said}"
    );
    let away = ["PATH=/nowhere", common::SYSCOST, "doctor", "--json", "--path", "srun:n1"];
    let said = cluster.told("env", &away);
    assert!(said.contains("there is no program srun") && said.contains("slurm-client"), "{said}");
}
