//! Hostile peers: workers that misbehave under the protocol, a side that takes no data, and strangers
//! at the port. Rounds fail with a reason, the run ends in time and is valid, and no process stays.

use crate::common::{self, SYSCOST};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use syscost_experiment::plan::Plan;
use syscost_experiment::run::State;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::spec::Spec;
use syscost_harness::{self as measure, RunOptions};
use syscost_measure::worker::protocol;
use syscost_sys::program;

/// In the environment of this test's other process: the program that it starts as a worker.
const WORKER: &str = "SYSCOST_TEST_WORKER";
const OUT: &str = "SYSCOST_TEST_OUT";
const TEST: &str = "reliability::peers::a_worker_that_misbehaves_fails_its_round_and_nothing_else";

/// The limit of a run with misbehaving workers, and how far beyond it the run may end: the grace that a
/// last round has, and a busy machine.
const LIMIT: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_secs(40);

/// A worker as the harness's protocol has it, in a way that no worker behaves, and what is said of it.
struct Odd {
    name: &'static str,
    script: String,
    reason: &'static str,
}

/// One frame, as the shell prints it from a file.
fn frame(folder: &Path, name: &str, json: &str) -> String {
    // Scripts have the names of what they do.
    let path = folder.join(format!("{name}.frame"));
    let mut bytes = Vec::new();
    let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
    protocol::write(&mut bytes, &value).expect("in memory");
    fs::write(&path, bytes).expect("a scratch file");
    format!("cat {}", path.display())
}

fn odd_workers(folder: &Path) -> Vec<Odd> {
    let odd = |name, script: &str, reason| Odd { name, script: script.into(), reason };
    let window = r#"{"elapsed_ns":-5.0,"ops":1.0,"bytes":0.0,"marks":[],"quantities":{}}"#;
    let done = format!(
        r#"{{"say":"done","report":{{"windows":[{window}],"totals":{{}},"facts":{{}},"missing":[],"slices":[],"rivals":[],"marks":[]}}}}"#
    );
    let lie = |window: &str, facts: &str| {
        format!(
            r#"{{"say":"done","report":{{"windows":[{window}],"totals":{{}},"facts":{{{facts}}},"missing":[],"slices":[],"rivals":[],"marks":[]}}}}"#
        )
    };
    let good = r#""ops":1.0,"bytes":0.0,"quantities":{}"#;
    let told = |elapsed: &str, mark: &str| format!(r#"{{{good},"elapsed_ns":{elapsed},"marks":["{mark}"]}}"#);
    let marked = frame(folder, "marked", &lie(&told("5.0", &"m".repeat(1_500_000)), ""));
    let factual = format!(r#""cpus":"{}""#, "0".repeat(12 << 20));
    let factual = frame(folder, "factual", &lie(&told("5.0", "stopped"), &factual));
    let instant = frame(folder, "instant", &lie(&told("0.0", "stopped"), ""));
    let eternal = frame(folder, "eternal", &lie(&told("1e308", "stopped"), ""));
    let ready = frame(folder, "ready", r#"{"say":"ready"}"#);
    let done = frame(folder, "done", &done);
    let long = format!(r#"{{"say":"failed","causes":["{}"],"peer_lost":false}}"#, "long ".repeat(1 << 18));
    let long = frame(folder, "long", &long);
    vec![
        odd("garbage", "printf 'Last login: today\\r\\n$ '; sleep 60", "no frame of the worker protocol"),
        odd("oversized", "printf '\\377\\377\\377\\177'; sleep 60", "no frame of the worker protocol"),
        odd("endless", "printf '\\377\\377\\377\\000'; exec yes", "bad frame"),
        odd("half", "printf '\\040\\000\\000\\000{\"say\":'", "broke off in the middle of a frame"),
        odd("half_and_silence", "printf '\\040\\000\\000\\000{'; sleep 60", "did not answer in time"),
        odd("half_a_length", "printf '\\040\\000'", "broke off in the middle of a frame"),
        odd("no_json", "printf '\\003\\000\\000\\000{}}'; sleep 60", "bad frame"),
        odd("silence", "sleep 60", "did not answer in time"),
        odd("flood", "while :; do echo a flood of words >&2; done", "a flood of words"),
        odd("mute", "exec >&-; sleep 60", "the worker was ended"),
        odd("heir", "sleep 60 & echo it is broken >&2; exit 7", "it is broken"),
        odd("killed", "kill -9 $$", "signal: 9"),
        Odd { name: "early", script: format!("{done}; sleep 60"), reason: "out of turn" },
        Odd { name: "liar", script: format!("{ready}; sleep 0.1; {done}"), reason: "less than nothing" },
        Odd { name: "marker", script: format!("{ready}; sleep 0.1; {marked}"), reason: "name of a mark" },
        Odd { name: "factual", script: format!("{ready}; sleep 0.1; {factual}"), reason: "bytes in cpus" },
        Odd {
            name: "instant",
            script: format!("{ready}; sleep 0.1; {instant}"),
            reason: "0e0 as elapsed_ns",
        },
        Odd {
            name: "eternal",
            script: format!("{ready}; sleep 0.1; {eternal}"),
            reason: "1e308 as elapsed_ns",
        },
        Odd { name: "chatter", script: long, reason: "long long" },
    ]
}

/// The other process of the test: runs an experiment whose workers are the named program.
fn measure_with_it(worker: PathBuf, out: PathBuf) {
    program::set(worker);
    let mut spec = Spec::named("timer").expect("the probe is a spec");
    spec.set_axis("clock", &["clock_gettime"]).expect("a clock of every machine");
    spec.time_limit_ns = LIMIT.as_nanos() as u64;
    let plan = Plan::make(&spec).expect("a plan");
    let options = RunOptions {
        baton: None,
        out,
        resume: false,
        spec,
        plan,
        command: Vec::new(),
        names: Default::default(),
        profile: false,
        part: None,
    };
    measure::measure(options, &mut |_| {}).expect("rounds fail, the run does not");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_worker_that_misbehaves_fails_its_round_and_nothing_else() {
    if let (Some(worker), Some(out)) = (std::env::var_os(WORKER), std::env::var_os(OUT)) {
        return measure_with_it(worker.into(), out.into());
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let this = std::env::current_exe().expect("this program");
    let odd = odd_workers(scratch.path());
    let start = |odd: &Odd| -> (PathBuf, PathBuf, Child, Instant) {
        let (script, out) = (scratch.path().join(odd.name), scratch.path().join(format!("{}-run", odd.name)));
        common::script(&script, &odd.script);
        let mut command = Command::new(&this);
        command.args(["--exact", TEST, "--include-ignored"]).env(WORKER, &script).env(OUT, &out);
        let child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("this program starts");
        (script, out, child, Instant::now())
    };
    let started: Vec<_> = odd.iter().map(start).collect();
    for (odd, (script, out, child, at)) in odd.iter().zip(started) {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}: {}", odd.name, common::said(&output));
        assert!(at.elapsed() < LIMIT + LATE, "{} took {:?}", odd.name, at.elapsed());
        let run = RunDir::load(&out).unwrap_or_else(|error| panic!("{}: {error}", odd.name));
        assert!(run.samples.is_empty() && run.record.state != State::Running, "{}", odd.name);
        let failures: Vec<&str> = run.record.failures.iter().map(|f| f.message.as_str()).collect();
        assert!(!failures.is_empty(), "{}", odd.name);
        for message in &failures {
            assert!(message.contains(odd.reason), "{}: {message}", odd.name);
            assert!(message.len() < 8 << 10, "{}: a message of {} bytes", odd.name, message.len());
        }
        let left = processes_of(&script);
        assert!(left.is_empty(), "{} left processes {left:?}", odd.name);
    }
}

/// Processes that run a script.
fn processes_of(script: &Path) -> Vec<u32> {
    let name = script.to_str().expect("UTF-8").as_bytes();
    let processes = fs::read_dir("/proc").expect("/proc is mounted");
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|word| word == name)
    })
    .collect()
}

fn start(out: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(SYSCOST);
    command.arg("run").args(arguments).arg("--out").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

/// Stops for good the side that receives, once data flows: the kernel takes what its window has room
/// for, and then the sender stands still in its system call.
fn stop_the_receiver(child: &mut Child) -> Option<u32> {
    while child.try_wait().expect("our child").is_none() {
        // The receiver listens, so it was started first: the smaller number, unless numbers wrapped.
        if let [one, other] = common::workers_of(child.id())[..] {
            syscost_sys::sleep::sleep(Duration::from_millis(60));
            let receiver = one.min(other);
            // SAFETY: kill touches no memory; a worker that has just ended makes it fail.
            if unsafe { libc::kill(receiver as i32, libc::SIGSTOP) } == 0 {
                return Some(receiver);
            }
        }
        syscost_sys::sleep::sleep(Duration::from_millis(5));
    }
    None
}

/// One run whose receiver is stopped for good, held to what is promised of it. Whether the stop was told:
/// a worker that had answered for its round already is nobody that the run waits for.
fn a_stopped_receiver_is_told(mechanism: &str, out: &Path, limit: Duration) -> bool {
    let seconds = format!("{}s", limit.as_secs());
    let fixed = ["--size", "64K", "--threads", "2", "--path", "loopback", "--time-limit", &seconds];
    let mut child = start(out, &[&["--mechanism", mechanism], &fixed[..]].concat());
    let began = Instant::now();
    let stopped = stop_the_receiver(&mut child);
    let mut late = false;
    while child.try_wait().expect("our child").is_none() {
        late = began.elapsed() > limit + LATE;
        if late {
            child.kill().expect("our child");
        }
        syscost_sys::sleep::sleep(Duration::from_millis(50));
    }
    let status = child.wait().expect("our child");
    assert!(!late, "{mechanism}: the run hangs with its peer");
    let run = RunDir::load(out).expect("the run is valid");
    let told = (run.record.failures.iter())
        .any(|f| f.message.contains("did not answer in time") && f.message.contains("stood still"));
    let audited = run.record.warnings.iter().any(|w| w.observed.contains("did not answer in time"));
    // Whichever the stopped worker was of: a round, or an audit.
    assert_eq!(status.code(), Some(common::wanted_status(&run)), "{mechanism}");
    assert!(
        stopped.is_none_or(|stopped| !common::workers().contains(&stopped)),
        "{mechanism}: a stopped worker stays"
    );
    told || audited
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_peer_that_never_reads_ends_at_the_deadline() {
    common::use_real_binary();
    let scratch = tempfile::tempdir().expect("a scratch directory");
    std::thread::scope(|scope| {
        for mechanism in ["send", "msg_zerocopy", "sendfile"] {
            let scratch = scratch.path();
            scope.spawn(move || {
                // A busy machine may begin no round in six seconds.
                let tries = [6, 6, 20, 60];
                let told = |(n, seconds): (usize, &u64)| {
                    let out = scratch.join(format!("{mechanism}-{n}"));
                    a_stopped_receiver_is_told(mechanism, &out, Duration::from_secs(*seconds))
                };
                assert!(
                    tries.iter().enumerate().any(told),
                    "{mechanism}: no stop was told in {} runs",
                    tries.len()
                );
            });
        }
    });
}

/// Where the processes listen, by the kernel's table of sockets and their own descriptors.
fn listening(pids: &[u32]) -> Vec<SocketAddr> {
    let mut inodes = Vec::new();
    for pid in pids {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for target in entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()) {
            let text = target.to_string_lossy().into_owned();
            inodes.extend(text.strip_prefix("socket:[").map(|t| t.trim_end_matches(']').to_string()));
        }
    }
    // Those that listen come first, and tens of thousands of closed connections after them: to read of all takes longer
    // than a listener is there.
    let Ok(table) = fs::File::open("/proc/net/tcp") else { return Vec::new() };
    let lines = BufReader::new(table).lines().skip(1).map_while(Result::ok);
    let listening = lines.take_while(|line| line.split_whitespace().nth(3) == Some("0A"));
    let listener = |line: &str| -> Option<SocketAddr> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let ours = *fields.get(3)? == "0A" && inodes.iter().any(|i| Some(&i.as_str()) == fields.get(9));
        let port = u16::from_str_radix(fields[1].split_once(':')?.1, 16).ok()?;
        ours.then(|| SocketAddr::from(([127, 0, 0, 1], port)))
    };
    listening.filter_map(|line| listener(&line)).collect()
}

/// One stranger: says nothing, something else, or as much as a token begins with.
fn stranger(address: SocketAddr, number: usize) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok()?;
    let words: &[u8] = match number % 3 {
        0 => b"",
        1 => b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
        _ => b"0123",
    };
    // It may have been closed already, which is what should happen.
    let _ = stream.write_all(words);
    Some(stream)
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_crowd_of_strangers_changes_nothing() {
    common::use_real_binary();
    let scratch = tempfile::tempdir().expect("a scratch directory");
    // How many come in a run is the machine's business: runs follow each other until a crowd has come.
    let mut came = 0;
    for number in 0..60 {
        let out = scratch.path().join(format!("run{number}"));
        came += crowded(&out);
        if came >= 300 {
            return;
        }
    }
    panic!("only {came} strangers came in sixty runs");
}

/// One run among strangers, which must not notice them; how many came.
fn crowded(out: &Path) -> usize {
    // Forty rounds are forty listeners.
    let probe = "[[probe]]\nid = \"tcp_connect\"\npath = \"loopback\"\n";
    let spec = common::experiment(out.parent().expect("a folder"), 40, "30s", ("5ms", "40ms", 2), probe);
    let mut child = start(out, &[spec.to_str().expect("UTF-8")]);
    let pid = child.id();
    let (over, came) = (AtomicBool::new(false), AtomicUsize::new(0));
    let status = std::thread::scope(|scope| {
        let (over, came) = (&over, &came);
        for _ in 0..2 {
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    for address in listening(&common::workers_of(pid)) {
                        let crowd: Vec<_> = (0..50).filter_map(|number| stranger(address, number)).collect();
                        came.fetch_add(crowd.len(), Ordering::Relaxed);
                    }
                    syscost_sys::sleep::sleep(Duration::from_millis(2));
                }
            });
        }
        let status = child.wait().expect("the run ends");
        over.store(true, Ordering::Relaxed);
        status
    });
    let run = RunDir::load(out).expect("the run is valid");
    assert_eq!(status.code(), Some(0), "{:?}", run.record.failures);
    assert!(!run.samples.is_empty() && run.record.failures.is_empty(), "{:?}", run.record.failures);
    came.load(Ordering::Relaxed)
}
