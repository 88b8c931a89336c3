//! One colour for a mechanism wherever it is drawn: its hue by the family of what it does with bytes, its shade by the
//! variant (batch, receiver, reap batch). Colours of a family lie side by side, so that kin look like kin.
//!
//! A colour is computed in OKLCH (Ottosson, "A perceptual color space for image processing", 2020), whose lightness is even
//! over hues: every shade keeps its contrast on light and on dark paper.

use std::fmt::Write;
use syscost_measure::mechanism::{self, Handover, Packing, Reuse, Sending};

/// Colours that are no mechanism's; a style beyond them has the same colours with other dashes.
pub const COLOURS: usize = 8;
pub const DASHES: usize = 4;

/// The styles from here on are those of mechanisms.
pub const FIRST_MECHANISM: usize = COLOURS * DASHES;

/// Variants of one mechanism that a chart can tell apart: as many as a chart has lines.
pub const SHADES: usize = 8;

/// Hues and strengths that a family's members are spread over.
struct HueFamily {
    hues: (f64, f64),
    chroma: (f64, f64),
}

fn family(facts: Sending) -> HueFamily {
    let (hues, chroma) = match (facts.packing, facts.handover, facts.reuse) {
        (_, Handover::Encrypted, _) => ((195.0, 215.0), (0.08, 0.09)),
        (.., Reuse::File) => ((70.0, 100.0), (0.11, 0.11)),
        (_, Handover::Referenced | Handover::BySize, _) => ((345.0, 280.0), (0.15, 0.15)),
        (Packing::Packed, ..) => ((45.0, 45.0), (0.14, 0.14)),
        (Packing::PerField, ..) => ((245.0, 245.0), (0.13, 0.13)),
        (Packing::ByKernel, ..) => ((165.0, 125.0), (0.11, 0.12)),
        (Packing::Beforehand, ..) => ((255.0, 265.0), (0.02, 0.07)),
        // Of objects that users bring, which stand in no list: they have the colours of the page.
        (Packing::Unseen, ..) => ((20.0, 20.0), (0.12, 0.12)),
    };
    HueFamily { hues, chroma }
}

/// The style of a mechanism's variant; `None` where there is no such mechanism.
pub fn style(mechanism: &str, variant: usize) -> Option<usize> {
    let place = mechanism::ALL.iter().position(|known| known.about().id == mechanism)?;
    Some(FIRST_MECHANISM + place * SHADES + variant % SHADES)
}

/// A style for each line of a chart, given its mechanism and whether it is the mechanism's plain form: each style once, the
/// plain form always in the mechanism's own colour. What is no mechanism has the colours of the page in their order.
pub fn styles<'m>(lines: impl Iterator<Item = (Option<&'m str>, bool)>) -> Vec<usize> {
    let lines: Vec<_> = lines.collect();
    let mut styles: Vec<Option<usize>> =
        lines.iter().map(|(id, plain)| style((*id)?, 0).filter(|_| *plain)).collect();
    for i in 0..lines.len() {
        let shades = (1..SHADES).chain([0]).filter_map(|variant| style(lines[i].0?, variant));
        let free = shades.chain(0..).find(|style| !styles.contains(&Some(*style)));
        styles[i] = styles[i].filter(|own| !styles[..i].contains(&Some(*own))).or(free);
    }
    styles.into_iter().flatten().collect()
}

/// The place of a mechanism in the palette and its variant.
pub fn parts(style: usize) -> Option<(usize, usize)> {
    let style = style.checked_sub(FIRST_MECHANISM)?;
    Some((style / SHADES, style % SHADES))
}

/// The rules of the colours that a drawing or a page uses.
pub fn rules(drawn: &str) -> String {
    let mut themes = [String::new(), String::new()];
    for (place, variant) in (0..mechanism::ALL.len() * SHADES).map(|at| (at / SHADES, at % SHADES)) {
        let class = format!("hue{place}-{variant}");
        if drawn.contains(&class) {
            for (rules, colour) in themes.iter_mut().zip(colours(place, variant)) {
                // Writing into a string cannot fail.
                let _ = write!(rules, ".{class}{{color:{colour}}}");
            }
        }
    }
    let [light, dark] = themes;
    if light.is_empty() { light } else { format!("{light}@media (prefers-color-scheme:dark){{{dark}}}\n") }
}

/// On light paper and on dark, as the style sheet has them.
fn colours(place: usize, variant: usize) -> [String; 2] {
    let facts = mechanism::ALL[place].about().facts;
    let HueFamily { hues, chroma } = family(facts);
    let kin = |at: &usize| family(mechanism::ALL[*at].about().facts).hues == hues;
    let (before, all) = ((0..place).filter(kin).count(), (0..mechanism::ALL.len()).filter(kin).count());
    let share = before as f64 / (all - 1).max(1) as f64;
    let between = |(from, to): (f64, f64)| from + (to - from) * share;
    // Neighbours of a family differ in lightness too.
    let step = variant as f64 + 3.5 * (before % 2) as f64;
    let greyer = 1.0 - 0.05 * variant as f64;
    let at = |lightness: f64| hex(lightness, between(chroma) * greyer, between(hues).to_radians());
    let grey = f64::from(u8::from(chroma.0 < 0.05));
    [at(0.5 - 0.15 * grey - 0.025 * step), at(0.74 + 0.1 * grey + 0.014 * step)]
}

fn hex(lightness: f64, chroma: f64, hue: f64) -> String {
    let (a, b) = (chroma * hue.cos(), chroma * hue.sin());
    let cone = |of_a: f64, of_b: f64| (lightness + of_a * a + of_b * b).powi(3);
    let cones = [
        cone(0.396_337_777_4, 0.215_803_757_3),
        cone(-0.105_561_345_8, -0.063_854_172_8),
        cone(-0.089_484_177_5, -1.291_485_548),
    ];
    let channel = |weights: [f64; 3]| {
        let linear: f64 = weights.iter().zip(cones).map(|(weight, cone)| weight * cone).sum();
        let curved =
            if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
        (curved.clamp(0.0, 1.0) * 255.0).round() as u8
    };
    let red = channel([4.076_741_662_1, -3.307_711_591_3, 0.230_969_929_2]);
    let green = channel([-1.268_438_004_6, 2.609_757_401_1, -0.341_319_396_5]);
    let blue = channel([-0.004_196_086_3, -0.703_418_614_7, 1.707_614_701]);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests;
