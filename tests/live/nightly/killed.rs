//! kill -9 of the tool and of everything that it starts, at random moments of real runs: what was
//! measured is kept, the run goes on, and nothing stays; and nothing of anybody else's is touched.

use crate::common::{self, SYSCOST};
use crate::reliability::left::{self, Marked};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use syscost_core::stats::random::Random;
use syscost_experiment::run::files::{LoadError, RunDir};
use syscost_experiment::run::{Run, State};
use syscost_sys::process;

/// Kills of this test, over all lanes.
const KILLS: usize = 200;
/// Runs at a time.
const LANES: usize = 3;
/// Rounds of each case, where the machine disturbs none.
const ROUNDS: usize = 5;
/// A killed run's processes are gone by then, on a busy machine too.
const PATIENCE: Duration = common::PATIENCE;
/// A run is killed at some moment within this.
const LONGEST_US: usize = 250_000;
/// A file of samples that is longer has some.
const LONGEST_HEADER: u64 = 4096;

/// Short rounds of every kind of case: two workers here and in namespaces, one worker with a file; or
/// little beside file servers, which take most of such a run's time.
fn probes(scratch: &Path, servers: bool) -> String {
    let scratch = scratch.display();
    let paths = if servers { "\"loopback\"" } else { "[\"loopback\", \"veth\"]" };
    let rest = if servers {
        format!(
            "[[probe]]\nid = \"remote_file_read\"\ndirectory = \"{scratch}\"\nfile_bytes = \"64K\"\n\
             read_pattern = \"sequential\"\n"
        )
    } else {
        format!(
            "[[probe]]\nid = \"file_read\"\ndirectory = \"{scratch}\"\nfile_bytes = \"256K\"\n\
             read_mode = \"buffered\"\n[[probe]]\nid = \"context_switch\"\n"
        )
    };
    format!(
        "[[probe]]\nid = \"transfer\"\nmechanism = [\"send\", \"msg_zerocopy\"]\nmessage_bytes = 4096\nthreads = 1\n\
         path = {paths}\n{rest}"
    )
}

/// One sequence of kills: a run that is begun, killed, resumed and killed until it is complete, then
/// the next one.
struct Lane {
    folder: PathBuf,
    scratch: PathBuf,
    spec: PathBuf,
    servers: bool,
    runs: usize,
    random: Random,
    kills: usize,
    decoys: Vec<PathBuf>,
}

/// What a lane saw, to be sure that it saw what the test is about.
#[derive(Default, Debug)]
struct Seen {
    kills_of_tool: usize,
    kills_of_others: usize,
    resumed: usize,
    complete: usize,
    failed_rounds: usize,
    victims: BTreeMap<String, usize>,
    file_servers: bool,
}

impl Lane {
    fn new(folder: &Path, seed: u64, servers: bool) -> Lane {
        let scratch = folder.join("scratch");
        fs::create_dir_all(&scratch).expect("a scratch directory");
        let probes = probes(&scratch, servers);
        let path = common::experiment(folder, ROUNDS, "60s", ("1ms", "1ms", 2), &probes);
        let mut lane = Lane {
            folder: folder.into(),
            scratch,
            spec: path,
            servers,
            runs: 0,
            random: Random::new(seed),
            kills: 0,
            decoys: Vec::new(),
        };
        lane.place_decoys();
        lane
    }

    /// What looks like ours and is not: another user's, somebody's who lives, a link, another name.
    fn place_decoys(&mut self) {
        let dead = left::ended_process();
        let foreign = self.scratch.join(format!(".syscost-served-{dead}-foreign"));
        let living = self.scratch.join(format!(".syscost-served-{}-living", process::identity()));
        let other = self.scratch.join(".syscost-serving");
        for folder in [&foreign, &living, &other] {
            fs::create_dir(folder).expect("a decoy");
            fs::write(folder.join("precious"), "kept").expect("a decoy's file");
        }
        chown(&foreign, Some(common::NOBODY), Some(common::NOBODY)).expect("root gives files away");
        let link = self.scratch.join(format!(".syscost-served-{dead}-link"));
        symlink(&other, &link).expect("a link");
        self.decoys.extend([foreign.join("precious"), living.join("precious"), other.join("precious"), link]);
    }

    fn out(&self) -> PathBuf {
        self.folder.join(format!("run-{}", self.runs))
    }

    /// Another user's temporary file, one of a living process, one with another kind of name; and one
    /// that a killed syscost left, which is to go.
    fn place_decoys_in_the_run(&mut self) {
        let out = self.out();
        let dead = left::ended_process();
        let foreign = out.join(format!(".results.csv.{dead}.tmp"));
        let living = out.join(format!(".run.json.{}.tmp", process::identity()));
        let other = out.join(".report.html.x.tmp");
        for path in [&foreign, &living, &other] {
            fs::write(path, "kept").expect("a decoy");
        }
        chown(&foreign, Some(common::NOBODY), Some(common::NOBODY)).expect("root gives files away");
        self.decoys.extend([foreign, living, other]);
        fs::write(out.join(format!(".run.json.{dead}.tmp")), "{").expect("a leftover");
    }

    /// Starts the tool: a new run, or the interrupted one.
    fn start(&self, resume: bool, mark: &Marked) -> Child {
        let mut command = Command::new(SYSCOST);
        match resume {
            true => command.args(["run", "--quiet", "--resume"]).arg(self.out()),
            false => command.args(["run", "--quiet"]).arg(&self.spec).arg("--out").arg(self.out()),
        };
        mark.put_on(&mut command);
        let errors = fs::File::create(self.folder.join("errors")).expect("a file for errors");
        command.stdout(Stdio::null()).stderr(errors).spawn().expect("the binary starts")
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("errors")).unwrap_or_default()
    }

    /// Kills until the lane's share is done; every run that it began is brought to its end.
    fn storm(mut self, kills: usize) -> Seen {
        let mut seen = Seen::default();
        while self.kills < kills {
            self.one_run(kills, &mut seen);
            self.runs += 1;
        }
        for decoy in &self.decoys {
            assert!(decoy.symlink_metadata().is_ok(), "{} was touched", decoy.display());
        }
        let names: Vec<String> = left::names(&self.scratch);
        assert_eq!(names.len(), 4, "only decoys are left: {}", left::tree(&self.scratch));
        seen
    }

    fn one_run(&mut self, kills: usize, seen: &mut Seen) {
        let mut kept: Option<Run> = None;
        loop {
            let mark = Marked::new();
            let resume = kept.is_some();
            let mut child = self.start(resume, &mark);
            let killed = self.kills < kills && self.kill_some(&mut child, &mark, seen);
            let status = child.wait().expect("it ends");
            mark.wait_until_all_ended(PATIENCE);
            let now = match RunDir::load(&self.out()) {
                Ok(run) => run,
                // Killed before there was a record: the next start begins anew in the same directory.
                Err(LoadError::NotARun { .. }) if killed && kept.is_none() => continue,
                Err(error) => panic!("{error}\n{}", self.errors()),
            };
            self.nothing_is_lost(kept.as_ref(), &now);
            if !killed {
                let code = status.code();
                // 1: a round whose worker was killed failed, and the run says so.
                assert!(matches!(code, Some(0 | 1)), "{status}: {}", self.errors());
                assert_ne!(now.record.state, State::Running, "{}", self.errors());
                seen.complete += usize::from(now.record.state == State::Complete);
                let cases = &now.record.plan.cases;
                seen.file_servers |= cases.iter().any(|case| case.point.text_at("file_server").is_some());
                seen.failed_rounds += now.record.failures.len();
                self.the_end_is_whole(&now);
                return;
            }
            if kept.is_none() {
                self.place_decoys_in_the_run();
            }
            seen.resumed += 1;
            kept = Some(now);
        }
    }

    /// Kills the tool at a random moment, perhaps after some of what it started; false where the run
    /// ended before.
    fn kill_some(&mut self, child: &mut Child, mark: &Marked, seen: &mut Seen) -> bool {
        // Some moments lie in the start, most among the rounds, wherever this machine has those.
        if self.random.below(4) > 0 {
            let samples = self.out().join("samples.csv");
            let length = || samples.metadata().map_or(0, |file| file.len());
            let (began, at_first) = (Instant::now(), length().max(LONGEST_HEADER));
            while length() <= at_first && began.elapsed() < PATIENCE && !ended(child) {
                syscost_sys::sleep::sleep(Duration::from_millis(1));
            }
        }
        for _ in 0..self.random.below(3) {
            self.kill_a_child(child, mark, seen);
        }
        syscost_sys::sleep::sleep(Duration::from_micros(self.random.below(LONGEST_US) as u64));
        if ended(child) {
            return false;
        }
        child.kill().expect("it can be killed");
        self.kills += 1;
        seen.kills_of_tool += 1;
        true
    }

    /// Kills something that the tool started, whatever is there within a moment; half of the time, where
    /// there are file servers, no worker but a server or its cleaner.
    fn kill_a_child(&mut self, child: &mut Child, mark: &Marked, seen: &mut Seen) {
        syscost_sys::sleep::sleep(Duration::from_micros(self.random.below(LONGEST_US / 4) as u64));
        let no_worker = self.servers && self.random.below(2) == 0;
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(500) && !ended(child) {
            let others: Vec<u32> = mark
                .processes()
                .into_iter()
                .filter(|pid| *pid != child.id() && !(no_worker && left::role(*pid) == "worker"))
                .collect();
            if others.is_empty() {
                continue;
            }
            if let Some(role) = mark.kill(others[self.random.below(others.len())]) {
                *seen.victims.entry(role).or_default() += 1;
                seen.kills_of_others += 1;
                self.kills += 1;
                return;
            }
        }
    }

    /// What was measured stands first, as it was, and no sample is there twice.
    fn nothing_is_lost(&self, before: Option<&Run>, now: &Run) {
        if let Some(before) = before {
            assert!(now.samples.len() >= before.samples.len(), "samples went");
            assert_eq!(&now.samples[..before.samples.len()], &before.samples[..], "samples changed");
            assert_eq!(now.record.id, before.record.id);
            assert!(now.record.audits.len() >= before.record.audits.len(), "audits went");
            assert!(now.record.elapsed_ns >= before.record.elapsed_ns);
        }
        let keys: BTreeSet<_> = now.samples.iter().map(|s| (s.case, s.round, s.index)).collect();
        assert_eq!(keys.len(), now.samples.len(), "a round was measured twice");
    }

    /// A run that came to its end has each of its rounds once, its report, and nothing of a process
    /// that is no more.
    fn the_end_is_whole(&self, run: &Run) {
        // A control is there whenever a rival of its block still needs a round: it may have more than it needs itself.
        let blocks = run.record.plan.blocks();
        let turns = blocks.iter().filter(|block| block.in_turns());
        let controls: BTreeSet<usize> =
            turns.flat_map(|block| &block.cases[..block.controls]).copied().collect();
        for case in &run.record.plan.cases {
            let most = if controls.contains(&case.index) { 2 * ROUNDS } else { ROUNDS };
            let of_case = || run.samples.iter().filter(|s| s.case == case.index);
            let turns: BTreeSet<u32> = run.slices.rounds_of(case.index).collect();
            let rounds: BTreeSet<u32> = of_case().map(|s| s.round).chain(turns.iter().copied()).collect();
            // A round that the machine disturbed from beginning to end is made up for by another; one of rivals in turns
            // may have no window.
            let disturbed: BTreeSet<u32> = of_case().filter(|s| !s.usable()).map(|s| s.round).collect();
            let used: BTreeSet<u32> = of_case()
                .filter(|s| s.usable())
                .map(|s| s.round)
                .chain(turns.difference(&disturbed).copied())
                .collect();
            let no_more = used.len() <= most && rounds.len() <= 2 * ROUNDS;
            assert!(no_more, "case {} was measured again: {rounds:?}, used {used:?}", case.index);
            let failed = run.record.failures.iter().any(|failure| failure.case == case.index);
            let given_up = run.record.plan.given_up().contains(&case.index);
            let enough = used.len() >= ROUNDS || rounds.len() == 2 * ROUNDS;
            let complete = enough || failed || given_up || run.record.state != State::Complete;
            assert!(complete, "case {} has {rounds:?}, used {used:?}", case.index);
        }
        let own = [
            "comparisons.csv",
            "findings.json",
            "histograms.csv",
            "report.html",
            "results.csv",
            "run.json",
            "samples.csv",
            "slices.csv",
        ];
        let is_decoy = |name: &String| self.decoys.contains(&self.out().join(name));
        for name in left::names(&self.out()).iter().filter(|name| !is_decoy(name)) {
            assert!(own.contains(&name.as_str()), "{name} stays in the run's directory");
        }
        assert!(self.out().join("report.html").exists());
    }
}

fn ended(child: &mut Child) -> bool {
    child.try_wait().expect("it can be asked").is_some()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn two_hundred_kills_lose_no_sample_and_leave_nothing() {
    const TEST: &str = "two_hundred_kills_lose_no_sample_and_leave_nothing";
    if !common::is_root(TEST) || !common::namespaces_allowed(TEST) {
        return;
    }
    let seed = left::seed();
    eprintln!("{TEST}: SYSCOST_SEED={seed}");
    let storm = || match left::own_mounts().and_then(|()| left::own_network()) {
        Ok(()) => storms(TEST, seed),
        Err(error) => common::skipped(TEST, &format!("namespaces of one's own: {error}")),
    };
    std::thread::scope(|scope| {
        scope.spawn(storm).join().unwrap_or_else(|e| std::panic::resume_unwind(e));
    });
}

/// In a thread whose mounts and network are its own.
fn storms(test: &str, seed: u64) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let before = left::Machine::now();
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let folder = folder.path().join(lane.to_string());
                scope.spawn(move || {
                    Lane::new(&folder, seed + lane as u64, lane == 1).storm(KILLS.div_ceil(LANES))
                })
            })
            .collect();
        lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    eprintln!("{test}: {seen:?}");
    left::Machine::now().same_as(&before);
    let sum = |count: fn(&Seen) -> usize| seen.iter().map(count).sum::<usize>();
    assert!(sum(|s| s.kills_of_tool) + sum(|s| s.kills_of_others) >= KILLS);
    assert!(sum(|s| s.resumed) > 10 && sum(|s| s.complete) > 2, "{seen:?}");
    let hit = |role: &str| seen.iter().any(|s| s.victims.contains_key(role));
    assert!(hit("worker"), "no worker was ever hit: {seen:?}");
    let servers = seen.iter().any(|s| s.file_servers);
    assert!(!servers || hit("cleaner"), "no cleaner was ever hit: {seen:?}");
}
