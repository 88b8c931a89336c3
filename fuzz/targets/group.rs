//! `group.json` of a stranger, or a file of variants: sides whose labels are directories of the group and nowhere else.

use super::Seen;
use std::collections::BTreeSet;
use std::path::{Component, Path};
use syscost_experiment::run::group::GroupSides;
use syscost_experiment::variants;

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let labels: Vec<String> = if bytes.starts_with(b"{") {
        let Ok(sides) = GroupSides::read(bytes) else { return Seen::Refused };
        sides.variants.into_iter().map(|side| side.label).collect()
    } else {
        let Ok(text) = std::str::from_utf8(bytes) else { return Seen::Refused };
        let Ok(variants) = variants::read(text, Path::new("beside")) else { return Seen::Refused };
        variants.into_iter().map(|variant| variant.label).collect()
    };
    for label in &labels {
        let parts: Vec<Component> = Path::new(label).components().collect();
        assert!(matches!(parts[..], [Component::Normal(_)]) && !label.contains('\0'), "{label:?}");
    }
    assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len(), "each side once");
    assert_ne!(labels.len(), 1, "one side is none");
    Seen::Understood
}
