//! Tables of LaTeX as lines with bars, each row at its line and below its caption.

use crate::cells;
use crate::unit::{self, DecimalMark};

/// What commands stand for; of all others their text alone is left.
const WORDS: &[(&str, &str)] = &[("textmu", "µ"), ("mu", "µ"), ("pm", "±"), ("times", "×")];
const MARKS: &[(&str, &str)] = &[("\\&", "and"), ("\\%", "%"), ("\\_", "_"), ("~", " ")];
const BEGIN: &str = "\\begin{tabular";
const END: &str = "\\end{tabular";
const BREAK: &str = "\\\\";
/// One row of so many must hold a figure.
const FEWEST: usize = 3;

/// The tables as lines, and how many are left out because they hold no results. `None`: the text has none.
pub fn with_bars(text: &str) -> Option<(String, usize)> {
    if !text.contains(BEGIN) {
        return None;
    }
    let text = MARKS.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
    let tables = tables(&text);
    let many = tables.len();
    let results = tables.iter().filter(|table| table.holds_results()).count();
    // Where none is left, the reader says of all why they are not read.
    let kept = tables.into_iter().filter(|table| results == 0 || table.holds_results());
    let mut lines = vec![String::new(); text.lines().count()];
    for (at, line) in kept.flat_map(TexTable::lines) {
        if let Some(known) = lines.get_mut(text[..at].matches('\n').count()) {
            *known = line.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    Some((lines.join("\n") + "\n", if results == 0 { 0 } else { many - results }))
}

struct TexTable {
    /// Where it begins, and its caption.
    title: (usize, String),
    /// Where each begins, and its cells.
    rows: Vec<(usize, Vec<String>)>,
}

impl TexTable {
    /// Of a table of two columns, such as that of a system's parts, one figure alone is no result.
    fn holds_results(&self) -> bool {
        let number = |cell: &String| {
            unit::number(cells::plain(cell.trim()), DecimalMark::Point).is_some_and(|(.., of)| {
                of.is_none_or(|of| unit::parse(of).is_ok() || unit::count(of).is_ok())
            })
        };
        let with = self.rows.iter().filter(|(_, cells)| cells.iter().any(number)).count();
        let pairs = self.rows.iter().all(|(_, cells)| cells.len() == 2);
        with > 0 && (!pairs || with * FEWEST >= self.rows.len())
    }

    fn lines(self) -> impl Iterator<Item = (usize, String)> {
        let barred = |(at, cells): (usize, Vec<String>)| (at, format!("| {} |", cells.join("|").trim_end()));
        std::iter::once(self.title).chain(self.rows.into_iter().map(barred))
    }
}

fn tables(text: &str) -> Vec<TexTable> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find(BEGIN).map(|at| from + at) {
        let inside = begin + BEGIN.len();
        let end = inside + matching(&text[inside..]);
        let rows = inside + arguments(&text[inside..end]);
        let title = caption(text, begin, end).unwrap_or_default();
        let cells = |(at, row): (usize, String)| {
            let cells = without_commands(&row).split('&').map(str::to_string).collect();
            row.contains('&').then_some((rows + at, cells))
        };
        all.push(TexTable {
            title: (begin, without_commands(title).replace('|', " ")),
            rows: parted(&text[rows..end]).into_iter().filter_map(cells).collect(),
        });
        from = end;
    }
    all
}

/// Where the table ends that begins before the text; one may stand in a cell of another.
fn matching(text: &str) -> usize {
    let mut depth = 1;
    let mut at = 0;
    while let Some(next) = text[at..].find(['\\']).map(|next| at + next) {
        if text[next..].starts_with(BEGIN) {
            depth += 1;
        } else if text[next..].starts_with(END) {
            depth -= 1;
        }
        if depth == 0 {
            return next;
        }
        at = next + 1;
    }
    text.len()
}

/// Behind the environment's name: how wide it is, and its columns.
fn arguments(text: &str) -> usize {
    let mut at = text.find('}').map_or(0, |end| end + 1);
    while let Some(open) = text[at..].chars().next().filter(|c| ['[', '{'].contains(c)) {
        let Some(end) = group(&text[at..], open) else { break };
        at += end;
    }
    at
}

/// The end of what a bracket opens.
fn group(text: &str, open: char) -> Option<usize> {
    let close = if open == '{' { '}' } else { ']' };
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// That of its float, above it or below.
fn caption(text: &str, begin: usize, end: usize) -> Option<&str> {
    let float = text[..begin].rfind("\\begin{table").unwrap_or(begin);
    let closed = text[end..].find("\\end{table}").or_else(|| text[end..].find("\\end{table*}"));
    let closed = end + closed.unwrap_or(0);
    let around = [&text[float..begin], &text[end..closed]];
    let inside = around.iter().find_map(|part| part.split_once("\\caption{")).map(|(_, text)| text)?;
    inside.lines().next()
}

/// The rows with where each begins. What breaks a line in a cell, or in a table within one, is a space.
fn parted(text: &str) -> Vec<(usize, String)> {
    let mut rows = vec![(0, String::new())];
    let (mut at, mut braces, mut tables) = (0, 0usize, 0usize);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let inside = braces > 0 || tables > 0;
        if let Some(more) = rest.strip_prefix(BEGIN) {
            tables += 1;
            at += BEGIN.len() + arguments(more);
            continue;
        }
        if rest.starts_with(END) {
            tables = tables.saturating_sub(1);
            at += rest.find('}').map_or(rest.len(), |end| end + 1);
            continue;
        }
        if let Some(more) = rest.strip_prefix(BREAK) {
            at += BREAK.len() + more.starts_with('[').then(|| group(more, '[')).flatten().unwrap_or(0);
            if inside {
                rows.last_mut().expect("one").1.push(' ')
            } else {
                rows.push((at, String::new()))
            }
            continue;
        }
        if c == '%' && !text[..at].ends_with(char::is_alphanumeric) && !text[..at].ends_with([' ', '(']) {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        braces = if c == '}' { braces.saturating_sub(1) } else { braces + usize::from(c == '{') };
        let (begins, row) = rows.last_mut().expect("one");
        // Rules may stand before it, on the line of the row above.
        if c == '&' && !row.contains('&') {
            *begins = at;
        }
        row.push(if c == '\n' { ' ' } else { c });
        at += c.len_utf8();
    }
    rows
}

/// `\textbf{Size}` is Size, `\multicolumn{2}{c}{A1}` is A1 in two columns, `\multirow{2}{*}{A1}` in one.
fn without_commands(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain += before;
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (command, behind) = after.split_at(end);
        rest = behind;
        plain += WORDS.iter().find(|(word, _)| *word == command).map_or("", |(_, mark)| mark);
        if ["multicolumn", "multirow"].contains(&command)
            && let [many, _, inside] = behind.splitn(3, "}").collect::<Vec<_>>()[..]
        {
            let columns = Some(many).filter(|_| command == "multicolumn");
            let many: usize = columns.and_then(|many| many.trim_start_matches('{').parse().ok()).unwrap_or(1);
            let (inside, more) = inside.split_once('}').unwrap_or((inside, ""));
            plain += inside;
            plain += &" &".repeat(many.clamp(1, 100) - 1);
            rest = more;
        } else if command == "cline" || command == "cmidrule" {
            rest = behind.split_once('}').map_or("", |(_, more)| more);
        }
    }
    (plain + rest).replace(['$', '{', '}'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_leave_their_text_and_a_cell_over_several_columns_is_several() {
        let row = r"\textbf{Size} & \multicolumn{2}{c|}{Gbps} \\ \cline{2-3}";
        let table = format!(
            "\\begin{{table}}\\caption{{In ns}}\n\\begin{{tabular}}{{l}}\n{row}\n\\end{{tabular}}\n\\end{{table}}"
        );
        let (table, _) = with_bars(&table).unwrap();
        assert_eq!(table.lines().collect::<Vec<_>>(), ["", "In ns", "| Size | Gbps | |", "", ""]);
    }

    #[test]
    fn a_row_of_several_lines_and_a_table_in_a_cell_are_one_row() {
        let text = "\\begin{tabularx}{\\textwidth}{|l|l|}\nA & \\begin{tabular}[c]{@{}l@{}}Base\\\\ Hardware\\end{tabular} \\\\ \\hline\n\
                    Fork &\n 30 us \\\\[2pt]\nTrap & \\makecell{4 ms \\\\ (9 cycles)}\n\\end{tabularx}";
        let (table, _) = with_bars(text).unwrap();
        let rows: Vec<String> =
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            rows,
            ["", "| A | Base Hardware |", "| Fork | 30 us |", "", "| Trap | 4 ms (9 cycles) |", ""]
        );
    }
}
