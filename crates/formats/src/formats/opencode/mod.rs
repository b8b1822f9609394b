//! Sessions of OpenCode: the JSON document that `opencode export` writes, or the
//! store of OpenCode and Kilo, whose rows are its parts.
//!
//! What was sent follows OpenCode's own conversion of a session into model
//! messages (anomalyco/opencode, `packages/opencode/src/session/message-v2.ts`).

mod store;

use std::collections::BTreeMap;

use serde::Deserializer;

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
    read: Read::Each(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    // A scrubber may have replaced the ids.
    let is_export = |record: &Json| {
        let id = record.pointer("/info/id").and_then(Json::as_str);
        let is_own = |id: &str| {
            id.starts_with("ses_")
                || record.pointer("/messages/0/info/role").is_some()
                || record.pointer("/info/projectID").is_some()
        };
        id.is_some_and(is_own) && record.get("messages").is_some_and(Json::is_array)
    };
    head.any(is_export) || store::is_store(head)
}

fn read(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    if source.is_database()? {
        return store::read(source, options, take);
    }
    let export: Export = source.document()?;
    let items = export.messages.into_iter().map(|one| Item::Message(Box::new(one))).collect();
    let draft = source.whole(Reader::read(source.stem(), export.info, items))?;
    take(source, draft)
}

fn lacks(kind: &str, field: &str) -> Problem {
    Problem::lacks("parts", kind, field)
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// Index of the first message at or after each of the export's messages.
    index_of: FxHashMap<String, u32>,
    /// Ids of messages and results, and those of calls: a scrubber may have made
    /// several equal, so that they are told apart by their order.
    ids: Ids,
    calls: Ids,
    /// Number of calls.
    called: u64,
    /// Questions for a summary that have no answer yet.
    summary_requests: FxHashMap<String, SummaryRequest>,
    /// Calls whose output was pruned, by the time of the pruning.
    pruned: BTreeMap<Timestamp, Vec<String>>,
    /// The start time of each message.
    begun: Vec<Option<Timestamp>>,
    /// The last reported prompt that is not empty, in tokens.
    last_prompt: Option<u64>,
}

impl Reader {
    fn read(id: &str, own: WireSession, items: Vec<Item>) -> Result<Draft, Problem> {
        let mut reader = Reader { draft: Draft::named(id), ..Reader::default() };
        reader.session(own);
        let last = items.len().saturating_sub(1);
        for (at, item) in items.into_iter().enumerate() {
            let id = item.id().to_owned();
            let read = match item {
                Item::Message(message) => reader.message(*message, at == last),
                Item::Entry(entry) => reader.entry(entry, at == last),
            };
            read.map_err(|problem| problem.within(format_args!("{id}.")))?;
        }
        reader.prune();
        Ok(reader.draft)
    }

    fn session(&mut self, session: WireSession) {
        let WireSession { id, slug, project_id, parent_id, directory, version } = session;
        let own = [Some(id), slug, project_id, parent_id, version];
        self.draft.metadata.extend(own.into_iter().flatten().filter(|value| !value.is_empty()));
        self.draft.session.project = directory.as_deref().and_then(project_of);
        self.folder(directory);
    }

    fn folder(&mut self, folder: Option<String>) {
        // A session outside a repository has the root as its worktree.
        let folder = folder.filter(|folder| folder.len() > 1);
        folder.into_iter().for_each(|folder| self.draft.worked_in(folder));
    }

    fn message(&mut self, message: WireMessage, is_last: bool) -> Result<(), Problem> {
        let WireMessage { mut info, parts } = message;
        let index = self.draft.next_index();
        self.index_of.entry(info.id.clone()).or_insert(index);
        info.id = self.ids.free(info.id);
        match info.role.as_str() {
            "user" => self.user(&info, parts)?,
            "assistant" if info.is_summary() && self.is_finished(&info) => {
                self.summary(&info, parts)?;
            }
            "assistant" => self.assistant(info, parts, is_last)?,
            _ => return Err(Problem::UnknownRole { role: info.role }),
        }
        Ok(())
    }

    fn push(&mut self, message: Message, begun: Option<Timestamp>) {
        self.begun.push(begun);
        let prompt = message.usage.map(|usage| usage.prompt()).filter(|&prompt| prompt > 0);
        self.last_prompt = prompt.or(self.last_prompt);
        self.draft.push(message, None);
    }

    /// The user's message. A question for a summary waits for its answer.
    fn user(&mut self, info: &Info, parts: Vec<Part>) -> Result<(), Problem> {
        let mut blocks = Vec::new();
        if let Some(part) = parts.iter().find(|part| part.kind == "compaction") {
            self.request_summary(info, part);
            self.draft.leave_out("part beside a question for a summary", parts.len() as u64 - 1);
            return Ok(());
        }
        for part in parts {
            match part.kind.as_str() {
                "text" if part.ignored => self.draft.leave_out("text that was not sent", 1),
                "text" => {
                    let text = part.text.ok_or_else(|| lacks("text", "text"))?;
                    blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
                }
                "file" => self.file(part.mime.unwrap_or_default(), &mut blocks),
                "subtask" => blocks.push(Block::Text { text: SUBTASK.to_owned() }),
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        if blocks.is_empty() {
            self.draft.leave_out("empty message", 1);
        } else {
            let created = info.time.created;
            self.push(Message::new(info.id.clone(), Role::User, created, blocks), created);
        }
        Ok(())
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
    fn assistant(&mut self, info: Info, parts: Vec<Part>, is_last: bool) -> Result<(), Problem> {
        let is_output = |part: &Part| part.kind != "step-start" && part.kind != "reasoning";
        if let Some(error) = &info.error {
            // A failed response is not sent again, unless it was interrupted.
            let is_aborted = error.get("name").is_some_and(|name| name == "MessageAbortedError");
            if !(is_aborted && parts.iter().any(is_output)) {
                self.draft.leave_out("response that failed", 1);
                return Ok(());
            }
        }
        self.unanswered(info.parent_id.as_deref());
        self.wrote(&info);
        for key in ["cwd", "root"] {
            let folder = info.path.get(key).and_then(Json::as_str);
            self.folder(folder.map(str::to_owned));
        }
        self.draft.system_prompt(info.system());
        let mut steps = steps(parts);
        let only = steps.len() == 1;
        for (number, step) in steps.drain(..).enumerate() {
            let id = match number {
                0 => info.id.clone(),
                _ => format!("{}#{}", info.id, number + 1),
            };
            let whole = info.tokens.as_ref().filter(|_| only && info.error.is_none());
            self.step(id, &info, step, whole, is_last)?;
        }
        Ok(())
    }

    fn wrote(&mut self, info: &Info) {
        if let Some(model) = &info.model {
            self.draft.models.add(model, &info.id);
            self.draft.metadata.insert(model.clone());
        }
    }

    fn step(
        &mut self,
        id: String,
        info: &Info,
        parts: Vec<Part>,
        whole: Option<&Tokens>,
        is_last: bool,
    ) -> Result<(), Problem> {
        let (mut blocks, mut results) = (Vec::new(), Vec::new());
        let mut tokens = None;
        for part in parts {
            match part.kind.as_str() {
                "text" => {
                    let text = part.text.ok_or_else(|| lacks("text", "text"))?;
                    blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
                }
                "reasoning" => {
                    blocks.push(Block::Reasoning { text: part.text.unwrap_or_default() });
                }
                "tool" => {
                    let (call, result) = self.tool(part, is_last)?;
                    blocks.push(call);
                    results.extend(result);
                }
                "step-start" => {}
                "step-finish" => tokens = part.tokens,
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        let finished = tokens.is_some() || info.time.completed.is_some();
        let usage = self.usage(tokens.as_ref().or(whole), finished);
        let created = info.time.created;
        if blocks.is_empty() && usage.is_none() {
            self.draft.leave_out("empty message", 1);
            return Ok(());
        }
        let at = info.time.completed.or(created);
        let message = Message { usage, ..Message::new(id, Role::Assistant, at, blocks) };
        self.push(message, created);
        for result in results {
            self.push(result, created);
        }
        Ok(())
    }

    /// A call, with its result where there is one.
    fn tool(&mut self, part: Part, is_last: bool) -> Result<(Block, Option<Message>), Problem> {
        let name = part.tool.ok_or_else(|| lacks("tool", "tool"))?;
        let state = part.state.ok_or_else(|| lacks("tool", "state"))?;
        let call = part.call_id.ok_or_else(|| lacks("tool", "callID"))?;
        self.called += 1;
        let own = part.id.unwrap_or_else(|| format!("result-{}", self.called));
        let own = self.ids.free(own);
        // Some providers number the calls of each response from the beginning.
        let is_known = self.calls.newest(&call).is_some();
        let call = self.calls.free(if is_known { own.clone() } else { call });
        let arguments = state.input.clone().unwrap_or_else(|| serde_json::json!({}));
        let block = Block::ToolCall { id: call.clone(), name, arguments };
        if let Some(at) = state.time.compacted {
            self.pruned.entry(at).or_default().push(call.clone());
        }
        let at = state.time.end;
        let result = self.result(state, is_last)?;
        let message = |(text, failed)| result_message(own, call, text, failed, at);
        Ok((block, result.map(message)))
    }

    /// The result, and whether the tool failed. A call that is still running
    /// has no result.
    fn result(
        &mut self,
        state: State,
        is_last: bool,
    ) -> Result<Option<(ResultText, bool)>, Problem> {
        let text = |text: String, images: u32| ResultText { text, images };
        Ok(match state.status.as_str() {
            "completed" => {
                let output = state.output.ok_or_else(|| lacks("tool", "output"))?;
                let pictures = state.attachments.iter().filter(|a| a.mime.starts_with("image/"));
                let pictures = pictures.count();
                let others = state.attachments.len() - pictures;
                self.draft.leave_out("file part without text", others as u64);
                Some((text(output, pictures as u32), false))
            }
            "error" => {
                let cut = state.metadata.get("interrupted") == Some(&Json::Bool(true));
                let partial = state.metadata.get("output").and_then(Json::as_str);
                let text_or_error = partial.filter(|_| cut).map(str::to_owned).or(state.error);
                Some((text(text_or_error.ok_or_else(|| lacks("tool", "error"))?, 0), true))
            }
            "pending" | "running" if is_last => None,
            "pending" | "running" => Some((text(INTERRUPTED.to_owned(), 0), true)),
            other => {
                let message = format!("unknown status `{other}` of a tool call");
                return Err(Problem::shape("parts", message));
            }
        })
    }

    fn usage(&mut self, tokens: Option<&Tokens>, finished: bool) -> Option<Usage> {
        let counts = tokens?.counts();
        self.draft.leave_out("token counts that are none", u64::from(counts.is_none()));
        let [input, cache_read, cache_write_5m, output] = counts?;
        let usage = disjoint(input, cache_read, cache_write_5m, output);
        let usage = Usage { output_final: finished, ..usage };
        (usage.prompt() > 0 || output > 0).then_some(usage)
    }
}

/// The parts of each step. Parts before the first step belong to it.
fn steps(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut steps: Vec<Vec<Part>> = vec![Vec::new()];
    let mut begun = false;
    for part in parts {
        if part.kind == "step-start" && std::mem::replace(&mut begun, true) {
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
    fn request_summary(&mut self, info: &Info, part: &Part) {
        let trigger = match part.auto {
            Some(true) => RecordedTrigger::Auto,
            Some(false) => RecordedTrigger::Manual,
            None => RecordedTrigger::Unknown,
        };
        let (id, at) = (info.id.clone(), info.time.created);
        self.summary_requests.insert(
            id.clone(),
            SummaryRequest { id, at, trigger, tail: part.tail_start_id.clone() },
        );
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
        let request = info
            .parent_id
            .as_ref()
            .is_some_and(|parent| self.summary_requests.contains_key(parent));
        // Until 2025 there was no question, and no finish reason.
        !request || info.finish.is_some()
    }

    /// A compaction: its summary and its call.
    fn summary(&mut self, info: &Info, parts: Vec<Part>) -> Result<(), Problem> {
        let request =
            info.parent_id.as_ref().and_then(|parent| self.summary_requests.remove(parent));
        let mut texts = Vec::new();
        let mut tokens = None;
        for part in parts {
            match part.kind.as_str() {
                "text" => texts.extend(part.text.filter(|text| !text.is_empty())),
                "step-finish" => tokens = part.tokens,
                "step-start" => {}
                other => self.draft.leave_out(format!("{other} part of a summary"), 1),
            }
        }
        let text = texts.join("\n");
        let usage = self.usage(tokens.as_ref().or(info.tokens.as_ref()), true);
        let taken = info.time.created.zip(info.time.completed);
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
        let before = self.last_prompt;
        self.draft.compact(RecordedCompaction {
            after,
            kept_from,
            summary: Some(text),
            pieces: pieces.map(|(role, text)| Piece::Text { role, text }).collect(),
            trigger: request.as_ref().map_or(RecordedTrigger::Unknown, |request| request.trigger),
            tokens_before: before,
            call,
            at: info.time.completed.or(info.time.created),
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
//
// Only fields that the importer reads are named: `summary.diffs` of a user
// message repeats whole files and was never sent to the model.

/// Largest integer that JavaScript, which wrote the file, counts exactly (2⁵³).
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Deserialize)]
struct Export {
    info: WireSession,
    messages: Vec<WireMessage>,
}

/// What a session is made of.
enum Item {
    Message(Box<WireMessage>),
    Entry(Entry),
}

impl Item {
    fn id(&self) -> &str {
        match self {
            Item::Message(message) => &message.info.id,
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

/// The session's own data.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSession {
    id: String,
    slug: Option<String>,
    #[serde(rename = "projectID")]
    project_id: Option<String>,
    #[serde(rename = "parentID")]
    parent_id: Option<String>,
    directory: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct WireMessage {
    info: Info,
    #[serde(default)]
    parts: Vec<Part>,
}

/// The fields depend on `role`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    id: String,
    role: String,
    #[serde(rename = "parentID")]
    parent_id: Option<String>,
    #[serde(rename = "modelID")]
    model: Option<String>,
    #[serde(default)]
    path: Json,
    /// `true` on the answer to a compaction; a user message holds diffs here.
    #[serde(default)]
    summary: Json,
    error: Option<Json>,
    finish: Option<Json>,
    #[serde(default)]
    time: Times,
    tokens: Option<Tokens>,
    /// The system prompt, until 2025.
    #[serde(default)]
    system: Json,
}

impl Info {
    /// Whether this is a complete summary.
    fn is_summary(&self) -> bool {
        self.summary == Json::Bool(true) && self.error.is_none()
    }

    /// The system prompt that the message contains.
    fn system(&self) -> Vec<String> {
        let texts = self.system.as_array().into_iter().flatten().filter_map(Json::as_str);
        texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }
}

/// Times in milliseconds since 1970.
#[derive(Clone, Copy, Default, Deserialize)]
struct Times {
    #[serde(default, deserialize_with = "time")]
    created: Option<Timestamp>,
    #[serde(default, deserialize_with = "time")]
    completed: Option<Timestamp>,
    #[serde(default, deserialize_with = "time")]
    end: Option<Timestamp>,
    /// The time at which the output of a tool was pruned.
    #[serde(default, deserialize_with = "time")]
    compacted: Option<Timestamp>,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let millis = Option::<i64>::deserialize(deserializer)?;
    let at = millis.map(Timestamp::from_millisecond).transpose();
    at.map_err(|_| serde::de::Error::custom("no time: out of range"))
}

/// Token counts of one step. Cached tokens are counted besides `input`.
#[derive(Deserialize)]
struct Tokens {
    total: Option<f64>,
    input: Option<f64>,
    output: Option<f64>,
    reasoning: Option<f64>,
    #[serde(default)]
    cache: Cache,
}

#[derive(Default, Deserialize)]
struct Cache {
    read: Option<f64>,
    write: Option<f64>,
}

impl Tokens {
    /// As OpenCode 2 counts: the reasoning is no part of the output.
    fn with_reasoning_apart(mut self) -> Tokens {
        let counts = [self.input, self.output, self.reasoning, self.cache.read, self.cache.write];
        self.total = Some(counts.into_iter().flatten().sum());
        self
    }

    /// The counts as `(input, read, written, output)`, reasoning included in
    /// the output; `None` where one of them is not a valid count.
    ///
    /// Until 2026 `output` included the reasoning, and since then it is counted
    /// separately: `total` shows which, and without a total it is taken as
    /// included.
    fn counts(&self) -> Option<[u64; 4]> {
        let count = |value: Option<f64>| {
            let value = value.unwrap_or(0.0);
            (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(value as u64)
        };
        let [input, read, written] =
            [count(self.input)?, count(self.cache.read)?, count(self.cache.write)?];
        let [output, reasoning] = [count(self.output)?, count(self.reasoning)?];
        let apart = input + read + written + output + reasoning;
        let total = count(self.total)?;
        let output = if total == apart { output + reasoning } else { output };
        Some([input, read, written, output])
    }
}

/// A part of a message; which fields there are depends on `kind`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    text: Option<String>,
    /// Texts that are displayed but not sent.
    #[serde(default)]
    ignored: bool,
    mime: Option<String>,
    #[serde(rename = "callID")]
    call_id: Option<String>,
    tool: Option<String>,
    state: Option<State>,
    tokens: Option<Tokens>,
    /// For a compaction: whether the agent's own threshold triggered it.
    auto: Option<bool>,
    /// For a compaction: the first message that it kept.
    #[serde(rename = "tail_start_id")]
    tail_start_id: Option<String>,
}

/// The state of a tool call.
#[derive(Default, Deserialize)]
struct State {
    status: String,
    input: Option<Json>,
    output: Option<String>,
    error: Option<String>,
    #[serde(default)]
    metadata: Json,
    #[serde(default)]
    time: Times,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Deserialize)]
struct Attachment {
    #[serde(default)]
    mime: String,
}
