//! Rollouts of Codex CLI: the JSON-lines logs under `~/.codex/sessions`.
//!
//! `response_item` records are the conversation; events repeat it, and only
//! token counts and interruptions are read of them.

mod compacted;
mod wire;

use std::collections::BTreeSet;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use self::compacted::{MessageLookup, ReadCompaction};
use self::wire::{Body, Compacted, Counts, Item, Record, Session, Turn};
pub(super) use self::wire::{
    Output, WireAction, WireCall, WireMessage, WirePart, WireReasoning, WireResult, texts,
};
use super::content::{Content, Models, arguments, home_of, media_type, project_of, result_message};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::Format;
use crate::dataset::format::Head;
use crate::dataset::source::Source;
use crate::model::{Block, Message, RecordedCompaction, Role, Usage};

/// The format of Codex CLI's session logs.
pub struct Codex;

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn describe(&self) -> &'static str {
        "Codex CLI rollout (JSON lines, ~/.codex/sessions/*/*/*/rollout-*.jsonl)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.any(|record| {
            let kind = record.get("type").and_then(Json::as_str);
            let known = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
            kind.is_some_and(|kind| known.contains(&kind))
                && record.get("payload").is_some_and(Json::is_object)
        })
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut reader = Reader::new(source.stem());
        while let Some((line, (at, body))) = source.next_record(wire::read)? {
            let read = reader.record(Record { line, at, body });
            read.map_err(|problem| source.error(Some(line), problem))?;
        }
        if reader.encrypted > 0 {
            let n = reader.encrypted;
            source.warn(format!("the vendor encrypted the summaries of its compactions: {n}"));
        }
        let mut draft = reader.finish();
        draft.leave_out("torn last line", source.torn());
        let empty = draft.transcript.messages.is_empty();
        Ok(if empty { vec![] } else { vec![draft] })
    }
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

struct Reader {
    draft: Draft,
    models: Models,
    model: Option<String>,
    metadata: BTreeSet<String>,
    session_seen: bool,
    open: Option<Open>,
    /// Tokens of a response whose items have not been read yet.
    pending: Option<Usage>,
    total: Option<Counts>,
    /// Prompt of the last response that was counted.
    prompt: Option<u64>,
    /// Ordinal of each call.
    calls: FxHashMap<String, usize>,
    /// Compactions whose summary cannot be read.
    encrypted: u64,
    /// The index of messages for compactions.
    said: MessageLookup,
}

impl Reader {
    fn new(stem: &str) -> Reader {
        let mut draft = Draft::default();
        draft.transcript.id = stem.to_owned();
        Reader {
            draft,
            models: Models::default(),
            model: None,
            metadata: BTreeSet::new(),
            session_seen: false,
            open: None,
            pending: None,
            total: None,
            prompt: None,
            calls: FxHashMap::default(),
            encrypted: 0,
            said: MessageLookup::default(),
        }
    }

    fn record(&mut self, record: Record) -> Result<(), Problem> {
        let Record { line, at, body } = record;
        match body {
            Body::Session(session) => self.session(*session),
            Body::Turn(turn) => self.turn(turn),
            Body::Item(item) => return self.item(line, at, item),
            Body::Tokens(None) => {}
            Body::Tokens(Some(info)) => {
                let new = self.total.replace(info.total_token_usage) != self.total;
                if let Some(usage) = info.last_token_usage.usage().filter(|_| new) {
                    self.tokens(usage);
                }
            }
            Body::Aborted => self.open = None,
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
    fn session(&mut self, session: Session) {
        let git = session.git.map_or([None, None], |git| [git.branch, git.commit_hash]);
        let own = [session.id, session.cli_version, session.originator];
        let own = own.into_iter().chain(git).flatten();
        self.metadata.extend(own.filter(|value| !value.is_empty()));
        if let Some(cwd) = session.cwd {
            self.working_directory(cwd);
        }
        if std::mem::replace(&mut self.session_seen, true) {
            return self.draft.leave_out("session_meta record", 1);
        }
        let system = session.base_instructions.map(|instructions| instructions.text);
        self.draft.transcript.preamble.system.extend(system.filter(|text| !text.is_empty()));
    }

    fn working_directory(&mut self, cwd: String) {
        let project = &mut self.draft.transcript.project;
        *project = project.take().or_else(|| project_of(&cwd));
        self.metadata.extend(home_of(&cwd));
        self.metadata.insert(cwd);
    }

    fn turn(&mut self, turn: Turn) {
        self.close();
        if let Some(cwd) = turn.cwd.filter(|cwd| !self.metadata.contains(cwd)) {
            self.working_directory(cwd);
        }
        if let Some(model) = turn.model {
            self.metadata.insert(model.clone());
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
                let id = id.unwrap_or_else(|| format!("line-{line}"));
                let ordinal = self.calls.len();
                if self.calls.contains_key(&id) {
                    return Err(Problem::RepeatedCall { call: id });
                }
                self.calls.insert(id.clone(), ordinal);
                let arguments = arguments(written, &mut self.draft);
                self.respond(line, at, Block::ToolCall { id, name, arguments });
            }
            Item::Result { call, output } => self.result(line, at, call, output)?,
        }
        Ok(())
    }

    /// Adds to the open response, or opens one.
    fn respond(&mut self, line: u64, at: Option<Timestamp>, mut block: Block) {
        self.draft.flatten(&mut block);
        if self.open.as_ref().is_some_and(|open| open.answered && !open.counted_first) {
            self.open = None;
        }
        let index = match &self.open {
            Some(open) => open.index,
            None => {
                let index = self.draft.transcript.messages.len();
                let usage = self.pending.take();
                self.open = Some(Open { index, counted_first: usage.is_some(), answered: false });
                self.push(line, at, Role::Assistant, Vec::new());
                if let Some(model) = &self.model {
                    self.models.add(model, &self.draft.transcript.messages[index].id);
                }
                self.draft.transcript.messages[index].usage = usage;
                index
            }
        };
        self.draft.transcript.messages[index].blocks.push(block);
    }

    /// Assigns counted tokens to their response: to the open one, if it lacks
    /// them, else to the next.
    fn tokens(&mut self, usage: Usage) {
        self.prompt = Some(usage.prompt());
        let open = self.open.take();
        match open.map(|open| &mut self.draft.transcript.messages[open.index].usage) {
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
    /// the preamble (semantics §5).
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
        } else if role == Role::System && self.draft.transcript.messages.is_empty() {
            let texts = blocks.into_iter().filter_map(|block| match block {
                Block::Text { text } => Some(text),
                _ => None,
            });
            self.draft.transcript.preamble.system.extend(texts);
        } else {
            self.push(line, at, role, blocks);
        }
        Ok(())
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
        if let Some(open) = &mut self.open {
            open.answered = true;
        }
        let (text, failed) = output.read();
        let message = result_message(format!("line-{line}"), call, text, failed, at);
        self.draft.push(message, line);
        Ok(())
    }

    fn push(&mut self, line: u64, at: Option<Timestamp>, role: Role, blocks: Vec<Block>) {
        let id = format!("line-{line}");
        let message =
            Message { id, role, at, blocks, usage: None, synthetic: false, broadcast: false };
        self.draft.push(message, line);
    }

    fn blocks(&mut self, content: Content<WirePart>) -> Result<Vec<Block>, Problem> {
        let parts = match content {
            Content::Text(text) => return Ok(vec![Block::Text { text }]),
            Content::Parts(parts) => parts,
        };
        let mut blocks = Vec::with_capacity(parts.len());
        for part in parts {
            match part.kind.as_str() {
                "input_text" | "output_text" | "text" => {
                    let text = part.text.ok_or_else(|| {
                        let at = "payload.content".to_owned();
                        let message = format!("a part of type {} lacks `text`", part.kind);
                        Problem::Shape { at, message }
                    })?;
                    blocks.push(Block::Text { text });
                }
                "input_image" => {
                    let media_type = part.image_url.as_deref().and_then(media_type);
                    blocks.push(Block::Image { media_type });
                }
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        Ok(blocks)
    }

    fn finish(mut self) -> Draft {
        self.close();
        self.order_results();
        self.models.name_models(&mut self.draft.transcript);
        self.draft.transcript.metadata = self.metadata.into_iter().collect();
        self.draft
    }

    /// Notes a compaction.
    ///
    /// # Errors
    /// Compactions that together keep more than can be held.
    fn compaction(&mut self, at: Option<Timestamp>, compacted: Compacted) -> Result<(), Problem> {
        let ReadCompaction { compaction, is_encrypted, others } =
            self.said.compaction(&self.draft.transcript, compacted);
        self.draft.leave_out("item that a compaction kept apart", others);
        if is_encrypted {
            self.encrypted += 1;
            self.draft.leave_out("encrypted summary", 1);
        }
        let tokens_before = self.prompt;
        self.draft.compact(RecordedCompaction { tokens_before, at, ..compaction })
    }

    /// Puts consecutive results in the order of their calls (semantics §2).
    fn order_results(&mut self) {
        let calls = &self.calls;
        let lines = std::mem::take(&mut self.draft.lines);
        let messages = std::mem::take(&mut self.draft.transcript.messages);
        let mut placed: Vec<_> = messages.into_iter().zip(lines).collect();
        for run in placed.chunk_by_mut(|(a, _), (b, _)| a.role == Role::Tool && b.role == a.role) {
            run.sort_by_key(|(message, _)| {
                message.tool_result().and_then(|(call, _)| calls.get(call).copied())
            });
        }
        (self.draft.transcript.messages, self.draft.lines) = placed.into_iter().unzip();
    }
}
