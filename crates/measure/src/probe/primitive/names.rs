//! Parts of names and descriptors: a path looked up, what each further name adds, a descriptor made and closed.

use super::{PlayedRound, Window, slope};
use crate::probe::named_file::NamedFile;
use anyhow::{Context, Result};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::ffi::CString;
use syscost_host::clock::monotonic_ns;

/// Names of paths that no row has.
const FEW: u64 = 3;
const MANY: u64 = 43;
/// Look-ups between two readings of the clock.
const LOOK_UPS: u64 = 32;

/// The path copied in, the walk begun and ended, and what is found asked for permission: of the root.
pub fn root_name(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    round.checked("there was no root", || accessat(CWD, c"/", Access::EXISTS, AtFlags::empty()).is_ok())
}

/// A name hashed, found in the kernel's cache, and asked for permission.
pub fn each_name(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let place = std::env::temp_dir();
    let file = NamedFile::below(place.to_str().context("no path in UTF-8")?, MANY)?;
    // The directories along the way are there too.
    let few = CString::new(["d"; FEW as usize].join("/"))?;
    let look_up = |path: &CString| {
        let start = monotonic_ns();
        for _ in 0..LOOK_UPS {
            accessat(&file.top, &**path, Access::EXISTS, AtFlags::empty())?;
        }
        Ok(monotonic_ns() - start)
    };
    slope(round, (MANY - FEW) * LOOK_UPS, || look_up(&few), || look_up(&file.path))
}

/// A descriptor with its file, made and closed.
pub fn descriptor(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    round.checked("a descriptor could not be made", || eventfd(0, EventfdFlags::CLOEXEC).map(drop).is_ok())
}
