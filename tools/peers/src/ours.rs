//! Our side of a comparison: one round of a case, the built binary's own workers in the same
//! namespaces and on the same CPUs as every other tool.
//!
//! Axes that a comparison does not name keep the study's defaults, so that a new axis is picked up
//! here without a change.

use crate::cell::{Cell, Path};
use crate::namespace::{self, Namespace};
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use crate::program::Found;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_core::stats;
use syscost_experiment::plan::Case;
use syscost_harness::worker::path::Paths;
use syscost_harness::worker::{self, RoundError, RoundOptions};
use syscost_host::namespaces::{NamespacePair, NamespaceSide, PairSettings};
use syscost_host::scratch::Scratch;
use syscost_measure::probe::transfer::axes::{MTU, OFFLOADS};
use syscost_measure::probe::{self, Timing};
use syscost_sys::program;

/// What a window of ours leaves out at its start; a receiver of ours that serves another tool's
/// sender leaves out the same.
pub const WARM_UP: Duration = Duration::from_millis(100);
/// Beyond its own time; the same as for the other tools.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a visit gets to work with.
pub struct Visit<'a> {
    pub place: &'a Place,
    pub cell: &'a Cell,
    pub seconds: u32,
    pub stop: &'a AtomicBool,
}

/// A case of ours: axes by id, values as on the command line.
pub struct Asked<'a> {
    pub probe: &'a str,
    pub metric: &'a str,
    pub at: &'a [(String, String)],
}

/// The program that cargo built beside this one, as the comparison records it.
pub fn find() -> Result<Found> {
    let binary = std::env::current_exe()?.with_file_name("syscost");
    ensure!(binary.is_file(), "{} is missing: cargo build --release", binary.display());
    program::set(&binary);
    let profile = if cfg!(debug_assertions) { "debug build: compare nothing" } else { "release" };
    let hash = program::sha256().with_context(|| binary.display().to_string())?;
    Ok(Found { version: format!("{} {profile}, SHA-256 {}", env!("CARGO_PKG_VERSION"), &hash[..12]) })
}

/// One round of fresh workers: the metric as reports compute it, over the verified samples.
pub fn figure(asked: &Asked<'_>, visit: &Visit<'_>) -> Result<f64> {
    let point = point(asked, visit)?;
    let (mut paths, _inside) = paths(visit.cell.path, visit.place, &point)?;
    let case = Case { index: 0, probe: asked.probe.into(), point, twin_of: None };
    let timing = timing(&case, visit.seconds)?;
    let interrupted = || visit.stop.load(Ordering::Relaxed);
    let terms = RoundOptions::of(timing, PATIENCE, &interrupted);
    let round =
        worker::round(&case, &terms, &mut paths, &mut Scratch::default()).map_err(|error| match error {
            RoundError::Interrupted => anyhow!(Interrupted),
            other => anyhow!(other),
        })?;
    metric(asked, &case.point, &round.samples)
}

/// What makes the probe's own window as long as a visit: a probe may stretch what it is asked for.
fn timing(case: &Case, seconds: u32) -> Result<Timing> {
    let window_ns = u64::from(seconds) * 1_000_000_000;
    let plain = Timing { warmup_ns: WARM_UP.as_nanos() as u64, window_ns, windows: 1 };
    let probe = probe::find(&case.probe).with_context(|| format!("no probe {}", case.probe))?;
    let stretched = probe.timing(&case.point, plain).window_ns as f64 / window_ns as f64;
    Ok(Timing { window_ns: (window_ns as f64 / stretched) as u64, ..plain })
}

/// The coordinates of a transfer: what was asked, the place and the cell.
fn point(asked: &Asked<'_>, visit: &Visit<'_>) -> Result<Point> {
    let (sender, receiver) = visit.place.cpus();
    let cell = visit.cell;
    let common = [
        ("message_bytes", cell.message_bytes.to_string()),
        ("threads", cell.streams.to_string()),
        ("path", cell.path.to_string()),
        ("nodelay", cell.nodelay_text().to_string()),
        ("congestion_control", CONGESTION_CONTROL.to_string()),
        ("mtu", visit.place.mtu.clone()),
        ("placement", format!("{sender}:{receiver}")),
    ];
    let point = resolved(asked.probe, asked.at, &common)?;
    if let Err(why) = probe::find(asked.probe).context("resolved above")?.available(&point) {
        bail!("{}: {}", why.reason, why.remedy);
    }
    Ok(point)
}

/// The coordinates of a case: what was asked, else what is common, else the first default.
pub fn resolved(probe: &str, at: &[(String, String)], common: &[(&str, String)]) -> Result<Point> {
    let found = probe::find(probe).with_context(|| format!("no probe {probe}"))?;
    let mut point = Point::default();
    for axis in &found.axes() {
        if !found.applies(axis.id, &point) {
            continue;
        }
        let asked = at.iter().find(|(id, _)| *id == axis.id).map(|(_, text)| text);
        let named = asked.or(common.iter().find(|(id, _)| *id == axis.id).map(|(_, text)| text));
        let value = match named {
            Some(text) => axis.parse(text)?,
            None => {
                axis.default().into_iter().next().with_context(|| format!("{} has no default", axis.id))?
            }
        };
        point.set(axis.id, value);
    }
    if let Some((id, _)) = at.iter().find(|(id, _)| point.get(id).is_none()) {
        bail!("{probe} has no axis {id} there");
    }
    Ok(point)
}

/// The links of this place, for the workers. Loopback workers inherit the namespace of this
/// thread, which is inside the place for as long as the guard lives.
fn paths(path: Path, place: &Place, point: &Point) -> Result<(Paths, Option<Inside>)> {
    let mut paths = Paths::new("peers");
    if path == Path::Loopback {
        return Ok((paths, Some(Inside::enter(place.sender().namespace)?)));
    }
    let side = |namespace: RawFd, address: std::net::Ipv4Addr, interface: &str| -> Result<NamespaceSide> {
        Ok(NamespaceSide {
            user_ns: None,
            net_ns: namespace::duplicate(namespace)?,
            address: address.into(),
            interface: interface.into(),
        })
    };
    let pair = NamespacePair {
        sender: side(place.sender().namespace, place.sender_address, "sender")?,
        receiver: side(place.receiver().namespace, place.receiver_address, "receiver")?,
        hub: None,
        facts: Default::default(),
    };
    let mtu = point.int(MTU).context("a veth point has an MTU")? as u32;
    paths.lend(PairSettings::veth(mtu, point.on(OFFLOADS)), pair);
    Ok((paths, None))
}

/// This thread is in another network namespace until this is dropped.
struct Inside(Namespace);

impl Inside {
    fn enter(namespace: RawFd) -> Result<Inside> {
        let back = Namespace::current()?;
        namespace::enter(namespace)?;
        Ok(Inside(back))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        namespace::enter(self.0.fd()).expect("the way back is held open");
    }
}

fn metric(asked: &Asked<'_>, point: &Point, samples: &[Sample]) -> Result<f64> {
    let metrics = probe::find(asked.probe).context("no such probe")?.metrics();
    let metric = metrics
        .iter()
        .find(|metric| metric.id == asked.metric)
        .with_context(|| format!("{} has no metric {}", asked.probe, asked.metric))?;
    let figures: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.verified)
        .filter_map(|sample| (metric.of)(sample, point))
        .collect();
    stats::median(&figures).context("no verified sample")
}
