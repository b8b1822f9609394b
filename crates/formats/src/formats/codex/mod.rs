//! Rollouts of Codex CLI: the JSON-lines logs under `~/.codex/sessions`.
//!
//! `response_item` records are the conversation; events repeat it, and only
//! token counts and interruptions are read of them.

mod compaction;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use self::compaction::{MessageLookup, SURROUNDINGS, UNREADABLE, begins, is_of_harness};
use super::content::{ChatMessage, Part};
use super::prelude::*;
use super::responses;

/// The format of Codex CLI's session logs.
pub(super) const FORMAT: Format = Format {
    name: "codex",
    describe: "Codex CLI rollout (JSON lines, ~/.codex/sessions/*/*/*/rollout-*.jsonl)",
    tried: Tried::On {
        files: 4,
        compared: "calls with results, requests, sums of prompts and outputs, largest prompt, compactions",
    },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/type=session_meta|response_item|event_msg|turn_context|compacted /payload"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut reader = Reader { draft: Draft::named(source.stem()), ..Reader::default() };
    source.keeps_of_each(0);
    source.each_record(parse::<Json>, |line, record| {
        reader.record(line, record)?;
        reader.draft.check_memory()
    })?;
    for (why, n) in &reader.unreadable {
        source.warn(format!("{why}: {n}"));
    }
    if let Some(base) = &reader.base {
        source.warn(format!(
            "what was said before it is only in the rollout of the session {base}: its contexts \
             begin with what it adds"
        ));
    }
    take(source, reader.finish())
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
    /// The session whose rollout it goes on from without repeating it: since 2026 a fork, or
    /// what follows turns that were taken back.
    base: Option<String>,
    open: Option<Open>,
    /// Tokens of a response whose items have not been read yet.
    pending: Option<Usage>,
    total: Option<Usage>,
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
    fn record(&mut self, line: u64, record: Json) -> Result<(), Problem> {
        let mut record = Fields(record);
        let (at, kind) = (record.take("/timestamp")?, record.need::<String>("/type")?);
        let payload = record.0.get_mut("payload").map(Json::take).unwrap_or_default();
        let read = match kind.as_str() {
            "session_meta" => self.session(Fields(payload)),
            "turn_context" => self.turn(Fields(payload)),
            "compacted" => self.compaction(at, Fields(payload)),
            "response_item" => self.item(line, at, payload),
            "event_msg" => self.event(Fields(payload)),
            _ => {
                self.draft.leave_out(format!("{kind} record"), 1);
                Ok(())
            }
        };
        read.map_err(|problem| below("/payload", problem))
    }

    fn event(&mut self, mut event: Fields) -> Result<(), Problem> {
        match event.need::<String>("/type")?.as_str() {
            "token_count" => {
                let Some(info) = event.take("/info")? else { return Ok(()) };
                let mut info = Fields(info);
                let window = info.take("/model_context_window")?;
                let (total, last) = (counts(&mut info, "total")?, counts(&mut info, "last")?);
                self.window(window);
                // An event that repeats the totals adds nothing, and after a compaction
                // stands an estimate.
                let is_new = self.total.replace(total) != self.total;
                if is_new && (last.prompt() > 0 || last.output > 0) {
                    self.tokens(last);
                }
            }
            // A turn begins, under this context limit.
            "task_started" => {
                let tokens = event.take("/model_context_window")?;
                self.window(tokens);
            }
            "turn_aborted" => self.open = None,
            "thread_rolled_back" => {
                let turns = event.need("/num_turns")?;
                self.roll_back(turns);
            }
            // The others repeat what the items contain, or are for the screen.
            _ => self.draft.leave_out("event record", 1),
        }
        Ok(())
    }

    /// The record of a session. A session that continues another begins with
    /// its own record and repeats that of the other.
    fn session(&mut self, mut session: Fields) -> Result<(), Problem> {
        let id: Option<String> = session.take("/id")?;
        let forked: Option<String> = session.take("/forked_from_id")?;
        let cwd: Option<String> = session.take("/cwd")?;
        // The `instructions` of older files are the user's own and are among the messages
        // as well.
        let system: Option<String> = session.take("/base_instructions/text")?;
        let own = ["/cli_version", "/originator", "/git/branch", "/git/commit_hash"];
        let own = own.into_iter().map(|at| session.take::<String>(at));
        let own = own.collect::<Result<Vec<_>, _>>()?.into_iter().chain([id.clone()]).flatten();
        self.draft.metadata.extend(own.filter(|value| !value.is_empty()));
        if !self.session_seen {
            self.draft.recorded_id.clone_from(&id);
            self.base = session.take("/history_base/thread_id")?;
            self.draft.parent = parent(&session.0, forked.as_ref());
            self.draft.copy_of = forked;
        } else if self.draft.copy_of.is_none() && id != self.draft.recorded_id {
            self.draft.copy_of = id;
        }
        cwd.into_iter().for_each(|cwd| self.draft.worked_in(cwd));
        if std::mem::replace(&mut self.session_seen, true) {
            self.draft.leave_out("session_meta record", 1);
        } else {
            let system = system.filter(|text| !text.is_empty());
            self.draft.session.preamble.system.extend(system);
        }
        Ok(())
    }

    /// Precedes a request, or the first of a turn.
    fn turn(&mut self, mut turn: Fields) -> Result<(), Problem> {
        let (cwd, model) = (turn.take::<String>("/cwd")?, turn.take::<String>("/model")?);
        self.close();
        if let Some(cwd) = cwd.filter(|cwd| !self.draft.metadata.contains(cwd)) {
            self.draft.worked_in(cwd);
        }
        if let Some(model) = model {
            self.draft.metadata.insert(model.clone());
            self.model = Some(model);
        }
        Ok(())
    }

    /// An item of the conversation, as the provider knows it.
    fn item(&mut self, line: u64, at: Option<Timestamp>, mut item: Json) -> Result<(), Problem> {
        // Its own id names no call.
        item.as_object_mut().map(|fields| fields.remove("id"));
        let ChatMessage { role, parts, .. } = responses::message_of(item)?;
        if matches!(role, Role::User | Role::System) {
            return self.input(line, at, role, parts);
        }
        for part in parts {
            match part {
                Part::Call { id, name, arguments: written } => {
                    self.call(line, at, id, name, written)?;
                }
                // Tools that the provider itself runs have no id.
                Part::Result { call, result, .. } => match call.or_else(|| self.unnamed.take()) {
                    Some(call) => self.result(line, at, call, result)?,
                    None => {
                        self.draft.leave_out("tool result without the id of its call", 1);
                    }
                },
                Part::Compacted => self.draft.leave_out("compaction item", 1),
                other => {
                    if let Some(block) = self.draft.block(other) {
                        self.respond(line, at, block);
                    }
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        line: u64,
        at: Option<Timestamp>,
        id: Option<String>,
        name: String,
        written: Json,
    ) -> Result<(), Problem> {
        let id = id.unwrap_or_else(|| {
            let id = format!("line-{line}");
            self.unnamed = Some(id.clone());
            id
        });
        let ordinal = self.calls.len();
        if self.calls.contains_key(&id) {
            return Err(Problem::RepeatedCall(id));
        }
        self.calls.insert(id.clone(), ordinal);
        let arguments = arguments(written, &mut self.draft);
        self.respond(line, at, Block::ToolCall { id, name, arguments });
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
                self.draft.push(Message::new(id, Role::Assistant, at, Vec::new()));
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
        parts: Vec<Part>,
    ) -> Result<(), Problem> {
        if let Some(open) = &mut self.open {
            // Its count may still come, nothing else.
            (open.answered, open.counted_first) = (true, false);
        }
        self.drop_pending();
        let blocks = self.draft.blocks(parts);
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
                    if !self.begun && begins(&text, &SURROUNDINGS) =>
                {
                    preamble.pinned.push(text);
                }
                (Block::Text { text }, Role::User) if is_of_harness(&text) => {
                    notes.push(Block::Text { text });
                }
                (block, _) => own.push(block),
            }
        }
        let id = format!("line-{line}");
        if !notes.is_empty() {
            let id = if own.is_empty() { id.clone() } else { format!("{id}-harness") };
            self.draft.push(Message::new(id, Role::System, at, notes));
        }
        if !own.is_empty() {
            self.user_messages
                .extend((role == Role::User).then_some(self.draft.session.messages.len()));
            self.draft.push(Message::new(id, role, at, own));
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
        result: ResultText,
    ) -> Result<(), Problem> {
        if !self.calls.contains_key(&call) {
            return Err(Problem::ResultWithoutCall(call));
        }
        if !self.answered.insert(call.clone()) {
            return Err(Problem::RepeatedResult(call));
        }
        if let Some(open) = &mut self.open {
            open.answered = true;
        }
        let id = format!("line-{line}");
        let message = self.draft.result_message(id, call, result, at);
        self.draft.push(message);
        Ok(())
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
    fn compaction(&mut self, at: Option<Timestamp>, compacted: Fields) -> Result<(), Problem> {
        self.close();
        let (compaction, others) = self.lookup.compaction(&self.draft, compacted)?;
        let repeats = |last: &mut RecordedCompaction| {
            last.after == compaction.after && is_repeated(last.at, at)
        };
        if self.draft.session.compactions.pop_if(repeats).is_some() {
            self.draft.leave_out("compaction written again", 1);
        } else {
            self.draft.leave_out("item that a compaction kept apart", others);
            let why = compaction.unreadable.as_deref();
            let why = UNREADABLE.iter().find(|[reason, ..]| Some(*reason) == why);
            if let Some([_, warning, what]) = why {
                *self.unreadable.entry(warning).or_default() += 1;
                self.draft.leave_out(*what, 1);
            }
        }
        let tokens_before = self.prompt;
        self.draft.compact(RecordedCompaction { tokens_before, at, ..compaction })
    }

    /// Puts consecutive results in the order of their calls (how-it-works §2).
    fn order_results(&mut self) {
        let calls = &self.calls;
        let messages = &mut self.draft.session.messages;
        for run in messages.chunk_by_mut(|a, b| a.role == Role::Tool && b.role == a.role) {
            run.sort_by_key(|message| {
                message.tool_result().and_then(|(call, _)| calls.get(call).copied())
            });
        }
    }
}

/// The session whose agent started a subagent's.
fn parent(session: &Json, forked: Option<&String>) -> Option<String> {
    let subagent = session.pointer("/source/subagent")?;
    let named = subagent.pointer("/thread_spawn/parent_thread_id").and_then(Json::as_str);
    Some(named.map(str::to_owned).or_else(|| forked.cloned()).unwrap_or_default())
}

/// The counts of a `token_count` event, of all responses so far or of the last one: OpenAI
/// counts cached tokens within the input, reasoning within the output.
fn counts(info: &mut Fields, of: &str) -> Result<Usage, Problem> {
    let place = format!("/{of}_token_usage");
    let counts = info.need(&place).map_err(|problem| below("/info", problem))?;
    let mut counts = Fields(counts);
    let usage = counts.usage_within([
        "/input_tokens",
        "/cached_input_tokens",
        // Since 0.145.
        "/cache_write_input_tokens",
        "/output_tokens",
    ]);
    usage.map_err(|problem| below(&format!("/info{place}"), problem))
}
