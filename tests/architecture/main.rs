//! The rules of the house that neither the compiler nor clippy checks: crates and modules import only those
//! above them, files are short and say what they are, and nothing outside its own file knows a mechanism,
//! receiver or probe by name.

mod imports;

use imports::Modules;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path from the top, and its text.
struct File {
    path: String,
    text: String,
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<File> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = vec![top().join("crates"), top().join("tools")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let path = path.strip_prefix(top()).expect("below the top").to_string_lossy().into_owned();
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.len() > 20, "the sources were found");
    files
}

/// What `text` has between two words; for manifests.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let after = text.split_once(start).unwrap_or_else(|| panic!("no {start:?}")).1;
    after.split_once(end).map_or(after, |(inside, _)| inside)
}

/// The crates from the ground up, as folders: the program's own comes last.
fn crates() -> Vec<String> {
    let manifest = fs::read_to_string(top().join("Cargo.toml")).expect("Cargo.toml");
    let folders = between(&manifest, "\ndefault-members = [", "]").split('"').skip(1).step_by(2);
    let (program, rooms): (Vec<&str>, Vec<&str>) = folders.partition(|folder| *folder == ".");
    rooms.into_iter().chain(program).map(str::to_string).collect()
}

/// The crates of ours that a manifest names under `[dependencies]`.
fn imported_crates(manifest: &str) -> Vec<&str> {
    let lines = between(manifest, "\n[dependencies]\n", "\n[").lines();
    lines.filter_map(|line| line.strip_prefix("syscost-")?.split(['.', ' ']).next()).collect()
}

#[test]
fn crates_import_only_those_above_them() {
    let crates = crates();
    let names: Vec<&str> = crates.iter().map(|folder| folder.rsplit('/').next().expect("a name")).collect();
    assert!(names.len() > 10 && names.ends_with(&["."]), "{names:?}");
    for (place, folder) in crates.iter().enumerate() {
        let manifest = fs::read_to_string(top().join(folder).join("Cargo.toml")).expect("a manifest");
        for name in imported_crates(&manifest) {
            assert!(names[..place].contains(&name), "{folder} imports {name}, which is not above it");
        }
    }
    assert_eq!(imported_crates("\n[dependencies]\nsyscost-a.workspace = true\nserde = 1\n[x]"), ["a"]);
}

/// What measures cannot be reached from what reports: the run directory is all that they share.
#[test]
fn what_reports_cannot_measure() {
    for folder in ["crates/analyze", "crates/report", "tools/course", "tools/tables"] {
        let manifest = fs::read_to_string(top().join(folder).join("Cargo.toml")).expect("a manifest");
        assert!(!imported_crates(&manifest).contains(&"harness"), "{folder} imports the harness");
    }
}

/// The modules of every crate, without those that only tests compile, and the text of its list.
fn rooms(files: &[File]) -> Vec<(&str, &str, Modules)> {
    let tests = only_for_tests(files);
    let lists =
        files.iter().filter(|f| f.path.ends_with("/src/lib.rs") || f.path == "crates/cli/src/main.rs");
    lists
        .map(|list| {
            let folder = list.path.trim_end_matches("lib.rs").trim_end_matches("main.rs");
            let own = files.iter().filter(|f| !tests.contains(&f.path));
            let own = own.filter_map(|f| Some((f.path.strip_prefix(folder)?, f.text.as_str())));
            (folder, list.text.as_str(), Modules::of(own))
        })
        .collect()
}

/// The modules of a list in its order.
fn listed(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';'))
        .collect()
}

#[test]
fn modules_import_only_those_above_them() {
    let files = sources();
    let wrong: Vec<String> = rooms(&files)
        .iter()
        .flat_map(|(folder, list, modules)| {
            modules.upward(&listed(list)).into_iter().map(move |arrow| format!("{folder}{arrow}"))
        })
        .collect();
    assert!(wrong.is_empty(), "below it in the crate's list:\n{}", wrong.join("\n"));
}

#[test]
fn files_import_each_other_one_way() {
    let files = sources();
    let rooms = rooms(&files);
    assert!(rooms.len() > 12, "every crate was found");
    let circles: Vec<String> = rooms
        .iter()
        .flat_map(|(folder, _, modules)| {
            modules.circles().into_iter().map(move |circle| format!("{folder}{}", circle.join(" -> ")))
        })
        .collect();
    assert!(circles.is_empty(), "circles of imports:\n{}", circles.join("\n"));
}

#[test]
fn an_import_against_the_order_would_be_found() {
    let wrong = |module: &str, text: &str| {
        let others = ["units.rs", "plan.rs", "cli.rs"].into_iter().filter(|name| *name != module);
        let files = others.map(|name| (name, "")).chain([(module, text)]);
        Modules::of(files).upward(&["units", "plan", "cli"]).len()
    };
    assert_eq!(wrong("units.rs", "use crate::plan::Plan;"), 1);
    assert_eq!(wrong("plan.rs", "fn f() { crate::cli::main() }"), 1);
    assert_eq!(wrong("plan.rs", "use crate::{units as u, cli, plan};"), 1);
    assert_eq!(wrong("plan.rs", "// crate::cli\nuse crate::units;"), 0);
    assert_eq!(wrong("plan.rs", "const A: &str = \"crate::cli::main\";"), 0);
}

#[test]
fn a_circle_of_imports_would_be_found() {
    let circle = |a: &str, b: &str| {
        let list = "pub mod a;\npub mod b;\npub use b::{B, B as Other};\nuse crate::room::a::A;";
        let files = [("lib.rs", "pub mod room;"), ("room/mod.rs", list), ("room/a.rs", a), ("room/b.rs", b)];
        Modules::of(files.into_iter()).circles().len()
    };
    assert!(circle("use crate::room::b::B;", "fn f() {}") == 0);
    assert!(circle("use super::Room;", "use super::Room;") == 0, "a list and its entries");
    assert!(circle("use super::b::B;", "use crate::{room::{c, a::A}, x};") == 1);
    assert!(circle("use super::B;", "use super::a::{self, A};") == 1, "by a name that the list hands on");
    assert!(circle("use super::Other;", "use super::a::A;") == 1, "by another name that the list gives");
    assert!(circle("use super::b::B;", "use super::{c as d, a as e};") == 1, "behind an alias");
    let tests = "#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}";
    assert!(circle("use super::b::B;", tests) == 0);
    assert!(circle("use super::b::B;", &format!("{tests}\nfn f() {{ super::a::A }}")) == 1, "after tests");
}

#[test]
fn files_are_short_and_say_what_they_are() {
    const LONGEST: usize = 500;
    for File { path, text } in sources() {
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{path} has {lines} lines: split it by what its parts do");
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 20, "{path} opens with {first:?}");
    }
}

/// Every id of the registries, with the files that may hold it: its own, and those that the rules
/// name.
fn ids() -> BTreeMap<&'static str, &'static str> {
    use syscost_measure::{mechanism, probe, receiver};
    let mechanisms = mechanism::ALL.iter().map(|m| (m.about().id, "mechanism"));
    let receivers = receiver::ALL.iter().map(|r| (r.about().id, "receiver"));
    let probes = probe::ALL.iter().map(|p| (p.about().id, "probe"));
    mechanisms.chain(receivers).chain(probes).collect()
}

/// Files that are compiled for tests only: those of a crate's `tests/`, and modules declared under `#[cfg(test)]`, also
/// where a feature lends them to tests of other crates.
fn only_for_tests(files: &[File]) -> Vec<String> {
    let of_crate = |file: &&File| file.path.contains("/tests/");
    let mut found: Vec<String> = files.iter().filter(of_crate).map(|file| file.path.to_string()).collect();
    const MARKS: [&str; 2] = ["#[cfg(test)]\n", "#[cfg(any(test, feature = \"synthetic\"))]\n"];
    for file in files {
        let folder = match file.path.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs")) => format!("{folder}/"),
            _ => format!("{}/", file.path.trim_end_matches(".rs")),
        };
        for (at, attribute) in MARKS.iter().flat_map(|mark| file.text.match_indices(mark)) {
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

/// Without the tests at a file's end.
fn untested(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// The types that a file declares, tests excluded; an associated type says what a trait's name stands for.
fn declared_types(text: &str) -> impl Iterator<Item = &str> {
    untested(text).lines().filter_map(|line| {
        let item = line.trim_start();
        let item = match item.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")) {
            Some((_, item)) => item,
            None => item.strip_prefix("pub ").unwrap_or(item),
        };
        let (kind, rest) = item.split_once(' ')?;
        let declares = match kind {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => !line.starts_with(' '),
            _ => false,
        };
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        Some(&rest[..end]).filter(|name| declares && name.starts_with(char::is_uppercase))
    })
}

/// One meaning a name, in all that is built from here; the comparisons with other programs speak of theirs.
#[test]
fn a_type_name_means_one_thing() {
    let files = sources();
    let tests = only_for_tests(&files);
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|f| !f.path.starts_with("tools/peers") && !tests.contains(&f.path)) {
        for name in declared_types(&file.text) {
            places.entry(name).or_default().push(&file.path);
        }
    }
    assert!(places.len() > 300, "the types were found");
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "defined more than once: {places:#?}");
}

#[test]
fn a_declaration_of_a_type_is_found() {
    let text = "pub(crate) struct A<T>(T);\n    enum B {\ntype C = u8;\nimpl X for A {\n    type D = u8;\n}\npub trait E: F {\n\
                #[cfg(test)]\nmod tests {\n    struct G;\n}";
    assert_eq!(declared_types(text).collect::<Vec<_>>(), ["A", "B", "C", "E"]);
}

/// Lines whose code, tests excluded, has this id as a whole string.
fn names_it(file: &File, id: &str) -> bool {
    let quoted = format!("\"{id}\"");
    untested(&file.text)
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| line.contains(&quoted))
}

#[test]
fn no_file_but_its_own_knows_an_id() {
    let files = sources();
    let tests = only_for_tests(&files);
    assert!(tests.iter().any(|path| path.ends_with("plan/tests.rs")), "{tests:?}");
    for (id, room) in ids() {
        let own = |path: &str| {
            let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
            let own = format!("crates/measure/src/{room}/{id}");
            stem == own || path.starts_with(&format!("{own}/"))
        };
        let known: Vec<&str> = files
            .iter()
            .filter(|f| {
                !f.path.starts_with("tools/peers")
                    && !own(&f.path)
                    && !tests.contains(&f.path)
                    && names_it(f, id)
            })
            .map(|f| f.path.as_str())
            .collect();
        assert!(known.is_empty(), "{id:?} is known outside {room}/{id}*: in {}", known.join(", "));
        let declared = files.iter().any(|f| own(&f.path) && names_it(f, id));
        assert!(declared, "{id:?} is not declared in a file of its name in {room}");
    }
}

/// Typed keys ([`syscost_core::axis::IntAxis`], `NameAxis`) are how an axis' value is read: its name stands where it
/// is declared, once.
#[test]
fn axes_are_read_by_their_keys() {
    let files = sources();
    let tests = only_for_tests(&files);
    let code = || files.iter().filter(|f| !tests.contains(&f.path)).map(|f| (f, untested(&f.text)));
    let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
    for (file, text) in code() {
        for (_, rest) in text.match_indices("Axis::new(\"").map(|(at, found)| text.split_at(at + found.len()))
        {
            let id = rest.split('"').next().unwrap_or_default();
            let before = keys.insert(id, &file.path);
            assert!(
                before.is_none(),
                "{id} has two keys: in {} and in {}",
                file.path,
                before.unwrap_or_default()
            );
        }
        for read in ["int_at(\"", "text_at(\""] {
            assert!(!text.contains(read), "{} reads an axis by a string", file.path);
        }
    }
    assert!(keys.len() > 20, "{keys:?}");
    // Words that mean nothing else: any string of them is the axis.
    for id in ["message_bytes", "read_pattern", "page_cache", "file_bytes", "working_set_bytes"] {
        let own = keys[id];
        let others =
            code().filter(|(f, _)| f.path != own && !f.path.starts_with("tools/") && names_it(f, id));
        let others: Vec<&str> = others.map(|(f, _)| f.path.as_str()).collect();
        assert!(others.is_empty(), "{id} is named as a string outside {own}: in {others:?}");
    }
}

/// Rooms that write where a user says. `place` and `OpenDirectory` open that; what is opened by its name goes through
/// any link on the way.
const WRITE_WHERE_TOLD: &[&str] =
    &["crates/cli/src/", "crates/report/src/", "crates/harness/src/", "tools/course/src/"];

#[test]
fn what_a_user_names_is_opened_for_writing_in_one_way() {
    let files = sources();
    let tests = only_for_tests(&files);
    let own = files.iter().filter(|f| WRITE_WHERE_TOLD.iter().any(|room| f.path.starts_with(room)));
    for file in own.filter(|f| !tests.contains(&f.path)) {
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        for way in ["create_dir", "File::create", "fs::write(", ".create(true)", "generate_to("] {
            assert!(!code.contains(way), "{}: {way} follows links; use OpenDirectory", file.path);
        }
    }
}
