//! Cells of a text: separated values, or tables between pipes. What does not fit into one grid is refused at its line.

use crate::BadTable;
use crate::dictionary;
use crate::unit;

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

const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// A text of separated values is one table.
pub fn separated(name: &str, text: &str) -> Result<Grid, BadTable> {
    let parsed = DELIMITERS.into_iter().map(|delimiter| (records(text, delimiter), delimiter));
    let fit = |lines: &[GridLine]| {
        let widest = lines.iter().map(|line| filled(&line.cells)).max().unwrap_or(0);
        let alike = lines.iter().filter(|line| line.cells.len() >= widest && filled(&line.cells) > 1).count();
        // One line with a comma in a text is no table, but where it is the only one.
        let is_table = widest > 1 && (alike > 1 || lines.len() == 1);
        if is_table { alike * 100 + widest.min(99) } else { 0 }
    };
    let best = parsed.max_by_key(|(lines, _)| fit(lines)).filter(|(lines, _)| fit(lines) > 0);
    let Some((mut lines, delimiter)) = best else {
        let why = "no table is found: a CSV or TSV with a line of headings is read, a table between pipes (|), or the \
                   machine-readable form of a tool";
        return Err(BadTable::whole(name, why));
    };
    let above = lines.iter().take_while(|line| filled(&line.cells) < 2).count();
    let titles: Vec<String> = lines.drain(..above).map(|line| line.cells.concat()).collect();
    let mut headings = lines.remove(0);
    // gnuplot's way: `# size threads` above figures.
    if headings.cells.iter().all(|cell| !cell.contains(char::is_alphabetic)) {
        if let Some(heading) = commented(text, headings.line, delimiter, headings.cells.len()) {
            lines.insert(0, headings);
            headings = heading;
        }
    }
    grid(name, headings, lines, delimiter, titles)
}

fn filled(cells: &[String]) -> usize {
    cells.iter().filter(|cell| !cell.is_empty()).count()
}

/// The comment right above a line, where it has as many cells.
fn commented(text: &str, line: usize, delimiter: char, cells: usize) -> Option<GridLine> {
    let above = text.lines().nth(line.checked_sub(2)?)?.strip_prefix('#')?;
    let heading: Vec<String> = above.split(delimiter).map(|cell| cell.trim().to_string()).collect();
    (heading.len() == cells).then_some(GridLine { line: line - 1, cells: heading })
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
fn grid(
    name: &str,
    mut headings: GridLine,
    mut lines: Vec<GridLine>,
    delimiter: char,
    mut titles: Vec<String>,
) -> Result<Grid, BadTable> {
    // A note below the last row; between rows one may be the name of what follows.
    let is_note = |line: &&mut GridLine| {
        let number = |cell: &String| unit::number(cell, '.').is_some();
        line.cells.len() > 2 && filled(&line.cells) == 1 && !line.cells.iter().any(number)
    };
    while let Some(note) = lines.last_mut().filter(is_note) {
        titles.push(note.cells.concat());
        lines.pop();
    }
    while headings.cells.last().is_some_and(String::is_empty) {
        headings.cells.pop();
    }
    let width = headings.cells.len();
    let all = lines.len();
    let mut rows = Vec::new();
    for mut line in lines {
        while line.cells.len() > width && line.cells.last().is_some_and(String::is_empty) {
            line.cells.pop();
        }
        if line.cells == headings.cells {
            continue;
        }
        if line.cells.len() != width {
            let why = format!(
                "{} here, {width} in the headings: give one table a file, with its headings in the first line",
                syscost_core::units::count(line.cells.len(), "cell")
            );
            return Err(BadTable::at(name, line.line, why));
        }
        // Words alone, where figures stood: the headings of another table.
        let figures = line.cells.iter().any(|cell| unit::number(cell, '.').is_some());
        let known = line.cells.iter().filter(|cell| dictionary::heading(cell, false).is_ok());
        if !figures && known.count() > 1 {
            return Err(BadTable::at(name, line.line, "other headings begin here: give one table a file"));
        }
        rows.push(line);
    }
    if rows.is_empty() {
        return Err(BadTable::at(name, headings.line, "no row stands below the headings"));
    }
    Ok(Grid { again: all - rows.len(), headings, rows, delimiter, titles })
}

/// Tables between pipes, wherever they stand; a rule below the headings shows one.
pub fn piped(name: &str, text: &str) -> Vec<Result<Grid, BadTable>> {
    let lines: Vec<String> =
        text.lines().map(|line| line.replace(['│', '┃'], "|").trim().to_string()).collect();
    let is_row = |line: &String| line.contains('|') && !is_rule(line);
    let mut tables = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let length = lines[at..].iter().take_while(|line| is_row(line) || is_rule(line)).count();
        let block = &lines[at..at + length];
        let title = lines[..at]
            .iter()
            .rev()
            .find(|line| !line.is_empty())
            .filter(|line| !is_row(line) && !is_rule(line))
            .map(|line| line.trim_matches(['#', '*', ' ', ':']));
        if block.iter().any(|line| is_rule(line)) && block.iter().filter(|line| is_row(line)).count() > 1 {
            tables.push(block_of(name, block, at, title));
        }
        at += length.max(1);
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

fn block_of(name: &str, block: &[String], above: usize, title: Option<&str>) -> Result<Grid, BadTable> {
    let first = block.iter().position(|line| !is_rule(line)).unwrap_or(0);
    let heads = block[first..].iter().take_while(|line| !is_rule(line)).count();
    if heads > 1 {
        return Err(BadTable::at(
            name,
            above + first + 1,
            "its headings stand on several lines: write them on one",
        ));
    }
    let row = |(at, line): (usize, &String)| {
        let inner = line.strip_prefix('|').unwrap_or(line);
        let inner = inner.strip_suffix('|').unwrap_or(inner).replace("\\|", "\0");
        let cell = |cell: &str| {
            cell.replace('\0', "|")
                .replace("**", "")
                .replace("<br>", " ")
                .trim()
                .trim_matches(['`', '_'])
                .trim()
                .to_string()
        };
        GridLine { line: above + at + 1, cells: inner.split('|').map(cell).collect() }
    };
    let mut lines: Vec<GridLine> = block
        .iter()
        .enumerate()
        .filter(|(_, line)| !is_rule(line))
        .map(row)
        .filter(|line| filled(&line.cells) > 0)
        .collect();
    if lines.is_empty() {
        return Err(BadTable::at(name, above + 1, "a table without a cell"));
    }
    let headings = lines.remove(0);
    if let Some(title) = title.filter(|title| dictionary::is_expected(title)) {
        return Err(BadTable::at(
            name,
            headings.line,
            format!("its title says that it was not measured: {title:?}"),
        ));
    }
    grid(name, headings, lines, '|', title.into_iter().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_titles_comments_and_pipes() {
        let cells = |text: &str| {
            separated("t", text).map(|grid| (grid.headings.cells.join("/"), grid.rows.len(), grid.delimiter))
        };
        assert_eq!(cells("size,threads\n64,1\n64,2\n"), Ok(("size/threads".into(), 2, ',')));
        assert_eq!(cells("size;gbps\n64;1,5\n"), Ok(("size/gbps".into(), 1, ';')));
        assert_eq!(
            cells("# of mine\nResults\nsize\tthreads\n\n64\t1\n"),
            Ok(("size/threads".into(), 1, '\t'))
        );
        assert_eq!(cells("# size,gbps\n64,1.5\n128,2\n"), Ok(("size/gbps".into(), 2, ',')));
        assert!(cells("size,threads\n64,1\n64\n").unwrap_err().to_string().starts_with("t:3: 1 cell here"));
        assert!(
            cells("size,threads\n64,1\nsize,latency\n64,2\n")
                .unwrap_err()
                .to_string()
                .contains("other headings")
        );
        assert_eq!(
            cells("size,threads,gbps\n64,1,2\nNote: mine,,\n"),
            Ok(("size/threads/gbps".into(), 1, ','))
        );
        assert!(cells("no table\nat all\n").is_err());
        let tables = piped(
            "t",
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
