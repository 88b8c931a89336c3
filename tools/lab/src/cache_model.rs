//! The model of caches: which caches, and the emulator's plugin that counts their misses.
//!
//! The plugin's source is in the program. It is compiled for each lab on the machine that runs it, in half a second, by its
//! compiler: nothing is kept that could be old, foreign or changed by others. Which version of qemu's interface it is compiled for
//! is asked of the emulator itself.

use super::{Arch, missing, tool};
use anyhow::{Context, Result, bail};
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use syscost_core::units::{parse_bytes, short_bytes};
use syscost_host::caches::{CacheOfCpu, of_first_cpu};
use syscost_host::files::Root;

const SOURCES: [(&str, &str); 2] =
    [("model.h", include_str!("cache_model/model.h")), ("plugin.c", include_str!("cache_model/plugin.c"))];
const PLUGIN: &str = "plugin.so";
/// What the guest and the plugin share.
const SHARED: &str = "counters";
const SHARED_BYTES: u64 = 256 << 10;
const LINE_BYTES: u64 = 64;
/// Of one cache: above any that exists.
const MOST_BYTES: u64 = 4 << 30;
const MOST_WAYS: u64 = 256;
/// Above every version that qemu has had.
const NO_VERSION: u32 = 999;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CacheShape {
    bytes: u64,
    ways: u64,
}

const NAMES: [&str; 4] = ["l1i", "l1d", "l2", "llc"];
/// Where the kernel says nothing of a cache: those of many servers.
const USUAL: [CacheShape; 4] = [
    CacheShape { bytes: 32 << 10, ways: 8 },
    CacheShape { bytes: 32 << 10, ways: 8 },
    CacheShape { bytes: 1 << 20, ways: 16 },
    CacheShape { bytes: 32 << 20, ways: 16 },
];

/// The caches to model: L1 of instructions, L1 of data, L2, last level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches([CacheShape; 4]);

impl Caches {
    /// Those of this machine's first CPU, but for what is asked for: `l1d=48K/12,l2=2M/16`.
    pub fn of_this_machine_but(asked: &str) -> Result<Caches> {
        let mut caches = Caches::of(&of_first_cpu(&Root::here()));
        for one in asked.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let about =
                || format!("--caches: {one:?} is no cache: write LEVEL=SIZE/WAYS, for instance l1d=32K/8");
            let (name, shape) = one.split_once('=').with_context(about)?;
            let level = NAMES.iter().position(|known| *known == name);
            let level =
                level.with_context(|| format!("--caches: {name:?} is none of {}", NAMES.join(", ")))?;
            let (bytes, ways) = shape.split_once('/').with_context(about)?;
            let shape = CacheShape {
                bytes: parse_bytes(bytes).with_context(about)?,
                ways: ways.trim().parse().with_context(about)?,
            };
            if shape.whole_sets() != Some(shape) {
                bail!(
                    "--caches: {one} cannot be modelled: a size is a multiple of WAYS lines of {LINE_BYTES} bytes, of at most \
                     {} and {MOST_WAYS} ways",
                    short_bytes(MOST_BYTES)
                )
            }
            caches.0[level] = shape;
        }
        Ok(caches)
    }

    fn of(seen: &[CacheOfCpu]) -> Caches {
        let last = seen.iter().map(|cache| cache.level).max().filter(|level| *level > 2);
        let of = |level: Option<u64>, other: &str| {
            let found = seen.iter().find(|cache| Some(cache.level) == level && cache.suffix != other)?;
            let shape = CacheShape { bytes: found.bytes?, ways: found.ways? };
            shape.whole_sets()
        };
        let levels = [of(Some(1), "d"), of(Some(1), "i"), of(Some(2), "i"), of(last, "i")];
        Caches(std::array::from_fn(|level| levels[level].unwrap_or(USUAL[level])))
    }
}

impl CacheShape {
    /// Without the bytes that make no whole set; `None`: no cache.
    fn whole_sets(self) -> Option<CacheShape> {
        let possible = (1..=MOST_WAYS).contains(&self.ways) && self.bytes <= MOST_BYTES;
        let set = self.ways * LINE_BYTES;
        let bytes = if possible { self.bytes / set * set } else { 0 };
        (bytes > 0).then_some(CacheShape { bytes, ..self })
    }
}

/// `l1i=32K/8,l1d=32K/8,l2=1M/16,llc=32M/16`: as it is asked for.
impl fmt::Display for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |(name, shape): (&str, &CacheShape)| {
            format!("{name}={}/{}", short_bytes(shape.bytes), shape.ways)
        };
        f.write_str(&NAMES.into_iter().zip(&self.0).map(show).collect::<Vec<_>>().join(","))
    }
}

/// The plugin knows threads by an instruction of one architecture's kernels.
pub fn refuse_other(arch: &Arch) -> Result<()> {
    if arch.name == "x86_64" {
        return Ok(());
    }
    let remedy = "name the architecture: --arch x86_64 (with --binary, on a machine of another one)";
    Err(missing(format!("cache misses are not counted in guests of {}", arch.name), remedy).into())
}

/// What makes the emulator count: its files lie in the directory that it runs in.
pub fn options(caches: &Caches) -> Vec<String> {
    let shape = |(name, shape): (&str, &CacheShape)| format!(",{name}={}/{}", shape.bytes, shape.ways);
    let shapes: String = NAMES.into_iter().zip(&caches.0).map(shape).collect();
    let memory = format!("memory-backend-file,id={SHARED},share=on,mem-path={SHARED},size={SHARED_BYTES}");
    let device = format!("ivshmem-plain,memdev={SHARED}");
    let plugin = format!("./{PLUGIN},shared={SHARED}{shapes}");
    ["-object", &memory, "-device", &device, "-plugin", &plugin].map(String::from).into()
}

/// Compiles the plugin for this emulator into its directory, beside the memory that it shares with the guest.
pub fn build(emulator: &Path, folder: &Path) -> Result<()> {
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    File::create_new(folder.join(SHARED))?.set_len(SHARED_BYTES)?;
    // It refuses a version that does not exist and says which is its own.
    compile(folder, NO_VERSION)?;
    let refusal = match load(emulator, folder) {
        Ok(()) => bail!("the emulator takes a plugin for version {NO_VERSION} of its interface"),
        Err(error) => format!("{error:#}"),
    };
    let version = version_in(&refusal).ok_or_else(|| {
        missing(
            format!("this emulator takes no plugin, which counts cache misses: {refusal}"),
            "install a qemu with plugins: apt-get install --no-install-recommends qemu-system-x86 (Debian 12 or later)",
        )
    })?;
    compile(folder, version)?;
    load(emulator, folder).context("the emulator does not take the plugin that counts cache misses")
}

fn compile(folder: &Path, version: u32) -> Result<()> {
    let mut compiler = tool::command("cc");
    compiler.current_dir(folder).args(["-O2", "-shared", "-fPIC", "-o", PLUGIN, "plugin.c"]);
    compiler.arg(format!("-DAPI={version}"));
    let about = "cannot compile the emulator's plugin that counts cache misses";
    tool::output(&mut compiler, "gcc libc6-dev").map(drop).context(about)
}

/// Loads the plugin into an emulator that ends at once.
fn load(emulator: &Path, folder: &Path) -> Result<()> {
    let mut emulator = tool::command(emulator);
    emulator.current_dir(folder).args(["-M", "none", "-display", "none", "-plugin"]);
    tool::output(emulator.arg(format!("./{PLUGIN},check=on")), "qemu-system-x86").map(drop)
}

/// `plugin requires API version 999, but this QEMU supports only up to version 1`
fn version_in(refusal: &str) -> Option<u32> {
    let (_, version) = refusal.split_once("only up to version ")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn caches_are_those_of_the_machine_but_for_what_is_asked() {
        let of = |level, suffix, kib: u64, ways| CacheOfCpu {
            folder: String::new(),
            level,
            suffix,
            bytes: Some(kib << 10),
            ways,
        };
        let seen = [
            of(1, "d", 48, Some(12)),
            of(1, "i", 64, Some(8)),
            of(2, "", 1280, Some(20)),
            of(3, "", 30 << 10, Some(12)),
        ];
        assert_eq!(Caches::of(&seen).to_string(), "l1i=64K/8,l1d=48K/12,l2=1280K/20,llc=30M/12");
        // Without a third level, or what the kernel does not say, the usual ones stand in; a part of a set is left out.
        let few = [of(1, "", 33, Some(16)), of(2, "", 512, None)];
        assert_eq!(Caches::of(&few).to_string(), "l1i=33K/16,l1d=33K/16,l2=1M/16,llc=32M/16");
        let odd = [of(1, "d", 33, Some(10))];
        assert_eq!(Caches::of(&odd).0[1], CacheShape { bytes: 33280, ways: 10 });
        let asked = Caches::of_this_machine_but("l1d=24K/6, l2=3M/12").unwrap();
        assert_eq!(
            asked.0[1..3],
            [CacheShape { bytes: 24 << 10, ways: 6 }, CacheShape { bytes: 3 << 20, ways: 12 }]
        );
        assert_eq!(Caches::of_this_machine_but(&asked.to_string()).unwrap(), asked, "as it is recorded");
        for wrong in [
            "l1d",
            "l1d=32K",
            "l4=1M/8",
            "l1d=33K/10",
            "l1d=0/8",
            "l1d=32K/0",
            "llc=8T/16",
            "l2=1M/-1",
            "l2=1M/2000",
        ] {
            let error = Caches::of_this_machine_but(wrong).unwrap_err().to_string();
            assert!(error.starts_with("--caches: "), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_emulator_says_which_version_it_takes_or_that_it_takes_none() {
        let debian = "Could not load plugin ./plugin.so: plugin requires API version 999, but this QEMU supports only up to version 4\n";
        assert_eq!(version_in(debian), Some(4));
        for none in ["", "-plugin: invalid option", "supports only up to version ", "only up to version x4"] {
            assert_eq!(version_in(none), None, "{none}");
        }
    }

    /// Plays accesses (`CPU KIND LINE`, a line each) through the plugin's own model.
    const DRIVER: &str = r#"
#include "model.h"
int main(int argc, char **argv) {
    struct caches caches;
    uint64_t misses[LEVELS] = { 0 };
    unsigned cpu;
    char kind;
    unsigned long long line;
    if (!make_caches(&caches, 2, argc, argv))
        return 1;
    while (scanf("%u %c %llu", &cpu, &kind, &line) == 3)
        if (kind == 'i')
            fetch_instructions(&caches, cpu, line, misses);
        else
            access_data(&caches, cpu, line, kind == 'w', misses);
    printf("%lu %lu %lu %lu", misses[L1I], misses[L1D], misses[L2], misses[LLC]);
}
"#;

    #[test]
    fn known_accesses_have_known_misses() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("model.h"), SOURCES[0].1).unwrap();
        fs::write(folder.path().join("driver.c"), DRIVER).unwrap();
        let driver = folder.path().join("driver");
        let mut compiler = tool::command("cc");
        let compiled = compiler
            .current_dir(&folder)
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "driver.c", "-o", "driver"]);
        match tool::output(compiled, "gcc") {
            Err(error) if error.is::<syscost_host::Unavailable>() => return eprintln!("skipped: {error:#}"),
            done => done.unwrap(),
        };
        let play = |shapes: &str, accesses: &str| {
            let mut child = Command::new(&driver)
                .args(shapes.split(' '))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(accesses.as_bytes()).unwrap();
            let done = child.wait_with_output().unwrap();
            done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
        };
        let of = |accesses: &str| play("l1i=256/2 l1d=256/2 l2=1024/4 llc=4096/4", accesses).unwrap();
        // Two sets of two ways: a third line of a set drives out the one used least recently.
        assert_eq!(of("0 r 0\n0 r 2\n0 r 0\n0 r 4\n0 r 0\n0 r 2\n"), "0 4 3 3");
        // What one CPU writes the other has to fetch, from the first and not from memory; reading it costs the writer nothing.
        assert_eq!(of("0 w 7\n1 r 7\n0 r 7\n1 r 7\n"), "0 2 2 1");
        assert_eq!(of("0 w 7\n1 r 7\n0 w 7\n0 w 7\n1 r 7\n1 w 7\n0 r 7\n"), "0 4 4 1");
        // Instructions and data share the second level.
        assert_eq!(of("0 i 5\n0 i 5\n0 r 5\n0 r 5\n"), "1 1 1 1");
        // Three sets of one way: no power of two.
        let walk = "0 r 0\n0 r 1\n0 r 2\n".repeat(3) + "0 r 3\n0 r 0\n";
        assert_eq!(play("l1i=192/1 l1d=192/1 l2=1024/4 llc=4096/4", &walk).unwrap(), "0 5 4 4");
        // A buffer twice the cache misses with every line, whatever is read first.
        let twice: String = (0..4).flat_map(|_| 0..128).map(|line| format!("0 r {line}\n")).collect();
        assert_eq!(play("l1i=4096/8 l1d=4096/8 l2=16384/8 llc=65536/16", &twice).unwrap(), "0 512 128 128");
        for wrong in ["l1i=192/1", "l1i=0/1 l1d=64/1 l2=64/1 llc=64/1", "l1i=64/0 l1d=64/1 l2=64/1 llc=64/1"]
        {
            assert_eq!(play(wrong, ""), None, "{wrong}");
        }
    }

    #[test]
    fn the_plugin_is_compiled_for_the_emulator_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let arch = Arch::ALL.iter().find(|arch| refuse_other(arch).is_ok()).unwrap();
        let built = super::super::machine::find(arch).and_then(|emulator| build(&emulator, folder.path()));
        match built {
            Err(error) if error.is::<syscost_host::Unavailable>() => eprintln!("skipped: {error:#}"),
            built => built.unwrap(),
        }
        // An emulator that knows no plugins says something else.
        let folder = tempfile::tempdir().unwrap();
        let error = build(Path::new("false"), folder.path()).unwrap_err();
        assert!(error.is::<syscost_host::Unavailable>(), "{error:#}");
    }
}
