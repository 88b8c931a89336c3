//! Tables of the cost of operations, and of memory, as a course on operating systems has them.

use syscost_tables::overtakes::overtakes;
use syscost_tables::remark::{RemarkKind, remarks};
use syscost_tables::{self as table, ColumnMapping, TableColumn};

#[test]
fn operations_are_read_with_their_unit_and_memory_is_left_alone() {
    let measured = [("getpid", 85.0), ("fork", 61200.0), ("pipe", 5100.0)];
    let of = |heading: &str, row: &dyn Fn(&str, f64) -> String| {
        let rows: String = measured.iter().map(|(name, ns)| row(name, *ns) + "\n").collect();
        format!("{heading}\n{rows}")
    };
    let tables = [
        of(
            "Operation,Base Hardware Performance (ns),Estimated Software Overhead (ns),Predicted Time (ns),Measured Time (ns)",
            &|name, ns| format!("{name},10,{},{},{ns}", ns - 12.0, ns - 2.0),
        ),
        of("operation,predicted_us,measured_us", &|name, ns| format!("{name},{},{}", ns / 1e3, ns / 1e3)),
        of("Benchmark,Mean (ns),Std Dev (ns),Trials", &|name, ns| format!("{name},{ns},1.5,10")),
        of("syscall,avg_ns,min_ns,max_ns", &|name, ns| format!("{name},{ns},{},{}", ns * 0.9, ns * 1.3)),
        of("Operation;Time (us);stddev", &|name, ns| {
            format!("{name};{};0,1", (ns / 1e3).to_string().replace('.', ","))
        }),
        of("Test\tMeasured\tPredicted", &|name, ns| format!("{name}\t{ns} ns\t{} ns", ns * 1.1)),
        of("| Operation | Latency (ns) |\n|---|---|", &|name, ns| format!("| {name} | {ns} |")),
    ];
    for text in &tables {
        let table =
            table::read("os.csv", text, &ColumnMapping::default()).unwrap_or_else(|e| panic!("{e}: {text}"));
        for (name, ns) in measured {
            let row = table.rows.iter().find(|row| row.text(TableColumn::Operation) == Some(name));
            let row = row.unwrap_or_else(|| panic!("no {name}: {table:?}"));
            assert!(
                row.value(TableColumn::Measured).is_some_and(|value| (value / ns - 1.0).abs() < 0.001),
                "{text}: {row:?}"
            );
            assert_eq!(row.text(TableColumn::Unit), Some("ns"), "{text}");
        }
        assert!(remarks(&table).is_empty() && overtakes(&table).is_empty(), "{text}: {:?}", remarks(&table));
    }
    let sizes: Vec<u64> = (10..26).map(|power| 1 << power).collect();
    for heading in [
        "size,stride,latency_ns",
        "array_size_kb,stride_bytes,avg_latency_ns",
        "Region Size (KB),Stride (B),Access Time (ns)",
        "log2_size,stride,cycles",
        "bytes,threads,latency (ns)",
        "file_size_mb,sequential_time_us,random_time_us",
        "Size,Read Bandwidth (GB/s),Write Bandwidth (GB/s)",
        "size_bytes,bandwidth_MBps,latency_ns",
    ] {
        let row = |(n, size): (usize, &u64)| {
            format!("{size},{},{}\n", 64 << (n % 3), 1.21 + n as f64 * n as f64 * 0.73)
        };
        let text = format!("{heading}\n{}", sizes.iter().enumerate().map(row).collect::<String>());
        let Ok(table) = table::read("mem.csv", &text, &ColumnMapping::default()) else { continue };
        let said: Vec<String> = remarks(&table)
            .into_iter()
            .filter(|r| r.kind == RemarkKind::Contradiction)
            .map(|r| r.text)
            .collect();
        assert!(said.is_empty() && !table.is_transfer(), "{heading}: {said:?}");
        assert!(overtakes(&table).is_empty(), "{heading}");
    }
}
