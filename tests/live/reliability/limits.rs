//! What this process may use, in real control groups and with the files that say so covered: doctor, plan and run know
//! it, and what cannot be read is unknown.

use super::left;
use super::machines::{before_exec, emptied, ended};
use crate::common::{self, LimitedGroup};
use std::path::Path;
use std::process::Command;
use syscost_experiment::run::RunDir;
use syscost_host::doctor::{HostCheck, Status};

fn doctor(mut command: Command) -> Vec<HostCheck> {
    command.args(["doctor", "--json"]);
    let output = command.output().expect("the binary starts");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", common::said(&output)))
}

fn point(checks: &[HostCheck], id: &str) -> HostCheck {
    checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no {id}")).clone()
}

/// Settings of a group in either version, what doctor says of it, and a plan of which one case has no room.
type Limited<'a> = (&'a str, (&'a str, &'a str), (&'a str, &'a str), &'a str, &'a str);

/// It was said: good, 22 GiB available. And the worker was killed.
#[test]
fn a_limit_of_a_group_is_the_limit_for_doctor_plan_and_run() {
    let test = "a_limit_of_a_group_is_the_limit_for_doctor_plan_and_run";
    if !common::is_root(test) {
        return;
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let limits: [Limited<'_>; 3] = [
        ("memory", ("memory.limit_in_bytes", "100M"), ("memory.max", "100M"), "memory", "MiB of 100 MiB"),
        ("pids", ("pids.max", "30"), ("pids.max", "30"), "processes", "29 more of 30"),
        ("cpu", ("cpu.cfs_quota_us", "20000"), ("cpu.max", "20000 100000"), "cpu_quota", "0.20 of "),
    ];
    for (controller, first, second, id, told) in limits {
        let group = match LimitedGroup::limiting(controller, &[first], &[second]) {
            Ok(group) => group,
            Err(why) => return common::skipped(test, &why),
        };
        let check = point(&doctor(group.command(Path::new(common::SYSCOST))), id);
        assert!(check.status >= Status::Caution && check.observed.contains(told), "{check:?}");
        if controller == "cpu" {
            continue;
        }
        let case = |command: &str, threads: &str| {
            let mut told = group.command(Path::new(common::SYSCOST));
            told.args([command, "transfer", "--path", "loopback", "--mechanism", "send", "--size", "1M"]);
            told.args(["--threads", threads]);
            told
        };
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (status, text) = ended(case("plan", "1,64"));
        let text = words(text);
        assert!(status == 0 && text.contains("to give") && text.contains(first.0), "{text}");
        let mut run = case("run", "64");
        run.arg("--out").arg(scratch.path().join(controller));
        let (status, text) = ended(run);
        assert!(
            status == 2 && words(text.clone()).contains("to give"),
            "refused before anything is started: {text}"
        );
    }
}

/// It was said: good, no CPU quota.
#[test]
fn what_cannot_be_read_is_unknown_with_what_to_mount() {
    let test = "what_cannot_be_read_is_unknown_with_what_to_mount";
    if !common::is_root(test) {
        return;
    }
    let settings = [("cpu.cfs_quota_us", "150000")];
    let group = match LimitedGroup::limiting("cpu", &settings, &[("cpu.max", "150000 100000")]) {
        Ok(group) => group,
        Err(why) => return common::skipped(test, &why),
    };
    // Within the group already: it is entered through what is covered.
    let hidden = |cover: &str| {
        let inside = format!("mount --make-rprivate / && {cover} && exec \"$@\"");
        let mut command = group.command(Path::new("unshare"));
        command.args(["--mount", "sh", "-c", &inside, "sh"]).arg(common::SYSCOST);
        command
    };
    let groups = "mount -t tmpfs none /sys/fs/cgroup";
    let all = "mount -t tmpfs none /sys";
    let files = "for file in cpuinfo stat meminfo loadavg; do mount --bind /dev/null /proc/$file; done";
    let told: [(&str, &[&str], &str); 3] = [
        (groups, &["cpu_quota", "memory", "processes"], "mount -t cgroup"),
        (all, &["cpus", "smt", "huge_pages", "clock", "cpu_quota", "frequency_governor"], "mount -t "),
        (files, &["steal", "memory", "virtual_machine", "other_load"], "/proc/"),
    ];
    for (cover, unknown, remedy) in told {
        let checks = doctor(hidden(cover));
        for id in unknown {
            let check = point(&checks, id);
            let known_otherwise = check.status > Status::Unknown && !check.remedy.is_empty();
            assert!(check.status == Status::Unknown || known_otherwise, "{cover}: {check:?}");
            assert!(known_otherwise || check.remedy.contains(remedy), "{cover}: {check:?}");
        }
        assert!(checks.iter().all(|c| c.status != Status::Unknown || !c.remedy.is_empty()), "{checks:#?}");
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let out = scratch.path().join("run");
    let mut run = hidden(groups);
    run.args(["run", "timer", "--time-limit", "1s", "--out"]).arg(&out);
    let (_, text) = ended(run);
    let record = RunDir::record(&out).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(record.fact("cpu_quota_cpus"), None, "{text}");
    for command in ["run", "check", "plan"] {
        let mut blind = Command::new(common::SYSCOST);
        blind.args([command, "timer"]).current_dir(scratch.path());
        before_exec(&mut blind, || left::own_mounts().and_then(|()| emptied(c"/proc")));
        let (status, text) = ended(blind);
        assert!(status == 2 && text.contains("mount -t proc proc /proc"), "{command}: {status} {text}");
    }
}
