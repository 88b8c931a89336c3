//! What is wrong with figures, as data. The words are made in the report crate, in `text/problems.rs`.

use crate::answer::CellRef;
use serde::Serialize;
use syscost_core::stats::Estimate;

/// Something wrong with a case's figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    #[serde(flatten)]
    pub kind: ProblemKind,
    pub case: usize,
    pub cells: Vec<CellRef>,
}

/// Shares are of 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum ProblemKind {
    /// Samples that cannot be true or tell nothing.
    Impossible {
        fault: Fault,
        samples: SampleShare,
    },
    Unverified(SampleShare),
    Marked {
        mark: String,
        samples: SampleShare,
    },
    /// Made after the first round of what it predicts.
    LatePrediction,
    FewRounds {
        rounds: u32,
    },
    WideInterval {
        rounds: u32,
        half_width: f64,
        asked: f64,
    },
    /// The median describes neither.
    TwoLevels {
        low: f64,
        high: f64,
        /// Of the rounds, at the low level.
        low_share: f64,
        /// Corrected.
        p: f64,
    },
    /// Rounds far from the others; kept, as the median bears them.
    Outliers {
        values: Vec<f64>,
        median: f64,
    },
    /// The last part of the run over the first, less 1.
    Drift {
        change: f64,
    },
    /// The level after so many rounds over that before, less 1.
    Shift {
        after_rounds: usize,
        change: f64,
    },
    NoSteadyState,
    WarmUp {
        first_over_later: Estimate,
    },
    /// Most rounds were measured while the machine was slower than usual by more than `slower_than`.
    SlowMachine {
        slow_rounds: usize,
        rounds: usize,
        slower_than: f64,
    },
    /// Of CPU time; `None`: not priced.
    HarnessShare {
        slices: Option<f64>,
        windows: Option<f64>,
    },
    /// The receiver throws away what arrives: the figures are a bound for those that deliver.
    NotDelivered,
    /// The receiver asked to be spared copies, and this share of the bytes was copied.
    ReceiveCopied {
        receiver: &'static str,
        copied: f64,
    },
    /// Busy polling was asked for, and no receive queue that can be polled (NAPI) is behind the sockets.
    NothingToPoll,
    /// Zero-copy was asked for, and the sending device cannot gather scattered memory: the kernel copies every packet
    /// together for it, whatever completions say. Source: Documentation/networking/msg_zerocopy.rst.
    NoScatterGather,
}

impl ProblemKind {
    /// Is it a matter of what was set up, which more time does not change?
    pub fn of_setup(&self) -> bool {
        use ProblemKind::{NoScatterGather, NotDelivered, NothingToPoll, ReceiveCopied};
        matches!(self, NotDelivered | ReceiveCopied { .. } | NothingToPoll | NoScatterGather)
    }
}

/// How many samples of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SampleShare {
    pub samples: usize,
    pub of: usize,
}

/// Why a sample cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    Clock,
    Short,
    Bytes,
    CpuTime,
    Share,
    Negative,
}
