//! A run that is continued under other conditions says so: what changed, and which cases have rounds of before and after.

use crate::common::{self, LimitedGroup};
use std::fs;
use std::path::Path;
use syscost_experiment::run::{Run, RunDir};

/// It was said: nothing. Rows of two machines stood under the facts of one.
#[test]
fn a_resumed_run_says_what_changed_and_what_was_lost() {
    let test = "a_resumed_run_says_what_changed_and_what_was_lost";
    if !common::is_root(test) {
        return;
    }
    let quota = ("cpu.cfs_quota_us", "150000");
    let group = match LimitedGroup::limiting("cpu", &[quota], &[("cpu.max", "150000 100000")]) {
        Ok(group) => group,
        Err(why) => return common::skipped(test, &why),
    };
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let out = scratch.path().join("run");
    let rounds = ("5ms", "5ms", 1);
    let spec = common::experiment(scratch.path(), 400, "2s", rounds, "[[probe]]\nid = \"timer\"\n");
    let first =
        common::syscost(&["run", "-q", spec.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")]);
    assert!(RunDir::load(&out).is_ok_and(|run| !run.samples.is_empty()), "{}", common::said(&first));
    let resume = |limited: bool| {
        let mut command = group.command(Path::new(common::SYSCOST));
        if !limited {
            command = std::process::Command::new(common::SYSCOST);
        }
        let output = command.args(["run", "-q", "--time-limit", "1s", "--resume"]).arg(&out).output();
        let run = RunDir::load(&out).expect("a valid run");
        (common::said(&output.expect("the binary starts")), run)
    };
    let warned = |run: &Run, id: &str| {
        let all = run.record.warnings.iter().filter(|warning| warning.id == id);
        all.map(|warning| (warning.observed.clone(), warning.cases.len())).collect::<Vec<_>>()
    };
    let (_, same) = resume(false);
    assert_eq!((same.record.sessions, same.record.resumed.len()), (2, 1));
    let changed = "resumed_after_a_change";
    let quota_of =
        |run: &Run| warned(run, changed).iter().filter(|(told, _)| told.contains("CPU quota")).count();
    assert_eq!(quota_of(&same), 0, "nothing changed: {:?}", same.record.warnings);
    let (said, other) = resume(true);
    let told = warned(&other, changed);
    assert!(
        told.iter().any(|(what, cases)| what.contains("session 3: ")
            && what.contains("CPU quota, CPUs: none -> 1.5")
            && *cases > 0),
        "{told:?} {said}"
    );
    let report = common::said(&common::syscost(&["report", out.to_str().expect("UTF-8")]));
    assert!(
        fs::read_to_string(out.join("report.html")).is_ok_and(|page| page.contains("CPU quota, CPUs: none")),
        "{report}"
    );
    // A session's rows are told by their time.
    let began = other.record.resumed[1].began_ns;
    assert!(other.samples.iter().any(|s| s.start_ns.is_some_and(|ns| ns >= began)));
    let (_, back) = resume(false);
    assert_eq!(quota_of(&back), 2, "and back");

    let rows = fs::read_to_string(out.join("samples.csv")).expect("samples");
    let keep: Vec<&str> = rows.lines().collect();
    fs::write(out.join("samples.csv"), keep[..keep.len() - 3].join("\n") + "\n").expect("written");
    let lost = warned(&RunDir::load(&out).expect("a valid run"), "samples_lost");
    assert!(lost.len() == 1 && lost[0].0.contains("lacks 3 of the"), "{lost:?}");
    let (_, run) = resume(false);
    assert_eq!(warned(&run, "samples_lost"), lost, "it stays said");
}
