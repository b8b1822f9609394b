//! Text from recordings and strategies, made harmless for people to look at.
//!
//! Escaping for HTML is the template's work; what stands here is what escaping
//! leaves: control characters, terminal escapes and characters that turn the
//! reading direction around.

use std::collections::BTreeSet;
use std::ops::Range;

use recap_core::model::Report;
use recap_core::text::{beginning, is_command, is_plain};

/// One line: control characters and line breaks become spaces, direction
/// overrides a replacement character.
pub(super) fn line(text: &str) -> String {
    if is_plain(text) {
        return text.replace(['\n', '\t'], " ");
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { shown(c) }).collect()
}

/// Several lines: line feeds and tabs stay.
pub(super) fn lines(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let kept = text.chars().filter(|&c| c != '\r');
    kept.map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// The first `limit` characters, and an ellipsis where there are more.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    beginning(text, limit).into_owned()
}

/// A character as it may be shown: what changes others becomes U+FFFD.
fn shown(c: char) -> char {
    if is_command(c) { '\u{FFFD}' } else { c }
}

/// Characters of a UUID (RFC 9562).
const LENGTH: usize = 36;
/// Least characters that are shown of one.
const SHORTEST: usize = 8;

/// A text in which every UUID, of which names of sessions are made, is shortened by as much as the
/// sessions of the report stay distinct.
pub(super) fn short_ids(report: &Report, text: &str) -> String {
    let sessions: Vec<&str> = report.sessions.iter().map(|t| t.session.as_str()).collect();
    let ids: BTreeSet<&str> =
        sessions.iter().flat_map(|name| uuids(name).map(|at| &name[at])).collect();
    let distinct =
        |n: &usize| ids.iter().map(|id| &id[..*n]).collect::<BTreeSet<_>>().len() == ids.len();
    let length = (SHORTEST..LENGTH).find(distinct).unwrap_or(LENGTH);
    if length == LENGTH {
        return text.to_owned();
    }
    let (mut short, mut from) = (String::new(), 0);
    for at in uuids(text) {
        short.push_str(&text[from..at.start + length]);
        short.push('…');
        from = at.end;
    }
    short + &text[from..]
}

/// The places of UUIDs in a text.
fn uuids(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let mut windows = text.as_bytes()[from..].windows(LENGTH);
        let start = from + windows.position(is_uuid)?;
        from = start + LENGTH;
        Some(start..from)
    })
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn a_terminal_escape_loses_its_escape() {
        assert_eq!(line("a\u{1b}[31mb\r\nc\u{9b}"), "a [31mb  c ");
    }

    #[test]
    fn a_direction_override_is_shown_and_not_obeyed() {
        assert_eq!(line("x\u{202E}gnp.exe"), "x\u{FFFD}gnp.exe");
        assert_eq!(lines("a\r\n\tb\u{2066}\0"), "a\n\tb\u{FFFD}\u{FFFD}");
    }

    #[test]
    fn shortening_counts_characters_and_not_bytes() {
        assert_eq!(shortened("日本語", 2), "日本…");
        assert_eq!(shortened("日本語", 3), "日本語");
        assert_eq!(shortened("ab日", 2), "ab…");
        assert_eq!(shortened("abc", 2), "ab…");
        assert_eq!(shortened("ab", 2), "ab");
        assert_eq!(shortened("a", 2), "a");
    }

    const ONE: &str = "0cd9edf7-459c-4900-af40-cf2c64dea525";
    const OTHER: &str = "0cd9edf7-459d-4900-af40-cf2c64dea525";

    fn named(names: &[&str]) -> Report {
        let mut report = Kit::default().report();
        for (facts, name) in report.sessions.iter_mut().zip(names) {
            facts.session = (*name).to_owned();
        }
        report
    }

    #[test]
    fn uuid_is_shortened_to_its_distinguishing_part() {
        let text = format!("1 of 2, é{ONE}.jsonl and {OTHER}");
        let alone = named(&[ONE]);
        assert_eq!(short_ids(&alone, &text), "1 of 2, é0cd9edf7….jsonl and 0cd9edf7…");
        let both = named(&[ONE, OTHER]);
        let actual = short_ids(&both, &text);
        assert_eq!(actual, "1 of 2, é0cd9edf7-459c….jsonl and 0cd9edf7-459d…");
    }

    #[test]
    fn nothing_else_is_short_ids() {
        let text = "no id: 0cd9edf7-459c-4900-af40-cf2c64dea52, 日本語-0123-4567-89ab-0123456789ab";
        assert_eq!(short_ids(&named(&[ONE]), text), text);
    }
}
