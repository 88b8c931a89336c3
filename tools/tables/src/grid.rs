//! Cells of a text: separated values, or tables between pipes. What does not fit into one grid is refused at its line.

use crate::{AtLine, dictionary, unit};
use syscost_core::units::count;

/// A line of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridLine {
    /// From 1.
    pub line: usize,
    pub cells: Vec<String>,
}

/// A table as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    pub headings: GridLine,
    pub rows: Vec<GridLine>,
    pub delimiter: char,
    /// Lines above and below that are no part of it.
    pub titles: Vec<String>,
    /// Lines that repeat the headings.
    pub again: usize,
}

/// A text of separated values is one table.
pub fn separated(text: &str) -> Result<Grid, AtLine> {
    let parsed = [',', ';', '\t', '|'].map(|delimiter| (records(text, delimiter), delimiter));
    let fit = |lines: &[GridLine]| {
        let widest = lines.iter().map(|line| filled(&line.cells)).max().unwrap_or(0);
        let alike = lines.iter().filter(|line| line.cells.len() >= widest && filled(&line.cells) > 1).count();
        // One line with a comma in a text is no table, but where it is the only one.
        let is_table = widest > 1 && (alike > 1 || lines.len() == 1);
        if is_table { alike * 100 + widest.min(99) } else { 0 }
    };
    let best = parsed.into_iter().max_by_key(|(lines, _)| fit(lines)).filter(|(lines, _)| fit(lines) > 0);
    let Some((mut lines, delimiter)) = best else {
        let why = "no table is found: a CSV or TSV with a line of headings is read, a table between pipes (|), or the \
                   machine-readable form of a tool";
        return Err((0, why.into()));
    };
    let above = lines.iter().take_while(|line| filled(&line.cells) < 2).count();
    let titles: Vec<String> = lines.drain(..above).map(|line| line.cells.concat()).collect();
    let mut headings = lines.remove(0);
    // gnuplot's way: `# size threads` above figures.
    let above = headings.line.checked_sub(2).and_then(|at| text.lines().nth(at)?.strip_prefix('#'));
    let above = above.into_iter().flat_map(|line| line.split(delimiter));
    let above: Vec<String> = above.map(|cell| cell.trim().to_string()).collect();
    let words = headings.cells.iter().any(|cell| cell.contains(char::is_alphabetic));
    if !words && above.len() == headings.cells.len() {
        lines.insert(0, headings.clone());
        headings = GridLine { line: headings.line - 1, cells: above };
    }
    whole(Grid { headings, rows: lines, delimiter, titles, again: 0 })
}

fn filled(cells: &[String]) -> usize {
    cells.iter().filter(|cell| !cell.is_empty()).count()
}

fn records(text: &str, delimiter: char) -> Vec<GridLine> {
    // A record begins, for its reader, where the lines before it ended: those without cells are taken out here.
    let kept =
        || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let places: Vec<usize> = kept().map(|(at, _)| at + 1).collect();
    let text: String = kept().flat_map(|(_, line)| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter as u8)
        .flexible(true)
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let line = |record: csv::StringRecord| {
        let at = record.position().map_or(0, |at| at.line() as usize);
        let cells = record.iter().map(|cell| cell.trim_matches(['"', ' ']).to_string()).collect();
        GridLine { line: places.get(at.saturating_sub(1)).copied().unwrap_or(at), cells }
    };
    reader.records().filter_map(Result::ok).map(line).filter(|line| filled(&line.cells) > 0).collect()
}

/// Headings and rows of one width.
fn whole(Grid { mut headings, rows: mut lines, delimiter, mut titles, .. }: Grid) -> Result<Grid, AtLine> {
    let has_number = |line: &GridLine| line.cells.iter().any(|cell| unit::number(cell, '.').is_some());
    // A note below the last row; between rows one may be the name of what follows.
    let is_note =
        |line: &&mut GridLine| line.cells.len() > 2 && filled(&line.cells) == 1 && !has_number(line);
    while let Some(note) = lines.last_mut().filter(is_note) {
        titles.push(note.cells.concat());
        lines.pop();
    }
    let without_empty = |cells: &mut Vec<String>, width: usize| {
        let last = cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1);
        cells.truncate(last.max(width));
    };
    without_empty(&mut headings.cells, 0);
    let width = headings.cells.len();
    lines.iter_mut().for_each(|line| without_empty(&mut line.cells, width));
    let (again, rows): (Vec<GridLine>, Vec<GridLine>) =
        lines.into_iter().partition(|line| line.cells == headings.cells);
    for row in &rows {
        if row.cells.len() != width {
            let cells = count(row.cells.len(), "cell");
            let why = "give one table a file, with its headings in the first line";
            return Err((row.line, format!("{cells} here, {width} in the headings: {why}")));
        }
        // Words alone, where figures stood: the headings of another table.
        let known = row.cells.iter().filter(|cell| dictionary::heading(cell, false).is_ok());
        if !has_number(row) && known.count() > 1 {
            return Err((row.line, "other headings begin here: give one table a file".into()));
        }
    }
    if rows.is_empty() {
        return Err((headings.line, "no row stands below the headings".into()));
    }
    Ok(Grid { again: again.len(), headings, rows, delimiter, titles })
}

/// Tables between pipes, wherever they stand; a rule below the headings shows one.
pub fn piped(text: &str) -> Vec<Result<Grid, AtLine>> {
    let lines: Vec<String> =
        text.lines().map(|line| line.replace(['│', '┃'], "|").trim().to_string()).collect();
    let is_row = |line: &&String| line.contains('|') && !is_rule(line);
    let is_line = |line: &String| is_row(&line) || is_rule(line);
    let (mut tables, mut above, mut title) = (Vec::new(), 0, None);
    for block in lines.chunk_by(|one, next| is_line(one) == is_line(next)) {
        if !is_line(&block[0]) {
            let last = block.iter().rfind(|line| !line.is_empty());
            title = last.map(|line| line.trim_matches(['#', '*', ' ', ':']));
        } else if block.iter().any(|line| is_rule(line)) && block.iter().filter(is_row).count() > 1 {
            tables.push(block_of(block, above, title));
        }
        above += block.len();
    }
    tables
}

/// `|---|:--:|`, `+---+---+`, `---|---`
fn is_rule(line: &str) -> bool {
    const DRAWN: &str = "|+-=:─━┼╋├┤┌┐└┘┬┴╪╞╡ ";
    line.contains(['|', '+', '┼', '┌', '├', '└'])
        && line.contains(['-', '─', '=', '━'])
        && line.chars().all(|c| DRAWN.contains(c))
}

fn block_of(block: &[String], above: usize, title: Option<&str>) -> Result<Grid, AtLine> {
    let first = block.iter().position(|line| !is_rule(line)).unwrap_or(0);
    let heads = block[first..].iter().take_while(|line| !is_rule(line)).count();
    if heads > 1 {
        return Err((above + first + 1, "its headings stand on several lines: write them on one".into()));
    }
    let row = |(at, line): (usize, &String)| {
        let inner = line.strip_prefix('|').unwrap_or(line);
        let inner = inner.strip_suffix('|').unwrap_or(inner).replace("\\|", "\0");
        let cell = |cell: &str| {
            let plain = cell.replace('\0', "|").replace("**", "").replace("<br>", " ");
            plain.trim().trim_matches(['`', '_']).trim().to_string()
        };
        GridLine { line: above + at + 1, cells: inner.split('|').map(cell).collect() }
    };
    let lines = block.iter().enumerate().filter(|(_, line)| !is_rule(line)).map(row);
    let mut lines: Vec<GridLine> = lines.filter(|line| filled(&line.cells) > 0).collect();
    if lines.is_empty() {
        return Err((above + 1, "a table without a cell".into()));
    }
    let headings = lines.remove(0);
    if let Some(title) = title.filter(|title| dictionary::is_expected(title)) {
        return Err((headings.line, format!("its title says that it was not measured: {title:?}")));
    }
    let titles = title.into_iter().map(String::from).collect();
    whole(Grid { headings, rows: lines, delimiter: '|', titles, again: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_titles_comments_and_pipes() {
        let cells = |text: &str| {
            separated(text).map(|grid| (grid.headings.cells.join("/"), grid.rows.len(), grid.delimiter))
        };
        assert_eq!(cells("size,threads\n64,1\n64,2\n"), Ok(("size/threads".into(), 2, ',')));
        assert_eq!(cells("size;gbps\n64;1,5\n"), Ok(("size/gbps".into(), 1, ';')));
        assert_eq!(
            cells("# of mine\nResults\nsize\tthreads\n\n64\t1\n"),
            Ok(("size/threads".into(), 1, '\t'))
        );
        assert_eq!(cells("# size,gbps\n64,1.5\n128,2\n"), Ok(("size/gbps".into(), 2, ',')));
        assert!(cells("size,threads\n64,1\n64\n").unwrap_err().1.starts_with("1 cell here"));
        assert!(cells("size,threads\n64,1\nsize,latency\n64,2\n").unwrap_err().1.contains("other headings"));
        assert_eq!(
            cells("size,threads,gbps\n64,1,2\nNote: mine,,\n"),
            Ok(("size/threads/gbps".into(), 1, ','))
        );
        assert!(cells("no table\nat all\n").is_err());
        let tables = piped(
            "Text\n\n| Size | **Gbps** |\n|---|---|\n| 64 | 1 |\n\nMore | text\n\n+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n",
        );
        let told: Vec<_> = tables
            .into_iter()
            .map(|grid| grid.unwrap().headings)
            .map(|h| (h.line, h.cells.join("/")))
            .collect();
        assert_eq!(told, [(3, "Size/Gbps".to_string()), (10, "a/b".to_string())]);
    }
}
