//! Settings of the caller's, caps of the kernel's, and programs that look at every packet: what was measured is what
//! the record says.

use crate::common::{self, NOBODY, SYSCOST, is_root, open_to_all, said, skipped};
use serde_json::Value;
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Output};

/// These commands in a network namespace of their own with a loopback device, whose settings nobody else sees.
fn apart(folder: &Path, commands: &str) -> Output {
    let whole = format!("ip link set lo up && cd {} && {commands}", folder.display());
    Command::new("unshare").args(["--net", "sh", "-c", &whole]).output().expect("unshare (util-linux)")
}

/// A short run of one case over this path, as root and as an ordinary user.
fn runs(program: &Path, path: &str) -> String {
    let run = |who: &str, name: &str| {
        format!(
            "{who} {} run transfer --path {path} --mechanism send --size 4K --threads 1 --time-limit 2s --quiet \
             --out {name} >&2",
            program.display()
        )
    };
    let nobody = format!("setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups");
    format!("{{ {}; {}; true; }}", run("", "root"), run(&nobody, "nobody"))
}

fn record(run: &Path) -> Value {
    let text = fs::read_to_string(run.join("run.json"));
    serde_json::from_str(&text.expect("a run")).expect("JSON")
}

#[test]
fn the_callers_settings_of_the_network_are_in_force_where_a_run_measures() {
    let test = "the_callers_settings";
    if !is_root(test) || !common::namespaces_allowed(test) {
        return;
    }
    let (folder, program) = open_to_all();
    let settings = [
        ("tcp_sack", "0"),
        ("tcp_timestamps", "0"),
        ("tcp_wmem", "4096 8192 8192"),
        ("tcp_notsent_lowat", "16384"),
    ];
    let set: String = settings.iter().map(|(name, value)| format!(" net.ipv4.{name}='{value}'")).collect();
    let output = apart(folder.path(), &format!("sysctl -qw{set} && {}", runs(&program, "veth")));
    for name in ["root", "nobody"] {
        let run = folder.path().join(name);
        if !run.exists() {
            skipped(test, &format!("no run as {name}: {}", said(&output)));
            continue;
        }
        let record = record(&run);
        let case = &record["settings"]["0"];
        for (setting, value) in &settings[..3] {
            assert_eq!(case[setting], *value, "the sender's {setting} as {name}: {case}");
            assert_eq!(case[format!("receiver_{setting}")], *value, "the receiver's as {name}: {case}");
        }
        let carried = case["carried_settings"].as_str().unwrap_or_default();
        assert!(carried.contains("net.ipv4.tcp_notsent_lowat=16384"), "{carried}");
        let hosts = record["host"].as_array().expect("facts");
        let of_host = |id: &str| hosts.iter().find(|fact| fact["id"] == id).expect("a fact")["value"].clone();
        assert_eq!(of_host("tcp_sack"), case["tcp_sack"], "the record does not contradict itself");
    }
    // Where /proc/sys cannot be written, as in a container, it is said once, and by doctor too.
    let keep = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys";
    let text = said(&apart(
        folder.path(),
        &format!(
            "rm -rf root nobody && sysctl -qw net.ipv4.tcp_sack=0 && unshare --mount sh -c '{keep} && \
             {program} doctor && {}'",
            runs(&program, "veth"),
            program = program.display()
        ),
    ));
    let told = "net.ipv4.tcp_sack is 1 there and 0 here (Read-only file system)";
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(told) && flat.contains("mount /proc/sys writable"), "{text}");
    let warnings = record(&folder.path().join("root"))["warnings"].to_string();
    assert!(warnings.contains(told), "{warnings}");
}

#[test]
fn what_the_kernel_caps_is_skipped_with_the_setting_that_would_allow_it() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let most: u64 = fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap().trim().parse().unwrap();
    let asked = |arguments: &[&str], name: &str| {
        let out = folder.path().join(name);
        let usual = ["run", "transfer", "--path", "loopback", "--size", "64K", "--threads", "1", "--quiet"];
        let output = Command::new(SYSCOST)
            .args(usual)
            .args(["--time-limit", "2s", "--out"])
            .arg(&out)
            .args(arguments)
            .output()
            .expect("the binary starts");
        (said(&output), out)
    };
    let (larger, fits) = ((2 * most).to_string(), most.min(1 << 17).to_string());
    let both = format!("{fits},{larger}");
    let (text, run) = asked(&["--mechanism", "send", "--socket-buffer", &both], "some");
    let record = record(&run);
    let skips = record["plan"]["skips"].to_string();
    assert!(skips.contains(&format!("net.core.wmem_max={larger}")), "{text}\n{skips}");
    let measured = record["settings"].as_object().expect("settings by case");
    for case in measured.keys() {
        let point = &record["plan"]["cases"][case.parse::<usize>().unwrap()]["point"];
        assert_eq!(point["socket_buffer_bytes"].to_string(), fits, "{point}");
    }
    let granted = record["settings"]["0"]["sender.send_buffer_bytes"].as_str().expect("read back");
    assert_eq!(granted.parse::<u64>().unwrap(), 2 * fits.parse::<u64>().unwrap(), "the kernel doubles it");
    for (arguments, remedy) in [
        (&["--mechanism", "send", "--socket-buffer", "100"][..], "--socket-buffer"),
        (&["--receiver", "recv", "--low-water", "64M", "--socket-buffer", "64K"], "--low-water"),
        (&["--mechanism", "splice", "--pipe-size", "5000"], "--pipe-size 8192"),
    ] {
        let (text, run) = asked(arguments, "none");
        assert!(text.contains(remedy) && !run.join("results.csv").exists(), "{arguments:?}: {text}");
    }
}

#[test]
fn a_packet_socket_is_named_where_zero_copy_pays_for_it() {
    let test = "a_packet_socket";
    if !is_root(test) {
        return;
    }
    // SAFETY: no memory is involved.
    let number =
        unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from((libc::ETH_P_ALL as u16).to_be())) };
    if number < 0 {
        return skipped(test, &format!("no packet socket: {}", std::io::Error::last_os_error()));
    }
    // SAFETY: a descriptor that is nobody else's.
    let held = unsafe { OwnedFd::from_raw_fd(number) };
    let me = format!("({})", std::process::id());
    let folder = tempfile::tempdir().expect("a scratch directory");
    let out = folder.path().join("run");
    let text = said(&common::syscost(&["doctor"]));
    assert!(text.contains("packet sockets") && text.contains(&me), "{text}");
    let case = ["--path", "loopback", "--mechanism", "send,msg_zerocopy", "--size", "64K", "--threads", "1"];
    let arguments =
        [&["run", "transfer", "--quiet", "--time-limit", "2s", "--out", out.to_str().unwrap()], &case[..]];
    let text = said(&common::syscost(&arguments.concat()));
    let record = record(&out);
    let warnings = record["warnings"].as_array().expect("warnings");
    let warning = warnings.iter().find(|warning| warning["id"] == "packet_sockets");
    let warning = warning.unwrap_or_else(|| panic!("{text}"));
    assert!(warning["observed"].as_str().unwrap().contains(&me), "{warning}");
    for case in warning["cases"].as_array().expect("its cases") {
        let mechanism = &record["plan"]["cases"][case.as_u64().unwrap() as usize]["point"]["mechanism"];
        assert_eq!(mechanism, "msg_zerocopy", "only a lent page is copied for it");
    }
    assert!(record["settings"]["0"]["sender_packet_sockets"].as_str().is_some_and(|held| held.contains(&me)));
    let text = said(&common::syscost(&[&["audit", "--json"], &case[..]].concat()));
    assert!(text.contains(&me), "{text}");
    drop(held);
    let text = said(&common::syscost(&["doctor"]));
    assert!(!text.contains(&me), "{text}");
}
