//! Ways to start a process somewhere else, with its standard input and output: one file each, one visible list.
//!
//! A transport says which words start a process at a place, and what to do where they fail. The place reaches no shell
//! here, holds plain characters only, and never begins like an option. Nothing else of syscost knows ssh from srun.

use std::fmt;

pub mod words;

/// A program that starts processes elsewhere.
pub trait Transport: Sync {
    /// What stands before the place in a path, and in `--rsh`.
    fn name(&self) -> &'static str;

    /// How a user writes a path by it.
    fn form(&self) -> &'static str;

    /// The place as it is kept, or how one is written.
    fn place(&self, text: &str) -> Result<String, String>;

    /// The words before those of the process: the program, its options, the place.
    fn words(&self, place: &str) -> Vec<String>;

    /// The same as a person types it, to see what is wrong.
    fn by_hand(&self, place: &str) -> String {
        words::shown(&self.words(place))
    }

    /// The place as messages have it.
    fn shown(&self, place: &str) -> String {
        format!("{}:{place}", self.name())
    }

    /// What to do where its program is not there.
    fn install(&self) -> &'static str;

    /// What it says in lower case, and what helps then; `{place}` and `{command}` stand for themselves.
    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)];

    /// Variables of the environment that would make its program do something else.
    fn forgets(&self) -> &'static [&'static str] {
        &[]
    }

    /// Does the process see this very file system? Then nothing has to be found or copied there.
    fn sees_our_files(&self) -> bool {
        false
    }

    /// Do its hosts often share a file system, so that our own file may be there at the same path?
    fn may_share_files(&self) -> bool {
        false
    }

    /// Does the far side know by which address it was reached (`SSH_CONNECTION`)?
    fn tells_address(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Transport {
    fn eq(&self, other: &dyn Transport) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Transport {}

syscost_core::registry! {
    /// Every transport, in the order of help. The first is what `rsh:` means where no command is named.
    pub static ALL: dyn Transport = [
        pub ssh::Ssh,
        srun::Srun,
        kubectl::Kubectl,
        docker::Docker,
        podman::Podman,
        nsenter::Nsenter,
        pub rsh::Rsh,
    ];
}

/// The transport of this name.
pub fn find(name: &str) -> Option<&'static dyn Transport> {
    ALL.iter().copied().find(|transport| transport.name() == name)
}

/// A name of plain characters that is no option.
fn plain_name(what: &str, text: &str, others: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if text.is_empty() || text.len() > 255 || text.starts_with('-') || !text.chars().all(plain) {
        return Err(format!(
            "{text:?} is no {what} name: letters, digits and {others}, not beginning with -"
        ));
    }
    Ok(text.to_string())
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_is_an_option_and_every_place_is_a_word_of_its_own_or_a_part_of_one() {
        for transport in ALL {
            for hostile in
                ["", "-x", "--privileged", "a b", "a;b", "$(x)", "a\nb", "a\u{1b}[2J", "`x`", "a|b"]
            {
                assert!(transport.place(hostile).is_err(), "{transport:?} takes {hostile:?}");
            }
            let place = transport.place("77").unwrap();
            let words = transport.words(&place);
            // Its command is named at run time.
            let program = usize::from(transport.name() != "rsh");
            assert!(words.len() > program && words.iter().any(|word| word.contains("77")), "{words:?}");
            assert!(transport.form().starts_with(transport.name()), "{transport:?}");
            assert!(!transport.install().is_empty() && !transport.by_hand(&place).is_empty());
        }
    }

    #[test]
    fn words_are_as_each_program_takes_them() {
        let of = |name: &str, place: &str| {
            let transport = find(name).unwrap();
            transport.words(&transport.place(place).unwrap()).join(" ")
        };
        assert!(of("ssh", "me@lab:2222").ends_with("-p 2222 -l me -- lab"), "{}", of("ssh", "me@lab:2222"));
        assert!(of("srun", "n1").contains("--nodelist=n1"));
        assert_eq!(of("kubectl", "web"), "kubectl exec -i web --");
        assert_eq!(
            of("kubectl", "prod/web-0:app"),
            "kubectl exec -i --namespace=prod --container=app web-0 --"
        );
        assert_eq!(of("docker", "web_1"), "docker exec -i web_1");
        assert_eq!(of("podman", "web"), "podman exec -i web");
        assert!(of("nsenter", "4711").starts_with("nsenter --target=4711 --net"));
        for (name, wrong) in [
            ("nsenter", "web"),
            ("nsenter", "0"),
            ("kubectl", "a/b/c"),
            ("kubectl", "a:b:c"),
            ("srun", "n[1-3]"),
        ] {
            assert!(find(name).unwrap().place(wrong).is_err(), "{name}:{wrong}");
        }
    }
}
