//! The rules of the house that a compiler does not check: imports point to earlier rooms only,
//! files are short and say what they are, each `unsafe` says why it is sound, and nothing outside
//! its own file knows a mechanism, receiver or probe by name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path under `src/`, and its text.
struct File {
    path: String,
    text: String,
}

fn sources() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let path = path.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.len() > 20, "the sources were found");
    files
}

/// The modules of lib.rs in their order.
fn rooms(files: &[File]) -> Vec<String> {
    let lib = files.iter().find(|f| f.path == "lib.rs").expect("src/lib.rs");
    let names = lib.text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    names.map(str::to_string).collect()
}

/// The room that a file belongs to; `None` for lib.rs and main.rs.
fn room_of(path: &str) -> Option<&str> {
    let first = path.split('/').next().expect("never empty");
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(name, "lib" | "main")).then_some(name)
}

/// The code without comments and without what is in quotes.
fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '"' => {
                out.push('"');
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        '\n' => out.push('\n'),
                        _ => {}
                    }
                }
                out.push('"');
            }
            // A quote character, not a lifetime.
            '\'' => {
                let mut ahead = chars.clone();
                match (ahead.next(), ahead.next()) {
                    (Some('\\'), Some(_)) => {
                        chars.next();
                        chars.next();
                        while chars.next().is_some_and(|c| c != '\'') {}
                    }
                    (Some(_), Some('\'')) => {
                        chars.next();
                        chars.next();
                    }
                    _ => {}
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// The first names after every `crate::`, those of `crate::{a, b::c}` included.
fn imported(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let items = match rest.strip_prefix('{') {
            Some(group) => top_level(group),
            None => vec![rest],
        };
        for item in items {
            let name: String =
                item.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() {
                names.push(name);
            }
        }
    }
    names
}

/// The items of a `{...}` group, split at the commas of its own level.
fn top_level(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

/// Imports of the files of a room that are not of that room or of one above it.
fn upward(files: &[File], rooms: &[String]) -> Vec<String> {
    let place = |name: &str| rooms.iter().position(|room| room == name);
    let mut wrong = Vec::new();
    for file in files {
        let Some(room) = room_of(&file.path) else { continue };
        let Some(own) = place(room) else {
            wrong.push(format!("src/{}: its room {room} is not in lib.rs", file.path));
            continue;
        };
        for name in imported(&code(&file.text)) {
            if place(&name).is_some_and(|other| other > own) {
                wrong.push(format!(
                    "src/{}: room {room} imports {name}, which is below it in lib.rs",
                    file.path
                ));
            }
        }
    }
    wrong
}

#[test]
fn imports_point_to_earlier_rooms_only() {
    let files = sources();
    let rooms = rooms(&files);
    assert!(rooms.len() > 10, "lib.rs lists the rooms: {rooms:?}");
    let wrong = upward(&files, &rooms);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_import_against_the_order_would_be_found() {
    let rooms = ["units".to_string(), "plan".to_string(), "cli".to_string()];
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let wrong = |file: File| upward(&[file], &rooms).len();
    assert_eq!(wrong(file("units.rs", "use crate::plan::Plan;")), 1);
    assert_eq!(wrong(file("plan/a.rs", "fn f() { crate::cli::main() }")), 1);
    assert_eq!(wrong(file("plan/a.rs", "use crate::{units::{A, B}, cli, plan};")), 1);
    assert_eq!(
        wrong(file("plan/a.rs", "// crate::cli\nuse crate::units; const T: &str = \"crate::cli\";")),
        0
    );
    assert_eq!(wrong(file("unlisted.rs", "")), 1);
}

#[test]
fn files_are_short_and_say_what_they_are() {
    const LONGEST: usize = 500;
    for File { path, text } in sources() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "src/{path} has {lines} lines: split it by what its parts do");
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 20, "src/{path} opens with {first:?}");
    }
}

/// Places of `unsafe` that no SAFETY comment explains.
fn unexplained(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let code: Vec<String> = lines.iter().map(|line| code(line)).collect();
    let mut places = Vec::new();
    for (i, line) in code.iter().enumerate() {
        let Some(at) = line.find("unsafe ") else { continue };
        let declares = line[at..].starts_with("unsafe fn") || line[at..].starts_with("unsafe extern");
        // The comment stands above the statement, which may have begun some lines earlier.
        let near =
            lines[i.saturating_sub(6)..=i].iter().any(|l| l.contains("SAFETY:") || l.contains("# Safety"));
        if !declares && !near {
            places.push(i + 1);
        }
    }
    places
}

#[test]
fn every_unsafe_says_why_it_is_sound() {
    for File { path, text } in sources() {
        let places = unexplained(&text);
        assert!(places.is_empty(), "src/{path}: unsafe without a SAFETY comment in lines {places:?}");
    }
    assert_eq!(unexplained("fn f() {\n    unsafe { g() }\n}\n"), [2]);
    assert_eq!(unexplained("// SAFETY: g has no preconditions.\nunsafe { g() }\n"), [0usize; 0]);
}

/// Every id of the registries, with the files that may hold it: its own, and those that the rules
/// name.
fn ids() -> BTreeMap<&'static str, &'static str> {
    use syscost::{mechanism, probe, receiver};
    let mechanisms = mechanism::ALL.iter().map(|m| (m.about().id, "mechanism"));
    let receivers = receiver::ALL.iter().map(|r| (r.about().id, "receiver"));
    let probes = probe::ALL.iter().map(|p| (p.about().id, "probe"));
    mechanisms.chain(receivers).chain(probes).collect()
}

/// Files that are compiled for tests only: modules declared under `#[cfg(test)]`.
fn only_for_tests(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let folder = match file.path.rsplit_once('/') {
            Some((folder, "mod.rs")) => format!("{folder}/"),
            _ => format!("{}/", file.path.trim_end_matches(".rs")),
        };
        for (at, attribute) in file.text.match_indices("#[cfg(test)]\n") {
            let line = file.text[at + attribute.len()..].lines().next().unwrap_or_default();
            if let Some((_, name)) =
                line.trim_end_matches(';').split_once("mod ").filter(|_| line.ends_with(';'))
            {
                found.push(format!("{folder}{name}.rs"));
            }
        }
    }
    found
}

/// Lines whose code, tests excluded, has this id as a whole string.
fn names_it(file: &File, id: &str) -> bool {
    let quoted = format!("\"{id}\"");
    let tests = file.text.find("#[cfg(test)]").unwrap_or(file.text.len());
    let lines = file.text[..tests].lines();
    lines.filter(|line| !line.trim_start().starts_with("//")).any(|line| line.contains(&quoted))
}

#[test]
fn no_file_but_its_own_knows_an_id() {
    let files = sources();
    let tests = only_for_tests(&files);
    assert!(tests.iter().any(|path| path == "plan/tests.rs"), "{tests:?}");
    for (id, room) in ids() {
        let own = |path: &str| {
            let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
            stem == format!("{room}/{id}") || path.starts_with(&format!("{room}/{id}/"))
        };
        let known: Vec<&str> = files
            .iter()
            .filter(|f| !own(&f.path) && !tests.contains(&f.path) && names_it(f, id))
            .map(|f| f.path.as_str())
            .collect();
        assert!(
            known.is_empty(),
            "{id:?} is known outside src/{room}/{id}*: in src/{}",
            known.join(", src/")
        );
        let declared = files.iter().any(|f| own(&f.path) && names_it(f, id));
        assert!(declared, "{id:?} is not declared in a file of its name in src/{room}");
    }
}

/// The standard library's sleep panics where a sandbox refuses the call behind it; tests may use it.
#[test]
fn nothing_sleeps_by_the_standard_library() {
    for file in sources().iter().filter(|file| !file.path.ends_with("tests.rs")) {
        let working = file.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        assert!(!code(working).contains("thread::sleep("), "{} sleeps without sys::sleep", file.path);
    }
}
