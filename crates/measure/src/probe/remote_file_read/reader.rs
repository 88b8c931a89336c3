//! The reader's side of a round: 4 KiB at a time through the client library, every block verified.

use super::super::{Channel, RoleReport, Task, batch};
use super::axes;
use super::server;
use super::serving::Offer;
use crate::probe::blocks::{self, BLOCK_BYTES};
use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_PATTERN};
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use syscost_core::stats::random::Random;
use syscost_host::clock::monotonic_ns;
use syscost_host::{Unavailable, scratch};
use syscost_sys::nfs_client::NfsFile;

pub fn play(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let offer: Offer = serde_json::from_value(task.peer.clone().context("the server offered nothing")?)?;
    let _until_closed = TcpStream::connect((offer.server.as_str(), offer.until_closed_port))
        .context("the server's worker does not answer")?;
    let facts = batch::settle_on_one_cpu();
    let remote = server::open(&offer.server).context("the client cannot open the file")?;
    let mut reads = Reads::new(task, remote, &offer)?;
    let overhead_ns = batch::clock_overhead_ns();
    channel.ready()?;
    let windows = batch::operations(task, overhead_ns, || reads.next())?;
    Ok(RoleReport { windows, facts, ..RoleReport::default() })
}

/// Passes over the file, each block once in a pass.
struct Reads {
    remote: NfsFile,
    /// The served file, for the state of its cache.
    served: File,
    /// What the served file was copied from, where every byte is to be compared.
    original: Option<File>,
    bytes: u64,
    warm: bool,
    order: Vec<u64>,
    next: usize,
    random: Option<Random>,
    buffer: Vec<u8>,
}

impl Reads {
    fn new(task: &Task, remote: NfsFile, offer: &Offer) -> Result<Reads> {
        let served = File::open(&offer.file).context("cannot open the served file here")?;
        let bytes = task.point.int(FILE_BYTES).context("a size of file")?;
        let random = task.point.text(READ_PATTERN) == Some(axes::RANDOM);
        let original = task.files.first().filter(|_| task.verify_all).map(File::open).transpose()?;
        let mut reads = Reads {
            remote,
            served,
            original,
            bytes,
            warm: task.point.text(PAGE_CACHE) == Some(axes::WARM),
            order: (0..bytes.div_ceil(BLOCK_BYTES)).collect(),
            next: 0,
            random: random.then(|| Random::new(blocks::seed(task))),
            buffer: vec![0; BLOCK_BYTES as usize],
        };
        reads.begin_pass()?;
        Ok(reads)
    }

    /// Puts the server's cache into the state of the case, and the blocks into the pass's order.
    fn begin_pass(&mut self) -> Result<()> {
        self.next = 0;
        if let Some(random) = &mut self.random {
            random.shuffle(&mut self.order);
        }
        if !self.warm {
            return blocks::drop_cached(&self.served, self.bytes);
        }
        if blocks::cached_bytes(&self.served, self.bytes)? >= self.bytes {
            return Ok(());
        }
        Err(Unavailable {
            reason: "the page cache does not hold a file of this size here".into(),
            remedy: "name a smaller file".into(),
        }
        .into())
    }

    /// One read; its time in nanoseconds.
    fn next(&mut self) -> Result<u64> {
        if self.next == self.order.len() {
            self.begin_pass()?;
        }
        let at = self.order[self.next] * BLOCK_BYTES;
        self.next += 1;
        let wanted = BLOCK_BYTES.min(self.bytes - at) as usize;
        let start = monotonic_ns();
        let got = self.remote.read_at(&mut self.buffer, at);
        let ns = monotonic_ns() - start;
        let got = got.with_context(|| format!("cannot read at byte {at}"))?;
        ensure!(got == wanted, "a read of {wanted} B at byte {at} brought {got} B");
        self.verify(at, wanted)?;
        Ok(ns)
    }

    /// Did it bring this block of the file? Its sectors bear their places; a check compares it all.
    fn verify(&self, at: u64, length: usize) -> Result<()> {
        let block = &self.buffer[..length];
        ensure!(scratch::is_right(block, at), "the block at byte {at} holds other bytes");
        if let Some(original) = &self.original {
            let mut expected = vec![0; length];
            original.read_exact_at(&mut expected, at)?;
            ensure!(block == expected, "the block at byte {at} differs from the file");
        }
        Ok(())
    }
}
