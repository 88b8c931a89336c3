//! What this process may use: memory, CPU time, processes. The tightest limit counts, whoever set it: the machine, a
//! control group or one above it (both versions of the interface, also mixed), or a limit of the process itself.
//!
//! What cannot be seen is no "none": it is [`Allowance::unseen`], with what to mount. It only reads. Sources: proc(5),
//! cgroups(7), cgroup_namespaces(7), getrlimit(2), Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst,
//! cgroup-v1/pids.rst, sched-bwc.rst.

use super::files::Root;
use super::{Unavailable, settings, storage, topology::Topology};
use std::io;
use std::sync::OnceLock;
use syscost_core::units::Unit;

/// Above this a limit of version 1 means "none": it is the largest number of whole pages.
const NO_LIMIT_BYTES: u64 = 1 << 62;
/// What a worker has beside the memory of its case, and each of its threads (stack, tables of pages).
pub const WORKER_BYTES: u64 = 4 << 20;
const THREAD_BYTES: u64 = 64 << 10;

/// What one limit leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// Bytes, CPUs or tasks that are free below it.
    pub left: f64,
    /// The limit itself.
    pub limit: f64,
    /// Who set it: `the control group /a/b (memory.max)`.
    pub by: String,
    /// How it is raised.
    pub raise: String,
}

impl Room {
    fn of(limit: f64, used: f64, by: String, raise: String) -> Room {
        Room { left: (limit - used).max(0.0), limit, by, raise }
    }
}

/// All limits on one thing.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    pub rooms: Vec<Room>,
    /// Why there may be others.
    pub unseen: Option<Unavailable>,
}

impl Allowance {
    /// What there is least of; `None`: no limit is known.
    pub fn least(&self) -> Option<&Room> {
        self.rooms.iter().min_by(|a, b| a.left.total_cmp(&b.left))
    }

    /// The tightest limit, whatever is used of it: a number, `none`, or `None` where it cannot be seen.
    pub fn limit(&self) -> Option<String> {
        let least = self.rooms.iter().map(|room| room.limit).min_by(f64::total_cmp);
        least
            .map(|n| ((n * 100.0).round() / 100.0).to_string())
            .or(self.unseen.is_none().then(|| "none".into()))
    }

    fn take(&mut self, found: Result<Option<Room>, Unavailable>) {
        match found {
            Ok(room) => self.rooms.extend(room),
            Err(why) => _ = self.unseen.get_or_insert(why),
        }
    }

    /// What the control groups of this controller leave. One that cannot be read hides no other.
    fn in_groups(root: &Root, controller: &str, of: OfGroup) -> Allowance {
        let mut all = Allowance::default();
        match groups(root, controller) {
            Ok(folders) => folders.iter().for_each(|folder| all.take(of(&LimitGroup { root, folder }))),
            Err(why) => all.unseen = Some(why),
        }
        all
    }

    /// A limit of this process itself, of which so much is used.
    fn take_own(&mut self, root: &Root, name: &str, used: f64, (whose, option): (&str, &str), instead: &str) {
        let text = settings::soft_limit(root, name);
        let text = text.ok_or_else(|| unseen(root, "limits of this process", "proc/self/limits"));
        self.take(text.map(|text| {
            let (by, raise) = (
                format!("{whose} limit (ulimit {option})"),
                format!("ulimit {option} unlimited, or {instead}"),
            );
            Some(Room::of(text.parse().ok()?, used, by, raise))
        }));
    }
}

/// What a plan has to fit into.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    pub memory: Option<Room>,
    pub tasks: Option<Room>,
}

impl Rooms {
    pub fn here() -> Rooms {
        let root = Root::here();
        Rooms { memory: memory(&root).least().cloned(), tasks: tasks(&root).least().cloned() }
    }

    /// What is missing for a round of so many workers, with so much memory and so many threads in all.
    pub fn lacks(&self, bytes: u64, workers: u64, threads: u64) -> Option<Unavailable> {
        // Each worker has a thread that listens to the harness.
        let needed = workers.saturating_mul(2).saturating_add(threads);
        let own = workers.saturating_mul(WORKER_BYTES).saturating_add(threads.saturating_mul(THREAD_BYTES));
        let bytes = bytes.saturating_add(own);
        let lacking = |room: &Room, needed: u64, what: &str, show: fn(f64) -> String| {
            let (wanted, left) = (show(needed as f64), show(room.left));
            let reason = format!("it needs {wanted} {what}, and {} has {left} to give", room.by);
            (needed as f64 > room.left).then(|| Unavailable { reason, remedy: room.raise.clone() })
        };
        let memory = self.memory.as_ref();
        let memory = memory.and_then(|room| lacking(room, bytes, "of memory", |n| Unit::Bytes.format(n)));
        let count: fn(f64) -> String = |n| n.to_string();
        memory.or_else(|| lacking(self.tasks.as_ref()?, needed, "processes and threads", count))
    }
}

/// Memory that can be had without pushing others out.
pub fn memory(root: &Root) -> Allowance {
    let mut all = memory_of_all(root);
    let used = root.field("proc/self/status", "VmSize").and_then(|text| text.split(' ').next()?.parse().ok());
    let used = used.unwrap_or(0.0) * 1024.0;
    for (name, option) in [("Max address space", "-v"), ("Max data size", "-d")] {
        all.take_own(root, name, used, ("this process's", option), "measure smaller sizes: --size");
    }
    all
}

/// The same without the limits of this process itself, which bound no page cache.
fn memory_of_all(root: &Root) -> Allowance {
    let mut all = Allowance::in_groups(root, "memory", memory_of);
    all.take(match settings::memory_bytes(root, "MemAvailable") {
        Some(left) => {
            let all = settings::memory_bytes(root, "MemTotal").unwrap_or(left) as f64;
            let raise = "end what uses memory, or measure smaller sizes: --size";
            Ok(Some(Room::of(all, all - left as f64, "this machine".into(), raise.into())))
        }
        None => Err(unseen(root, "the machine's free memory", "proc/meminfo")),
    });
    all
}

/// The limit on memory, least of all control groups and the machine's own: how much may be cached.
pub fn memory_limit_bytes() -> Option<u64> {
    let limits = memory_of_all(&Root::here()).rooms.into_iter().map(|room| room.limit as u64);
    limits.min()
}

/// What the default sizes of a study may count on, as this process first found it: defaults may not change while a plan
/// is made.
pub fn for_default_sizes() -> Option<u64> {
    static FOUND: OnceLock<Option<u64>> = OnceLock::new();
    *FOUND.get_or_init(|| Some(memory(&Root::here()).least()?.left as u64))
}

/// How much more the page cache may take, as this process first found it.
pub fn for_page_cache() -> Option<u64> {
    static FOUND: OnceLock<Option<u64>> = OnceLock::new();
    *FOUND.get_or_init(|| Some(memory_of_all(&Root::here()).least()?.left as u64))
}

/// CPUs' worth of time that control groups allow.
pub fn cpu_quota(root: &Root) -> Allowance {
    Allowance::in_groups(root, "cpu", |group| {
        let text = |file| Ok(group.text(file)?.unwrap_or_default());
        let (file, both) = match text("cpu.max")? {
            none if none.is_empty() => {
                ("cpu.cfs_quota_us", [text("cpu.cfs_quota_us")?, text("cpu.cfs_period_us")?].join(" "))
            }
            both => ("cpu.max", both),
        };
        let (quota, period) = both.split_once(' ').unwrap_or_default();
        if ["", "max", "-1"].contains(&quota) {
            return Ok(None);
        }
        let raise = "give the container or the unit a larger quota (docker run --cpus, CPUQuota=)";
        let room = |(quota, period): (f64, f64)| Some(group.room(file, (quota / period, 0.0), raise));
        let numbers = quota.parse().ok().zip(period.parse().ok()).filter(|(_, period)| *period > 0.0);
        numbers.map(room).ok_or_else(|| group.not_read(file))
    })
}

/// How many threads can run at once here, at least 1: CPUs that are allowed, and of those what a quota leaves.
pub fn cpus() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let quota = cpu_quota(&Root::here()).least().map_or(f64::INFINITY, |room| room.left.ceil());
        (Topology::read().cpus().len() as f64).min(quota).max(1.0) as usize
    })
}

/// Processes and threads that can still be started.
pub fn tasks(root: &Root) -> Allowance {
    const FEWER: &str = "ask for fewer --threads";
    let mut all = Allowance::in_groups(root, "pids", |group| {
        let Some(limit) = group.limit("pids.max")? else { return Ok(None) };
        let used = group.number("pids.current")?.unwrap_or(0) as f64;
        let raise = "allow more (docker run --pids-limit, TasksMax=), or ask for fewer --threads";
        Ok(Some(group.room("pids.max", (limit as f64, used), raise)))
    });
    let uid = settings::status(root, "Uid").unwrap_or_default();
    let uid = uid.split_whitespace().next().unwrap_or_default();
    // Neither the machine's root is bound nor who may exceed limits there: kernel/fork.c, copy_process().
    let exempt = uid == "0" || settings::capability_bits(root).unwrap_or(0) & (1 << 21 | 1 << 24) != 0;
    if !(exempt && settings::has_every_user(root)) {
        all.take_own(root, "Max processes", tasks_of(root, uid), ("this user's", "-u"), FEWER);
    }
    let used = root.text("proc/loadavg");
    let used = used.and_then(|t| t.split(' ').nth(3)?.split_once('/')?.1.parse().ok()).unwrap_or(0.0);
    for name in ["threads-max", "pid_max"] {
        let limit = root.number(&format!("proc/sys/kernel/{name}"));
        let raise = format!("raise sysctl kernel.{name}, or {FEWER}");
        let room = |limit| Room::of(limit as f64, used, format!("this machine (kernel.{name})"), raise);
        all.rooms.extend(limit.map(room));
    }
    all
}

fn tasks_of(root: &Root, uid: &str) -> f64 {
    let of_process = |pid: String| {
        let field = |name| root.field(&format!("proc/{pid}/status"), name);
        let own = field("Uid")?.split_whitespace().next()? == uid;
        field("Threads")?.parse::<f64>().ok().filter(|_| own)
    };
    let numbered = |name: &String| name.bytes().all(|b| b.is_ascii_digit());
    root.names("proc").into_iter().filter(numbered).filter_map(of_process).sum()
}

/// How many processes the kernel has killed so far in our control group and below, because it had no
/// memory left; `None`: it does not say.
pub fn oom_kills() -> Option<u64> {
    oom_kills_in(&Root::here())
}

fn oom_kills_in(root: &Root) -> Option<u64> {
    let count = |folder: String| {
        let files = ["memory.events", "memory.oom_control"];
        let text = files.iter().find_map(|file| root.text(&format!("{folder}/{file}")))?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    };
    groups(root, "memory").ok()?.into_iter().find_map(count)
}

fn memory_of(group: &LimitGroup<'_>) -> Result<Option<Room>, Unavailable> {
    let mut limits = Vec::new();
    for file in ["memory.max", "memory.high", "memory.limit_in_bytes"] {
        limits.extend(group.limit(file)?.filter(|n| *n < NO_LIMIT_BYTES).map(|n| (n, file)));
    }
    let stat = group.text("memory.stat")?.unwrap_or_default();
    let field = |name: &str| {
        stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok())
    };
    // In version 1 it says what groups allow that a namespace hides.
    let above = field("hierarchical_memory_limit").filter(|n| *n < NO_LIMIT_BYTES);
    limits.extend(above.map(|n| (n, "hierarchical_memory_limit")));
    let used = match group.number("memory.current")? {
        Some(used) => used,
        None => group.number("memory.usage_in_bytes")?.unwrap_or(0),
    };
    // The kernel takes back what is only cached before it kills.
    let cached = |kind: &str| field(&format!("total_{kind}")).or_else(|| field(kind)).unwrap_or(0);
    let used = used.saturating_sub(cached("inactive_file") + cached("active_file")) as f64;
    let raise = "give the container or the unit more memory (docker run --memory, MemoryMax=), or measure smaller sizes: --size";
    Ok(limits
        .into_iter()
        .min_by_key(|(limit, _)| *limit)
        .map(|(limit, file)| group.room(file, (limit as f64, used), raise)))
}

fn unseen(root: &Root, what: &str, path: &str) -> Unavailable {
    Unavailable { reason: format!("{what} cannot be seen (/{path})"), remedy: root.how_to_read(path) }
}

/// One level of a hierarchy.
struct LimitGroup<'a> {
    root: &'a Root,
    folder: &'a str,
}

impl LimitGroup<'_> {
    /// `None`: this level has no such file, as the top has none and a group whose controller is not handed on.
    fn text(&self, file: &str) -> Result<Option<String>, Unavailable> {
        match self.root.read(&format!("{}/{file}", self.folder)) {
            Ok(text) if text.is_empty() && file != "memory.stat" => Err(self.not_read(file)),
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err(self.not_read(file)),
        }
    }

    fn number(&self, file: &str) -> Result<Option<u64>, Unavailable> {
        let Some(text) = self.text(file)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.not_read(file))
    }

    fn not_read(&self, file: &str) -> Unavailable {
        unseen(self.root, "a limit of the control group", &format!("{}/{file}", self.folder))
    }

    fn limit(&self, file: &str) -> Result<Option<u64>, Unavailable> {
        if self.text(file)?.as_deref() == Some("max") { Ok(None) } else { self.number(file) }
    }

    fn room(&self, file: &str, (limit, used): (f64, f64), raise: &str) -> Room {
        Room::of(limit, used, format!("the control group (/{}/{file})", self.folder), raise.into())
    }
}

type OfGroup = fn(&LimitGroup<'_>) -> Result<Option<Room>, Unavailable>;

/// Folders of our control group and of those above it, own first, as far up as they are mounted: those of this controller
/// in version 1, or those of version 2 where it is there. An error says that they cannot be seen.
pub fn groups(root: &Root, controller: &str) -> Result<Vec<String>, Unavailable> {
    const OWN: &str = "proc/self/cgroup";
    let own = root.text(OWN).unwrap_or_default();
    if own.is_empty() {
        let without = root.text("proc/filesystems").is_some_and(|known| !known.contains("cgroup"));
        return if without { Ok(Vec::new()) } else { Err(unseen(root, "the control group", OWN)) };
    }
    let has = |list: &str| list.split(',').any(|name| name == controller);
    let lines = own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let first = lines.clone().find(|(list, _)| has(list));
    let Some((list, path)) = first.or_else(|| lines.clone().find(|(list, _)| list.is_empty())) else {
        // Switched off at boot.
        return Ok(Vec::new());
    };
    let kind = if list.is_empty() { "cgroup2" } else { "cgroup" };
    let here = |mount: &storage::Mount| mount.file_system == kind && (list.is_empty() || has(&mount.options));
    let mounts = storage::mounts(root).unwrap_or_default();
    // A group outside of what is mounted, or of its namespace, has no folder; one that is covered has no processes.
    let folder = |(point, mount): &(String, storage::Mount)| {
        let below = if mount.top == "/" { path } else { path.strip_prefix(&mount.top)? };
        let (point, below) = (point.trim_matches('/'), below.trim_matches('/'));
        let folder = format!("{point}/{below}").trim_end_matches('/').to_string();
        let seen =
            !below.split('/').any(|part| part == "..") && root.exists(&format!("{folder}/cgroup.procs"));
        seen.then_some((folder, point.len()))
    };
    let Some((folder, top)) = mounts.iter().filter(|(_, mount)| here(mount)).find_map(folder) else {
        let mount = match list {
            "" => "mount -t cgroup2 none /sys/fs/cgroup".to_string(),
            list => format!("mount -t cgroup -o {list} none /sys/fs/cgroup/{list}"),
        };
        return Err(Unavailable {
            reason: format!("the control group {path} cannot be seen: no mount here shows it"),
            remedy: format!("{mount}; of a container, start it with its own control groups mounted"),
        });
    };
    let up = std::iter::successors(Some(folder.as_str()), |folder| Some(folder.rsplit_once('/')?.0));
    Ok(up.take_while(|folder| folder.len() >= top).map(String::from).collect())
}

#[cfg(test)]
#[path = "allowance/tests.rs"]
mod tests;
