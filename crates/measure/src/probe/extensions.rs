//! The optional parts of a probe (other ways to do its work, counted copies, prices), and questions that any probe is asked.

use super::Probe;
use super::prediction::RowRef;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Metric, Quantity};

/// Another value of an axis, by which whoever pays for a row gets the same work done.
#[derive(Clone, Copy, Debug)]
pub struct OtherWay {
    pub axis: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    /// What to use instead: `posix_spawn(3)`.
    pub how: &'static str,
}

/// What the cases of a probe are prices of: accounts of a transfer are made of them.
#[derive(Clone, Copy)]
pub enum Prices {
    /// The figures of each step of [`path_steps`](super::path_steps); what has the same values of these axes pays the same.
    Steps { shared: &'static [&'static str], row: fn(&'static str, &'static str) -> RowRef },
    /// The rate at which one thread copies in user memory, by the bytes that are at work.
    Copies { row: fn(u64) -> RowRef },
}

/// What an audit of a probe's copies has to know of it.
pub trait Copies: Sync {
    /// Do these points move data in the same way, so that one of them stands for both?
    fn same_way(&self, one: &Point, other: &Point) -> bool;

    /// How far this point is from the one that stands for its way best.
    fn distance(&self, point: &Point) -> u64;

    /// The port that the data connections go to, on the far side; from what the roles offered.
    fn port(&self, offers: &[serde_json::Value]) -> Option<u16>;

    /// What the roles themselves know, from their totals (`sender.bytes`).
    fn known(&self, totals: &BTreeMap<String, f64>) -> Option<CopyTotals>;
}

/// The part of an audit that is not the kernel's to tell; of the whole round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyTotals {
    /// Received, verified and equal to what was sent.
    pub delivered_bytes: u64,
    /// Copied from user memory to user memory.
    pub user_copied: u64,
    /// Sent beside the payload, inside TCP.
    pub framing_bytes: u64,
    /// Taken by the receiver without a copy to its memory.
    pub uncopied_out: u64,
    pub completions: u64,
    pub completions_copied: u64,
    /// CPU time of each side's data threads, by their own clocks.
    pub sender_cpu_ns: u64,
    pub receiver_cpu_ns: u64,
}

/// What the harness, the plan and the reports ask of any probe.
impl dyn Probe + '_ {
    pub fn suite(&self) -> Option<&'static str> {
        self.about().suite
    }

    pub fn roles(&self) -> &'static [&'static str] {
        self.about().roles
    }

    /// Does this role sit on the far side of the case's path (the other namespace)?
    pub fn far(&self, role: &str) -> bool {
        self.about().far_role == Some(role)
    }

    pub fn quantities(&self) -> Vec<Quantity> {
        self.figures().quantities
    }

    pub fn metrics(&self) -> Vec<Metric> {
        self.figures().metrics
    }

    pub fn decisive(&self) -> &'static [&'static str] {
        self.figures().decisive
    }

    /// Are its cases compared with one another, so that some are measured twice (A/A)?
    pub fn compared(&self) -> bool {
        self.about().compared
    }

    /// The coordinates that are chosen, or those that are given.
    pub fn coordinates(&self, point: &Point, chosen: bool) -> Point {
        let mut part = point.clone();
        part.retain(|axis| self.chosen(axis) == chosen);
        part
    }
}
