//! Placement on machines that are not at hand, written as /sys trees.

use super::*;
use crate::files::fixture::Machine;
use proptest::prelude::*;

/// Odd nodes: a pair across nodes only when every node has a single idle core left.
#[test]
fn nodes_are_crossed_last() {
    let spec = |id: usize| Spec { core: id, package: id / 3, node: id / 3, capacity: None };
    let machine = machine(&(0..6).map(spec).collect::<Vec<_>>());
    assert_eq!(place(&read(&machine, 6), 3), [(0, 1), (3, 4), (2, 5)]);
}

/// What one CPU of a fixture is.
#[derive(Clone, Copy)]
struct Spec {
    core: usize,
    package: usize,
    node: usize,
    capacity: Option<u64>,
}

fn machine(cpus: &[Spec]) -> Machine {
    let machine = Machine::empty();
    let sharing = |of: &dyn Fn(&Spec) -> bool| {
        show_list(&(0..cpus.len()).filter(|i| of(&cpus[*i])).collect::<Vec<_>>())
    };
    for (id, cpu) in cpus.iter().enumerate() {
        let folder = format!("sys/devices/system/cpu/cpu{id}");
        machine.write(&format!("{folder}/topology/core_cpus_list"), &sharing(&|c| c.core == cpu.core));
        machine.write(&format!("{folder}/topology/physical_package_id"), &format!("{}\n", cpu.package));
        if let Some(capacity) = cpu.capacity {
            machine.write(&format!("{folder}/cpu_capacity"), &format!("{capacity}\n"));
        }
        let node = format!("sys/devices/system/node/node{}/cpulist", cpu.node);
        machine.write(&node, &sharing(&|c| c.node == cpu.node));
    }
    machine
}

fn read(machine: &Machine, cpus: usize) -> Topology {
    Topology::read_from(&machine.root(), &(0..cpus).collect::<Vec<_>>())
}

fn plain(core: usize) -> Spec {
    Spec { core, package: 0, node: 0, capacity: None }
}

/// Two sockets of 32 cores with two threads each, numbered as Linux does: cores first.
fn two_sockets() -> (Machine, Topology) {
    let spec = |id: usize| Spec { core: id % 64, package: id % 64 / 32, node: id % 64 / 32, capacity: None };
    let machine = machine(&(0..128).map(spec).collect::<Vec<_>>());
    let topology = read(&machine, 128);
    (machine, topology)
}

fn place(topology: &Topology, threads: usize) -> Vec<(usize, usize)> {
    let pins = topology.place(&Placement::Different, threads).unwrap();
    pins.iter().map(|pin| (pin.sender.unwrap(), pin.receiver.unwrap())).collect()
}

#[test]
fn two_sockets_with_smt() {
    let (_machine, topology) = two_sockets();
    assert_eq!((topology.cores(), topology.packages(), topology.nodes()), (64, 2, 2));
    assert!(!topology.is_hybrid());
    let pairs = place(&topology, 64);
    for (sender, receiver) in &pairs {
        assert_ne!(sender % 64, receiver % 64, "different cores");
        assert_eq!(sender % 64 / 32, receiver % 64 / 32, "one node");
    }
    let first: BTreeSet<usize> = pairs[..32].iter().flat_map(|(s, r)| [s % 64, r % 64]).collect();
    assert_eq!(first.len(), 64, "every core is used before any sibling");
    let all: BTreeSet<usize> = pairs.iter().flat_map(|(s, r)| [*s, *r]).collect();
    assert_eq!(all.len(), 128, "then every sibling");
    let same = topology.place(&Placement::Same, 65).unwrap();
    assert_eq!(same[63].sender, Some(63));
    assert_eq!(same[64], Pinned { sender: Some(64), receiver: Some(64) });
}

#[test]
fn alder_lake_uses_its_performance_cores_first() {
    // Four E-cores (CPUs 0 to 3), then four P-cores with two threads each: numbered the other way
    // round than by Intel, so that the order of numbers cannot give the right answer.
    let e_first = |id: usize| plain(if id < 4 { id } else { 4 + (id - 4) / 2 });
    let machine = machine(&(0..12).map(e_first).collect::<Vec<_>>());
    machine.write("sys/devices/cpu_core/cpus", "4-11\n");
    machine.write("sys/devices/cpu_atom/cpus", "0-3\n");
    let topology = read(&machine, 12);
    assert!(topology.is_hybrid());
    assert_eq!(topology.cores(), 8);
    assert_eq!(place(&topology, 4), [(4, 6), (8, 10), (0, 1), (2, 3)], "P, P, E, E; no sibling yet");
    assert_eq!(place(&topology, 6)[4..], [(5, 7), (9, 11)]);
    let same = topology.place(&Placement::Same, 1).unwrap();
    assert_eq!(same[0].sender, Some(4));
}

#[test]
fn big_little_goes_by_capacity() {
    let little_first = |id: usize| Spec {
        capacity: Some(match id {
            0..4 => 250,
            4..7 => 870,
            _ => 1024,
        }),
        ..plain(id)
    };
    let machine = machine(&(0..8).map(little_first).collect::<Vec<_>>());
    let topology = read(&machine, 8);
    assert!(topology.is_hybrid());
    assert_eq!(place(&topology, 4), [(4, 5), (6, 7), (0, 1), (2, 3)]);
}

/// One fast core among slow ones makes no pair: a message would cost what neither of them takes.
#[test]
fn the_two_ends_are_on_like_cores_where_there_are_two_or_it_is_said() {
    let hertz = |fast: &[usize], cpus: usize| {
        let machine = machine(&(0..cpus).map(plain).collect::<Vec<_>>());
        for id in 0..cpus {
            let hertz = if fast.contains(&id) { "5100000" } else { "3300000" };
            machine.write(&format!("sys/devices/system/cpu/cpu{id}/cpufreq/cpuinfo_max_freq"), hertz);
        }
        read(&machine, cpus)
    };
    assert_eq!(place(&hertz(&[0], 3), 1), [(1, 2)], "like cores before fast ones");
    assert_eq!(place(&hertz(&[2, 3], 4), 2), [(2, 3), (0, 1)]);
    let told = |topology: &Topology, placement: &str| {
        topology.unlike(&topology.place(&Placement::parse(placement).unwrap(), 1).unwrap())
    };
    let pair = hertz(&[1], 2);
    assert_eq!(told(&pair, "different").as_deref(), Some("CPU 0 (slow core) and CPU 1 (fast core)"));
    assert_eq!((told(&pair, "same"), told(&pair, "none")), (None, None));
    assert_eq!(told(&hertz(&[0, 1], 4), "0:3").as_deref(), Some("CPU 0 (fast core) and CPU 3 (slow core)"));
    assert_eq!(told(&hertz(&[0, 1], 4), "different"), None);
}

#[test]
fn few_cpus_are_shared_evenly() {
    let placed = |cores: &[usize], threads| {
        let cpus: Vec<Spec> = cores.iter().map(|core| plain(*core)).collect();
        place(&read(&machine(&cpus), cpus.len()), threads)
    };
    assert_eq!(placed(&[0, 1], 8), [(0, 1); 8], "one to each side");
    assert_eq!(placed(&[0, 0], 2), [(0, 1); 2], "two threads of one core");
    assert_eq!(placed(&[0, 1, 2], 4), [(0, 1), (2, 0), (1, 2), (0, 1)]);
}

#[test]
fn one_cpu_cannot_be_two_cores() {
    let machine = machine(&[plain(0)]);
    let topology = read(&machine, 1);
    let error = topology.place(&Placement::Different, 1).unwrap_err();
    assert!(error.remedy.contains("--placement same"), "{error:?}");
    let same = topology.place(&Placement::Same, 2).unwrap();
    assert_eq!(same, [Pinned { sender: Some(0), receiver: Some(0) }; 2]);
}

#[test]
fn a_cpuset_hides_the_rest_of_the_machine() {
    let (machine, _) = two_sockets();
    let topology = Topology::read_from(&machine.root(), &[3, 67, 40, 41]);
    assert_eq!(place(&topology, 1), [(40, 41)], "different cores of one node");
    assert_eq!(topology.get(67).unwrap().sibling, 1);
}

#[test]
fn explicit_cpus_are_used_in_turn_and_checked() {
    let (_machine, topology) = two_sockets();
    let explicit = Placement::parse("0,2:1,3,5").unwrap();
    let pins = topology.place(&explicit, 4).unwrap();
    let cpus: Vec<_> = pins.iter().map(|p| (p.sender.unwrap(), p.receiver.unwrap())).collect();
    assert_eq!(cpus, [(0, 1), (2, 3), (0, 5), (2, 1)]);
    let error = topology.place(&Placement::parse("0:128").unwrap(), 1).unwrap_err();
    assert!(error.reason.contains("CPU 128"), "{error:?}");
    assert!(error.remedy.contains("0-127"), "{error:?}");
}

#[test]
fn placements_are_parsed_without_a_machine() {
    assert_eq!(Placement::parse("same"), Ok(Placement::Same));
    for wrong in ["", "0", "0:", ":1", "a:b", "0,:1", "Different"] {
        assert!(Placement::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_machine_that_says_nothing_has_a_core_per_cpu() {
    let machine = Machine::empty();
    let topology = read(&machine, 4);
    assert_eq!((topology.cores(), topology.packages(), topology.nodes()), (4, 1, 1));
    assert!(!topology.is_hybrid());
    assert_eq!(place(&topology, 2), [(0, 1), (2, 3)]);
}

#[test]
fn this_machine_can_be_read_and_used() {
    let topology = Topology::read();
    assert!(topology.cores() >= 1 && topology.cores() <= topology.cpus().len());
    let cpu = topology.cpus().last().unwrap().id;
    std::thread::spawn(move || pin_this_thread(cpu).unwrap()).join().unwrap();
    let error = pin_this_thread(65_000).unwrap_err();
    assert!(error.to_string().contains("CPU 65000"), "{error}");
}

/// A thread that somebody moved and put back, as the kernel does with a CPU that went and came.
#[test]
fn a_thread_that_was_elsewhere_for_a_while_has_moved() {
    let cpus = affinity::allowed().unwrap();
    let (first, last) = (cpus[0], *cpus.last().unwrap());
    std::thread::spawn(move || {
        affinity::restrict(&[first]).unwrap();
        if first == last || affinity::migrations(affinity::CALLER).is_none() {
            return eprintln!("skipped: one CPU only, or a kernel without /proc/PID/sched");
        }
        let pin = PinnedThread::of(affinity::CALLER, first);
        assert!(!pin.has_moved());
        affinity::restrict(&[last]).unwrap();
        affinity::restrict(&[first]).unwrap();
        assert!(pin.has_moved(), "it is back where it was");
        // Nobody else may be told of it: the note is of the whole process.
        std::mem::forget(pin);
    })
    .join()
    .unwrap();
}

#[test]
fn a_cpu_that_is_offline_is_told_from_one_that_was_never_there() {
    let machine = machine(&[plain(0), plain(1)]);
    machine.write("sys/devices/system/cpu/present", "0-1\n");
    machine.write("sys/devices/system/cpu/offline", "1-7\n");
    let topology = Topology::read_from(&machine.root(), &[0]);
    let why = topology.place(&Placement::Different, 1).unwrap_err();
    assert!(why.reason.contains("one CPU only (0); CPU 1 is offline"), "{why:?}");
    assert!(why.remedy.contains("echo 1 | sudo tee /sys/devices/system/cpu/cpu1/online"), "{why:?}");
    let asked = |cpus: &str| topology.place(&Placement::parse(cpus).unwrap(), 1).unwrap_err();
    assert_eq!(asked("0:1").reason, "CPU 1 is offline");
    assert!(asked("0:2").reason.contains("does not exist"));
    let error = std::io::Error::from_raw_os_error(libc::EINVAL);
    let why = |cpu| unpinned(&error, cpu, &topology.offline).expect_err("no sandbox");
    assert!(why(1).contains("cpu1/online") && !why(2).contains("online"));
}

proptest! {
    /// On any machine: as many pairs as asked, never one core twice in a pair while there are
    /// two, and no CPU used more than fairly (one more than another) where all are alike.
    #[test]
    fn any_machine_is_used_fairly(cores in 2usize..20, smt in 1usize..3, threads in 1usize..50) {
        let cpu = |id| LogicalCpu { id, core: id % cores, package: 0, node: 0, sibling: id / cores, fast: true };
        let topology = Topology { cpus: (0..cores * smt).map(cpu).collect(), offline: Vec::new(), told: true };
        let pairs = place(&topology, threads);
        prop_assert_eq!(pairs.len(), threads);
        let mut used = vec![0usize; cores * smt];
        for (sender, receiver) in pairs {
            prop_assert_ne!(sender % cores, receiver % cores);
            used[sender] += 1;
            used[receiver] += 1;
        }
        prop_assert!(used.iter().max().unwrap() - used.iter().min().unwrap() <= 1, "{:?}", used);
    }
}
