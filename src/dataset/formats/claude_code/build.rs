//! Turns the main chain of a log into a transcript.

use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{self, is_synthetic, record_id};
use super::kept::Kept;
use super::parts;
use super::tree::Tree;
use super::wire::{Body, Part, Record};
use crate::dataset::check::Draft;
use crate::dataset::error::Problem;
use crate::dataset::formats::content::{Content, result_message, result_text};
use crate::model::{Block, Message, RecordedCompaction, Role};

/// Why a record of the conversation is not in the transcript.
pub(super) const ABANDONED: &str = "record on an abandoned branch";

/// A problem with its line.
type Fault = (u64, Problem);

/// A result and its position.
struct Placed {
    record: usize,
    part: Part,
    id: String,
}

/// Builds one transcript out of the records at `members`; those of a sidechain
/// have a `root`.
pub(super) fn build(
    records: &mut [Record],
    tree: &Tree,
    members: &[usize],
    root: Option<usize>,
) -> Result<Draft, Fault> {
    let chain = tree
        .main_chain(records, members, root)
        .map_err(|problem| (members.first().map_or(1, |&m| records[m].line), problem))?;
    // A sidechain may branch off the main chain; only its own records count.
    let own: FxHashSet<usize> = members.iter().copied().collect();
    let chain: Vec<usize> = chain.into_iter().filter(|at| own.contains(at)).collect();
    let mut builder = Builder::new(records, tree, members, &chain);
    facts::facts(builder.records, &chain, &mut builder.draft.transcript);
    for &at in &chain {
        builder.emit(at)?;
    }
    builder.unanswered()?;
    builder.count_left_out(members);
    Ok(builder.draft)
}

struct Builder<'a> {
    records: &'a mut [Record],
    tree: &'a Tree,
    draft: Draft,
    on_chain: FxHashSet<usize>,
    /// Lines of each response on the chain, by its first line there.
    responses: FxHashMap<usize, Vec<usize>>,
    /// Results by the call that they answer.
    results: FxHashMap<String, Vec<Placed>>,
    /// User records off the chain that belong to a call (a skill's text).
    attached: FxHashMap<String, Vec<usize>>,
    /// Records that are in the transcript, with the index of their message (the
    /// first, where there are several).
    used: FxHashMap<usize, u32>,
    /// Position of each record.
    by_uuid: FxHashMap<String, usize>,
    /// What the last boundary kept, until its summary is read.
    kept: Option<Kept>,
}

impl<'a> Builder<'a> {
    fn new(
        records: &'a mut [Record],
        tree: &'a Tree,
        members: &[usize],
        chain: &[usize],
    ) -> Builder<'a> {
        let by_uuid = members.iter().filter_map(|&at| Some((records[at].header.uuid.clone()?, at)));
        let mut builder = Builder {
            by_uuid: by_uuid.collect(),
            kept: None,
            records,
            tree,
            draft: Draft::default(),
            on_chain: chain.iter().copied().collect(),
            responses: FxHashMap::default(),
            results: FxHashMap::default(),
            attached: FxHashMap::default(),
            used: FxHashMap::default(),
        };
        builder.group_responses(members, chain);
        builder.collect_results(members, chain);
        builder
    }

    /// Groups the lines of one response, also those off the chain: parallel
    /// calls put them on branches of their own (semantics §2).
    fn group_responses(&mut self, members: &[usize], chain: &[usize]) {
        let response = |at: usize| match &self.records[at].body {
            Body::Assistant(response) => response.id.as_deref(),
            _ => None,
        };
        let mut first: FxHashMap<&str, usize> = FxHashMap::default();
        for &at in chain {
            if let Some(id) = response(at) {
                first.entry(id).or_insert(at);
            }
        }
        let mut lines: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for &at in members {
            if let Some(&lead) = response(at).and_then(|id| first.get(id)) {
                lines.entry(lead).or_default().push(at);
            }
        }
        self.responses = lines;
    }

    /// Takes the results out of their records, those on the chain first, so
    /// that a branch cannot replace what the conversation holds.
    fn collect_results(&mut self, members: &[usize], chain: &[usize]) {
        let on_chain = &self.on_chain;
        let off = members.iter().filter(|at| !on_chain.contains(at));
        for at in chain.iter().chain(off).copied() {
            let record = &mut self.records[at];
            let uuid = record_id(record);
            let Body::User(content) = &mut record.body else {
                continue;
            };
            if let Some(call) = &record.header.source_tool_use
                && !on_chain.contains(&at)
            {
                self.attached.entry(call.clone()).or_default().push(at);
            }
            let Content::Parts(parts) = content else {
                continue;
            };
            let whole = parts.len() == 1;
            let results = parts.extract_if(.., |part| part.kind == "tool_result");
            for (n, part) in results.enumerate() {
                let id = if whole { uuid.clone() } else { format!("{uuid}#{}", n + 1) };
                let call = part.tool_use_id.clone().unwrap_or_default();
                let placed = Placed { record: at, part, id };
                self.results.entry(call).or_default().push(placed);
            }
        }
    }

    fn emit(&mut self, at: usize) -> Result<(), Fault> {
        let record = &mut self.records[at];
        match &mut record.body {
            Body::Assistant(_) if self.used.contains_key(&at) => Ok(()),
            Body::Assistant(_) => self.emit_response(at),
            Body::User(content) if record.header.is_compact_summary == Some(true) => {
                let summary = parts::plain_text(std::mem::take(content));
                self.emit_summary(at, summary);
                Ok(())
            }
            Body::User(_) => self.emit_user(at),
            Body::Compaction(_) | Body::MicroCompaction(_) => {
                let line = record.line;
                self.emit_compaction(at).map_err(|problem| (line, problem))
            }
            Body::Other(_) => Ok(()),
        }
    }

    /// One message from all lines of a response, then its results in the order
    /// of its calls (semantics §2).
    fn emit_response(&mut self, at: usize) -> Result<(), Fault> {
        let lines = self.responses.remove(&at).unwrap_or_else(|| vec![at]);
        let index = self.draft.next_index();
        let mut message = self.message(at, Role::Assistant, Vec::new());
        message.synthetic = is_synthetic(&self.records[at]);
        let mut calls: Vec<String> = Vec::new();
        let mut known: FxHashSet<String> = FxHashSet::default();
        for line in lines {
            self.used.insert(line, index);
            let record = &mut self.records[line];
            let Body::Assistant(response) = &mut record.body else {
                continue;
            };
            if !message.synthetic {
                message.usage = parts::merge_usage(message.usage, response);
            }
            let content = std::mem::take(&mut response.content);
            let blocks = parts::blocks(content, &mut self.draft);
            for block in blocks.map_err(|problem| (record.line, problem))? {
                if let Block::ToolCall { id, .. } = &block {
                    if !known.insert(id.clone()) {
                        self.draft.leave_out("repeated tool call", 1);
                        continue;
                    }
                    calls.push(id.clone());
                }
                message.blocks.push(block);
            }
        }
        self.draft.push(message, self.records[at].line);
        self.emit_results(&calls)
    }

    fn emit_results(&mut self, calls: &[String]) -> Result<(), Fault> {
        let mut behind = Vec::new();
        for call in calls {
            for placed in self.results.remove(call).into_iter().flatten().enumerate() {
                match placed {
                    (0, first) => {
                        behind.push(first.record);
                        self.emit_result(call, first);
                    }
                    _ => self.draft.leave_out("repeated tool result", 1),
                }
            }
            behind.extend(self.attached.remove(call).into_iter().flatten());
        }
        // Attachments of a result off the chain follow the results; on the
        // chain they have a position of their own.
        behind.retain(|at| !self.on_chain.contains(at));
        behind.dedup();
        behind.into_iter().try_for_each(|at| self.emit_user(at))
    }

    fn emit_result(&mut self, call: &str, placed: Placed) {
        let index = self.draft.next_index();
        self.used.entry(placed.record).or_insert(index);
        let is_error = placed.part.is_error == Some(true);
        let content = placed.part.content.unwrap_or_default();
        let read = |part: Part| (part.kind, part.text);
        let text = result_text(content, read, "image", &mut self.draft);
        let record = &self.records[placed.record];
        let at = record.header.timestamp;
        let message = result_message(placed.id, call.to_owned(), text, is_error, at);
        self.draft.push(message, record.line);
    }

    /// The user's words; results of the same record went to their calls.
    fn emit_user(&mut self, at: usize) -> Result<(), Fault> {
        let record = &mut self.records[at];
        let line = record.line;
        let Body::User(content) = &mut record.body else {
            return Ok(());
        };
        let content = std::mem::take(content);
        let blocks = parts::blocks(content, &mut self.draft).map_err(|problem| (line, problem))?;
        if blocks.is_empty() {
            return Ok(());
        }
        let index = self.draft.next_index();
        self.used.entry(at).or_insert(index);
        let message = self.message(at, Role::User, blocks);
        self.draft.push(message, line);
        Ok(())
    }

    fn message(&self, at: usize, role: Role, blocks: Vec<Block>) -> Message {
        Message {
            id: record_id(&self.records[at]),
            role,
            at: self.records[at].header.timestamp,
            blocks,
            usage: None,
            synthetic: false,
            broadcast: false,
        }
    }

    /// Records a compaction; the messages continue. Nothing was kept unless the
    /// record says so (semantics §6).
    fn emit_compaction(&mut self, at: usize) -> Result<(), Problem> {
        let after = self.draft.next_index();
        let record = &self.records[at];
        let mut compaction = RecordedCompaction {
            after,
            kept_from: after,
            at: record.header.timestamp,
            ..RecordedCompaction::default()
        };
        match &record.body {
            Body::Compaction(metadata) => {
                compaction.trigger = parts::trigger(metadata.trigger.as_deref());
                compaction.tokens_before = metadata.pre_tokens;
                let own = record.header.uuid.as_deref();
                let kept = Kept::of(metadata, own, after, |uuid| self.index_of(uuid));
                self.draft.keep(kept.len(), 0)?;
                compaction.kept_from = kept.tail_from(after);
                self.kept = Some(kept);
            }
            Body::MicroCompaction(metadata) => {
                // Clearing results removes no messages: what was sent before still is.
                let before = self.draft.transcript.compactions.last();
                compaction.kept_from = before.map_or(0, |c| c.kept_from);
                compaction.trigger = parts::trigger(metadata.trigger.as_deref());
                compaction.tokens_before = metadata.pre_tokens;
                compaction.cleared = metadata.compacted_tool_ids.clone();
            }
            _ => return Ok(()),
        }
        self.used.insert(at, after);
        self.draft.transcript.compactions.push(compaction);
        Ok(())
    }

    fn index_of(&self, uuid: &str) -> Option<u32> {
        self.by_uuid.get(uuid).and_then(|at| self.used.get(at)).copied()
    }

    /// Adds the summary to its compaction; without a compaction before it, the
    /// session continues another file and begins with the summary.
    fn emit_summary(&mut self, at: usize, summary: String) {
        let after = self.draft.next_index();
        self.used.insert(at, after);
        let compactions = &mut self.draft.transcript.compactions;
        match compactions.last_mut() {
            Some(last) if last.summary.is_none() && last.cleared.is_empty() => {
                let kept = self.kept.take().unwrap_or_default();
                last.pieces = kept.pieces(last.kept_from, &summary);
                last.summary = Some(summary);
            }
            _ => compactions.push(RecordedCompaction {
                after,
                kept_from: after,
                summary: Some(summary),
                at: self.records[at].header.timestamp,
                ..RecordedCompaction::default()
            }),
        }
    }

    /// Handles the results without a call in the transcript: those on branches
    /// are left out, and so is a result whose record says that the part before
    /// it is not in the file.
    fn unanswered(&mut self) -> Result<(), Fault> {
        let results = std::mem::take(&mut self.results);
        let mut rest: Vec<(String, Placed)> = results
            .into_iter()
            .flat_map(|(call, placed)| placed.into_iter().map(move |p| (call.clone(), p)))
            .filter(|(_, placed)| self.on_chain.contains(&placed.record))
            .collect();
        rest.sort_by_key(|(_, placed)| placed.record);
        for (call, placed) in rest {
            if !self.tree.is_dangling(placed.record) {
                let line = self.records[placed.record].line;
                return Err((line, Problem::ResultWithoutCall { call }));
            }
            self.used.entry(placed.record).or_default();
            let reason = "tool result whose call is not in the file";
            self.draft.leave_out(reason, 1);
        }
        Ok(())
    }

    fn count_left_out(&mut self, members: &[usize]) {
        for &at in members.iter().filter(|at| !self.used.contains_key(at)) {
            let reason = match &self.records[at].body {
                Body::Other(reason) => reason.as_str(),
                _ if self.on_chain.contains(&at) => "empty record",
                _ => ABANDONED,
            };
            self.draft.leave_out(reason, 1);
        }
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
