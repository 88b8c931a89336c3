//! Parts of the memory's levels: dependent loads in a working set that one level serves, of a size that no row has.

use super::{PART, PlayedRound, Window};
use crate::probe::memory_latency::{self, levels::Levels};
use anyhow::{Context, Result};
use syscost_core::units::Unit;
use syscost_host::files::Root;
use syscost_host::{Unavailable, allowance, caches};

/// The working set of the part of this name.
pub fn bytes(part: &str) -> Result<u64, Unavailable> {
    let holds = |level| caches::data_bytes(&Root::here(), level);
    let known = holds(1).zip(holds(2)).map(|(l1, l2)| Levels::new(l1, l2, holds(3)));
    let level = known.as_ref().and_then(|levels| levels.find(part)).ok_or_else(|| Unavailable {
        reason: "this machine tells of no such level of cache".into(),
        remedy: "a machine that tells its caches in /sys/devices/system/cpu/cpu0/cache".into(),
    })?;
    if allowance::for_default_sizes().is_some_and(|bytes| level.bytes > bytes / 4) {
        let reason = format!("it needs {} of memory", Unit::Bytes.format(level.bytes as f64));
        return Err(Unavailable { reason, remedy: "a machine with four times as much".into() });
    }
    Ok(level.bytes)
}

/// A load that waits for the one before it.
pub fn load(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let part = round.point().text(PART).context("a part")?;
    let bytes = bytes(part)?;
    memory_latency::chase(round, bytes, false)
}
