//! Tables of HTML and in boxes as lines with bars.

/// A table in a box of lines; `None`: it has none.
pub fn without_boxes(text: &str) -> Option<String> {
    let is_line = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    let bars = |line: &str| {
        let rule = line.chars().any(is_line) && line.chars().all(|c| is_line(c) || c == ' ');
        if rule { "\n".into() } else { line.replace(['│', '┃', '║'], "|") + "\n" }
    };
    text.contains(['│', '┃', '║']).then(|| text.lines().map(bars).collect())
}

/// The tables of HTML as lines. `None`: the text has none.
pub fn with_bars(text: &str) -> Option<String> {
    (text.contains("<td") && text.contains("<tr")).then(|| of_html(text))
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

/// What a runner of tests writes before each line of a program.
const TAGS: [&str; 2] = ["[STDOUT] ", "[STDERR] "];

/// `None`: no line has one.
pub fn without_tags(text: &str) -> Option<String> {
    let tagged = text.contains(TAGS[0]) || text.contains(TAGS[1]);
    let plain = |line: &str| TAGS.iter().find_map(|tag| line.strip_prefix(tag)).unwrap_or(line).to_string();
    tagged.then(|| text.split_inclusive('\n').map(plain).collect())
}
