//! What the page carries beside its markup: its own scripts and styles, each named by its hash in a
//! Content-Security-Policy, and nothing else, so that a script that gets into the page by any way
//! does not run; and data that the script unpacks.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The style sheet.
pub(super) const STYLES: &[&str] = &[include_str!("page.css")];

/// Every script, in order; each its own `<script>`.
pub(super) const SCRIPTS: &[&str] = &[include_str!("page.js"), include_str!("session.js")];

/// The policy of a page with these scripts. Widths of bars are style attributes, which can hold
/// no script.
pub(super) fn policy(scripts: &[&str]) -> String {
    let allowed = match scripts {
        [] => String::new(),
        scripts => format!("script-src {}; ", hashes(scripts)),
    };
    format!(
        "default-src 'none'; style-src {}; style-src-attr 'unsafe-inline'; {allowed}base-uri 'none'; \
         form-action 'none'",
        hashes(STYLES)
    )
}

/// Hashes of texts, as a policy names them (Content Security Policy 3, §2.3.1).
fn hashes(texts: &[&str]) -> String {
    let hash = |text: &&str| {
        let digest = Sha256::digest(text.as_bytes());
        format!("'sha256-{}'", STANDARD.encode(digest))
    };
    texts.iter().map(hash).collect::<Vec<String>>().join(" ")
}

/// Plain data as JSON, compressed (RFC 1950) and written in base64 (RFC 4648 §4). The alphabet
/// holds no character with a meaning in markup, so nothing in the data can end the block that it
/// stands in.
pub(super) fn packed(data: &impl Serialize) -> String {
    let json = serde_json::to_vec(data).expect("plain data serialises");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&json).expect("memory takes every write");
    STANDARD.encode(encoder.finish().expect("memory takes every write"))
}

#[cfg(test)]
pub(super) fn unpacked(text: &str) -> serde_json::Value {
    use std::io::Read;
    let bytes = STANDARD.decode(text).unwrap();
    let mut json = String::new();
    flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_named_as_the_standard_does() {
        // The example of Content Security Policy 3, §8.3 ("alert('Hello, world.');").
        let hash = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(hashes(&["alert('Hello, world.');"]), hash);
    }

    #[test]
    fn no_script_writes_markup_or_runs_text() {
        for script in SCRIPTS {
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!script.contains(way), "{way}");
            }
            assert!(!script.contains("</script"), "it would end its own element");
            assert!(!script.contains('\r'), "a browser would hash another text");
        }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let data = ["</script>", "<!--", "日本", ""];
        assert_eq!(unpacked(&packed(&data)), serde_json::json!(data));
        assert!(!packed(&data).contains(['<', '>', '&', '"']));
    }
}
