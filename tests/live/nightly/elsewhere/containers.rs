//! Between containers of podman, whose networks are their own: with a shell, with nothing but syscost, without room.

use super::engine::Engine;
use crate::common::{self, SYSCOST};
use std::path::Path;
use std::process::{Command, Stdio};

/// A sandbox may not raise limits, and a container need not.
pub const LIMITS: [&str; 4] = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"];
/// Programs of this machine, in a container that has none.
const PROGRAMS: [&str; 8] =
    ["-v", "/usr:/usr:ro", "-v", "/lib:/lib:ro", "-v", "/lib64:/lib64:ro", "-v", "/bin:/bin:ro"];

/// Images that are made here: `empty`, and `alone`, which has syscost and the libraries that this build of it needs.
pub fn podman(test: &str) -> Option<Engine> {
    let podman = Engine::start(test, "podman", &[], &["podman", "ip", "nsenter", "unshare", "tar", "ldd"])?;
    for name in ["empty", "alone"] {
        std::fs::create_dir_all(podman.file(name).join("tmp")).expect("a folder");
    }
    let put = |from: &str, to: &str| {
        let to = podman.file("alone").join(to.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(from, to).expect("copied");
    };
    put(SYSCOST, "/usr/local/bin/syscost");
    let libraries = Command::new("ldd").arg(SYSCOST).output().expect("ldd starts");
    for library in
        String::from_utf8_lossy(&libraries.stdout).split_whitespace().filter(|word| word.starts_with('/'))
    {
        put(library, library);
    }
    for (name, entry) in [("empty", "[\"/bin/sleep\"]"), ("alone", "[\"/usr/local/bin/syscost\"]")] {
        let tar = podman.file(&format!("{name}.tar"));
        let made =
            Command::new("tar").arg("-C").arg(podman.file(name)).arg("-cf").arg(&tar).arg(".").status();
        assert!(made.expect("tar starts").success());
        let change = format!("ENTRYPOINT {entry}");
        podman.told(
            "podman",
            &["import", "--change", &change, tar.to_str().expect("UTF-8"), &format!("{name}:1")],
        );
    }
    // What this machine allows is found out by one container.
    let tried = podman.output("podman", &[&["run", "--rm"], &LIMITS[..], &["alone:1", "--version"]].concat());
    if !tried.status.success() {
        common::skipped(test, &format!("podman starts no container here: {}", common::said(&tried)));
        return None;
    }
    Some(podman)
}

/// A running container.
pub fn container(podman: &Engine, name: &str, options: &[&str], image: &str, command: &[&str]) {
    let begin = ["run", "--detach", "--name", name];
    podman.told("podman", &[&begin, &LIMITS[..], options, &[image], command].concat());
}

fn with_programs(podman: &Engine, name: &str, options: &[&str]) {
    container(podman, name, &[&PROGRAMS[..], options].concat(), "empty:1", &["1000"]);
}

/// Ends it. What podman makes for its containers is gone from this machine.
fn leaves_nothing(podman: Engine) {
    let ids = podman.told("podman", &["ps", "--all", "--quiet", "--no-trunc"]);
    let ids: Vec<&str> = ids.lines().collect();
    let network =
        |id: &&str| podman.told("podman", &["inspect", "-f", "{{.NetworkSettings.SandboxKey}}", id]);
    let networks: Vec<String> = ids.iter().map(network).filter(|name| !name.is_empty()).collect();
    assert!(!networks.is_empty());
    drop(podman);
    let states = ids.iter().map(|id| format!("/run/crun/{id}"));
    let left: Vec<String> =
        networks.into_iter().chain(states).filter(|name| Path::new(name).exists()).collect();
    assert!(left.is_empty(), "{left:?}");
    let groups = Command::new("find").args(["/sys/fs/cgroup", "-name", "libpod-*"]).output().expect("find");
    let groups = String::from_utf8_lossy(&groups.stdout).into_owned();
    assert!(ids.iter().all(|id| !groups.contains(id)), "{groups}");
}

/// One with programs and one with nothing but syscost.
fn two(test: &str) -> Option<Engine> {
    let podman = podman(test)?;
    with_programs(&podman, "one", &[]);
    let options = ["--user", "1000", "--read-only", "--cap-drop", "all"];
    container(&podman, "alone", &options, "alone:1", &["idle"]);
    Some(podman)
}

/// Both by the numbers that their processes have inside of the engine.
fn entered(podman: &Engine) -> String {
    let pid = |name: &str| podman.told("podman", &["inspect", "-f", "{{.State.Pid}}", name]);
    format!("nsenter:{},{}", pid("one"), pid("alone"))
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn containers_are_measured_with_a_shell_and_without() {
    let Some(podman) = two("containers::containers_are_measured") else { return };
    let address =
        |name: &str| podman.told("podman", &["inspect", "-f", "{{.NetworkSettings.IPAddress}}", name]);
    // From here into one, between both, the other way round, and by the command that docker has too.
    for (path, sender, receiver) in [
        ("podman:one", None, "one"),
        ("podman:one,alone", Some("one"), "alone"),
        ("podman:alone,one", Some("alone"), "one"),
        ("docker:alone", None, "alone"),
    ] {
        let run = podman.measures(&[], path);
        let told = run.record.settings.values().next().expect("recorded");
        assert_eq!(*told["receiver_address"], *address(receiver), "{path}: {told:?}");
        sender.inspect(|name| assert_eq!(*told["sender_address"], *address(name), "{path}: {told:?}"));
    }
    // The same networks by the number of a process, with nothing of ours in the containers.
    let run = podman.measures(&[], &entered(&podman));
    let told = run.record.settings.values().next().expect("recorded");
    assert_eq!(
        (&*told["sender_address"], &*told["receiver_address"]),
        (&*address("one"), &*address("alone"))
    );
    assert!(
        run.record.warnings.iter().all(|warning| warning.id != "copied_to_host"),
        "our own file is there"
    );
    leaves_nothing(podman);
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn kill_9_leaves_nothing_in_containers() {
    let Some(podman) = two("containers::kill_9_leaves_nothing") else { return };
    podman.survives_kills(&[], "podman:one,alone", "exec -i");
    podman.survives_kills(&[], &entered(&podman), "worker");
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_container_that_cannot_be_used_is_an_answer_with_a_remedy() {
    let Some(podman) = podman("containers::a_container_that_cannot_be_used") else { return };
    let says = |path: &str, wanted: &[&str]| {
        let said = podman.doctor(&["--path", path]);
        assert!(wanted.iter().all(|words| said.contains(words)), "{path}: {said}");
    };
    says("podman:nobody", &["bad", "no container with name", "podman ps"]);
    says("nsenter:4194303", &["bad", "No such file", "lsns"]);
    // Neither a shell nor syscost.
    container(
        &podman,
        "bare",
        &[
            "-v",
            &format!("{SYSCOST}:/idler:ro"),
            "-v",
            "/lib:/lib:ro",
            "-v",
            "/lib64:/lib64:ro",
            "--entrypoint",
            "/idler",
        ],
        "empty:1",
        &["idle"],
    );
    says("podman:bare", &["bad", "neither a shell nor syscost", "nsenter:PID"]);
    // A shell, and no place that can be written and lets programs start.
    with_programs(&podman, "full", &["--read-only", "--read-only-tmpfs=false"]);
    says("podman:full", &["bad", "could not be copied", "Read-only file system", "/dev/shm/syscost-0"]);
    // A home that cannot be written, and a folder for temporary files that can.
    with_programs(&podman, "homeless", &["--read-only", "--user", "1000", "--cap-drop", "all"]);
    says("podman:homeless", &["good"]);
    says("podman:homeless", &["good"]);
    with_programs(&podman, "here", &["--network", "host"]);
    says("podman:here", &["bad", "share one network", "--path loopback"]);
    podman.told("podman", &["stop", "--time", "0", "here"]);
    says("podman:here", &["bad", "podman start here"]);
    std::fs::remove_file(podman.file("bin/docker")).expect("removed");
    if !Path::new("/usr/bin/docker").exists() && !Path::new("/usr/local/bin/docker").exists() {
        says("docker:one", &["bad", "there is no program docker", "docker.io"]);
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn the_main_process_of_a_container_waits_reaps_and_ends_when_told() {
    let mut idle = Command::new(SYSCOST).arg("idle").stdin(Stdio::null()).spawn().expect("it starts");
    syscost_sys::sleep::sleep(std::time::Duration::from_millis(200));
    assert!(idle.try_wait().expect("our child").is_none(), "it waits");
    common::signal(idle.id(), libc::SIGCHLD);
    syscost_sys::sleep::sleep(std::time::Duration::from_millis(50));
    assert!(idle.try_wait().expect("our child").is_none(), "a child is no reason to end");
    common::signal(idle.id(), libc::SIGTERM);
    assert_eq!(idle.wait().expect("our child").code(), Some(0));
}
