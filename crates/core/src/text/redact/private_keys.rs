//! Private keys in PEM.

use std::ops::Range;

use memchr::{memchr, memmem};

use crate::text::{Pattern, pattern};

/// Largest private key in bytes: RSA of 16,384 bits takes 12.7 kB.
const LARGEST_KEY: usize = 16_384;

/// Finds private keys in PEM blocks (RFC 7468), also those that were cut off.
pub(super) fn private_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    static BEGIN: Pattern = pattern!("-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----");
    static END: Pattern = pattern!("^-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----");
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
