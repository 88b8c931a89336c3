//! Judgements about the kernel, its other work, and this process's place in it.

use super::{Judgement, Live, Status, good};
use crate::allowance::{self, Allowance, Room};
use crate::files::Root;
use crate::{conditions, settings, storage};
use syscost_core::units::{Unit, count};

pub fn build(_: &Root, live: &Live) -> Judgement {
    let check = good(if live.debug_build { "debug" } else { "release" });
    if live.debug_build {
        check.bad("loops cost several times too much: no figure may be used", "cargo build --release")
    } else {
        check
    }
}

pub fn proc(root: &Root, _: &Live) -> Judgement {
    match root.link("proc/self/exe") {
        Some(_) => good("/proc is mounted"),
        None => good("no /proc of this process")
            .bad("nothing can be measured: workers are started through it", root.how_to_read("proc")),
    }
}

pub fn steal(_: &Root, live: &Live) -> Judgement {
    let Some(share) = live.noise.steal_fraction(&[]) else {
        return good("not told").unknown("time taken by a hypervisor cannot be seen");
    };
    let milliseconds = live.noise.elapsed_ns / 1_000_000;
    let check = good(format!("{} in {milliseconds} ms", percent(share)));
    let consequence = "the hypervisor gives our CPUs to others: samples get long tails";
    let remedy = "measure at another time, or on a machine of your own; samples with steal are marked";
    check.judged(conditions::steal_status(share), consequence, remedy)
}

pub fn other_load(_: &Root, live: &Live) -> Judgement {
    let cpus = live.noise.steal_ns_by_cpu.len().max(live.topology.cpus().len());
    let average = live.noise.load_average;
    let load = average.map_or("load average not told".into(), |load| format!("load average {load:.2}"));
    let busy_ns = live.noise.busy_ns.filter(|_| live.noise.elapsed_ns > 0);
    let share = busy_ns.map(|busy_ns| busy_ns as f64 / (live.noise.elapsed_ns as f64 * cpus as f64));
    let seen = share.map(|share| format!("CPUs {} busy while we slept; {load}", percent(share)));
    let check = good(seen.unwrap_or(load));
    match conditions::load_status(share, average, cpus) {
        Status::Unknown => check.unknown("other processes cannot be seen"),
        Status::Good if average.is_none() => check.unknown("work that comes in bursts cannot be seen"),
        status => check.judged(
            status,
            "other processes take CPUs and caches from what is measured",
            "find them with top, and stop or wait for them",
        ),
    }
}

pub fn hypervisor(root: &Root, _: &Live) -> Judgement {
    match settings::hypervisor(root) {
        None => good("not told").unknown("whether a hypervisor shares this machine out cannot be seen"),
        Some(kind) if kind == settings::NONE_SEEN => good(kind),
        Some(kind) => good(kind).caution(
            "neighbours share caches and memory bandwidth unseen, and exits to the hypervisor cost extra",
            "repeat on bare metal before you attribute figures to the processor",
        ),
    }
}

pub fn quota(root: &Root, live: &Live) -> Judgement {
    let quota = allowance::cpu_quota(root);
    let cpus = live.topology.cpus().len();
    let Some(room) = quota.least() else {
        return good(if quota.unseen.is_some() { "not told" } else { "none" }).unless_unseen(quota.unseen);
    };
    let check = good(format!("{:.2} of {}", room.limit, count(cpus, "CPU")));
    if room.limit >= cpus as f64 {
        return check.unless_unseen(quota.unseen);
    }
    let consequence = "the kernel stops us when the quota of a period is used up: throughput comes in bursts";
    check.worse(if room.limit < 2.0 { Status::Bad } else { Status::Caution }, consequence, room.raise.clone())
}

pub fn memory(root: &Root, _: &Live) -> Judgement {
    const CAUTION: f64 = (1u64 << 30) as f64;
    const BAD: f64 = (256u64 << 20) as f64;
    let bytes = |n: f64| Unit::Bytes.format(n);
    let shown = |room: &Room| format!("{} of {}, by {}", bytes(room.left), bytes(room.limit), room.by);
    room(
        allowance::memory(root),
        shown,
        (CAUTION, "large sizes with many threads may not fit"),
        (BAD, "socket buffers and messages of large cases do not fit"),
    )
}

pub fn processes(root: &Root, _: &Live) -> Judgement {
    let shown = |room: &Room| format!("{} more of {}, by {}", room.left, room.limit, room.by);
    let few = (64.0, "cases of many threads are skipped");
    room(allowance::tasks(root), shown, few, (6.0, "no pair of workers can be started"))
}

/// By how much the tightest limit leaves: less than this is a caution, or bad.
fn room(all: Allowance, shown: impl Fn(&Room) -> String, few: (f64, &str), none: (f64, &str)) -> Judgement {
    let Some(room) = all.least() else {
        return good("not told").unless_unseen(all.unseen);
    };
    let check = good(shown(room));
    match room.left {
        left if left < none.0 => check.bad(none.1, room.raise.clone()),
        left if left < few.0 => check.caution(few.1, room.raise.clone()),
        _ => check.unless_unseen(all.unseen),
    }
}

pub fn huge_pages(root: &Root, _: &Live) -> Judgement {
    let mode = settings::huge_pages(root);
    let check = good(mode.as_deref().unwrap_or("not told"));
    match mode.as_deref() {
        Some("madvise" | "never") => check,
        Some(_) => check.caution(
            "large buffers become huge pages in some processes and not in others, asked or not: costs differ from round to round",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        None => check.unknown("whether large buffers are huge pages cannot be seen"),
    }
}

/// Can file rows run in the current directory, and is a disk what they would measure?
pub fn directory(root: &Root, live: &Live) -> Judgement {
    /// Scratch files of the largest default size, with as much left free.
    const ENOUGH: u64 = 512 << 20;
    let mount = storage::mount_of(root, &live.directory);
    let file_system = mount.as_ref().map_or("a file system not told", |mount| &mount.file_system);
    let free = live.directory_free_bytes.map_or("not told".into(), |n| Unit::Bytes.format(n as f64));
    let check = good(format!("on {file_system}, {free} free"));
    let elsewhere = "start in a directory on a disk, or name one with --dir";
    if let Err(why) = &live.directory_writable {
        return check.bad(format!("rows of files are skipped: {}", why.reason), elsewhere);
    }
    if live.directory_free_bytes.is_some_and(|bytes| bytes < ENOUGH) {
        return check.bad("rows of large files are skipped: they would fill the disk", elsewhere);
    }
    match mount {
        Some(_) if live.directory_free_bytes.is_none() => check.unknown("whether files fit cannot be seen"),
        None => check.unknown("what disk files are read from cannot be seen"),
        Some(mount) if mount.is_memory() => {
            check.caution("files are memory here: nothing is read from a disk", elsewhere)
        }
        Some(mount) if mount.is_remote() => check.caution(
            "another machine or process keeps the files: its cache stays warm when ours is dropped",
            elsewhere,
        ),
        Some(_) => check,
    }
}

pub fn softirq_time(root: &Root, _: &Live) -> Judgement {
    match settings::irq_time_accounting(root) {
        Some((false, file)) => {
            let observed = format!("charged to the thread it interrupts ({file})");
            good(observed).worse(
                super::Status::Good,
                "on loopback and veth the receiver's protocol work is often charged to the sender: compare totals, not sides",
                "",
            )
        }
        Some((true, file)) => good(format!("kept apart ({file})")).caution(
            "CPU time of threads leaves protocol work in softirqs out: totals are too low",
            "compare with a kernel without CONFIG_IRQ_TIME_ACCOUNTING",
        ),
        None => {
            good("not told").unknown("whether CPU times contain protocol work in softirqs cannot be seen")
        }
    }
}

pub fn rights(root: &Root, _: &Live) -> Judgement {
    let uid = settings::effective_uid(root);
    let capabilities = settings::capabilities(root);
    let (Some(uid), Some(capabilities)) = (uid, capabilities) else {
        return good("not told").unknown("what is refused will be said where it is met");
    };
    let check = good(format!("user {uid}, capabilities {capabilities}"));
    let missing =
        ["CAP_PERFMON", "CAP_BPF", "CAP_NET_ADMIN"].into_iter().filter(|c| !capabilities.contains(c));
    let missing = missing.collect::<Vec<_>>().join(", ");
    // CAP_SYS_ADMIN is, among much else, the older name of the first two.
    if missing.is_empty() || (capabilities.contains("CAP_SYS_ADMIN") && missing != "CAP_NET_ADMIN") {
        return check;
    }
    check.caution(
        format!("without {missing}: counters of the kernel and the audit of copies may be refused"),
        "run as root, or give the binary capabilities: sudo setcap cap_perfmon,cap_bpf,cap_net_admin+ep",
    )
}

pub fn open_files(root: &Root, _: &Live) -> Judgement {
    /// Sixteen counters and a connection for each of eight threads, with room to spare.
    const ENOUGH: u64 = 512;
    let limit = settings::soft_limit(root, "Max open files");
    let check = good(limit.as_deref().unwrap_or("not told"));
    match limit.as_deref().map(str::parse::<u64>) {
        Some(Ok(files)) if files < ENOUGH => {
            check.caution("many threads with hardware counters may run out of files", "ulimit -n 4096")
        }
        // Not a number: `unlimited`.
        Some(_) => check,
        None => check.unknown("many threads with hardware counters may run out of files"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
