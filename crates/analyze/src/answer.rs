//! What a run says, as data, with the figures, cases and comparisons that they stand on. No English: the words are
//! made in the report crate, in `text/`.

use serde::Serialize;

/// A figure of a case that something shown stands on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CellRef {
    pub case: usize,
    pub metric: &'static str,
}

/// A row of `comparisons.csv`, by the columns of these names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRef {
    pub metric: &'static str,
    pub a: Vec<usize>,
    pub b: Vec<usize>,
}

/// What a run says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerVerdict {
    Yes,
    No,
    /// At some of the places measured.
    Partly,
    /// More rounds may tell.
    Undecided,
    /// The run has not measured what would tell.
    NotMeasured,
}

impl AnswerVerdict {
    /// Of a question that is answered place by place.
    pub fn at(places: usize, of: usize) -> AnswerVerdict {
        match places {
            0 => AnswerVerdict::No,
            all if all == of => AnswerVerdict::Yes,
            _ => AnswerVerdict::Partly,
        }
    }

    /// "No" is no answer where more rounds may find a place.
    pub fn or_open(self, open: bool) -> AnswerVerdict {
        if open && self == AnswerVerdict::No { AnswerVerdict::Undecided } else { self }
    }
}

/// What a reader must know before relying on an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Caveat {
    /// The messages were sent over and over: they stay in caches.
    CachedMessages,
    /// The kernel pins so many pages of a message, or more; what that costs is inside the CPU figures.
    PinsNotCounted {
        pages: u64,
    },
    /// The orphan copy is that of a receiver on the same machine.
    OneMachine,
    CopiesNotCounted {
        mechanisms: Vec<String>,
    },
    /// Asked for zero-copy, and the kernel copied after all.
    ZeroCopyCopied {
        mechanisms: Vec<String>,
        by: CopiedBy,
    },
    /// No network device took part: the answer holds on one machine, and says nothing of a real NIC.
    NoDevice {
        command: String,
    },
    /// CPU time is that of both sides' threads and of the softirqs on top of them.
    CpuOfBothSides,
    /// Misses are those of both sides in user space and kernel; fewer are no cause by themselves.
    MissesOfBothSides,
    /// No hardware counted: an emulator did, for caches that are a model.
    ModelledCaches {
        caches: String,
    },
    LevelsNotCounted {
        levels: Vec<CacheLevel>,
    },
    /// So many comparisons may be decided by more rounds.
    ComparisonsOpen {
        open: usize,
        of: usize,
    },
    /// A thread calls on each of its connections in turn; a server that goes by who is ready pays something else.
    ConnectionsInTurn,
    /// What protects against these vulnerabilities costs at each entry of the kernel: no run of one boot can price it.
    MitigationsNotPriced {
        of: Vec<String>,
    },
    /// Two levels are told after correction over so many figures.
    LevelsCorrected {
        figures: usize,
    },
}

impl Caveat {
    /// Comparisons that more rounds may decide, if there are any.
    pub fn open(open: usize, of: usize) -> Option<Caveat> {
        (open > 0).then_some(Caveat::ComparisonsOpen { open, of })
    }
}

/// How it is known that the kernel copied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopiedBy {
    /// Its bytes were counted in the kernel.
    Counted,
    /// Such shares of the completions are flagged as copied.
    Flagged { least: f64, most: f64 },
}

/// A cache whose misses are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheLevel {
    L1Data,
    L1Instructions,
    L2,
    Last,
    /// The processor's general event of cache misses.
    General,
}

/// What a run lacks to answer a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Lack {
    /// The copies of both sides of a comparison.
    CountedCopies,
    /// A way that asks for zero-copy beside one that copies.
    ZeroCopyBesideCopying,
    /// The same, at two sizes.
    ZeroCopyOverSizes,
    /// Why, and what to do about it, where that was recorded.
    CacheMisses {
        reason: Option<(String, String)>,
    },
    SeveralThreadCounts,
    SeveralConnectionCounts,
    /// The same transfer over two paths of one machine.
    SeveralLayers,
    /// A row with a prediction, or two ways of doing the same.
    PredictedRows,
    /// Neighbours that both have a figure, or rounds enough to show two levels.
    ComparableFigures,
    /// A two-copy mechanism and one of this class at the same size.
    ClassesAtOneSize {
        challenger: &'static str,
    },
    /// A size that this did not hold: the largest that was measured, the room that there was, and where nothing was
    /// measured why, with what to do about it.
    HeldSize {
        holder: &'static str,
        largest: Option<f64>,
        room: Option<f64>,
        reason: Option<(String, String)>,
    },
}

impl Lack {
    /// Would transfers over the same path answer it?
    pub fn is_of_one_path(&self) -> bool {
        match self {
            Lack::SeveralLayers | Lack::PredictedRows | Lack::CacheMisses { .. } | Lack::HeldSize { .. } => {
                false
            }
            Lack::CountedCopies
            | Lack::ZeroCopyBesideCopying
            | Lack::ZeroCopyOverSizes
            | Lack::SeveralThreadCounts
            | Lack::SeveralConnectionCounts
            | Lack::ComparableFigures
            | Lack::ClassesAtOneSize { .. } => true,
        }
    }
}
