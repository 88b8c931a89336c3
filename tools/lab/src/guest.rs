//! The guest's side: the first process of the emulated machine, which is this program.
//!
//! It mounts what a Linux program expects, loads the modules, puts each network device into a
//! namespace of its own, runs the experiment, writes the run's directory to the results disk and turns the
//! machine off. It runs only where the kernel's command line and the first file system carry one random marker,
//! and writes only to a disk that begins with it.
//! Sources: bootparam(7), Documentation/filesystems/ramfs-rootfs-initramfs.rst.

use super::results_disk::{self, GuestFiles};
use super::{RECEIVER, SENDER};
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use syscost_host::modelled;
use syscost_host::namespaces::named;
use syscost_host::settings::clock_counts_instructions;
use syscost_sys::namespace;
use syscost_sys::netlink::Netlink;
use syscost_sys::sleep::sleep;
use syscost_sys::{boot, mount, process, program};

/// The hidden subcommand that makes this binary a guest's init.
pub const SUBCOMMAND: &str = "lab-init";
/// How a line of the console begins that is meant for who waits outside.
pub const SAYS: &str = "lab: ";
/// What it says when everything is ready.
pub const RUNNING: &str = "running";
/// Modules that every guest needs: the driver of the results disk, loaded when there are results. Before, its interrupts
/// would come when the host's disk answers, which is never twice the same.
pub const DISK_MODULES: &[&str] = &["virtio_blk"];
/// The disk's bus, a module in some kernels (6.1) and built in elsewhere.
pub const DISK_BUS_MODULES: &[&str] = &["virtio_pci"];
/// Modules that are loaded where the kernel has them. TLS records need their cipher's mode, for which a
/// kernel would otherwise call a modprobe that a guest has not.
pub const OPTIONAL_MODULES: &[&str] =
    &["veth", "tcp_bbr", "gcm", "ghash_generic", "tls", "bridge", "macvlan", "ipvlan", "vxlan"];
/// Folders of the first file system.
pub const FOLDERS: &[&str] = &["/dev", "/proc", "/sys", "/run", "/tmp", "/lab/modules"];
pub const SPEC: &str = "/lab/spec.toml";
pub const ORDERS: &str = "/lab/orders.json";
const OUT: &str = "/tmp/run";
const DEBUG: &str = "/sys/kernel/debug";
const RESULTS_DISK: &str = "/dev/vda";
const PATIENCE: Duration = Duration::from_secs(20);
/// Of [`syscost_sys::random::token`].
const MARKER_BYTES: usize = 32;
const PREFIX_BITS: u8 = 24;
/// TEST-NET-2 (RFC 5737): not that of the veth pairs that a run makes itself.
const ENDS: [(&str, Ipv4Addr); 2] =
    [(SENDER, Ipv4Addr::new(198, 51, 100, 1)), (RECEIVER, Ipv4Addr::new(198, 51, 100, 2))];

/// What the guest is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestTask {
    /// In the order of loading.
    pub modules: Vec<String>,
    /// Those that the results disk needs, in the order of loading.
    pub disk_modules: Vec<String>,
    /// Network devices to wait for.
    pub links: usize,
    /// What the kernel's command line and the results disk say too: this guest is the lab's.
    pub marker: String,
}

/// Where a module lies in the guest.
pub fn module_path(name: &str) -> String {
    format!("/lab/modules/{name}.ko")
}

/// The orders, where this is the lab's own guest. The first process of a container has the same id and often the
/// machine's disks: there is no guest without orders that name what the kernel's command line ends with, and
/// none where /proc is mounted before its init mounts it.
fn orders(root: &Path, words: &[String]) -> Result<GuestTask> {
    let refuse = "this is the first process of a lab's guest and runs nowhere else: use `syscost lab`";
    let orders = fs::read(root.join(ORDERS.trim_start_matches('/'))).context(refuse)?;
    let orders: GuestTask = serde_json::from_slice(&orders).context("the orders make no sense")?;
    let named = orders.marker.len() == MARKER_BYTES && words.contains(&orders.marker);
    if !named || root.join("proc/self").exists() {
        bail!(refuse);
    }
    Ok(orders)
}

/// The whole life of the guest. It returns only where it must not run: then nothing was mounted or written.
pub fn main() -> i32 {
    let words: Vec<String> = std::env::args_os().filter_map(|word| word.into_string().ok()).collect();
    let orders = match orders(Path::new("/"), &words) {
        Ok(orders) if std::process::id() == 1 => orders,
        Ok(_) => return 2,
        Err(error) => {
            say(&format!("{error:#}"));
            return 2;
        }
    };
    let brought = match work(&orders) {
        Ok(brought) => brought,
        Err(error) => GuestFiles { status: -1, failure: Some(format!("{error:#}")), files: Vec::new() },
    };
    if let Some(failure) = &brought.failure {
        say(failure);
    }
    if let Err(error) = keep(&orders, &brought) {
        say(&format!("the results disk cannot be written: {error:#}"));
    }
    boot::restart();
    1
}

/// To the console, which is this process's standard error.
fn say(words: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{SAYS}{words}");
}

fn keep(orders: &GuestTask, brought: &GuestFiles) -> Result<()> {
    load(&orders.disk_modules)?;
    let lacks = "there is no disk for the results: the kernel lacks CONFIG_VIRTIO_BLK or CONFIG_VIRTIO_PCI";
    wait_for(|| Path::new(RESULTS_DISK).exists()).context(lacks)?;
    Ok(results_disk::write(Path::new(RESULTS_DISK), &orders.marker, brought)?)
}

fn load(modules: &[String]) -> Result<()> {
    modules.iter().try_for_each(|module| {
        let file = File::open(module_path(module)).with_context(|| format!("no module {module}"))?;
        boot::load_module(&file).with_context(|| format!("cannot load module {module}"))
    })
}

fn work(orders: &GuestTask) -> Result<GuestFiles> {
    mount_all()?;
    load(&orders.modules)?;
    connect(orders.links)?;
    if clock_counts_instructions() {
        take_long_turns()?;
    }
    if let Some(opened) = modelled::opened() {
        let counters =
            opened.as_ref().map_err(|error| anyhow!("the emulator's counters cannot be opened: {error}"))?;
        // Without the symbols softirqs count as the kernel's other code.
        if !counters.introduce(modelled::softirqs().unwrap_or(0..0)) {
            bail!("the emulator counts no cache misses: its plugin does not answer");
        }
    }
    say(RUNNING);
    let mut run = Command::new(program::path());
    run.args(["run", SPEC, "--quiet", "--no-report", "--out", OUT]).current_dir("/tmp").env("HOME", "/tmp");
    let status = run.status().context("cannot start the experiment")?;
    let status = status.code().with_context(|| format!("the experiment was ended: {status}"))?;
    let files = collect(Path::new(OUT))?;
    if files.is_empty() {
        bail!("the experiment ended with status {status} and wrote nothing: the console says why");
    }
    Ok(GuestFiles { status, failure: None, files })
}

/// Lengths of a turn on the CPU, by kernel: 6.6 and later, 6.3, and before.
const TURNS: [&str; 5] =
    ["base_slice_ns", "min_base_slice_ns", "min_granularity_ns", "latency_ns", "wakeup_granularity_ns"];
/// Longer than any burst. Not longer than that: where one process of Linux 6.12 waits by spinning for what another does (names
/// of a process in /proc, when it is reaped) it spins for a whole turn.
const TURN_NS: &str = "20000000";

/// A sender and a receiver on one CPU change places where one of them sleeps. Else they would where a timer interrupt
/// happens to come, and a change of a few instructions anywhere would change who is where when it comes. Kernels without
/// these files (5.10 and before, or without debugfs) take turns as they do.
fn take_long_turns() -> Result<()> {
    process::preempt_nobody().context("cannot choose SCHED_BATCH")?;
    if mount::mount_new("debugfs", Path::new(DEBUG)).is_ok() {
        TURNS.iter().for_each(|file| _ = fs::write(Path::new(DEBUG).join("sched").join(file), TURN_NS));
    }
    Ok(())
}

/// What programs expect; the tracing file system is for those that count inside the kernel.
fn mount_all() -> Result<()> {
    let mounts = [
        ("devtmpfs", "/dev", true),
        ("proc", "/proc", true),
        ("sysfs", "/sys", true),
        ("tmpfs", "/run", true),
        ("tmpfs", "/tmp", true),
        ("tracefs", "/sys/kernel/tracing", false),
    ];
    for (kind, target, needed) in mounts {
        let mounted = mount::mount_new(kind, Path::new(target));
        if needed {
            mounted.with_context(|| format!("cannot mount {kind} on {target}"))?;
        }
    }
    Ok(())
}

fn wait_for(mut ready: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !ready() {
        if start.elapsed() > PATIENCE {
            bail!("it did not come within {} s", PATIENCE.as_secs());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Network devices with hardware behind them, in the order of their names.
fn devices() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let hardware = entries.filter(|entry| entry.path().join("device").exists());
    let mut names: Vec<String> =
        hardware.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Puts the two devices into namespaces that have names, so that what goes between them leaves by
/// one device and arrives by the other.
fn connect(links: usize) -> Result<()> {
    wait_for(|| devices().len() >= links).context(
        "there are no network devices: the kernel lacks their driver (CONFIG_VMXNET3, or that of --nic) or CONFIG_PCI",
    )?;
    let mut here = Netlink::open()?;
    here.set_up("lo")?;
    for ((name, address), device) in ENDS.iter().zip(devices()) {
        let namespace = keep_namespace(name).with_context(|| format!("cannot make the namespace {name}"))?;
        here.move_to(&device, namespace.as_fd())
            .with_context(|| format!("cannot move {device} into {name}"))?;
        std::thread::scope(|scope| scope.spawn(|| furnish(&namespace, &device, *address)).join())
            .map_err(|_| anyhow!("a thread panicked"))?
            .with_context(|| format!("cannot set up {device}"))?;
    }
    Ok(())
}

/// A namespace that a name holds, as `ip netns add` makes it: a device whose namespace dies comes
/// back late.
fn keep_namespace(name: &str) -> Result<OwnedFd> {
    let file = Path::new(named::FOLDER).join(name);
    fs::create_dir_all(named::FOLDER)?;
    File::create_new(&file)?;
    let make = || -> std::io::Result<OwnedFd> {
        namespace::unshare_net()?;
        mount::bind(Path::new("/proc/thread-self/ns/net"), &file)?;
        namespace::current("net")
    };
    let made = std::thread::scope(|scope| scope.spawn(make).join());
    Ok(made.map_err(|_| anyhow!("a thread panicked"))??)
}

/// Addresses the device and sets it up. The calling thread stays in the namespace.
fn furnish(namespace: &OwnedFd, device: &str, address: Ipv4Addr) -> Result<()> {
    namespace::enter_net(namespace.as_fd())?;
    let mut netlink = Netlink::open()?;
    netlink.add_address(device, IpAddr::V4(address), PREFIX_BITS)?;
    netlink.set_up("lo")?;
    netlink.set_up(device)?;
    wait_for(|| netlink.link(device).is_ok_and(|link| link.running))
}

/// The files of the run's directory.
fn collect(folder: &Path) -> Result<Vec<(String, String)>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !name.starts_with('.') {
            files.push((name, fs::read_to_string(entry.path())?));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_machine_but_the_lab_s_own_guest_is_touched() {
        let root = tempfile::tempdir().unwrap();
        let marker = syscost_sys::random::token().unwrap();
        let words = ["/init", SUBCOMMAND, &marker].map(String::from);
        assert!(orders(root.path(), &words).is_err(), "a container has no orders");
        fs::create_dir(root.path().join("lab")).unwrap();
        let write = |marker: &str| {
            let task =
                GuestTask { modules: Vec::new(), disk_modules: Vec::new(), links: 2, marker: marker.into() };
            fs::write(root.path().join("lab/orders.json"), serde_json::to_vec(&task).unwrap()).unwrap();
        };
        write(&marker);
        assert!(orders(root.path(), &words[..2]).is_err(), "the command line lacks the marker");
        assert_eq!(orders(root.path(), &words).unwrap().links, 2);
        for wrong in ["", SUBCOMMAND, "/init"] {
            write(wrong);
            assert!(orders(root.path(), &words).is_err(), "{wrong:?} is no marker");
        }
        write(&marker);
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        assert!(orders(root.path(), &words).is_err(), "something runs here already");
    }
}
