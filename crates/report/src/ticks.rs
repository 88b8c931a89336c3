//! Scales of axes: where a value lies along one, and where it has its ticks.

use super::Scale;

/// About five steps of 1, 2, 2.5 or 5 from zero to at least `high`.
pub fn linear_ticks(high: f64) -> Vec<f64> {
    if high <= 0.0 || !high.is_finite() {
        return vec![0.0, 1.0];
    }
    let magnitude = 10f64.powf((high / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * magnitude).into_iter().find(|s| high / s <= 5.0);
    let step = step.unwrap_or(10.0 * magnitude);
    (0..=(high / step).ceil() as usize).map(|i| i as f64 * step).collect()
}

/// Round ratios with 1 among them: even steps where all are close, else about doublings.
pub fn ratio_ticks(low: f64, high: f64) -> Vec<f64> {
    let (low, high) = (low.min(1.0), high.max(1.0));
    let within = |tick: &f64| *tick >= low / 1.001 && *tick <= high * 1.001;
    if high / low < 2.5 {
        let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5];
        let step = steps.into_iter().find(|step| (high - low) / step <= 6.0).unwrap_or(0.5);
        let round = |i: i64| (1.0 + i as f64 * step) * 1e6;
        return (-40..=200).map(|i| round(i).round() / 1e6).filter(within).collect();
    }
    let all = [0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
    let wide = high / low > 30.0;
    all.into_iter().filter(within).filter(|tick| !wide || ![1.5, 3.0].contains(tick)).collect()
}

/// Decades; 1-2-5 within few decades; a finer step within one.
pub fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let steps: &[f64] = if decades > 2.6 {
        &[1.0]
    } else if decades > 0.7 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]
    };
    let mut ticks = Vec::new();
    for exponent in low.log10().floor() as i32..=high.log10().ceil() as i32 {
        for step in steps {
            let tick = step * 10f64.powi(exponent);
            if tick >= low / 1.1 && tick <= high * 1.1 {
                ticks.push(tick);
            }
        }
    }
    ticks
}

/// From values to positions along one side of the frame.
#[derive(Clone, Copy)]
pub struct AxisScale {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
}

impl AxisScale {
    pub fn at(&self, value: f64) -> f64 {
        let place = |v: f64| match self.scale {
            Scale::Linear => v,
            Scale::Log2 | Scale::Log10 | Scale::Quantile => v.max(f64::MIN_POSITIVE).log10(),
        };
        let (low, high) = (place(self.low), place(self.high));
        let share = if high > low { ((place(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
        self.from + share * (self.to - self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_cover_the_values() {
        assert_eq!(linear_ticks(43.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(log_ticks(0.9, 1100.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks(0.1, 9.0), [0.1, 0.2, 0.5, 1.0, 2.0, 5.0]);
        assert!(log_ticks(1.05, 1.4).len() >= 2);
        for high in [1e-9, 0.3, 7.0, 1e12] {
            assert!(*linear_ticks(high).last().unwrap() >= high * 0.999);
        }
    }

    #[test]
    fn ratios_have_round_ticks_and_one_among_them() {
        assert_eq!(ratio_ticks(0.97, 1.18), [1.0, 1.05, 1.1, 1.15]);
        assert_eq!(ratio_ticks(0.9, 8.0), [1.0, 1.5, 2.0, 3.0, 5.0]);
        assert!(ratio_ticks(1.2, 60.0).starts_with(&[1.0, 2.0, 5.0]));
    }
}
