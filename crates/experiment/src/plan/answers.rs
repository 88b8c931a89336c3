//! What this machine allows, asked once per combination of words (see [`Probe::available`]): a plan
//! of a hundred thousand sizes tries each mechanism once.

use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_measure::probe::Probe;

/// The answers of one probe so far, by the number of the combination.
pub struct Answers<'a> {
    probe: &'a dyn Probe,
    known: Vec<Option<Result<(), Unavailable>>>,
}

impl<'a> Answers<'a> {
    pub fn new(probe: &'a dyn Probe, combinations: usize) -> Answers<'a> {
        Answers { probe, known: vec![None; combinations] }
    }

    /// Can this case, of this combination of words, run here?
    pub fn of(&mut self, words: usize, point: &Point) -> Result<(), Unavailable> {
        self.known[words].get_or_insert_with(|| self.probe.available(point)).clone()
    }
}
