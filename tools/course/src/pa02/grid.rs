//! The cells of a run by implementation, message size and threads: which of its cases the layout shows.
//!
//! One case for each place: a run that varies anything else cannot be laid out, and says so.

use super::{COMMAND, Unsuitable};
use std::collections::{BTreeMap, BTreeSet};
use syscost_analyze::CellRef;
use syscost_analyze::cells::Cells;
use syscost_core::axis::{Name, Point};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::{self, Class};
use syscost_measure::probe;
use syscost_measure::probe::tcp_latency::axes::LOOP;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, THREADS};

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
}

pub struct CourseGrid<'a> {
    pub run: &'a Run,
    pub cells: &'a Cells,
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
    ) -> Result<CourseGrid<'a>, Unsuitable> {
        let unsuitable = |lacks: String| Err(Unsuitable { lacks, command: COMMAND });
        Unsuitable::refuse_emulated(run, COMMAND)?;
        let mut grid = CourseGrid {
            run,
            cells,
            sizes: Vec::new(),
            threads: Vec::new(),
            mechanisms: mechanisms(two_copy),
            cases: BTreeMap::new(),
            skips: BTreeMap::new(),
        };
        for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
            let Some(key) = grid.key(&case.probe, &case.point) else { continue };
            if let Some(other) = grid.cases.insert(key, case.index).and_then(|index| run.case(index)) {
                return unsuitable(format!(
                    "the run has several cases at one size and thread count (they differ in {}), and the layout shows one",
                    difference(other, case)
                ));
            }
        }
        for skip in &run.record.plan.skips {
            if let Some(key) = grid.key(&skip.probe, &skip.point) {
                grid.skips.insert(key, skip.why.reason.clone());
            }
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
            (None, CaseKind::Transfer) => "this place is not in the run".into(),
            (None, CaseKind::RoundTrip) => format!(
                "the run has no closed-loop round trips here, and latency is not threads over throughput; `{COMMAND}` has them"
            ),
        };
        self.cases.get(&key).copied().ok_or_else(absent)
    }
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
