//! A command line as words, split as a shell splits them, without a shell.
//!
//! What only a shell can do (variables, pipes, several commands) is refused, so that nothing means here something else
//! than it would there. Source: POSIX.1-2017, XCU 2.2 (quoting).

/// Unquoted, a shell would do something with these.
const FOR_A_SHELL: &str = "|&;<>()$`\n";

/// The words of a command line.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err(format!("a quote ' is not closed: {text}")),
                    }
                }
            }
            '"' => quoted(&mut rest, word.get_or_insert_default()).map_err(|why| format!("{why}: {text}"))?,
            '\\' => {
                let escaped =
                    rest.next().ok_or_else(|| format!("nothing follows the last backslash: {text}"))?;
                word.get_or_insert_default().push(escaped);
            }
            c if FOR_A_SHELL.contains(c) || c == '~' && word.is_none() => {
                return Err(format!(
                    "{c:?} is for a shell, and none runs this: quote it, write the value itself, or put the command into \
                     a script"
                ));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.iter().any(|word| word.contains('\0')) {
        return Err("no word of a command can hold a NUL".into());
    }
    Ok(words)
}

/// To the closing quote: a backslash escapes what means something between such quotes.
fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), &'static str> {
    loop {
        match rest.next() {
            Some('"') => return Ok(()),
            Some('\\') => match rest.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            Some('$' | '`') => return Err("no shell runs this, so write what the variable holds"),
            Some(c) => word.push(c),
            None => break,
        }
    }
    Err("a quote \" is not closed")
}

/// One word that a shell takes as it is.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Words as a person would type them.
pub fn shown(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_by_a_shell() {
        let of = |text: &str| split(text).unwrap();
        assert_eq!(of("  srun -w\t{host}  "), ["srun", "-w", "{host}"]);
        assert_eq!(
            of(r#"a 'b  c' "d \"e\" \x" f\ g h''i ''"#),
            ["a", "b  c", r#"d "e" \x"#, "f g", "hi", ""]
        );
        assert_eq!(of("a~b *.x #c"), ["a~b", "*.x", "#c"]);
        assert!(of("").is_empty());
        for shell in [
            "a | b", "a; b", "a && b", "a > f", "$HOME/x", "`x`", "\"$x\"", "~/bin/x", "(a)", "a\nb", "'a",
            "\"a", "a\\",
        ] {
            assert!(split(shell).is_err(), "{shell}");
        }
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("--size=64,1K"), "--size=64,1K");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's $(rm)"), "'it'\\''s $(rm)'");
        assert_eq!(quote(""), "''");
    }

    proptest! {
        #[test]
        fn what_is_quoted_is_split_back(words in prop::collection::vec("\\PC{0,12}", 0..6)) {
            prop_assert_eq!(split(&shown(&words)).unwrap(), words);
        }

        /// A shell that is there has the same opinion.
        #[test]
        fn a_shell_splits_alike(text in "[a-z'\" \\\\]{0,16}") {
            if let Ok(words) = split(&text) {
                let script = format!("for w in {text}; do printf '%s\\0' \"$w\"; done");
                let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
                let theirs: Vec<String> =
                    String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(String::from).collect();
                prop_assert_eq!(words, theirs);
            }
        }
    }
}
