//! Finds secrets and e-mail addresses in a text.

use std::collections::BTreeMap;
use std::ops::Range;

use super::colours::Uncoloured;
use super::columns::columns;
use super::places::placed;
use super::values::assigned;
use crate::text::lists::NO_DOMAINS;
use crate::text::{Pattern, pattern};

/// The words of placeholders, by the kind of value.
pub(super) const SECRET: &str = "SECRET";
pub(super) const EMAIL: &str = "EMAIL";

/// A place in a text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub range: Range<usize>,
    pub kind: &'static str,
}

impl Found {
    pub fn secret(range: Range<usize>) -> Self {
        Self { range, kind: SECRET }
    }
}

/// Everything that is found in a text, in order and disjoint.
pub(super) fn found(text: &str) -> Vec<Found> {
    let Some(uncoloured) = Uncoloured::of(text) else { return found_in(text) };
    let found = found_in(&uncoloured.text).into_iter();
    found.map(|span| Found { range: uncoloured.place(&span.range), ..span }).collect()
}

fn found_in(text: &str) -> Vec<Found> {
    // Reliable patterns come first: the later ones may match a part of the same value.
    let mut spans = Vec::new();
    placed(text, &mut spans);
    columns(text, &mut spans);
    assigned(text, &mut spans);
    let secrets = spans.into_iter().map(Found::secret);
    let mut all: Vec<Found> = secrets.collect();
    emails(text, &mut all);
    disjoint(all)
}

/// Drops those that overlap an earlier one, and sorts the rest.
pub(super) fn disjoint(spans: impl IntoIterator<Item = Found>) -> Vec<Found> {
    let mut kept: BTreeMap<usize, Found> = BTreeMap::new();
    for span in spans {
        let before = kept.range(..span.range.end).next_back();
        if before.is_none_or(|(_, before)| before.range.end <= span.range.start) {
            kept.insert(span.range.start, span);
        }
    }
    kept.into_values().collect()
}

/// Addresses (the common part of RFC 5322 §3.4.1), in any script (RFC 6531).
fn emails(text: &str, spans: &mut Vec<Found>) {
    static ADDRESS: Pattern = pattern!(
        r"([\p{L}\p{N}][\p{L}\p{M}\p{N}._%+-]*)",
        r"@((?:[\p{L}\p{M}\p{N}-]+\.)+(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,24}|\p{L}{2,24}))"
    );
    // Most texts have none, and the pattern takes long to build.
    if !text.contains('@') {
        return;
    }
    for hit in ADDRESS.captures_iter(text) {
        let (whole, domain) = (hit.get(0).expect("the whole"), &hit[2]);
        let start = local_start(&hit[1]);
        if is_address(&hit[1][start..], domain, &text[whole.end()..]) {
            spans.push(Found { range: whole.start() + start..whole.end(), kind: EMAIL });
        }
    }
}

/// Where the part before the `@` begins: in scripts without spaces, text may
/// precede a name in Latin letters directly.
fn local_start(local: &str) -> usize {
    let spaceless = |c: char| matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}');
    let tail = local.char_indices().rev().find(|(_, c)| spaceless(*c));
    tail.map(|(at, c)| at + c.len_utf8()).filter(|at| *at < local.len()).unwrap_or(0)
}

/// Whether it is an address, rather than a git remote, a package with its
/// version, an image file, an algorithm or a product of matrices.
fn is_address(local: &str, domain: &str, rest: &str) -> bool {
    // RFC 5321 §4.5.3.1.
    if local.len() > 64 || domain.len() > 253 || matches!(local, "git" | "hg" | "svn") {
        return false;
    }
    // Algorithms of SSH are named like addresses (RFC 4251 §6).
    if matches!(domain, "openssh.com" | "libssh.org") {
        return false;
    }
    let version = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    if domain.split('.').take(2).all(version) {
        return false;
    }
    let ending = domain.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if NO_DOMAINS.contains(ending.as_str()) {
        return false;
    }
    !rest.starts_with(['(', '[', '_', '@'])
}
