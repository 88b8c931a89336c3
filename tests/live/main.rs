//! Real workers, real sockets, real namespaces: every mechanism moves every byte, on every path
//! that this machine allows, as root and as an ordinary user; and nothing is left behind.
//!
//! What needs a right that is missing says "skipped: reason" and is no pass.

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/search.rs"]
mod search;
mod common;
mod cleanup;
mod datagrams;
mod formula;
mod groups;
mod latency;
mod mechanisms;
mod local_transfers;
mod namespaces;
mod nightly;
mod own_code;
mod own_programs;
mod receivers;
mod reliability;
mod remote;
mod operations;
mod page_cache;
mod profiles;
mod processor_operations;
mod transfers;
mod uring;
mod users;
