//! Session names that are UUIDs, shortened for a terminal to what tells them
//! apart.

use std::collections::BTreeSet;
use std::ops::Range;

use recap_core::model::Report;

/// Characters of a UUID (RFC 9562).
const LENGTH: usize = 36;
/// Least characters that are shown of one.
const SHORTEST: usize = 8;

/// A text in which every UUID is shortened, by as much as the sessions of the
/// report stay distinct.
pub(super) fn shortened(report: &Report, text: &str) -> String {
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
    let mut next = 0;
    std::iter::from_fn(move || {
        while next + LENGTH <= text.len() {
            let at = next..next + LENGTH;
            next += 1;
            if is_uuid(&text.as_bytes()[at.clone()]) {
                next = at.end;
                return Some(at);
            }
        }
        None
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
        assert_eq!(shortened(&alone, &text), "1 of 2, é0cd9edf7….jsonl and 0cd9edf7…");
        let both = named(&[ONE, OTHER]);
        let actual = shortened(&both, &text);
        assert_eq!(actual, "1 of 2, é0cd9edf7-459c….jsonl and 0cd9edf7-459d…");
    }

    #[test]
    fn nothing_else_is_shortened() {
        let text = "no id: 0cd9edf7-459c-4900-af40-cf2c64dea52, 日本語-0123-4567-89ab-0123456789ab";
        assert_eq!(shortened(&named(&[ONE]), text), text);
    }
}
