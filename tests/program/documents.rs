//! What the documents promise of themselves: links lead somewhere, and there are few pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Pages below docs, and lines of README.md: whoever looks for an answer reads them.
const MOST_PAGES: usize = 15;
const MOST_LINES: usize = 150;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    docs.filter(|page| page.extension().is_some_and(|ending| ending == "md")).collect()
}

/// Every file in a folder and in those below it.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn text(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|why| panic!("{}: {why}", page.display()))
}

/// Places within a page, as GitHub and GitLab name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let one = |heading: &str| {
        let kept = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(one).collect()
}

/// The places of `[text](place)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut fenced = false;
    let prose = text.lines().filter(|line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced && !line.starts_with("    ")
    });
    let of_line = |line: &str| {
        let after = line.split("](").skip(1);
        after.filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect::<Vec<_>>()
    };
    prose.flat_map(of_line).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let top = ["README.md", "FORMAT.md", "CONTRIBUTING.md"].map(|page| root().join(page));
    let mut seen = 0;
    for page in pages().into_iter().chain(top) {
        let own = text(&page);
        for link in links(&own).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) =
                link.split_once('#').map_or((&*link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            if let Some(anchor) = anchor.filter(|_| target.extension().is_some_and(|ending| ending == "md")) {
                assert!(
                    anchors(&text(&target)).contains(anchor),
                    "{}: {link} has no such heading",
                    page.display()
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 60, "only {seen} links were found");
}

/// Pages are merged and renamed: what the program says and what comments say has to follow.
#[test]
fn pages_that_the_code_names_exist() {
    let mut seen = 0;
    for path in ["crates", "tools"].iter().flat_map(|folder| files_below(&root().join(folder))) {
        let Ok(own) = fs::read_to_string(&path) else { continue };
        for rest in own.split("docs/").skip(1) {
            let name: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_./".contains(*c)).collect();
            let Some((page, _)) = name.split_once(".md") else { continue };
            let there = root().join("docs").join(format!("{page}.md")).exists();
            assert!(there, "{} names docs/{page}.md, which is not there", path.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} pages are named");
}

#[test]
fn there_are_few_pages_and_the_first_is_short() {
    let lines = text(&root().join("README.md")).lines().count();
    assert!(lines <= MOST_LINES, "README.md has {lines} lines");
    let pages = pages();
    assert!(pages.len() <= MOST_PAGES, "{} pages: {pages:?}", pages.len());
}
