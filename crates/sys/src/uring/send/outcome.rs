//! What the results of a linked chain of sends say. Pure.
//!
//! Source: io_uring_enter(2) (IOSQE_IO_LINK: a short or failed request breaks the chain, and those behind it
//! complete with ECANCELED).

/// The state of a chain whose every request has a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOutcome {
    /// Messages at the head of the chain that are out.
    pub whole: usize,
    /// Bytes that are out of the one behind them.
    pub part: usize,
    pub why: Why,
}

/// Why the chain is not all out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is.
    Done,
    /// A short send or a signal: submit the rest.
    Again,
    /// The kernel had no memory for it: wait, then submit the rest.
    Starved,
    /// An error of the connection.
    Failed(i32),
    /// Bytes went out behind a message that is not out.
    Reordered,
}

/// Judges the results, given the bytes that each request had to send.
#[inline]
pub fn of(results: &[i32], left: impl Fn(usize) -> usize) -> SendOutcome {
    let whole = results.iter().enumerate().take_while(|(i, r)| usize::try_from(**r) == Ok(left(*i))).count();
    let Some((first, behind)) = results[whole..].split_first() else {
        return SendOutcome { whole, part: 0, why: Why::Done };
    };
    let part = usize::try_from(*first).unwrap_or(0);
    SendOutcome { whole, part, why: why(*first, behind) }
}

#[cold]
fn why(first: i32, behind: &[i32]) -> Why {
    if behind.iter().any(|result| *result > 0) {
        return Why::Reordered;
    }
    // A request that is refused when it is submitted cancels the whole chain: its own error is the cause.
    let cause = std::iter::once(&first).chain(behind).find(|r| **r < 0 && **r != -libc::ECANCELED);
    match cause.map(|result| -result) {
        Some(libc::EINTR | libc::EAGAIN) => Why::Again,
        Some(libc::ENOMEM | libc::ENOBUFS) => Why::Starved,
        Some(code) => Why::Failed(code),
        None if first > 0 => Why::Again,
        None => Why::Failed(libc::ECANCELED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANCELLED: i32 = -libc::ECANCELED;

    fn judge(results: &[i32]) -> (usize, usize, Why) {
        let SendOutcome { whole, part, why } = of(results, |_| 100);
        (whole, part, why)
    }

    #[test]
    fn a_chain_that_is_out_is_done() {
        assert_eq!(judge(&[100]), (1, 0, Why::Done));
        assert_eq!(judge(&[100, 100, 100]), (3, 0, Why::Done));
    }

    #[test]
    fn a_short_send_leaves_its_rest_and_those_behind_it() {
        assert_eq!(judge(&[100, 30, CANCELLED, CANCELLED]), (1, 30, Why::Again));
        assert_eq!(judge(&[1]), (0, 1, Why::Again));
        assert_eq!(judge(&[-libc::EINTR, CANCELLED]), (0, 0, Why::Again));
    }

    #[test]
    fn bytes_behind_a_short_send_are_an_error() {
        assert_eq!(judge(&[100, 30, 100]), (1, 30, Why::Reordered));
        assert_eq!(judge(&[-libc::EINTR, 1]), (0, 0, Why::Reordered));
    }

    #[test]
    fn want_of_memory_is_told_from_a_broken_connection() {
        assert_eq!(judge(&[100, -libc::ENOMEM, CANCELLED]), (1, 0, Why::Starved));
        assert_eq!(
            judge(&[CANCELLED, -libc::ENOMEM, CANCELLED]),
            (0, 0, Why::Starved),
            "refused when submitted"
        );
        assert_eq!(judge(&[-libc::EPIPE, CANCELLED]), (0, 0, Why::Failed(libc::EPIPE)));
        assert_eq!(judge(&[50, -libc::ECONNRESET]), (0, 50, Why::Failed(libc::ECONNRESET)));
        assert_eq!(
            judge(&[CANCELLED]),
            (0, 0, Why::Failed(libc::ECANCELED)),
            "nothing that could be tried again"
        );
    }
}
