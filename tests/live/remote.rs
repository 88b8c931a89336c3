//! File servers: every case reads what is in the file, and whatever ends a run, no server, no
//! cleaner and no directory stays.

use crate::common::{self, SYSCOST, soon};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use syscost_core::axis::{Axis, Kind, Point};
use syscost_measure::probe::Probe;
use syscost_measure::probe::remote_file_read::REMOTE_FILE_READ;

const FILE_SIZE: &str = "1M";

fn axis(id: &str) -> Axis {
    REMOTE_FILE_READ.axes().into_iter().find(|axis| axis.id == id).expect("an axis of this probe")
}

/// The servers that can be started here; says of the others why not.
fn servers(test: &str, directory: &Path) -> Vec<&'static str> {
    common::use_real_binary();
    let Kind::Name { names, .. } = axis("file_server").kind else { panic!("servers have names") };
    let is_here = |server: &&'static str| {
        let mut point = Point::default();
        for axis in REMOTE_FILE_READ.axes() {
            point.set(axis.id, axis.default()[0].clone());
        }
        point.set("file_server", syscost_core::axis::Value::text(*server));
        point.set("directory", syscost_core::axis::Value::text(&*directory.to_string_lossy()));
        match REMOTE_FILE_READ.available(&point) {
            Ok(()) => true,
            Err(why) => {
                common::skipped(test, &format!("{server}: {}; {}", why.reason, why.remedy));
                false
            }
        }
    };
    names().into_iter().filter(is_here).collect()
}

/// What uses this directory: processes that name it, and entries in it.
fn left(directory: &Path) -> Vec<String> {
    let text = directory.to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let ours = processes.filter_map(|entry| {
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        // The run itself names the directory too.
        let is_server = command.contains(".syscost-served-") && command.contains(&text);
        is_server.then_some(command)
    });
    let entries = fs::read_dir(directory).expect("the test's directory").flatten();
    let entries = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    ours.chain(entries.filter(|name| name.starts_with(".syscost"))).collect()
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_case_reads_the_files_own_bytes() {
    // The build's own directory: a disk, where the page cache can be dropped.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch directory");
    for server in servers("every_case_reads_the_files_own_bytes", directory.path()) {
        let path = directory.path().to_str().expect("UTF-8");
        let states = ["--page-cache", "warm,dropped", "--file-size", FILE_SIZE, "--dir", path];
        let arguments = ["check", REMOTE_FILE_READ.about().id, "--file-server", server];
        let output = common::syscost(&[&arguments[..], &states[..]].concat());
        let said = common::said(&output);
        assert!(output.status.success(), "{said}");
        // A memory file system keeps its pages: then the dropped cases are skipped, in words.
        let cases = ["4 cases", "2 cases"].iter().find(|cases| said.contains(*cases));
        assert!(cases.is_some(), "two orders in each state: {said}");
        assert_eq!(left(directory.path()), [""; 0], "{said}");
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn kill_9_leaves_no_server_behind() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    for server in servers("kill_9_leaves_no_server_behind", directory.path()) {
        let mut child = Command::new(SYSCOST)
            .args(["run", REMOTE_FILE_READ.about().id, "--file-server", server, "--dir"])
            .arg(directory.path())
            .args(["--file-size", FILE_SIZE, "--time-limit", "60s", "--out"])
            .arg(directory.path().join(server))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        // The cleaner, the server and the directory.
        soon("a running server", || left(directory.path()).len() >= 3);
        child.kill().expect("the run is still running");
        child.wait().expect("it was started here");
        soon("the end of everything", || left(directory.path()).is_empty());
    }
}
