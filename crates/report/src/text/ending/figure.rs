//! Figures in one notation, with as many digits as their interval supports: `10.1 us ±4 %`.

use syscost_analyze::compare::study::Study;
use syscost_core::decide::Verdict;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;

/// From this half width on, a third digit says nothing.
const WIDE: f64 = 0.1;
/// In the place of an interval that rounds do not carry.
pub const UNKNOWN: &str = "few rounds";

/// In this unit, which is so many of the estimate's own.
pub fn figure(estimate: &Estimate, (scale, unit): (f64, &str)) -> String {
    let gap = if unit.is_empty() { "" } else { " " };
    format!("{}{gap}{unit} {}", digits(estimate, scale), within(estimate)).trim_end().into()
}

/// In the unit that suits it by itself.
pub fn own_figure(estimate: &Estimate) -> String {
    let (scale, unit) = own_unit(estimate);
    figure(estimate, (scale, &unit))
}

fn own_unit(estimate: &Estimate) -> (f64, String) {
    match estimate.unit {
        Unit::Nanoseconds => {
            let known = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
            let fits = known.into_iter().find(|(scale, _)| estimate.value.abs() >= *scale);
            fits.map_or((1.0, "ns".into()), |(scale, unit)| (scale, unit.into()))
        }
        unit => unit.scale_for(estimate.value),
    }
}

/// The value alone.
pub fn digits(estimate: &Estimate, scale: f64) -> String {
    let value = estimate.value / scale;
    if value == 0.0 {
        return "0".into();
    }
    let wide = estimate.level == 0.0 || estimate.relative_half_width() >= WIDE;
    let wanted = if wide { 2 } else { 3 };
    // Rounded first: 9.996 has one digit before the point less than 10.0.
    let magnitude = |value: f64| value.abs().log10().floor() as i32;
    let step = 10f64.powi(magnitude(value) - wanted + 1);
    let rounded = (value / step).round() * step;
    let decimals = (wanted - 1 - magnitude(rounded)).max(0) as usize;
    format!("{rounded:.decimals$}")
}

/// `±4 %`: both ends of the interval lie inside; of a point nothing, of too few rounds that.
pub fn within(estimate: &Estimate) -> String {
    let per_cent = estimate.relative_half_width() * 100.0;
    match estimate.level {
        0.0 => UNKNOWN.into(),
        _ if per_cent == 0.0 => String::new(),
        _ if per_cent < 0.95 => format!("±{:.1} %", per_cent.max(0.1)),
        _ if per_cent < 99.5 => format!("±{per_cent:.0} %"),
        _ => "±>99 %".into(),
    }
}

/// How a case stands against another one, by a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RivalStanding {
    pub verdict: Verdict,
    /// Is the first the better one, as far as seen?
    pub better: bool,
    /// At least 1.
    pub factor: f64,
}

impl RivalStanding {
    /// `None`: they were not compared.
    pub fn of(study: &Study, case: usize, other: usize) -> Option<RivalStanding> {
        let pair = study.comparisons.between(case, other)?;
        Some(RivalStanding::seen(study, &pair.seen_from(case), pair.decision.verdict))
    }

    /// By the tested ratio, with the first above the line.
    pub fn seen(study: &Study, ratio: &Estimate, verdict: Verdict) -> RivalStanding {
        let better = (ratio.value < 1.0) == (study.comparisons.metric.better == Better::Lower);
        RivalStanding { verdict, better, factor: ratio.value.max(1.0 / ratio.value) }
    }

    /// `faster 1.3x`, `same`, `undecided`
    pub fn words(&self) -> String {
        let side = if self.better { "faster" } else { "slower" };
        match self.verdict {
            Verdict::Same => "same".into(),
            Verdict::Undecided => "undecided".into(),
            Verdict::Less | Verdict::More => format!("{side} {}", factor(self.factor)),
        }
    }

    /// `-1.3x`: costs so much less; `+1.3x`, `=`, `?`
    pub fn mark(&self) -> String {
        match self.verdict {
            Verdict::Same => "=".into(),
            Verdict::Undecided => "?".into(),
            Verdict::Less | Verdict::More => {
                format!("{}{}", if self.better { "-" } else { "+" }, factor(self.factor))
            }
        }
    }
}

fn factor(factor: f64) -> String {
    match factor {
        small if small < 1.095 => format!("{small:.2}x"),
        usual if usual < 9.95 => format!("{usual:.1}x"),
        large => format!("{large:.0}x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, half: f64, level: f64) -> Estimate {
        let (low, high) = (value * (1.0 - half), value * (1.0 + half));
        Estimate { value, low, high, level, n: 8, unit: Unit::Nanoseconds }
    }

    #[test]
    fn digits_are_as_many_as_the_interval_supports() {
        let us = |value: f64, half: f64| figure(&estimate(value, half, 0.95), (1e3, "us"));
        assert_eq!(us(10_123.0, 0.04), "10.1 us ±4 %");
        assert_eq!(us(10_123.0, 0.2), "10 us ±20 %");
        assert_eq!(us(10_000.0, 0.004), "10.0 us ±0.4 %");
        assert_eq!(us(9_996.0, 0.01), "10.0 us ±1 %");
        assert_eq!(us(123_456_000.0, 0.3), "120000 us ±30 %");
        assert_eq!(us(50.0, 0.02), "0.0500 us ±2 %");
        assert_eq!(us(50.0, 2.0), "0.050 us ±>99 %");
        assert_eq!((us(1_240_000.0, 0.01), us(0.0, 0.0)), ("1240 us ±1 %".into(), "0 us".into()));
        assert_eq!(figure(&estimate(10_123.0, 0.0, 0.0), (1e3, "us")), "10 us few rounds");
        assert_eq!(own_figure(&estimate(1_234_567.0, 0.03, 0.95)), "1.23 ms ±3 %");
    }

    #[test]
    fn a_lopsided_interval_is_told_by_its_farther_end_and_one_too_wide_is_not_clipped_to_a_number() {
        let lopsided = |high| Estimate { high, ..estimate(30.0, 0.1, 0.95) };
        assert_eq!([39.0, 59.0, 79.6].map(|high| within(&lopsided(high))), ["±30 %", "±97 %", "±>99 %"]);
    }

    #[test]
    fn a_verdict_has_its_factor_above_one() {
        let against = |verdict, better, factor| RivalStanding { verdict, better, factor };
        assert_eq!(against(Verdict::Less, true, 1.31).words(), "faster 1.3x");
        assert_eq!(against(Verdict::More, false, 12.3).words(), "slower 12x");
        assert_eq!(against(Verdict::Same, true, 1.013).words(), "same");
        assert_eq!(against(Verdict::Undecided, false, 1.2).words(), "undecided");
        assert_eq!(against(Verdict::Less, true, 1.31).mark(), "-1.3x");
    }
}
