//! Which cache level's misses fall most, and between which mechanisms?

use super::figures::{interval, short_place, times_within};
use syscost_analyze::answer::CacheLevel;
use syscost_analyze::finding::cache_levels::LevelMisses;
use syscost_core::units::significant;

/// `L1 data cache`
pub fn level(level: CacheLevel) -> &'static str {
    match level {
        CacheLevel::L1Data => "L1 data cache",
        CacheLevel::L1Instructions => "L1 instruction cache",
        CacheLevel::L2 => "L2 cache",
        CacheLevel::Last => "last-level cache",
        CacheLevel::General => "general cache event",
    }
}

/// Of the level that falls most.
pub fn headline(misses: &LevelMisses) -> String {
    let name = level(misses.level);
    match &misses.largest {
        Some(fall) => format!(
            "{name} misses fall most, {} from {} to {} at {}.",
            times_within(&fall.ratio),
            fall.more,
            fall.fewer,
            short_place(&fall.place)
        ),
        None => "No cache level's misses differ significantly between mechanisms.".into(),
    }
}

pub fn sentence(misses: &LevelMisses) -> String {
    let (name, pairs) = (level(misses.level), misses.pairs);
    match &misses.largest {
        Some(fall) => format!(
            "{name}: {} misses a message with {}, {} with {} ({}). {} of {pairs} pairs differ significantly.",
            significant(fall.fewer_misses),
            fall.fewer,
            significant(fall.more_misses),
            fall.more,
            interval(&fall.ratio),
            misses.differ
        ),
        None => format!("{name}: none of {pairs} pairs differ significantly."),
    }
}
