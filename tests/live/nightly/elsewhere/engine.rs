//! An engine in namespaces of its own, which all end with one process (`tests/support/engines`).

use crate::common::{self, SYSCOST};
use crate::search;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_sys::process;

/// What has to be gone after a kill: an agent that hears nothing ends after 30 s.
const TO_LEAVE: Duration = Duration::from_secs(45);

/// Dropping it ends the engine and all that it started.
pub struct Engine {
    holder: Child,
    /// The first process of its namespaces.
    inside: u32,
    pub folder: tempfile::TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Engine {
    /// `None`, said: not possible here.
    pub fn start(test: &str, script: &str, arguments: &[&str], needs: &[&str]) -> Option<Engine> {
        let has = |program: &&&str| {
            let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
            folders.split(':').any(|folder| Path::new(folder).join(program).exists())
        };
        if !common::is_root(test) || !common::namespaces_allowed(test) {
            return None;
        }
        if let Some(missing) = needs.iter().find(|program| !has(program)) {
            common::skipped(test, &format!("needs {missing}"));
            return None;
        }
        let folder = tempfile::tempdir().expect("a scratch directory");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/engines").join(script);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.arg("bash").arg(script).args(arguments).arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process::die_with_parent_on_exec(&mut command);
        let mut holder = command.spawn().expect("unshare starts");
        let mut said = String::new();
        let _ = BufReader::new(holder.stdout.take().expect("piped")).read_line(&mut said);
        if said.trim() != "up" {
            let _ = holder.kill();
            let output = holder.wait_with_output().expect("it ends");
            common::skipped(test, &format!("the engine does not start here: {}", common::said(&output)));
            return None;
        }
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let children = std::fs::read_to_string(children).expect("proc(5)");
        let inside = children.trim().parse().expect("one child");
        let home = folder.path().join("home");
        for own in [&home, &folder.path().join("bin")] {
            std::fs::create_dir_all(own).expect("a folder");
        }
        let search = format!("{}:{}:/usr/sbin", folder.path().join("bin").display(), search::path());
        let environment = vec![("HOME", home.display().to_string()), ("PATH", search)];
        Some(Engine { holder, inside, folder, environment })
    }

    pub fn set(&mut self, name: &'static str, value: String) {
        self.environment.retain(|(known, _)| *known != name);
        self.environment.push((name, value));
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program inside.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.inside)).args(["--mount", "--net", "--uts", "--pid", "--"]);
        command.arg(program).args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn output(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program, arguments).output().expect("nsenter starts")
    }

    /// It has to succeed.
    pub fn told(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.output(program, arguments);
        assert!(output.status.success(), "{program} {arguments:?}: {}", common::said(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    pub fn syscost(&self, arguments: &[&str]) -> Output {
        self.output(SYSCOST, arguments)
    }

    /// What the doctor says of a path, on one line.
    pub fn doctor(&self, arguments: &[&str]) -> String {
        let output = self.syscost(&[&["doctor", "--json"], arguments].concat());
        let checks: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", common::said(&output)));
        let path = checks.as_array().and_then(|all| all.iter().find(|check| check["id"] == "path"));
        let path = path.expect("a path was asked for");
        let told = ["status", "observed", "remedy"].map(|key| path[key].as_str().unwrap_or_default());
        told.join(" | ")
    }

    /// A short transfer over this path is measured, and every byte is verified.
    pub fn measures(&self, arguments: &[&str], path: &str) -> Run {
        let out = self.file("measured");
        let _ = std::fs::remove_dir_all(&out);
        // Three rounds, however long a busy machine takes for them.
        let study = study(path, out.to_str().expect("UTF-8"), "40s");
        let output = self.syscost(&[&study[..], &["--precision", "50%"], arguments].concat());
        let run = RunDir::load(&out).unwrap_or_else(|error| panic!("{error}: {}", common::said(&output)));
        common::sound(output.status.code().unwrap_or(-1), &run, &common::said(&output));
        assert!(run.samples.iter().any(|sample| sample.bytes > 0.0), "{}", common::said(&output));
        assert!(run.samples.iter().all(|sample| sample.verified || sample.bytes == 0.0));
        run
    }

    /// kill -9 of the harness, of what leads to the far end, and of an agent: a run is not lost by the two last, and none
    /// leaves anything.
    pub fn survives_kills(&self, arguments: &[&str], path: &str, leads_there: &str) {
        for victim in ["harness", leads_there, "agent"] {
            let out = self.file(&format!("killed-{}", victim.replace(' ', "-")));
            // Another path may have been tried here before.
            let _ = std::fs::remove_dir_all(&out);
            // Longer and more precise than any machine gets: a signal ends it.
            let study = study(path, out.to_str().expect("UTF-8"), "100s");
            let all = [&study[..], &["--precision", "0.1%"], arguments].concat();
            let mut command = self.command(SYSCOST, &all);
            let mut run =
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("nsenter starts");
            let samples = || RunDir::load(&out).map_or(0, |run| run.samples.len());
            common::soon("a first sample", || samples() > 0);
            let harness = harness(&run);
            match victim {
                "harness" => common::signal(harness, libc::SIGKILL),
                // Workers come and go with the cases, so the first look may fall between two of them.
                _ => {
                    let killed = || {
                        let there = self.ours().into_iter().find(|(_, line)| line.contains(victim));
                        there.map(|(pid, _)| common::signal(pid, libc::SIGKILL)).is_some()
                    };
                    common::soon(&format!("a process of {victim}"), killed);
                    let before = samples();
                    common::soon(&format!("samples after the kill of {victim}"), || samples() > before);
                    common::signal(harness, libc::SIGINT);
                }
            }
            let status = run.wait().expect("it ends");
            assert!(victim == "harness" || status.code().is_some_and(|code| code <= 1), "{victim}: {status}");
            let end = Instant::now() + TO_LEAVE;
            while !self.ours().is_empty() {
                assert!(Instant::now() < end, "{victim}: left {:?}", self.ours());
                syscost_sys::sleep::sleep(Duration::from_millis(50));
            }
            assert!(RunDir::load(&out).is_ok(), "what was measured is kept");
        }
    }

    /// Agents, workers and what leads to them, here and below the engine.
    pub fn ours(&self) -> Vec<(u32, String)> {
        // Whoever is below its first process, as containers are, or came in with nsenter.
        let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let own = namespace(self.inside);
        let is_inside = |mut pid: u32| {
            let came_in = namespace(pid) == own;
            while pid > 1 && pid != self.inside {
                pid = common::parent(pid).unwrap_or(0);
            }
            pid == self.inside || came_in
        };
        let line = |pid: u32| {
            let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_string()
        };
        let entries = std::fs::read_dir("/proc").expect("/proc is mounted");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let ours = |line: &str| {
            let ends =
                line.ends_with(" agent") || line.ends_with(" worker") || line.contains(" agent syscost-");
            ends || ["srun ", "podman exec"].iter().any(|begins| line.contains(begins))
        };
        let lines = pids.map(|pid| (pid, line(pid))).filter(|(_, line)| ours(line));
        lines.filter(|(pid, _)| is_inside(*pid)).collect()
    }
}

/// What nsenter has forked, with the number that it has out here.
fn harness(nsenter: &Child) -> u32 {
    let children = format!("/proc/{0}/task/{0}/children", nsenter.id());
    let children = std::fs::read_to_string(children).expect("proc(5)");
    children.trim().parse().unwrap_or_else(|_| panic!("nsenter has no child that still runs: {children:?}"))
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A transfer over this path, into this directory.
pub fn study<'a>(path: &'a str, out: &'a str, limit: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["run", "transfer", "--path", path, "--mechanism", "send", "--receiver", "recv"];
    arguments.extend(["--size", "4K", "--threads", "1", "--time-limit", limit, "--out", out]);
    arguments
}
