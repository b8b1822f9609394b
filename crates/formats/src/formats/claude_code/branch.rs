//! Follows the conversation in the order of the file, and tells a rewind from a
//! record that was written late.
//!
//! A rewound message hangs on a record that stood there before the part that it
//! leaves. A late one hangs on a record that was written behind that part and
//! itself hangs in front of it. Where sizes of prompts are reported, they
//! decide: a part up to which the next request read the cache, or through which
//! prompts keep growing, was sent.

use super::attachment::Added;
use super::tree::Tree;
use super::wire::{Body, Record};
use crate::formats::prelude::*;

/// A request of the conversation, with what was reported of it.
#[derive(Clone, Copy)]
struct Request {
    /// Position of its response on the branch.
    place: usize,
    usage: Usage,
    /// Number of compactions before it: sizes compare within one only.
    compactions: usize,
}

/// A record on the branch, with what stands up to it.
struct Step {
    record: usize,
    /// Number of responses and of messages of the user.
    responses: usize,
    user_messages: usize,
    compactions: usize,
}

/// The records that were sent so far.
pub(super) struct Branch<'a> {
    records: &'a [Record],
    is_main: bool,
    steps: Vec<Step>,
    requests: Vec<Request>,
    /// Position of each record on the branch.
    place: FxHashMap<usize, usize>,
    /// For each record that is no message, the message that it hangs on, with the
    /// first record of the way from there to it.
    hangs: FxHashMap<usize, (Option<usize>, usize)>,
    /// The first request from each record on, up to the next compaction.
    next: FxHashMap<usize, Usage>,
}

impl<'a> Branch<'a> {
    /// The conversation at the end of `members`, whose records are linked one to the next.
    pub(super) fn follow(
        tree: &mut Tree,
        records: &'a [Record],
        members: &[usize],
        root: Option<usize>,
    ) -> Vec<usize> {
        let mut branch = Branch {
            is_main: root.is_none(),
            records,
            steps: Vec::new(),
            requests: Vec::new(),
            place: FxHashMap::default(),
            hangs: FxHashMap::default(),
            next: next_requests(records, members),
        };
        let mut take = |at: usize| {
            let parent = tree.parents[at].filter(|_| Some(at) != root);
            if let Some(before) = branch.take(at, parent) {
                tree.parents[at] = before;
            }
        };
        // A message may hang on one of a subagent.
        match root {
            None => (0..records.len()).for_each(take),
            Some(_) => members.iter().for_each(|&at| take(at)),
        }
        branch.steps.into_iter().map(|step| step.record).collect()
    }

    /// Takes the next record; returns the record that it follows, if it is sent.
    fn take(&mut self, at: usize, parent: Option<usize>) -> Option<Option<usize>> {
        let (on, top) = match parent {
            None => (None, at),
            // It stands behind its child: the order of the file says nothing.
            Some(parent) if parent > at => (Some(parent), at),
            Some(parent) => match self.hangs.get(&parent) {
                Some(&(on, top)) => (on, top),
                None => (Some(parent), at),
            },
        };
        let record = &self.records[at];
        if record.is_side() || self.is_aside(record) {
            self.hangs.insert(at, (on, top));
            return None;
        }
        let kept = match on {
            // It names no record that it follows.
            None if matches!(record.body, Body::Added(_)) => self.steps.len(),
            None => 0,
            // On a branch that was left.
            Some(on) => self.place.get(&on)? + 1,
        };
        if kept < self.steps.len() && !self.goes_on(at, kept, top) {
            self.steps.drain(kept..).for_each(|step| {
                self.place.remove(&step.record);
            });
            self.requests.truncate(self.requests.partition_point(|request| request.place < kept));
        }
        let before = self.steps.last().map(|step| step.record);
        self.push(at);
        Some(before)
    }

    /// Whether a record is one of a subagent, beside the main conversation.
    fn is_aside(&self, record: &Record) -> bool {
        self.is_main && record.is_sidechain()
    }

    fn push(&mut self, at: usize) {
        let place = self.steps.len();
        let last = self.steps.last();
        let (mut responses, mut user_messages, mut compactions) =
            last.map_or((0, 0, 0), |step| (step.responses, step.user_messages, step.compactions));
        let record = &self.records[at];
        match &record.body {
            Body::Assistant(_) if !self.is_same_response(at) => responses += 1,
            Body::User(_) if !record.is_result() => user_messages += 1,
            Body::Added(Added::Typed(_)) => user_messages += 1,
            Body::Compaction(_) => compactions += 1,
            _ => {}
        }
        if let Some(usage) = record.request_usage() {
            self.requests.push(Request { place, usage, compactions });
        }
        self.steps.push(Step { record: at, responses, user_messages, compactions });
        self.place.insert(at, place);
    }

    /// Whether an assistant's record is a further part of the newest response.
    fn is_same_response(&self, at: usize) -> bool {
        if !matches!(self.records[at].body, Body::Assistant(_)) {
            return false;
        }
        let before = self.steps.iter().rev().map(|step| &self.records[step.record]);
        let mut apart = false;
        for record in before {
            match &record.body {
                Body::Assistant(_) => return self.records[at].continues(record, apart),
                Body::User(_) if record.is_result() => apart = true,
                Body::User(_) => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether the branch goes on with a record although it hangs in front of
    /// the steps from `kept` on, by way of `top`.
    fn goes_on(&self, at: usize, kept: usize, top: usize) -> bool {
        let record = &self.records[at];
        let (Some(first), Some(tip)) = (self.steps.get(kept), self.steps.last()) else {
            return true;
        };
        let before = kept.checked_sub(1).and_then(|place| self.steps.get(place));
        let (responses, user_messages, compactions) =
            before.map_or((0, 0, 0), |step| (step.responses, step.user_messages, step.compactions));
        let goes_behind = matches!(record.body, Body::MicroCompaction(_)) || record.is_result();
        // Parallel calls of one response and their results are branches, and a
        // response answers all that was said since the last one.
        let is_response = matches!(record.body, Body::Assistant(_));
        let answers =
            tip.responses == responses && (tip.user_messages == user_messages || is_response);
        if goes_behind || answers || self.is_same_response(at) {
            return true;
        }
        let from = self.requests.partition_point(|request| request.place < kept);
        let part = self.requests.get(from..).unwrap_or_default();
        let known = from.checked_sub(1).and_then(|n| self.requests.get(n));
        let known = known.filter(|known| known.compactions == compactions);
        let sizes = part.first().zip(part.last()).zip(self.next.get(&at));
        let is_side = record.is_command() || matches!(record.body, Body::Added(_));
        let is_late = top > first.record && (top != at || is_side);
        if is_late {
            return match sizes {
                Some(((one, last), next)) => {
                    // Is it nearer to where the part ends than to where it begins?
                    let begin = known.unwrap_or(one).usage.prompt();
                    next.prompt() >= begin.midpoint(last.usage.prompt())
                }
                None => self.is_older(top, tip.record),
            };
        }
        let one_window = tip.compactions == compactions;
        let growing = one_window && tip.responses > responses + 1;
        sizes.is_some_and(|((one, last), next)| {
            was_sent(known.map(|k| &k.usage), &one.usage, &last.usage, next, growing)
        })
    }

    /// Whether a record that was written late is of an earlier time. A slash
    /// command may also be the first thing after a rewind.
    fn is_older(&self, top: usize, tip: usize) -> bool {
        let (top, tip) = (&self.records[top], &self.records[tip]);
        !top.is_command() || top.header.timestamp <= tip.header.timestamp
    }
}

/// Whether the request `next` sent the part between the request `known` and
/// itself, whose own requests run from `one` to `last`.
fn was_sent(known: Option<&Usage>, one: &Usage, last: &Usage, next: &Usage, many: bool) -> bool {
    let cached = |usage: &Usage| usage.cache_read.saturating_add(usage.written());
    let more = next.prompt() > last.prompt();
    if more && cached(last) > 0 && next.cache_read >= cached(last) {
        return true;
    }
    // It read the cache up to the part, and not the part.
    let left = known.is_some_and(|k| cached(k) > 0 && next.cache_read >= cached(k));
    many && more && one.prompt() <= last.prompt() && !left
}

/// The first request from each record on, up to the next compaction.
fn next_requests(records: &[Record], members: &[usize]) -> FxHashMap<usize, Usage> {
    let mut next = None;
    let mut found = FxHashMap::default();
    for &at in members.iter().rev() {
        let record = &records[at];
        if let Body::Compaction(_) = record.body {
            next = None;
        }
        next = record.request_usage().or(next);
        if let (Some(usage), false) = (next, record.is_side()) {
            found.insert(at, usage);
        }
    }
    found
}
