//! syscost itself: one round of the `send` mechanism and the `recv` receiver, the built binary's
//! own workers in the same namespaces and on the same CPUs as every other tool.
//!
//! Axes that the comparison does not name keep the study's defaults, so that a new axis is picked
//! up here without a change.

use super::{Found, Peer, Visit};
use crate::cell::{Cell, Path};
use crate::namespace::{self, Namespace};
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use anyhow::{Context, Result, anyhow, bail};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use syscost::axis::{Point, Value};
use syscost::host::namespaces::{LinkSettings, Pair, Side};
use syscost::host::scratch::Scratch;
use syscost::plan::Case;
use syscost::probe::{self, Timing};
use syscost::stats;
use syscost::sys::program;
use syscost::worker::path::Paths;
use syscost::worker::{self, RoundError, Terms};

const PROBE: &str = "transfer";
const METRIC: &str = "throughput";
const WARM_UP: Duration = Duration::from_millis(100);
/// Beyond its own time; the same as for the other tools.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Syscost {
    id: &'static str,
    /// SO_RCVLOWAT of the receiver.
    low_water_bytes: u64,
}

/// With a receiver that is not woken for every segment: the generator itself must not be the
/// bottleneck, and wake-ups of the receiver are paid by the sender.
pub static LOW_WATER: Syscost = Syscost { id: "syscost-low-water", low_water_bytes: 1 << 20 };
/// As the study measures by default: the receiver sleeps and wakes as most programs do.
pub static AS_IT_COMES: Syscost = Syscost { id: "syscost", low_water_bytes: 1 };

impl Peer for Syscost {
    fn id(&self) -> &'static str {
        self.id
    }

    fn ours(&self) -> bool {
        true
    }

    fn source(&self) -> &'static str {
        "this repository"
    }

    fn find(&self) -> Result<Found, String> {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_syscost"));
        program::set(&binary);
        let profile = if cfg!(debug_assertions) { "debug build: compare nothing" } else { "release" };
        let hash = program::sha256().map_err(|error| format!("{}: {error}", binary.display()))?;
        let version = format!("{} {profile}, SHA-256 {}", env!("CARGO_PKG_VERSION"), &hash[..12]);
        Ok(Found { version, programs: vec![binary] })
    }

    fn not_applicable(&self, _cell: &Cell) -> Option<&'static str> {
        None
    }

    fn round(&self, visit: &Visit<'_>) -> Result<f64> {
        let point = point(visit.cell, visit.place, self.low_water_bytes)?;
        let (mut paths, _inside) = paths(visit.cell, visit.place, &point)?;
        let case = Case { index: 0, probe: PROBE.into(), point, twin_of: None };
        let terms = Terms {
            timing: Timing {
                warmup_ns: WARM_UP.as_nanos() as u64,
                window_ns: u64::from(visit.seconds) * 1_000_000_000,
                windows: 1,
            },
            tsc_hz: None,
            verify_all: false,
            patience: PATIENCE,
            interrupted: &|| visit.stop.load(Ordering::Relaxed),
        };
        let round =
            worker::round(&case, &terms, &mut paths, &mut Scratch::default()).map_err(
                |error| match error {
                    RoundError::Interrupted => anyhow!(Interrupted),
                    other => anyhow!(other),
                },
            )?;
        throughput(&case.point, &round.samples)
    }
}

/// The case's coordinates: what the cell names, else the study's first default.
fn point(cell: &Cell, place: &Place, low_water_bytes: u64) -> Result<Point> {
    let (sender, receiver) = place.cpus();
    let asked = [
        ("mechanism", Value::text("send")),
        ("receiver", Value::text("recv")),
        ("message_bytes", Value::Int(cell.message_bytes)),
        ("threads", Value::Int(cell.streams.into())),
        ("path", Value::text(cell.path.to_string())),
        ("nodelay", Value::text(cell.nodelay_text())),
        ("congestion_control", Value::text(CONGESTION_CONTROL)),
        ("socket_buffer_bytes", Value::Int(0)),
        ("low_water_bytes", Value::Int(low_water_bytes)),
        ("placement", Value::text(format!("{sender}:{receiver}"))),
    ];
    let probe = probe::find(PROBE).context("no such probe")?;
    let axes = probe.axes();
    if let Some((id, _)) = asked.iter().find(|(id, _)| !axes.iter().any(|axis| axis.id == *id)) {
        bail!("{PROBE} has no axis {id}");
    }
    let mut point = Point::default();
    for axis in &axes {
        if !probe.applies(axis.id, &point) {
            continue;
        }
        let asked = asked.iter().find(|(id, _)| *id == axis.id).map(|(_, value)| value.clone());
        let value = asked.or_else(|| (axis.default)().into_iter().next());
        point.set(axis.id, value.with_context(|| format!("axis {} has no default", axis.id))?);
    }
    Ok(point)
}

/// The links of this place, for the workers. Loopback workers inherit the namespace of this
/// thread, which is inside the place for as long as the guard lives.
fn paths(cell: &Cell, place: &Place, point: &Point) -> Result<(Paths, Option<Inside>)> {
    let mut paths = Paths::new("peers");
    if cell.path == Path::Loopback {
        return Ok((paths, Some(Inside::enter(place.sender().namespace)?)));
    }
    let side = |namespace: RawFd, address: std::net::Ipv4Addr, interface: &str| -> Result<Side> {
        Ok(Side {
            user_ns: None,
            net_ns: namespace::duplicate(namespace)?,
            address: address.into(),
            interface: interface.into(),
        })
    };
    let pair = Pair {
        sender: side(place.sender().namespace, place.sender_address, "sender")?,
        receiver: side(place.receiver().namespace, place.receiver_address, "receiver")?,
        facts: Default::default(),
    };
    let mtu = point.int("mtu").context("a veth point has an MTU")? as u32;
    paths.lend(&LinkSettings { mtu, offloads: point.on("offloads") }, pair);
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

/// The metric as reports compute it, over the verified samples.
fn throughput(point: &Point, samples: &[syscost::sample::Sample]) -> Result<f64> {
    let metrics = probe::find(PROBE).context("no such probe")?.metrics();
    let metric = metrics.iter().find(|metric| metric.id == METRIC).context("no such metric")?;
    let figures: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.verified)
        .filter_map(|sample| (metric.of)(sample, point))
        .collect();
    stats::median(&figures).context("no verified sample")
}
