//! The harness's own share of CPU time, in words.

use crate::text::words::{and, percent};
use syscost_analyze::limits::own_cost::OwnShares;

/// `None` where nothing was priced.
pub fn sentence(shares: &OwnShares) -> Option<String> {
    let range = |(low, high): (f64, f64)| match (percent(low), percent(high)) {
        (low, high) if low == high => high,
        (low, high) => format!("{low} to {high}"),
    };
    let parts = [(shares.slices, "slices"), (shares.windows, "windows")];
    let parts: Vec<String> =
        parts.iter().filter_map(|(share, name)| Some(format!("{} in {name}", range((*share)?)))).collect();
    (!parts.is_empty()).then(|| format!("The harness's own share of CPU time: {}.", and(&parts)))
}
