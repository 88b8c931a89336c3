//! Facts of the memory: sizes, pages, nodes, modules.

use super::Facts;
use crate::files::Root;
use crate::settings;

impl Facts {
    pub(super) fn memory(&mut self) {
        for (id, title, name) in [
            ("memory_bytes", "memory, bytes", "MemTotal"),
            ("memory_available_bytes", "memory available, bytes", "MemAvailable"),
            ("swap_bytes", "swap, bytes", "SwapTotal"),
        ] {
            self.add(id, title, "/proc/meminfo", settings::memory_bytes(&self.root, name));
        }
        let pages = settings::huge_pages(&self.root);
        let source = "/sys/kernel/mm/transparent_hugepage/enabled";
        self.add("transparent_huge_pages", "transparent huge pages", source, pages);
        self.pages();
        self.nodes();
        self.modules();
    }

    fn pages(&mut self) {
        // The kernel names the page size of every mapping; the first is the program's own text.
        let page = self.root.field("proc/self/smaps", "KernelPageSize");
        let page = page.and_then(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
        self.add("page_bytes", "page, bytes", "/proc/self/smaps", page.map(|kib| kib * 1024));
        let path = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
        self.file("transparent_huge_page_bytes", "transparent huge page, bytes", path);
        let folder = "sys/kernel/mm/hugepages";
        let mut sizes: Vec<(u64, u64)> = Vec::new();
        for name in self.root.names(folder) {
            let kib = name.strip_prefix("hugepages-").and_then(|n| n.strip_suffix("kB")?.parse::<u64>().ok());
            let reserved = self.root.number(&format!("{folder}/{name}/nr_hugepages"));
            sizes.extend(kib.map(|kib| (kib * 1024, reserved.unwrap_or(0))));
        }
        sizes.sort();
        let list = |of: fn(&(u64, u64)) -> u64| {
            let texts: Vec<String> = sizes.iter().map(|size| of(size).to_string()).collect();
            (!texts.is_empty()).then(|| texts.join(" "))
        };
        let source = format!("/{folder}");
        self.add("huge_page_sizes_bytes", "huge page sizes, bytes", &source, list(|size| size.0));
        self.add("huge_pages_reserved", "huge pages reserved, by size", &source, list(|size| size.1));
    }

    fn nodes(&mut self) {
        let folder = "sys/devices/system/node";
        let of_node = |name: String| self.root.text(&format!("{folder}/{name}/distance"));
        let numbered = |name: &String| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok());
        let rows: Vec<String> =
            self.root.names(folder).into_iter().filter(numbered).filter_map(of_node).collect();
        let table = (!rows.is_empty()).then(|| rows.join(" / "));
        self.add(
            "numa_distances",
            "NUMA distances, node by node",
            &format!("/{folder}/node*/distance"),
            table,
        );
    }

    fn modules(&mut self) {
        let modules = MemoryModule::all(&self.root);
        let source = "/sys/firmware/dmi/entries/17-*";
        let count = (!modules.is_empty()).then_some(modules.len());
        self.add("memory_modules", "memory modules", source, count);
        let slowest = modules.iter().filter_map(|m| m.transfers_per_second).min();
        self.add("memory_transfers_per_second", "memory speed, transfers a second", source, slowest);
        let width = modules.iter().filter_map(|m| m.data_bits).min();
        self.add("memory_module_data_bits", "width of a memory module, bits", source, width);
    }
}

/// A memory module of the firmware's table (SMBIOS type 17), which only root may read.
struct MemoryModule {
    transfers_per_second: Option<u64>,
    data_bits: Option<u64>,
}

impl MemoryModule {
    /// The modules that are plugged in.
    fn all(root: &Root) -> Vec<MemoryModule> {
        let folder = "sys/firmware/dmi/entries";
        let devices = root.names(folder).into_iter().filter(|name| name.starts_with("17-"));
        devices
            .filter_map(|name| MemoryModule::parse(&root.bytes(&format!("{folder}/{name}/raw"))?))
            .collect()
    }

    /// Source: DMTF DSP0134, System Management BIOS, 7.18; `None` for an empty socket.
    fn parse(table: &[u8]) -> Option<MemoryModule> {
        let word = |at: usize| Some(u16::from_le_bytes(table.get(at..at + 2)?.try_into().ok()?));
        let known = |at: usize| word(at).filter(|n| *n != 0 && *n != 0xffff).map(u64::from);
        let length = *table.get(1)? as usize;
        known(0x0c)?;
        // The configured speed is what the machine runs it at; older tables have the highest only.
        let speed = known(0x20).filter(|_| length > 0x21).or_else(|| known(0x15));
        Some(MemoryModule { transfers_per_second: speed.map(|n| n * 1_000_000), data_bits: known(0x0a) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_runs_at_its_configured_speed() {
        let mut table = [0u8; 0x28];
        (table[0], table[1]) = (17, 0x28);
        assert!(MemoryModule::parse(&table).is_none(), "an empty socket");
        table[0x0a] = 64;
        table[0x0c..0x0e].copy_from_slice(&16384u16.to_le_bytes());
        table[0x15..0x17].copy_from_slice(&3200u16.to_le_bytes());
        let speed = |table: &[u8]| MemoryModule::parse(table).unwrap().transfers_per_second;
        assert_eq!(speed(&table), Some(3_200_000_000));
        table[0x20..0x22].copy_from_slice(&2933u16.to_le_bytes());
        assert_eq!(speed(&table), Some(2_933_000_000));
        assert_eq!(MemoryModule::parse(&table).unwrap().data_bits, Some(64));
        assert_eq!(speed(&table[..0x17]), Some(3_200_000_000), "a table that ends early");
    }
}
