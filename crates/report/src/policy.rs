//! The page's own Content-Security-Policy: nothing loads, nothing runs, and the one style sheet is the one
//! that was compiled in.
//!
//! The style sheet is let in by its hash and not by `'unsafe-inline'`: no element has a style attribute, and a
//! text that became a style element would be refused. Source: Content Security Policy Level 3 (W3C).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// For a page whose one style element holds exactly this text.
pub fn of(style: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_is_let_in_by_its_hash_alone() {
        // printf '' | openssl dgst -sha256 -binary | base64
        assert!(of("").contains("style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"));
        assert!(of("").starts_with("default-src 'none'; ") && !of("").contains("unsafe"));
    }
}
