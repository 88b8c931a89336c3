//! Whatever puts the program on another host says so, and how to remove it.

use super::hosts::Hosts;
use crate::common;

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_command_that_copies_the_program_says_so() {
    let Some(hosts) = Hosts::new("every_command_that_copies_the_program_says_so") else { return };
    // An address that the far host does not have: nothing comes of the path, but the copy is there.
    let lost = format!("{}?data=203.0.113.9", hosts.path());
    for (command, path) in [("plan", hosts.path()), ("doctor", hosts.path()), ("plan", lost)] {
        let ask = || common::said(&hosts.run(&[command, "--path", &path]));
        let said = ask();
        let copies = hosts.copies();
        assert_eq!(copies.len(), 1, "{said}");
        assert!(
            said.contains("copied syscost to ")
                && said.contains(" rm -r ")
                && said.contains("/.cache/syscost/bin"),
            "{said}"
        );
        let again = ask();
        assert!(!again.contains("copied syscost"), "it was there: {again}");
        std::fs::remove_file(&copies[0]).expect("removed");
    }
}
