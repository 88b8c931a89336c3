//! What was asked: probes, axis values, precision, time limit, seed.
//!
//! A spec comes from a TOML file ([`Spec::from_toml`]), a built-in one ([`BUILT_IN`]) or a probe's
//! id, and is then changed by flags ([`Spec::set_axis`]). It says nothing about this machine: what
//! can run here is the plan's business. Every value goes through its axis, so that a spec holds
//! only values that the axis allows.

mod read;
mod refine;
mod write;

pub use refine::Refine;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use syscost_core::axis::{Axis, Point, Value, suggest};
use syscost_core::stats::random::Random;
use syscost_host::remote::transport::rsh;
use syscost_measure::own::OwnObject;
use syscost_measure::probe::{self, Probe, Timing};

/// One probe of a spec and the values asked for on its axes. Axes that are not named take the
/// probe's defaults when the plan is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeSpec {
    pub probe: String,
    pub axes: BTreeMap<String, Vec<Value>>,
    /// Measured beside the question (steps of the cost model, rulers): only a whole study has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ruler: bool,
    /// Axes that a quick run keeps whole: those that were named on the command line.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kept: BTreeSet<String>,
}

impl ProbeSpec {
    /// A probe with its default axes.
    pub fn of(probe: &str) -> ProbeSpec {
        ProbeSpec { probe: probe.to_string(), axes: BTreeMap::new(), ruler: false, kept: BTreeSet::new() }
    }

    /// The values asked for, or those that an axis has where none were.
    pub fn values(&self, axis: &Axis, quick: bool) -> Vec<Value> {
        let asked = self.axes.get(axis.id).cloned();
        asked.unwrap_or_else(|| if quick { axis.quick() } else { axis.default() })
    }

    /// Why values of this axis would say nothing: every value of another one, which was named, settles it.
    pub fn settled(&self, axis: &str) -> Option<&'static str> {
        let probe = probe::find(&self.probe)?;
        let settles = |by: &String, value: &Value| {
            let mut point = Point::default();
            point.set(by, value.clone());
            probe.settled(axis, &point).map(|(_, why)| why)
        };
        let why = |(by, values): (&String, &Vec<Value>)| {
            let all: Option<Vec<&'static str>> = values.iter().map(|value| settles(by, value)).collect();
            all?.into_iter().next()
        };
        self.axes.iter().find_map(why)
    }

    fn has_axis(&self, flag: &str) -> bool {
        axis_of(&self.probe, |axis| axis.flag == flag).is_some()
    }
}

/// A whole experiment, as recorded in `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub name: String,
    pub title: String,
    pub probes: Vec<ProbeSpec>,
    /// The wider half of the interval of the median, as a share of it, at which a case is done.
    pub precision: f64,
    /// Of the interval of a median at least; 1 - this is the share of runs that may hold any false difference in a metric.
    pub confidence: f64,
    pub min_rounds: u32,
    pub max_rounds: u32,
    /// Wall-clock limit of the whole run, always kept.
    pub time_limit_ns: u64,
    pub seed: u64,
    pub timing: Timing,
    /// Axes that are not named take their quick values.
    pub quick: bool,
    /// What starts processes elsewhere on paths that begin with `rsh:`; `None`: ssh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rsh: Option<String>,
    /// The user's own code, in the shared objects that hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnObject>,
    /// Narrows the grid where the answer changes; `None`: the grid is measured as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refine: Option<Refine>,
}

/// The experiments that come with the tool: name, file. Adding one is a file and a line.
pub static BUILT_IN: &[(&str, &str)] = &[
    (DEFAULT, include_str!("../../specs/default.toml")),
    (LAB, include_str!("../../specs/lab.toml")),
    (INSTRUCTIONS, include_str!("../../specs/instructions.toml")),
    (CACHE, include_str!("../../specs/cache.toml")),
    ("ways", include_str!("../../specs/ways.toml")),
    ("crossover", include_str!("../../specs/crossover.toml")),
    ("os", include_str!("../../specs/os.toml")),
    ("os-more", include_str!("../../specs/os-more.toml")),
    ("latency", include_str!("../../specs/latency.toml")),
    ("nodelay", include_str!("../../specs/nodelay.toml")),
    ("udp", include_str!("../../specs/udp.toml")),
    ("udp-rate", include_str!("../../specs/udp-rate.toml")),
    ("udp-latency", include_str!("../../specs/udp-latency.toml")),
    ("overlay", include_str!("../../specs/overlay.toml")),
    ("placement", include_str!("../../specs/placement.toml")),
    ("pa02-60", include_str!("../../specs/pa02-60.toml")),
    ("pa02-48", include_str!("../../specs/pa02-48.toml")),
    ("cse221", include_str!("../../specs/cse221.toml")),
    ("zerocopy-cliff", include_str!("../../specs/zerocopy-cliff.toml")),
];

/// What a bare `run` measures.
pub const DEFAULT: &str = "default";

/// What a bare `lab` measures.
pub const LAB: &str = "lab";

/// What a bare `lab --count instructions` measures.
pub const INSTRUCTIONS: &str = "instructions";

/// What a bare `lab --count cache` measures.
pub const CACHE: &str = "cache";

const PRECISION: f64 = 0.05;
const CONFIDENCE: f64 = 0.95;
const MIN_ROUNDS: u32 = 8;
const MAX_ROUNDS: u32 = 10_000;
/// A person waits for a minute.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// `--quick` has to end within half a minute, its report included.
const QUICK_TIME_LIMIT: Duration = Duration::from_secs(25);
/// How precise a row of a quick run is to be: time goes to those that are not.
const QUICK_PRECISION: f64 = 0.1;
/// Of what takes no turns: a fresh connection takes 10 to 20 ms to reach its rate.
const TIMING: Timing = Timing { warmup_ns: 20_000_000, window_ns: 6_000_000, windows: 3 };
/// Below this a limit leaves no time for even one worker to start.
const SHORTEST_LIMIT: Duration = Duration::from_secs(1);

/// Why a spec was refused: what is wrong, where, and the nearest valid choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// In a file.
    #[error("{origin}:{line}:{column}: {message}")]
    At { origin: String, line: usize, column: usize, message: String },
    /// In a flag, or in a spec as a whole.
    #[error("{0}")]
    Value(String),
}

impl Spec {
    /// A spec without probes and with every default; the seed comes from the clock.
    pub fn empty(name: &str) -> Spec {
        Spec {
            name: name.to_string(),
            title: String::new(),
            probes: Vec::new(),
            precision: PRECISION,
            confidence: CONFIDENCE,
            min_rounds: MIN_ROUNDS,
            max_rounds: MAX_ROUNDS,
            time_limit_ns: nanoseconds(TIME_LIMIT),
            seed: seed_from_clock(),
            timing: TIMING,
            quick: false,
            rsh: None,
            own: Vec::new(),
            refine: None,
        }
    }

    /// Reads a TOML spec; `origin` is the file's name as errors show it, and its stem names a spec
    /// that does not name itself.
    pub fn from_toml(text: &str, origin: &str) -> Result<Spec, SpecError> {
        read::spec(text, origin)
    }

    /// Names what starts processes elsewhere, as `--rsh` does.
    pub fn set_rsh(&mut self, command: &str) -> Result<(), SpecError> {
        rsh::check(command).map_err(|why| SpecError::Value(format!("rsh: {why}")))?;
        self.rsh = Some(command.to_string());
        Ok(())
    }

    /// The spec as TOML that [`Spec::from_toml`] reads back to the same spec.
    pub fn to_toml(&self) -> String {
        write::toml(self)
    }

    /// A built-in experiment as a file to edit; of a probe, with each of its axes at its default behind a #.
    pub fn file_of(name: &str) -> Result<String, SpecError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok(text.to_string());
        }
        let spec = Spec::named(name)?;
        Ok(write::of_probe(&spec, &probe::find(name).map(|probe| probe.axes()).unwrap_or_default()))
    }

    /// A built-in spec by name, or one probe with its default axes by the probe's id.
    pub fn named(name: &str) -> Result<Spec, SpecError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(n, _)| *n == name) {
            return Spec::from_toml(text, &format!("specs/{name}.toml"));
        }
        if let Some(probe) = probe::find(name) {
            let probes = vec![ProbeSpec::of(name)];
            return Ok(Spec { title: probe.about().title.to_string(), probes, ..Spec::empty(name) });
        }
        Err(SpecError::Value(format!(
            "there is no experiment {name:?}: {}",
            Spec::nearest(name, &Spec::names())
        )))
    }

    /// The nearest of these names to a word. A word may also be a value of a probe: `fork` is one of `process_create --how fork`.
    pub fn nearest(word: &str, names: &[&str]) -> String {
        let of_axis = |id: &str, axis: Axis| {
            let asked = move |value: &'static str| (value, format!("{id} --{} {value}", axis.flag));
            axis.kind.names().into_iter().map(asked).collect::<Vec<_>>()
        };
        let of_probe = |probe: &&'static dyn Probe| {
            let id = probe.about().id;
            probe.axes().into_iter().flat_map(move |axis| of_axis(id, axis))
        };
        let values: Vec<(&str, String)> = probe::ALL.iter().flat_map(of_probe).collect();
        let values: Vec<(&str, &str)> =
            values.iter().map(|(value, asked)| (*value, asked.as_str())).collect();
        suggest(word, names, &values)
    }

    /// Everything that [`Spec::named`] takes.
    pub fn names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(n, _)| *n).chain(probe::ALL.iter().map(|p| p.about().id)).collect()
    }

    /// How many rounds a case gets: `8 to 24 rounds`; `at least 8 rounds` where only time ends them.
    pub fn rounds_text(&self) -> String {
        if self.max_rounds >= MAX_ROUNDS {
            return format!("at least {} rounds", self.min_rounds);
        }
        format!("{} to {} rounds", self.min_rounds, self.max_rounds)
    }

    /// Are there only rows of operations, which nobody compares?
    pub fn only_rows(&self) -> bool {
        let of_suite =
            |asked: &ProbeSpec| probe::find(&asked.probe).is_some_and(|probe| probe.suite().is_some());
        !self.probes.is_empty() && self.probes.iter().all(of_suite)
    }

    /// Axes not named take their quick values, and the run its quick time limit and timing.
    pub fn set_quick(&mut self) {
        self.quick = true;
        self.time_limit_ns = nanoseconds(QUICK_TIME_LIMIT);
        if self.only_rows() {
            self.precision = self.precision.max(QUICK_PRECISION);
        }
        let (own, quick) = (self.timing, TIMING);
        self.timing = Timing {
            warmup_ns: own.warmup_ns.min(quick.warmup_ns),
            window_ns: own.window_ns.min(quick.window_ns),
            windows: own.windows.min(quick.windows),
        };
    }

    /// Looks between the values of every axis of numbers that has several. What the grid does not use of its time goes to that, and
    /// half as much again where the limit may grow. A spec that refines already stays as it is.
    pub fn set_refine(&mut self, longer: bool) -> Result<(), SpecError> {
        if self.refine.is_some() {
            return Ok(());
        }
        let asked = self.probes.iter().filter(|entry| !entry.ruler);
        let compared = asked.filter_map(|entry| Some((entry, probe::find(&entry.probe)?)));
        let compared = compared.filter(|(_, probe)| probe.compared());
        let numbers =
            compared.flat_map(|(entry, probe)| refine::axes_of_numbers(probe).map(move |axis| (entry, axis)));
        let several = numbers.filter(|(entry, axis)| entry.values(axis, self.quick).len() > 1);
        let axes: BTreeSet<String> = several.map(|(_, axis)| axis.id.to_string()).collect();
        if axes.is_empty() {
            return Err(SpecError::Value(
                "nothing here is compared at several sizes or thread counts: name some, such as --size 4K,64K".into(),
            ));
        }
        if longer {
            self.time_limit_ns += self.time_limit_ns / 2;
        }
        self.refine =
            Some(Refine { axes: axes.into_iter().collect(), time_share: refine::SHARE, ..Refine::default() });
        Ok(())
    }

    /// Replaces an axis's values, by its flag, in every probe that has it. `text` is what a person
    /// typed: values separated by commas.
    pub fn set_axis(&mut self, flag: &str, texts: &[&str]) -> Result<(), SpecError> {
        let mut found = false;
        for entry in &mut self.probes {
            let Some(axis) = axis_of(&entry.probe, |axis| axis.flag == flag) else { continue };
            let mut values = Vec::new();
            for text in texts {
                values.extend(axis.parse_values(text).map_err(|e| SpecError::Value(e.to_string()))?);
            }
            found = true;
            entry.axes.insert(axis.id.to_string(), distinct(values));
            entry.kept.insert(axis.id.to_string());
            // What the experiment says of an axis gives way to values that settle it; what the command line says does not.
            let settled = |id: &String| !entry.kept.contains(id) && entry.settled(id).is_some();
            let settled: Vec<String> = entry.axes.keys().filter(|id| settled(id)).cloned().collect();
            settled.iter().for_each(|id| drop(entry.axes.remove(id)));
        }
        if found {
            return Ok(());
        }
        let owners: Vec<&str> = probe::ALL
            .iter()
            .filter(|p| p.axes().iter().any(|axis| axis.flag == flag))
            .map(|p| p.about().id)
            .collect();
        Err(SpecError::Value(format!(
            "--{flag} does not apply to {}: it belongs to {}",
            self.probes.iter().map(|p| p.probe.as_str()).collect::<Vec<_>>().join(", "),
            if owners.is_empty() { "no probe".to_string() } else { owners.join(", ") }
        )))
    }

    /// Values were named, by these flags: what the study measures beside its question goes, unless a flag is one
    /// that only it has.
    pub fn leave_out_rulers(&mut self, flags: &[&str]) {
        let of_question = |flag: &str| self.probes.iter().any(|entry| !entry.ruler && entry.has_axis(flag));
        let own: Vec<&str> = flags.iter().copied().filter(|flag| !of_question(flag)).collect();
        self.probes
            .retain(|entry| flags.is_empty() || !entry.ruler || own.iter().any(|flag| entry.has_axis(flag)));
    }

    /// Gives an axis this value wherever no values were asked for and the axis takes it.
    pub fn set_default(&mut self, flag: &str, text: &str) {
        for entry in &mut self.probes {
            let Some(axis) = axis_of(&entry.probe, |axis| axis.flag == flag) else { continue };
            if let (false, Ok(value)) = (entry.axes.contains_key(axis.id), axis.parse(text)) {
                entry.axes.insert(axis.id.to_string(), vec![value]);
            }
        }
    }

    /// Refuses what no run could keep.
    pub fn validate(&self) -> Result<(), SpecError> {
        let refuse = |message: String| Err(SpecError::Value(message));
        if !(self.precision > 0.0 && self.precision < 1.0) {
            return refuse("precision must lie between 0 and 100 %, ends excluded: 5% is the default".into());
        }
        if !(self.confidence >= 0.5 && self.confidence < 1.0) {
            return refuse("confidence must be at least 50 % and below 100 %: 95% is the default".into());
        }
        if self.time_limit_ns < nanoseconds(SHORTEST_LIMIT) {
            return refuse("the time limit must be at least 1s: 60s is the default".into());
        }
        if self.min_rounds == 0 || self.max_rounds < self.min_rounds {
            return refuse(format!(
                "min_rounds must be at least 1 and max_rounds no less than it, not {} and {}",
                self.min_rounds, self.max_rounds
            ));
        }
        if self.timing.windows == 0 || self.timing.window_ns < 100_000 {
            return refuse("timing needs at least 1 window of at least 100us".into());
        }
        if self.probes.is_empty() {
            return refuse(format!(
                "the spec has no probe: add [[probe]] with id = one of {}",
                probe::ALL.iter().map(|p| p.about().id).collect::<Vec<_>>().join(", ")
            ));
        }
        let settled = |entry: &ProbeSpec| entry.axes.keys().find_map(|id| entry.settled(id));
        if let Some(why) = self.probes.iter().find_map(settled) {
            return refuse(why.into());
        }
        if let Some(refine) = &self.refine {
            refine.validate(&self.probes)?;
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(plain) {
            return refuse(format!(
                "the name {:?} cannot be part of a directory's name: use letters, digits, '-', '_' and '.'",
                self.name
            ));
        }
        Ok(())
    }

    pub fn time_limit(&self) -> Duration {
        Duration::from_nanos(self.time_limit_ns)
    }
}

/// One axis of a probe.
fn axis_of(probe: &str, wanted: impl Fn(&Axis) -> bool) -> Option<Axis> {
    probe::find(probe)?.axes().into_iter().find(wanted)
}

/// Without repetitions, in the order of first appearance.
pub fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut seen = HashSet::with_capacity(values.len());
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}

pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Short enough to type again.
fn seed_from_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Random::new(nanoseconds(now)).next_u64() >> 32
}

#[cfg(test)]
mod tests;
