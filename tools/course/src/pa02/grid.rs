//! The cells of a run by implementation, message size and threads: which of its cases the layout shows.
//!
//! One case for each place: a run that varies anything else cannot be laid out, and says so.

use super::{COMMAND, Unsuitable};
use std::collections::{BTreeMap, BTreeSet};
use syscost_analyze::CellRef;
use syscost_analyze::cells::Cells;
use syscost_analyze::whole::Analysis;
use syscost_core::axis::{Name, Point};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::{self, Class};
use syscost_measure::probe;
use syscost_measure::probe::tcp_latency::axes::LOOP;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, THREADS};

/// What every run of counts has.
const MODELLED: &str = "l1d_misses_per_message";

/// What the assignment has implemented.
pub struct Implementation {
    pub part: &'static str,
    /// Also the alias of the mechanism that is measured.
    pub name: &'static str,
}

pub const IMPLEMENTATIONS: [Implementation; 3] = [
    Implementation { part: "A1", name: "two-copy" },
    Implementation { part: "A2", name: "one-copy" },
    Implementation { part: "A3", name: "zero-copy" },
];

/// The two-copy mechanism of this name, of those that a student's baseline may be.
pub fn two_copy(text: &str) -> Result<&'static str, String> {
    let ids = || mechanism::ALL.iter().map(|m| m.about().id).filter(|id| Class::TwoCopy.holds(id));
    ids()
        .find(|id| *id == text)
        .ok_or_else(|| format!("it is one of {}", ids().collect::<Vec<_>>().join(", ")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GridPlace {
    /// Index in [`IMPLEMENTATIONS`].
    pub implementation: usize,
    pub bytes: u64,
    pub threads: u64,
}

impl GridPlace {
    pub fn new(implementation: usize, bytes: u64, threads: u64) -> GridPlace {
        GridPlace { implementation, bytes, threads }
    }
}

/// What a case is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseKind {
    /// A stream in one direction.
    Transfer,
    /// A closed loop, each exchange timed.
    RoundTrip,
    /// The transfer in an emulated machine whose caches are modelled: a case of the run of counts.
    Modelled,
}

/// What fills the columns of a modelled cache.
pub const COUNT_CACHE: &str = "syscost lab --count cache --out CACHE";

pub struct CourseGrid<'a> {
    pub run: &'a Run,
    cells: &'a Cells,
    /// The run of counts, if one was given.
    pub counts: Option<(&'a Run, &'a Analysis)>,
    pub sizes: Vec<u64>,
    pub threads: Vec<u64>,
    /// What is measured for each implementation.
    pub mechanisms: [&'static str; 3],
    cases: BTreeMap<(CaseKind, GridPlace), usize>,
    /// Why a place was not run.
    skips: BTreeMap<(CaseKind, GridPlace), String>,
}

impl<'a> CourseGrid<'a> {
    pub fn of(
        run: &'a Run,
        cells: &'a Cells,
        two_copy: Option<&'static str>,
        counts: Option<(&'a Run, &'a Analysis)>,
    ) -> Result<CourseGrid<'a>, Unsuitable> {
        let unsuitable = |lacks: String| Err(Unsuitable { lacks, command: COMMAND });
        Unsuitable::refuse_emulated(run, COMMAND)?;
        let mut grid = CourseGrid {
            run,
            cells,
            counts,
            sizes: Vec::new(),
            threads: Vec::new(),
            mechanisms: mechanisms(two_copy),
            cases: BTreeMap::new(),
            skips: BTreeMap::new(),
        };
        grid.take_in(run, Some)?;
        if let Some((counts, analysis)) = counts {
            refuse_timed(counts, analysis)?;
            grid.take_in(counts, |kind| (kind == CaseKind::Transfer).then_some(CaseKind::Modelled))?;
        }
        let transfers: Vec<GridPlace> = grid.of_kind(CaseKind::Transfer).collect();
        for (index, implementation) in IMPLEMENTATIONS.iter().enumerate() {
            if !transfers.iter().any(|p| p.implementation == index) {
                return unsuitable(format!(
                    "the run has no transfer by {} ({})",
                    implementation.name, grid.mechanisms[index]
                ));
            }
        }
        let distinct = |value: fn(&GridPlace) -> u64| transfers.iter().map(value).collect::<BTreeSet<_>>();
        grid.sizes = distinct(|place| place.bytes).into_iter().collect();
        grid.threads = distinct(|place| place.threads).into_iter().collect();
        Ok(grid)
    }

    /// The cases and skips of a run that have a place.
    fn take_in(&mut self, run: &Run, of: fn(CaseKind) -> Option<CaseKind>) -> Result<(), Unsuitable> {
        for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
            let Some((kind, place)) = self.key(&case.probe, &case.point) else { continue };
            let Some(kind) = of(kind) else { continue };
            if let Some(other) =
                self.cases.insert((kind, place), case.index).and_then(|index| run.case(index))
            {
                let lacks = format!(
                    "the run has several cases at one size and thread count (they differ in {}), and the layout shows one",
                    difference(other, case)
                );
                return Err(Unsuitable { lacks, command: COMMAND });
            }
        }
        for skip in &run.record.plan.skips {
            let key = self.key(&skip.probe, &skip.point);
            if let Some((kind, place)) = key.and_then(|(kind, place)| Some((of(kind)?, place))) {
                self.skips.insert((kind, place), skip.why.reason.clone());
            }
        }
        Ok(())
    }

    /// The cells of the run that cases of a kind are of.
    pub fn cells(&self, kind: CaseKind) -> &'a Cells {
        match (kind, self.counts) {
            (CaseKind::Modelled, Some((_, analysis))) => &analysis.cells,
            _ => self.cells,
        }
    }

    fn key(&self, probe_id: &str, point: &Point) -> Option<(CaseKind, GridPlace)> {
        let mechanism = point.text(MECHANISM)?;
        let implementation = self.mechanisms.iter().position(|id| *id == mechanism)?;
        let place = GridPlace::new(implementation, point.int(MESSAGE_BYTES)?, point.int(THREADS)?);
        let probe = probe::find(probe_id).filter(|p| p.compared())?;
        let decided_by = |metric: &str| probe.metrics().iter().any(|m| m.id == metric);
        let kind = match point.text(LOOP) {
            Some("closed") if decided_by("latency_p50") => CaseKind::RoundTrip,
            None if decided_by("throughput") && point.get(PATH.id).is_some() => CaseKind::Transfer,
            _ => return None,
        };
        Some((kind, place))
    }

    fn of_kind(&self, kind: CaseKind) -> impl Iterator<Item = GridPlace> + '_ {
        self.cases.keys().chain(self.skips.keys()).filter(move |key| key.0 == kind).map(|key| key.1)
    }

    /// The number of the case at a place, if it was planned.
    pub fn number(&self, kind: CaseKind, place: &GridPlace) -> Option<usize> {
        self.cases.get(&(kind, *place)).copied()
    }

    /// Is it about a two-copy mechanism that this layout does not show?
    pub fn is_of_another(&self, cells: &[CellRef]) -> bool {
        let two_copy = |cell: &CellRef| {
            let mechanism = self.run.case(cell.case)?.point.text(MECHANISM)?;
            Class::TwoCopy.holds(mechanism).then_some(mechanism)
        };
        let shown: Vec<&str> = cells.iter().filter_map(two_copy).collect();
        !shown.is_empty() && !shown.contains(&self.mechanisms[0])
    }

    /// Every row of the table: by implementation, size and threads.
    pub fn places(&self) -> impl Iterator<Item = GridPlace> + '_ {
        let of = |way, bytes| self.threads.iter().map(move |threads| GridPlace::new(way, bytes, *threads));
        let of = move |way| self.sizes.iter().flat_map(move |bytes| of(way, *bytes));
        (0..IMPLEMENTATIONS.len()).flat_map(of)
    }

    /// The case at a place, or why there is none.
    pub fn case(&self, kind: CaseKind, place: &GridPlace) -> Result<usize, String> {
        let key = (kind, *place);
        let absent = || match (self.skips.get(&key), kind) {
            (Some(reason), _) => reason.clone(),
            (None, CaseKind::Modelled) if self.counts.is_none() => format!(
                "no run of counts was given; `{COUNT_CACHE}` makes one, and `syscost course pa02 --cache CACHE` takes it"
            ),
            (None, CaseKind::Modelled) => "the run of counts does not have this place".into(),
            (None, CaseKind::Transfer) => "this place is not in the run".into(),
            (None, CaseKind::RoundTrip) => format!(
                "the run has no closed-loop round trips here, and latency is not threads over throughput; `{COMMAND}` has them"
            ),
        };
        self.cases.get(&key).copied().ok_or_else(absent)
    }
}

/// Counts of a modelled cache are of an emulated machine: those of another run would be taken for them.
fn refuse_timed(counts: &Run, analysis: &Analysis) -> Result<(), Unsuitable> {
    let emulated = counts.record.emulator().is_some();
    if emulated && analysis.cells.of_metric(MODELLED).next().is_some() {
        return Ok(());
    }
    let lacks = match emulated {
        false => {
            "the run of --cache was not made in an emulator: its figures are no counts of a modelled cache"
        }
        true => "the run of --cache counted no cache misses",
    };
    Err(Unsuitable { lacks: lacks.into(), command: COUNT_CACHE })
}

/// The mechanism of each implementation: the one that its name is an alias of, or the two-copy one that was asked for.
fn mechanisms(two_copy: Option<&'static str>) -> [&'static str; 3] {
    let alias = |name: &str| {
        let found = mechanism::ALL.iter().map(|m| m.about()).find(|about| about.aliases.contains(&name));
        found.map_or("", |about| about.id)
    };
    let mut ids = IMPLEMENTATIONS.map(|implementation| alias(implementation.name));
    ids[0] = two_copy.unwrap_or(ids[0]);
    ids
}

/// `path`, or whatever else two cases differ in.
fn difference(one: &Case, other: &Case) -> String {
    let differs = |id: &&Name| one.point.get(id) != other.point.get(id);
    let ids: Vec<&Name> = one.point.names().chain(other.point.names()).filter(differs).collect();
    let mut names: Vec<&str> = ids.into_iter().map(Name::as_str).collect();
    names.dedup();
    if names.is_empty() { "nothing that is recorded".into() } else { names.join(", ") }
}
