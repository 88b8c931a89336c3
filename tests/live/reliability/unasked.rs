//! A file starts no program but this one, unless the command line says so: a spec, a recorded run, variants, a fleet.

use crate::common::{self, experiment, said, script, syscost};
use std::fs;
use std::path::Path;
use std::process::Output;

const ALLOWED: &str = "--allow-commands";

/// A program that only leaves a trace.
struct Trap<'a>(&'a Path);

impl Trap<'_> {
    fn command(&self) -> String {
        let program = self.0.join("trap");
        if !program.exists() {
            script(&program, &format!("echo started >> {}\nexit 1", self.0.join("trace").display()));
        }
        program.to_str().unwrap().to_string()
    }

    fn has_gone_off(&self) -> bool {
        fs::remove_file(self.0.join("trace")).is_ok()
    }

    /// Refused with what it would start and the next command; allowed, it starts.
    fn is_set_by(&self, what: &str, run: impl Fn(&[&str]) -> Output) {
        let refused = run(&[]);
        let told = said(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!self.has_gone_off(), "{what}: {told}");
        assert!(told.contains("a file asks to start") && told.contains(&self.command()), "{what}: {told}");
        assert!(told.contains(ALLOWED), "{what}: {told}");
        let allowed = run(&[ALLOWED]);
        assert!(self.has_gone_off(), "{what}, allowed: {}", said(&allowed));
    }
}

#[test]
fn a_file_starts_no_program_unasked() {
    let scratch = tempfile::tempdir().unwrap();
    let place = scratch.path();
    let trap = Trap(place);
    let command = trap.command();

    let probe = "[[probe]]\nid = \"transfer\"\nmechanism = [\"send\"]\nreceiver = \"recv\"\nmessage_bytes = 4096\n\
                 threads = 1\npath = [\"rsh:x\", \"ssh://nonesuch.invalid\"]";
    let file = experiment(place, 2, "2s", ("1ms", "2ms", 1), probe);
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("[").unwrap();
    fs::write(&file, format!("{}rsh = \"{command} {{host}}\"\n{}", &text[..at], &text[at..])).unwrap();
    let file = file.to_str().unwrap();
    let out = place.join("out");
    for name in ["plan", "check", "audit", "profile", "run"] {
        trap.is_set_by(name, |more| {
            let mut words = vec![name, file];
            if name == "run" || name == "profile" {
                let _ = fs::remove_dir_all(&out);
                words.extend(["--out", out.to_str().unwrap()]);
            }
            syscost(&[&words, more].concat())
        });
    }
    let named = format!("{command} {{host}}");
    syscost(&["plan", file, "--rsh", &named, "--path", "rsh:x"]);
    assert!(trap.has_gone_off(), "the command line names it itself");

    let recorded = place.join("recorded");
    common::short_run(&recorded);
    let record = recorded.join("run.json");
    let mut run: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    run["spec"]["rsh"] = format!("{command} {{host}}").into();
    run["spec"]["time_limit_ns"] = 9_000_000_000u64.into();
    for case in run["plan"]["cases"].as_array_mut().unwrap() {
        case["point"]["path"] = "rsh:x".into();
    }
    fs::write(&record, run.to_string()).unwrap();
    let recorded = recorded.to_str().unwrap();
    trap.is_set_by("resume", |more| {
        syscost(&[&["run", "--resume", recorded, "--time-limit", "2s"], more].concat())
    });

    let variants = place.join("variants.toml");
    let text = format!("[[variant]]\nlabel = \"a\"\nbefore = \"{command}\"\n[[variant]]\nlabel = \"b\"\n");
    fs::write(&variants, text).unwrap();
    let group = place.join("group");
    trap.is_set_by("variants", |more| {
        let words =
            ["run", "timer", "--repeat", "1", "--variants", variants.to_str().unwrap(), "--time-limit", "1s"];
        syscost(&[&words[..], &["--out", group.to_str().unwrap()], more].concat())
    });

    let fleet = place.join("fleet");
    let fleet = fleet.to_str().unwrap();
    let planned = syscost(&[
        "fleet", "plan", "--hosts", "n[1-2]", "--pairs", "all", "--engine", "local", "--out", fleet,
    ]);
    assert!(planned.status.success(), "{}", said(&planned));
    let steps = Path::new(fleet).join("fleet.sh");
    let text = fs::read_to_string(&steps).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    fs::write(&steps, format!("{first}\n{command}; exit 2\n{rest}")).unwrap();
    trap.is_set_by("fleet", |more| syscost(&[&["fleet", "submit", fleet], more].concat()));
}
