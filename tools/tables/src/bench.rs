//! What benchmark frameworks print: `go test -bench`, criterion, Google Benchmark. Each benchmark is an operation.
//! Sources: Go's benchmark data format, the books of criterion and of Google Benchmark.

use super::unit::{self, Dimension};
use super::{BadTable, PublishedFigure, PublishedRow, PublishedTable, TableColumn};

/// `None`: of none of them.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let (tool, rows) =
        [("go test -bench", go(text)), ("criterion", criterion(text)), ("Google Benchmark", google(text))]
            .into_iter()
            .find(|(_, rows)| !rows.is_empty())?;
    let said = format!("{tool}: a benchmark is an operation");
    Some(
        PublishedTable::of_one(name, Ok(rows), vec![said])
            .map(|table| PublishedTable { single: false, ..table }),
    )
}

fn row(line: usize, name: &str, ns: f64, spread: Option<f64>) -> PublishedRow {
    let texts = [(TableColumn::Operation, name), (TableColumn::Unit, "ns")];
    let mut row = PublishedRow { line: line + 1, ..PublishedRow::default() };
    row.texts.extend(texts.map(|(column, text)| (column, text.to_string())));
    let spread = spread.map(|ns| (TableColumn::Spread, PublishedFigure::exact(ns)));
    row.figures.extend([(TableColumn::Measured, PublishedFigure::exact(ns))].into_iter().chain(spread));
    row
}

fn time(value: &str, of: &str) -> Option<f64> {
    let scale = unit::parse(of).ok().filter(|scale| scale.dimension == Dimension::Time)?;
    Some(value.parse::<f64>().ok()? * scale.factor)
}

/// `BenchmarkSend/64B-8  1000000  1034 ns/op  61.90 MB/s`
fn go(text: &str) -> Vec<PublishedRow> {
    let of = |(at, line): (usize, &str)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, times, figures @ ..] = &words[..] else { return None };
        times.parse::<u64>().ok()?;
        let of = |unit: &str| figures.windows(2).find(|pair| pair[1] == unit)?[0].parse::<f64>().ok();
        let ns = of("ns/op")?;
        // The suffix is GOMAXPROCS.
        let plain = name.rsplit_once('-').filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit()));
        let mut row = row(at, plain.map_or(*name, |(name, _)| name).strip_prefix("Benchmark")?, ns, None);
        row.set(of("MB/s").map(|mega| (TableColumn::Throughput, mega * 8e6)));
        Some(row)
    };
    text.lines().enumerate().filter_map(of).collect()
}

/// `pipe/64  time: [1.23 µs 1.24 µs 1.25 µs]`; a long name has a line of its own.
fn criterion(text: &str) -> Vec<PublishedRow> {
    let mut above = "";
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let figures = line.split_once("time:").and_then(|(name, rest)| {
            let inside = rest.trim().strip_prefix('[')?.split_once(']')?.0;
            let words: Vec<&str> = inside.split_whitespace().collect();
            let [low, a, middle, b, high, c] = words[..] else { return None };
            Some((name.trim(), time(middle, b)?, time(high, c)? - time(low, a)?))
        });
        match figures {
            Some((name, ns, spread)) => {
                rows.push(row(at, if name.is_empty() { above } else { name }, ns, Some(spread)));
            }
            None => above = line.trim(),
        }
    }
    rows
}

/// `BM_Send/64  1034 ns  1030 ns  680000` under `Benchmark  Time  CPU  Iterations`
fn google(text: &str) -> Vec<PublishedRow> {
    let heading = ["Benchmark", "Time", "CPU", "Iterations"];
    let begins = |line: &str| line.split_whitespace().take(4).eq(heading);
    let of = |(at, line): (usize, &str)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, value, of, _, _, times, ..] = words[..] else { return None };
        times.parse::<u64>().ok()?;
        Some(row(at, name, time(value, of)?, None))
    };
    text.lines().enumerate().skip_while(|(_, line)| !begins(line)).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_benchmark_is_an_operation_in_ns() {
        let go = "goos: linux\nBenchmarkSend/64B-8 \t 1000000\t 1034 ns/op\t 61.90 MB/s\t 0 B/op\nBenchmarkPipe-8 \t 500 \t 2534.5 ns/op\nPASS\n";
        let criterion = "Benchmarking Send/64B: Warming up\nSend/64B  time:   [1.0 µs 1.034 µs 1.1 µs]\n  change: [-1% +0% +1%] (p = 0.7)\nPipe\n   time:   [2534.0 ns 2534.5 ns 2535.0 ns]\n";
        let google = "Run on (8 X 3600 MHz CPU s)\n---\nBenchmark  Time  CPU  Iterations\n---\nSend/64B  1.034 us  1.030 us  680000\nPipe  2534.5 ns 2530 ns 1000\n";
        for text in [go, criterion, google] {
            let table = from_lines("b.txt", text).unwrap().unwrap();
            let rows: Vec<_> = table
                .rows
                .iter()
                .map(|row| {
                    (
                        row.text(TableColumn::Operation).unwrap(),
                        row.value(TableColumn::Measured).unwrap().round(),
                    )
                })
                .collect();
            assert_eq!(rows, [("Send/64B", 1034.0), ("Pipe", 2535.0)], "{text}");
            assert!(!table.is_transfer());
        }
        assert_eq!(from_lines("b", "name,time\nBenchmarking is fun,1\n"), None);
    }
}
