//! Options of `new`.

use clap::{Args, ValueEnum};

/// What is to be written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewKind {
    /// An operation: run(context, iterations)
    Operation,
    /// A way to send: open, send, flush, close
    Mechanism,
    /// A way to receive: open, receive, close
    Receiver,
    /// syscost.h, to standard output
    Header,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeLanguage {
    C,
    Rust,
}

#[derive(Args, Debug)]
pub struct NewArgs {
    /// What to write
    pub kind: NewKind,
    /// What it is called: the folder and the code
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// In which language
    #[arg(long, value_enum, default_value = "c")]
    pub lang: CodeLanguage,
}
