//! `--path ssh://...` and `netns:...`: what is accepted can be no option of ssh, no command and no file elsewhere.

use super::Seen;
use std::path::{Component, Path};
use syscost_host::namespaces::named;
use syscost_host::remote::target::{self, Target};
use syscost_measure::probe::transfer::axes;

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let Ok(text) = std::str::from_utf8(bytes) else { return Seen::Refused };
    let host = Target::parse(text);
    if let Ok(host) = &host {
        assert!(target::is_meant(text) && target::check(text).is_ok());
        harmless(host);
    }
    let namespaces = named::check(text);
    if namespaces.is_ok() {
        assert!(named::is_meant(text));
        let names = text.split_once(':').expect("a prefix").1.split(',');
        names.for_each(|name| assert!(is_file_name(name), "{name:?} leads elsewhere"));
    }
    let axis = axes::COMMON.iter().find(|axis| axis.id == "path").expect("transfers have a path");
    match axis.parse(text) {
        Ok(value) => {
            let again = axis.parse(&value.to_string());
            assert_eq!(again.as_ref(), Ok(&value), "it reads back");
        }
        // A list of paths is split at commas: a name that is a path by itself is taken for the next one.
        Err(error) => assert!(
            host.is_err() && namespaces.is_err() || error.reason.contains("a value of its own"),
            "{error}"
        ),
    }
    Seen::of(host.is_ok() || namespaces.is_ok())
}

/// ssh sees one place behind the end of its options; who types the remedy into a shell types no other command.
fn harmless(host: &Target) {
    let arguments = host.arguments();
    let options = arguments.iter().position(|argument| argument == "--").expect("an end of options");
    let [place] = &arguments[options + 1..] else { panic!("one place: {arguments:?}") };
    assert!(!place.is_empty() && !place.starts_with('-'), "{arguments:?}");
    for value in arguments[..options].chunks(2) {
        assert!(matches!(value[0].as_str(), "-p" | "-l") && !value[1].starts_with('-'), "{arguments:?}");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-+@:%".contains(c);
    assert!(host.ssh_command().chars().all(plain), "{}", host.ssh_command());
    assert!(host.ports.is_none_or(|(from, to)| 0 < from && from <= to));
}

fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
}
