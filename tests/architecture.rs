//! The rules of the house that neither the compiler nor clippy checks: crates and modules import only those
//! above them, files are short and say what they are, and nothing outside its own file knows a mechanism,
//! receiver or probe by name.

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

/// What a plain build leaves out, because only a feature of the program imports it.
const BEHIND_A_FEATURE: &[&str] = &["tools/store"];

/// The crates from the ground up, as folders: the program's own comes last.
fn crates() -> Vec<String> {
    let manifest = fs::read_to_string(top().join("Cargo.toml")).expect("Cargo.toml");
    let folders = between(&manifest, "\ndefault-members = [", "]").split('"').skip(1).step_by(2);
    let (program, rooms): (Vec<&str>, Vec<&str>) = folders.partition(|folder| *folder == ".");
    rooms.into_iter().chain(BEHIND_A_FEATURE.iter().copied()).chain(program).map(str::to_string).collect()
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
    for folder in ["crates/analyze", "crates/report", "tools/course", "tools/tables", "tools/store"] {
        let manifest = fs::read_to_string(top().join(folder).join("Cargo.toml")).expect("a manifest");
        assert!(!imported_crates(&manifest).contains(&"harness"), "{folder} imports the harness");
    }
}

/// The first names after every `crate::`, those of `crate::{a, b::c}` included; comments do not count.
fn imported_modules(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let items: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        };
        let name = |item: &str| -> String {
            item.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        names.extend(items.into_iter().map(name).filter(|name| !name.is_empty()));
    }
    names
}

/// Imports of a module that stand below it in its crate's list.
fn upward(module: &str, text: &str, list: &[&str]) -> Vec<String> {
    let place = |name: &str| list.iter().position(|other| *other == name);
    let own = place(module);
    imported_modules(text).into_iter().filter(|name| place(name) > own && own.is_some()).collect()
}

/// In crates whose `lib.rs` says so, modules import only modules above them.
#[test]
fn modules_import_only_those_above_them() {
    let files = sources();
    let tests = only_for_tests(&files);
    let said = "imports only modules above it";
    let ordered: Vec<&File> =
        files.iter().filter(|f| f.path.ends_with("/src/lib.rs") && f.text.contains(said)).collect();
    assert!(ordered.len() >= 4, "analyze, core, experiment and measure say so");
    for lib in ordered {
        let list: Vec<&str> =
            lib.text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
        let folder = lib.path.trim_end_matches("lib.rs");
        for file in files.iter().filter(|f| f.path.starts_with(folder) && !tests.contains(&f.path)) {
            let inside = &file.path[folder.len()..];
            let module = inside.split(['/', '.']).next().expect("never empty");
            let wrong = upward(module, untested(&file.text), &list);
            assert!(wrong.is_empty(), "{} imports {wrong:?}, below it in lib.rs", file.path);
        }
    }
}

#[test]
fn an_import_against_the_order_would_be_found() {
    let wrong = |module: &str, text: &str| upward(module, text, &["units", "plan", "cli"]).len();
    assert_eq!(wrong("units", "use crate::plan::Plan;"), 1);
    assert_eq!(wrong("plan", "fn f() { crate::cli::main() }"), 1);
    assert_eq!(wrong("plan", "use crate::{units::A, cli, plan};"), 1);
    assert_eq!(wrong("plan", "// crate::cli\nuse crate::units;"), 0);
}

/// The modules of a crate by their paths (`["cells", "seen"]`), each with its code: neither tests nor comments.
struct Modules(BTreeMap<Vec<String>, (bool, String)>);

impl Modules {
    fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Modules {
        let module = |(path, text): (&str, &str)| {
            let mut names: Vec<String> =
                path.trim_end_matches(".rs").split('/').map(str::to_string).collect();
            let lists = names.pop_if(|name| ["mod", "lib", "main"].contains(&name.as_str())).is_some();
            let code = untested(text).lines().filter(|line| !line.trim_start().starts_with("//"));
            (names, (lists, code.flat_map(|line| [line, "\n"]).collect()))
        };
        Modules(files.map(module).collect())
    }

    /// The paths in the code that begin at the crate or a parent, with every item of their braces.
    fn paths(&self, module: &[String]) -> Vec<Vec<String>> {
        let (_, code) = &self.0[module];
        let parent = &module[..module.len().saturating_sub(1)];
        let mut paths = Vec::new();
        for (start, base) in [("crate::", &[][..]), ("super::", parent)] {
            for (at, _) in code.match_indices(start) {
                if !code[..at].ends_with("::") {
                    items(&code[at + start.len()..], base.to_vec(), &mut paths);
                }
            }
        }
        paths
    }

    /// The module that a path leads to: where a list hands on a name with `pub use`, the module that has it.
    fn resolve(&self, path: &[String]) -> Vec<String> {
        let mut at: Vec<String> = Vec::new();
        for name in path {
            at.push(name.clone());
            if self.0.contains_key(&at) {
                continue;
            }
            at.pop();
            let Some((_, list)) = self.0.get(&at) else { break };
            let handed_on = list.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';'));
            let mut inside = Vec::new();
            for (path, _) in handed_on {
                items(path, at.clone(), &mut inside);
            }
            let has = |found: &&Vec<String>| {
                found.last() == Some(name) && self.0.contains_key(&found[..found.len() - 1])
            };
            return inside.iter().find(has).map_or(at, |found| found[..found.len() - 1].to_vec());
        }
        at
    }

    /// The modules that one imports; a list's own entries do not count.
    fn imports(&self, module: &[String]) -> Vec<Vec<String>> {
        let lists = self.0[module].0;
        let other =
            |to: &Vec<String>| to != module && !(lists && to.starts_with(module)) && self.0.contains_key(to);
        self.paths(module).iter().map(|path| self.resolve(path)).filter(other).collect()
    }

    /// A module that imports itself by others, and those others.
    fn circle(&self) -> Option<Vec<String>> {
        self.0.keys().find_map(|start| {
            let (mut way, mut seen) = (vec![(start.clone(), vec![start.join("::")])], Vec::new());
            while let Some((module, names)) = way.pop() {
                for next in self.imports(&module) {
                    let names: Vec<String> = names.iter().cloned().chain([next.join("::")]).collect();
                    if next == *start {
                        return Some(names);
                    }
                    if !seen.contains(&next) {
                        seen.push(next.clone());
                        way.push((next, names));
                    }
                }
            }
            None
        })
    }
}

/// `a::{b, c::D}` below a base: each item's path; what is left of the text.
fn items<'t>(text: &'t str, mut base: Vec<String>, paths: &mut Vec<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut inside) = text.strip_prefix('{') {
        loop {
            inside = items(inside, base.clone(), paths).trim_start();
            match inside.strip_prefix(',') {
                Some(next) if !next.trim_start().starts_with('}') => inside = next,
                _ => return inside.trim_start_matches([',', ' ', '\n']).trim_start_matches('}'),
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match name {
        "super" => drop(base.pop()),
        "self" => {}
        name => base.push(name.to_string()),
    }
    match rest.strip_prefix("::") {
        Some(rest) => items(rest, base, paths),
        None => {
            paths.push(base);
            rest
        }
    }
}

/// Crates of which every file imports the next without coming back to itself; the others are not there yet.
const WITHOUT_CIRCLES: &[&str] = &[
    "crates/analyze",
    "crates/core",
    "crates/harness",
    "crates/sys",
    "crates/cli",
    "tools/course",
    "tools/lab",
    "tools/tables",
    "tools/xtask",
];

#[test]
fn files_import_each_other_one_way() {
    let files = sources();
    let tests = only_for_tests(&files);
    for name in WITHOUT_CIRCLES {
        let folder = format!("{name}/src/");
        let own = files.iter().filter(|f| !tests.contains(&f.path));
        let modules = Modules::of(own.filter_map(|f| Some((f.path.strip_prefix(&folder)?, f.text.as_str()))));
        assert_eq!(modules.circle(), None, "{folder}");
    }
}

#[test]
fn a_circle_of_imports_would_be_found() {
    let circle = |a: &str, b: &str| {
        let list = "pub mod a;\npub mod b;\npub use b::B;\nuse crate::room::a::A;";
        let files = [("lib.rs", "pub mod room;"), ("room/mod.rs", list), ("room/a.rs", a), ("room/b.rs", b)];
        Modules::of(files.into_iter()).circle()
    };
    assert_eq!(circle("use crate::room::b::B;", "fn f() {}"), None);
    assert_eq!(circle("use super::Room;", "use super::Room;"), None, "a list and its entries");
    assert!(circle("use super::b::B;", "use crate::{room::{c, a::A}, x};").is_some());
    assert!(
        circle("use super::B;", "use super::a::{self, A};").is_some(),
        "by a name that the list hands on"
    );
    assert_eq!(circle("use super::b::B;", "#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}"), None);
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
