//! Least privilege: a worker holds what its probe declares and no more, the page about rights says the same,
//! and each feature works with its capability alone and says why it does not without.

use crate::common::{self, NOBODY};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use syscost_experiment::plan::Plan;
use syscost_experiment::spec::Spec;
use syscost_harness::worker::path::Paths;
use syscost_harness::worker::{RoundError, RoundOptions, observed_round};
use syscost_host::namespaces;
use syscost_host::scratch::Scratch;
use syscost_measure::probe::rights::{Right, Rights};
use syscost_measure::probe::{self, Probe, Timing};

const TIMING: Timing = Timing { warmup_ns: 100_000, window_ns: 5_000_000, windows: 1 };

/// A line of a process's status.
fn status(pid: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("the kernel tells it").trim().to_string()
}

fn mask(pid: u32, name: &str) -> u64 {
    u64::from_str_radix(&status(pid, name), 16).expect("hexadecimal")
}

/// What a role has to hold when it plays, of what this process has.
fn assert_confined(probe: &dyn Probe, role: &str, pid: u32) {
    let what = format!("{} {role}", probe.about().id);
    let Rights(rights) = probe.rights(role);
    let declared = rights.iter().fold(0, |mask, right| mask | right.capability.bits());
    let held = mask(std::process::id(), "CapEff");
    for set in ["CapEff", "CapPrm"] {
        assert_eq!(mask(pid, set), declared & held, "{what}: {set}");
    }
    assert_eq!(mask(pid, "CapBnd") & !declared, 0, "{what}: what it executes gains something");
    assert_eq!((mask(pid, "CapInh"), mask(pid, "CapAmb")), (0, 0), "{what}");
    assert_eq!(status(pid, "NoNewPrivs"), "1", "{what}");
}

/// The first case of a probe, over veth where it has a path.
fn first_case(probe: &dyn Probe) -> Option<Plan> {
    let id = probe.about().id;
    let mut spec = Spec::from_toml(&format!("[[probe]]\nid = \"{id}\"\n"), "test").expect("an experiment");
    if probe.axes().iter().any(|axis| axis.id == "path") && namespaces::available().is_ok() {
        let _ = spec.set_axis("path", &["veth"]);
    }
    Plan::make(&spec).ok().filter(|plan| !plan.cases.is_empty())
}

#[test]
fn a_worker_holds_what_its_probe_declares_and_no_more() {
    if !common::is_root("a_worker_holds_what_its_probe_declares_and_no_more") {
        return;
    }
    common::use_real_binary();
    let token = format!("p{}", std::process::id());
    let (mut paths, mut scratch) = (Paths::new(&token), Scratch::default());
    let mut seen = 0;
    for probe in probe::ALL {
        let id = probe.about().id;
        let Some(plan) = first_case(*probe) else {
            common::skipped(id, "no case of it can run here");
            continue;
        };
        let terms = RoundOptions::of(TIMING, Duration::from_secs(30), &|| false);
        let last = |far: bool| probe.roles().iter().rfind(|role| probe.far(role) == far);
        let mut observe = |standing: &syscost_harness::worker::ReadyRound<'_>| {
            for (role, pid) in [(last(false), standing.near_pid), (last(true), standing.far_pid)] {
                if let Some(role) = role {
                    assert_confined(*probe, role, pid);
                    seen += 1;
                }
            }
            Ok(())
        };
        match observed_round(&plan.cases[0], &terms, &mut paths, &mut scratch, Some(&mut observe)) {
            // Its work was verified; how many windows of a busy machine hold a sample is another matter.
            Ok(_) => {}
            Err(RoundError::Unavailable(why)) => common::skipped(id, &why.reason),
            Err(error) => panic!("{id} does not do its work with the rights that it declares: {error}"),
        }
    }
    assert!(seen >= probe::ALL.len(), "only {seen} workers were seen");
}

/// Each right that is declared, with who declares it.
fn declared() -> Vec<(&'static str, Right)> {
    let of_role = |probe: &'static dyn Probe, role: &&str| -> Vec<(&'static str, Right)> {
        probe.rights(role).0.into_iter().map(|right| (probe.about().id, right)).collect()
    };
    let of_probe = |probe: &&'static dyn Probe| {
        let probe = *probe;
        probe.roles().iter().flat_map(move |role| of_role(probe, role)).collect::<Vec<_>>()
    };
    probe::ALL.iter().flat_map(of_probe).collect()
}

#[test]
fn the_page_about_rights_has_every_right_that_a_probe_keeps() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rights.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    let tells = |probe: &str, capability: &str| {
        rows.iter().any(|row| row.contains(&format!("`{probe}`")) && row.contains(capability))
    };
    for (probe, right) in declared() {
        let (name, _) = right.capability.iter_names().next().expect("one capability");
        assert!(tells(probe, &format!("CAP_{name}")), "no row of {probe} with {name}");
        assert!(!right.why.is_empty());
    }
}

/// An ordinary user with these capabilities and no others (`cap_net_raw` without its prefix).
pub fn with(program: &Path, capabilities: &[&str], arguments: &[&str]) -> Option<Output> {
    let list = capabilities.iter().fold("-all".to_string(), |list, name| format!("{list},+{name}"));
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string(), "--clear-groups"]);
    for set in ["--inh-caps", "--ambient-caps", "--bounding-set"] {
        command.arg(format!("{set}={list}"));
    }
    command.arg("--no-new-privs").arg(program).args(arguments).current_dir("/").process_group(0);
    command.output().ok()
}

#[test]
fn an_ordinary_user_with_one_capability_has_its_feature_and_without_it_the_reason() {
    let test = "an_ordinary_user_with_one_capability_has_its_feature_and_without_it_the_reason";
    if !common::is_root(test) {
        return;
    }
    let (_directory, program) = common::open_to_all();
    let run = |capabilities: &[&str], arguments: &[&str]| with(&program, capabilities, arguments);
    if !run(&[], &["--version"]).is_some_and(|output| output.status.success()) {
        return common::skipped(test, "no setpriv (util-linux) that knows these options");
    }
    copies_are_counted(&run);
    the_kernel_echoes(&run);
    veth_is_made(&run);
}

type Runs<'a> = &'a dyn Fn(&[&str], &[&str]) -> Option<Output>;

fn said(run: Runs<'_>, capabilities: &[&str], arguments: &[&str]) -> String {
    common::said(&run(capabilities, arguments).expect("setpriv was there"))
}

fn copies_are_counted(run: Runs<'_>) {
    let audit = &["audit", "--mechanism", "send", "--path", "loopback", "--size", "64K"][..];
    if !common::said(&common::syscost(audit)).contains("exact") {
        return common::skipped("copies_are_counted", "root's copies are not counted here either");
    }
    let text = said(run, &["bpf", "perfmon"], audit);
    assert!(text.contains("exact") && !text.contains("not verified"), "{text}");
    let text = said(run, &[], audit);
    assert!(text.contains("not verified") && text.contains("cap_bpf,cap_perfmon"), "{text}");
}

fn the_kernel_echoes(run: Runs<'_>) {
    let check = &["check", "icmp_round_trip", "--path", "loopback"][..];
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ping_group_range").unwrap_or_default();
    let allowed = range.split_whitespace().map(str::parse::<u32>).collect::<Result<Vec<_>, _>>();
    let anybody = allowed.is_ok_and(|ends| ends.len() == 2 && (ends[0]..=ends[1]).contains(&NOBODY));
    let text = said(run, &["net_raw"], check);
    assert!(text.contains("verified"), "{text}");
    let text = said(run, &[], check);
    assert!(anybody || (text.contains("no socket for ICMP echo") && text.contains("sysctl")), "{text}");
}

/// The one way by capabilities, the other by a user namespace; where the kernel allows nobody one, it says so.
fn veth_is_made(run: Runs<'_>) {
    let check = &["check", "transfer", "--mechanism", "send", "--size", "4K", "--path", "veth"][..];
    let text = said(run, &["net_admin", "sys_admin"], check);
    assert!(text.contains("verified"), "{text}");
    let text = said(run, &[], check);
    assert!(text.contains("verified") || text.contains("namespace"), "{text}");
    let text = said(run, &[], &["check", "tcp_round_trip", "--path", "netns:syscost-no-such-name"]);
    assert!(text.contains("netns") || text.contains("namespace"), "{text}");
}

/// A process whose rights come with its file shows its descriptors to nobody unless it says so: its own workers
/// could not open the files that it made for them.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_program_with_capabilities_of_its_file_measures_everything_that_it_did_without() {
    let test = "a_program_with_capabilities_of_its_file_measures_everything_that_it_did_without";
    if !common::is_root(test) {
        return;
    }
    let (directory, program) = common::open_to_all();
    let given = Command::new("setcap").arg("cap_bpf,cap_perfmon+ep").arg(&program).output();
    if !given.is_ok_and(|output| output.status.success()) {
        return common::skipped(test, "no setcap (libcap2-bin), or a file system without capabilities");
    }
    let here = directory.path().to_str().expect("UTF-8");
    let run = |arguments: &[&str]| {
        // Not by setpriv, which could hand on capabilities: setuid(2) from root takes all of them.
        let output = common::as_nobody(Command::new(&program).args(arguments)).output();
        common::said(&output.expect("the binary starts"))
    };
    for probe in probe::ALL.iter().filter(|probe| probe.suite().is_some()) {
        let Some(plan) = first_case(*probe) else { continue };
        if probe.needs(&plan.cases[0].point).files.is_empty() || plan.cases[0].point.text_at("path").is_some()
        {
            continue;
        }
        let text = run(&["check", probe.about().id, "--dir", here]);
        assert!(text.contains("verified") && !text.contains("failed"), "{text}");
    }
    let text = run(&["check", "page_fault", "--dir", here]);
    assert!(text.contains("verified") && !text.contains("failed"), "{text}");
}
