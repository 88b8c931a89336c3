//! Sentences and layouts of what people read; nothing here computes a figure.

pub mod rulers;
