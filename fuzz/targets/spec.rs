//! An experiment's file: an experiment that reads back the same, or an error that names the place.

use super::Seen;
use std::path::Path;
use syscost_experiment::spec::Spec;

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let Ok(text) = std::str::from_utf8(bytes) else { return Seen::Refused };
    match Spec::from_toml(text, "mine.toml") {
        Ok(spec) => {
            let again = Spec::from_toml(&spec.to_toml(), "again.toml");
            assert_eq!(again.as_ref().ok(), Some(&spec), "{again:?}");
            Seen::Understood
        }
        Err(error) => {
            assert!(error.to_string().contains("mine.toml"), "{error}");
            Seen::Refused
        }
    }
}
