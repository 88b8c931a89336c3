//! Claims without replicates: one run a cell and no spread, so that no difference can be told from noise.

use super::{Remark, RemarkKind};
use crate::read::LISTS_LEFT;
use crate::summary::{FEWEST_RUNS, runs};
use crate::{PublishedTable, TableColumn};

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // An operating-system table has rows, not cells that compete.
    if !table.is_transfer() || table.has(TableColumn::Spread) || table.single {
        return Vec::new();
    }
    let runs = runs(table);
    let most = runs.values().copied().max().unwrap_or(0);
    if most >= FEWEST_RUNS {
        return Vec::new();
    }
    let stated = table.has(TableColumn::Runs);
    // What tells the rows apart may be among what was left out.
    if most > 1 && !stated && table.understood.iter().any(|told| told.starts_with(LISTS_LEFT)) {
        return Vec::new();
    }
    let told = match (most, stated) {
        (0 | 1, false) => "One row".into(),
        (most, false) => format!("At most {most} rows"),
        (most, true) => syscost_core::units::count(most as usize, "run"),
    };
    let unless = if stated { "" } else { "Unless a row sums up several runs, " };
    let no = if stated { "No" } else { "no" };
    vec![Remark {
        id: "no_replicates",
        kind: RemarkKind::Caution,
        text: format!(
            "{told} a cell and no spread in {} cells. {unless}{no} difference is significant: identical runs differ by 5 to \
             30 % on shared machines. Ask for {FEWEST_RUNS} runs a cell.",
            runs.len()
        ),
        lines: Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn one_run_a_cell_is_said_and_replicates_are_not() {
        let heading = "mechanism,size,threads,throughput_gbps";
        let told = |text: &str| look(&table(text)).pop().map_or(String::new(), |r| r.text);
        assert!(
            told(&format!("{heading}\nA1,64,1,1\nA3,64,1,2\n"))
                .starts_with("One row a cell and no spread in 2 cells")
        );
        assert!(told(&format!("{heading}\nA1,64,1,1\nA1,64,1,2\n")).starts_with("At most 2 rows a cell"));
        assert_eq!(told(&format!("{heading}\n{}", "A1,64,1,1\n".repeat(5))), "");
        assert_eq!(told(&format!("{heading},stddev\nA1,64,1,1,0.1\n")), "");
        let apart = "mechanism,size,threads,throughput_gbps,latency_us\nA1,64,1,1,\nA1,64,1,,9\n";
        assert!(told(apart).starts_with("One row a cell"), "figures of one run: {}", told(apart));
        assert_eq!(told(&format!("{heading},runs\nA1,64,1,1,10\n")), "");
    }

    #[test]
    fn rows_are_no_repeats_where_lists_of_a_script_were_left_out() {
        let script = |sizes: &str| {
            let text = format!(
                "import matplotlib.pyplot as plt\n{sizes}\nthreads = [1, 2]\nthroughput_A1_1K = [1.5, 2.5]\n\
                 throughput_A1_4K = [3.5, 4.5]\n"
            );
            let mut table = crate::read("t.py", &text, &crate::ColumnMapping::default()).unwrap();
            table.rows.iter_mut().for_each(|row| _ = row.figures.remove(&TableColumn::MessageBytes));
            look(&table).pop().map_or(String::new(), |remark| remark.text)
        };
        assert!(script("sizes = [1024, 4096]").starts_with("At most 2 rows a cell"));
        assert_eq!(script("colours = [[1, 2], [3, 4], [5, 6]]"), "", "they may be of different sizes");
    }
}
