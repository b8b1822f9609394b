//! What the page may run: its own scripts and styles, each named by its hash in
//! a Content-Security-Policy, and nothing else. So a script that gets into the
//! page by any way does not run.

use sha2::{Digest, Sha256};

use crate::packed;

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
        format!("'sha256-{}'", packed::base64(digest.as_slice()))
    };
    texts.iter().map(hash).collect::<Vec<String>>().join(" ")
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
}
