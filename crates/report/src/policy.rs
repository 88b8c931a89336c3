//! The page's own Content-Security-Policy: nothing loads, nothing runs, and the one style sheet is the one
//! that was compiled in.
//!
//! The style sheet is let in by its hash and not by `'unsafe-inline'`: no element has a style attribute, and a
//! text that became a style element would be refused. Source: Content Security Policy Level 3 (W3C).

use sha2::{Digest, Sha256};

/// For a page whose one style element holds exactly this text.
pub fn of(style: &str) -> String {
    let hash = base64(&Sha256::digest(style.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'")
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_style_sheet_is_let_in_by_its_hash_alone() {
        // printf '' | openssl dgst -sha256 -binary | base64
        assert!(of("").contains("style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"));
        assert!(of("").starts_with("default-src 'none'; ") && !of("").contains("unsafe"));
    }
}
