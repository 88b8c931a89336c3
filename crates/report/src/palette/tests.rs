//! Colours of mechanisms: one each, none twice in a chart, readable on both papers.

use super::*;
use std::collections::BTreeSet;

fn ids() -> Vec<&'static str> {
    mechanism::ALL.iter().map(|mechanism| mechanism.about().id).collect()
}

fn channels(colour: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()))
}

/// Web Content Accessibility Guidelines 2.2.
fn contrast(one: &str, other: &str) -> f64 {
    let light = |colour: &str| {
        let linear = channels(colour)
            .map(|v| v / 255.0)
            .map(|v| if v <= 0.039_28 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05
    };
    let (a, b) = (light(one), light(other));
    a.max(b) / a.min(b)
}

fn is_unlike(colours: &[String]) -> bool {
    colours.iter().collect::<BTreeSet<_>>().len() == colours.len()
}

#[test]
fn every_colour_is_read_on_both_papers_and_no_two_are_the_same() {
    let mut all: [Vec<String>; 2] = Default::default();
    for (place, id) in ids().into_iter().enumerate() {
        for variant in 0..SHADES {
            let of = colours(place, variant);
            for (theme, paper) in ["#ffffff", "#171b1f"].into_iter().enumerate() {
                let seen = contrast(&of[theme], paper);
                assert!(seen >= 4.5, "{id} {variant} on {paper}: {} {seen:.2}", of[theme]);
                all[theme].push(of[theme].clone());
            }
        }
    }
    assert!(all.iter().all(|theme| is_unlike(theme)));
}

#[test]
fn no_legend_of_any_size_repeats_a_colour_and_a_mechanism_keeps_its_own() {
    let ids = ids();
    for size in 1..=ids.len() {
        // Every run of so many neighbours, and each with a variant of it.
        for some in ids.windows(size) {
            for variants in [1, 2, SHADES] {
                let lines = || (0..variants).flat_map(|v| some.iter().map(move |id| (Some(*id), v == 0)));
                let styles = styles(lines());
                assert_eq!(styles.len(), lines().count());
                assert_eq!(
                    styles.iter().collect::<BTreeSet<_>>().len(),
                    styles.len(),
                    "{some:?} x {variants}"
                );
                for ((id, plain), own) in lines().zip(&styles) {
                    assert!(!plain || Some(*own) == style(id.unwrap(), 0), "{id:?}");
                    assert_eq!(parts(*own).map(|(place, _)| ids[place]), id);
                }
            }
        }
    }
}

#[test]
fn what_is_no_mechanism_has_the_colours_of_the_page_and_a_sheet_has_the_rules_of_what_it_draws() {
    assert_eq!(
        styles([(None, true), (None, true), (Some("send"), true)].into_iter()),
        [0, 1, style("send", 0).unwrap()]
    );
    assert_eq!(style("no such thing", 0), None);
    let class = crate::canvas::style_class(style("sendmsg", 2).unwrap());
    let own = class.split(' ').next().unwrap().to_string();
    let rules = rules(&format!("<g class=\"{class}\">"));
    assert_eq!(rules.matches(&format!(".{own}{{")).count(), 2, "{rules}");
    assert_eq!(rules.matches('{').count(), 3, "{rules}");
    assert_eq!(super::rules("<g class=\"s1\">"), "");
}
