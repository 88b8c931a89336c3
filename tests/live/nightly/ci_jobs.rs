//! The documented CI jobs, as far as they run without their services: their files are what the services read, and their
//! commands are executed by the shell that they would use. Only what builds is a stand-in: both builds are this one.

use crate::support::SYSCOST;
use std::path::Path;
use std::process::{Command, Output};

/// Prints the commands, and checks what the service wants of the file.
const STEPS: &str = "
import re, sys, yaml
kind, place = sys.argv[1:]
text = open(place).read()
if kind == 'github':
    job = yaml.safe_load(text)['jobs']['gate']
    assert job['runs-on'] and any('checkout' in step.get('uses', '') for step in job['steps'])
    commands = [step['run'] for step in job['steps'] if 'run' in step]
elif kind == 'gitlab':
    job = yaml.safe_load(text)['cost']
    assert job['artifacts']['reports'] == {'junit': 'gate.xml'}, job['artifacts']
    commands = job['script']
else:
    assert text.count('{') == text.count('}') and \"junit 'gate.xml'\" in text
    commands = re.findall(r\"sh '(.*)'\", text)
assert len(commands) == 3, commands
print('\\n'.join(commands))
";

/// A checkout with a target branch, as the services make it, and a cargo that has built this program.
const CHECKOUT: &str = "
mkdir -p docs/ci bin
cp \"$VARIANTS\" docs/ci/
printf '#!/bin/sh\\nmkdir -p target/release && ln -sf \"$SYSCOST\" target/release/syscost\\n' >bin/cargo
chmod +x bin/cargo
git init --quiet .
git add docs
git -c user.name=test -c user.email=test@localhost commit --quiet --message both
git update-ref refs/remotes/origin/main HEAD
";

fn steps(kind: &str, file: &str) -> Option<String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci").join(file);
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python");
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", packages).args(["-c", STEPS, kind]).arg(place);
    let done = python.output().ok()?;
    let errors = String::from_utf8_lossy(&done.stderr);
    if errors.contains("No module named 'yaml'") {
        return None;
    }
    assert!(done.status.success(), "{file}: {errors}");
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs the commands, for two short turns: long enough for a machine with other work.
fn measured(commands: &str, folder: &Path) -> Output {
    let commands = commands.replace("--time-limit 5s --repeat 8", "--time-limit 3s --repeat 2");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &format!("{CHECKOUT}PATH=$PWD/bin:$PATH\n{commands}")]).current_dir(folder);
    let variants = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci/variants.toml");
    shell.env("SYSCOST", SYSCOST).env("VARIANTS", variants).env("GITHUB_STEP_SUMMARY", "summary.md");
    for target in ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CHANGE_TARGET"] {
        shell.env(target, "main");
    }
    shell.output().unwrap()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn the_jobs_of_three_services_measure_and_leave_what_the_service_reads() {
    let jobs = [
        ("github", "github.yml", &["gate.xml", "summary.md"][..]),
        ("gitlab", "gitlab.yml", &["gate.xml"]),
        ("jenkins", "Jenkinsfile", &["gate.xml"]),
    ];
    for (kind, file, left) in jobs {
        let Some(steps) = steps(kind, file) else {
            eprintln!("skipped: CI jobs: python3 has no yaml");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let done = measured(&steps, folder.path());
        let said =
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        // Two short turns of one build decide little: within, or undecided; one in twenty is over.
        assert!([0, 1, 4].contains(&done.status.code().unwrap_or(-1)), "{kind}: {said}");
        for name in left {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
            assert!(text.contains("sendmsg"), "{kind}: {name}: {text}: {said}");
        }
        if kind == "github" {
            let undecided = done.status.code() != Some(0);
            assert!(!undecided || said.contains("::warning ") || said.contains("::error "), "{said}");
        }
    }
}
