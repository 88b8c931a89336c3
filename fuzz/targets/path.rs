//! `--path ssh://...`, `srun:...`, `netns:...` and the like: what is accepted can be no option, no command and no file
//! elsewhere. Bytes behind `rsh ` are a command of the user's own: its words are those that a shell would make.

use super::Seen;
use std::path::{Component, Path};
use syscost_host::namespaces::named;
use syscost_host::remote::target::{self, Route, Target};
use syscost_host::remote::transport::{rsh, words};
use syscost_measure::probe::transfer::axes;

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let Ok(text) = std::str::from_utf8(bytes) else { return Seen::Refused };
    if let Some(command) = text.strip_prefix("rsh ") {
        return command_line(command);
    }
    let host = Route::parse(text);
    if let Ok(route) = &host {
        assert!(target::is_meant(text) && target::check(text).is_ok());
        assert!(route.ports.is_none_or(|(from, to)| 0 < from && from <= to));
        assert_eq!(route.near.is_some(), target::are_both_elsewhere(text));
        route.near.iter().chain([&route.far]).for_each(harmless);
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

/// Each place is a word of its own or a part of one, behind the program; who types the remedy into a shell types no
/// other command.
fn harmless(host: &Target) {
    let (words, place) = (host.words(), host.place());
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-+@:%/=[]".contains(c);
    assert!(!place.is_empty() && !place.starts_with('-') && place.chars().all(plain), "{place:?}");
    assert!(
        words.len() > 1 && words.iter().all(|word| word.chars().all(|c| plain(c) || c == ',')),
        "{words:?}"
    );
    let typed = words::split(&host.by_hand()).expect("a command line");
    assert!(typed.len() > 1 && typed[0] == words[0], "{}", host.by_hand());
    if let Some(options) = words.iter().position(|word| word == "--").filter(|_| words[0] == "ssh") {
        let [place] = &words[options + 1..] else { panic!("one place: {words:?}") };
        assert!(!place.is_empty() && !place.starts_with('-'), "{words:?}");
    }
}

fn command_line(command: &str) -> Seen {
    if rsh::check(command).is_err() {
        return Seen::Refused;
    }
    let words = words::split(command).unwrap_or_default();
    assert_eq!(words::split(&words::shown(&words)).as_ref(), Ok(&words), "{command:?}");
    Seen::of(true)
}

fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
}
