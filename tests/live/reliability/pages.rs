//! A run directory from a stranger: whatever its texts say, the page has no element or attribute that an
//! honest page lacks, the terminal gets no control character, and the script of a course no statement.

use super::browsed;
use crate::common;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use syscost_experiment::run::{Run, RunDir};

/// Everything at once that ends a text in HTML, SVG, CSS, Python or a terminal.
const EVIL: &str = "</style></title><script>document.documentElement.setAttribute('data-ran','yes')</script>\
                    <img src=http://stranger.example/image onerror=document.documentElement.setAttribute('data-ran','yes')>\
                    \"' onload=alert(3) \
                    <a href=\"javascript:alert(4)\">x</a>]]>--><!-- \u{1b}]8;;http://x\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\
                    \r\n\0\"\"\"\nimport os\\\nos.system('true') =cmd|' /C calc'!A0";

/// What a spreadsheet would run begins so.
const FORMULAS: [&str; 8] =
    ["=cmd|", "\u{feff}=cmd|", "\n=cmd|", "\u{ff1d}cmd|", "\t+cmd|", " @cmd|", "\u{200b}-cmd|", "a;=cmd|"];

/// Does the directory still load with this record?
fn loads(dir: &Path, record: &serde_json::Value) -> bool {
    fs::write(dir.join("run.json"), serde_json::to_vec(record).expect("JSON")).expect("our own file");
    syscost_experiment::run::files::RunDir::load(dir).is_ok()
}

/// The paths of every string in a document.
fn strings(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(_) => found.push(path),
        serde_json::Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                strings(item, format!("{path}/{index}"), found);
            }
        }
        serde_json::Value::Object(map) => {
            for (key, item) in map {
                strings(item, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// Makes every string hostile with which the record still loads: groups first, single ones where a group
/// holds a name that must be known.
fn poison(dir: &Path, record: &mut serde_json::Value, paths: &[String]) -> usize {
    if paths.is_empty() {
        return 0;
    }
    let mut poisoned = record.clone();
    for (path, formula) in paths.iter().zip(FORMULAS.iter().cycle()) {
        let place = poisoned.pointer_mut(path).expect("a string of the record");
        let text = place.as_str().unwrap_or_default().to_string();
        *place = format!("{formula}{text}{EVIL}").into();
    }
    if loads(dir, &poisoned) {
        *record = poisoned;
        return paths.len();
    }
    if paths.len() == 1 {
        return 0;
    }
    let (one, other) = paths.split_at(paths.len() / 2);
    poison(dir, record, one) + poison(dir, record, other)
}

/// The paths of all entries of objects that hold texts alone.
fn entries(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, item)| entries(item, format!("{path}/{index}"), found));
        }
        serde_json::Value::Object(map) => {
            let texts = map.values().all(serde_json::Value::is_string);
            for (key, item) in map {
                let place = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                if texts {
                    found.push(place);
                } else {
                    entries(item, place, found);
                }
            }
        }
        _ => {}
    }
}

/// Makes the names of entries hostile, as [`poison`] does texts.
fn poison_names(dir: &Path, record: &mut serde_json::Value, paths: &[String]) -> usize {
    if paths.is_empty() {
        return 0;
    }
    let mut poisoned = record.clone();
    for path in paths {
        let (map, key) = path.rsplit_once('/').expect("an entry of an object");
        let key = key.replace("~1", "/").replace("~0", "~");
        let map = poisoned.pointer_mut(map).and_then(|map| map.as_object_mut()).expect("an object");
        let value = map.remove(&key).expect("its entry");
        map.insert(format!("{}{key}{EVIL}", FORMULAS[0]), value);
    }
    if loads(dir, &poisoned) {
        *record = poisoned;
        return paths.len();
    }
    if paths.len() == 1 {
        return 0;
    }
    let (one, other) = paths.split_at(paths.len() / 2);
    poison_names(dir, record, one) + poison_names(dir, record, other)
}

/// Element names with their attribute names, as a browser's tokenizer finds them outside of texts.
fn elements(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "/!-".contains(c))).unwrap_or(rest.len());
        let mut element = rest[..end].to_string();
        rest = &rest[end..];
        // Attributes, with what stands between their quotes left out.
        let mut attributes = BTreeSet::new();
        while !rest.starts_with('>') && !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let name = rest.find(|c: char| c.is_whitespace() || "=>/".contains(c)).unwrap_or(rest.len());
            if name > 0 {
                attributes.insert(rest[..name].to_string());
            }
            rest = &rest[name..];
            if let Some(value) = rest.strip_prefix("=\"") {
                rest = value.split_once('"').map_or("", |(_, after)| after);
            } else if !rest.starts_with('>') && name == 0 {
                attributes.insert(format!("unquoted {:.20}", rest));
                rest = rest.get(1..).unwrap_or("");
            }
        }
        for attribute in attributes {
            element.push(' ');
            element.push_str(&attribute);
        }
        found.insert(element);
    }
    found
}

/// Names only: an element may lack an attribute that another of its kind has.
fn names(page: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let all = elements(page);
    let words = |skip: usize, take: usize| -> BTreeSet<String> {
        all.iter().flat_map(|e| e.split(' ').skip(skip).take(take).map(String::from)).collect()
    };
    (words(0, 1), words(1, usize::MAX))
}

fn tame(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{what} is not text"));
    let wild = |c: &char| !"\n\t".contains(*c) && syscost_report::escape::hidden(*c);
    if let Some(at) = text.find(|c: char| wild(&c)) {
        let from = text[..at].char_indices().rev().nth(60).map_or(0, |(i, _)| i);
        panic!("{what} holds a control character: {:?}", text[from..].chars().take(80).collect::<String>());
    }
}

fn syscost_tame(arguments: &[&str]) -> Output {
    let output = common::syscost(arguments);
    tame(&format!("standard output of {arguments:?}"), &output.stdout);
    tame(&format!("standard error of {arguments:?}"), &output.stderr);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {}", common::said(&output));
    output
}

fn parses_as_python(script: &Path) -> Option<bool> {
    // `ast` parses and executes nothing; every statement of the top level is one that the honest script has.
    let program = "import ast,sys\nprint([type(n).__name__ for n in ast.parse(open(sys.argv[1]).read()).body].count('Import'))";
    let output = Command::new("python3").args(["-c", program]).arg(script).output().ok()?;
    Some(output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == "5")
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_stranger_s_run_directory_is_shown_and_never_obeyed() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let cases = ["--mechanism", "pack_send,sendmsg,msg_zerocopy", "--size", "64,64K", "--threads", "1,2"];
    let (honest, _) = common::given_time(
        |(_, run): &(PathBuf, Run)| {
            let seen: BTreeSet<usize> = run.samples.iter().map(|sample| sample.case).collect();
            seen.len() == run.record.plan.cases.len()
        },
        |limit| {
            let honest = scratch.path().join(format!("honest-{limit}"));
            let mut command = Command::new(common::SYSCOST);
            command.args(["run", "transfer", "--path", "loopback", "--quiet", "--time-limit", limit]);
            let made = command.args(cases).arg("--out").arg(&honest).output().expect("the binary starts");
            assert!(matches!(made.status.code(), Some(0 | 1)), "{}", common::said(&made));
            let run = RunDir::load(&honest).expect("a valid run");
            (honest, run)
        },
    );
    // Once with every text, and once with those left alone that say what was measured: the course's layout
    // is made from a run that has what it asks for.
    for keep in [&[][..], &["/plan/cases/", "/spec/probes/"][..]] {
        shown_and_never_obeyed(scratch.path(), &honest, keep);
    }
}

fn shown_and_never_obeyed(scratch: &Path, honest: &Path, keep: &[&str]) {
    let text = |path: &Path| path.to_str().expect("UTF-8").to_string();
    let evil = scratch.join(format!("evil-{}", keep.len()));
    fs::create_dir(&evil).expect("mkdir");
    for file in ["run.json", "samples.csv"] {
        fs::copy(honest.join(file), evil.join(file)).expect("copy");
    }
    let mut record: serde_json::Value =
        serde_json::from_slice(&fs::read(honest.join("run.json")).expect("a record")).expect("JSON");
    for list in ["warnings", "failures"] {
        let entry = match list {
            "warnings" => {
                serde_json::json!({"id": "x", "observed": "o", "consequence": "c", "remedy": "r", "cases": []})
            }
            _ => serde_json::json!({"case": 0, "round": 0, "message": "m"}),
        };
        record[list].as_array_mut().expect("a list").push(entry);
    }
    let mut paths = Vec::new();
    strings(&record, String::new(), &mut paths);
    paths.retain(|path| !keep.iter().any(|start| path.starts_with(start)));
    let count = poison(&evil, &mut record, &paths);
    let mut named = Vec::new();
    // Facts of cases have names that are anybody's; of other objects a name is a field.
    entries(&record["settings"], "/settings".into(), &mut named);
    let renamed = poison_names(&evil, &mut record, &named);
    assert!(renamed > 10, "only {renamed} of {} names could be poisoned", named.len());
    assert!(loads(&evil, &record), "the poisoned record loads");
    assert!(count > 100, "only {count} of {} strings could be poisoned", paths.len());

    for dir in [honest, &evil] {
        let output = syscost_tame(&["report", &text(dir), "--plots", &text(dir)]);
        assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
    }
    syscost_tame(&["report", &text(&evil), "--json"]);
    syscost_tame(&["explain", "0", &text(&evil)]);
    syscost_tame(&["explain", "no such case", &text(&evil)]);
    syscost_tame(&["explain", "0", &text(&evil), "--json"]);
    syscost_tame(&["analyse", &text(&evil.join("results.csv"))]);
    syscost_tame(&["run", "--resume", &text(&evil), "--time-limit", "2s"]);

    let page = |dir: &Path| fs::read_to_string(dir.join("report.html")).expect("a page");
    let ((own, own_attributes), (its, its_attributes)) = (names(&page(honest)), names(&page(&evil)));
    let new: Vec<&String> = its.difference(&own).chain(its_attributes.difference(&own_attributes)).collect();
    // The warning and the failure bring a section that the honest run may lack, of elements that pages have.
    let known = [
        "ul",
        "li",
        "code",
        "dl",
        "dt",
        "dd",
        "/ul",
        "/li",
        "/code",
        "/dl",
        "/dt",
        "/dd",
        "role",
        "span",
        "/span",
        "aria-hidden",
    ];
    let strange: Vec<&&String> = new.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(strange.is_empty(), "the page has what an honest one lacks: {strange:?}");
    if let Some(visit) = browsed::visit(&evil.join("report.html")) {
        assert!(visit.page.dom.contains("syscost report"), "the browser shows the page");
        assert!(!visit.page.dom.contains(browsed::RAN), "a script ran");
        assert_eq!(visit.requests, Vec::<String>::new());
        assert!(
            !visit.page.console.contains("Content Security Policy"),
            "there was something to refuse: {}",
            visit.page.console
        );
    }
    for link in page(&evil).split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "a link leads out of the page: {link:.80}");
    }
    for file in fs::read_dir(&evil).expect("the run").flatten().map(|file| file.path()) {
        let bytes = fs::read(&file).expect("a file");
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        // Those that are the record itself hold what was recorded; a picture is no text.
        if !["run.json", "samples.csv"].contains(&name.as_str()) && !name.ends_with(".png") {
            tame(&name, &bytes);
        }
        let content = String::from_utf8_lossy(&bytes).into_owned();
        if name.ends_with(".html") || name.ends_with(".svg") {
            assert!(!content.contains("<script") && !content.contains("<img"), "{name}");
        }
        if name.ends_with(".csv") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(content.as_bytes());
            let rows = reader.records().map(|row| row.expect("a row"));
            for field in rows.flat_map(|row| row.iter().map(String::from).collect::<Vec<_>>()) {
                let runs = |part: &str| part.trim_start().starts_with(['=', '+', '@', '-', '\u{ff1d}']);
                let runs = |part: &str| part.parse::<f64>().is_err() && runs(part);
                assert!(!field.split(';').any(runs), "a spreadsheet would run {field:?} of {name}");
            }
        }
    }
    let course = scratch.join(format!("course-{}", keep.len()));
    let output = syscost_tame(&["course", "pa02", &text(&evil), "--roll", "MT1", "--out", &text(&course)]);
    assert!(keep.is_empty() || output.status.code() == Some(0), "{}", common::said(&output));
    if output.status.code() == Some(0) {
        let script = fs::read_dir(&course).expect("files").flatten().map(|f| f.path());
        for script in script.filter(|path| path.extension().is_some_and(|e| e == "py")) {
            match parses_as_python(&script) {
                Some(honest) => assert!(honest, "{} is not the script that it should be", script.display()),
                None => common::skipped("a_stranger_s_run_directory_is_shown_and_never_obeyed", "no python3"),
            }
        }
    }
}
