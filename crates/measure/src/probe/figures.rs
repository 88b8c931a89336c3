//! What a probe records, and what is computed from it.

use syscost_core::sample::{Metric, Quantity};

/// Quantities as a table: `"id", unit, "help";`.
macro_rules! quantities {
    ($($id:expr, $unit:ident, $help:expr;)+) => {
        &[$(syscost_core::sample::Quantity {
            id: $id,
            unit: syscost_core::units::Unit::$unit,
            help: $help,
        }),+]
    };
}

/// Metrics as a table: `"id", unit, which direction is good, "title", "help", the function of a sample;`. Without
/// a function: the quantity of this name, or of this name in nanoseconds. `, true` behind the function: counting rounds give it.
macro_rules! metrics {
    (@of $id:literal) => {
        |s, _| s.get($id).or_else(|| s.get(concat!($id, "_ns")))
    };
    (@of $id:literal, $of:expr) => {
        $of
    };
    ($($id:literal, $unit:ident, $better:ident, $title:expr, $help:expr $(, $of:expr $(, $counted:literal)?)?;)+) => {
        &[$(syscost_core::sample::Metric {
            id: $id,
            title: $title,
            unit: syscost_core::units::Unit::$unit,
            better: syscost_core::sample::Better::$better,
            help: $help,
            of: $crate::probe::metrics!(@of $id $(, $of)?),
            counted: false $($(|| $counted)?)?,
            of_times: None,
        }),+]
    };
}
pub(crate) use {metrics, quantities};

/// What a probe records, and what is computed from it.
pub struct Figures {
    pub quantities: Vec<Quantity>,
    pub metrics: Vec<Metric>,
    /// The metrics whose intervals decide whether a case has been measured often enough; the first
    /// is the headline: what a row shows and a prediction predicts.
    pub decisive: &'static [&'static str],
}

impl Figures {
    pub fn of(quantities: &[Quantity], metrics: &[Metric], decisive: &'static [&'static str]) -> Figures {
        Figures { quantities: quantities.to_vec(), metrics: metrics.to_vec(), decisive }
    }

    /// These, and others beside them.
    pub fn with(mut self, quantities: &[Quantity], metrics: &[Metric]) -> Figures {
        self.quantities.extend_from_slice(quantities);
        self.metrics.extend_from_slice(metrics);
        self
    }
}
