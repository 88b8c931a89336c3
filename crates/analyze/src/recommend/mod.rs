//! What to use: the verdict, the advice, and the choice at each size.

pub mod verdict;
pub mod advice;
pub mod choice;
pub mod batching;
pub mod regions;
