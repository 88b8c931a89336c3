//! What a user asked for.

/// Something that was asked for and does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The command line as a user would type it.
pub fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo run --release -p syscost-peers -- {}", arguments.join(" "))
        .trim_end_matches(" -- ")
        .trim()
        .to_string()
}
