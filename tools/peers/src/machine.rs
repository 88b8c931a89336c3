//! What the page must say about the machine, and which two CPUs to use.

use anyhow::Result;
use std::collections::BTreeMap;
use std::fs;

/// Label and value, in the order of the page. A value this machine does not tell is left out.
pub fn facts() -> Vec<(&'static str, String)> {
    let sysctl = |name: &str| read(&format!("/proc/sys/{name}")).map(|text| text.replace('\t', " "));
    let facts = [
        ("CPU", cpu_model()),
        ("CPUs online", read("/sys/devices/system/cpu/online")),
        ("hypervisor", hypervisor()),
        ("kernel", sysctl("kernel/osrelease")),
        ("distribution", distribution()),
        ("tcp_wmem (autotuned send buffer)", sysctl("net/ipv4/tcp_wmem")),
        ("tcp_rmem (autotuned receive buffer)", sysctl("net/ipv4/tcp_rmem")),
        ("load average at the start", read("/proc/loadavg")),
    ];
    facts.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

fn cpu_model() -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// The flag that a CPU shows its guests; absent on bare metal.
fn hypervisor() -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let flags = text.lines().find(|line| line.starts_with("flags"))?;
    Some(if flags.split_whitespace().any(|flag| flag == "hypervisor") { "yes" } else { "no" }.into())
}

fn distribution() -> Option<String> {
    let text = read("/etc/os-release")?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_string())
}

/// A CPU for the sender and one for the receiver that this process may use: on different cores
/// where there are two, else different threads of one, else the same.
pub fn two_cpus() -> Result<(usize, usize)> {
    let allowed = syscost_sys::affinity::allowed()?;
    let mut cores: BTreeMap<String, usize> = BTreeMap::new();
    for cpu in &allowed {
        let core = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        cores.entry(read(&core).unwrap_or_else(|| cpu.to_string())).or_insert(*cpu);
    }
    let mut first_of_core: Vec<usize> = cores.into_values().collect();
    first_of_core.sort_unstable();
    match (&first_of_core[..], &allowed[..]) {
        ([a, b, ..], _) | (_, [a, b, ..]) => Ok((*a, *b)),
        (_, [only]) => Ok((*only, *only)),
        _ => anyhow::bail!("no CPU to run on"),
    }
}
