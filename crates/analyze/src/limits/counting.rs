//! What counting costs: CPU time of the rounds with hardware counters over that of the timed rounds beside them.

use crate::CellRef;
use crate::cells::Cells;
use syscost_core::stats::median;

const WITH: &str = "counted_cpu_ns_per_message";
const WITHOUT: &str = "total_cpu_ns_per_message";

/// CPU time with counters over that without, by case.
#[derive(Clone, Debug, PartialEq)]
pub struct CountingCost {
    pub cases: usize,
    pub median: f64,
    pub most: f64,
    /// Where it costs most.
    pub cells: [CellRef; 2],
}

/// The range over cases, and where counting costs most; `None` where nothing was counted in rounds of its own.
pub fn cost_of_counting(cells: &Cells) -> Option<CountingCost> {
    let mut ratios: Vec<(f64, usize)> = Vec::new();
    for with in cells.of_metric(WITH) {
        let without = cells.cell(with.case, WITHOUT)?;
        let timed: Vec<(u32, f64)> = without.rounds.pairs();
        let beside = |round: u32| timed.iter().find(|(r, _)| *r == round).map(|(_, ns)| *ns);
        let own: Vec<f64> = with.rounds.iter().filter_map(|(round, ns)| Some(ns / beside(round)?)).collect();
        ratios.extend(median(&own).map(|ratio| (ratio, with.case)));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let values: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
    let (middle, (most, case)) = (median(&values)?, *ratios.last()?);
    let cells = [WITH, WITHOUT].map(|metric| CellRef { case, metric });
    Some(CountingCost { cases: ratios.len(), median: middle, most, cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use syscost_core::sample::COUNTING;

    #[test]
    fn counted_rounds_give_counts_and_no_times() {
        let mut run =
            Synthetic { sizes: vec![64, 4096], threads: vec![1], twin_every: 0, ..Default::default() }.run();
        assert_eq!(cost_of_counting(&Cells::of(&run)), None);
        let before = Cells::of(&run);
        let counted: Vec<_> = run.samples.iter().filter(|s| s.index == 0 && s.round < 2).cloned().collect();
        for mut sample in counted {
            sample.index = 9;
            sample.marks.push(COUNTING.into());
            let cpu = ["sender_cpu_ns", "receiver_cpu_ns"]
                .map(|id| (id.to_string(), sample.get(id).map(|ns| 0.5 * ns)));
            let sides = ["sender", "receiver"].into_iter();
            let instructions =
                sides.flat_map(|side| ["user", "kernel"].map(|mode| format!("{side}_instructions_{mode}")));
            let instructions = instructions.map(|id| (id, sample.get("sender_messages").map(|n| 10.0 * n)));
            let all: Vec<_> = cpu.into_iter().chain(instructions).collect();
            sample.quantities.extend(all);
            run.samples.push(sample);
        }
        let cells = Cells::of(&run);
        let times = |cells: &Cells| cells.cell(0, WITHOUT).cloned();
        assert_eq!(times(&cells), times(&before), "their times are not the case's");
        assert_eq!(cells.cell(0, "instructions_per_message").unwrap().estimate.value.round(), 40.0);
        let cost = cost_of_counting(&cells).expect("counted");
        assert_eq!(cost.cases, 6);
        assert!(cost.median > 0.4 && cost.median <= cost.most && cost.most < 0.6, "{cost:?}");
    }
}
