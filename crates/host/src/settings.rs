//! Single settings of a machine that more than one room asks for. Each is `None` where the machine
//! does not say. It only reads. Source: Documentation/admin-guide (pm, cputopology, transhuge).

use super::files::Root;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;
use syscost_sys::cpuid;

const CPU: &str = "sys/devices/system/cpu";

/// Settings of the network stack that are recorded: id, title, file below /proc/sys/net.
pub const STACK: [(&str, &str, &str); 12] = [
    ("tcp_rmem_bytes", "TCP receive buffer: least, default, most", "ipv4/tcp_rmem"),
    ("tcp_wmem_bytes", "TCP send buffer: least, default, most", "ipv4/tcp_wmem"),
    ("rmem_max_bytes", "largest SO_RCVBUF", "core/rmem_max"),
    ("wmem_max_bytes", "largest SO_SNDBUF", "core/wmem_max"),
    ("optmem_max_bytes", "option memory of a socket", "core/optmem_max"),
    ("congestion_control", "congestion control by default", "ipv4/tcp_congestion_control"),
    ("congestion_controls_available", "congestion controls", "ipv4/tcp_available_congestion_control"),
    ("tcp_timestamps", "TCP timestamps", "ipv4/tcp_timestamps"),
    ("tcp_sack", "TCP selective acknowledgement", "ipv4/tcp_sack"),
    ("tcp_autocorking", "TCP automatic corking", "ipv4/tcp_autocorking"),
    ("default_qdisc", "queueing discipline by default", "core/default_qdisc"),
    ("high_order_alloc_disable", "sockets allocate single pages", "core/high_order_alloc_disable"),
];

/// `tcp_sack`: what a case records it by.
pub fn setting_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The frequency governors in use, most often one.
pub fn governors(root: &Root) -> Option<String> {
    let cpus = root.names(CPU).into_iter().filter(|name| is_numbered(name, "cpu"));
    let of = |cpu: String| root.text(&format!("{CPU}/{cpu}/cpufreq/scaling_governor"));
    let mut governors: Vec<String> = cpus.filter_map(of).collect();
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// How fast the CPUs run at this moment, on the average.
pub fn frequency_hertz(root: &Root) -> Option<f64> {
    let cpus = root.names(CPU).into_iter().filter(|name| is_numbered(name, "cpu"));
    let of = |cpu: String| root.number(&format!("{CPU}/{cpu}/cpufreq/scaling_cur_freq"));
    let kilohertz: Vec<f64> = cpus.filter_map(of).map(|n| n as f64).collect();
    (!kilohertz.is_empty()).then(|| kilohertz.iter().sum::<f64>() * 1000.0 / kilohertz.len() as f64)
}

/// Is the processor allowed above its nominal frequency?
pub fn turbo(root: &Root) -> Option<bool> {
    let no_turbo = root.number(&format!("{CPU}/intel_pstate/no_turbo")).map(|n| n == 0);
    no_turbo.or_else(|| root.number(&format!("{CPU}/cpufreq/boost")).map(|n| n == 1))
}

/// The file that [`turbo`] was read from, for a remedy: what to write there to switch it off.
pub fn turbo_off_command(root: &Root) -> String {
    if root.exists(&format!("{CPU}/intel_pstate/no_turbo")) {
        format!("echo 1 | sudo tee /{CPU}/intel_pstate/no_turbo")
    } else {
        format!("echo 0 | sudo tee /{CPU}/cpufreq/boost")
    }
}

/// Are two hardware threads of a core in use?
pub fn smt(root: &Root) -> Option<bool> {
    root.number(&format!("{CPU}/smt/active")).map(|n| n == 1)
}

/// `always`, `madvise` or `never`: the one in brackets.
pub fn huge_pages(root: &Root) -> Option<String> {
    let text = root.text("sys/kernel/mm/transparent_hugepage/enabled")?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_string())
}

/// Has the processor this flag, as the kernel names it?
pub fn has_cpu_flag(root: &Root, flag: &str) -> Option<bool> {
    Some(root.field("proc/cpuinfo", "flags")?.split_whitespace().any(|own| own == flag))
}

/// What the hypervisor and the container are where none is there.
pub const NONE_SEEN: &str = "none seen";

/// The hypervisor, as far as it shows; `None` where nothing that would show one can be read.
pub fn hypervisor(root: &Root) -> Option<String> {
    let dmi = |file: &str| root.text(&format!("sys/class/dmi/id/{file}")).filter(|t| !t.is_empty());
    let flag = has_cpu_flag(root, "hypervisor");
    let vendor = dmi("sys_vendor");
    // Other processors have no flag; their virtual machines say so in the firmware's tables.
    const VENDORS: [&str; 6] = ["QEMU", "KVM", "Amazon EC2", "Google", "VMware", "Xen"];
    if flag != Some(true) && !VENDORS.iter().any(|v| vendor.as_ref().is_some_and(|of| of.contains(v))) {
        let kind = root.text("sys/hypervisor/type").filter(|t| !t.is_empty() && t != "none");
        let bare = flag.is_some() || vendor.is_some() || root.exists("proc/device-tree/compatible");
        return kind.or(bare.then(|| NONE_SEEN.into()));
    }
    let sources = root.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let sources = sources.unwrap_or_default();
    const BY_CLOCK: [(&str, &str); 3] =
        [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    let by_clock = BY_CLOCK.iter().find(|(clock, _)| sources.contains(clock)).map(|(_, name)| *name);
    let parts = [by_clock.map(str::to_string), dmi("sys_vendor"), dmi("product_name")];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(if text.is_empty() { "of an unknown kind".into() } else { text })
}

/// The boot option by which whoever starts an emulated machine says so where no instruction does.
pub const EMULATED_OPTION: &str = "syscost.emulated";

/// What emulates every instruction of this machine, as its boot options say.
pub fn emulator(root: &Root) -> Option<String> {
    boot_option(root, EMULATED_OPTION)
}

fn boot_option(root: &Root, option: &str) -> Option<String> {
    let options = root.text("proc/cmdline")?;
    let mut named = options.split_whitespace().filter_map(|option| option.split_once('='));
    named.find(|(name, _)| *name == option).map(|(_, value)| value.to_string())
}

/// The boot option by which whoever starts an emulated machine says what its clocks count.
pub const CLOCK_OPTION: &str = "syscost.clock";
/// Each instruction is one nanosecond of every clock (qemu's `-icount shift=0`).
pub const INSTRUCTIONS: &str = "instructions";

/// Do the clocks of the machine that this runs on count instructions?
pub fn clock_counts_instructions() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| clock_counts(&Root::here()).as_deref() == Some(INSTRUCTIONS))
}

/// What the clocks of this machine count, as its boot options say.
pub fn clock_counts(root: &Root) -> Option<String> {
    boot_option(root, CLOCK_OPTION)
}

/// The boot option by which whoever starts an emulated machine says which caches its emulator models.
pub const CACHES_OPTION: &str = "syscost.caches";

/// The caches whose misses this machine's emulator counts, as its boot options say.
pub fn modelled_caches(root: &Root) -> Option<String> {
    boot_option(root, CACHES_OPTION)
}

/// What emulates every instruction of the machine that this runs on, if anything does.
pub fn emulator_here() -> Option<String> {
    let named = || cpuid::hypervisor().filter(|name| name.starts_with("TCG")).map(|_| "TCG".to_string());
    emulator(&Root::here()).or_else(named)
}

/// The kind of container we are in, if any; `None` where its signs cannot be read.
pub fn container(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("run/systemd/container").filter(|t| !t.is_empty()) {
        return Some(kind);
    }
    for (file, kind) in [(".dockerenv", "docker"), ("run/.containerenv", "podman")] {
        if root.exists(file) {
            return Some(kind.into());
        }
    }
    const KINDS: [&str; 5] = ["docker", "kubepods", "lxc", "libpod", "containerd"];
    let cgroup = root.text("proc/self/cgroup").filter(|text| !text.is_empty())?;
    Some(KINDS.iter().find(|kind| cgroup.contains(*kind)).map_or(NONE_SEEN, |kind| kind).to_string())
}

/// The running kernel's configuration, and the file that has it.
fn kernel_config(root: &Root) -> Option<(String, String)> {
    let release = root.text("proc/sys/kernel/osrelease")?;
    let plain = [format!("boot/config-{release}"), format!("usr/lib/modules/{release}/config")];
    for file in plain {
        if let Some(text) = root.text(&file) {
            return Some((text, format!("/{file}")));
        }
    }
    let mut text = String::new();
    // A kernel's configuration has some 200 kB; what is longer is not one.
    let packed = flate2::read::GzDecoder::new(File::open(root.path("proc/config.gz")).ok()?);
    packed.take(4 << 20).read_to_string(&mut text).ok()?;
    Some((text, "/proc/config.gz".into()))
}

/// Is this option built into the running kernel? With the file that says so.
pub fn kernel_option(root: &Root, option: &str) -> Option<(bool, String)> {
    let (config, file) = kernel_config(root)?;
    Some((has_option(&config, option, "=y"), file))
}

fn has_option(config: &str, option: &str, value: &str) -> bool {
    config.lines().any(|line| line.strip_prefix(option) == Some(value))
}

/// How to get what this kernel lacks: no command loads a module that was never built.
pub fn module_remedy(root: &Root, module: &str, option: &str) -> String {
    let is_built = |config: &str| ["=y", "=m"].iter().any(|value| has_option(config, option, value));
    if kernel_config(root).is_some_and(|(config, _)| !is_built(&config)) {
        return format!("use a kernel with {option} (the guest of syscost lab has it)");
    }
    format!("sudo modprobe {module}")
}

/// Is softirq time kept apart from the thread that it interrupts?
pub fn irq_time_accounting(root: &Root) -> Option<(bool, String)> {
    kernel_option(root, "CONFIG_IRQ_TIME_ACCOUNTING")
}

/// A line of /proc/meminfo, in bytes.
pub fn memory_bytes(root: &Root, name: &str) -> Option<u64> {
    let value = root.field("proc/meminfo", name)?;
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    Some(if words.next() == Some("kB") { number * 1024 } else { number })
}

/// A soft limit of this process: `Max open files`.
pub fn soft_limit(root: &Root, name: &str) -> Option<String> {
    let text = root.text("proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.to_string())
}

/// A line of /proc/self/status: `CapEff`.
pub fn status(root: &Root, name: &str) -> Option<String> {
    root.field("proc/self/status", name)
}

pub fn effective_uid(root: &Root) -> Option<u64> {
    status(root, "Uid")?.split_whitespace().nth(1)?.parse().ok()
}

/// Capabilities that some measurement here can use. Source: capabilities(7), linux/capability.h.
const CAPABILITIES: [(u32, &str); 6] = [
    (12, "CAP_NET_ADMIN"),
    (14, "CAP_IPC_LOCK"),
    (21, "CAP_SYS_ADMIN"),
    (23, "CAP_SYS_NICE"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
];

/// The effective capabilities of this process.
pub fn capability_bits(root: &Root) -> Option<u64> {
    u64::from_str_radix(&status(root, "CapEff")?, 16).ok()
}

/// Which of those this process holds; `none` is an answer too.
pub fn capabilities(root: &Root) -> Option<String> {
    let mask = capability_bits(root)?;
    let held = CAPABILITIES.iter().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, name)| *name);
    let held = held.collect::<Vec<_>>().join(", ");
    Some(if held.is_empty() { "none".into() } else { held })
}

/// Are these rights ours on the machine itself? Whoever owns a user namespace holds every capability inside it, and
/// the kernel asks for some of them outside.
pub fn holds(root: &Root, wanted: &[&str]) -> bool {
    let held = capabilities(root).unwrap_or_default();
    let holds = |name: &str| held.split(", ").any(|one| one == name);
    has_every_user(root) && (holds("CAP_SYS_ADMIN") || wanted.iter().all(|name| holds(name)))
}

/// Are the users of this process those of the machine, as they are outside of every user namespace?
pub fn has_every_user(root: &Root) -> bool {
    let everybody = |map: String| map.split_whitespace().collect::<Vec<_>>() == ["0", "0", "4294967295"];
    root.text("proc/self/uid_map").is_none_or(everybody)
}

/// What lets a socket use a congestion control that the kernel refused. One that it has and does not permit needs no
/// module. Source: net/ipv4/tcp_cong.c (tcp_set_congestion_control).
pub fn congestion_control_remedy(root: &Root, name: &str, errno: Option<i32>) -> String {
    let allowed = root.text("proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    let others: Vec<&str> = allowed.split_whitespace().filter(|other| *other != name).collect();
    if errno == Some(libc::EPERM) {
        let list = others.iter().copied().chain([name]).collect::<Vec<&str>>().join(" ");
        return format!("sudo sysctl net.ipv4.tcp_allowed_congestion_control=\"{list}\", or run as root");
    }
    let instead: String = others.iter().map(|other| format!(", or --congestion {other}")).collect();
    format!("sudo modprobe tcp_{name}{instead}")
}

/// `cpu12`, and not `cpufreq`.
fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;
    use std::io::Write;

    #[test]
    fn a_desktop_says_what_it_is() {
        let machine = Machine::empty();
        for cpu in 0..4 {
            let governor = if cpu == 3 { "performance\n" } else { "powersave\n" };
            machine.write(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"), governor);
        }
        machine.write(&format!("{CPU}/cpufreq/x"), "");
        machine.write(&format!("{CPU}/intel_pstate/no_turbo"), "0\n");
        machine.write(&format!("{CPU}/smt/active"), "1\n");
        machine.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        machine.write("proc/meminfo", "MemTotal:       16000 kB\nHugePages_Total:       7\n");
        machine
            .write("proc/self/limits", "Max open files            1024                 524288      files\n");
        machine.write("proc/self/status", "Uid:\t0\t1000\t0\t0\nCapEff:\t000000c000001000\n");
        machine.write("sys/class/dmi/id/sys_vendor", "LENOVO\n");
        let root = machine.root();
        assert_eq!(governors(&root).as_deref(), Some("performance, powersave"));
        assert_eq!(turbo(&root), Some(true));
        assert!(turbo_off_command(&root).contains("no_turbo"));
        assert_eq!(smt(&root), Some(true));
        assert_eq!(huge_pages(&root).as_deref(), Some("madvise"));
        assert_eq!(memory_bytes(&root, "MemTotal"), Some(16_384_000));
        assert_eq!(memory_bytes(&root, "HugePages_Total"), Some(7));
        assert_eq!(memory_bytes(&root, "Mem"), None);
        assert_eq!(soft_limit(&root, "Max open files").as_deref(), Some("1024"));
        assert_eq!(effective_uid(&root), Some(1000));
        assert_eq!(capabilities(&root).as_deref(), Some("CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF"));
        assert!(holds(&root, &["CAP_PERFMON", "CAP_BPF"]) && !holds(&root, &["CAP_SYS_NICE"]));
        machine.write("proc/self/uid_map", "         0       1000          1\n");
        assert!(!holds(&root, &["CAP_BPF"]), "held in a namespace, not on the machine");
        assert_eq!(hypervisor(&root).as_deref(), Some(NONE_SEEN));
        assert_eq!(container(&root), None, "no file says");
        machine.write("proc/self/cgroup", "0::/\n");
        assert_eq!(container(&root).as_deref(), Some(NONE_SEEN));
        assert_eq!(hypervisor(&Machine::empty().root()), None);
    }

    #[test]
    fn a_congestion_control_is_loaded_or_allowed() {
        let machine = Machine::empty();
        let remedy = |errno| congestion_control_remedy(&machine.root(), "cubic", Some(errno));
        assert_eq!(remedy(libc::ENOENT), "sudo modprobe tcp_cubic");
        machine.write("proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno bbr\n");
        assert_eq!(
            remedy(libc::ENOENT),
            "sudo modprobe tcp_cubic, or --congestion reno, or --congestion bbr"
        );
        let allow = "sudo sysctl net.ipv4.tcp_allowed_congestion_control=\"reno bbr cubic\", or run as root";
        assert_eq!(remedy(libc::EPERM), allow);
    }

    #[test]
    fn hypervisors_and_containers_show() {
        let machine = Machine::empty();
        machine.write("proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
        assert_eq!(hypervisor(&machine.root()).as_deref(), Some("of an unknown kind"));
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        machine.write(clocks, "tsc kvm-clock \n");
        assert_eq!(hypervisor(&machine.root()).as_deref(), Some("KVM"));
        let arm = Machine::empty();
        arm.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        arm.write("sys/class/dmi/id/product_name", "c7g.large\n");
        assert_eq!(hypervisor(&arm.root()).as_deref(), Some("Amazon EC2 c7g.large"));
        assert_eq!(emulator(&machine.root()), None);
        machine.write("proc/cmdline", "quiet syscost.emulated=TCG panic=-1\n");
        assert_eq!(emulator(&machine.root()).as_deref(), Some("TCG"));
        machine.write("proc/self/cgroup", "0::/kubepods/pod1\n");
        assert_eq!(container(&machine.root()).as_deref(), Some("kubepods"));
    }

    #[test]
    fn kernel_options_come_from_either_file() {
        let machine = Machine::empty();
        machine.write("proc/sys/kernel/osrelease", "6.1.0-1\n");
        assert_eq!(irq_time_accounting(&machine.root()), None);
        let config = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_IRQ_TIME_ACCOUNTING_X=y\n";
        let file = machine.root().path("proc/config.gz");
        let mut packed =
            flate2::write::GzEncoder::new(File::create(file).unwrap(), flate2::Compression::fast());
        packed.write_all(config.as_bytes()).unwrap();
        packed.finish().unwrap();
        assert_eq!(irq_time_accounting(&machine.root()), Some((false, "/proc/config.gz".into())));
        machine.write("boot/config-6.1.0-1", "CONFIG_IRQ_TIME_ACCOUNTING=y\n");
        assert_eq!(irq_time_accounting(&machine.root()), Some((true, "/boot/config-6.1.0-1".into())));
    }

    #[test]
    fn a_module_that_was_never_built_is_not_to_be_loaded() {
        let machine = Machine::empty();
        let remedy = || module_remedy(&machine.root(), "ipvlan", "CONFIG_IPVLAN");
        assert_eq!(remedy(), "sudo modprobe ipvlan", "nothing is known of the kernel");
        machine.write("proc/sys/kernel/osrelease", "6.1.0-1\n");
        machine.write("boot/config-6.1.0-1", "CONFIG_IPVLAN=m\nCONFIG_IPVLAN_L3S=y\n");
        assert_eq!(remedy(), "sudo modprobe ipvlan");
        machine.write("boot/config-6.1.0-1", "# CONFIG_IPVLAN is not set\nCONFIG_IPVLAN_L3S=y\n");
        assert_eq!(remedy(), "use a kernel with CONFIG_IPVLAN (the guest of syscost lab has it)");
    }
}
