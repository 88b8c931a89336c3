//! The emulated machine: qemu with two network devices on one hub, and waiting for its end.
//!
//! It emulates every instruction (no KVM, no right needed), so it is the same everywhere. It has no
//! network but the two devices', and dies with us. Source: qemu-system(1).

use super::nic::LINKS;
use super::{Arch, LabRequest, cache_model, guest, missing, results_disk, tool};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use syscost_host::settings::{CACHES_OPTION, CLOCK_OPTION, EMULATED_OPTION, INSTRUCTIONS};
use syscost_sys::program;
use syscost_sys::sleep::sleep;

pub const INITRD: &str = "initrd";
pub const RESULTS_DISK: &str = "results";
pub const CONSOLE: &str = "console.log";
const MEMORY_MIB: u32 = 1024;
const CPUS: &str = "-smp 2";
/// The same random numbers and the same date each time: nothing of a guest that counts differs between boots.
const COUNTING: &str = "-seed 1 -rtc base=2026-01-01,clock=vm";
const ONE_CPU: &str = "-smp 1";
/// What a sender writes has to cross to the receiver's cache: caches are modelled for two CPUs. The last `-cpu` holds. Without cx16:
/// where an interrupt follows cmpxchg16b, qemu 7.2 restores flags that nobody set, and the kernel panics.
const CACHED_CPUS: &str = "-smp 2 -cpu max,-erms,-fsrm,-cx16";
/// Memory is laid out alike each time.
const COUNTING_OPTIONS: &str = "nokaslr norandmaps";
/// How often the console is read.
const LOOK: Duration = Duration::from_millis(100);

/// The emulator's path.
pub fn find(arch: &Arch) -> Result<PathBuf> {
    let name = arch.emulator;
    Ok(program::named(name, &[]).ok_or_else(|| {
        missing(
            format!("there is no {name}"),
            format!(
                "install the emulator: apt-get install --no-install-recommends {} (Fedora: {0}-core)",
                arch.package
            ),
        )
    })?)
}

/// `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)`
pub fn version(emulator: &Path) -> Result<String> {
    let text = tool::output(tool::command(emulator).arg("--version"), "qemu-system-x86 or -arm")?;
    Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_string())
}

/// Boots a guest and waits for its end. `folder` holds the initrd; the results disk and the console are written
/// there. `heard` gets the lines in which the guest says how far it is.
pub fn run(
    emulator: &Path,
    folder: &Path,
    vmlinuz: &Path,
    marker: &str,
    request: &LabRequest<'_>,
    heard: &mut dyn FnMut(&str),
) -> Result<()> {
    results_disk::create(&folder.join(RESULTS_DISK), marker).context("cannot make the guest's disk")?;
    let mut console = Console { path: folder.join(CONSOLE), read: 0 };
    let mut command = command(emulator, folder, vmlinuz, marker, request);
    let mut running = RunningMachine(command.spawn().context("cannot start the emulator")?);
    let end = Instant::now() + request.limit;
    loop {
        let ended = running.0.try_wait()?;
        console.each_new_line(heard);
        match ended {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("the emulator failed ({status}): {}", running.last_words()),
            None if (request.interrupted)() => bail!("interrupted"),
            None if Instant::now() > end => {
                bail!("the guest was ended after {} s (--limit)", request.limit.as_secs())
            }
            None => sleep(LOOK),
        }
    }
}

fn command(
    emulator: &Path,
    folder: &Path,
    vmlinuz: &Path,
    marker: &str,
    request: &LabRequest<'_>,
) -> Command {
    let mut command = tool::command(emulator);
    // Relative names: a comma in a path would be syntax.
    command.current_dir(folder).process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
    command.args("-nodefaults -no-user-config -no-reboot -display none -monitor none".split(' '));
    command.args(machine(request));
    if let Some(caches) = request.caches {
        command.args(cache_model::options(caches));
    }
    command.args(["-m", &MEMORY_MIB.to_string()]);
    command.args(["-serial", &format!("file:{CONSOLE}")]);
    command.args(["-drive", &format!("file={RESULTS_DISK},format=raw,if=none,id=results")]);
    command.args(["-device", "virtio-blk-pci,drive=results"]);
    for i in 0..LINKS {
        command.args(["-netdev", &format!("hubport,id=link{i},hubid=1")]);
        command.args(["-device", &format!("{},netdev=link{i}", request.nic.device)]);
    }
    command.arg("-kernel").arg(vmlinuz).args(["-initrd", INITRD, "-append"]);
    command.arg(boot_options(request, marker));
    command
}

/// The processor and its clocks.
pub fn machine(request: &LabRequest<'_>) -> Vec<&'static str> {
    let words = match (request.counting, request.caches) {
        (true, None) => [request.arch.counting_machine, ONE_CPU, COUNTING],
        (true, Some(_)) => [request.arch.counting_machine, CACHED_CPUS, COUNTING],
        (false, _) => [request.arch.machine, CPUS, ""],
    };
    words.iter().flat_map(|words| words.split_whitespace()).collect()
}

/// The kernel's command line; the user's options come last, so that they prevail.
pub fn boot_options(request: &LabRequest<'_>, marker: &str) -> String {
    let (console, init) = (request.arch.console, guest::SUBCOMMAND);
    let counting = match request.counting {
        true => {
            format!(" {COUNTING_OPTIONS} {} {CLOCK_OPTION}={INSTRUCTIONS}", request.arch.counting_options)
        }
        false => String::new(),
    };
    let caches = request.caches.map_or(String::new(), |caches| format!(" {CACHES_OPTION}={caches}"));
    let own = request.append.map_or(String::new(), |own| format!(" {own}"));
    format!(
        "console={console} quiet panic=-1 {EMULATED_OPTION}=TCG{counting}{caches}{own} -- {init} {marker}"
    )
}

/// The emulator; dropping it kills it.
struct RunningMachine(Child);

impl RunningMachine {
    fn last_words(&mut self) -> String {
        let mut words = String::new();
        if let Some(errors) = self.0.stderr.as_mut() {
            let _ = errors.take(2000).read_to_string(&mut words);
        }
        words.trim().to_string()
    }
}

impl Drop for RunningMachine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The guest's console, as it grows.
struct Console {
    path: PathBuf,
    read: u64,
}

impl Console {
    /// Whole lines that the guest's init wrote since the last call.
    fn each_new_line(&mut self, heard: &mut dyn FnMut(&str)) {
        use std::io::{Seek, SeekFrom};
        let mut text = Vec::new();
        let mut read = || -> std::io::Result<()> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut text).map(drop)
        };
        if read().is_err() {
            return;
        }
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += whole as u64;
        for line in String::from_utf8_lossy(&text[..whole]).lines() {
            if let Some(said) = line.trim_end().strip_prefix(guest::SAYS) {
                heard(said);
            }
        }
    }
}
