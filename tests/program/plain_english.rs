//! What users read uses plain technical English: phrases that it is not made of, in documents, help, the manual
//! and every text of the code.

use crate::documents::files_below;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Phrases, in lower case, and what to write instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("told apart", "the same within 3 %, or undecided"),
    ("tells apart", "distinguishes"),
    ("is claimed", "is significant"),
    ("are claimed", "are significant"),
    ("claimed to be", "is significantly"),
    ("claimed at", "significant at"),
    ("no other is", "nothing is"),
    ("mind:", "Note:"),
    ("hold within a factor", "were within 2x"),
    ("zero-copy asked", "zero-copy requested"),
    ("need care", "are imprecise"),
    ("needs care", "is imprecise"),
    ("whatever it", "any"),
    ("whatever is", "any"),
    ("so it does", "also"),
    ("so they do", "also"),
    ("disturbed all the time", "busy"),
    ("take a dead", "treat as dead"),
    ("what this machine lacks", "what is missing"),
    ("that there is", "name it"),
    ("that there are", "name them"),
    ("there is that", "name it"),
    ("of those that", "name them"),
    ("those that are", "name them"),
    ("for want of", "without, because it has no"),
    ("held against", "compared with"),
    ("hold against", "compare with"),
    ("taken for", "counted as"),
    ("made anew", "made again"),
    ("anew", "again"),
    ("whoever", "a user who"),
    ("somebody", "a user, another process"),
    ("for the asking", "on request"),
    ("times less", "as a ratio: 0.8x"),
    ("times more", "as a ratio: 1.3x"),
    ("of no kind that", "cannot"),
    ("who asks", "the user"),
    ("thus", "so"),
    ("hence", "so"),
    ("lest", "so that .. not"),
    ("wherein", "where"),
    ("whereof", "of which"),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The forbidden phrases in a text, each with what stands around it.
fn found(place: &str, text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = text.to_lowercase();
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for (phrase, instead) in FORBIDDEN {
        for (at, _) in lower.match_indices(phrase) {
            let (before, after) = (&lower[..at], &lower[at + phrase.len()..]);
            let ends_in_word = is_word(phrase.chars().last()) && is_word(after.chars().next());
            if is_word(before.chars().last()) || ends_in_word {
                continue;
            }
            let around: String =
                before.chars().rev().take(30).collect::<Vec<_>>().into_iter().rev().collect();
            let rest: String = after.chars().take(30).collect();
            found.push(format!("{place}: \"{around}{phrase}{rest}\"; write: {instead}"));
        }
    }
    found
}

/// A document without the parts that the code makes: those are texts of the code.
fn written(document: &str) -> String {
    let parts = [("<!-- result: ", "<!-- result: end -->"), ("<!-- begin: ", "<!-- end: ")];
    parts.iter().fold(document.to_string(), |document, (begin, end)| {
        let mut rest = document.as_str();
        let mut out = String::new();
        while let Some((before, after)) = rest.split_once(begin) {
            out += before;
            rest = after.split_once(end).map_or("", |parts| parts.1);
        }
        out + rest
    })
}

/// The texts of a source file, tests aside.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut texts = Vec::new();
    let mut rest = source.chars().peekable();
    let mut last = ' ';
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|c| *c == '\n');
            }
            '"' if last == '#' || last == 'r' => texts.push(raw(&mut rest, last == '#')),
            '"' => texts.push(escaped(&mut rest)),
            // A character, and not a lifetime: only one of a quotation mark matters.
            '\'' if rest.peek() == Some(&'"') => {
                rest.next();
            }
            _ => {}
        }
        last = c;
    }
    texts
}

fn raw(rest: &mut impl Iterator<Item = char>, hash: bool) -> String {
    let mut text: String = String::new();
    for c in rest {
        text.push(c);
        if hash && text.ends_with("\"#") || !hash && c == '"' {
            break;
        }
    }
    text
}

fn escaped(rest: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next().filter(|c| *c != '"') {
        // An escape is a space: a line that goes on, a newline, a quotation mark.
        text.push(if c == '\\' && rest.next().is_some() { ' ' } else { c });
    }
    text
}

/// Is this path, from the root on, one of the program's own sources and not of tests?
fn is_source(path: &Path) -> bool {
    let of_tests =
        path.components().any(|part| ["tests", "target"].map(OsStr::new).contains(&part.as_os_str()));
    !of_tests && path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs")
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "{} phrases:\n{}", found.len(), found.join("\n"));
}

#[test]
fn documents() {
    let root = root();
    let pages = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    let pages = pages.filter(|page| page.extension().is_some_and(|ending| ending == "md"));
    let top = ["README.md", "FORMAT.md", "CONTRIBUTING.md"].map(|page| root.join(page));
    let check = |page: PathBuf| {
        let text = fs::read_to_string(&page).expect("a page");
        found(&page.strip_prefix(&root).expect("below").display().to_string(), &written(&text))
    };
    assert_none(&pages.chain(top).flat_map(check).collect::<Vec<_>>());
}

#[test]
fn help_and_the_manual() {
    let printed = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_syscost")).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let help = printed(&["--help"]);
    let commands =
        help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.contains(&"run") && names.contains(&"course"), "{names:?}");
    let mut all = found("--help", &help);
    for name in names {
        all.extend(found(name, &printed(&["help", name])));
    }
    all.extend(found("man", &printed(&["man"])));
    let dir = tempfile::tempdir().expect("a directory");
    printed(&["man", "--out", dir.path().to_str().expect("UTF-8")]);
    for page in fs::read_dir(dir.path()).expect("pages").map(|entry| entry.expect("a page").path()) {
        all.extend(found(&page.display().to_string(), &fs::read_to_string(&page).expect("a page")));
    }
    assert_none(&all);
}

#[test]
fn texts_of_the_code() {
    let root = root();
    let files = ["crates", "tools"].iter().flat_map(|folder| files_below(&root.join(folder)));
    let files: Vec<PathBuf> =
        files.filter(|file| is_source(file.strip_prefix(&root).expect("below"))).collect();
    assert!(files.len() > 200, "{}", files.len());
    let mut all = Vec::new();
    for file in files {
        let place = file.strip_prefix(&root).expect("below").display().to_string();
        let source = fs::read_to_string(&file).expect("a source");
        all.extend(literals(&source).iter().flat_map(|text| found(&place, text)));
    }
    assert_none(&all);
}

#[test]
fn a_phrase_is_found_where_users_read_it() {
    assert_eq!(found("here", "Nothing\nis claimed of it.").len(), 1);
    assert!(found("here", "the smallest of many").is_empty(), "part of a word");
    let source = "// held against\nfn f<'a>() { let (q, t, r) = ('\"', \"is held \\\n   against\", r#\"anew\"#); }\n\
                  #[cfg(test)]\nmod tests { const T: &str = \"thus\"; }";
    let texts = literals(source);
    assert_eq!(texts.iter().map(|text| found("here", text).len()).collect::<Vec<_>>(), [1, 1], "{texts:?}");
    assert_eq!(written("a <!-- result: x -->thus<!-- result: end --> b"), "a  b");
    assert_eq!(written("a <!-- begin: x -->thus<!-- end: x --> b"), "a x --> b");
}
