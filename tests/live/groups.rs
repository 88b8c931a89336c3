//! Groups of runs: what `run --repeat` leaves, and how it ends.

use super::common::{signal, syscost};
use super::support::{SYSCOST, said, soon};
use std::path::Path;
use std::process::{Command, Stdio};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::{GROUP, member, members};
use syscost_measure::probe::Slice;

/// Runs of the clocks, a second each at most.
const SHORT: [&str; 5] = ["run", "timer", "--quiet", "--time-limit", "1s"];

#[test]
fn repeated_runs_are_whole_runs_of_one_group_with_their_names() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("base");
    let place = out.to_str().unwrap();
    let more = ["--repeat", "2", "--label", "old kernel", "--revision", "abc123", "--out", place];
    let done = syscost(&[&SHORT[..], &more].concat());
    assert!([0, 1].contains(&done.status.code().unwrap()), "{}", said(&done));
    assert!(String::from_utf8_lossy(&done.stdout).contains("2 runs"), "{}", said(&done));
    let runs = members(&out).unwrap();
    assert_eq!(runs.len(), 2);
    let records = runs.iter().map(|run| RunDir::load(run).unwrap().record).collect::<Vec<_>>();
    for record in &records {
        let names = [&record.names.label, &record.names.group, &record.names.revision];
        assert_eq!(names.map(|name| name.as_deref().unwrap()), ["old kernel", "base", "abc123"]);
    }
    assert_ne!(records[0].id, records[1].id);
    assert_eq!(shared(&out)["names"]["group"], "base");
    assert_eq!(shared(&out)["runs"], 2);
    let results = std::fs::read_to_string(runs[1].join("results.csv")).unwrap();
    assert!(results.lines().skip(1).all(|line| line.contains(&records[1].id)), "rows name their run");
    let again = syscost(&[&SHORT[..], &more].concat());
    assert_eq!(again.status.code(), Some(2), "a group is not written over: {}", said(&again));
}

fn shared(group: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(group.join(GROUP)).unwrap()).unwrap()
}

#[test]
fn a_group_that_is_stopped_ends_the_run_that_goes_on_and_begins_no_other() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("group");
    let mut command = Command::new(SYSCOST);
    command.args([
        "run",
        "timer",
        "--quiet",
        "--time-limit",
        "300s",
        "--precision",
        "0.0001%",
        "--repeat",
        "3",
    ]);
    let mut child = command.arg("--out").arg(&out).stdout(Stdio::null()).spawn().unwrap();
    soon("the first run", || members(&out).is_ok_and(|runs| runs.len() == 1));
    signal(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let runs = members(&out).unwrap();
    assert_eq!(runs.len(), 1, "no other run began");
    RunDir::load(&runs[0]).expect("what was measured is kept");
}

#[test]
fn variants_take_turns_as_whole_runs_and_are_compared_turn_by_turn() {
    let scratch = tempfile::tempdir().unwrap();
    let (out, log) = (scratch.path().join("both"), scratch.path().join("log"));
    let file = scratch.path().join("variants.toml");
    let told = log.display();
    let text = format!(
        "[[variant]]\nlabel = \"old\"\nbefore = \"echo begins $SIDE >> '{told}'\"\nafter = \"echo ends >> '{told}'\"\n\
         env = {{ SIDE = \"old\" }}\n\n[[variant]]\nlabel = \"new\"\nbinary = {SYSCOST:?}\nrevision = \"abc\"\n\
         before = \"echo new >> '{told}'\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let [place, file] = [&out, &file].map(|path| path.to_str().unwrap());
    let done = syscost(
        &[&SHORT[..], &["--repeat", "2", "--allow-commands", "--variants", file, "--out", place]].concat(),
    );
    assert!([0, 1].contains(&done.status.code().unwrap()), "{}", said(&done));
    assert!(String::from_utf8_lossy(&done.stdout).contains("4 runs"), "{}", said(&done));
    let order = std::fs::read_to_string(&log).unwrap();
    assert_eq!(order, "begins old\nends\nnew\nnew\nbegins old\nends\n", "A B B A");
    let names = |side: &str| {
        let runs = members(&out.join(side)).unwrap();
        runs.iter().map(|run| RunDir::load(run).unwrap().record.names).collect::<Vec<_>>()
    };
    let (old, new) = (names("old"), names("new"));
    assert_eq!((old.len(), new.len()), (2, 2));
    assert_eq!(
        old.iter().map(|run| &run.turn).collect::<Vec<_>>(),
        new.iter().map(|run| &run.turn).collect::<Vec<_>>()
    );
    assert_ne!(old[0].turn, old[1].turn);
    assert_eq!((new[0].label.as_deref(), new[0].revision.as_deref()), (Some("new"), Some("abc")));
    let compared = syscost(&["compare", place]);
    assert_eq!(compared.status.code(), Some(0), "{}", said(&compared));
    assert!(
        String::from_utf8_lossy(&compared.stdout).contains("turn by turn: 2 turns"),
        "{}",
        said(&compared)
    );
}

/// When each slice of a run began and ended, in nanoseconds since 1970.
fn slices(run: &Path) -> Vec<(u64, u64)> {
    let run = RunDir::load(run).unwrap();
    assert!(run.record.plan.side_by_side);
    let start = |slice: &Slice| run.record.started_unix_ns + slice.start_ns;
    run.slices.iter().map(|row| (start(&row.slice), start(&row.slice) + row.slice.wall_ns)).collect()
}

/// Two whole runs at once, of which only one does anything at a time; also where a case has no rival.
#[test]
fn variants_are_measured_side_by_side_slice_by_slice() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("variants.toml");
    std::fs::write(
        &file,
        "[[variant]]\nlabel = \"old\"\n[[variant]]\nlabel = \"new\"\nenv = { A = \"1\" }\n",
    )
    .unwrap();
    let short =
        ["run", "transfer", "--mechanism", "send", "--size", "64", "--threads", "1", "--path", "loopback"];
    let within = |limit: &str| {
        let out = scratch.path().join(limit);
        let [place, file] = [&out, &file].map(|path| path.to_str().unwrap());
        let more = [
            "--time-limit",
            limit,
            "--quiet",
            "--repeat",
            "2",
            "--allow-commands",
            "--variants",
            file,
            "--out",
            place,
        ];
        let done = syscost(&[&short[..], &more].concat());
        assert!([0, 1].contains(&done.status.code().unwrap()), "{}", said(&done));
        let turn = |turn| ["old", "new"].map(|side| slices(&member(&out.join(side), turn)));
        let turns = [1, 2].map(turn);
        (out, turns)
    };
    let played = |(_, turns): &(_, [[Vec<_>; 2]; 2])| turns.iter().flatten().all(|run| !run.is_empty());
    // A busy machine has no time for a block within the first.
    let (out, turns) = ["2s", "20s", "60s"].into_iter().map(within).find(played).expect("a block is played");
    for [old, new] in turns {
        let mut all: Vec<((u64, u64), bool)> = old.iter().map(|one| (*one, true)).collect();
        all.extend(new.iter().map(|one| (*one, false)));
        all.sort_unstable();
        let overlap = all.windows(2).filter(|pair| pair[1].0.0 < pair[0].0.1).count();
        let alternate = all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
        assert_eq!(overlap, 0, "of {} slices", all.len());
        // One run may have a round that the other has no time for.
        assert!(alternate > old.len().min(new.len()), "{alternate} of {} and {}", old.len(), new.len());
    }
    let compared = syscost(&["compare", out.to_str().unwrap()]);
    assert!(
        String::from_utf8_lossy(&compared.stdout).contains("slice by slice: 2 turns"),
        "{}",
        said(&compared)
    );
}

#[test]
fn variants_that_cannot_measure_are_refused_before_the_first_run() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("variants.toml");
    let out = scratch.path().join("group");
    let refused = |text: &str, why: &str| {
        std::fs::write(&file, text).unwrap();
        let [place, file] = [&out, &file].map(|path| path.to_str().unwrap());
        let done = syscost(
            &[&SHORT[..], &["--repeat", "1", "--allow-commands", "--variants", file, "--out", place]]
                .concat(),
        );
        assert_eq!(done.status.code(), Some(2), "{}", said(&done));
        assert!(String::from_utf8_lossy(&done.stderr).contains(why), "{}", said(&done));
        assert!(members(&out).map_or(0, |runs| runs.len()) == 0);
    };
    let with = |binary: &str| {
        format!("[[variant]]\nlabel = \"a\"\n[[variant]]\nlabel = \"b\"\nbinary = {binary:?}\n")
    };
    refused("[[variant]]\nlabel = \"a\"\n", "2 to 8 variants");
    refused(&with("none"), "cannot start");
    refused(&with("/bin/true"), "is no syscost");
    refused("[[variant]]\nlabel = \"a\"\nbefore = \"exit 7\"\n[[variant]]\nlabel = \"b\"\n", "exit status 7");
    let nothing = syscost(&["compare", out.to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(2), "{}", said(&nothing));
}

/// Groups of copies of a recorded run, named and so many.
fn copies(scratch: &Path, groups: &[(&str, u32)]) {
    for (group, runs) in groups {
        for number in 1..=*runs {
            let run = member(&scratch.join(group), number);
            std::fs::create_dir_all(&run).unwrap();
            let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small-run");
            let mut record: serde_json::Value =
                serde_json::from_slice(&std::fs::read(recorded.join("run.json")).unwrap()).unwrap();
            record["id"] = format!("{group}{number}").into();
            std::fs::write(run.join("run.json"), record.to_string()).unwrap();
            std::fs::copy(recorded.join("samples.csv"), run.join("samples.csv")).unwrap();
        }
    }
}

#[test]
fn two_sides_of_one_recorded_run_are_the_same_and_one_run_on_both_sides_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    copies(scratch.path(), &[("base", 2), ("new", 2)]);
    let [base, new, out] = ["base", "new", "out"].map(|name| scratch.path().join(name).display().to_string());
    let done = syscost(&["compare", "--out", &out, &base, "--", &new]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("0 worse, 0 better") && text.contains("0 undecided"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let table = std::fs::read_to_string(Path::new(&out).join("comparisons.csv")).unwrap();
    assert!(
        table.lines().skip(1).all(|line| line.contains(",same,") && line.contains("base1 base2")),
        "{table}"
    );
    let page = std::fs::read_to_string(Path::new(&out).join("comparison.html")).unwrap();
    for part in ["class=\"plot forest", "id=\"run-by-run\"", "No recorded fact", "base1"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script"), "nothing that a page could run");
    let unknown = syscost(&["compare", "no-such-label", "--", &new]);
    assert_eq!(unknown.status.code(), Some(2), "{}", said(&unknown));
    assert!(said(&unknown).contains("no such baseline"), "{}", said(&unknown));
    let listed = syscost(&["compare", &base, &new]);
    assert!(said(&listed).contains("0 worse, 0 better"), "two names need no --: {}", said(&listed));
    let refused = syscost(&["compare", &base, &new, &base]);
    assert!(said(&refused).contains("write -- before"), "{}", said(&refused));
    let refused = syscost(&["compare", &base, "--", &base]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("both sides"), "{}", said(&refused));
}

/// The example of docs/comparing.md: what was planted is found, and where nothing was, nothing is.
#[test]
fn the_recorded_example_finds_what_was_planted_and_nothing_else() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compared = |group: &str| {
        let place = top.join("docs/runs/compare").join(group);
        let done = syscost(&["compare", place.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let planted = compared("planted");
    let guide = std::fs::read_to_string(top.join("docs/comparing.md")).unwrap();
    let shown = planted.trim_start().split("\n\nA ratio").next().unwrap();
    assert!(guide.contains(shown), "docs/comparing.md shows something else than:\n{shown}");
    assert!(shown.contains("Against rivals: 1 worse, 0 better."), "{shown}");
    let same = compared("same");
    assert!(same.contains("0 worse, 0 better") && same.contains("rivals: 0 worse, 0 better."), "{same}");
}

#[test]
fn a_gate_ends_with_what_it_found() {
    let scratch = tempfile::tempdir().unwrap();
    copies(scratch.path(), &[("base", 2), ("new", 2), ("one", 1)]);
    let place = |name: &str| scratch.path().join(name).display().to_string();
    let [base, new, one] = ["base", "new", "one"].map(place);
    let gate = |arguments: &[&str]| syscost(&[&["gate", "--baseline", &base], arguments].concat());
    let ends = |arguments: &[&str], status: i32| {
        let done = gate(arguments);
        assert_eq!(done.status.code(), Some(status), "{arguments:?}: {}", said(&done));
        done
    };
    let within = ends(&["--budget", "5%", &new], 0);
    let text = String::from_utf8_lossy(&within.stdout).into_owned();
    assert!(text.trim_start().starts_with("0 over budget, ") && text.contains("within budget"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Identical runs have not become cheaper by a tenth.
    let junit = scratch.path().join("made/gate.xml");
    let target = format!("junit={}", junit.display());
    ends(&["--budget=-10%", "--write", &target, &new], 1);
    assert!(std::fs::read_to_string(&junit).unwrap().contains("<failure type=\"exceeded\""));
    ends(&["--budget", "5%", &one], 4);
    for (when, status) in [("pass", 0), ("fail", 1), ("skip", 125)] {
        ends(&["--budget", "5%", "--undecided", when, &one], status);
    }
    ends(&["--budget", "5%", &base], 3);
    ends(&["--budget", "nothing=5%", &new], 3);
    ends(&["--budget", "much", &new], 2);
    ends(&["--budget", "5%", &place("none")], 2);
    let lines = ends(&["--budget=-10%", "--write", "github=-", &new], 1);
    assert!(String::from_utf8_lossy(&lines.stdout).lines().all(|line| line.starts_with("::error ")));
}

/// Runs that are saved under a name are its replicates, and the name stands wherever a directory may.
#[test]
fn a_baseline_has_a_name_and_grows_with_each_run_that_is_saved() {
    let place = tempfile::tempdir().unwrap();
    let here = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_syscost"));
        command.args(arguments).current_dir(place.path()).output().unwrap()
    };
    let run = ["run", "timer", "--clock", "clock_gettime,clock_gettime_syscall", "--time-limit", "2s"];
    let with = |more: &[&'static str]| here(&[&run[..], more].concat());
    for _ in 0..2 {
        let saved = with(&["--save-baseline", "main"]);
        assert_eq!(saved.status.code(), Some(0), "{}", said(&saved));
    }
    let kept = std::fs::read_dir(place.path().join("syscost-runs/baselines/main")).unwrap().count();
    assert_eq!(kept, 2);
    let next = with(&["--baseline", "main", "--out", "next"]);
    assert_eq!(next.status.code(), Some(0), "{}", said(&next));
    assert!(said(&next).contains("1 run against 2 runs: "), "{}", said(&next));
    let gate = here(&["gate", "--baseline", "main", "--budget", "90%", "next"]);
    assert!(matches!(gate.status.code(), Some(0 | 4)), "{}", said(&gate));
    let mistyped = with(&["--baseline", "mian"]);
    assert_eq!(mistyped.status.code(), Some(2), "{}", said(&mistyped));
    assert!(said(&mistyped).contains("did you mean main?"), "{}", said(&mistyped));
    assert!(!place.path().join("syscost-runs/mian").exists());
    let outside = with(&["--save-baseline", "../main"]);
    assert_eq!(outside.status.code(), Some(2), "{}", said(&outside));
}
