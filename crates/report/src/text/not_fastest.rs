//! Why is zero-copy not always fastest?

use super::figures::{at_places, extremes, low_to_high};
use syscost_analyze::finding::not_fastest::{PriceTrend, ZeroCopyPrice, ZeroCopyPrices};
use syscost_core::units::Unit;

/// `At 64 B, requesting zero-copy costs 4.9 to 8.1 us more CPU a message than sendmsg.`
pub fn headline(all: &ZeroCopyPrices) -> String {
    let fixed: Vec<f64> = all.prices.iter().filter_map(|p| p.fixed).map(|e| e.value).collect();
    let (control, size) = (&all.control, Unit::Bytes.format(all.smallest as f64));
    match extremes(&fixed) {
        None => format!("No fixed cost of zero-copy is significant against {control} at {size}."),
        Some(range) => format!(
            "At {size}, requesting zero-copy costs {} more CPU a message than {control}{}.",
            low_to_high(range, Unit::Nanoseconds),
            at_places(fixed.len(), all.prices.len())
        ),
    }
}

/// `From 64 B to 1 MiB, a further byte costs 0.02 ns/B more on average. The kernel copied the payload all the same.`: a
/// count, and no cause, because it copies the control's bytes as well.
pub fn sentence(all: &ZeroCopyPrices) -> String {
    let of = |trend: PriceTrend| all.prices.iter().filter(|p| p.trend == trend).collect::<Vec<_>>();
    let (worse, better) = (of(PriceTrend::Worse), of(PriceTrend::Better));
    let [smallest, largest] = [all.smallest, all.largest].map(|size| Unit::Bytes.format(size as f64));
    let per_byte = |prices: &[&ZeroCopyPrice], sign: f64| {
        let values: Vec<f64> = prices.iter().map(|p| sign * p.per_byte.value).collect();
        extremes(&values).map_or(String::new(), |range| low_to_high(range, Unit::NanosecondsPerByte))
    };
    let further = format!("From {smallest} to {largest}, a further byte");
    match (worse.is_empty(), better.is_empty()) {
        (true, true) => format!("{further} costs neither significantly more nor less on average."),
        (false, true) => {
            let copied = worse.iter().all(|p| p.copied == Some(true));
            let fact = if copied { " The kernel copied the payload all the same." } else { "" };
            let at = at_places(worse.len(), all.prices.len());
            format!("{further} costs {} more on average{at}.{fact}", per_byte(&worse, 1.0))
        }
        (true, false) => {
            let from: Vec<f64> =
                better.iter().filter_map(|p| p.covered_from).map(|bytes| bytes as f64).collect();
            let covers = extremes(&from).map_or(String::new(), |range| {
                format!(", which covers the fixed cost from about {}", low_to_high(range, Unit::Bytes))
            });
            let at = at_places(better.len(), all.prices.len());
            format!("{further} saves {} on average{at}{covers}.", per_byte(&better, -1.0))
        }
        (false, false) => format!(
            "{further} costs on average more at {} and less at {} of {} places.",
            worse.len(),
            better.len(),
            all.prices.len()
        ),
    }
}
