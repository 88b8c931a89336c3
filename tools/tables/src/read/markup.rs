//! Tables of LaTeX and HTML as lines with bars.

/// `None`: the text is neither.
pub fn with_bars(text: &str) -> Option<String> {
    let page = || text.contains("<td") && text.contains("<tr");
    if text.contains("\\begin{tabular") { Some(of_tex(text)) } else { page().then(|| of_html(text)) }
}

fn of_tex(text: &str) -> String {
    let row = |line: &str| {
        let line = line.split("\\\\").next().unwrap_or(line);
        let line = line.replace("$\\mu$", "µ").replace("\\&", "and").replace("\\hline", "");
        line.replace(['\\', '$', '{', '}'], "").replace('&', "|") + "\n"
    };
    text.lines().filter(|line| line.replace("\\&", "").contains('&')).map(row).collect()
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
