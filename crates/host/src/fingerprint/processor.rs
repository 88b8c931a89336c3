//! Facts of the processor: cores, caches, frequencies, counters of time.

use super::{CPU, Facts, on, yes};
use crate::caches::{self, CacheOfCpu};
use crate::files::{parse_list, show_list};
use crate::topology::Topology;
use crate::{clock, settings};
use syscost_sys::{affinity, cpuid};

impl Facts {
    pub(super) fn processor(&mut self) {
        let root = self.root.clone();
        let field = |name: &str| root.field("proc/cpuinfo", name);
        // Arm names implementer and part by number, and boards name themselves.
        let arm = || {
            let part = format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?);
            Some(part.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let model = field("model name").or_else(|| self.root.text("proc/device-tree/model")).or_else(arm);
        self.add("cpu_model", "CPU model", "/proc/cpuinfo", model);
        let x86 = || {
            let of = |name: &str, key: &str| Some(format!("{name} {}", field(key)?));
            Some([field("vendor_id")?, of("family", "cpu family")?, of("model", "model")?].join(" "))
        };
        self.add("cpu_family", "CPU vendor, family and model", "/proc/cpuinfo", x86().or_else(arm));
        self.add("cpu_microcode", "microcode", "/proc/cpuinfo", field("microcode"));
        self.add("architecture", "architecture", "the build", Some(std::env::consts::ARCH));

        let online = self.root.list(&format!("{CPU}/online"));
        let topology = online.as_ref().map(|cpus| Topology::read_from(&self.root, cpus));
        let topology = topology.filter(Topology::is_told);
        let source = format!("/{CPU}/online");
        self.add("cpus_online", "CPUs online", &source, online.as_deref().map(show_list));
        let allowed = settings::status(&self.root, "Cpus_allowed_list");
        let online_only = |list: String| {
            let online = online.as_ref()?;
            let list = parse_list(&list)?;
            Some(show_list(&list.into_iter().filter(|cpu| online.contains(cpu)).collect::<Vec<_>>()))
        };
        self.add("cpus_allowed", "CPUs allowed", "/proc/self/status", allowed.and_then(online_only));
        let source = format!("/{CPU}/cpu*/topology");
        let count = |of: fn(&Topology) -> usize| topology.as_ref().map(|t| of(t).to_string());
        let (cores, packages, nodes) =
            (count(Topology::cores), count(Topology::packages), count(Topology::nodes));
        let hybrid = topology.as_ref().map(|t| yes(t.is_hybrid()));
        self.add("cpu_cores", "physical cores", &source, cores);
        self.add("cpu_sockets", "sockets", &source, packages);
        self.add("numa_nodes", "NUMA nodes", "/sys/devices/system/node", nodes);
        self.add("cpu_hybrid", "two kinds of cores", "/sys/devices/cpu_core, cpu_capacity", hybrid);
        let smt = settings::smt(&self.root).map(on);
        self.add("smt", "SMT", &format!("/{CPU}/smt/active"), smt);
        self.caches();
    }

    /// Caches of the first CPU, each once.
    fn caches(&mut self) {
        let mut line_bytes = None;
        for CacheOfCpu { folder, level, suffix, bytes, .. } in caches::of_first_cpu(&self.root) {
            let read = |file: &str| self.root.text(&format!("{folder}/{file}"));
            let (ways, cpus) = (read("ways_of_associativity"), read("shared_cpu_list"));
            line_bytes = line_bytes.or_else(|| read("coherency_line_size"));
            let (id, title) = (format!("cache_l{level}{suffix}"), format!("L{level}{suffix} cache"));
            let source = format!("/{folder}");
            self.add(format!("{id}_bytes"), format!("{title}, bytes"), &source, bytes);
            self.add(format!("{id}_ways"), format!("{title}, ways"), &source, ways);
            self.add(format!("{id}_cpus"), format!("{title} of CPU 0 is shared by CPUs"), &source, cpus);
        }
        self.add("cache_line_bytes", "cache line, bytes", &format!("/{}", caches::folder()), line_bytes);
    }

    pub(super) fn frequency(&mut self) {
        let folder = format!("{CPU}/cpu0/cpufreq");
        let file = |file: &str| (self.root.number(&format!("{folder}/{file}")), format!("/{folder}/{file}"));
        let (base, highest) = (file("base_frequency"), file("cpuinfo_max_freq"));
        let (base, source) = match base.0 {
            Some(khz) => (Some(khz * 1000), base.1),
            None => (self.hertz_of_model_name(), "the model name in /proc/cpuinfo".into()),
        };
        self.add("cpu_base_hertz", "nominal frequency, Hz", &source, base);
        let highest_hertz = highest.0.map(|khz| khz * 1000);
        self.add("cpu_max_hertz", "highest frequency, Hz", &highest.1, highest_hertz);
        self.file("cpu_frequency_driver", "frequency driver", &format!("{folder}/scaling_driver"));
        let governors = settings::governors(&self.root);
        let source = format!("/{CPU}/cpu*/cpufreq/scaling_governor");
        self.add("cpu_governor", "frequency governor", &source, governors);
        let turbo = settings::turbo(&self.root).map(on);
        let source = format!("/{CPU}/intel_pstate/no_turbo, /{CPU}/cpufreq/boost");
        self.add("turbo", "turbo", &source, turbo);
        self.file("idle_driver", "idle driver", &format!("{CPU}/cpuidle/current_driver"));
        let clocksource = clock::clocksource(&self.root);
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        self.add("clocksource", "clock source", source, clocksource);
    }

    /// Intel writes the nominal frequency into the name: `Xeon(R) Gold 6130 CPU @ 2.10GHz`.
    fn hertz_of_model_name(&self) -> Option<u64> {
        let name = self.root.field("proc/cpuinfo", "model name")?;
        let gigahertz: f64 = name.rsplit_once('@')?.1.trim().strip_suffix("GHz")?.trim().parse().ok()?;
        Some((gigahertz * 1e9).round() as u64)
    }

    /// What can only be found by running here.
    pub(super) fn running_clocks(&mut self) {
        let counter = clock::tick_counter();
        let source = counter.map_or("the processor", |c| c.source);
        let hertz = counter.map(|c| format!("{:.0}", c.hertz));
        self.add("tick_counter_hertz", "time-stamp counter, Hz", source, hertz);
        let invariant = counter.and_then(|c| c.invariant).map(yes);
        self.add("tick_counter_invariant", "time-stamp counter of constant rate", "/proc/cpuinfo", invariant);
        let declared = counter.and_then(|c| c.declared);
        let source = declared.map_or("CPUID, /proc/cpuinfo", |d| d.source);
        let hertz = declared.map(|d| format!("{:.0}", d.hertz));
        self.add("tick_counter_declared_hertz", "time-stamp counter as declared, Hz", source, hertz);
        let difference = counter.and_then(|c| c.difference).map(|d| format!("{:.0}", d * 1e6));
        let how = "calibration against CLOCK_MONOTONIC over the declared rate";
        let title = "time-stamp counter: measured less declared, ppm";
        self.add("tick_counter_difference_ppm", title, how, difference);
        // Where no instruction says so, the boot options do.
        let none = || (cfg!(target_arch = "x86_64") || self.root.exists("proc/cmdline")).then(|| "no".into());
        if let Some(emulator) = settings::emulator_here().or_else(none) {
            self.tell("emulated", "CPUID leaf 0x40000000", emulator);
        }
        if let Some(nominal) = cpuid::nominal() {
            self.tell("cpu_base_hertz", nominal.source, format!("{:.0}", nominal.hertz));
        }
        let core = clock::core_hertz().map(|hertz| format!("{hertz:.0}"));
        let how = "the fastest of several looks at a chain of one-cycle steps, at the start of the run";
        self.add("core_hertz", "core frequency while measuring, Hz", how, core);
        let reading = clock::clock_reading();
        let how = "clock_gettime(2) timed against the bare system call";
        self.add("clock_by_vdso", "clock read without a system call", how, Some(yes(reading.by_vdso)));
        let cost = Some(format!("{:.1}", reading.cost_ns));
        self.add("clock_reading_ns", "cost of reading the clock, ns", how, cost);
        if let Ok(cpus) = affinity::allowed() {
            let (title, cpus) = ("CPUs of the measuring thread", show_list(&cpus));
            self.add("cpus_of_this_thread", title, "sched_getaffinity(2)", Some(cpus));
        }
    }
}
