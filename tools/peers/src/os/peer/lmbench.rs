//! lmbench 3: the classical measures of this table. It prints on standard error.
//!
//! ENOUGH, TIMING_O and LOOP_O are set as its own script sets them, so that it does not calibrate
//! for half a minute before each measure; ENOUGH (microseconds a repetition) is 0.2 s instead of
//! 1 s. Its programs are not on the PATH: they are looked for where the package puts them, below
//! PEERS_LMBENCH where that is set.

use super::{Measure, Peer, Prop, figure, one};
use crate::parse::lmbench::{bandwidth, context_switch, load_at, microseconds};
use anyhow::Result;
use std::path::{Path, PathBuf};

pub struct Lmbench;

/// Where the lat_proc of Debian looks for the program that it executes (seen with strace). Without it
/// the exec fails, and lat_proc reports the failure's time as if it were an exec's.
const HELLO: &str = "/var/tmp/lmbench/hello";
const WORDS: &str = "sums every 4-byte word with scalar code (frd; the plain rd touches one in four): the compiler's loop, where \
                     ours loads vectors and shows the cache's bandwidth";
const LINES: &str = "touches one 4-byte word in four with scalar code, so every cache line, and counts all bytes: the same traffic \
                     as ours with fewer instructions and other prefetching";

const MEASURES: &[Measure] = &[
    one(
        "lat_syscall -N 1 null",
        &[figure("getppid", microseconds)],
        "mean over a repetition of 0.2 s, interrupts and loop included: high where the machine is disturbed; ours is a \
         low quantile over batches of 10 us less the loop",
    ),
    one(
        "lat_syscall -N 1 read",
        &[figure("read", microseconds)],
        "mean of 0.2 s; with interrupts and its loop in it, by the C library's read",
    ),
    one(
        "lat_syscall -N 1 write",
        &[figure("write", microseconds)],
        "mean of 0.2 s; with interrupts and its loop in it, by the C library's write",
    ),
    one(
        "lat_syscall -N 1 stat /etc",
        &[figure("stat", microseconds)],
        "the C library's stat of a name below the root; ours looks up a name in an open directory",
    ),
    one(
        "lat_syscall -N 1 open /etc/passwd",
        &[figure("open_close", microseconds)],
        "a path of two names from the root; ours is a name in an open directory",
    ),
    one(
        "lat_sig -N 1 install",
        &[figure("signal_install", microseconds)],
        "the C library's sigaction, which copies and checks the action beside the call; ours calls it too",
    ),
    one(
        "lat_sig -N 1 catch",
        &[figure("signal_caught", microseconds)],
        "kill(2) to itself and the handler, less a kill(2) without a signal; ours is all of a tgkill(2) to the thread",
    ),
    one(
        "lat_select -N 1 -n 100 file",
        &[figure("select_100", microseconds)],
        "with a timeout of zero over descriptors of one regular file, all of which can be written: the kernel asks no driver and \
         queues nowhere; ours are eventfds of which one can be read, and the call may sleep",
    ),
    one(
        "lat_proc -N 1 procedure",
        &[figure("procedure", microseconds)],
        "prints 0.1 ns at the finest and subtracts no loop; the compiler decides how much of the call is left, so it is \
         wrong by up to the whole figure",
    ),
    one(
        "lat_proc -N 1 fork",
        &[figure("fork", microseconds)],
        "its parent is smaller than ours, which has 1 MiB resident beside its own: fork copies fewer page tables",
    ),
    one(
        "lat_proc -N 1 exec",
        &[figure("fork_exec", microseconds)],
        "executes its own `hello`, which prints a line, from a parent that is smaller; ours executes /bin/true",
    ),
    one(
        "lat_ctx -N 1 -s 0 2",
        &[figure("switch", context_switch)],
        "subtracts the pipe calls too, measured once before in one process; switch and calls are of different moments",
    ),
    one(
        "lat_pipe -N 1",
        &[figure("pipe_processes", microseconds)],
        "mean of 0.2 s with the loop; ours is a median",
    ),
    Measure {
        command: "lat_mem_rd -N 1 -W 0 -t 8 64",
        environment: &[("ENOUGH", "10000")],
        ..one(
            "",
            &[
                figure("load_16k", |output| load_at(output, 16 << 10)),
                figure("load_512k", |output| load_at(output, 512 << 10)),
                figure("load_8m", |output| load_at(output, 8 << 20)),
            ],
            "-t goes to another page with every load, always in the same random order of pages (lib_mem.c, thrash_initialize): \
         no translation is used twice before all others were, where ours goes anywhere and finds some in the first TLB. So it \
         is higher where the pages are more than that TLB holds. A mean over 10 ms, interrupts included",
        )
    },
    one("bw_mem -N 1 16k frd", &[figure("read_16k", bandwidth)], WORDS),
    one("bw_mem -N 1 256m rd", &[figure("read_256m", bandwidth)], LINES),
    one("bw_mem -N 1 256m wr", &[figure("write_256m", bandwidth)], LINES),
    one("bw_mem -N 1 128m cp", &[figure("copy_256m", bandwidth)], LINES),
    Measure {
        of_cached_file: true,
        ..one(
            "lat_pagefault -N 1 {file}",
            &[figure("fault_file", microseconds)],
            "divides by the pages it touches, in random order with the kernel's fault-around on: one fault maps up to 16 of \
         them, so it takes fewer faults than touches. Lower than ours, which has fault-around off and counts one fault a \
         touch",
        )
    },
];

impl Peer for Lmbench {
    fn id(&self) -> &'static str {
        "lmbench"
    }

    fn source(&self) -> &'static str {
        "Debian non-free: lmbench (tools/peers/src/get-lmbench.sh DIRECTORY, then PEERS_LMBENCH=DIRECTORY)"
    }

    fn program(&self, name: &str) -> Result<PathBuf, String> {
        let root = std::env::var_os("PEERS_LMBENCH").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let folder = root.join("usr/lib/lmbench/bin");
        let programs =
            std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|arch| arch.path().join(name));
        let mut found = programs.filter(|program| program.is_file());
        found.next().ok_or_else(|| {
            format!("{name} is not below {}; PEERS_LMBENCH names another place", folder.display())
        })
    }

    fn version(&self) -> Result<String, String> {
        let program = self.program("lat_syscall")?;
        let digest = std::fs::metadata(&program).map(|file| file.len()).map_err(|error| error.to_string())?;
        Ok(format!("3.0-a9 as Debian builds it (lat_syscall of {digest} bytes)"))
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[("ENOUGH", "200000"), ("TIMING_O", "0"), ("LOOP_O", "0")]
    }

    fn prepare(&self, measure: &Measure) -> Result<Option<Prop>> {
        if !measure.command.ends_with(" exec") {
            return Ok(None);
        }
        let hello = self.program("hello").map_err(anyhow::Error::msg)?;
        Prop::copy(Path::new(&hello), HELLO).map(Some)
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
