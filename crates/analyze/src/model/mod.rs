//! The cost model: what a message of a transfer should cost, as a sum of named terms.
//!
//! A term is a count times a unit cost. Unit costs come from other probes of the same run: the steps
//! of the path, timed one by one, and memory copies; no time of a transfer is used, and nothing is
//! fitted. Counts come from rules, and where there is none from the case's own counters, which are
//! counts. What the sum misses is "not explained", and may be negative. docs/model.md explains the
//! terms.

pub mod counts;
pub mod figure;
pub mod steps;
pub(crate) mod terms;

use crate::CellRef;
use crate::cells::Cells;
use counts::{Count, Subject};
use figure::Figure;
use steps::Steps;
use syscost_core::axis::Point;
use syscost_core::stats::{median, quantile};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::files::parse_list;
use syscost_measure::mechanism::connections;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{CONGESTION_CONTROL, RECEIVER};
use syscost_measure::probe::transfer::far;
use syscost_measure::probe::{Alternatives, Probe};

/// Whose CPU time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Sender,
    Receiver,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

/// Terms of one kind of work, drawn in one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermGroup {
    UserCopy,
    Calls,
    CopyIn,
    Lent,
    Completions,
    Receive,
    CopyOut,
    Sleep,
}

impl TermGroup {
    pub const ALL: [TermGroup; 8] = [
        TermGroup::UserCopy,
        TermGroup::Calls,
        TermGroup::CopyIn,
        TermGroup::Lent,
        TermGroup::Completions,
        TermGroup::Receive,
        TermGroup::CopyOut,
        TermGroup::Sleep,
    ];
}

/// What a term is, for reports and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermAbout {
    pub id: &'static str,
    pub side: Side,
    pub group: TermGroup,
}

/// One kind of work.
struct Term {
    about: TermAbout,
    /// How often it happens for one message; 0 where it does not.
    count: fn(&Subject) -> Count,
    /// What it costs once. `None`: the run lacks a step.
    unit: fn(&Subject, &Steps) -> Option<Figure>,
}

/// A term of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub about: TermAbout,
    pub count: Count,
    pub unit: Figure,
}

impl Item {
    pub fn ns(&self) -> f64 {
        self.count.n * self.unit.ns
    }
}

/// CPU time per message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub sender_ns: f64,
    pub receiver_ns: f64,
    pub total_ns: f64,
}

/// What one message of a case costs, term by term.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    pub case: usize,
    pub point: Point,
    pub items: Vec<Item>,
    pub measured: Measured,
    /// Segments wait for timers of the congestion control, which are in no term.
    pub paced: bool,
}

impl Account {
    pub fn predicted_ns(&self) -> f64 {
        self.items.iter().map(Item::ns).sum()
    }

    pub fn predicted_of(&self, side: Side) -> f64 {
        self.items.iter().filter(|item| item.about.side == side).map(Item::ns).sum()
    }

    /// Measured less predicted.
    pub fn not_explained_ns(&self) -> f64 {
        self.measured.total_ns - self.predicted_ns()
    }

    /// Predicted over measured.
    pub fn ratio(&self) -> Option<f64> {
        let (measured, predicted) = (self.measured.total_ns, self.predicted_ns());
        (measured > 0.0 && predicted > 0.0).then(|| predicted / measured)
    }

    /// The cells that its times come from: never those of a transfer.
    pub fn inputs(&self) -> impl Iterator<Item = &CellRef> {
        self.items.iter().flat_map(|item| &item.unit.cells)
    }
}

/// The accounts of a run's transfers.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Model {
    pub accounts: Vec<Account>,
    /// The run has transfers, and no steps of their path.
    pub lacks_steps: bool,
}

/// How far predictions are from what was measured, as factors: the larger over the smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    pub cases: usize,
    pub median: f64,
    pub ninth_decile: f64,
    /// Predicted over measured, the geometric mean.
    pub bias: f64,
    /// Cases that were predicted too low.
    pub too_low: usize,
}

impl Accuracy {
    /// Of predicted over measured; `None`: no case.
    pub fn of(ratios: &[f64]) -> Option<Accuracy> {
        let factors: Vec<f64> = ratios.iter().map(|ratio| ratio.max(1.0 / ratio)).collect();
        let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        Some(Accuracy {
            cases: ratios.len(),
            median: median(&factors)?,
            ninth_decile: quantile(&factors, 0.9)?,
            bias: (logs / ratios.len() as f64).exp(),
            too_low: ratios.iter().filter(|ratio| **ratio < 1.0).count(),
        })
    }
}

/// The metric that an account predicts.
pub const TOTAL: &str = "total_cpu_ns_per_message";
const SENDER: &str = "sender_cpu_ns_per_message";
const RECEIVER_CPU: &str = "receiver_cpu_ns_per_message";

impl Model {
    pub fn of(run: &Run, cells: &Cells) -> Model {
        let transfer = Transfer.about().id;
        let cases: Vec<&Case> =
            run.record.plan.cases.iter().filter(|c| c.probe == transfer && c.twin_of.is_none()).collect();
        let sources = steps::sources(run);
        let accounts: Vec<Account> = cases.iter().filter_map(|case| of_case(&sources, cells, case)).collect();
        Model { lacks_steps: accounts.is_empty() && !cases.is_empty(), accounts }
    }

    pub fn account(&self, case: usize) -> Option<&Account> {
        self.accounts.iter().find(|account| account.case == case)
    }

    pub fn accuracy(&self) -> Option<Accuracy> {
        Accuracy::of(&self.accounts.iter().filter_map(Account::ratio).collect::<Vec<_>>())
    }
}

fn of_case(sources: &[steps::PricedCase<'_>], cells: &Cells, case: &Case) -> Option<Account> {
    let subject = Subject::measured(cells, case.index, &case.point)?;
    // A receiver that takes the bytes in another way has costs of its own, and so have several connections:
    // no step times epoll(7).
    // Unit costs are of the machine that the run was started on, which has no part in a path between two others.
    if !Transfer.whole(&case.point)
        || far::both(&case.point)
        || connections(&case.point) > 1
        || case.point.text(RECEIVER) != Some(syscost_measure::receiver::control().about().id)
    {
        return None;
    }
    let value = |metric: &str| cells.steady(case.index, metric).map(|cell| cell.estimate.value);
    let measured =
        Measured { sender_ns: value(SENDER)?, receiver_ns: value(RECEIVER_CPU)?, total_ns: value(TOTAL)? };
    let items = items(&subject, &Steps::at(sources, cells, &case.point))?;
    Some(Account {
        case: case.index,
        point: case.point.clone(),
        items,
        measured,
        // BBR, of any version, lets a segment go when a timer says so.
        paced: case.point.text(CONGESTION_CONTROL).is_some_and(|name| name.starts_with("bbr")),
    })
}

/// The CPUs that the run was allowed.
pub fn allowed_cpus(run: &Run) -> Option<Vec<usize>> {
    let fact = run.record.host.iter().find(|fact| fact.id == "cpus_allowed")?;
    parse_list(fact.value.as_deref()?)
}

/// The terms that happen at all; `None`: the run lacks the unit cost of one.
fn items(subject: &Subject, steps: &Steps) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    for term in terms::ALL {
        let count = (term.count)(subject);
        if count.n > 0.0 {
            items.push(Item { about: term.about, count, unit: (term.unit)(subject, steps)? });
        }
    }
    Some(items)
}

#[cfg(test)]
pub(crate) mod tests;
