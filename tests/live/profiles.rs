//! Sampling where CPU time goes: what is written adds up and was done by real work. No time and no share is judged.

use crate::common::{SYSCOST, said, skipped};
use crate::own_code;
use std::path::Path;
use std::process::{Command, Output};
use syscost_experiment::run::Profile;
use syscost_experiment::run::profile::ProfileFile;

/// Two pairs of rounds a case.
fn profiled(asked: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(SYSCOST);
    command.args(["profile", "--rounds", "2", "--out"]).arg(folder).args(asked);
    command.output().expect("syscost starts")
}

/// Says so where this machine refuses to sample; a refusal has its reason, its remedy and leaves no file.
fn refused(test: &str, output: &Output, folder: &Path) -> bool {
    let said = said(output);
    if !said.contains("no profile can be made here: ") {
        return false;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("To allow it: ") && !folder.exists(), "{said}");
    skipped(test, said.trim());
    true
}

/// Samples of stacks are those of rounds, and the work of both ends was seen.
fn adds_up(profile: &Profile) {
    for (place, round) in profile.rounds.iter().enumerate() {
        let counted: u64 = profile.stacks.iter().map(|stack| u64::from(stack.samples[place])).sum();
        assert_eq!(counted, round.samples, "round {place}");
        assert!(round.ops > 0.0 && round.unsampled_ops > 0.0 && round.per_sample > 0.0, "{round:?}");
    }
    assert!(profile.samples() > 0, "no sample of {}", profile.point);
}

/// The shares of `profile.csv`, by case.
fn shares(folder: &Path) -> Vec<(String, f64)> {
    let mut reader = csv::Reader::from_path(folder.join("profile.csv")).expect("the table is there");
    let mut sums: Vec<(String, f64)> = Vec::new();
    for row in reader.records() {
        let row = row.expect("a row of the table");
        let figure = |column: usize| row[column].parse::<f64>().expect("a figure");
        let (share, low, high) = (figure(2), figure(3), figure(4));
        assert!((0.0..=1.0).contains(&share) && low <= share && share <= high, "{row:?}");
        match sums.iter_mut().find(|(case, _)| *case == row[0]) {
            Some((_, sum)) => *sum += share,
            None => sums.push((row[0].into(), share)),
        }
    }
    sums
}

#[test]
fn classes_of_a_transfer_add_up_and_every_file_is_there() {
    const TEST: &str = "classes_of_a_transfer_add_up_and_every_file_is_there";
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("profile");
    let output = profiled(&["--size", "64K", "--mechanism", "send,sendmsg"], &folder);
    if refused(TEST, &output, &folder) {
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("95 % CI") && text.contains("Not classified: "), "{text}");
    let file = ProfileFile::load(&folder).expect("what was written can be read");
    assert_eq!(file.profiles.len(), 2);
    for profile in &file.profiles {
        assert_eq!(profile.rounds.len(), 2);
        adds_up(profile);
    }
    let shares = shares(&folder);
    assert_eq!(shares.len(), 2);
    // Each share is written with six digits.
    assert!(shares.iter().all(|(_, sum)| (sum - 1.0).abs() < 1e-4), "{shares:?}");
    let names: Vec<String> = folder
        .read_dir()
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    for ending in [".folded", ".svg"] {
        assert_eq!(names.iter().filter(|name| name.ends_with(ending)).count(), 2, "{names:?}");
    }
    for name in names.iter().filter(|name| name.ends_with(".folded")) {
        let stacks = std::fs::read_to_string(folder.join(name)).expect("stacks");
        let whole = |line: &str| line.rsplit_once(' ').is_some_and(|(_, n)| n.parse::<u64>().is_ok());
        assert!(!stacks.is_empty() && stacks.lines().all(whole), "{name}");
    }
}

#[test]
fn an_operation_is_sampled_too_and_its_document_has_every_class() {
    const TEST: &str = "an_operation_is_sampled_too_and_its_document_has_every_class";
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("profile");
    let output = profiled(&["system_call", "--json"], &folder);
    if refused(TEST, &output, &folder) {
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().rfind(|line| line.contains("\"profiled\"")).expect("the last event");
    let document: serde_json::Value = serde_json::from_str(line).expect("a document");
    let profiles = document["profiles"].as_array().expect("profiles");
    assert!(!profiles.is_empty());
    for profile in profiles {
        let classes = profile["classes"].as_array().expect("classes");
        let sum: f64 = classes.iter().map(|class| class["share"].as_f64().expect("a share")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{profile}");
        assert!(classes.iter().any(|class| class["class"] == "entry"), "{profile}");
    }
}

/// The functions of a user's object are frames under their names, and what they call in the kernel is above them.
#[test]
fn functions_of_a_users_own_code_have_their_names() {
    const TEST: &str = "functions_of_a_users_own_code_have_their_names";
    let place = tempfile::tempdir().expect("a folder");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/own");
    let object = |name: &str| {
        let object = place.path().join(format!("{name}.so"));
        let source = format!("{examples}/{name}.c");
        own_code::compiled(TEST, "gcc", &source, &object, &["-fno-omit-frame-pointer"])
    };
    let (Some(sum), Some(rivals)) = (object("sum"), object("rivals")) else { return };
    let stacks = |folder: &str, asked: &[&str]| {
        let folder = place.path().join(folder);
        let output = profiled(asked, &folder);
        if refused(TEST, &output, &folder) {
            return None;
        }
        assert!(output.status.success(), "{}", said(&output));
        let file = ProfileFile::load(&folder).expect("what was written can be read");
        file.profiles.iter().for_each(adds_up);
        let stacks = file.profiles.into_iter().flat_map(|profile| profile.stacks);
        Some((stacks.map(|stack| stack.stack).collect::<Vec<_>>(), said(&output)))
    };
    let operation = format!("{}:sum_forward", sum.display());
    let Some((all, told)) =
        stacks("operation", &["own_operation", "--operation", &operation, "--sum-count", "1024"])
    else {
        return;
    };
    assert!(all.iter().any(|stack| stack.ends_with("forward (sum.so)")), "{all:?}");
    assert!(told.contains("User mode: forward (sum.so)"), "{told}");
    let mechanism = format!("{}:my_send", rivals.display());
    let Some((all, _)) = stacks("mechanism", &["--mechanism", &mechanism, "--size", "64K"]) else { return };
    let kernel_above = |stack: &&String| stack.contains("(rivals.so);") && stack.contains(";tcp_sendmsg");
    let sent: Vec<&String> = all.iter().filter(|stack| stack.contains("sendmsg")).take(3).collect();
    assert!(all.iter().any(|stack| kernel_above(&stack)), "{sent:?}");
}
