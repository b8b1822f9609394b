//! Rollouts of Codex CLI: the JSON-lines logs under `~/.codex/sessions`.
//!
//! `response_item` records are the conversation; events repeat it, and only
//! token counts and interruptions are read of them.

mod compaction;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use self::compaction::{MessageLookup, ReadCompaction, Speaker, speaker_of};
use super::content::usage_of;
use super::prelude::*;

/// The format of Codex CLI's session logs.
pub(super) const FORMAT: Format = Format {
    name: "codex",
    describe: "Codex CLI rollout (JSON lines, ~/.codex/sessions/*/*/*/rollout-*.jsonl)",
    tried: Tried::On {
        files: 4,
        compared: "calls with results, requests, sums of prompts and outputs, largest prompt, compactions",
    },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.any(|record| {
        let kind = record.get("type").and_then(Json::as_str);
        let known = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
        kind.is_some_and(|kind| known.contains(&kind))
            && record.get("payload").is_some_and(Json::is_object)
    })
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut reader = Reader { draft: Draft::named(source.stem()), ..Reader::default() };
    source.keeps_of_each(0);
    source.each_record(read_record, |line, (at, body)| {
        reader.record(Record { line, at, body })?;
        reader.draft.check_memory()
    })?;
    for (why, n) in &reader.unreadable {
        source.warn(format!("{why}: {n}"));
    }
    Ok(vec![reader.finish()])
}

/// Whether a compaction's record is that of the one before, written again: no model
/// writes a summary within a second (openai/codex issue 31198: 5 records in 35 ms).
fn is_repeated(before: Option<Timestamp>, at: Option<Timestamp>) -> bool {
    let times = before.zip(at);
    times.is_some_and(|(before, at)| at.duration_since(before).abs() < SignedDuration::from_secs(1))
}

/// The response whose items are being read.
struct Open {
    /// The index of its message.
    index: usize,
    /// Whether its tokens were reported before its items, as until 2025; then
    /// results may stand between its calls.
    counted_first: bool,
    /// Whether a result followed: without a count of its own, the next item is
    /// another response.
    answered: bool,
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    model: Option<String>,
    session_seen: bool,
    open: Option<Open>,
    /// Tokens of a response whose items have not been read yet.
    pending: Option<Usage>,
    total: Option<Counts>,
    /// Prompt of the last response that was counted.
    prompt: Option<u64>,
    /// Ordinal of each call.
    calls: FxHashMap<String, usize>,
    /// Calls whose results have come.
    answered: FxHashSet<String>,
    /// The newest call that the provider gave no id.
    unnamed: Option<String>,
    /// Whether the model has answered: what stands before is the preamble's.
    begun: bool,
    /// Positions of the user's messages.
    user_messages: Vec<usize>,
    /// How often each context limit was reported.
    windows: BTreeMap<u64, u64>,
    /// Compactions whose summary cannot be read, by the reason.
    unreadable: BTreeMap<&'static str, u64>,
    /// The index of messages for compactions.
    lookup: MessageLookup,
}

impl Reader {
    fn record(&mut self, record: Record) -> Result<(), Problem> {
        let Record { line, at, body } = record;
        match body {
            Body::Session(session) => self.session(*session),
            Body::Turn(turn) => self.turn(turn),
            Body::Item(item) => return self.item(line, at, item),
            Body::Tokens(None) => {}
            Body::Tokens(Some(info)) => {
                self.window(info.model_context_window);
                let new = self.total.replace(info.total_token_usage) != self.total;
                if let Some(usage) = info.last_token_usage.usage().filter(|_| new) {
                    self.tokens(usage);
                }
            }
            Body::Started(window) => self.window(window),
            Body::Aborted => self.open = None,
            Body::RolledBack(turns) => self.roll_back(turns),
            Body::Compacted(compacted) => {
                self.close();
                return self.compaction(at, compacted);
            }
            Body::Other(reason) => self.draft.leave_out(reason, 1),
        }
        Ok(())
    }

    /// The record of a session. A session that continues another begins with
    /// its own record and repeats that of the other.
    fn session(&mut self, session: WireSession) {
        let parent = session.parent();
        let git = session.git.map_or([None, None], |git| [git.branch, git.commit_hash]);
        if !self.session_seen {
            self.draft.recorded_id.clone_from(&session.id);
            self.draft.copy_of = session.forked_from_id;
            self.draft.parent = parent;
        } else if self.draft.copy_of.is_none() && session.id != self.draft.recorded_id {
            self.draft.copy_of.clone_from(&session.id);
        }
        let own = [session.id, session.cli_version, session.originator];
        let own = own.into_iter().chain(git).flatten();
        self.draft.metadata.extend(own.filter(|value| !value.is_empty()));
        if let Some(cwd) = session.cwd {
            self.working_directory(cwd);
        }
        if std::mem::replace(&mut self.session_seen, true) {
            return self.draft.leave_out("session_meta record", 1);
        }
        let system = session.base_instructions.map(|instructions| instructions.text);
        self.draft.session.preamble.system.extend(system.filter(|text| !text.is_empty()));
    }

    fn working_directory(&mut self, cwd: String) {
        let project = &mut self.draft.session.project;
        *project = project.take().or_else(|| project_of(&cwd));
        self.draft.worked_in(cwd);
    }

    fn turn(&mut self, turn: Turn) {
        self.close();
        if let Some(cwd) = turn.cwd.filter(|cwd| !self.draft.metadata.contains(cwd)) {
            self.working_directory(cwd);
        }
        if let Some(model) = turn.model {
            self.draft.metadata.insert(model.clone());
            self.model = Some(model);
        }
    }

    fn item(&mut self, line: u64, at: Option<Timestamp>, item: Item) -> Result<(), Problem> {
        match item {
            Item::Message { role, content } => match role.as_str() {
                "assistant" => {
                    for block in self.blocks(content)? {
                        self.respond(line, at, block);
                    }
                }
                "user" => self.input(line, at, Role::User, content)?,
                "developer" | "system" => self.input(line, at, Role::System, content)?,
                _ => return Err(Problem::UnknownRole { role }),
            },
            Item::Reasoning(text) => self.respond(line, at, Block::Reasoning { text }),
            Item::Call { id, name, arguments: written } => {
                let id = id.unwrap_or_else(|| {
                    let id = format!("line-{line}");
                    self.unnamed = Some(id.clone());
                    id
                });
                let ordinal = self.calls.len();
                if self.calls.contains_key(&id) {
                    return Err(Problem::RepeatedCall { call: id });
                }
                self.calls.insert(id.clone(), ordinal);
                let arguments = arguments(written, &mut self.draft);
                self.respond(line, at, Block::ToolCall { id, name, arguments });
            }
            Item::Result { call, output } => match call.or_else(|| self.unnamed.take()) {
                Some(call) => self.result(line, at, call, output)?,
                None => self.draft.leave_out("tool result without the id of its call", 1),
            },
        }
        Ok(())
    }

    /// Adds to the open response, or opens one.
    fn respond(&mut self, line: u64, at: Option<Timestamp>, mut block: Block) {
        self.draft.flatten(&mut block);
        self.begun = true;
        if self.open.as_ref().is_some_and(|open| open.answered && !open.counted_first) {
            self.open = None;
        }
        let index = match &self.open {
            Some(open) => open.index,
            None => {
                let index = self.draft.session.messages.len();
                let usage = self.pending.take();
                self.open = Some(Open { index, counted_first: usage.is_some(), answered: false });
                let id = format!("line-{line}");
                self.draft.push(Message::new(id, Role::Assistant, at, Vec::new()), line);
                if let Some(model) = &self.model {
                    self.draft.models.add(model, &self.draft.session.messages[index].id);
                }
                self.draft.session.messages[index].usage = usage;
                index
            }
        };
        self.draft.session.messages[index].blocks.push(block);
    }

    /// Assigns counted tokens to their response: to the open one, if it lacks
    /// them, else to the next.
    fn tokens(&mut self, usage: Usage) {
        self.prompt = Some(usage.prompt());
        let open = self.open.take();
        match open.map(|open| &mut self.draft.session.messages[open.index].usage) {
            Some(lacking @ None) => *lacking = Some(usage),
            _ => {
                self.drop_pending();
                self.pending = Some(usage);
            }
        }
    }

    /// Ends the open response: after an interruption, only its count may follow.
    fn close(&mut self) {
        self.open = None;
        self.drop_pending();
    }

    fn drop_pending(&mut self) {
        let dropped = u64::from(self.pending.take().is_some());
        self.draft.leave_out("token count without a response", dropped);
    }

    /// A message to the model. Instructions before the first one are part of
    /// the preamble, and so is what the harness says in the user's name of the
    /// project and the environment before the first response (how-it-works §5).
    fn input(
        &mut self,
        line: u64,
        at: Option<Timestamp>,
        role: Role,
        content: Content<WirePart>,
    ) -> Result<(), Problem> {
        if let Some(open) = &mut self.open {
            // Its count may still come, nothing else.
            (open.answered, open.counted_first) = (true, false);
        }
        self.drop_pending();
        let blocks = self.blocks(content)?;
        if blocks.is_empty() {
            self.draft.leave_out("empty message", 1);
            return Ok(());
        }
        let starts = role == Role::System && self.draft.session.messages.is_empty();
        let (mut notes, mut own) = (Vec::new(), Vec::new());
        for block in blocks {
            let preamble = &mut self.draft.session.preamble;
            match (block, role) {
                (Block::Text { text }, Role::System) if starts => preamble.system.push(text),
                (_, Role::System) if starts => {}
                (Block::Text { text }, Role::User)
                    if speaker_of(&text) == Speaker::Surroundings =>
                {
                    if self.begun {
                        notes.push(Block::Text { text });
                    } else {
                        preamble.pinned.push(text);
                    }
                }
                (Block::Text { text }, Role::User) if speaker_of(&text) == Speaker::Note => {
                    notes.push(Block::Text { text });
                }
                (block, _) => own.push(block),
            }
        }
        let id = format!("line-{line}");
        if !notes.is_empty() {
            let id = if own.is_empty() { id.clone() } else { format!("{id}-harness") };
            self.draft.push(Message::new(id, Role::System, at, notes), line);
        }
        if !own.is_empty() {
            self.user_messages
                .extend((role == Role::User).then_some(self.draft.session.messages.len()));
            self.draft.push(Message::new(id, role, at, own), line);
        }
        Ok(())
    }

    fn window(&mut self, tokens: Option<u64>) {
        if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
            *self.windows.entry(tokens).or_default() += 1;
        }
    }

    /// Takes back the last turns, as Codex does: from the user's message on, and
    /// what the harness put right before it. What they cost stays.
    fn roll_back(&mut self, turns: u32) {
        self.close();
        let left = self.user_messages.len().saturating_sub(turns as usize);
        let Some(&from) = self.user_messages.get(left) else { return };
        self.user_messages.truncate(left);
        let before = self.draft.session.messages[..from].iter().rev();
        let from = from - before.take_while(|m| m.role == Role::System).count();
        let taken = self.draft.take_back(from);
        self.lookup.forget(&taken, from);
    }

    fn result(
        &mut self,
        line: u64,
        at: Option<Timestamp>,
        call: String,
        output: Output,
    ) -> Result<(), Problem> {
        if !self.calls.contains_key(&call) {
            return Err(Problem::ResultWithoutCall { call });
        }
        if !self.answered.insert(call.clone()) {
            return Err(Problem::RepeatedResult { call });
        }
        if let Some(open) = &mut self.open {
            open.answered = true;
        }
        let (text, failed) = output.read();
        let message = result_message(format!("line-{line}"), call, text, failed, at);
        self.draft.push(message, line);
        Ok(())
    }

    fn blocks(&mut self, content: Content<WirePart>) -> Result<Vec<Block>, Problem> {
        content.blocks(|part| {
            Ok(Some(match part.kind.as_str() {
                kind @ ("input_text" | "output_text" | "text") => {
                    let lacks = || Problem::lacks("payload.content", kind, "text");
                    Block::Text { text: part.text.ok_or_else(lacks)? }
                }
                "input_image" => {
                    Block::Image { media_type: part.image_url.as_deref().and_then(media_type) }
                }
                other => {
                    self.draft.leave_out(format!("{other} part"), 1);
                    return Ok(None);
                }
            }))
        })
    }

    fn finish(mut self) -> Draft {
        self.close();
        self.order_results();
        let windows = self.windows.iter().max_by_key(|(_, n)| **n);
        self.draft.session.window = windows.map(|(tokens, _)| *tokens);
        self.draft
    }

    /// Notes a compaction.
    ///
    /// # Errors
    /// Compactions that together keep more than can be held.
    fn compaction(&mut self, at: Option<Timestamp>, compacted: Compacted) -> Result<(), Problem> {
        let ReadCompaction { compaction, unreadable, others } =
            self.lookup.compaction(&self.draft.session, compacted);
        let repeats = |last: &mut RecordedCompaction| {
            last.after == compaction.after && is_repeated(last.at, at)
        };
        if self.draft.session.compactions.pop_if(repeats).is_some() {
            self.draft.leave_out("compaction written again", 1);
        } else {
            self.draft.leave_out("item that a compaction kept apart", others);
            if let Some((why, what)) = unreadable {
                *self.unreadable.entry(why).or_default() += 1;
                self.draft.leave_out(what, 1);
            }
        }
        let tokens_before = self.prompt;
        self.draft.compact(RecordedCompaction { tokens_before, at, ..compaction })
    }

    /// Puts consecutive results in the order of their calls (how-it-works §2).
    fn order_results(&mut self) {
        let calls = &self.calls;
        let lines = std::mem::take(&mut self.draft.lines);
        let messages = std::mem::take(&mut self.draft.session.messages);
        let mut placed: Vec<_> = messages.into_iter().zip(lines).collect();
        for run in placed.chunk_by_mut(|(a, _), (b, _)| a.role == Role::Tool && b.role == a.role) {
            run.sort_by_key(|(message, _)| {
                message.tool_result().and_then(|(call, _)| calls.get(call).copied())
            });
        }
        (self.draft.session.messages, self.draft.lines) = placed.into_iter().unzip();
    }
}

// Records of a Codex CLI rollout in their format on disk, versions 0.39 to 0.104.

#[derive(Deserialize)]
struct Header {
    timestamp: Option<Timestamp>,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct WithPayload<P> {
    payload: P,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// One line of the rollout.
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
    pub(super) body: Body,
}

/// The content of a line.
pub(super) enum Body {
    Session(Box<WireSession>),
    Turn(Turn),
    Item(Item),
    Tokens(Option<TokenInfo>),
    /// A turn begins, under this context limit.
    Started(Option<u64>),
    Aborted,
    /// The user took back so many turns.
    RolledBack(u32),
    Compacted(Compacted),
    /// Not part of the conversation; the reason under which it is counted.
    Other(String),
}

/// The session's own record.
#[derive(Deserialize)]
pub(super) struct WireSession {
    pub(super) id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) cli_version: Option<String>,
    pub(super) originator: Option<String>,
    pub(super) git: Option<Git>,
    /// The system prompt, in files of 2026. The `instructions` of older files
    /// are the user's own and are among the messages as well.
    pub(super) base_instructions: Option<Instructions>,
    /// How it was started: a name, or what a subagent is for and whose it is.
    #[serde(default)]
    source: Json,
    /// The session whose history it begins with a copy of.
    pub(super) forked_from_id: Option<String>,
}

impl WireSession {
    /// The session whose agent started it, where it is a subagent's.
    pub(super) fn parent(&self) -> Option<String> {
        let subagent = self.source.get("subagent")?;
        let named = subagent.pointer("/thread_spawn/parent_thread_id").and_then(Json::as_str);
        Some(named.map(str::to_owned).or_else(|| self.forked_from_id.clone()).unwrap_or_default())
    }
}

#[derive(Deserialize)]
pub(super) struct Git {
    pub(super) branch: Option<String>,
    pub(super) commit_hash: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Instructions {
    pub(super) text: String,
}

/// Precedes a request, or the first of a turn.
#[derive(Deserialize)]
pub(super) struct Turn {
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
}

/// An item of the conversation, as the provider knows it.
pub(super) enum Item {
    Message {
        role: String,
        content: Content<WirePart>,
    },
    /// The part of the reasoning that is not encrypted; may be empty.
    Reasoning(String),
    Call {
        /// Absent for tools that the provider itself runs.
        id: Option<String>,
        name: String,
        arguments: Json,
    },
    Result {
        /// Absent for tools that the provider itself runs.
        call: Option<String>,
        output: Output,
    },
}

/// A part of a message's content.
#[derive(Deserialize)]
pub(in crate::formats) struct WirePart {
    #[serde(rename = "type")]
    pub(in crate::formats) kind: String,
    pub(in crate::formats) text: Option<String>,
    pub(in crate::formats) refusal: Option<String>,
    pub(in crate::formats) image_url: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireMessage {
    pub(in crate::formats) role: String,
    #[serde(default)]
    pub(in crate::formats) content: Content<WirePart>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireReasoning {
    #[serde(default)]
    pub(in crate::formats) summary: Content<WirePart>,
    #[serde(default)]
    pub(in crate::formats) content: Content<WirePart>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireCall {
    pub(in crate::formats) call_id: String,
    pub(in crate::formats) name: String,
    #[serde(default)]
    pub(in crate::formats) arguments: Json,
    pub(in crate::formats) input: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireAction {
    pub(in crate::formats) call_id: Option<String>,
    #[serde(default, alias = "revised_prompt")]
    pub(in crate::formats) action: Json,
}

/// A search for tools, which loads their definitions into the context.
#[derive(Deserialize)]
pub(in crate::formats) struct WireSearch {
    pub(in crate::formats) call_id: Option<String>,
    #[serde(default)]
    pub(in crate::formats) arguments: Json,
    #[serde(default)]
    tools: Vec<Json>,
}

impl WireSearch {
    /// The definitions that it found, as the model is sent them.
    pub(in crate::formats) fn found(self) -> Output {
        let tools: Vec<String> = self.tools.iter().map(Json::to_string).collect();
        Output::Content(Content::Text(tools.join("\n")))
    }
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireResult {
    pub(in crate::formats) call_id: String,
    pub(in crate::formats) output: Output,
}

/// The result: text, parts, or a text with a status.
#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::formats) enum Output {
    Content(Content<WirePart>),
    Judged { content: Content<WirePart>, success: Option<bool> },
    Other(serde_json::Map<String, Json>),
}

/// A shell's result in files of 2025: JSON within the text.
#[derive(Deserialize)]
struct Shell {
    output: String,
    metadata: ShellMetadata,
}

#[derive(Deserialize)]
struct ShellMetadata {
    exit_code: i64,
}

/// Begins a shell's result in files of 2026.
const EXIT_CODE: &str = "Exit code: ";

impl Output {
    /// The text, and whether the tool failed. A shell's JSON is unpacked, so
    /// that escape sequences are not mistaken for text (how-it-works §34).
    pub(in crate::formats) fn read(self) -> (ResultText, bool) {
        let (content, success) = match self {
            Output::Content(content) => (content, None),
            Output::Judged { content, success } => (content, success),
            Output::Other(other) => (Content::Text(Json::Object(other).to_string()), None),
        };
        let text = match content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let mut result = ResultText::default();
                for part in parts {
                    match part.text {
                        Some(text) => result.add(&text),
                        None => result.images += u32::from(part.kind == "input_image"),
                    }
                }
                return (result, success == Some(false));
            }
        };
        let (text, code) = match serde_json::from_str::<Shell>(&text) {
            Ok(shell) => (shell.output, Some(shell.metadata.exit_code)),
            Err(_) => {
                let code = text.strip_prefix(EXIT_CODE).and_then(|rest| rest.lines().next());
                let code = code.and_then(|code| code.trim().parse().ok());
                (text, code)
            }
        };
        let failed = success == Some(false) || code.is_some_and(|code| code != 0);
        (ResultText { text, images: 0 }, failed)
    }
}

/// Counts of a `token_count` event.
#[derive(Deserialize)]
pub(super) struct TokenInfo {
    /// Totals since the session began: an event that repeats them adds nothing.
    pub(super) total_token_usage: Counts,
    /// Counts of the response that it reports.
    pub(super) last_token_usage: Counts,
    pub(super) model_context_window: Option<u64>,
}

/// OpenAI counts cached tokens within the input, reasoning within the output.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
pub(super) struct Counts {
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    /// Since 0.145.
    cache_write_input_tokens: Option<u64>,
    output_tokens: u64,
}

impl Counts {
    /// The same in disjoint buckets; `None` where nothing was sent or written
    /// (an estimate after a compaction).
    pub(super) fn usage(&self) -> Option<Usage> {
        let cached = [self.cached_input_tokens, self.cache_write_input_tokens.unwrap_or(0)];
        let usage = usage_of(self.input_tokens, cached, self.output_tokens);
        (usage.prompt() > 0 || usage.output > 0).then_some(usage)
    }
}

#[derive(Deserialize)]
struct WithInfo {
    info: Option<TokenInfo>,
}

#[derive(Deserialize)]
struct Started {
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct RolledBack {
    num_turns: u32,
}

/// The vendor's compaction, with the context after it.
#[derive(Deserialize)]
pub(super) struct Compacted {
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) replacement_history: Option<Vec<HistoryItem>>,
}

/// An item of the new context: a message, or an encrypted summary.
#[derive(Deserialize)]
pub(super) struct HistoryItem {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content<WirePart>,
}

/// Reads one line. Two passes, since kinds that are not part of the
/// conversation must not fail on fields that are not used.
pub(super) fn read_record(text: &str) -> Result<(Option<Timestamp>, Body), Problem> {
    let header: Header = parse(text)?;
    let body = match header.kind.as_str() {
        "session_meta" => Body::Session(Box::new(payload(text)?)),
        "turn_context" => Body::Turn(payload(text)?),
        "compacted" => Body::Compacted(payload(text)?),
        "response_item" => item(text)?,
        "event_msg" => match payload::<Kind>(text)?.kind.as_str() {
            "token_count" => Body::Tokens(payload::<WithInfo>(text)?.info),
            "task_started" => Body::Started(payload::<Started>(text)?.model_context_window),
            "turn_aborted" => Body::Aborted,
            "thread_rolled_back" => Body::RolledBack(payload::<RolledBack>(text)?.num_turns),
            // The others repeat what the items contain, or are for the screen.
            _ => Body::Other("event record".to_owned()),
        },
        other => Body::Other(format!("{other} record")),
    };
    Ok((header.timestamp, body))
}

fn payload<P: serde::de::DeserializeOwned>(text: &str) -> Result<P, Problem> {
    Ok(parse::<WithPayload<P>>(text)?.payload)
}

fn item(text: &str) -> Result<Body, Problem> {
    let kind = payload::<Kind>(text)?.kind;
    let item = match kind.as_str() {
        "message" => {
            let WireMessage { role, content } = payload(text)?;
            Item::Message { role, content }
        }
        "reasoning" => {
            let WireReasoning { summary, content } = payload(text)?;
            Item::Reasoning([texts(summary), texts(content)].concat().join("\n"))
        }
        "function_call" | "custom_tool_call" => {
            let call: WireCall = payload(text)?;
            // A custom tool takes one text and no object.
            let arguments = match call.input {
                Some(input) => serde_json::json!({ "input": input }),
                None => call.arguments,
            };
            Item::Call { id: Some(call.call_id), name: call.name, arguments }
        }
        "function_call_output" | "custom_tool_call_output" => {
            let WireResult { call_id, output } = payload(text)?;
            Item::Result { call: Some(call_id), output }
        }
        "tool_search_call" => {
            let WireSearch { call_id, arguments, .. } = payload(text)?;
            Item::Call { id: call_id, name: "tool_search".to_owned(), arguments }
        }
        "tool_search_output" => {
            let search: WireSearch = payload(text)?;
            Item::Result { call: search.call_id.clone(), output: search.found() }
        }
        "web_search_call" | "local_shell_call" | "image_generation_call" => {
            let WireAction { call_id, action } = payload(text)?;
            let name = kind.trim_end_matches("_call").to_owned();
            Item::Call { id: call_id, name, arguments: action }
        }
        _ => return Ok(Body::Other(format!("{kind} item"))),
    };
    Ok(Body::Item(item))
}

/// The texts among parts, in order.
pub(in crate::formats) fn texts(content: Content<WirePart>) -> Vec<String> {
    content.texts(|part| part.text)
}
