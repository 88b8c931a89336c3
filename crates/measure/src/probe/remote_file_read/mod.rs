//! `remote_file_read`: what reading 4 KiB of a file on a file server costs.
//!
//! A real server (NFS) runs in one network namespace and a client in user space in another;
//! nothing is mounted, and no kernel client is needed. It measures no server at its best: one
//! client, one outstanding read, the server's own defaults wherever the work allows them. A file
//! system that is already mounted is `file_read`'s business, whatever its kind.

mod axes;
mod reader;
mod server;
mod serving;

use super::operation::{NetworkSides, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::rights::{
    FILE_HANDLES, FILL_OTHERS_DIRECTORIES, OTHER_GROUPS, OTHER_USERS, OTHERS_DIRECTORIES, OWN_MOUNTS, Rights,
    SERVICE_PORTS,
};
use super::row::Row;
use super::{Needs, Timing, directory, file_read, network, primitive, tcp_round_trip};
use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_PATTERN};
use crate::probe::transfer::axes::PATH;
use syscost_core::axis::Point;
use syscost_core::units::Unit;
use syscost_host::{Unavailable, namespaces};

const SERVER: &str = "server";
const READER: &str = "reader";

/// The server trusts whoever reaches it: it is started where nobody else can.
fn served_alone(path: &str) -> Result<(), Unavailable> {
    let reason = match path {
        axes::VETH => return Ok(()),
        network::LOOPBACK => "on the host's loopback other users of this machine could reach the server",
        _ => "the server would be open to every user who reaches that namespace or host",
    };
    Err(Unavailable {
        reason: reason.into(),
        remedy:
            "measure it between namespaces of its own, --path veth; for a server that is there, mount it and \
                 measure that directory with file_read"
                .into(),
    })
}

pub static REMOTE_FILE_READ: SystemOperation = SystemOperation {
    id: "remote_file_read",
    title: "reading 4 KiB of a file on a server",
    method: "An NFS 4 server in one network namespace serves a file of random bytes to a client library \
             in another, over a veth pair. Each read is timed by itself, is one request to the server (the \
             client caches and reads ahead nothing), and what it brings is compared with the file.",
    source: "RFC 7530, READ; CSE 221 system measurement project",
    roles: &[SERVER, READER],
    axes: axes::all,
    available,
    needs: |point| Needs::files(vec![directory::file(point, point.int(FILE_BYTES).unwrap_or(0), 0)]),
    rights,
    timing: Some(timing),
    sides: Some(NetworkSides { serve: serving::play, ask: reader::play, counted: None }),
    row: Some(row),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn available(point: &Point) -> Result<(), Unavailable> {
    served_alone(point.text(PATH).unwrap_or_default())?;
    directory::available(point)?;
    server::available()?;
    namespaces::available().map(|_| ())
}

fn rights(role: &str) -> Rights {
    match role {
        SERVER => Rights(vec![
            FILL_OTHERS_DIRECTORIES,
            OWN_MOUNTS,
            OTHER_USERS,
            OTHER_GROUPS,
            FILE_HANDLES,
            SERVICE_PORTS,
        ]),
        _ => Rights(vec![OTHERS_DIRECTORIES]),
    }
}

/// Some hundreds of reads a window: a server takes much longer to start than a window.
fn timing(_: &Point, base: Timing) -> Timing {
    const WARMUP_NS: u64 = 10_000_000;
    const WINDOW_NS: u64 = 40_000_000;
    Timing { warmup_ns: base.warmup_ns.max(WARMUP_NS), window_ns: base.window_ns.max(WINDOW_NS), ..base }
}

fn row(point: &Point) -> Option<Row> {
    let (pattern, cache) = (point.text(READ_PATTERN)?, point.text(PAGE_CACHE)?);
    let cached = if cache == axes::WARM { "cached by the server" } else { "server's page cache dropped" };
    let row = Row::listed(format!("NFS, {pattern}, {cached}"));
    // The published report read over its one file server; NFS is the nearest to it.
    Some(row.as_published(file_read::PUBLISHED, format!("remote {pattern}")))
}

/// A request goes to the server and 4 KiB come back; between, the server reads as a local
/// process would. The pair of links has no wire: all of it is software, unless the disk is read.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let random = point.text(READ_PATTERN) == Some(axes::RANDOM);
    let (bytes, place) = (point.int(FILE_BYTES)?, directory::of(point));
    let warm = point.text(PAGE_CACHE) == Some(axes::WARM);
    let way = if warm { file_read::ReadWay::Cached } else { file_read::ReadWay::Dropped };
    inputs.constant("wire", 0.0, Unit::Nanoseconds, "a veth pair has none: veth(4)");
    inputs.row("local_read", file_read::cost_of(way, random, bytes, place));
    inputs.row("round_trip", tcp_round_trip::exchange(axes::VETH));
    let says = "threads that a request passes: the server's worker, and the client's kernel thread that takes the answer";
    inputs.constant("hand_overs", 2.0, Unit::Count, says);
    inputs.row("wake_other_core", primitive::cost_of("wake_other_core"));
    Some(inputs.hardware_and_software("wire", "round_trip + local_read + hand_overs * wake_other_core"))
}
