//! Curves as their drawing holds them: LaTeX's `\addplot coordinates {(64,0.2) (1024,3.1)}` under an `axis` (PGFPlots), and
//! gnuplot's blocks of data, `$name << EOD`. Sources: the manuals of both.

use super::layout::TableRecord;
use crate::vocabulary::tokens;
use std::borrow::Cow;

/// A curve's name and its points, as they are written.
type Curve<'t> = (String, Vec<(&'t str, &'t str)>);

/// `None`: nothing is drawn.
pub fn records(text: &str) -> Option<Vec<TableRecord>> {
    pgfplots(text).or_else(|| gnuplot(text))
}

/// Each `axis` is a table of its own.
fn pgfplots(text: &str) -> Option<Vec<TableRecord>> {
    let mut all = Vec::new();
    for part in text.split("\\begin{axis}").skip(1) {
        let line = text[..part.as_ptr() as usize - text.as_ptr() as usize].lines().count().max(1);
        let curves = curves(part.split("\\end{axis}").next().unwrap_or_default());
        all.extend(table(line, option(part, "xlabel")?, option(part, "ylabel")?, &curves));
    }
    (all.len() > 2).then_some(all)
}

/// A column a curve, in the axes' units.
fn table(line: usize, x: &str, y: &str, curves: &[Curve]) -> Vec<TableRecord> {
    let (x, y) = (label(x), label(y));
    let mut places: Vec<&str> = Vec::new();
    for (place, _) in curves.iter().flat_map(|(_, points)| points) {
        if !places.contains(place) {
            places.push(place);
        }
    }
    let names = curves.iter().map(|(name, _)| name.clone());
    let headings = std::iter::once(x.to_string()).chain(names).collect();
    let mut all =
        vec![TableRecord { line, cells: vec![y.to_string()] }, TableRecord { line, cells: headings }];
    for place in places {
        let value = |(_, points): &Curve| {
            let point = points.iter().find(|(at, _)| *at == place);
            point.map_or(String::new(), |(_, value)| value.to_string())
        };
        let cells = std::iter::once(place.to_string()).chain(curves.iter().map(value)).collect();
        all.push(TableRecord { line, cells });
    }
    all
}

/// Blocks of two columns that a `plot` names.
fn gnuplot(text: &str) -> Option<Vec<TableRecord>> {
    let mut curves: Vec<Curve> = Vec::new();
    let plot = text.lines().position(|line| line.trim_start().starts_with("plot "))?;
    let drawn: String = text.lines().skip(plot).collect();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((name, end)) = line.trim().strip_prefix('$').and_then(|of| of.split_once("<<")) else {
            continue;
        };
        let rows = lines.by_ref().take_while(|line| line.trim() != end.trim());
        let points = rows.filter_map(|row| {
            let mut words = row.split_whitespace();
            let point = (words.next()?, words.next()?);
            (words.next().is_none() && point.0.parse::<f64>().is_ok()).then_some(point)
        });
        let points: Vec<(&str, &str)> = points.collect();
        let named = drawn.split_once(&format!("${}", name.trim()));
        if let Some((_, rest)) = named.filter(|_| !points.is_empty()) {
            let own = rest.split('$').next().unwrap_or_default();
            let title =
                own.split_once("title ").or_else(|| own.split_once(" t ")).and_then(|(_, of)| quoted(of));
            curves.push((title.unwrap_or(name.trim()).to_string(), points));
        }
    }
    let axis = |axis: &str| {
        let set = text.lines().find_map(|line| line.trim().strip_prefix("set ")?.strip_prefix(axis));
        quoted(set?.trim_start())
    };
    (!curves.is_empty()).then_some(())?;
    Some(table(plot + 1, axis("xlabel")?, axis("ylabel")?, &curves))
}

pub fn is_gnuplot(text: &str) -> bool {
    let begins = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
    begins("set ") && begins("plot ")
}

/// A label without how its axis is drawn: `Throughput (Gbps, log scale)`.
pub fn label(text: &str) -> Cow<'_, str> {
    let drawn = |rest: &str| {
        let words: Vec<String> = tokens(rest);
        words.iter().any(|word| word == "scale")
            && words
                .iter()
                .all(|word| ["log", "log2", "log10", "scale", "2", "10", "base"].contains(&word.as_str()))
    };
    let cuts = text.match_indices([',', '(', '[', '-', ';']).map(|(at, _)| at);
    let Some(at) = cuts.into_iter().find(|at| drawn(&text[at + 1..])) else { return text.into() };
    let plain = text[..at].trim_end();
    let open = plain.matches('(').count() > plain.matches(')').count();
    if open { format!("{plain})").into() } else { plain.into() }
}

fn quoted(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    text[1..].split_once(mark).map(|(text, _)| text)
}

/// `xlabel={Message size (B)}`
fn option<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start();
    Some(match rest.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?.0,
        None => rest.split([',', ']']).next()?,
    })
}

fn curves(axis: &str) -> Vec<Curve<'_>> {
    let legend: Vec<&str> = option(axis, "legend entries").map_or(Vec::new(), |all| all.split(',').collect());
    let drawn = axis.split("\\addplot").skip(1).enumerate();
    drawn.filter_map(|(at, drawn)| curve(drawn, legend.get(at).copied(), at)).collect()
}

fn curve<'t>(drawn: &'t str, listed: Option<&str>, at: usize) -> Option<Curve<'t>> {
    let inside = drawn.split_once("coordinates")?.1.split_once('{')?.1.split_once('}')?.0;
    let points = inside.split('(').filter_map(|point| point.split_once(')')?.0.split_once(','));
    let points: Vec<(&str, &str)> = points.map(|(x, y)| (x.trim(), y.trim())).collect();
    let entry = drawn.split_once("\\addlegendentry{").and_then(|(_, rest)| Some(rest.split_once('}')?.0));
    let name = entry.or(listed).map_or(format!("curve {}", at + 1), |name| name.trim().into());
    (!points.is_empty()).then_some((name, points))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_gnuplot_are_curves_by_their_titles() {
        let text = "set xlabel \"Size (B)\" font \"x\"\nset ylabel 'Gbps'\n$a << EOD\n64 0.5\n128\t1.25\nEOD\n$b << EOD\n64 0.25\nEOD\n\
                    $unused << EOD\n64 9\nEOD\nplot \"$a\" title \"A1\" with lines,\\\n  $b using 1:2 t 'A2'\n";
        let rows: Vec<Vec<String>> = records(text).unwrap().into_iter().map(|row| row.cells).collect();
        let under = [["Size (B)", "A1", "A2"], ["64", "0.5", "0.25"], ["128", "1.25", ""]];
        assert_eq!(
            (&rows[0][..], &rows[1..]),
            (&["Gbps".to_string()][..], &under.map(|row| row.map(String::from).to_vec())[..])
        );
        assert_eq!(label("Tput (Gbps, log scale)"), "Tput (Gbps)");
        assert_eq!(label("Latency (us) [log2 scale]"), "Latency (us)");
        assert_eq!(label("log2 size"), "log2 size");
        assert!(records("set xlabel 'x'\nplot 'data.txt'\n").is_none());
    }
}
