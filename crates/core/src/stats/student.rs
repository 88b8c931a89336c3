//! Student's t distribution, with any positive number of degrees of freedom.
//!
//! Source: Press et al., "Numerical recipes", sections 6.1 (gamma) and 6.4 (incomplete beta).

use super::signed_rank::two_sided_normal;

/// P(|T| >= |t|): the two-sided p-value of t.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    if freedom > 1e6 {
        return two_sided_normal(t);
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// P(T >= t).
pub fn upper(t: f64, freedom: f64) -> f64 {
    let half = two_sided(t, freedom) / 2.0;
    if t >= 0.0 { half } else { 1.0 - half }
}

/// The t that |T| exceeds with this probability.
pub fn critical(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > p && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, freedom) > p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The mean and the half width of its interval; `None` below two values.
pub fn mean_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (values.len() > 1).then(|| (mean, critical(1.0 - level, n - 1.0) * (variance / n).sqrt()))
}

/// I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(1.0 - x, b, a) / b
    }
}

/// Lentz's method.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let bounded = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / bounded(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / bounded(1.0 + term * d);
            c = bounded(1.0 + term / c);
            factor = c * d;
            fraction *= factor;
        }
        if (factor - 1.0f64).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// Lanczos' approximation.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.18009172947146,
        -86.50532032941677,
        24.01409824083091,
        -1.231739572450155,
        0.1208650973866179e-2,
        -0.5395239384953e-5,
    ];
    let lead = x + 5.5;
    let lead = lead - (x + 0.5) * lead.ln();
    let series = TERMS.iter().enumerate().map(|(i, term)| term / (x + 1.0 + i as f64)).sum::<f64>();
    -lead + (2.5066282746310005 * (1.000000000190015 + series) / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // R: 2 * pt(-t, df).
        for (t, freedom, p) in
            [(2.776445, 4.0, 0.05), (12.7062, 1.0, 0.05), (1.959964, 1e9, 0.05), (11.0, 4.0, 0.000388)]
        {
            assert!(
                (two_sided(t, freedom) / p - 1.0).abs() < 2e-3,
                "{t} {freedom}: {}",
                two_sided(t, freedom)
            );
        }
        assert_eq!(two_sided(0.0, 3.0), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
    }

    #[test]
    fn a_mean_has_the_interval_of_its_rounds() {
        let (mean, half) = mean_interval(&[1.0, 2.0, 3.0, 4.0], 0.95).unwrap();
        assert!((mean - 2.5).abs() < 1e-12 && (half - 2.054260).abs() < 1e-5, "R: t.test(1:4), {half}");
        assert_eq!(mean_interval(&[1.0], 0.95), None);
    }

    #[test]
    fn quantiles_invert_probabilities() {
        assert!((critical(0.05, 9.0) - 2.262157).abs() < 1e-5, "R: qt(.975, 9)");
        for (p, freedom) in [(0.05, 3.5), (1e-6, 7.5), (1e-4, 40.0), (0.5, f64::INFINITY)] {
            assert!((two_sided(critical(p, freedom), freedom) / p - 1.0).abs() < 1e-6, "{p} {freedom}");
        }
        assert!((upper(-1.0, 7.5) + upper(1.0, 7.5) - 1.0).abs() < 1e-12);
    }
}
