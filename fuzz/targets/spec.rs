//! An experiment's file: an experiment that reads back the same, or an error that names the place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use syscost::spec::Spec;

fuzz_target!(|text: &str| {
    match Spec::from_toml(text, "fuzzed.toml") {
        Ok(spec) => {
            let again = Spec::from_toml(&spec.to_toml(), "again.toml");
            assert_eq!(again.as_ref().ok(), Some(&spec), "{again:?}");
        }
        Err(error) => assert!(error.to_string().contains("fuzzed.toml"), "{error}"),
    }
});
