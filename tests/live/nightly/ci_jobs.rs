//! The documented CI jobs, as far as they run without their services: their files are what the services read, and the step
//! that measures is executed by the shell that they would use.

use crate::support::SYSCOST;
use std::path::Path;
use std::process::{Command, Output};

/// Prints the commands of the step that measures, and checks what the service wants of the file.
const STEPS: &str = "
import sys, yaml
kind, place = sys.argv[1:]
text = open(place).read()
if kind == 'github':
    job = yaml.safe_load(text)['jobs']['gate']
    assert job['runs-on'] and any('checkout' in step.get('uses', '') for step in job['steps'])
    print(next(step['run'] for step in job['steps'] if step.get('name') == 'measure'))
elif kind == 'gitlab':
    job = yaml.safe_load(text)['cost']
    assert job['artifacts']['reports'] == {'junit': 'gate.xml'}, job['artifacts']
    assert all(isinstance(line, str) for line in job['before_script'] + job['script'])
    print('\\n'.join(job['script']))
else:
    assert text.count('{') == text.count('}') and \"junit 'gate.xml'\" in text
    print(text.split(\"stage('measure')\")[1].split(\"'''\")[1])
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

/// Runs the step where both builds are this one, for two short turns: long enough for a machine with other work.
fn measured(steps: &str, folder: &Path) -> Output {
    for side in ["base", "new"] {
        std::fs::create_dir(folder.join(side)).unwrap();
        std::os::unix::fs::symlink(SYSCOST, folder.join(side).join("syscost")).unwrap();
    }
    let variants = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci/variants.toml");
    std::fs::copy(variants, folder.join("variants.toml")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", steps]).current_dir(folder);
    shell.envs([("RUNS", "2"), ("LIMIT", "3s")]).env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
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
