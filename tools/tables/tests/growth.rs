//! What takes the square of a file's size takes minutes for files that people have.

use std::time::{Duration, Instant};
use syscost_tables::remark::remarks;
use syscost_tables::{self as table, ColumnMapping};

fn counts_of_many_commands(commands: usize) -> String {
    let block = |command: usize| {
        format!(
            " Performance counter stats for './client --msgsize={command} --threads=1':\n\n    20,423,{:03},126      cycles\n\
             \x20   28,260,{:03},308      instructions\n               {command}      context-switches\n\n       5.001388686 seconds \
             time elapsed\n\n",
            command % 1000,
            command % 997
        )
    };
    (0..commands).map(block).collect()
}

/// The shortest of some times: a busy machine makes none shorter.
fn shortest(commands: usize) -> Duration {
    let text = counts_of_many_commands(commands);
    let once = |_| {
        let begin = Instant::now();
        let table = table::read("perf.txt", &text, &ColumnMapping::default()).expect("counts of perf stat");
        assert_eq!(table.rows.len(), commands);
        std::hint::black_box(remarks(&table));
        begin.elapsed()
    };
    (0..3).map(once).min().expect("three times")
}

#[test]
fn counts_of_four_times_as_many_commands_take_no_square_of_the_time() {
    let (few, many) = (shortest(200), shortest(800));
    assert!(many < 10 * few, "{few:?} for 200 commands, {many:?} for 800: 4x is linear, 16x the square");
}
