//! What was found beside the comparisons: what the kernel said of copies, what limits, what theory did not foresee.

use super::unless_empty;
use crate::material::Material;
use crate::{Block, Section, Statement};
use syscost_analyze::copies::zero_copy;
use syscost_analyze::limits::limiter;

pub fn section(m: &Material) -> Option<Section> {
    let compared = !m.analysis.studies.is_empty();
    let copied = if compared { zero_copy::statements(m.run, &m.analysis.cells) } else { Vec::new() };
    let limited = limiter::statement(&m.analysis.limiters).into_iter().filter(|_| compared);
    let all: Vec<Statement> =
        copied.into_iter().chain(limited).chain(m.analysis.findings.iter().cloned()).collect();
    let blocks = if all.is_empty() { Vec::new() } else { vec![Block::Statements(all)] };
    unless_empty("findings", "Findings", blocks)
}
