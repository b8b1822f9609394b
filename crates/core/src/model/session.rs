//! A recorded session, in the one shape that every importer produces.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{SessionTotal, SidechainRequest, Usage};

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    /// Text that a provider would send.
    Text {
        /// The text as the model saw it.
        text: String,
    },
    /// The model's visible thinking: kept in the session, never sent and
    /// never counted in a context (how-it-works §7).
    Reasoning {
        /// The thinking as recorded; may be empty where only a signature was.
        text: String,
    },
    /// A tool call that the recorded agent made.
    ToolCall {
        /// The provider's id, unique within the session.
        id: String,
        /// The name of the called tool.
        name: String,
        /// The arguments, decoded from JSON.
        arguments: Json,
    },
    /// The result of one call. A message holds at most one.
    ToolResult {
        /// Id of the [`Block::ToolCall`] that it answers.
        call: String,
        /// Text of the result as the model saw it.
        text: String,
        /// Images in the result, which have no text.
        #[serde(default, skip_serializing_if = "super::is_default")]
        images: u32,
        /// Whether the tool reported a failure.
        #[serde(default, skip_serializing_if = "super::is_default")]
        is_error: bool,
    },
    /// A picture; its bytes are not kept.
    Image {
        /// MIME type where the recording names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
    },
}

/// One message: an assistant response, one tool result, or one user text
/// (how-it-works §1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Unique within the session.
    pub id: String,
    /// Who it is attributed to. Tool results have [`Role::Tool`].
    pub role: Role,
    /// When it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Its parts in order.
    pub blocks: Vec<Block>,
    /// What the provider reported, on assistant messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Written by the harness in the agent's name (an API error, "no response
    /// requested"): no model was called, so it is no request (how-it-works §4).
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub synthetic: bool,
    /// Sent to several agents at once, this one among them (Zoea:
    /// "swarm broadcasts").
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub broadcast: bool,
}

impl Message {
    /// A message without usage.
    pub fn new(
        id: impl Into<String>,
        role: Role,
        at: Option<Timestamp>,
        blocks: Vec<Block>,
    ) -> Message {
        let (usage, synthetic, broadcast) = (None, false, false);
        Message { id: id.into(), role, at, blocks, usage, synthetic, broadcast }
    }

    /// Whether the recorded agent called its model just before this message; if another session
    /// counts that, too.
    pub fn is_request(&self) -> bool {
        self.role == Role::Assistant && !self.synthetic
    }

    /// Whether this message opens an exchange: a user's words, not a tool result.
    pub fn opens_exchange(&self) -> bool {
        self.role == Role::User
    }

    /// Its first text block; empty where it has none.
    pub fn first_text(&self) -> &str {
        let text = self.blocks.iter().find_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        text.unwrap_or_default()
    }

    /// The result block, if this message is a tool result.
    pub fn tool_result(&self) -> Option<(&str, &str)> {
        self.blocks.iter().find_map(|b| match b {
            Block::ToolResult { call, text, .. } => Some((call.as_str(), text.as_str())),
            _ => None,
        })
    }

    /// Replaces the text of its tool result, if it has one.
    pub fn replace_result(&mut self, with: &str) {
        for block in &mut self.blocks {
            if let Block::ToolResult { text, images, .. } = block {
                with.clone_into(text);
                *images = 0;
            }
        }
    }

    /// Ids of the tool calls that it makes, in order.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }

    /// Visible thinking, which is never sent.
    pub fn reasoning(&self) -> String {
        let parts = self.blocks.iter().filter_map(|b| match b {
            Block::Reasoning { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// The text that a provider would be sent: text, calls as JSON without blanks
    /// and with their keys in the recorded order, results; one part a line
    /// (how-it-works §7 and §9).
    pub fn sent(&self) -> String {
        sent(&self.blocks)
    }

    /// Images in the message, inside results included.
    pub fn images(&self) -> u32 {
        images(&self.blocks)
    }
}

/// A call as a provider is sent it.
#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a Json,
}

/// The text of blocks as a provider would be sent them.
pub fn sent(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        let part = match block {
            Block::Text { text } | Block::ToolResult { text, .. } => Cow::Borrowed(text.as_str()),
            Block::ToolCall { name, arguments, .. } => {
                let called = Called { name, arguments };
                Cow::Owned(serde_json::to_string(&called).expect("plain data serialises"))
            }
            Block::Reasoning { .. } | Block::Image { .. } => continue,
        };
        if !out.is_empty() && !part.is_empty() {
            out.push('\n');
        }
        out.push_str(&part);
    }
    out
}

/// Images in blocks, inside results included.
pub fn images(blocks: &[Block]) -> u32 {
    let count = |block: &Block| match block {
        Block::Image { .. } => 1,
        Block::ToolResult { images, .. } => *images,
        _ => 0,
    };
    blocks.iter().map(count).sum()
}

/// A tool that the recorded agent could call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The name by which the model calls it.
    pub name: String,
    /// The description that the model is given.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub parameters: Json,
}

/// Everything before the first message, sent with every request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preamble {
    /// System prompt, one entry per block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<String>,
    /// The definitions of the tools that the agent could call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Content pinned by the user (files, media descriptions).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<String>,
}

impl Preamble {
    /// The text that a provider would be sent: system prompt, tools, pinned content.
    pub fn sent(&self) -> String {
        let mut parts: Vec<String> = self.system.clone();
        parts.extend(self.tools.iter().map(|t| {
            serde_json::json!({
                "name": t.name, "description": t.description, "parameters": t.parameters,
            })
            .to_string()
        }));
        parts.extend(self.pinned.iter().cloned());
        parts.join("\n")
    }
}

/// A change of the system prompt within a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreambleChange {
    /// First message that was sent under the new system prompt.
    pub before: MessageIndex,
    /// The new system prompt.
    pub system: Vec<String>,
}

/// Index of a call in [`Session::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId(pub u32);

/// A tool call with the position of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The provider's id of the call.
    pub id: String,
    /// The name of the called tool.
    pub tool: String,
    /// The assistant message that made it.
    pub message: MessageIndex,
    /// Its position among that message's blocks.
    pub block: u32,
    /// The message that holds the result; absent for an interrupted call.
    pub result: Option<MessageIndex>,
}

/// A recorded session with everything that a replay needs of it; as JSON, a line of the native
/// data set (`datasets/session.schema.json`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Unique within a data set.
    pub id: String,
    /// Model that answered most of the requests, as the recording names it.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub model: Option<String>,
    /// The model of each response that did not come from `model`.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub other_models: BTreeMap<MessageIndex, String>,
    /// The context limit that the recorded agent worked under, in tokens, where
    /// the recording states it.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub window: Option<u64>,
    /// Project or developer: sessions that share it are one cluster (reference §7).
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub project: Option<String>,
    /// Everything before the first message.
    #[serde(flatten)]
    pub preamble: Preamble,
    /// The conversation, uncompacted, in order.
    pub messages: Vec<Message>,
    /// Changes of the system prompt during the session.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub preamble_changes: Vec<PreambleChange>,
    /// Compactions that the recorded agent made, in order.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub compactions: Vec<RecordedCompaction>,
    /// Values that the recording itself carries (working directory, home,
    /// branch, session id, version): never references, since no context has to
    /// keep them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub metadata: Vec<String>,
    /// Requests of subagents that are no sessions of their own, in order.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub sidechains: Vec<SidechainRequest>,
    /// What the recording says that each model used in all, where it says that. Requests that
    /// report nothing are known from these alone.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub totals: Vec<SessionTotal>,
    /// Records that were left out on import, by reason.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub left_out: BTreeMap<String, u64>,
    /// Responses that another session of the input counts, since this one continues a copy of
    /// its history: they fill contexts and caches, and are no requests of this session.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub copied: BTreeSet<MessageIndex>,
    /// The sessions of the input that share history with it, itself included: forks and what
    /// they come from; absent where there are none.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub family: Option<String>,
}

/// Longest wait for a model that the times of records show, in milliseconds: clients of Anthropic
/// and OpenAI give up after ten minutes (the defaults of their SDKs).
const LONGEST_CALL_MS: i128 = 600_000;

/// Separator between the id of a session and the number of a conversation of its subagent.
pub const SIDECHAIN: &str = "#sidechain-";

impl Session {
    /// Whether it is a subagent's conversation beside a session of its own.
    pub fn is_sidechain(&self) -> bool {
        self.id.contains(SIDECHAIN)
    }

    /// The preamble as it is sent since one of its changes, by number; `None`: from the start.
    pub fn preamble_since(&self, change: Option<usize>) -> String {
        match change.map(|change| &self.preamble_changes[change]) {
            None => self.preamble.sent(),
            Some(change) => {
                let system = change.system.clone();
                Preamble { system, ..self.preamble.clone() }.sent()
            }
        }
    }

    /// The number of the last change of the preamble before a message.
    pub fn preamble_change(&self, message: MessageIndex) -> Option<usize> {
        self.preamble_changes.iter().rposition(|change| change.before <= message)
    }

    /// Every text of the session, with what it says about itself.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = vec![self.preamble.sent()];
        for message in &self.messages {
            texts.extend([message.sent(), message.reasoning()]);
        }
        texts.extend(self.preamble_changes.iter().flat_map(|change| change.system.clone()));
        texts.extend(self.compactions.iter().filter_map(|made| made.summary.clone()));
        texts.extend(self.metadata.iter().cloned());
        texts.extend(self.project.clone());
        texts
    }

    /// Every call in order of appearance, with its result.
    pub fn calls(&self) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, message) in self.messages.iter().enumerate() {
            for (block_at, block) in message.blocks.iter().enumerate() {
                match block {
                    Block::ToolCall { id, name, .. } => {
                        open.insert(id, calls.len());
                        calls.push(Call {
                            id: id.clone(),
                            tool: name.clone(),
                            message: at as u32,
                            block: block_at as u32,
                            result: None,
                        });
                    }
                    Block::ToolResult { call, .. } => {
                        if let Some(&known) = open.get(call.as_str()) {
                            calls[known].result = Some(at as u32);
                        }
                    }
                    _ => {}
                }
            }
        }
        calls
    }

    /// The arguments of a call.
    pub fn arguments(&self, call: &Call) -> &Json {
        match self.messages[call.message as usize].blocks.get(call.block as usize) {
            Some(Block::ToolCall { arguments, .. }) => arguments,
            _ => &Json::Null,
        }
    }

    /// The message with the result of each call that has one, by the call's id.
    pub fn results(&self) -> FxHashMap<String, MessageIndex> {
        self.calls().into_iter().filter_map(|call| Some((call.id, call.result?))).collect()
    }

    /// How long a compaction took, in milliseconds: as the recording says, or else since the
    /// command that asked for it (an agent writes it down behind, with the time at which it was
    /// typed), or, where the agent compacted by itself, since the message before.
    pub fn compaction_ms(&self, made: &RecordedCompaction) -> Option<f64> {
        let after = (made.after as usize).min(self.messages.len());
        let since = || {
            let (before, behind) = self.messages.split_at(after);
            let at = made.at?;
            let mut behind =
                behind.iter().map_while(|message| message.at.filter(|time| *time < at));
            let last = || before.last().filter(|_| made.trigger == RecordedTrigger::Auto)?.at;
            let waited = at.duration_since(behind.next().or_else(last)?).as_millis();
            (1..=LONGEST_CALL_MS).contains(&waited).then_some(waited as f64)
        };
        made.duration_ms.or_else(since)
    }

    /// Indices of the messages before which the recorded agent called its model, copies
    /// included.
    pub fn responses(&self) -> impl Iterator<Item = MessageIndex> + '_ {
        (0u32..).zip(&self.messages).filter(|(_, m)| m.is_request()).map(|(i, _)| i)
    }

    /// Those that are requests of this session.
    pub fn requests(&self) -> impl Iterator<Item = MessageIndex> + '_ {
        self.responses().filter(|response| !self.copied.contains(response))
    }

    /// The compactions that this session counts.
    pub fn own_compactions(&self) -> impl Iterator<Item = &RecordedCompaction> {
        self.compactions.iter().filter(|made| !made.copied)
    }
}

/// Position of a message in [`Session::messages`](super::Session::messages), from 0.
pub type MessageIndex = u32;

/// Who a message is attributed to when it is sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// Instructions within the conversation itself.
    System,
    /// The person, or the harness on behalf of them.
    User,
    /// The recorded agent's model.
    Assistant,
    /// The result of one tool call.
    Tool,
}

/// The trigger of a recorded compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedTrigger {
    /// The agent's own threshold was reached.
    Auto,
    /// The user asked for it.
    Manual,
    /// The recording does not say.
    #[default]
    Unknown,
}

/// A part of what a recorded agent sent before the messages that it kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Piece {
    /// A recorded message, as it was.
    Message(MessageIndex),
    /// A text that the agent put there.
    Text {
        /// Who it was attributed to.
        role: Role,
        /// The literal text, wrapping included.
        text: String,
    },
}

/// The model call that wrote a recorded summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCall {
    /// Model that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the provider reported.
    pub usage: Usage,
    /// Duration of the call in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
}

/// A compaction that the recorded agent really made (how-it-works §6).
///
/// Its summary is no message: it stands in contexts of the strategy `recorded` only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCompaction {
    /// Messages `0..after` had been recorded when it happened.
    pub after: MessageIndex,
    /// First message still sent verbatim afterwards; `after` where nothing was kept.
    pub kept_from: MessageIndex,
    /// The text that replaced the removed messages; absent when results were
    /// cleared instead (`cleared`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What was sent in front of the messages from `kept_from` on, in order,
    /// where that is not the bare summary in the user's name: the summary as
    /// the agent wrapped it, and messages from further up that it kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
    /// Why the recording does not show what replaced the messages (the
    /// provider encrypted its summary); absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Ids of the tool calls whose results were cleared (micro-compaction).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<String>,
    /// What triggered the compaction.
    pub trigger: RecordedTrigger,
    /// Prompt tokens that the agent reported just before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Prompt tokens that the agent reported just behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// How long it took, in milliseconds, where the recording says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// The call that wrote the summary, where the recording shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<RecordedCall>,
    /// The time of the compaction, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Whether another session of the input counts it, since this one continues a copy of that.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub copied: bool,
}

impl RecordedCompaction {
    /// Whether messages were removed, with or without a replacement. A
    /// compaction that only cleared results removes none.
    pub fn folds(&self) -> bool {
        self.summary.is_some() || !self.pieces.is_empty() || self.cleared.is_empty()
    }

    /// Whether a message that was sent before is still sent verbatim.
    pub fn keeps(&self, message: MessageIndex) -> bool {
        message >= self.kept_from || self.pieces.contains(&Piece::Message(message))
    }

    /// The messages that it kept from further up.
    pub fn kept(&self) -> impl Iterator<Item = MessageIndex> {
        let message = |piece: &Piece| match piece {
            Piece::Message(message) => Some(*message),
            Piece::Text { .. } => None,
        };
        self.pieces.iter().filter_map(message)
    }

    /// The texts that replaced the removed messages, as they were sent.
    pub fn texts(&self) -> impl Iterator<Item = (Role, &str)> {
        let bare = self.summary.as_deref().filter(|_| self.pieces.is_empty());
        let pieces = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text { role, text } => Some((*role, text.as_str())),
            Piece::Message(_) => None,
        });
        bare.map(|text| (Role::User, text)).into_iter().chain(pieces)
    }
}

/// What stands in the place of a result that the recorded agent cleared: Claude Code's own text.
pub const CLEARED: &str = "[Old tool result content cleared]";

/// What the context of the recorded agent held, by the compactions on record.
#[derive(Clone, Debug)]
pub struct RecordedContext<'a> {
    compactions: &'a [RecordedCompaction],
    /// For each result that was ever cleared, the number of the compaction that did it first.
    cleared: FxHashMap<MessageIndex, usize>,
}

impl<'a> RecordedContext<'a> {
    /// Reads the compactions of a session.
    pub fn of(session: &'a Session) -> Self {
        let (results, mut cleared) = (session.results(), FxHashMap::default());
        for (number, made) in session.compactions.iter().enumerate() {
            for &result in made.cleared.iter().filter_map(|call| results.get(call)) {
                cleared.entry(result).or_insert(number);
            }
        }
        Self { compactions: &session.compactions, cleared }
    }

    /// How many compactions were made before a message.
    pub fn made_before(&self, message: MessageIndex) -> usize {
        self.compactions.partition_point(|made| made.after <= message)
    }

    /// The last of the first `made` compactions that removed messages; one that only cleared
    /// results does not.
    pub fn boundary(&self, made: usize) -> Option<&'a RecordedCompaction> {
        self.compactions[..made].iter().rfind(|made| made.folds())
    }

    /// Whether a message was a result that the first `made` compactions cleared.
    pub fn is_cleared(&self, message: MessageIndex, made: usize) -> bool {
        self.cleared.get(&message).is_some_and(|&number| number < made)
    }

    /// Whether a message that had been sent was still there after so many compactions, as it was
    /// recorded.
    pub fn held(&self, message: MessageIndex, made: usize) -> bool {
        let is_kept = self.boundary(made).is_none_or(|boundary| boundary.keeps(message));
        is_kept && !self.is_cleared(message, made)
    }
}
