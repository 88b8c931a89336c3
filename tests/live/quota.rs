//! What a CPU quota does to a thread's clock, in a control group of the test's own.

use crate::common::{self, Group};
use std::io::Write;
use std::time::{Duration, Instant};
use syscost_sys::clock::{monotonic_ns, thread_cpu_ns};

const TEST: &str = "quota::throttled_time_is_in_no_thread_s_clock";
/// Set for the process that spins.
const SPIN: &str = "SYSCOST_TEST_SPIN";
const FOR: Duration = Duration::from_secs(1);

/// Wall time, CPU time and time in which the quota stopped the group, in ns.
struct Spun {
    wall: f64,
    cpu: f64,
    throttled: f64,
}

/// A thread that spins for a second under such a quota, beside nothing else of its group.
fn spun(cpu_max: &str, quota_us: &str) -> Result<Spun, String> {
    let version_1 = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", quota_us)];
    let group = Group::limiting("cpu", &version_1, &[("cpu.max", cpu_max)])?;
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = group.command(&this).args([TEST, "--exact", "--nocapture"]).env(SPIN, "1").output();
    let output = output.map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once("spun ")).map(|(_, line)| line.to_string());
    let line = line.unwrap_or_else(|| panic!("the spinning process says what it saw: {output:?}"));
    let mut numbers = line.split(' ').map(|n| n.parse::<f64>().expect("a number"));
    let mut next = || numbers.next().expect("wall and CPU time");
    Ok(Spun {
        wall: next(),
        cpu: next(),
        throttled: group.throttled_ns().ok_or("no throttled time in cpu.stat")?,
    })
}

fn spin() -> std::io::Result<()> {
    let (wall, cpu, until) = (monotonic_ns(), thread_cpu_ns(), Instant::now() + FOR);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    writeln!(std::io::stdout(), "spun {} {}", monotonic_ns() - wall, thread_cpu_ns() - cpu)
}

#[test]
fn throttled_time_is_in_no_thread_s_clock() {
    if std::env::var_os(SPIN).is_some() {
        return spin().expect("standard output takes it");
    }
    if !common::is_root(TEST) {
        return;
    }
    let both = spun("20000 100000", "20000").and_then(|limited| Ok((limited, spun("max 100000", "-1")?)));
    let (limited, free) = match both {
        Ok(both) => both,
        Err(why) => return common::skipped(TEST, &format!("no control group that limits CPU time: {why}")),
    };
    let seconds =
        |spun: &Spun| format!("{:.2} {:.2} {:.2}", spun.wall / 1e9, spun.cpu / 1e9, spun.throttled / 1e9);
    let seen = format!("wall, CPU, throttled: {} and {} s", seconds(&limited), seconds(&free));
    println!("{seen}");
    assert_eq!(free.throttled, 0.0, "{seen}");
    // Beside other work it waits for a CPU, and is stopped for less.
    assert!(limited.throttled > 0.05 * limited.wall, "the quota was used up: {seen}");
    // A fifth of each period, and what runs over before the kernel notices.
    assert!(limited.cpu < 0.35 * limited.wall, "throttled time is not in the clock: {seen}");
    let both = limited.cpu + limited.throttled;
    assert!(both < 1.15 * limited.wall, "no time is in both accounts: {seen}");
}
