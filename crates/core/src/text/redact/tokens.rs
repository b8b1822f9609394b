//! Secrets that are recognisable by their own form.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memmem};
use regex::{Regex, RegexBuilder};

/// Forms of tokens, by issuer, and of hashes of passwords: a line each.
const TOKENS: &str = include_str!("tokens.txt");
const HASHES: &str = include_str!("hashes.txt");

/// A pattern that any of the forms matches.
fn any_of(forms: &str) -> String {
    let forms: Vec<&str> = forms.lines().filter(|line| !line.starts_with('#')).collect();
    forms.join("|")
}

/// Finds hashes of passwords by their forms.
pub(super) fn hashes(text: &str, spans: &mut Vec<Range<usize>>) {
    static HASH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(&any_of(HASHES).replace('%', r"\\{0,2}\${1,2}")).expect("it is valid")
    });
    // Most texts have none, and the pattern takes long to build.
    if !text.contains(['$', '{']) {
        return;
    }
    let hits = HASH.find_iter(text).map(|hit| hit.range()).filter(|at| {
        let goes_on = text[at.end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        !goes_on && varied(&text[at.clone()]) && !text[at.clone()].contains("...")
    });
    spans.extend(hits);
}

/// Finds tokens by their forms.
pub(super) fn tokens(text: &str, spans: &mut Vec<Range<usize>>) {
    // With Unicode's word boundary, or in the usual cache of 2 MB, so many forms take a
    // hundred times as long.
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        let forms = format!(r"(?-u:\b)(?:{})", any_of(TOKENS));
        RegexBuilder::new(&forms).dfa_size_limit(4 << 20).build().expect("it is valid")
    });
    for hit in TOKEN.find_iter(text) {
        // The word continues: it is part of something longer, such as base64.
        let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !text[hit.end()..].starts_with(goes_on) && varied(hit.as_str()) {
            spans.push(hit.range());
        }
    }
}

/// Whether a token has at least five different characters after its prefix:
/// `ghp_xxxx…` is an example, not a token.
pub(super) fn varied(token: &str) -> bool {
    // `xoxb-your-slack-token` is an example, too.
    if token.contains("your") {
        return false;
    }
    let tail = &token.as_bytes()[token.len().saturating_sub(16)..];
    let mut seen: Vec<u8> = tail.to_vec();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= 5
}

/// Largest private key in bytes: RSA of 16,384 bits takes 12.7 kB.
const LARGEST_KEY: usize = 16_384;

/// Finds private keys in PEM blocks (RFC 7468), also those that were cut off.
pub(super) fn private_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----").expect("it is valid")
    });
    static END: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----").expect("it is valid")
    });
    let mut ends = memmem::find_iter(text.as_bytes(), "-----END ").peekable();
    let mut begins = BEGIN.find_iter(text).peekable();
    while let Some(begin) = begins.next() {
        while ends.next_if(|end| *end < begin.end()).is_some() {}
        let next = begins.peek().map_or(text.len(), |next| next.start());
        let near = next.min(begin.end() + LARGEST_KEY);
        // Neither mark-up nor a placeholder is part of a key.
        let rest = &text.as_bytes()[begin.end()..near];
        let near = memchr(b'<', rest).map_or(near, |at| begin.end() + at);
        let end = ends.peek().copied().filter(|end| *end < near);
        let closed = end.and_then(|end| Some(end..end + END.find(&text[end..])?.end()));
        let body = begin.end()..closed.as_ref().map_or(near, |end| end.start);
        match (closed, key_length(&text.as_bytes()[body.clone()])) {
            (_, 0) => {}
            (Some(end), _) => spans.push(begin.start()..end.end),
            (None, cut) => spans.push(begin.start()..body.start + cut),
        }
    }
}

/// Bytes until the last run of base64 that is long enough to be a line of a
/// key, or 0: a mention of the marks alone is no key.
fn key_length(body: &[u8]) -> usize {
    const LINE: usize = 24;
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut run, mut last, mut gap) = (0, 0, 0);
    for (at, byte) in body.iter().enumerate() {
        if base64(byte) {
            run += 1;
            gap = 0;
        } else {
            run = 0;
            gap += 1;
        }
        if run >= LINE {
            last = at + 1;
        }
        // Prose follows where the key was cut off; lines may be numbered.
        if last > 0 && (gap > 12 || at.saturating_sub(last) > 80) {
            break;
        }
    }
    last
}
