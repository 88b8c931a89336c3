//! What benchmark frameworks print: `go test -bench`, criterion, Google Benchmark. Each benchmark is an operation.
//! Sources: Go's benchmark data format, the books of criterion and of Google Benchmark.

use super::unit::{self, Dimension};
use super::{BadTable, PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use serde_json::Value;

/// Google Benchmark's and hyperfine's JSON. `None`: of neither.
pub fn from_json(name: &str, json: &Value) -> Option<Result<PublishedTable, BadTable>> {
    let all = |key: &str, fields: [&str; 2]| {
        let all = json.get(key)?.as_array().filter(|all| !all.is_empty())?;
        all.iter().all(|one| fields.iter().all(|field| one.get(field).is_some())).then_some(all)
    };
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_f64);
    let text = |of: &'_ Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_string);
    let google = |(at, of): (usize, &Value)| {
        // Means and deviations of repetitions stand beside them.
        let run = text(of, "run_type").is_none_or(|kind| kind == "iteration");
        let ns = number(of, "real_time")? * unit::parse(&text(of, "time_unit")?).ok()?.factor;
        run.then_some(row(at, &text(of, "name")?, ns, None))
    };
    let hyperfine = |(at, of): (usize, &Value)| {
        let spread = number(of, "stddev").map(|s| s * 1e9);
        let row = row(at, &text(of, "command")?, number(of, "mean")? * 1e9, spread);
        let runs = of.get("times").and_then(Value::as_array).map(|times| times.len() as f64);
        Some((row, runs))
    };
    let counted = |(mut row, runs): (PublishedRow, Option<f64>)| {
        row.set(runs.map(|runs| (TableColumn::Runs, runs)));
        row
    };
    if let Some(all) = all("benchmarks", ["real_time", "time_unit"]) {
        return Some(told(name, "Google Benchmark", all.iter().enumerate().filter_map(google).collect()));
    }
    let all = all("results", ["command", "mean"])?;
    Some(told(name, "hyperfine", all.iter().enumerate().filter_map(hyperfine).map(counted).collect()))
}

fn told(name: &str, tool: &str, rows: Vec<PublishedRow>) -> Result<PublishedTable, BadTable> {
    let said = format!("{tool}: a benchmark is an operation");
    PublishedTable::of_one(name, Ok(rows), vec![said]).map(|table| PublishedTable { single: false, ..table })
}

/// `None`: of none of them.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let (tool, rows) = [
        ("go test -bench", go(text)),
        ("criterion", criterion(text)),
        ("Google Benchmark", google(text)),
        ("perf bench", perf_bench(text)),
        ("hyperfine", hyperfine(text)),
    ]
    .into_iter()
    .find(|(_, rows)| !rows.is_empty())?;
    Some(told(name, tool, rows))
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

/// `# Running 'sched/pipe' benchmark:` and below it `5.34 usecs/op`, or for each function of memory `17.3 GB/sec`
fn perf_bench(text: &str) -> Vec<PublishedRow> {
    let (mut running, mut function) = (None, None);
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let named = |mark: &str| Some(line.strip_prefix(mark)?.split_once('\'')?.0);
        if let Some(name) = named("# Running '") {
            (running, function) = (Some(name), None);
        }
        function = named("# function '").or(function);
        let each = line.trim().strip_suffix("/op").and_then(|each| each.split_once(' '));
        let each = each.and_then(|(value, of)| time(value, of.trim()));
        rows.extend(each.and_then(|ns| Some(row(at, running.take()?, ns, None))));
        if let Some((name, rate)) = running.filter(|name| name.starts_with("mem/")).zip(copied(line)) {
            let name = [Some(name), function.take()].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let mut row = row(at, &name, rate, None);
            row.texts.insert(TableColumn::Unit, "bit/s".into());
            rows.push(row);
        }
    }
    rows
}

/// `17.304930 GB/sec`; perf's K is 1024.
fn copied(line: &str) -> Option<f64> {
    let (value, of) = line.trim().split_once(' ')?;
    let bytes = unit::parse(of.trim().strip_suffix("/sec")?).ok()?;
    let scale = Some(bytes.factor).filter(|_| bytes.dimension == Dimension::Size)?;
    Some(value.parse::<f64>().ok()? * 8.0 * scale)
}

/// `Benchmark 1: ./send` and below it `Time (mean ± σ):  12.3 ms ±  1.4 ms  [User: 5.2 ms, System: 6.8 ms]`
fn hyperfine(text: &str) -> Vec<PublishedRow> {
    let mut command = None;
    let mut rows: Vec<PublishedRow> = Vec::new();
    for (at, line) in text.lines().map(str::trim).enumerate() {
        let begins = line.strip_prefix("Benchmark ").and_then(|rest| rest.split_once(": "));
        if let Some((_, name)) = begins.filter(|(n, _)| n.trim_start_matches('#').parse::<u32>().is_ok()) {
            command = Some(name);
        }
        let figures = line.strip_prefix("Time (").and_then(|rest| Some(rest.split_once("):")?.1));
        let words: Vec<&str> = figures.unwrap_or_default().split_whitespace().collect();
        let mean = if let [mean, of, ..] = words[..] { time(mean, of) } else { None };
        let spread = if let [_, _, "±", spread, of, ..] = words[..] { time(spread, of) } else { None };
        rows.extend(mean.and_then(|ns| Some(row(at, command.take()?, ns, spread))));
        let runs = line.strip_prefix("Range (").and_then(|rest| rest.strip_suffix("runs"));
        let runs = runs.and_then(|rest| rest.split_whitespace().next_back()?.parse::<f64>().ok());
        if let (Some(row), Some(runs)) = (rows.last_mut(), runs) {
            row.set([(TableColumn::Runs, runs)]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_benchmark_is_an_operation_in_ns() {
        let go = "goos: linux\nBenchmarkSend/64B-8 \t 1000000\t 1034 ns/op\t 61.90 MB/s\t 0 B/op\nBenchmarkPipe-8 \t 500 \t 2534.5 ns/op\nPASS\n";
        let criterion = "Benchmarking Send/64B: Warming up\nSend/64B  time:   [1.0 µs 1.034 µs 1.1 µs]\n  change: [-1% +0% +1%] (p = 0.7)\nPipe\n   time:   [2534.0 ns 2534.5 ns 2535.0 ns]\n";
        let google = "Run on (8 X 3600 MHz CPU s)\n---\nBenchmark  Time  CPU  Iterations\n---\nSend/64B  1.034 us  1.030 us  680000\nPipe  2534.5 ns 2530 ns 1000\n";
        let hyperfine = "Benchmark 1: Send/64B\n  Time (mean ± σ):  1.034 µs ±  1.4 µs    [User: 5.2 ms, System: 6.8 ms]\n\
                         Range (min … max):  1.0 µs …  9.1 µs    200 runs\n\nBenchmark #2: Pipe\n  Time (abs ≡):  2534.5 ns  [User: 1 ns]\n";
        for text in [go, criterion, google, hyperfine] {
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
