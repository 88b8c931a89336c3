//! Tables of LaTeX and HTML as lines with bars.

/// A table in a box of lines; `None`: it has none.
pub fn without_boxes(text: &str) -> Option<String> {
    let is_line = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    let bars = |line: &str| {
        let rule = line.chars().any(is_line) && line.chars().all(|c| is_line(c) || c == ' ');
        if rule { "\n".into() } else { line.replace(['│', '┃', '║'], "|") + "\n" }
    };
    text.contains(['│', '┃', '║']).then(|| text.lines().map(bars).collect())
}

/// `None`: the text is neither.
pub fn with_bars(text: &str) -> Option<String> {
    let page = || text.contains("<td") && text.contains("<tr");
    if text.contains("\\begin{tabular") { Some(of_tex(text)) } else { page().then(|| of_html(text)) }
}

/// What commands stand for; of all others their text alone is left.
const WORDS: &[(&str, &str)] = &[("textmu", "µ"), ("mu", "µ"), ("pm", "±"), ("times", "×")];
const MARKS: &[(&str, &str)] = &[("\\&", "and"), ("\\%", "%"), ("\\_", "_"), ("~", " ")];

/// Each row at its line; the caption is a line above them.
fn of_tex(text: &str) -> String {
    let known = MARKS.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
    let mut caption = known.lines().find_map(|line| line.split_once("\\caption{")).map(|(_, text)| text);
    let row = |line: &str| {
        if line.contains('&') {
            let line = line.split("\\\\").next().unwrap_or(line);
            return format!("| {} |\n", without_commands(line).replace('&', "|").trim_end());
        }
        let begins = line.contains("\\begin{tabular");
        let title = caption.filter(|_| begins).map(|text| without_commands(text).replace('|', " "));
        caption = caption.filter(|_| !begins);
        title.unwrap_or_default() + "\n"
    };
    known.lines().map(row).collect()
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

fn of_html(text: &str) -> String {
    let mut lines = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        lines += before.replace('\n', " ").trim();
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        match tag.to_ascii_lowercase().as_str() {
            "/td" | "/th" => lines += " | ",
            "/tr" | "/h1" | "/h2" | "/h3" | "/p" | "/caption" => lines.push('\n'),
            _ => {}
        }
        rest = after;
    }
    lines.replace("&lt;", "<").replace("&gt;", ">").replace("&micro;", "µ").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_leave_their_text_and_a_cell_over_several_columns_is_several() {
        let row = r"\textbf{Size} & \multicolumn{2}{c|}{Gbps} \\ \cline{2-3}";
        let table =
            with_bars(&format!("\\caption{{In ns}}\n\\begin{{tabular}}{{l}}\n{row}\n\\end{{tabular}}"))
                .unwrap();
        assert_eq!(table.lines().collect::<Vec<_>>(), ["", "In ns", "| Size | Gbps | |", ""]);
    }
}
