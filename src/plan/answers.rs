//! What this machine allows, asked once per combination of words (see [`Probe::available`]): a plan
//! of a hundred thousand sizes tries each mechanism once.

use crate::axis::{Axis, Kind, Point};
use crate::host::Unavailable;
use crate::probe::Probe;

/// The answers of one probe so far.
pub struct Answers<'a> {
    probe: &'a dyn Probe,
    /// Axes of names, switches and texts, and the few sizes and counts that decide anything.
    words: Vec<&'static str>,
    known: Vec<(Point, Result<(), Unavailable>)>,
    /// Neighbours in a plan mostly ask the same.
    last: usize,
}

impl<'a> Answers<'a> {
    pub fn new(probe: &'a dyn Probe, axes: &[Axis]) -> Answers<'a> {
        let numeric = |axis: &Axis| matches!(axis.kind, Kind::Bytes { .. } | Kind::Int { .. });
        let words =
            axes.iter().filter(|axis| !numeric(axis) || probe.decides(axis.id)).map(|axis| axis.id).collect();
        Answers { probe, words, known: Vec::new(), last: 0 }
    }

    /// Can this case run here?
    pub fn of(&mut self, point: &Point) -> Result<(), Unavailable> {
        let same = |(known, _): &(Point, _)| self.words.iter().all(|id| known.get(id) == point.get(id));
        if !self.known.get(self.last).is_some_and(same) {
            let found = self.known.iter().position(same);
            self.last = found.unwrap_or(self.known.len());
            if found.is_none() {
                self.known.push((point.clone(), self.probe.available(point)));
            }
        }
        self.known[self.last].1.clone()
    }
}
