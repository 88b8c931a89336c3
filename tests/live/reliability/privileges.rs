//! Least privilege: a worker holds what its probe declares and no more, the page about rights says the same,
//! and each feature works with its capability alone and says why it does not without.

use crate::common::{self, NOBODY};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use syscost_experiment::plan::Plan;
use syscost_experiment::run::RunDir;
use syscost_experiment::spec::Spec;
use syscost_harness::profile::Profiler;
use syscost_harness::worker::path::Paths;
use syscost_harness::worker::{RoundError, RoundOptions, observed_round};
use syscost_host::namespaces;
use syscost_host::scratch::Scratch;
use syscost_measure::probe::rights::{Right, Rights};
use syscost_measure::probe::{self, Probe, Timing};
use syscost_sys::capability::CapabilitySet;

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
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/install.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    let kept = page.lines().skip_while(|line| !line.starts_with("| probe | keeps |"));
    let rows: Vec<&str> = kept.take_while(|line| line.starts_with('|')).collect();
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
        common::some_verified(&text);
    }
    let text = run(&["check", "page_fault", "--dir", here]);
    common::some_verified(&text);
}

/// Capabilities of every thread of a process.
fn threads_hold(pid: u32) -> Vec<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let held = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("CapPrm:"))?.trim().to_string();
        u64::from_str_radix(&line, 16).ok()
    };
    status.filter_map(held).collect()
}

/// What the threads of a run held together in its rounds; the run has to be whole afterwards.
fn held_in_rounds(experiment: &Path, out: &Path) -> u64 {
    let mut run = Command::new(common::SYSCOST);
    run.arg("run").arg(experiment).arg("--out").arg(out).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = run.spawn().expect("the binary starts");
    let rows = || std::fs::read_to_string(out.join("samples.csv")).map_or(0, |text| text.lines().count());
    let mut held = None;
    while run.try_wait().expect("a child of ours").is_none() {
        // The header, and a sample.
        let begun = rows() > 1;
        let seen = threads_hold(run.id());
        if begun && held.is_none() && !seen.is_empty() {
            held = Some(seen.into_iter().fold(0, |all, one| all | one));
        }
        syscost_sys::sleep::sleep(Duration::from_millis(2));
    }
    let output = run.wait_with_output().expect("it has ended");
    let made = RunDir::load(out).expect("a valid run");
    common::sound(output.status.code().unwrap_or(-1), &made, &common::said(&output));
    assert!(out.join("report.html").exists(), "the report is written with what is left");
    held.expect("it was seen between its first sample and its end")
}

/// What the threads of a command hold while it goes through a plan, once it has its first worker.
fn held_beside_a_worker(arguments: &[&str]) -> u64 {
    let mut command = Command::new(common::SYSCOST);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut command = command.spawn().expect("the binary starts");
    let mut held = None;
    while command.try_wait().expect("a child of ours").is_none() {
        if held.is_none() && !common::workers_of(command.id()).is_empty() {
            held = threads_hold(command.id()).into_iter().reduce(|all, one| all | one);
        }
        syscost_sys::sleep::sleep(Duration::from_millis(1));
    }
    let output = command.wait_with_output().expect("it has ended");
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", common::said(&output));
    held.unwrap_or_else(|| panic!("no worker was seen: {}", common::said(&output)))
}

#[test]
fn check_audit_and_profile_hold_what_their_plan_needs_and_no_more() {
    let test = "check_audit_and_profile_hold_what_their_plan_needs_and_no_more";
    if !common::is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("profile");
    let cases = ["--mechanism", "send,sendmsg,pack_send", "--size", "64,4K,64K", "--path", "loopback"];
    let held = |command: &[&str]| held_beside_a_worker(&[command, &cases[..]].concat());
    let never = CapabilitySet::SYS_MODULE | CapabilitySet::SYS_RAWIO | CapabilitySet::SETUID;
    let observing = CapabilitySet::BPF | CapabilitySet::SYSLOG;
    let checking = held(&["check", "transfer"]);
    assert_eq!(checking & (never | observing).bits(), 0, "check: {checking:#x}");
    let auditing = held(&["audit"]);
    assert_eq!(auditing & never.bits(), 0, "audit: {auditing:#x}");
    if let Err(why) = Profiler::attach() {
        return common::skipped(test, &format!("profile: {}", why.reason));
    }
    let profiling = held(&["profile", "--out", out.to_str().expect("UTF-8")]);
    assert_eq!(profiling & never.bits(), 0, "profile: {profiling:#x}");
}

#[test]
fn the_harness_holds_in_its_rounds_what_its_plan_needs_and_no_more() {
    let test = "the_harness_holds_in_its_rounds_what_its_plan_needs_and_no_more";
    if !common::is_root(test) {
        return;
    }
    let held_here = mask(std::process::id(), "CapPrm");
    let bits = |rights: &[CapabilitySet]| rights.iter().fold(0, |all, right| all | right.bits()) & held_here;
    let directory = tempfile::tempdir().expect("a scratch directory");
    let run = |name: &str, probe: &str, out: &Path| {
        let folder = directory.path().join(name);
        std::fs::create_dir(&folder).expect("made");
        let text = format!("[[probe]]\n{probe}");
        held_in_rounds(&common::experiment(&folder, 6, "60s", ("1ms", "20ms", 3), &text), out)
    };
    let out = |name: &str| directory.path().join(name);
    let sets = CapabilitySet::SETPCAP;
    let others = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    // Where this test's program lies may need them.
    let files = bits(&[others, CapabilitySet::CHOWN, CapabilitySet::FOWNER]);
    let alone = run("alone", "id = \"timer\"", &out("alone-run"));
    assert_eq!(alone & !files, bits(&[sets]), "{alone:#x}");

    let moves = "id = \"transfer\"\nmechanism = \"send\"\nmessage_bytes = 4096\nthreads = 1\npath =";
    let veth = namespaces::available().is_ok();
    let held =
        run("moves", &format!("{moves} \"{}\"", if veth { "veth" } else { "loopback" }), &out("moves-run"));
    assert_eq!(
        held & bits(&[CapabilitySet::NET_ADMIN]),
        bits(&[CapabilitySet::NET_ADMIN]),
        "workers keep it"
    );
    let gone =
        [CapabilitySet::BPF, CapabilitySet::SYSLOG, CapabilitySet::SYS_PTRACE, CapabilitySet::SYS_MODULE];
    assert_eq!(held & bits(&gone), 0, "{held:#x}: what copies were counted with");

    // In a directory of another user root has no more rights than those it keeps.
    let theirs = directory.path().join("theirs");
    std::fs::create_dir(&theirs).expect("made");
    std::os::unix::fs::chown(&theirs, Some(NOBODY), Some(NOBODY)).expect("root may");
    std::fs::set_permissions(&theirs, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("root may");
    let held = run("abroad", "id = \"timer\"", &theirs.join("run"));
    assert_eq!(held & bits(&[others]), bits(&[others]), "{held:#x}");
}
