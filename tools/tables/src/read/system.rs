//! Descriptions of a machine, as /proc/cpuinfo, lscpu and /proc/meminfo write them: their numbers are no results.

/// Keys that only such a description has together; what stands between two of them is a part of it.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "processor", "vendor_id", "vendor id", "cpu family", "model", "model name", "stepping", "microcode", "cpu mhz", "cache size", "physical id", "siblings",
    "core id", "cpu cores", "apicid", "initial apicid", "fpu", "fpu_exception", "cpuid level", "wp", "flags", "bugs", "bogomips", "clflush size", "tlb size",
    "cache_alignment", "address sizes", "power management", "vmx flags", "features", "cpu implementer", "cpu architecture", "cpu variant", "cpu part",
    "cpu revision", "architecture", "cpu op-mode(s)", "byte order", "cpu(s)", "on-line cpu(s) list", "thread(s) per core", "core(s) per socket",
    "core(s) per cluster", "cluster(s)", "socket(s)", "numa node(s)", "cpu max mhz", "cpu min mhz", "cpu(s) scaling mhz", "frequency boost", "virtualization",
    "virtualization type", "hypervisor vendor", "l1d cache", "l1i cache", "l2 cache", "l3 cache", "memtotal", "memfree", "memavailable", "buffers", "cached",
    "swapcached", "swaptotal", "swapfree", "dirty", "writeback", "anonpages", "mapped", "shmem", "slab", "pagetables", "hugepages_total", "hugepagesize",
    "directmap4k", "directmap2m", "directmap1g",
];
/// First words of others.
const BEGINNINGS: [&str; 2] = ["numa node", "vulnerability "];
/// Of a description.
const FEWEST: usize = 3;
const LONGEST_KEY: usize = 40;

/// The other lines, each where it stands, and the first line of a description, from 1. `None`: there is none.
pub fn without(text: &str) -> Option<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let keys: Vec<Option<String>> = lines.iter().map(|line| key(line)).collect();
    let mut kept: Vec<bool> = vec![true; lines.len()];
    let mut from = 0;
    for block in keys.chunk_by(|one, other| one.is_some() == other.is_some()) {
        let known = |at: &usize| block[*at].as_deref().is_some_and(is_known);
        let known: Vec<usize> = (0..block.len()).filter(known).collect();
        if let ([first, .., last], true) = (&known[..], known.len() >= FEWEST) {
            kept[from + first..=from + last].fill(false);
        }
        from += block.len();
    }
    let first = kept.iter().position(|kept| !kept)? + 1;
    let lines =
        lines.iter().zip(kept).map(|(line, kept)| if kept { format!("{line}\n") } else { "\n".into() });
    Some((lines.collect(), first))
}

fn key(line: &str) -> Option<String> {
    let (key, _) = line.split_once(':')?;
    Some(key.trim().to_lowercase()).filter(|key| !key.is_empty() && key.len() <= LONGEST_KEY)
}

fn is_known(key: &str) -> bool {
    KEYS.contains(&key) || BEGINNINGS.iter().any(|begins| key.starts_with(begins))
}
