//! Which records are parts of one response (how-it-works §2).
//!
//! A line of the log holds one block. Results of the response's own calls, what
//! the harness adds, and lines of another response may stand between two of its
//! lines; a response is open until its id no longer comes.

use super::wire::{Body, Record};
use crate::formats::prelude::*;

/// What stands between a record and the newest line of a response.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
pub(super) struct Between {
    results: usize,
    words: usize,
}

/// A response, known by its id and, where that is recorded, that of its request.
type Key<'a> = (&'a str, Option<&'a str>);

/// A response that may go on.
#[derive(Clone, Copy)]
struct Open {
    lead: usize,
    newest: usize,
    before: Between,
}

/// The responses so far.
#[derive(Default)]
pub(super) struct Responses<'a> {
    /// Under its id alone a response is known until another has that id.
    open: FxHashMap<Key<'a>, Open>,
    seen: Between,
}

impl<'a> Responses<'a> {
    /// The first and the newest line of the response that a record is a part of.
    pub(super) fn of(&self, records: &'a [Record], at: usize) -> Option<(usize, usize)> {
        let [exact, loose] = keys(&records[at])?;
        let open = self.open.get(&exact).or_else(|| self.open.get(&loose))?;
        let between = Between {
            results: self.seen.results - open.before.results,
            words: self.seen.words - open.before.words,
        };
        let goes_on = continues(&records[at], &records[open.newest], between);
        goes_on.then_some((open.lead, open.newest))
    }

    /// Takes the next record; `lead` is the first line of its response, where it is one.
    pub(super) fn add(&mut self, records: &'a [Record], at: usize, lead: usize) {
        let record = &records[at];
        match &record.body {
            Body::User(_) if record.is_result() => self.seen.results += 1,
            Body::User(_) if !record.is_of_harness() => self.seen.words += 1,
            Body::Compaction(_) => self.seen.words += 1,
            _ => {}
        }
        let open = Open { lead, newest: at, before: self.seen };
        for key in keys(record).into_iter().flatten() {
            self.open.insert(key, open);
        }
    }

    /// No more records come in order: a line is looked up wherever it stood.
    pub(super) fn close(&mut self) {
        for open in self.open.values_mut() {
            open.before = self.seen;
        }
    }
}

/// The keys of a line of a response, where it has an id.
fn keys(record: &Record) -> Option<[Key<'_>; 2]> {
    let Body::Assistant(response) = &record.body else { return None };
    let id = response.id.as_deref()?;
    Some([(id, record.header.request_id.as_deref()), (id, None)])
}

/// Whether a line is a further part of the response whose newest line is given:
/// a proxy may give all responses one id.
fn continues(record: &Record, newest: &Record, between: Between) -> bool {
    if let (Some(one), Some(other)) = (&newest.header.request_id, &record.header.request_id) {
        return one == other;
    }
    if let (Some(one), Some(other)) = (newest.request_usage(), record.request_usage())
        && one.prompt() != other.prompt()
    {
        return false;
    }
    let Body::Assistant(part) = &record.body else { return false };
    // Calls run while a response is written, so that results may stand within
    // it; text after a result is the answer to it.
    between == Between::default() || between.words == 0 && part.opens_with_call()
}
