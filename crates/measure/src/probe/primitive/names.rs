//! Parts of names and descriptors: a path looked up, what each further name adds, a descriptor made and closed.

use super::{Channel, Pinned, Task, Window, slope};
use crate::probe::batch;
use crate::probe::named_file::NamedFile;
use anyhow::{Context, Result, ensure};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::ffi::CString;
use std::hint::black_box;
use syscost_host::clock::monotonic_ns;

/// Names of paths that no row has.
const FEW: u64 = 3;
const MANY: u64 = 43;
/// Look-ups between two readings of the clock.
const LOOK_UPS: u64 = 32;

/// The path copied in, the walk begun and ended, and what is found asked for permission: of the root.
pub fn root_name(task: &Task, _: Pinned, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let mut wrong = 0u64;
    channel.ready()?;
    let there = || accessat(CWD, c"/", Access::EXISTS, AtFlags::empty()).is_ok();
    let body = |n| (0..n).for_each(|_| wrong += u64::from(!there()));
    let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
    ensure!(wrong == 0, "{wrong} times there was no root");
    Ok(windows)
}

/// A name hashed, found in the kernel's cache, and asked for permission.
pub fn each_name(task: &Task, _: Pinned, channel: &mut dyn Channel) -> Result<Vec<Window>> {
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
    channel.ready()?;
    slope(task, (MANY - FEW) * LOOK_UPS, || look_up(&few), || look_up(&file.path))
}

/// A descriptor with its file, made and closed.
pub fn descriptor(task: &Task, _: Pinned, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let mut failed = 0u64;
    channel.ready()?;
    let made = || eventfd(0, EventfdFlags::CLOEXEC).map(drop).is_ok();
    let body = |n| (0..n).for_each(|_| failed += u64::from(!made()));
    let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
    ensure!(failed == 0, "{failed} descriptors could not be made");
    Ok(windows)
}
