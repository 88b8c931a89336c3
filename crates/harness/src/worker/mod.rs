//! Workers: fresh child processes that each play one role of one case, once.
//!
//! A worker is this very binary. It speaks a framed protocol on its standard input and output and
//! nothing else: no control port, so the same worker can run here, in a network namespace, or
//! behind ssh. [`round`] starts one worker per role, carries offers from one to the next, starts
//! them together and collects their reports.

mod blame;
mod gate;
pub mod launch;
mod moments;
pub mod path;
mod result;
mod round;

pub use moments::RoundMoments;
pub use result::{BlockResult, RoundResult};
pub use round::{Observer, ReadyRound, RoundError, RoundOptions, block_round, observed_round, round};
