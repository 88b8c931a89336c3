//! How long another host is waited for: as long as each wait may take, and never past the end of the run.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

static END: Mutex<Option<Instant>> = Mutex::new(None);

/// From now on no wait for another host goes on past this moment.
pub fn end_by(moment: Instant) {
    *END.lock().unwrap_or_else(PoisonError::into_inner) = Some(moment);
}

/// So long, or until the end.
pub fn left(limit: Duration) -> Duration {
    until(*END.lock().unwrap_or_else(PoisonError::into_inner), limit)
}

fn until(end: Option<Instant>, limit: Duration) -> Duration {
    end.map_or(limit, |end| limit.min(end.saturating_duration_since(Instant::now())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_goes_on_past_the_end_of_the_run() {
        let (now, limit) = (Instant::now(), Duration::from_secs(40));
        assert_eq!(until(None, limit), limit);
        assert_eq!(until(Some(now + limit * 100), limit), limit);
        assert!(until(Some(now + limit / 4), limit) <= limit / 4);
        assert_eq!(until(Some(now), limit), Duration::ZERO, "it is over");
    }
}
