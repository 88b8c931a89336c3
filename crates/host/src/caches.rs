//! The caches of the first CPU, as sysfs tells them.

use crate::files::Root;

const FOLDER: &str = "sys/devices/system/cpu/cpu0/cache";

/// One cache of the first CPU.
pub struct CacheOfCpu {
    /// Below the root: where its files are.
    pub folder: String,
    pub level: u64,
    /// `d` of data alone, `i` of instructions alone; empty of both.
    pub suffix: &'static str,
    pub bytes: Option<u64>,
    /// Lines of a set; `None`: the kernel does not say.
    pub ways: Option<u64>,
}

pub fn folder() -> &'static str {
    FOLDER
}

/// Each once, in the order of the kernel.
pub fn of_first_cpu(root: &Root) -> Vec<CacheOfCpu> {
    let names = root.names(FOLDER).into_iter().filter(|name| name.starts_with("index"));
    names.filter_map(|name| cache_in(root, format!("{FOLDER}/{name}"))).collect()
}

fn cache_in(root: &Root, folder: String) -> Option<CacheOfCpu> {
    let read = |file: &str| root.text(&format!("{folder}/{file}"));
    let level = read("level")?.parse().ok()?;
    let suffix = match read("type").as_deref() {
        Some("Data") => "d",
        Some("Instruction") => "i",
        _ => "",
    };
    let bytes = read("size").and_then(|text| syscost_core::units::parse_bytes(&text).ok());
    let ways = read("ways_of_associativity").and_then(|text| text.parse().ok()).filter(|ways| *ways > 0);
    Some(CacheOfCpu { folder, level, suffix, bytes, ways })
}

/// What holds data at this level.
pub fn data_bytes(root: &Root, level: u64) -> Option<u64> {
    of_first_cpu(root).iter().find(|cache| cache.level == level && cache.suffix != "i")?.bytes
}
