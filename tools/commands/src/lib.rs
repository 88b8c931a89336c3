//! Which of several commands is faster? Fresh processes take turns in random order until the answer is decided.
//!
//! Three places: [`asked`] says what runs, [`turns`] runs it, `decided` answers by the inference of every other
//! comparison (`syscost_core::decide`), and [`told`] makes the words and tables of it. [`recorded`] makes a run of it.

pub mod asked;
mod first_look;
pub mod rounds;
mod decided;
pub mod told;
pub mod turns;
pub mod recorded;
