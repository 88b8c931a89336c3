//! Tables of LaTeX as lines with bars, each row at its line.

use crate::cells;
use crate::unit::{self, DecimalMark};

/// What commands stand for; of all others their text alone is left.
const WORDS: &[(&str, &str)] = &[("textmu", "µ"), ("mu", "µ"), ("pm", "±"), ("times", "×")];
/// Commands that draw and space, and how many arguments of theirs are no text.
#[rustfmt::skip]
const SETTINGS: &[(&str, usize)] = &[
    ("toprule", 0), ("midrule", 0), ("bottomrule", 0), ("addlinespace", 0), ("cline", 1), ("cmidrule", 1), ("specialrule", 3), ("rule", 2),
    ("rowcolor", 1), ("cellcolor", 1), ("color", 1), ("textcolor", 1), ("vspace", 1), ("hspace", 1),
];
const MARKS: &[(&str, &str)] = &[("\\&", "and"), ("\\%", "%"), ("\\_", "_"), ("~", " ")];
const BEGIN: &str = "\\begin{tabular";
const END: &str = "\\end{tabular";
const BREAK: &str = "\\\\";
/// One row of so many must hold a figure.
const FEWEST: usize = 3;

/// A table of a text, as lines with bars.
pub struct TexTable {
    /// Of its first row and behind its last, from 0.
    pub lines: std::ops::Range<usize>,
    pub caption: Option<String>,
    /// Each row at its line below the first.
    pub text: String,
    pub holds_results: bool,
}

/// What a heading of a section says, and how deep it is: 2 for `\section{Results}`; whose own name may be longer.
pub fn heading(line: &str) -> Option<(usize, String)> {
    let (command, text) = line.strip_prefix('\\')?.split_once('{')?;
    let depth = command.matches("sub").count();
    let of_section = command[3 * depth..].starts_with("section") && command.starts_with(&"sub".repeat(depth));
    let plain = command.trim_end_matches('*').bytes().all(|b| b.is_ascii_alphabetic());
    let end = group(&format!("{{{text}"), '{').map_or(text.len(), |end| end - 2);
    (of_section && plain).then(|| (depth + 2, without_commands(&text[..end])))
}

/// Of a table of two columns, such as that of a system's parts, one figure alone is no result.
fn holds_results(rows: &[(usize, Vec<String>)]) -> bool {
    let number = |cell: &String| {
        unit::number(cells::plain(cell.trim()), DecimalMark::Point)
            .is_some_and(|(.., of)| of.is_none_or(|of| unit::parse(of).is_ok() || unit::count(of).is_ok()))
    };
    let with = rows.iter().filter(|(_, cells)| cells.iter().any(number)).count();
    let pairs = rows.iter().all(|(_, cells)| cells.len() == 2);
    with > 0 && (!pairs || with * FEWEST >= rows.len())
}

/// Rows as lines with bars, each as far below the first as it stands there.
fn barred(rows: &[(usize, Vec<String>)]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (line, cells) in rows {
        lines.resize((line - rows[0].0).max(lines.len()), String::new());
        let text = format!("| {} |", cells.join("|").trim_end());
        lines.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    lines.join("\n") + "\n"
}

pub fn tables(text: &str) -> Vec<TexTable> {
    let mut all = Vec::new();
    if !text.contains(BEGIN) {
        return all;
    }
    let text = &MARKS.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
    let line = |at: usize| text[..at].matches('\n').count();
    let mut from = 0;
    while let Some(begin) = text[from..].find(BEGIN).map(|at| from + at) {
        let inside = begin + BEGIN.len();
        let end = inside + matching(&text[inside..]);
        let rows = inside + arguments(&text[inside..end]);
        let cells = |(at, row): (usize, String)| {
            let cells = without_commands(&row).split('&').map(str::to_string).collect();
            row.contains('&').then(|| (line(rows + at), cells))
        };
        let rows: Vec<(usize, Vec<String>)> =
            parted(&text[rows..end]).into_iter().filter_map(cells).collect();
        let caption = caption(text, begin, end).map(|text| without_commands(text).replace('|', " "));
        from = end;
        if let Some((first, _)) = rows.first() {
            all.push(TexTable {
                lines: *first..line(end) + 1,
                caption,
                text: barred(&rows),
                holds_results: holds_results(&rows),
            });
        }
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
    let close = match open {
        '{' => '}',
        '(' => ')',
        _ => ']',
    };
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Behind an option in brackets, before which there may be space.
fn without_option(text: &str) -> &str {
    let rest = text.trim_start();
    let end = rest.starts_with('[').then(|| group(rest, '[')).flatten();
    end.map_or(text, |end| &rest[end..])
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
            at = text.len() - without_option(more.strip_prefix('*').unwrap_or(more)).len();
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
        } else if let Some((_, many)) = SETTINGS.iter().find(|(word, _)| *word == command) {
            rest = if behind.starts_with('[') { without_option(behind) } else { behind };
            for open in ['('].into_iter().chain(std::iter::repeat_n('{', *many)) {
                let end = rest.starts_with(open).then(|| group(rest, open)).flatten();
                rest = &rest[end.unwrap_or(0)..];
            }
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
        let text = format!(
            "\\begin{{table}}\\caption{{In ns}}\n\\begin{{tabular}}{{l}}\n{row}\n\\end{{tabular}}\n\\end{{table}}"
        );
        let table = tables(&text).remove(0);
        assert_eq!((table.caption.as_deref(), &*table.text), (Some("In ns"), "| Size | Gbps | |\n"));
        assert_eq!(table.lines, 2..4);
    }

    #[test]
    fn options_and_colours_are_no_text() {
        let text = "\\begin{tabular}{||c | c||}\n\\toprule[1pt]\nSize & Cycles\\\\ [0.5ex]\n\\hline\\hline\n 256B & 4\\\\*[2pt] \\cmidrule(lr){1-2}\n\
                    \\rowcolor[gray]{0.9} 1KB & \\textcolor{red}{5} \\\\\n\\end{tabular}";
        let table = tables(text).remove(0);
        let rows: Vec<&str> = table.text.lines().filter(|row| !row.is_empty()).collect();
        assert_eq!(rows, ["| Size | Cycles |", "| 256B | 4 |", "| 1KB | 5 |"]);
    }

    #[test]
    fn headings_of_sections_have_a_depth() {
        assert_eq!(
            heading(r"\subsection*{\textbf{Raw} Results (threads=4)} % all"),
            Some((3, "Raw Results (threads=4)".into()))
        );
        assert_eq!(heading(r"\sectionbox{5. Data}"), Some((2, "5. Data".into())));
        assert_eq!(heading(r"\newcommand{\sectionbox}[1]{%"), None);
    }

    #[test]
    fn a_row_of_several_lines_and_a_table_in_a_cell_are_one_row() {
        let text = "\\begin{tabularx}{\\textwidth}{|l|l|}\nA & \\begin{tabular}[c]{@{}l@{}}Base\\\\ Hardware\\end{tabular} \\\\ \\hline\n\
                    Fork &\n 30 us \\\\[2pt]\nTrap & \\makecell{4 ms \\\\ (9 cycles)}\n\\end{tabularx}";
        let table = tables(text).remove(0);
        let rows: Vec<&str> = table.text.lines().collect();
        assert_eq!(rows, ["| A | Base Hardware |", "| Fork | 30 us |", "", "| Trap | 4 ms (9 cycles) |"]);
    }
}
