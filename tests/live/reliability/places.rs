//! Where files go is decided by the user who named the place, and what is made there is theirs: no link of another
//! user on the way is followed, whoever calls sudo keeps their files, and a killed command leaves none.

use crate::common;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Nobody in particular.
const STRANGER: u32 = 65533;

fn recorded(folder: &Path) -> PathBuf {
    let run = folder.join("recorded");
    fs::create_dir(&run).expect("mkdir");
    for file in fs::read_dir("tests/data/small-run").expect("a recorded run").flatten() {
        fs::copy(file.path(), run.join(file.file_name())).expect("copy");
    }
    run
}

fn syscost(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(common::SYSCOST).args(arguments).current_dir(folder).output().expect("the binary starts")
}

const RUN: [&str; 7] = ["run", "tcp_round_trip", "--path", "loopback", "--time-limit", "3s", "--quiet"];

#[test]
fn a_link_of_somebody_else_does_not_decide_where_files_go() {
    if !common::is_root("a_link_of_somebody_else_does_not_decide_where_files_go") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let folder = scratch.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)).expect("chmod");
    let (target, run) = (folder.join("target"), recorded(folder));
    fs::create_dir(&target).expect("mkdir");
    for (link, to) in [("link", &target), ("syscost-runs", &target), ("run-link", &run)] {
        symlink(to, folder.join(link)).expect("symlink");
        lchown(folder.join(link), Some(STRANGER), Some(STRANGER)).expect("lchown");
    }
    let files = |place: &Path| fs::read_dir(place).expect("the directory").count();
    let before = files(&run);
    let to = |out| [&RUN[..], &["--out", out]].concat();
    for arguments in [
        &["report", "recorded", "--out", "link"][..],
        &["report", "recorded", "--out", "link/sub"],
        &["report", "run-link"],
        &["course", "pa02", "recorded", "--roll", "MT25000", "--out", "link/sub"],
        &["course", "pa02", "run-link", "--roll", "MT25000"],
        &["lab", "--offline", "--cache", "link/sub"],
        &["man", "--out", "link/sub"],
        &to("link"),
        &to("link/sub/deeper"),
        &to("target/../link/sub"),
        &RUN,
    ] {
        let output = syscost(folder, arguments);
        let said = common::said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let no_lab = arguments[0] == "lab" && said.contains("there is no qemu");
        assert!(no_lab || said.contains("symbolic link of another user"), "{arguments:?}: {said}");
        assert_eq!((files(&target), files(&run)), (0, before), "{arguments:?}");
    }
    let own = syscost(folder, &["report", "recorded", "--out", "target/new"]);
    assert!(own.status.success(), "{}", common::said(&own));
}

#[test]
fn what_sudo_makes_in_a_directory_of_its_caller_is_the_caller_s() {
    if !common::is_root("what_sudo_makes_in_a_directory_of_its_caller_is_the_caller_s") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (home, others) = (scratch.path().join("home"), scratch.path().join("others"));
    for place in [&home, &others] {
        fs::create_dir(place).expect("mkdir");
        recorded(place);
    }
    chown(&home, Some(STRANGER), Some(STRANGER)).expect("chown");
    let called = |folder: &Path, arguments: &[&str]| {
        let mut command = Command::new(common::SYSCOST);
        command.args(arguments).current_dir(folder);
        command.env("SUDO_UID", STRANGER.to_string()).env("SUDO_GID", STRANGER.to_string());
        let output = command.output().expect("the binary starts");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    };
    for (folder, owner) in [(&home, STRANGER), (&others, 0)] {
        called(folder, &RUN);
        called(folder, &["report", "recorded", "--out", "made/deep"]);
        let mut left = vec![folder.join("made"), folder.join("syscost-runs")];
        let mut files = 0;
        while let Some(path) = left.pop() {
            let about = fs::symlink_metadata(&path).expect("it is there");
            assert_eq!((about.uid(), about.gid()), (owner, owner), "{}", path.display());
            files += usize::from(about.is_file());
            if about.is_dir() {
                left.extend(fs::read_dir(&path).expect("a directory").flatten().map(|entry| entry.path()));
            }
        }
        assert!(files >= 8, "a run and a report: {files}");
    }
}

#[test]
fn what_a_killed_report_left_goes_with_the_next_one() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let run = recorded(scratch.path());
    let mut ended = Command::new("true").spawn().expect("true starts");
    let namespace = fs::metadata("/proc/self/ns/pid").expect("a namespace").ino();
    let identity = format!("{namespace}-{}-1", ended.id());
    ended.wait().expect("our child");
    let left = ["report.html", "results.csv", "findings.json", "figure.svg"]
        .map(|name| run.join(format!(".{name}.{identity}.tmp")));
    left.iter().for_each(|file| fs::write(file, "half").expect("a file"));
    let output = common::syscost(&["report", run.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", common::said(&output));
    assert!(run.join("report.html").exists());
    assert!(left.iter().all(|file| !file.exists()), "a killed report's file is no use to anybody");
}

#[test]
fn runs_that_begin_in_the_same_second_have_directories_of_their_own() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let start = || {
        let mut command = Command::new(common::SYSCOST);
        command.args(RUN).current_dir(scratch.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().expect("the binary starts")
    };
    let begun: Vec<_> = (0..4).map(|_| start()).collect();
    for run in begun {
        let output = run.wait_with_output().expect("our child");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    }
    let runs = fs::read_dir(scratch.path().join("syscost-runs")).expect("the runs").count();
    assert_eq!(runs, 4);
}
