//! How much of the allowed error a look at the data may spend.
//!
//! Looking often and ending when it pleases makes false answers likely. Each look has a share of its own, and the shares of
//! all looks that can ever be taken add up to the whole: by the union bound the chance of a false answer at any of them is
//! held, however looks depend on each other, and none has to be replayed. Source: Lan and DeMets, Biometrika 70, 1983.

/// Of the whole error, for looks while a run goes on.
const INTERIM: f64 = 0.2;
/// Of what is left, for the end of a session. A resumed run ends once more.
const END: f64 = 0.75;

/// One look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// The chance of a false answer at any look: 1 - confidence.
    pub whole: f64,
    /// What this look may spend.
    pub now: f64,
}

impl Looks {
    /// The end of a run that was measured in this many sessions.
    pub fn end(confidence: f64, sessions: u32) -> Looks {
        let whole = 1.0 - confidence;
        let before = i32::try_from(sessions.max(1) - 1).unwrap_or(i32::MAX);
        Looks { whole, now: whole * (1.0 - INTERIM) * END * (1.0 - END).powi(before) }
    }

    /// The look with this number, counted from 1, while a run goes on: half of what is left for such looks.
    pub fn interim(confidence: f64, look: u32) -> Looks {
        let whole = 1.0 - confidence;
        Looks { whole, now: whole * INTERIM * 0.5f64.powi(i32::try_from(look.max(1)).unwrap_or(i32::MAX)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_the_whole() {
        let sum = |look: fn(f64, u32) -> Looks| (1..200).map(|k| look(0.95, k).now).sum::<f64>();
        assert!((sum(Looks::interim) - 0.01).abs() < 1e-9);
        assert!((sum(Looks::end) - 0.04).abs() < 1e-9);
        assert!((Looks::end(0.95, 1).now - 0.03).abs() < 1e-12);
        assert_eq!(Looks::end(0.95, 0), Looks::end(0.95, 1));
    }
}
