//! Sessions of OpenCode: the JSON document that `opencode export` writes, or the
//! store of OpenCode and Kilo, whose rows are its parts.
//!
//! What was sent follows OpenCode's own conversion of a session into model
//! messages (anomalyco/opencode, `packages/opencode/src/session/message-v2.ts`).

mod store;

use std::collections::BTreeMap;

use super::content::{below, each};
use super::prelude::*;

/// The text that OpenCode sends for a call that did not finish.
const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// The text that OpenCode sends for a command that a subagent ran.
const SUBTASK: &str = "The following tool was executed by the user";

/// The format of sessions exported by OpenCode.
pub(super) const FORMAT: Format = Format {
    name: "opencode",
    describe: "OpenCode session (JSON of `opencode export`, or opencode.db, also of OpenCode 2; kilo.db of Kilo)",
    tried: Tried::On {
        files: 5,
        compared: "messages, requests, calls with results, largest prompt, compactions; no store",
    },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    // A scrubber may have replaced the ids.
    let is_export = |record: &Json| {
        let id = record.pointer("/info/id").and_then(Json::as_str);
        id.is_some_and(|id| id.starts_with("ses_")) && record.get("messages").is_some()
    };
    head.has(&["/messages/0/info/role /info/id", "/messages /info/projectID /info/id"])
        || head.any(is_export)
        || store::is_store(head)
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    if source.is_database()? {
        return store::read(source, take);
    }
    let export = source.document()?;
    let draft = source.whole(exported(source.stem(), Fields(export)))?;
    take(source, draft)
}

fn exported(id: &str, mut export: Fields) -> Result<Draft, Problem> {
    let own = export.need("/info")?;
    let mut items = Vec::new();
    each(export.need("/messages")?, "/messages", |_, mut message| {
        let parts: Vec<Json> = message.take("/parts")?.unwrap_or_default();
        let info = Info::read(message.need("/info")?);
        items.push(Item::Message(info.map_err(|problem| below("/info", problem))?, parts));
        Ok(())
    })?;
    Reader::read(id, Fields(own), items)
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// Index of the first message at or after each of the export's messages.
    index_of: FxHashMap<String, u32>,
    /// Number of calls.
    called: u64,
    /// Questions for a summary that have no answer yet.
    summary_requests: FxHashMap<String, SummaryRequest>,
    /// Calls whose output was pruned, by the time of the pruning.
    pruned: BTreeMap<Timestamp, Vec<String>>,
    /// The start time of each message.
    begun: Vec<Option<Timestamp>>,
}

impl Reader {
    fn read(id: &str, own: Fields, items: Vec<Item>) -> Result<Draft, Problem> {
        let mut reader = Reader { draft: Draft::named(id), ..Reader::default() };
        reader.session(own)?;
        let last = items.len().saturating_sub(1);
        for (at, item) in items.into_iter().enumerate() {
            let (id, is_last) = (item.id().to_owned(), at == last);
            let read = match item {
                Item::Message(info, parts) => reader.message(info, parts, is_last),
                Item::Entry(entry) => reader.entry(entry, is_last),
            };
            read.map_err(|problem| below(&id, problem))?;
        }
        reader.prune();
        Ok(reader.draft)
    }

    fn session(&mut self, mut session: Fields) -> Result<(), Problem> {
        let folder: Option<String> = session.take("/directory")?;
        for key in ["/id", "/slug", "/projectID", "/parentID", "/version"] {
            let own = session.take(key)?.filter(|value: &String| !value.is_empty());
            self.draft.metadata.extend(own);
        }
        self.draft.session.project = folder.as_deref().and_then(project_of);
        self.folder(folder);
        Ok(())
    }

    fn folder(&mut self, folder: Option<String>) {
        // A session outside a repository has the root as its worktree.
        let folder = folder.filter(|folder| folder.len() > 1);
        folder.into_iter().for_each(|folder| self.draft.worked_in(folder));
    }

    fn message(&mut self, mut info: Info, parts: Vec<Json>, is_last: bool) -> Result<(), Problem> {
        let index = self.draft.next_index();
        self.index_of.entry(info.id.clone()).or_insert(index);
        info.id = self.draft.free_id(Some(info.id));
        match info.role.as_str() {
            "user" => self.user(&info, parts),
            "assistant" if info.is_summary() && self.is_finished(&info) => {
                self.summary(&info, parts)
            }
            "assistant" => self.assistant(info, parts, is_last),
            _ => Err(Problem::UnknownRole(info.role)),
        }
    }

    fn push(&mut self, message: Message, begun: Option<Timestamp>) {
        self.begun.push(begun);
        self.draft.push(message);
    }

    /// The user's message. A question for a summary waits for its answer.
    fn user(&mut self, info: &Info, parts: Vec<Json>) -> Result<(), Problem> {
        let mut turn = Turn::new(Role::User);
        let is_question = |part: &&Json| part.get("type").is_some_and(|kind| kind == "compaction");
        if let Some(part) = parts.iter().find(is_question) {
            self.request_summary(info, part);
            self.draft.leave_out("part beside a question for a summary", parts.len() as u64 - 1);
            return Ok(());
        }
        for part in parts {
            let mut part = Fields(part);
            let kind: String = part.need("/type")?;
            match kind.as_str() {
                "text" if part.take("/ignored")? == Some(true) => {
                    self.draft.leave_out("text that was not sent", 1);
                }
                "text" => turn.text(part.need::<String>("/text")?),
                "file" => {
                    let mime: Option<String> = part.take("/mime")?;
                    self.file(mime.unwrap_or_default(), &mut turn.blocks);
                }
                "subtask" => turn.text(SUBTASK),
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        self.said(info, turn);
        Ok(())
    }

    /// Adds what was said in the user's name, or as system text.
    fn said(&mut self, info: &Info, turn: Turn) {
        if turn.blocks.is_empty() {
            self.draft.leave_out("empty message", 1);
        } else {
            let message = Message::new(info.id.clone(), turn.role, info.created, turn.blocks);
            self.push(message, info.created);
        }
    }

    /// Texts and folders become text parts of their own.
    fn file(&mut self, mime: String, blocks: &mut Vec<Block>) {
        match mime.as_str() {
            "text/plain" | "application/x-directory" => {}
            mime if mime.starts_with("image/") => {
                blocks.push(Block::Image { media_type: Some(mime.to_owned()) });
            }
            _ => self.draft.leave_out("file part without text", 1),
        }
    }

    /// A response of one or more steps, each a request of its own.
    fn assistant(&mut self, info: Info, parts: Vec<Json>, is_last: bool) -> Result<(), Problem> {
        let is_output = |part: &Json| {
            let kind = part.get("type").and_then(Json::as_str);
            !matches!(kind, Some("step-start" | "reasoning"))
        };
        // A failed response is not sent again, unless it was interrupted.
        let is_aborted = info.own.text("/error/name") == Some("MessageAbortedError");
        if info.has_failed() && !(is_aborted && parts.iter().any(is_output)) {
            self.draft.leave_out("response that failed", 1);
            return Ok(());
        }
        self.unanswered(info.parent.as_deref());
        self.wrote(&info);
        for key in ["/path/cwd", "/path/root"] {
            self.folder(info.own.text(key).map(str::to_owned));
        }
        self.draft.system_prompt(info.system());
        let steps = steps(parts);
        let is_only = steps.len() == 1;
        for (number, step) in steps.into_iter().enumerate() {
            let id = match number {
                0 => info.id.clone(),
                _ => format!("{}#{}", info.id, number + 1),
            };
            let whole = info.own.0.get("tokens").filter(|_| is_only && !info.has_failed());
            self.step(id, &info, step, whole, false, is_last)?;
        }
        Ok(())
    }

    fn wrote(&mut self, info: &Info) {
        if let Some(model) = &info.model {
            self.draft.written_by(model.clone(), &info.id);
        }
    }

    /// One request. Its tokens may be those of the `whole` message, and its reasoning be counted
    /// apart.
    fn step(
        &mut self,
        id: String,
        info: &Info,
        parts: Vec<Json>,
        whole: Option<&Json>,
        is_apart: bool,
        is_last: bool,
    ) -> Result<(), Problem> {
        let (mut turn, mut results) = (Turn::new(Role::Assistant), Vec::new());
        let mut tokens: Option<Json> = None;
        let mut is_asked = whole.is_none();
        for part in parts {
            let mut part = Fields(part);
            let kind: String = part.need("/type")?;
            is_asked |= kind != "tool";
            match kind.as_str() {
                "text" => turn.text(part.need::<String>("/text")?),
                "reasoning" => {
                    let text = part.take("/text")?.unwrap_or_default();
                    turn.blocks.push(Block::Reasoning { text });
                }
                "tool" => {
                    let (call, result) = self.tool(part, is_last)?;
                    turn.blocks.push(call);
                    results.extend(result);
                }
                "step-start" => {}
                "step-finish" => tokens = part.take("/tokens")?,
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        let output_final = tokens.is_some() || is_apart || info.completed.is_some();
        let usage = self.usage(tokens.as_ref().or(whole), is_apart);
        let usage = usage.map(|usage| Usage { output_final, ..usage });
        if turn.blocks.is_empty() && usage.is_none() {
            self.draft.leave_out("empty message", 1);
            return Ok(());
        }
        let message = Message::new(id, Role::Assistant, info.ended(), turn.blocks);
        // A command of the user that starts a subagent is a call without a step, and no model
        // wrote it.
        let synthetic = !is_asked && usage.is_none();
        self.push(Message { usage, synthetic, ..message }, info.created);
        results.into_iter().for_each(|result| self.push(result, info.created));
        Ok(())
    }

    /// A call, with its result where there is one.
    fn tool(
        &mut self,
        mut part: Fields,
        is_last: bool,
    ) -> Result<(Block, Option<Message>), Problem> {
        let (name, call): (String, String) = (part.need("/tool")?, part.need("/callID")?);
        let own: Option<String> = part.take("/id")?;
        let mut state = Fields(part.need("/state")?);
        self.called += 1;
        // A scrubber may have made several ids equal.
        let own = own.unwrap_or_else(|| format!("result-{}", self.called));
        let own = self.draft.free_id(Some(own));
        // Some providers number the calls of each response from the beginning.
        let is_known = self.draft.newest_call(&call).is_some();
        let call = self.draft.free_call(if is_known { own.clone() } else { call });
        let arguments = state.take("/input")?.unwrap_or_else(|| serde_json::json!({}));
        let block = Block::ToolCall { id: call.clone(), name, arguments };
        if let Some(at) = time(&mut state, "/time/compacted")? {
            self.pruned.entry(at).or_default().push(call.clone());
        }
        let at = time(&mut state, "/time/end")?;
        let result = self
            .result(state, is_last)?
            .map(|result| self.draft.result_message(own, call, result, at));
        Ok((block, result))
    }

    /// The result. A call that is still running has none.
    fn result(&mut self, mut state: Fields, is_last: bool) -> Result<Option<ResultText>, Problem> {
        let failed = |text| ResultText { is_error: true, ..ResultText::new(text, 0) };
        let status: String = state.need("/status")?;
        Ok(match status.as_str() {
            "completed" => {
                let output: String = state.need("/output")?;
                let files: Vec<Json> = state.take("/attachments")?.unwrap_or_default();
                let mimes = files.iter().filter_map(|file| file.get("mime")?.as_str());
                let pictures = mimes.filter(|mime| mime.starts_with("image/")).count();
                let others = files.len() - pictures;
                self.draft.leave_out("file part without text", others as u64);
                Some(ResultText::new(output, pictures as u32))
            }
            "error" => {
                let is_cut = state.take("/metadata/interrupted")? == Some(Json::Bool(true));
                let partial = state.text("/metadata/output").filter(|_| is_cut);
                let text = partial.map(str::to_owned).or(state.take("/error")?);
                let missing = || Problem::shape("parts", "a part of type tool lacks `error`");
                Some(failed(text.ok_or_else(missing)?))
            }
            "pending" | "running" if is_last => None,
            "pending" | "running" => Some(failed(INTERRUPTED.to_owned())),
            other => {
                let message = format!("unknown status `{other}` of a tool call");
                return Err(Problem::shape("parts", message));
            }
        })
    }

    fn usage(&mut self, tokens: Option<&Json>, is_apart: bool) -> Option<Usage> {
        let counts = counts(tokens.filter(|tokens| !tokens.is_null())?, is_apart);
        self.draft.leave_out("token counts that are none", u64::from(counts.is_none()));
        let [input, cache_read, cache_write_5m, output] = counts?;
        let usage = disjoint(input, cache_read, cache_write_5m, output);
        (usage.prompt() > 0 || output > 0).then_some(usage)
    }
}

/// The parts of each step. Parts before the first step belong to it.
fn steps(parts: Vec<Json>) -> Vec<Vec<Json>> {
    let mut steps: Vec<Vec<Json>> = vec![Vec::new()];
    let mut begun = false;
    for part in parts {
        let starts = part.get("type").is_some_and(|kind| kind == "step-start");
        if starts && std::mem::replace(&mut begun, true) {
            // There may be very many of one part each, and room was made for four.
            steps.last_mut().expect("there is always one").shrink_to_fit();
            steps.push(Vec::new());
        }
        steps.last_mut().expect("there is always one").push(part);
    }
    steps
}

// Summaries and pruned outputs of an OpenCode session (how-it-works §6).
//
// A compaction is a user message with a part of that type and an answer to it
// marked as a summary. Both stand in front of what was kept from then on, the
// question as a literal text (anomalyco/opencode, `message-v2.ts`,
// `filterCompacted` and `toModelMessages`).

/// The question with which OpenCode asks for a summary.
const QUESTION: &str = "What did we do so far?";

/// A question for a summary.
struct SummaryRequest {
    id: String,
    at: Option<Timestamp>,
    trigger: RecordedTrigger,
    /// The message of the export from which on everything was kept.
    tail: Option<String>,
}

impl Reader {
    /// Records a question. One that has no answer yet is kept as it was sent.
    fn request_summary(&mut self, info: &Info, part: &Json) {
        // Whether the agent's own threshold triggered it, and the first message that it kept.
        let trigger = match part.get("auto").and_then(Json::as_bool) {
            Some(true) => RecordedTrigger::Auto,
            Some(false) => RecordedTrigger::Manual,
            None => RecordedTrigger::Unknown,
        };
        let tail = part.get("tail_start_id").and_then(Json::as_str).map(str::to_owned);
        let request = SummaryRequest { id: info.id.clone(), at: info.created, trigger, tail };
        self.summary_requests.insert(info.id.clone(), request);
    }

    /// Handles a question that was not answered by a summary, which was sent as
    /// a message.
    fn unanswered(&mut self, parent: Option<&str>) {
        if let Some(request) = parent.and_then(|parent| self.summary_requests.remove(parent)) {
            let blocks = vec![Block::Text { text: QUESTION.to_owned() }];
            self.push(Message::new(request.id, Role::User, request.at, blocks), request.at);
        }
    }

    /// Whether a summary is complete; a live session may be cut off.
    fn is_finished(&self, info: &Info) -> bool {
        let mut asked = info.parent.iter();
        let is_asked = asked.any(|parent| self.summary_requests.contains_key(parent));
        // Until 2025 there was no question, and no finish reason.
        !is_asked || info.own.0.get("finish").is_some_and(|finish| !finish.is_null())
    }

    /// A compaction: its summary and its call.
    fn summary(&mut self, info: &Info, parts: Vec<Json>) -> Result<(), Problem> {
        let request = info.parent.as_ref().and_then(|parent| self.summary_requests.remove(parent));
        let mut texts: Vec<String> = Vec::new();
        let mut tokens: Option<Json> = None;
        for part in parts {
            let mut part = Fields(part);
            let kind: String = part.need("/type")?;
            match kind.as_str() {
                "text" => texts.extend(part.take("/text")?),
                "step-finish" => tokens = part.take("/tokens")?,
                "step-start" => {}
                other => self.draft.leave_out(format!("{other} part of a summary"), 1),
            }
        }
        texts.retain(|text| !text.is_empty());
        let text = texts.join("\n");
        let usage = self.usage(tokens.as_ref().or(info.own.0.get("tokens")), false);
        let taken = info.created.zip(info.completed);
        let latency = taken.map(|(from, to)| to.duration_since(from).as_secs_f64() * 1e3);
        let call = usage.map(|usage| RecordedCall {
            model: info.model.clone(),
            usage,
            latency_ms: latency.filter(|ms| *ms >= 0.0),
        });
        let after = self.draft.next_index();
        let tail = request.as_ref().and_then(|request| request.tail.as_ref());
        let kept_from = tail.and_then(|id| self.index_of.get(id)).copied().unwrap_or(after);
        let question = request.as_ref().map(|_| (Role::User, QUESTION.to_owned()));
        let pieces = question.into_iter().chain([(Role::Assistant, text.clone())]);
        let before = self.draft.last_prompt;
        self.draft.compact(RecordedCompaction {
            after,
            kept_from,
            summary: Some(text),
            pieces: pieces.map(|(role, text)| Piece::Text { role, text }).collect(),
            trigger: request.as_ref().map_or(RecordedTrigger::Unknown, |request| request.trigger),
            tokens_before: before,
            call,
            at: info.ended(),
            ..RecordedCompaction::default()
        })
    }

    /// Turns pruned outputs into compactions that clear results, at the first
    /// message that began later. Those of one pruning are a few milliseconds
    /// apart.
    fn prune(&mut self) {
        let pruned = std::mem::take(&mut self.pruned);
        if pruned.is_empty() {
            return;
        }
        let mut by_place: Vec<(u32, Timestamp, Vec<String>)> = Vec::new();
        let counts = counts_by_time(&self.begun);
        for (at, calls) in pruned {
            let begun = counts.partition_point(|(begun, _)| *begun <= at);
            let after = begun.checked_sub(1).map_or(0, |last| counts[last].1);
            match by_place.last_mut() {
                Some((place, _, all)) if *place == after => all.extend(calls),
                _ => by_place.push((after, at, calls)),
            }
        }
        let messages = &self.draft.session.messages;
        let results: FxHashMap<&str, u32> = (0..)
            .zip(messages)
            .filter_map(|(index, message)| Some((message.tool_result()?.0, index)))
            .collect();
        // The prompt that was reported last, by how many messages there are.
        let reported = messages.iter().scan(None, |last, message| {
            *last = message.usage.map(|usage| usage.prompt()).or(*last);
            Some(*last)
        });
        let reported: Vec<Option<u64>> = std::iter::once(None).chain(reported).collect();
        let mut compactions = std::mem::take(&mut self.draft.session.compactions);
        for (after, at, mut cleared) in by_place {
            cleared.sort_by_key(|call| results.get(call.as_str()).copied());
            // A result can only be cleared after it was received.
            let there = cleared.iter().filter_map(|call| results.get(call.as_str())).max();
            let after = there.map_or(after, |&last| after.max(last + 1));
            compactions.push(RecordedCompaction {
                after,
                cleared,
                trigger: RecordedTrigger::Auto,
                tokens_before: reported[after as usize],
                at: Some(at),
                ..RecordedCompaction::default()
            });
        }
        compactions.sort_by_key(|compaction| (compaction.after, compaction.at));
        // Clearing results removes no messages: what was sent before still is.
        let mut kept_from = 0;
        for compaction in &mut compactions {
            if compaction.cleared.is_empty() {
                kept_from = compaction.kept_from;
            } else {
                compaction.kept_from = kept_from;
            }
        }
        self.draft.session.compactions = compactions;
    }
}

/// How many messages there were once those that had begun by each time were
/// written, by time.
fn counts_by_time(begun: &[Option<Timestamp>]) -> Vec<(Timestamp, u32)> {
    let known = (1..).zip(begun).filter_map(|(count, at)| Some(((*at)?, count)));
    let mut counts: Vec<(Timestamp, u32)> = known.collect();
    counts.sort_unstable();
    let mut most = 0;
    for (_, count) in &mut counts {
        most = most.max(*count);
        *count = most;
    }
    counts
}

// The format of an OpenCode export on disk: `{info, messages: [{info,
// parts}]}`.

/// What a session is made of.
enum Item {
    Message(Info, Vec<Json>),
    Entry(Entry),
}

impl Item {
    fn id(&self) -> &str {
        match self {
            Item::Message(info, _) => &info.id,
            Item::Entry(entry) => &entry.id,
        }
    }
}

/// A row of OpenCode 2.
struct Entry {
    id: String,
    kind: String,
    /// When it was made, in milliseconds since 1970.
    at: i64,
    /// Whether a fork took it over from the session that it began from.
    copied: bool,
    data: Json,
}

/// What a message says about itself.
struct Info {
    id: String,
    role: String,
    parent: Option<String>,
    model: Option<String>,
    created: Option<Timestamp>,
    completed: Option<Timestamp>,
    /// The other fields, which depend on the role.
    own: Fields,
}

impl Info {
    fn read(info: Json) -> Result<Info, Problem> {
        let mut own = Fields(info);
        Ok(Info {
            id: own.need("/id")?,
            role: own.need("/role")?,
            parent: own.take("/parentID")?,
            model: own.take("/modelID")?,
            created: time(&mut own, "/time/created")?,
            completed: time(&mut own, "/time/completed")?,
            own,
        })
    }

    fn ended(&self) -> Option<Timestamp> {
        self.completed.or(self.created)
    }

    fn has_failed(&self) -> bool {
        self.own.0.get("error").is_some_and(|error| !error.is_null())
    }

    /// Whether this is a complete summary: a user message holds diffs there.
    fn is_summary(&self) -> bool {
        self.own.0.get("summary") == Some(&Json::Bool(true)) && !self.has_failed()
    }

    /// The system prompt that the message contains, until 2025.
    fn system(&self) -> Vec<String> {
        let texts = self.own.0.get("system").and_then(Json::as_array).into_iter().flatten();
        let texts = texts.filter_map(Json::as_str).filter(|text| !text.is_empty());
        texts.map(str::to_owned).collect()
    }
}

/// Takes a time in milliseconds since 1970.
fn time(of: &mut Fields, pointer: &str) -> Result<Option<Timestamp>, Problem> {
    let at = of.take(pointer)?.map(Timestamp::from_millisecond).transpose();
    at.map_err(|_| below(pointer, Problem::shape(".", "no time: out of range")))
}

/// Largest integer that JavaScript, which wrote the file, counts exactly (2⁵³).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The token counts of one step, as `(input, read, written, output)`, with the reasoning in
/// the output and what was cached beside the input; nothing where one of them is no count.
///
/// Until 2026 `output` included the reasoning, and since then it is counted
/// separately (`is_apart` in OpenCode 2): `total` shows which, and without a total it is
/// taken as included.
fn counts(tokens: &Json, is_apart: bool) -> Option<[u64; 4]> {
    let count = |pointer: &str| {
        let value = tokens.pointer(pointer).filter(|value| !value.is_null());
        let value = value.map_or(Some(0.0), Json::as_f64)?;
        (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(value as u64)
    };
    let [input, read, written] = [count("/input")?, count("/cache/read")?, count("/cache/write")?];
    let [output, reasoning] = [count("/output")?, count("/reasoning")?];
    let sum = input + read + written + output + reasoning;
    let is_apart = is_apart || count("/total")? == sum;
    Some([input, read, written, if is_apart { output + reasoning } else { output }])
}
