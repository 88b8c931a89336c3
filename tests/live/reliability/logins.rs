//! A login of an ordinary user on a host whose kernel allows it less than the near side has.

use super::hosts::Hosts;
use super::machines::measured;
use crate::common::{self, NOBODY};
use std::path::Path;
use std::process::Command;

const DEFAULT: &str = "cubic";

/// Congestion controls by the kernel's list of this name.
fn names(list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control"));
    text.unwrap_or_default().split_whitespace().map(String::from).collect()
}

/// What root may use and an ordinary user may not; the one that syscost asks for first.
fn refused_to_users() -> Option<String> {
    let allowed = names("allowed");
    let refused: Vec<String> =
        names("available").into_iter().filter(|name| !allowed.contains(name)).collect();
    refused.iter().find(|name| *name == DEFAULT).or(refused.first()).cloned()
}

/// Whoever logs in there has the rights of an ordinary user, and the same syscost; the kernel's default is another.
fn ordinary_login(hosts: &Hosts, program: &Path) {
    let user =
        format!("exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups {} \"$@\"", program.display());
    hosts.far_program("syscost", &user);
    let other = if names("available").iter().any(|name| name == "bbr") { "bbr" } else { "reno" };
    let mut set = Command::new("sh");
    set.args(["-c", &format!("echo {other} > /proc/sys/net/ipv4/tcp_congestion_control")]);
    hosts.pair.receiver.enter_on_exec(&mut set);
    assert!(set.status().expect("a shell").success(), "the far namespace has a default of its own");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn an_ordinary_login_whose_kernel_refuses_the_congestion_control_is_asked_before_the_first_round() {
    let test = "logins::an_ordinary_login";
    let Some(hosts) = Hosts::new(test) else { return };
    let Some(refused) = refused_to_users() else {
        return common::skipped(
            test,
            "this kernel refuses an ordinary user no congestion control that it has",
        );
    };
    if !Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return common::skipped(test, "needs setpriv (apt-get install util-linux)");
    }
    let (_folder, program) = common::open_to_all();
    ordinary_login(&hosts, &program);
    let (path, out) = (hosts.path(), hosts.file("out"));
    if refused != DEFAULT {
        let arguments = Hosts::study(&path, out.to_str().expect("UTF-8"), "64K", "10s");
        let output = hosts.run(&[&arguments[..], &["--congestion", &refused]].concat());
        let said = common::said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        return assert!(said.contains(&refused) && said.contains("tcp_allowed_congestion_control"), "{said}");
    }
    let (status, text, run) = measured(&out, |out, limit| {
        hosts.syscost(&Hosts::study(&path, out.to_str().expect("UTF-8"), "64K", limit))
    });
    common::sound(status, &run, &text);
    for case in &run.record.plan.cases {
        assert_eq!(case.point.text_at("congestion_control"), Some("reno"), "{case:?}");
    }
    let told = &run.record.settings[&0];
    let set = told.iter().filter(|(name, _)| name.ends_with("congestion_control")).collect::<Vec<_>>();
    assert!(set.iter().any(|(_, value)| **value == *"reno"), "the kernel says so too: {set:?}");
    let doctor = common::said(&hosts.run(&["doctor", "--path", &path]));
    assert!(doctor.contains("far side") && doctor.contains(DEFAULT), "{doctor}");
}
