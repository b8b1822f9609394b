//! The log is a tree: this finds the conversation in it (how-it-works §3).
//!
//! Rewinding adds a branch, and so does every response with parallel calls,
//! whose lines and results become branches. Records that are written late
//! (progress of hooks, slash commands) hang on an earlier record, and the next
//! message hangs on them: that is no rewind, and is not taken for one.
//!
//! Claude Code appends a record once it is complete, after the one that it
//! names as its parent: the record written last is the newest, whatever its
//! `timestamp` says. In 15 recordings of thirteen versions no record precedes
//! its parent, and in nine of them timestamps run backwards.

use super::record::{Added, Body, Record};
use crate::formats::content::circle;
use crate::formats::prelude::*;

/// Parents resolved to positions among the records.
pub(super) struct Tree {
    pub(super) parents: Vec<Option<usize>>,
    /// Whether each record names a parent that is not in the file.
    pub(super) dangling: Vec<bool>,
    /// For a record behind a copy, the record whose copy it names.
    pub(super) copied: FxHashMap<usize, usize>,
    /// For a compaction, the first record that it kept.
    pub(super) kept: FxHashMap<usize, usize>,
}

impl Tree {
    /// Links `records`. A parent that is not in the file (a boundary's, or a
    /// record that the recorder dropped) is replaced by the preceding record
    /// of the conversation, else everything before it would be lost.
    pub(super) fn new(records: &[Record]) -> Tree {
        let mut by_uuid: FxHashMap<&str, usize> = FxHashMap::default();
        for (at, record) in records.iter().enumerate() {
            if let Some(uuid) = &record.header.uuid {
                by_uuid.entry(uuid).or_insert(at);
            }
        }
        let mut tree = Tree {
            parents: Vec::with_capacity(records.len()),
            dangling: vec![false; records.len()],
            copied: FxHashMap::default(),
            kept: FxHashMap::default(),
        };
        let mut preceding = None;
        for (at, record) in records.iter().enumerate() {
            let mut parent = match record.parent() {
                None => None,
                Some(uuid) => by_uuid.get(uuid).copied().or_else(|| {
                    tree.dangling[at] = true;
                    // A sidechain whose root is missing cannot be attached anywhere.
                    preceding.filter(|_| !record.is_sidechain())
                }),
            };
            if record.behind_copy && !record.is_sidechain() {
                tree.copied.extend(parent.map(|copied| (at, copied)));
                parent = preceding.or(parent);
            }
            if let Body::Compaction(metadata) = &record.body {
                let kept = metadata.kept().filter_map(|uuid| by_uuid.get(uuid));
                tree.kept.extend(kept.min().map(|&first| (at, first)));
            }
            // A record without a uuid is no node; one that names itself is a root.
            tree.parents.push(parent.filter(|&p| p != at));
            if record.is_conversation() && !record.is_sidechain() {
                preceding = Some(at);
            }
        }
        tree
    }

    /// Whether more records precede their parents than follow them: the file
    /// was sorted with the newest record first.
    pub(super) fn is_newest_first(&self) -> bool {
        let links = self.parents.iter().enumerate().filter_map(|(at, up)| Some((at, (*up)?)));
        let (before, after): (Vec<_>, Vec<_>) = links.partition(|(at, parent)| at < parent);
        before.len() > after.len()
    }

    /// Records, boundaries apart, whose parent is not in the file.
    pub(super) fn lost_parents(&self, records: &[Record]) -> usize {
        let boundary = |r: &Record| matches!(r.body, Body::Compaction(_));
        let lost = records.iter().zip(&self.dangling);
        lost.filter(|(r, dangling)| **dangling && !boundary(r)).count()
    }

    /// The conversation among `members`, in order: what was sent until the
    /// message that was written last. That of a sidechain begins with its own
    /// `root`, so that the records above it are not visited again for each
    /// sidechain. Timestamps are not used.
    pub(super) fn main_chain(
        &mut self,
        records: &[Record],
        members: &[usize],
        root: Option<usize>,
    ) -> Result<Vec<usize>, Problem> {
        let sent = Branch::follow(self, records, members, root);
        // A leaf is a message without messages below it.
        let up_from = |at: usize| self.parents[at].filter(|_| Some(at) != root);
        let mut above = FxHashSet::default();
        for &at in members.iter().filter(|&&m| records[m].is_conversation()) {
            let mut up = up_from(at);
            while let Some(parent) = up.filter(|&p| above.insert(p)) {
                up = if records[parent].is_conversation() { None } else { up_from(parent) };
            }
        }
        let leaves = members.iter().copied();
        let leaves = leaves.filter(|at| records[*at].is_conversation() && !above.contains(at));
        let newest = leaves.max();
        match newest {
            Some(leaf) if sent.contains(&leaf) => Ok(sent),
            _ => self.path_to(newest, root, records),
        }
    }

    fn path_to(
        &self,
        leaf: Option<usize>,
        root: Option<usize>,
        records: &[Record],
    ) -> Result<Vec<usize>, Problem> {
        let mut path = Vec::new();
        let mut up = leaf;
        while let Some(at) = up {
            if path.len() == records.len() {
                return Err(circle());
            }
            path.push(at);
            up = self.parents[at].filter(|_| Some(at) != root);
        }
        path.reverse();
        Ok(path)
    }

    /// The outermost sidechain record above (or at) a sidechain record. `known`
    /// holds the roots that were found, and takes those of the records between.
    pub(super) fn sidechain_root(
        &self,
        records: &[Record],
        from: usize,
        known: &mut FxHashMap<usize, usize>,
    ) -> Result<usize, Problem> {
        // Parents mostly stand before their children, so one step is enough.
        let mut way = vec![from];
        let mut at = from;
        let root = loop {
            if let Some(&root) = known.get(&at) {
                break root;
            }
            match self.parents[at].filter(|&p| records[p].is_sidechain()) {
                Some(_) if way.len() > records.len() => return Err(circle()),
                Some(parent) => at = parent,
                None => break at,
            }
            way.push(at);
        };
        known.extend(way.into_iter().map(|at| (at, root)));
        Ok(root)
    }
}

// Follows the conversation in the order of the file, and tells a rewind from a
// record that was written late.
//
// A rewound message hangs on a record that stood there before the part that it
// leaves. A late one hangs on a record that was written behind that part and
// itself hangs in front of it. Where sizes of prompts are reported, they
// decide: a part up to which the next request read the cache, or through which
// prompts keep growing, was sent.

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
    counts: Counts,
}

/// Number of responses, of messages of the user and of compactions.
#[derive(Clone, Copy, Default)]
struct Counts {
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
    /// The newest compactions: the position of each, and the record that it hangs on.
    compactions: Vec<(usize, Option<usize>)>,
    /// The first record that a compaction kept.
    kept: FxHashMap<usize, usize>,
    open: Responses<'a>,
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
            compactions: Vec::new(),
            kept: std::mem::take(&mut tree.kept),
            open: Responses::default(),
            place: FxHashMap::default(),
            hangs: FxHashMap::default(),
            next: next_requests(records, members),
        };
        let mut take = |at: usize| {
            let mut parent = tree.parents[at].filter(|_| Some(at) != root);
            if let Some(&copied) =
                tree.copied.get(&at).filter(|copied| branch.returns(at, **copied))
            {
                parent = Some(copied);
            }
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
        // A record of a subagent stands beside the main conversation.
        if record.is_side() || self.is_main && record.is_sidechain() {
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
        if kept < self.steps.len() && !self.goes_on(at, on, top) {
            self.steps.drain(kept..).for_each(|step| {
                self.place.remove(&step.record);
            });
            self.requests.truncate(self.requests.partition_point(|request| request.place < kept));
            self.compactions.truncate(self.compactions.partition_point(|(at, _)| *at < kept));
        }
        let before = self.steps.last().map(|step| step.record);
        self.push(at, on);
        Some(before)
    }

    /// Whether a record that hangs on the end of a copy returned to the record
    /// that was copied: then the next prompt is about as long as it was there.
    fn returns(&self, at: usize, copied: usize) -> bool {
        let Some(place) = self.place.get(&copied) else { return false };
        let there = self.requests.partition_point(|request| request.place <= *place);
        let there = there.checked_sub(1).and_then(|n| self.requests.get(n));
        match (self.requests.last(), self.next.get(&at)) {
            (Some(last), Some(next)) if next.cache_read != last.usage.cached() => {
                is_nearer(next.prompt(), there, last)
            }
            _ => false,
        }
    }

    fn push(&mut self, at: usize, on: Option<usize>) {
        let place = self.steps.len();
        let mut counts = self.steps.last().map(|step| step.counts).unwrap_or_default();
        let record = &self.records[at];
        let lead = self.response_of(at);
        self.open.add(self.records, at, lead.unwrap_or(at));
        match &record.body {
            Body::Assistant(_) if lead.is_none() => counts.responses += 1,
            Body::User(_) if !record.is_result() => counts.user_messages += 1,
            Body::Added(Added::Typed(_)) => counts.user_messages += 1,
            Body::Compaction(_) => {
                counts.compactions += 1;
                self.compactions.push((place, on));
            }
            _ => {}
        }
        if let Some(usage) = record.request_usage() {
            self.requests.push(Request { place, usage, compactions: counts.compactions });
        }
        self.steps.push(Step { record: at, counts });
        self.place.insert(at, place);
    }

    /// The first line on the branch of the response that a record is a part of.
    fn response_of(&self, at: usize) -> Option<usize> {
        let (lead, newest) = self.open.of(self.records, at)?;
        self.place.contains_key(&newest).then_some(lead)
    }

    /// Whether a record goes on behind the newest compaction, where it hangs on
    /// what that one hangs on, or kept: the continuation of a compaction may hang
    /// beside it. One that reads the cache of the longer prompt returned to it.
    fn follows_compaction(&self, at: usize, on: Option<usize>) -> Option<bool> {
        let (place, above) = *self.compactions.last()?;
        let boundary = &self.steps[place];
        let own = on.and_then(|on| self.place.get(&on)).copied();
        let kept = self.kept.get(&boundary.record).and_then(|first| self.place.get(first));
        let is_kept = kept.zip(own).is_some_and(|(kept, own)| (*kept..place).contains(&own));
        let tip = self.steps.last()?;
        if on.is_none()
            || on != above && !is_kept
            || tip.counts.responses > boundary.counts.responses
        {
            return None;
        }
        let before = self.requests.partition_point(|request| request.place < place);
        let before = before.checked_sub(1).and_then(|n| self.requests.get(n));
        Some(match (before.map(|request| &request.usage), self.next.get(&at)) {
            (Some(before), Some(next)) => {
                let reads_all = next.cache_read >= before.cached() || next.cache_read == 0;
                next.prompt() < before.prompt() || !reads_all
            }
            // Behind the summary stands nothing that was said since.
            _ => tip.counts.user_messages <= boundary.counts.user_messages + 1,
        })
    }

    /// Whether the branch goes on with a record although it hangs in front of
    /// the steps from `kept` on, by way of `top`.
    fn goes_on(&self, at: usize, on: Option<usize>, top: usize) -> bool {
        let kept = on.and_then(|on| self.place.get(&on)).map_or(0, |place| place + 1);
        let record = &self.records[at];
        let (Some(first), Some(tip)) = (self.steps.get(kept), self.steps.last()) else {
            return true;
        };
        let before = kept.checked_sub(1).and_then(|place| self.steps.get(place));
        let Counts { responses, user_messages, compactions } =
            before.map(|step| step.counts).unwrap_or_default();
        let new = tip.counts;
        let goes_behind = matches!(record.body, Body::MicroCompaction(_)) || record.is_result();
        // Parallel calls of one response and their results are branches, and a
        // response answers all that was said since the last one.
        let is_response = matches!(record.body, Body::Assistant(_));
        let answers =
            new.responses == responses && (new.user_messages == user_messages || is_response);
        if goes_behind || answers || self.response_of(at).is_some() {
            return true;
        }
        if let Some(follows) = self.follows_compaction(at, on) {
            return follows;
        }
        let from = self.requests.partition_point(|request| request.place < kept);
        let part = self.requests.get(from..).unwrap_or_default();
        let known = from.checked_sub(1).and_then(|n| self.requests.get(n));
        if let (Body::Compaction(metadata), Some(last)) = (&record.body, part.last())
            && let Some(size) = metadata.tokens_before
        {
            return !is_nearer(size, known, last);
        }
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
                // One that is of an earlier time; a slash command may also be the first thing
                // after a rewind.
                None => {
                    let (top, tip) = (&self.records[top], &self.records[tip.record]);
                    !top.is_command() || top.header.timestamp <= tip.header.timestamp
                }
            };
        }
        let one_window = new.compactions == compactions;
        let growing = one_window && new.responses > responses + 1;
        sizes.is_some_and(|((one, last), next)| {
            was_sent(known.map(|k| &k.usage), &one.usage, &last.usage, next, growing)
        })
    }
}

/// Whether a prompt is nearer in size to that of the first request than to the last.
fn is_nearer(size: u64, first: Option<&Request>, last: &Request) -> bool {
    let away = |request: &Request| request.usage.prompt().abs_diff(size);
    first.is_some_and(|first| away(first) < away(last))
}

/// Whether the request `next` sent the part between the request `known` and
/// itself, whose own requests run from `one` to `last`.
fn was_sent(known: Option<&Usage>, one: &Usage, last: &Usage, next: &Usage, many: bool) -> bool {
    let more = next.prompt() > last.prompt();
    if more && last.cached() > 0 && next.cache_read >= last.cached() {
        return true;
    }
    // It read the cache up to the part, and not the part.
    let left = known.is_some_and(|k| k.cached() > 0 && next.cache_read >= k.cached());
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

// Which records are parts of one response (how-it-works §2).
//
// A line of the log holds one block. Results of the response's own calls, what
// the harness adds, and lines of another response may stand between two of its
// lines; a response is open until its id no longer comes.

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
    let Body::Assistant(part) = &record.body else { return false };
    let is_end = matches!(&newest.body, Body::Assistant(line) if part.completes(line));
    if let (Some(one), Some(other)) = (newest.request_usage(), record.request_usage())
        && one.prompt() != other.prompt()
        && !is_end
    {
        return false;
    }
    // Calls run while a response is written, so that results may stand within
    // it; text after a result is the answer to it.
    between == Between::default() || between.words == 0 && part.opens_with_call()
}
