//! The account of a transfer: what a message costs, as a sum of named terms; and how near forecasts came.
//!
//! A term is a count times a unit cost. Unit costs come from other probes of the same run: the steps
//! of the path, timed one by one, and memory copies; no time of a transfer is used, and nothing is
//! fitted. Counts come from rules, and where there is none from the case's own counters: so it is an account, no
//! forecast. What the sum misses is "not explained", and may be negative. docs/model.md explains the terms.
//!
//! A forecast ([`syscost_measure::probe::transfer::forecast`]) uses nothing of its case and is in the record of the run.

pub mod counts;
pub mod figure;
pub mod steps;
pub(crate) mod terms;

use crate::cells::Cells;
use crate::operations;
use counts::{Count, Subject};
use figure::Figure;
use steps::Steps;
use syscost_core::axis::Point;
use syscost_core::stats::{median, quantile};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::connections;
use syscost_measure::probe::prediction::Prediction;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{CONGESTION_CONTROL, RECEIVER};
use syscost_measure::probe::transfer::{far, forecast};
use syscost_measure::probe::{Probe, own_code};

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
    /// Segments wait for timers, which are in no term.
    pub paced: bool,
    /// Code of the user's own sends: what it does in user mode is in no term.
    pub unseen: bool,
}

impl Account {
    pub fn accounted_ns(&self) -> f64 {
        self.items.iter().map(Item::ns).sum()
    }

    pub fn accounted_of(&self, side: Side) -> f64 {
        self.items.iter().filter(|item| item.about.side == side).map(Item::ns).sum()
    }

    /// Measured less accounted for.
    pub fn not_explained_ns(&self) -> f64 {
        self.measured.total_ns - self.accounted_ns()
    }

    /// Accounted for over measured.
    pub fn ratio(&self) -> Option<f64> {
        let (measured, accounted) = (self.measured.total_ns, self.accounted_ns());
        (measured > 0.0 && accounted > 0.0).then(|| accounted / measured)
    }
}

/// The accounts of a run's transfers.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Model {
    pub accounts: Vec<Account>,
    /// The run has transfers, and no steps of their path.
    pub lacks_steps: bool,
    /// Each transfer's cost that was forecast before its first sample, over the measured one, by case.
    pub forecasts: Vec<(usize, f64)>,
}

/// How far accounts or forecasts are from what was measured, as factors: the larger over the smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    pub cases: usize,
    pub median: f64,
    pub ninth_decile: f64,
    /// Theirs over measured, the geometric mean.
    pub bias: f64,
    /// Cases of which it was too low.
    pub too_low: usize,
}

impl Accuracy {
    /// Of theirs over measured; `None`: no case.
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

/// What is accounted for, and forecast.
pub const TOTAL: &str = forecast::METRIC;
const SENDER: &str = "sender_cpu_ns_per_message";
const RECEIVER_CPU: &str = "receiver_cpu_ns_per_message";

impl Model {
    pub fn of(run: &Run, cells: &Cells) -> Model {
        let transfer = Transfer.about().id;
        let cases: Vec<&Case> =
            run.record.plan.cases.iter().filter(|c| c.probe == transfer && c.twin_of.is_none()).collect();
        let sources = steps::sources(run);
        let accounts: Vec<Account> = cases.iter().filter_map(|case| of_case(&sources, cells, case)).collect();
        Model {
            lacks_steps: accounts.is_empty() && !cases.is_empty(),
            accounts,
            forecasts: forecasts(run, cells),
        }
    }

    pub fn account(&self, case: usize) -> Option<&Account> {
        self.accounts.iter().find(|account| account.case == case)
    }
}

/// Those that were made in time and have a measured cost.
fn forecasts(run: &Run, cells: &Cells) -> Vec<(usize, f64)> {
    let of = |prediction: &Prediction| {
        let measured = cells.cell(prediction.case, TOTAL)?.estimate.value;
        let ratio = prediction.cost.predicted.filter(|forecast| *forecast > 0.0)? / measured;
        (prediction.metric == TOTAL && !operations::late(prediction)).then_some((prediction.case, ratio))
    };
    run.record.predictions.iter().filter_map(of).collect()
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
        paced: is_paced(&case.point),
        unseen: !own_code(&case.point).is_empty(),
    })
}

/// BBR, of any version, lets a segment go when a timer says so.
fn is_paced(point: &Point) -> bool {
    point.text(CONGESTION_CONTROL).is_some_and(|control| control.starts_with("bbr"))
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
