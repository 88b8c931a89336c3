//! The lab: a guest under software emulation in which this very program runs an experiment between
//! two network devices, joined back to back.
//!
//! It needs no KVM, no root and nothing installed but qemu: a kernel package is downloaded and
//! unpacked into a cache, and the guest's first process is this program ([`guest`]). There a device
//! fetches the sender's pages itself, so that zero-copy is not copied; loopback and veth, where
//! the receiver reads the same pages, must copy. Counts made there are right, times mean nothing.
//! Sources: qemu-system(1), Documentation/networking/msg_zerocopy.rst.

mod arch;
mod choice;
mod tool;
mod cache_model;
mod package;
mod debian;
pub mod results_disk;
pub mod guest;
mod modules;
mod nic;
mod kernel;
mod libraries;
mod image;
mod machine;

use anyhow::{Context, Result, bail};
use kernel::WantedKernel;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::{LAB_SECONDS, LAB_START_SECONDS};
use syscost_experiment::spec::Spec;
use syscost_host::cleaner::OwnedDirectory;
use syscost_host::namespaces::{layer, named};
use syscost_host::{Fact, Unavailable};
use syscost_sys::{program, random};

pub use arch::Arch;
pub use cache_model::Caches;
pub use choice::KernelChoice;
pub use nic::Nic;

/// What is wanted of the lab.
pub struct LabRequest<'a> {
    pub spec: &'a Spec,
    pub nic: &'static Nic,
    pub kernel: &'a KernelChoice,
    pub arch: &'static Arch,
    /// The program that runs in the guest; this one, unless the guest is of another kind.
    pub program: Option<&'a Path>,
    /// The guest counts instructions: its clocks are the count.
    pub counting: bool,
    /// It counts misses of these caches too.
    pub caches: Option<&'a Caches>,
    /// Boot options of the user's own.
    pub append: Option<&'a str>,
    /// Where the run's directory goes; new or empty.
    pub out: &'a Path,
    /// Where kernels are kept.
    pub cache: &'a Path,
    /// Use what the cache has, and nothing else.
    pub offline: bool,
    /// The guest is ended after this.
    pub limit: Duration,
    /// Has the user asked to stop?
    pub interrupted: &'a dyn Fn() -> bool,
}

/// What came back.
pub struct LabRun {
    /// Exit status of the run inside.
    pub status: i32,
    /// The package that the kernel is from.
    pub kernel: String,
    /// What the guest itself cannot know.
    pub facts: Vec<Fact>,
}

/// What a counting guest knows its disk by: no device of anybody's begins with it.
const COUNTING_MARKER: &str = "5ac1ab0c0de1a5717c70c0a4715a71e5";

/// The namespaces that hold the two devices in the guest.
pub const SENDER: &str = "lab-sender";
pub const RECEIVER: &str = "lab-receiver";

/// What a spec is told to use where it names no path.
pub fn path() -> String {
    named::path(SENDER, RECEIVER)
}

/// Boots, runs the spec inside, and writes its run directory. `watch` is told each step, for somebody who waits.
pub fn run(request: &LabRequest<'_>, watch: &mut dyn FnMut(&str)) -> Result<LabRun> {
    let called = Instant::now();
    if request.caches.is_some() {
        cache_model::refuse_other(request.arch)?;
    }
    let program = program_for(request)?;
    let emulator = machine::find(request.arch)?;
    refuse_used(request.out)?;
    let folder =
        OwnedDirectory::create(&std::env::temp_dir()).context("cannot make a temporary directory")?;
    if request.caches.is_some() {
        cache_model::build(&emulator, folder.path())?;
    }
    // Debian's kernels for clouds are small and have the drivers of all devices here.
    let flavour = format!("cloud-{}", request.arch.debian);
    let wanted = WantedKernel {
        choice: request.kernel,
        flavour: &flavour,
        arch: request.arch,
        offline: request.offline,
    };
    let kernel = kernel::get(request.cache, &wanted, folder.path(), watch)?;
    let modules = kernel.load_order(&[request.nic.module], &optional_modules(request.spec))?;
    let disk_modules = kernel.load_order(guest::DISK_MODULES, guest::DISK_BUS_MODULES)?;
    // Whatever the guest reads goes into its random numbers.
    let marker = if request.counting { COUNTING_MARKER.into() } else { random::token()? };
    let orders = guest::GuestTask { modules, disk_modules, links: nic::LINKS, marker };
    image::write(&folder.path().join(machine::INITRD), &program, &kernel, &orders, request)
        .context("cannot write the guest's file system")?;
    watch(&format!("booting Linux {}, emulated, with two {}", kernel.release, request.nic.name));
    let mut began_after = Duration::ZERO;
    let mut heard = |line: &str| {
        if line == guest::RUNNING {
            began_after = called.elapsed();
        }
        watch(&format!("the guest: {line}"));
    };
    let brought =
        machine::run(&emulator, folder.path(), &kernel.vmlinuz(), &orders.marker, request, &mut heard)
            .and_then(|()| Ok(results_disk::read(&folder.path().join(machine::RESULTS_DISK))?))
            .and_then(|brought| match brought.failure {
                Some(failure) => bail!("the guest says: {failure}"),
                None => Ok(brought),
            })
            .map_err(|error| with_console(error, folder.path(), request.cache))?;
    keep(request.out, &brought.files)?;
    let fact = |id: &str, title: &str, value: String, source: &str| Fact {
        id: id.into(),
        title: title.into(),
        value: Some(value),
        source: source.into(),
    };
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    let clock = "this machine's clock";
    let facts = vec![
        fact("lab_device", "lab: network devices", request.nic.name.into(), "--nic"),
        fact("kernel_package", "lab: kernel", kernel.package.clone(), "what was unpacked"),
        fact("lab_emulator", "lab: emulator", machine::version(&emulator)?, "qemu --version"),
        fact("lab_machine", "lab: machine", machine::machine(request).join(" "), "options of qemu"),
        fact(
            "kernel_boot_options",
            "lab: boot options",
            machine::boot_options(request, ""),
            "the kernel's command line",
        ),
        fact(LAB_SECONDS, "lab: seconds in all", seconds(called.elapsed()), clock),
        fact(LAB_START_SECONDS, "lab: seconds until it measured", seconds(began_after), clock),
    ];
    Ok(LabRun { status: brought.status, kernel: kernel.package, facts })
}

/// Those of the layers only where the experiment names one: they take a third of what a guest does before it measures.
fn optional_modules(spec: &Spec) -> Vec<&'static str> {
    let asked = spec.to_toml();
    let layers: Vec<&str> = layer::ALL.iter().map(|layer| layer.id).collect();
    let any = layers.iter().any(|id| asked.contains(id));
    guest::OPTIONAL_MODULES.iter().filter(|module| any || !layers.contains(module)).copied().collect()
}

fn program_for(request: &LabRequest<'_>) -> Result<PathBuf, Unavailable> {
    match request.program {
        Some(program) => Ok(program.to_path_buf()),
        None if Arch::here() == Some(request.arch) => Ok(program::path()),
        None => Err(missing(
            format!("a guest of {} cannot run this build of syscost", request.arch.name),
            format!("build one for it: {}", request.arch.build_command()),
        )),
    }
}

/// A run is never mixed with what is there.
fn refuse_used(out: &Path) -> Result<()> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is not empty: name a new directory with --out", out.display())
    }
    Ok(())
}

fn keep(out: &Path, run: &[(String, String)]) -> Result<()> {
    let out = OpenDirectory::make(out)?;
    Ok(run.iter().try_for_each(|(name, text)| out.replace(name, text.as_bytes()))?)
}

/// Lines of the console that an error shows.
const TAIL_LINES: usize = 12;

/// The last lines of a console; what a kernel panics for stands above its stack.
fn end_of<'a>(lines: &'a [&'a str]) -> &'a [&'a str] {
    let last = lines.len().saturating_sub(TAIL_LINES);
    match lines.iter().rposition(|line| line.contains("Kernel panic")) {
        Some(panic) => &lines[panic.min(last)..lines.len().min(panic + 2 * TAIL_LINES)],
        None => &lines[last..],
    }
}

/// The error, where the whole console is kept, and its end.
fn with_console(error: anyhow::Error, folder: &Path, cache: &Path) -> anyhow::Error {
    let Ok(console) = fs::read(folder.join(machine::CONSOLE)) else { return error };
    let text = String::from_utf8_lossy(&console);
    let printable = |c: &char| !c.is_control() || *c == '\n';
    let text: String = text.chars().filter(printable).collect();
    let lines: Vec<&str> = text.lines().collect();
    let tail = end_of(&lines).join("\n  ");
    let log = machine::CONSOLE;
    let kept = match OpenDirectory::make(cache).and_then(|cache| cache.replace(log, text.as_bytes())) {
        Ok(()) => format!("its console is kept in {}", cache.join(log).display()),
        Err(error) => format!("its console could not be kept: {error}"),
    };
    error.context(format!("the guest brought no run back ({kept}, and ends with:\n  {tail}\n)"))
}

fn missing(reason: impl Into<String>, remedy: impl Into<String>) -> Unavailable {
    Unavailable { reason: reason.into(), remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_end_of_a_console_says_why_a_kernel_panicked() {
        let mut lines = vec!["booting"; 30];
        assert_eq!(end_of(&lines).len(), TAIL_LINES);
        lines[10] = "Kernel panic - not syncing: no root";
        assert_eq!(end_of(&lines)[0], lines[10]);
        lines.truncate(12);
        assert_eq!(end_of(&lines), lines);
    }

    #[test]
    fn a_console_goes_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, victim) = (folder.path().join("cache"), folder.path().join("victim"));
        fs::create_dir(&cache).unwrap();
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, cache.join(machine::CONSOLE)).unwrap();
        fs::write(folder.path().join(machine::CONSOLE), "it booted").unwrap();
        let told = format!("{:#}", with_console(anyhow::anyhow!("no run"), folder.path(), &cache));
        assert!(told.contains("is kept in") && told.contains("it booted"), "{told}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(cache.join(machine::CONSOLE)).unwrap(), "it booted");
    }
}
