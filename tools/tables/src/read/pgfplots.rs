//! Curves as LaTeX draws them: `\addplot coordinates {(64,0.2) (1024,3.1)}` under an `axis` that says what its axes are.
//! Source: the manual of PGFPlots.

use super::layout::TableRecord;

/// A curve's name and its points, as they are written.
type Curve<'t> = (String, Vec<(&'t str, &'t str)>);

/// `None`: nothing is drawn. Each `axis` is a table of its own, with a column a curve.
pub fn records(text: &str) -> Option<Vec<TableRecord>> {
    let mut all = Vec::new();
    for part in text.split("\\begin{axis}").skip(1) {
        let line = text[..part.as_ptr() as usize - text.as_ptr() as usize].lines().count().max(1);
        let curves = curves(part.split("\\end{axis}").next().unwrap_or_default());
        let (x, y) = (option(part, "xlabel")?, option(part, "ylabel")?);
        let mut places: Vec<&str> = Vec::new();
        for (place, _) in curves.iter().flat_map(|(_, points)| points) {
            if !places.contains(place) {
                places.push(place);
            }
        }
        let headings = curves.iter().map(|(name, _)| format!("{name}, {y}"));
        all.push(TableRecord { line, cells: std::iter::once(x.to_string()).chain(headings).collect() });
        for place in places {
            let value = |(_, points): &Curve| {
                points
                    .iter()
                    .find(|(at, _)| *at == place)
                    .map_or(String::new(), |(_, value)| value.to_string())
            };
            let cells = std::iter::once(place.to_string()).chain(curves.iter().map(value)).collect();
            all.push(TableRecord { line, cells });
        }
    }
    (all.len() > 1).then_some(all)
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
