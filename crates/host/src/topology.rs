//! CPUs, cores and where a round's threads are pinned.
//!
//! It decides from /sys and the affinity mask alone, and pins only the thread that asks.
//! Sources: Documentation/admin-guide/cputopology.rst, sched_setaffinity(2).

use super::Unavailable;
use super::files::{Root, parse_list, show_list};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use syscost_sys::affinity;

/// Where sender and receiver threads run: the `placement` axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Thread pairs on different cores.
    Different,
    /// Both threads of a pair on one CPU.
    Same,
    /// Unpinned.
    None,
    /// Sender CPUs and receiver CPUs, used in turn.
    Explicit { sender: Vec<usize>, receiver: Vec<usize> },
}

impl Placement {
    /// Reads `different`, `same`, `none` or `0,2:1,3`.
    pub fn parse(text: &str) -> Result<Placement, String> {
        match text {
            "different" => return Ok(Placement::Different),
            "same" => return Ok(Placement::Same),
            "none" => return Ok(Placement::None),
            _ => {}
        }
        let error = || "write different, same, none, or sender CPUs and receiver CPUs as 0,2:1,3".to_string();
        let (sender, receiver) = text.split_once(':').ok_or_else(error)?;
        let list = |s: &str| -> Result<Vec<usize>, String> {
            s.split(',').map(|n| n.trim().parse().map_err(|_| error())).collect()
        };
        Ok(Placement::Explicit { sender: list(sender)?, receiver: list(receiver)? })
    }
}

/// A logical CPU that this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalCpu {
    pub id: usize,
    /// The lowest CPU of its physical core: equal for SMT siblings.
    pub core: usize,
    pub package: usize,
    pub node: usize,
    /// 0 for the first usable thread of its core, 1 for its first sibling.
    pub sibling: usize,
    /// A performance core; every core where all are alike.
    pub fast: bool,
}

/// Where the two threads of one pair run; `None` = unpinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    pub sender: Option<usize>,
    pub receiver: Option<usize>,
}

/// The CPUs that this process may use, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    cpus: Vec<LogicalCpu>,
    /// CPUs of this machine that were taken out of use.
    offline: Vec<usize>,
    /// Does the machine say which CPUs share a core and a socket? Otherwise each is taken as a core of its own.
    told: bool,
}

impl Topology {
    /// This machine, as far as the calling thread may use it.
    pub fn read() -> Topology {
        let root = Root::here();
        let allowed = affinity::allowed().ok();
        let listed = || parse_list(&root.field("proc/self/status", "Cpus_allowed_list")?);
        let online = || root.list("sys/devices/system/cpu/online");
        let allowed = allowed.or_else(listed).or_else(online).unwrap_or_else(|| vec![0]);
        Topology::read_from(&root, &allowed)
    }

    /// Any machine, as its /sys describes it. What it does not say is taken as: each CPU a core
    /// of its own, one package, one node, all cores alike.
    pub fn read_from(root: &Root, allowed: &[usize]) -> Topology {
        let fast = fast_cpus(root, allowed);
        let nodes = nodes(root);
        let mut siblings: BTreeMap<usize, usize> = BTreeMap::new();
        let mut told = true;
        let cpu = |&id: &usize| {
            let topology = format!("sys/devices/system/cpu/cpu{id}/topology");
            let of_core = ["core_cpus_list", "thread_siblings_list"];
            let core = of_core.iter().find_map(|file| root.list(&format!("{topology}/{file}")));
            told &= core.is_some();
            let core = core.and_then(|list| list.into_iter().min()).unwrap_or(id);
            let before = siblings.entry(core).or_default();
            let sibling = *before;
            *before += 1;
            LogicalCpu {
                id,
                core,
                sibling,
                package: root.number(&format!("{topology}/physical_package_id")).unwrap_or(0) as usize,
                node: nodes.get(&id).copied().unwrap_or(0),
                fast: fast.contains(&id),
            }
        };
        Topology { cpus: allowed.iter().map(cpu).collect(), offline: offline(root), told }
    }

    /// See the field.
    pub fn is_told(&self) -> bool {
        self.told
    }

    pub fn cpus(&self) -> &[LogicalCpu] {
        &self.cpus
    }

    /// Physical cores.
    pub fn cores(&self) -> usize {
        self.distinct(|cpu| cpu.core)
    }

    pub fn packages(&self) -> usize {
        self.distinct(|cpu| cpu.package)
    }

    pub fn nodes(&self) -> usize {
        self.distinct(|cpu| cpu.node)
    }

    /// Are there two kinds of cores (P and E, big and LITTLE)?
    pub fn is_hybrid(&self) -> bool {
        self.distinct(|cpu| usize::from(cpu.fast)) > 1
    }

    fn distinct(&self, of: fn(&LogicalCpu) -> usize) -> usize {
        self.cpus.iter().map(of).collect::<BTreeSet<_>>().len()
    }

    fn get(&self, id: usize) -> Option<&LogicalCpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// Where the threads of this many pairs go.
    pub fn place(&self, placement: &Placement, threads: usize) -> Result<Vec<Pinned>, Unavailable> {
        match placement {
            Placement::None => Ok(vec![Pinned::default(); threads]),
            Placement::Same => Ok(self.place_same(threads)),
            Placement::Different => self.place_different(threads),
            Placement::Explicit { sender, receiver } => self.place_explicit(sender, receiver, threads),
        }
    }

    /// One CPU a pair, cores before siblings, fast cores before slow ones.
    fn place_same(&self, threads: usize) -> Vec<Pinned> {
        let mut order: Vec<&LogicalCpu> = self.cpus.iter().collect();
        order.sort_by_key(|cpu| (cpu.sibling, !cpu.fast, cpu.node, cpu.id));
        (0..threads)
            .map(|i| Some(order[i % order.len()].id))
            .map(|cpu| Pinned { sender: cpu, receiver: cpu })
            .collect()
    }

    /// Pair after pair takes the least used CPUs that lie on different cores: cores before
    /// siblings, fast cores before slow ones, one node before two.
    fn place_different(&self, threads: usize) -> Result<Vec<Pinned>, Unavailable> {
        if self.cpus.len() < 2 {
            return Err(self.one_cpu_only());
        }
        let mut used = Used { topology: self, on_cpu: vec![0; self.cpus.len()], on_core: BTreeMap::new() };
        // After a turn in which every CPU could be used twice the same order begins again.
        let pins: Vec<Pinned> = (0..threads.min(self.cpus.len())).map_while(|_| used.take_pair()).collect();
        Ok((0..threads).map(|i| pins[i % pins.len()]).collect())
    }

    fn one_cpu_only(&self) -> Unavailable {
        let reason = format!("this process may use one CPU only ({})", self.show());
        let remedy = "measure with --placement same, or allow more CPUs (taskset, the container's cpuset)";
        match self.offline.first() {
            None => Unavailable { reason, remedy: remedy.into() },
            Some(gone) => Unavailable {
                reason: format!("{reason}; CPU {} is offline", show_list(&self.offline)),
                remedy: format!("{}; or {remedy}", back_online(*gone)),
            },
        }
    }

    fn place_explicit(
        &self,
        sender: &[usize],
        receiver: &[usize],
        threads: usize,
    ) -> Result<Vec<Pinned>, Unavailable> {
        if let Some(missing) = sender.iter().chain(receiver).find(|cpu| self.get(**cpu).is_none()) {
            let choose = format!("choose from CPUs {}", self.show());
            return Err(if self.offline.contains(missing) {
                Unavailable {
                    reason: format!("CPU {missing} is offline"),
                    remedy: format!("{}, or {choose}", back_online(*missing)),
                }
            } else {
                Unavailable {
                    reason: format!("CPU {missing} does not exist or is not allowed to this process"),
                    remedy: choose,
                }
            });
        }
        let turn = |list: &[usize], i: usize| list.get(i.checked_rem(list.len())?).copied();
        Ok((0..threads).map(|i| Pinned { sender: turn(sender, i), receiver: turn(receiver, i) }).collect())
    }

    /// The first pair whose ends are on cores of two kinds: what it costs is neither's.
    pub fn unlike(&self, pins: &[Pinned]) -> Option<String> {
        let pair = |pin: &Pinned| Some((self.get(pin.sender?)?, self.get(pin.receiver?)?));
        let (sender, receiver) = pins.iter().filter_map(pair).find(|(s, r)| s.fast != r.fast)?;
        let kind = |cpu: &LogicalCpu| if cpu.fast { "fast" } else { "slow" };
        let (of_sender, of_receiver) = (kind(sender), kind(receiver));
        Some(format!("CPU {} ({of_sender} core) and CPU {} ({of_receiver} core)", sender.id, receiver.id))
    }

    /// `0-3,8`
    pub fn show(&self) -> String {
        show_list(&self.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>())
    }
}

/// How often each CPU and core was given out.
struct Used<'a> {
    topology: &'a Topology,
    on_cpu: Vec<usize>,
    on_core: BTreeMap<usize, usize>,
}

/// Uses of the CPU, uses of its core, unlike the other end, slow, on another node, position: the least is the best.
type Cost = (usize, usize, bool, bool, bool, usize);

impl Used<'_> {
    fn cost(&self, index: usize, other: Option<&LogicalCpu>) -> Cost {
        let cpu = &self.topology.cpus[index];
        let on_core = self.on_core.get(&cpu.core).copied().unwrap_or(0);
        let unlike = other.is_some_and(|other| other.fast != cpu.fast);
        let far = other.is_some_and(|other| other.node != cpu.node);
        (self.on_cpu[index], on_core, unlike, !cpu.fast, far, index)
    }

    /// The best receiver for this sender: on another core wherever there are two.
    fn partner(&self, sender: usize) -> Option<usize> {
        let cpus = &self.topology.cpus;
        let several_cores = cpus.iter().any(|cpu| cpu.core != cpus[0].core);
        let fits = |r: &usize| *r != sender && !(several_cores && cpus[*r].core == cpus[sender].core);
        (0..cpus.len()).filter(fits).min_by_key(|r| self.cost(*r, Some(&cpus[sender])))
    }

    /// Of the best sender of each node and kind of core with its best receiver, the best pair.
    fn take_pair(&mut self) -> Option<Pinned> {
        let cpus = &self.topology.cpus;
        let kinds: BTreeSet<(usize, bool)> = cpus.iter().map(|cpu| (cpu.node, cpu.fast)).collect();
        let best = |(node, fast): (usize, bool)| {
            let of_node = (0..cpus.len()).filter(|s| cpus[*s].node == node && cpus[*s].fast == fast);
            let sender = of_node.min_by_key(|s| self.cost(*s, None))?;
            Some((sender, self.partner(sender)?))
        };
        let joint = |(s, r): &(usize, usize)| {
            let (a, b) = (self.cost(*s, None), self.cost(*r, Some(&cpus[*s])));
            (a.0 + b.0, a.1 + b.1, b.2, u8::from(a.3) + u8::from(b.3), b.4, a.5, b.5)
        };
        let (sender, receiver) = kinds.into_iter().filter_map(best).min_by_key(joint)?;
        for index in [sender, receiver] {
            self.on_cpu[index] += 1;
            *self.on_core.entry(cpus[index].core).or_default() += 1;
        }
        Some(Pinned { sender: Some(cpus[sender].id), receiver: Some(cpus[receiver].id) })
    }
}

/// Performance cores: Intel's list, or a capacity or greatest frequency near the highest. Phones have a prime core a few
/// per cent above the big ones, hence "near".
fn fast_cpus(root: &Root, allowed: &[usize]) -> BTreeSet<usize> {
    const NEAR: f64 = 0.8;
    if let Some(list) = root.list("sys/devices/cpu_core/cpus") {
        let fast: BTreeSet<usize> = list.into_iter().filter(|cpu| allowed.contains(cpu)).collect();
        if !fast.is_empty() {
            return fast;
        }
    }
    let number = |cpu: &usize, file: &str| root.number(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"));
    let told = ["cpu_capacity", "cpufreq/cpuinfo_max_freq"];
    let file = told.into_iter().find(|file| allowed.iter().any(|cpu| number(cpu, file).is_some()));
    let capacity = |cpu: &usize| number(cpu, file?);
    let highest = allowed.iter().filter_map(capacity).max().unwrap_or(0) as f64;
    let fast = |cpu: &&usize| capacity(cpu).is_none_or(|n| n as f64 >= NEAR * highest);
    allowed.iter().filter(fast).copied().collect()
}

/// CPU -> NUMA node.
fn nodes(root: &Root) -> BTreeMap<usize, usize> {
    let folder = "sys/devices/system/node";
    let names = root.names(folder);
    let numbered = names.iter().filter_map(|name| Some((name, name.strip_prefix("node")?.parse().ok()?)));
    numbered
        .flat_map(|(name, node): (&String, usize)| {
            let cpus = root.list(&format!("{folder}/{name}/cpulist")).unwrap_or_default();
            cpus.into_iter().map(move |cpu| (cpu, node))
        })
        .collect()
}

/// CPUs that are there and taken out of use; those that could be added to a machine are not there.
fn offline(root: &Root) -> Vec<usize> {
    let list = |name: &str| root.list(&format!("sys/devices/system/cpu/{name}")).unwrap_or_default();
    let present = list("present");
    list("offline").into_iter().filter(|cpu| present.contains(cpu)).collect()
}

fn back_online(cpu: usize) -> String {
    format!("bring it back (echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online)")
}

/// Pins the calling thread. That it stays so is looked at when it is pinned elsewhere or ends: a CPU
/// that goes offline, a changed cpuset and taskset(1) move threads without a word.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    // The former pin is looked at before it is changed.
    drop(PIN.take());
    affinity::restrict(&[cpu]).map_err(|e| match unpinned(&e, cpu, &offline(&Root::here())) {
        Ok(refused) => io::Error::new(e.kind(), refused),
        Err(why) => io::Error::new(e.kind(), format!("cannot pin a thread to CPU {cpu}: {why}")),
    })?;
    PIN.set(Some(PinnedThread::of(affinity::CALLER, cpu)));
    Ok(())
}

/// May threads be pinned? Tried with the CPUs that this thread may use anyway.
pub fn may_pin() -> Result<(), Unavailable> {
    let Ok(cpus) = affinity::allowed() else { return Ok(()) };
    affinity::restrict(&cpus).map_err(|error| pinning_refused(&error))
}

fn pinning_refused(error: &io::Error) -> Unavailable {
    Unavailable {
        reason: format!("a sandbox refuses sched_setaffinity ({error})"),
        remedy: "allow it there; what moves data can do without: --placement none".into(),
    }
}

/// The setting itself needs no right: only a filter of system calls refuses it, to whatever CPU.
fn unpinned(error: &io::Error, cpu: usize, offline: &[usize]) -> Result<Unavailable, String> {
    match error.raw_os_error() {
        Some(libc::EINVAL) if offline.contains(&cpu) => Err(format!("it is offline: {}", back_online(cpu))),
        _ => may_pin().err().ok_or_else(|| error.to_string()),
    }
}

/// Was a thread of this process moved off the CPU that it was pinned to? Of threads that ended or
/// were pinned again; the calling one is looked at now.
pub fn was_moved() -> bool {
    drop(PIN.take());
    MOVED.load(Ordering::Relaxed)
}

static MOVED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static PIN: Cell<Option<PinnedThread>> = const { Cell::new(None) };
}

/// Where a thread was put; whether it stayed there is noted when this is dropped.
pub struct PinnedThread {
    thread: u32,
    cpu: usize,
    /// A thread that was moved and put back (by whoever did it, or by a cpuset that has its CPU again) looks as if it
    /// had stayed: only this shows that it was elsewhere.
    migrations: Option<u64>,
}

impl PinnedThread {
    /// Watches another thread, or a process of one thread, that was pinned when it was made; it has to
    /// live as long as this.
    pub fn of(thread: u32, cpu: usize) -> PinnedThread {
        PinnedThread { thread, cpu, migrations: affinity::migrations(thread) }
    }

    fn has_moved(&self) -> bool {
        let elsewhere = affinity::allowed_to(self.thread).is_ok_and(|cpus| cpus != [self.cpu]);
        let counts = self.migrations.zip(affinity::migrations(self.thread));
        elsewhere || counts.is_some_and(|(then, now)| now != then)
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        if self.has_moved() {
            MOVED.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
