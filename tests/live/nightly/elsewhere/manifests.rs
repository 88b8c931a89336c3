//! What is handed out for Kubernetes and systemd: valid by the published schema, and its commands run in a container as
//! the manifest states it.

use super::containers;
use crate::common;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const TEST: &str = "manifests::pods_run_as_their_manifests_state";

/// Checks every document by the schema of Kubernetes, and prints the pods' specs.
const READ: &str = r#"
import json, sys, yaml, kubernetes_validate
pods = []
for name in sys.argv[1:]:
    for document in yaml.safe_load_all(open(name)):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
        spec = document.get("spec", {})
        for key in ("jobTemplate", "spec", "template", "spec"):
            spec = spec.get(key, spec)
        if "containers" in spec:
            pods.append({"name": document["metadata"]["name"], "spec": spec})
print(json.dumps(pods))
"#;

/// `None`, said: the schema is not here.
fn pods() -> Option<Vec<Value>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::fs::read_dir(root.join("dist/kubernetes")).expect("manifests");
    let files = folder.map(|entry| entry.expect("an entry").path());
    let mut read = Command::new("python3");
    read.env("PYTHONPATH", root.join("target/python")).args(["-c", READ]).args(files);
    let output = read.output().ok()?;
    let said = common::said(&output);
    if said.contains("ModuleNotFoundError") {
        common::skipped(
            TEST,
            "needs the Python module kubernetes_validate (pip install kubernetes-validate)",
        );
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn pods_run_as_their_manifests_state() {
    let Some(pods) = pods() else { return };
    assert!(pods.len() >= 3, "two that wait and one that measures: {pods:?}");
    let Some(podman) = containers::podman(TEST) else { return };
    for pod in &pods {
        let (name, spec) = (pod["name"].as_str().expect("a name"), &pod["spec"]);
        let container = &spec["containers"][0];
        let user = spec["securityContext"]["runAsUser"].as_u64().expect("a user");
        let rights = &container["securityContext"];
        assert!(user > 0 && spec["securityContext"]["runAsNonRoot"] == true, "{name}");
        assert_eq!(rights["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(
            (&rights["allowPrivilegeEscalation"], &rights["capabilities"]["drop"][0]),
            (&Value::Bool(false), &Value::from("ALL"))
        );
        let user = format!("{user}:{user}");
        let data = podman.file(&format!("data-{name}"));
        std::fs::create_dir(&data).expect("a folder");
        common::script(&data.join("keep"), "");
        std::os::unix::fs::chown(&data, Some(65532), Some(65532)).expect("root");
        let volume = format!("{}:/data", data.display());
        let mut options =
            vec!["--user", &user, "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"];
        if container["volumeMounts"].is_array() {
            options.extend(["-v", &volume, "--workdir", container["workingDir"].as_str().expect("a folder")]);
        } else {
            options.push("--read-only-tmpfs=false");
        }
        let words = |key: &str| -> Vec<&str> {
            container[key].as_array().map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect())
        };
        if words("args") == ["idle"] {
            containers::container(&podman, name, &options, "alone:1", &words("args"));
            continue;
        }
        // The command of the manifest, for some seconds instead of minutes.
        let command = [&words("args")[..], &["--time-limit", "5s"]].concat();
        let limits = containers::LIMITS;
        let all = [&["run", "--rm"][..], &limits[..], &options[..], &["alone:1"], &command[..]].concat();
        let output = podman.output("podman", &all);
        // A limit of five seconds leaves cases unmeasured.
        assert!(output.status.code().is_some_and(|code| code <= 1), "{name}: {}", common::said(&output));
        let runs: Vec<_> = std::fs::read_dir(data.join("syscost-runs")).expect("runs").collect();
        assert_eq!(runs.len(), 1, "{name}: {}", common::said(&output));
        let run = runs[0].as_ref().expect("an entry").path().join("run.json");
        assert!(std::fs::read_to_string(run).is_ok_and(|text| text.contains("nightly")), "{name}");
    }
    let run = podman.measures(&[], "podman:sender,receiver");
    assert!(run.record.warnings.iter().all(|warning| warning.id != "copied_to_host"), "the image has it");
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn systemd_takes_the_timer_and_its_service() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/systemd");
    let Ok(scratch) = tempfile::tempdir() else { panic!("a scratch directory") };
    for unit in ["syscost-nightly.service", "syscost-nightly.timer"] {
        let text = std::fs::read_to_string(root.join(unit)).expect("a unit");
        // Where the package puts it; here it is where it was built. Its manual page is not installed.
        let text = text.replace("/usr/bin/syscost", common::SYSCOST).replace("Documentation=", "#");
        std::fs::write(scratch.path().join(unit), text).expect("written");
    }
    let units = ["syscost-nightly.service", "syscost-nightly.timer"].map(|unit| scratch.path().join(unit));
    match Command::new("systemd-analyze").arg("verify").args(units).output() {
        Ok(output) => {
            let said = common::said(&output);
            assert!(output.status.success() && !said.contains("nightly"), "{said}");
        }
        Err(_) => common::skipped(
            "manifests::systemd_takes_the_timer",
            "needs systemd-analyze (apt-get install systemd)",
        ),
    }
}
