//! Facts of the memory: sizes, pages, nodes.

use super::Facts;
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
    }

    fn pages(&mut self) {
        // The kernel names the page size of every mapping; the first is the program's own text.
        let page = self.root.field("proc/self/smaps", "KernelPageSize");
        let page = page.and_then(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
        self.add("page_bytes", "page, bytes", "/proc/self/smaps", page.map(|kib| kib * 1024));
        let path = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
        self.file("transparent_huge_page_bytes", "transparent huge page, bytes", path);
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
}
