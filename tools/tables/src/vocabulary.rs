//! What words and names in the wild mean. The words are data, in `words.toml`.

use super::TableColumn;
use super::english::english;
use super::memo::Memo;
use super::words::WORDS;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use syscost_measure::mechanism::{self, Class};

/// Each place where a heading could be cut is tried: what is longer than words is not taken apart.
pub const LONGEST_HEADING: usize = 256;

/// The column that each word means; those of several words in any order.
static COLUMNS: LazyLock<BTreeMap<String, TableColumn>> = LazyLock::new(|| {
    let words = |of: fn(&str) -> String| {
        let of = move |column: TableColumn, words: &'static Vec<String>| {
            words.iter().map(move |word| (of(word), column))
        };
        WORDS.columns.iter().flat_map(move |(column, words)| of(*column, words))
    };
    words(in_any_order).chain(words(bare)).collect()
});

/// A role as a name means it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MeantRole {
    class: Class,
    /// By an assignment's word (`A1`, `two-copy`), which stands above the name of a system call beside it.
    assigned: bool,
}

/// The role that each name means: words for roles, and the mechanisms of syscost by their id or title.
static ROLES: LazyLock<BTreeMap<String, MeantRole>> = LazyLock::new(|| {
    let own = mechanism::ALL.iter().map(|m| m.about()).flat_map(|about| {
        let class = Class::of(about.id);
        [about.id, about.title].map(|name| Some((bare(name), MeantRole { class: class?, assigned: false })))
    });
    let words = WORDS.roles.iter().flat_map(|(role, words)| {
        let class = CLASSES.into_iter().find(|class| bare(class.word()) == bare(role));
        words.iter().map(move |word| Some((bare(word), MeantRole { class: class?, assigned: true })))
    });
    own.chain(words).flatten().collect()
});

pub const CLASSES: [Class; 3] = [Class::TwoCopy, Class::OneCopy, Class::ZeroCopy];

/// Letters and digits only, in lower case: `Two-Copy`, `two_copy` and `TwoCopy` are one.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The ways to cut a heading into name and unit, the whole first: `x (u)`, `x [u]`, `x_u`, `x u`, `x/u`, `xU`.
pub fn splits(text: &str) -> Vec<(&str, Option<&str>)> {
    let text = text.trim();
    let mut splits = vec![(text, None)];
    if let Some(at) = text.find(['(', '[']) {
        splits.push((&text[..at], Some(&text[at..])));
    }
    for (at, c) in text.char_indices().rev().filter(|(_, c)| matches!(c, '_' | ' ' | '-' | ',')) {
        splits.push((&text[..at], Some(&text[at + c.len_utf8()..])));
    }
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if before.is_lowercase() && c.is_uppercase() {
            splits.push((&text[..at], Some(&text[at..])));
        }
        before = c;
    }
    splits
}

pub fn column(name: &str) -> Option<TableColumn> {
    let known = |name: &str| COLUMNS.get(&bare(name)).or_else(|| COLUMNS.get(&in_any_order(name))).copied();
    // `Memory access times`, `packet sizes`; the s of `cpu_time_s` is a unit.
    let many = |one: &&str| one.ends_with(char::is_alphabetic) && tokens(one).len() > 1;
    let one = || name.trim_end().strip_suffix('s').filter(many).and_then(known);
    // `rtt_latency`
    let twice = || {
        use TableColumn::{Latency, MessageRate, Throughput};
        let all: Option<BTreeSet<TableColumn>> = tokens(name).iter().map(|word| known(word)).collect();
        let alike = all.filter(|all| all.len() == 1)?.first().copied();
        alike.filter(|column| [Latency, MessageRate, Throughput].contains(column))
    };
    known(name).or_else(one).or_else(twice)
}

/// What stands where threads do and is something else, as a heading calls it: `Number of clients`.
pub fn parallel(heading: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 5] = [
        ("conn", "connection"),
        ("client", "client"),
        ("stream", "stream"),
        ("socket", "socket"),
        ("flow", "flow"),
    ];
    let heading = bare(&english(heading));
    let own = WORDS.into_iter().find(|(word, _)| heading.contains(word));
    own.filter(|_| !heading.contains("thread")).map(|(_, name)| name)
}

/// The one way that all others are compared with has no role of its own.
pub fn is_control(name: &str) -> bool {
    let about = mechanism::control().about();
    [about.id, about.title].iter().any(|known| bare(known) == bare(name))
}

fn in_any_order(name: &str) -> String {
    let mut words = tokens(name);
    words.sort();
    words.concat()
}

/// Ways that messages go, whoever copies them.
const TRANSPORTS: &[&str] =
    &["tcp", "udp", "unix", "uds", "socket", "sockets", "pipe", "pipes", "fifo", "fifos", "loopback", "veth"];

/// Words of a switch.
pub const NOT: [&str; 5] = ["no", "off", "false", "0", "n"];
pub const YES: [&str; 6] = ["yes", "on", "true", "1", "y", "x"];

/// Does a name speak of messages that are sent?
pub fn is_transport(name: &str) -> bool {
    has_word(name, TRANSPORTS)
}

/// The role of a name: of its words, of the name of a mechanism, or of both together: `A1 (2-copy)`. Words that
/// contradict each other are no name.
pub fn role(name: &str) -> Option<Class> {
    let name = english(name);
    let name = name.as_ref();
    if is_denied(name) {
        return None;
    }
    if let Some(meant) = ROLES.get(&bare(name)) {
        return Some(meant.class);
    }
    if name.len() > LONGEST_HEADING {
        return None;
    }
    let tokens = tokens(name);
    let runs =
        (0..tokens.len()).flat_map(|from| (from + 1..=tokens.len().min(from + 4)).map(move |to| (from, to)));
    let found: Vec<MeantRole> =
        runs.filter_map(|(from, to)| ROLES.get(&tokens[from..to].concat()).copied()).collect();
    let assigned = found.iter().any(|meant| meant.assigned);
    let classes: BTreeSet<Class> =
        found.iter().filter(|meant| meant.assigned == assigned).map(|meant| meant.class).collect();
    classes.first().copied().filter(|_| classes.len() == 1)
}

/// `zerocopy=no`
fn is_denied(name: &str) -> bool {
    name.rsplit_once('=').is_some_and(|(_, said)| NOT.contains(&bare(said).as_str()))
}

/// The role of a name that says nothing else: `A1`, `A1 (2-copy)`, `A1_TwoCopy`, `a1_server`.
pub fn exact_role(name: &str) -> Option<Class> {
    thread_local! {
        static KNOWN: Memo<Option<Class>> = Memo::default();
    }
    KNOWN.with(|known| known.of(name, exact_role_of))
}

fn exact_role_of(name: &str) -> Option<Class> {
    let name = english(name);
    let name = name.as_ref();
    if is_denied(name) {
        return None;
    }
    let exact = |text: &str| ROLES.get(&bare(text)).map(|meant| meant.class);
    if let Some(class) = exact(name) {
        return Some(class);
    }
    // `Two-copy (A1) Throughput (Gbps)` says more.
    let closes =
        |inside: &str| inside.trim_end().find([')', ']']).is_some_and(|at| at + 1 == inside.trim_end().len());
    if let Some((outside, inside)) = name.split_once(['(', '[']).filter(|(_, inside)| closes(inside)) {
        return exact(outside).filter(|_| role(name).is_some() && super::unit::parse(inside).is_err());
    }
    let tokens = tokens(name);
    let twice =
        |at: usize| exact(&tokens[..at].concat()).filter(|of| exact(&tokens[at..].concat()) == Some(*of));
    let of_a_program = |word: &&String| column(word) == Some(TableColumn::Mechanism);
    let rest: Vec<&str> = tokens.iter().filter(|word| !of_a_program(word)).map(String::as_str).collect();
    (1..tokens.len()).find_map(twice).or_else(|| exact(&rest.concat()))
}

/// Does the heading speak of a part of a message?
pub fn is_field(text: &str) -> bool {
    tokens(text).iter().any(|word| word == "field" || word == "fieldsize" || word == "iov")
}

/// The lower, the more a size is that of messages: that of a buffer may be a socket's.
pub fn nearness_to_messages(size: &str) -> u8 {
    let buffer = || has_word(size, &["buf", "buffer", "sndbuf", "rcvbuf"]);
    if is_message(size) { 0 } else { 1 + u8::from(buffer()) }
}

/// Does the heading speak of messages, and not of any memory?
pub fn is_message(text: &str) -> bool {
    let bare = bare(&english(text));
    is_field(text) || ["message", "msg", "packet", "payload", "mesg"].iter().any(|word| bare.contains(word))
}

pub fn has_word(text: &str, of: &[&str]) -> bool {
    tokens(text).iter().any(|word| of.contains(&word.as_str()))
}

/// Words in lower case: `CPUCycles_L1-misses` is cpu, cycles, l1, misses.
pub fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut tokens = vec![String::new()];
    for (i, c) in letters.iter().enumerate() {
        if !c.is_alphanumeric() && *c != '%' && *c != 'µ' {
            tokens.push(String::new());
            continue;
        }
        let before = i.checked_sub(1).map(|i| letters[i]);
        let after = letters.get(i + 1).copied();
        let hump = c.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || before.is_some_and(|b| b.is_uppercase() || b.is_ascii_digit())
                    && after.is_some_and(char::is_lowercase));
        if hump {
            tokens.push(String::new());
        }
        tokens.last_mut().expect("never empty").extend(c.to_lowercase());
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ways_to_send() {
        for name in [
            "A1",
            "TwoCopy",
            "two_copy",
            "Two Copy",
            "2-copy",
            "pack_send",
            "A1 (2-copy)",
            "two-copy (send)",
            "A1_TwoCopy",
            "server_two_copy",
        ] {
            assert_eq!(role(name), Some(Class::TwoCopy), "{name}");
        }
        for name in ["A3", "Zero-Copy", "sendmsg + MSG_ZEROCOPY", "zerocopy_server"] {
            assert_eq!(role(name), Some(Class::ZeroCopy), "{name}");
        }
        for name in ["A2", "one copy (sendmsg)", "PartA2"] {
            assert_eq!(role(name), Some(Class::OneCopy), "{name}");
        }
        for name in ["carrier pigeon", "A1 (zero-copy)", "memcpy", "T1"] {
            assert_eq!(role(name), None, "{name}");
        }
    }

    #[test]
    fn headings_of_other_languages_are_put_into_english() {
        for (text, column) in [
            ("Nachrichtengröße [B]", TableColumn::MessageBytes),
            ("taille du message (octets)", TableColumn::MessageBytes),
            ("消息大小(字节)", TableColumn::MessageBytes),
            ("平均延迟(微秒)", TableColumn::Latency),
            ("débit_gbps", TableColumn::Throughput),
            ("Cambios de contexto", TableColumn::ContextSwitches),
            ("CPU周期数", TableColumn::Cycles),
            ("xiancheng", TableColumn::Threads),
        ] {
            let named = crate::naming::column_of(text).map(|named| named.column);
            assert_eq!(named, Some(column), "{text}: {}", english(text));
        }
        for (name, class) in
            [("zéro copie", Class::ZeroCopy), ("Zwei Kopien", Class::TwoCopy), ("一次拷贝", Class::OneCopy)]
        {
            assert_eq!(role(name), Some(class), "{name}");
        }
        assert_eq!(english("favourite colour"), "favourite colour");
    }

    #[test]
    fn words_are_cut_where_people_cut_them() {
        assert_eq!(tokens("CPUCycles_L1-misses (avg)"), ["cpu", "cycles", "l1", "misses", "avg"]);
        assert_eq!(tokens("L1Misses"), ["l1", "misses"]);
    }

    #[test]
    fn every_word_means_one_thing() {
        let mut seen = BTreeMap::new();
        let of = |of: &'static str| move |word: &'static String| (of, word);
        let all = WORDS.columns.values().flatten().map(of("column"));
        let all = all.chain(WORDS.roles.values().flatten().map(of("role")));
        for (of, word) in all {
            assert_eq!(seen.insert((of, bare(word)), ()), None, "{word} twice");
        }
        let known: Vec<String> = CLASSES.iter().map(|class| bare(class.word())).collect();
        assert!(WORDS.roles.keys().all(|role| known.contains(&bare(role))));
    }
}
