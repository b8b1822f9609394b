//! Turns the main chain of a log into a session.

use super::record::{Added, Body, CompactMetadata, Record, Response};
use super::tree::{Responses, Tree};
use crate::formats::anthropic::WireUsage;
use crate::formats::content::{Part, joined};
use crate::formats::exchange::{Calls, Pass, Passes};
use crate::formats::prelude::*;
use crate::relations::hash;

/// Why a record of the conversation is not in the session.
pub(super) const ABANDONED: &str = "record on an abandoned branch";

/// A problem with its line.
type Fault = (u64, Problem);

/// A result and its position.
struct PlacedResult {
    record: usize,
    id: String,
    result: ResultText,
}

/// Builds one session out of the records at `members`; those of a sidechain
/// have a `root`.
pub(super) fn build(
    records: &mut [Record],
    tree: &mut Tree,
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
    facts(builder.records, &chain, &mut builder.draft);
    for &at in &chain {
        let line = builder.records[at].line;
        builder.emit(at).map_err(|problem| (line, problem))?;
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
    results: FxHashMap<String, Vec<PlacedResult>>,
    /// User records off the chain that belong to a call (a skill's text).
    attached: FxHashMap<String, Vec<usize>>,
    /// Records that are in the session, with the index of their message (the
    /// first, where there are several).
    used: FxHashMap<usize, u32>,
    /// Position of each record.
    by_uuid: FxHashMap<String, usize>,
    /// The messages that the last boundary kept apart from those behind it, until its summary
    /// is read, and whether that comes after them.
    kept: (Vec<u32>, bool),
    /// Whether there is a response.
    has_response: bool,
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
            kept: (Vec::new(), false),
            has_response: false,
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

    /// Groups the lines of one response, those off the chain with those on it
    /// (how-it-works §2).
    fn group_responses(&mut self, members: &[usize], chain: &[usize]) {
        let records = &*self.records;
        let mut lines: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut responses = Responses::default();
        for &at in chain {
            let lead = responses.of(records, at).map_or(at, |(lead, _)| lead);
            responses.add(records, at, lead);
            if let Body::Assistant(_) = records[at].body {
                lines.entry(lead).or_default().push(at);
            }
        }
        responses.close();
        for &at in members.iter().filter(|at| !self.on_chain.contains(at)) {
            if let Some((lead, _)) = responses.of(records, at) {
                lines.entry(lead).or_default().push(at);
            }
        }
        lines.values_mut().for_each(|lines| lines.sort_unstable());
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
            let Body::User(parts) = &mut record.body else {
                continue;
            };
            if let Some(call) = &record.header.source_tool_use
                && !on_chain.contains(&at)
            {
                self.attached.entry(call.clone()).or_default().push(at);
            }
            let whole = parts.len() == 1;
            let results = parts.extract_if(.., |part| matches!(part, Part::Result { .. }));
            for (n, part) in results.enumerate() {
                let Part::Result { call, result, .. } = part else { continue };
                let id = if whole { uuid.clone() } else { format!("{uuid}#{}", n + 1) };
                let placed = PlacedResult { record: at, id, result };
                self.results.entry(call.unwrap_or_default()).or_default().push(placed);
            }
        }
    }

    fn emit(&mut self, at: usize) -> Result<(), Problem> {
        let record = &self.records[at];
        match &record.body {
            Body::Assistant(_) if self.used.contains_key(&at) => {}
            Body::Assistant(_) => self.emit_response(at)?,
            Body::User(parts) if record.header.is_compact_summary == Some(true) => {
                let summary = joined(parts);
                self.emit_summary(at, summary);
            }
            Body::User(_) => self.emit_user(at),
            Body::Compaction(_) | Body::MicroCompaction(_) => self.emit_compaction(at)?,
            Body::Added(_) => self.emit_added(at)?,
            Body::Progress(_) | Body::Queue(_) | Body::Other(_) => {}
        }
        Ok(())
    }

    /// What the harness added: words of the user, what was said about the whole
    /// session in front of its first request, what a compaction put back, or a
    /// message at its place.
    fn emit_added(&mut self, at: usize) -> Result<(), Problem> {
        let index = self.draft.next_index();
        self.used.insert(at, index);
        let body = std::mem::replace(&mut self.records[at].body, Body::Other(String::new()));
        let Body::Added(added) = body else {
            return Ok(());
        };
        match added {
            Added::Typed(parts) => {
                let blocks = self.draft.blocks(parts);
                if !blocks.is_empty() {
                    let message = self.message(at, Role::User, blocks);
                    self.draft.push(message);
                }
            }
            Added::Note { text, standing } => {
                let first = !self.has_response && self.draft.session.compactions.is_empty();
                // In front of the first message nothing belongs to one.
                if first && (standing || index == 0) {
                    self.draft.session.preamble.system.push(text);
                } else if self.is_behind_summary() {
                    self.put_back(text)?;
                } else {
                    let message = self.message(at, Role::System, vec![Block::Text { text }]);
                    self.draft.push(message);
                }
            }
            Added::Prompt { system, tools } => self.prompt(system, tools),
        }
        Ok(())
    }

    /// Whether the newest compaction has its summary, and no message came since.
    fn is_behind_summary(&self) -> bool {
        let newest = self.draft.session.compactions.last();
        newest.is_some_and(|c| c.summary.is_some() && c.after == self.draft.next_index())
    }

    /// Adds a text that the agent sent again behind its summary: only the
    /// strategy `recorded` sends it.
    fn put_back(&mut self, text: String) -> Result<(), Problem> {
        self.draft.keep(1, text.len())?;
        if let Some(last) = self.draft.session.compactions.last_mut() {
            if let (true, Some(summary)) = (last.pieces.is_empty(), &last.summary) {
                last.pieces.push(Piece::Text { role: Role::User, text: summary.clone() });
            }
            last.pieces.push(Piece::Text { role: Role::System, text });
        }
        Ok(())
    }

    /// The recorded system prompt, where it is there from the beginning.
    fn prompt(&mut self, system: Vec<String>, tools: Vec<ToolDefinition>) {
        let preamble = &mut self.draft.session.preamble;
        if self.has_response || !preamble.tools.is_empty() {
            let same = system.iter().all(|text| preamble.system.contains(text));
            self.draft.leave_out("system prompt of a later request", u64::from(!same));
            return;
        }
        preamble.system.splice(0..0, system);
        preamble.tools = tools;
    }

    /// The messages of one response, from all its lines, then its results in the
    /// order of its calls (how-it-works §2).
    fn emit_response(&mut self, at: usize) -> Result<(), Problem> {
        let lines = self.responses.remove(&at).unwrap_or_else(|| vec![at]);
        let index = self.draft.next_index();
        let synthetic = self.records[at].is_synthetic();
        self.has_response |= !synthetic;
        let mut calls: Vec<String> = Vec::new();
        let mut known: FxHashSet<String> = FxHashSet::default();
        let mut model = None;
        let mut reported = Reported::default();
        let mut passes = Passes::new();
        for line in lines {
            self.used.insert(line, index);
            let record = &mut self.records[line];
            let Body::Assistant(response) = &mut record.body else {
                continue;
            };
            if !synthetic {
                reported.add(response);
                model = model.or_else(|| response.model.take());
            }
            for part in std::mem::take(&mut response.content) {
                let Part::Call { id: Some(id), name, arguments } = part else {
                    passes.take(part, &mut self.draft);
                    continue;
                };
                if !known.insert(id.clone()) {
                    self.draft.leave_out("repeated tool call", 1);
                    continue;
                }
                calls.push(id.clone());
                passes.add(Some(Block::ToolCall { id, name, arguments }), false);
            }
        }
        let time = self.records[at].header.timestamp;
        let used = reported.calls(model.as_deref());
        let model = used.as_ref().and_then(|calls| calls.model.clone()).or(model);
        let (passes, beside) = passes.finish(used, time);
        self.draft.session.sidechains.extend(beside);
        for (n, pass) in passes.into_iter().enumerate() {
            self.emit_pass(at, n, pass, model.as_deref())?;
        }
        self.emit_results(&calls);
        Ok(())
    }

    /// What a response wrote in one go, behind the summary in front of it.
    fn emit_pass(
        &mut self,
        at: usize,
        n: usize,
        mut pass: Pass,
        model: Option<&str>,
    ) -> Result<(), Problem> {
        let time = self.records[at].header.timestamp;
        if let Some(compaction) = pass.compaction(&self.draft, time) {
            self.draft.compact(compaction)?;
        }
        let mut message = self.message(at, Role::Assistant, pass.blocks);
        if n > 0 {
            message.id += &format!("#{}", n + 1);
        }
        message.synthetic = self.records[at].is_synthetic();
        message.usage = pass.usage;
        if let Some(model) = model {
            self.draft.models.add(model, &message.id);
        }
        let record = &self.records[at];
        if let Body::Assistant(response) = &record.body
            && let Some(id) = &response.id
        {
            let known = hash(&(id, &record.header.request_id, n));
            self.draft.response_ids.insert(message.id.clone(), known);
        }
        self.draft.push(message);
        Ok(())
    }

    fn emit_results(&mut self, calls: &[String]) {
        let mut off_chain = Vec::new();
        for call in calls {
            for placed in self.results.remove(call).into_iter().flatten().enumerate() {
                match placed {
                    (0, first) => {
                        off_chain.push(first.record);
                        self.emit_result(call, first);
                    }
                    _ => self.draft.leave_out("repeated tool result", 1),
                }
            }
            off_chain.extend(self.attached.remove(call).into_iter().flatten());
        }
        // Attachments of a result off the chain follow the results; on the
        // chain they have a position of their own.
        off_chain.retain(|at| !self.on_chain.contains(at));
        off_chain.dedup();
        off_chain.into_iter().for_each(|at| self.emit_user(at));
    }

    fn emit_result(&mut self, call: &str, placed: PlacedResult) {
        let index = self.draft.next_index();
        self.used.entry(placed.record).or_insert(index);
        let record = &self.records[placed.record];
        let PlacedResult { id, result, .. } = placed;
        let (at, call) = (record.header.timestamp, call.to_owned());
        let message = self.draft.result_message(id, call, result, at);
        self.draft.push(message);
    }

    /// The user's words; results of the same record went to their calls.
    fn emit_user(&mut self, at: usize) {
        let Body::User(parts) = &mut self.records[at].body else {
            return;
        };
        let blocks = self.draft.blocks(std::mem::take(parts));
        if blocks.is_empty() {
            return;
        }
        let index = self.draft.next_index();
        self.used.entry(at).or_insert(index);
        let message = self.message(at, Role::User, blocks);
        self.draft.push(message);
    }

    fn message(&self, at: usize, role: Role, blocks: Vec<Block>) -> Message {
        let record = &self.records[at];
        Message::new(record_id(record), role, record.header.timestamp, blocks)
    }

    /// Records a compaction; the messages continue. Nothing was kept unless the
    /// record says so (how-it-works §6).
    fn emit_compaction(&mut self, at: usize) -> Result<(), Problem> {
        let after = self.draft.next_index();
        let record = &self.records[at];
        let mut compaction =
            RecordedCompaction { at: record.header.timestamp, ..self.draft.compaction() };
        match &record.body {
            Body::Compaction(metadata) => {
                compaction.trigger = metadata.trigger;
                compaction.tokens_before = metadata.tokens_before;
                compaction.tokens_after = metadata.tokens_after;
                compaction.duration_ms = metadata.waited_ms;
                let anchor = metadata.anchor.as_ref();
                let is_behind = anchor.is_some() && anchor == record.header.uuid.as_ref();
                let mut kept = self.preserved(metadata, after);
                self.draft.keep(kept.len(), 0)?;
                let from = &mut compaction.kept_from;
                while !is_behind && kept.pop_if(|last| *last + 1 == *from).is_some() {
                    *from -= 1;
                }
                self.kept = (kept, is_behind);
            }
            Body::MicroCompaction(metadata) => {
                // Clearing results removes no messages: what was sent before still is.
                let before = self.draft.session.compactions.last();
                compaction.kept_from = before.map_or(0, |c| c.kept_from);
                compaction.trigger = metadata.trigger;
                compaction.tokens_before = metadata.tokens_before;
                compaction.cleared = metadata.cleared.clone();
            }
            _ => return Ok(()),
        }
        self.used.insert(at, after);
        self.draft.session.compactions.push(compaction);
        Ok(())
    }

    /// The messages that a boundary kept after so many, in order. Records that are not messages
    /// of the conversation are skipped.
    ///
    /// A partial compaction keeps records verbatim. They stand behind their anchor: the summary,
    /// where what came before them was summarised, or the boundary itself, where what came after
    /// them was.
    fn preserved(&self, metadata: &CompactMetadata, after: u32) -> Vec<u32> {
        let index_of = |uuid: &String| self.used.get(self.by_uuid.get(uuid)?).copied();
        let mut messages: Vec<u32> = match &metadata.head {
            _ if !metadata.listed.is_empty() => {
                metadata.listed.iter().filter_map(index_of).collect()
            }
            Some(head) => {
                let tail = metadata.tail.as_ref().and_then(index_of);
                let end = tail.map_or(after, |tail| tail + 1);
                index_of(head).map_or_else(Vec::new, |head| (head..end).collect())
            }
            None => Vec::new(),
        };
        messages.retain(|&message| message < after);
        messages.sort_unstable();
        messages.dedup();
        messages
    }

    /// Adds the summary to its compaction; without a compaction before it, the
    /// session continues another file and begins with the summary.
    fn emit_summary(&mut self, at: usize, summary: String) {
        let compaction = self.draft.compaction();
        self.used.insert(at, compaction.after);
        let compactions = &mut self.draft.session.compactions;
        match compactions.last_mut() {
            Some(last) if last.summary.is_none() && last.cleared.is_empty() => {
                let (kept, is_behind) = std::mem::take(&mut self.kept);
                last.pieces = kept.into_iter().map(Piece::Message).collect();
                if !last.pieces.is_empty() {
                    let at = if is_behind { last.pieces.len() } else { 0 };
                    let text = summary.clone();
                    last.pieces.insert(at, Piece::Text { role: Role::User, text });
                }
                last.summary = Some(summary);
            }
            _ => compactions.push(RecordedCompaction {
                summary: Some(summary),
                at: self.records[at].header.timestamp,
                ..compaction
            }),
        }
    }

    /// Handles the results without a call in the session: those on branches
    /// are left out, and so is a result whose record says that the part before
    /// it is not in the file.
    fn unanswered(&mut self) -> Result<(), Fault> {
        let results = std::mem::take(&mut self.results);
        let mut rest: Vec<(String, PlacedResult)> = results
            .into_iter()
            .flat_map(|(call, placed)| placed.into_iter().map(move |p| (call.clone(), p)))
            .filter(|(_, placed)| self.on_chain.contains(&placed.record))
            .collect();
        rest.sort_by_key(|(_, placed)| placed.record);
        for (call, placed) in rest {
            if !self.tree.dangling[placed.record] {
                let line = self.records[placed.record].line;
                return Err((line, Problem::ResultWithoutCall(call)));
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
                Body::Progress(_) => "progress record",
                Body::Queue(_) => "queue-operation record",
                _ if self.on_chain.contains(&at) => "empty record",
                _ => ABANDONED,
            };
            self.draft.leave_out(reason, 1);
        }
    }
}

/// What the lines of a response report of its tokens: the newest one with the
/// largest output (earlier lines hold a placeholder), final once a line has a
/// stop reason. That line's prompt replaces an estimate.
#[derive(Default)]
struct Reported {
    wire: Option<WireUsage>,
    output_final: bool,
}

impl Reported {
    fn add(&mut self, line: &Response) {
        let Some(wire) = &line.usage else { return };
        let is_end = line.is_final && !self.output_final;
        self.output_final |= line.is_final;
        let is_newer = |known: &WireUsage| {
            wire.output() >= known.output()
                || is_end && wire.usage().prompt() != known.usage().prompt()
        };
        if self.wire.as_ref().is_none_or(is_newer) {
            self.wire = Some(wire.clone());
        }
    }

    /// The requests that they report.
    fn calls(&self, model: Option<&str>) -> Option<Calls> {
        let mut calls = self.wire.as_ref()?.calls(model);
        if let Some(last) = calls.own.last_mut() {
            last.output_final = self.output_final;
        }
        Some(calls)
    }
}

// What the records of a session say about it.

fn record_id(record: &Record) -> String {
    let uuid = record.header.uuid.clone();
    uuid.unwrap_or_else(|| format!("line-{}", record.line))
}

/// Project and the values that the records carry about themselves.
fn facts(records: &[Record], chain: &[usize], draft: &mut Draft) {
    for &at in chain {
        let header = &records[at].header;
        let own =
            [&header.session_id, &header.cwd, &header.version, &header.git_branch, &header.slug];
        draft.metadata.extend(own.into_iter().flatten().filter(|v| !v.is_empty()).cloned());
        if let Some(cwd) = header.cwd.as_ref().filter(|cwd| !cwd.is_empty()) {
            draft.worked_in(cwd.clone());
        }
        if let Body::Assistant(response) = &records[at].body
            && !records[at].is_synthetic()
        {
            draft.metadata.extend(response.model.clone());
        }
    }
}

/// What subagents asked their models, by merged response (how-it-works §2), in
/// the order of the files. Responses without usage were not billed.
#[derive(Default)]
pub(super) struct Asides {
    responses: Vec<(Option<Timestamp>, Option<String>, Reported)>,
    /// The place of each, by its id and the size of its prompt.
    known: FxHashMap<(String, u64), usize>,
    /// The place of those that are still open, by id.
    open: FxHashMap<String, usize>,
}

impl Asides {
    /// Adds the requests of a subagent's records.
    pub(super) fn add<'a>(&mut self, records: impl Iterator<Item = &'a Record>) {
        for record in records {
            let response = match &record.body {
                Body::Assistant(response) if !record.is_synthetic() => response,
                Body::Progress(response) => response,
                _ => continue,
            };
            let Some(used) = response.request_usage() else { continue };
            let next = self.responses.len();
            let place = response.id.clone().map_or(next, |id| {
                let began = self.open.get(&id).copied().filter(|_| !response.is_open);
                let key = (id.clone(), used.prompt());
                let place = *self.known.entry(key).or_insert(began.unwrap_or(next));
                if response.is_open {
                    self.open.insert(id, place);
                } else {
                    self.open.remove(&id);
                }
                place
            });
            if place == next {
                let (at, model) = (record.header.timestamp, response.model.clone());
                self.responses.push((at, model, Reported::default()));
            }
            self.responses[place].2.add(response);
        }
    }

    pub(super) fn take(self) -> Vec<SidechainRequest> {
        let requests = |(at, model, reported): (_, Option<String>, Reported)| {
            let calls = reported.calls(model.as_deref());
            let model = calls.as_ref().and_then(|calls| calls.model.clone());
            let (passes, mut requests) = Passes::new().finish(calls, at);
            let usage = passes.into_iter().filter_map(|pass| pass.usage);
            requests.extend(usage.map(|usage| SidechainRequest {
                at,
                model: model.clone(),
                usage,
            }));
            requests
        };
        self.responses.into_iter().flat_map(requests).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{LoadOptions, load_reader};

    /// Ids, roles and texts of a session in which the user's record holds these parts
    /// behind a call `c`.
    fn read(parts: serde_json::Value) -> Vec<(String, &'static str, String)> {
        let record = |id: &str, parent: Option<&str>, role: &str, content: serde_json::Value| {
            json!({
                "type": role, "uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
                "cwd": "/w", "version": "2.1.0", "timestamp": "2026-01-05T09:00:01.000Z",
                "message": {"role": role, "content": content, "id": format!("msg-{id}"), "model": "m"},
            })
        };
        let call = json!([{"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "a"}}]);
        let records = [
            record("u1", None, "user", json!("Go.")),
            record("a1", Some("u1"), "assistant", call),
            record("u2", Some("a1"), "user", parts),
        ];
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        let options = LoadOptions::default();
        let mut dataset = load_reader("s.jsonl", text.as_bytes(), &options).unwrap();
        let messages = dataset.sessions.remove(0).messages.into_iter().skip(2);
        let shown = messages.map(|message| {
            let text =
                message.tool_result().map_or(message.first_text(), |(_, text)| text).to_owned();
            (message.id.clone(), message.role.as_str(), text)
        });
        shown.collect()
    }

    /// What the user says beside a result is a message of its own behind it.
    #[test]
    fn text_beside_result_belongs_to_the_user() {
        let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "4210"});
        let words = json!({"type": "text", "text": "Look at b as well."});
        let of = |id: &str, role, text: &str| (id.to_owned(), role, text.to_owned());
        assert_eq!(read(json!([result])), [of("u2", "tool", "4210")]);
        let both = [of("u2#1", "tool", "4210"), of("u2", "user", "Look at b as well.")];
        assert_eq!(read(json!([result, words])), both);
        assert_eq!(read(json!([words, result])), both);
    }
}
