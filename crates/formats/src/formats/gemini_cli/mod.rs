//! Sessions of Gemini CLI: one JSON document, or (since 2026) a log of events,
//! one a line.

mod log;

use serde::Deserializer;

use self::log::{ABANDONED, Boundary, Log, Slot};
use super::content::{usage_of, warn_of_branches};
use super::prelude::*;
use crate::source::{HEAD, KEPT};

/// The format of Gemini CLI's session files.
pub(super) const FORMAT: Format = Format {
    name: "gemini-cli",
    describe: "Gemini CLI session (JSON or JSON lines, ~/.gemini/tmp/*/chats/session-*)",
    tried: Tried::On {
        files: 5,
        compared: "messages, calls with results, requests, largest prompt, sum of outputs",
    },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let of_session = |record: &Json| {
        let has = |key: &str| record.get(key).is_some_and(Json::is_string);
        has("sessionId") && has("projectHash")
    };
    head.any(of_session)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut log = Log::default();
    log.draft.session.id = source.stem().to_owned();
    if Head::new(source.head(HEAD)?).spread {
        log.record(Record::Session(source.document::<WireSession>()?));
    } else {
        source.keeps_of_each(0);
        while let Some((_, record)) = source.next_record(read_record)? {
            let before = log.turns.len();
            log.record(record);
            let more = log.turns.len().saturating_sub(before) as u64;
            source.keep(more * KEPT)?;
        }
    }
    let draft = source.whole(Reader::default().read(log))?;
    warn_of_branches(source, &draft, ABANDONED);
    Ok(vec![draft])
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    calls: Ids,
    /// Index of the first message of each turn, and the ids of its calls.
    turns: Vec<(u32, Vec<String>)>,
    /// The prompt that was reported last, by the number of turns.
    reported: Vec<Option<u64>>,
}

impl Reader {
    fn read(mut self, log: Log) -> Result<Draft, Problem> {
        let Log { session, turns, boundaries, draft, .. } = log;
        (self.draft, self.reported) = (draft, vec![None]);
        self.session(session);
        for turn in turns {
            self.turn(turn);
        }
        self.turns.push((self.draft.next_index(), Vec::new()));
        for boundary in boundaries {
            self.boundary(boundary)?;
        }
        Ok(self.draft)
    }

    fn session(&mut self, session: WireSession) {
        // Sessions of one folder share the hash of its path.
        let project = session.project_hash.as_deref().map(|hash| hash.chars().take(12).collect());
        self.draft.session.project = project.filter(|hash: &String| !hash.is_empty());
        self.draft
            .metadata
            .extend([session.session_id, session.project_hash].into_iter().flatten());
        let folders = session.directories.into_iter().flatten();
        folders.for_each(|folder| self.draft.worked_in(folder));
    }

    fn turn(&mut self, turn: Turn) {
        let id = turn.id.unwrap_or_else(|| format!("message-{}", self.turns.len() + 1));
        let first = self.draft.next_index();
        for reason in turn.left_out {
            self.draft.leave_out(reason, 1);
        }
        let reasoning = turn.thoughts.into_iter().map(|text| Block::Reasoning { text });
        let mut blocks: Vec<Block> = reasoning.chain(turn.blocks).collect();
        let (mut results, mut ids) = (Vec::new(), Vec::new());
        for call in turn.calls {
            let Call { id, name, arguments, outcome } = call;
            let id = self.calls.free(id);
            blocks.push(Block::ToolCall { id: id.clone(), name, arguments });
            results.extend(outcome.map(|outcome| (id.clone(), outcome)));
            ids.push(id);
        }
        self.turns.push((first, ids));
        let prompt = turn.usage.map(|usage| usage.prompt()).filter(|&prompt| prompt > 0);
        self.reported.push(prompt.or(self.reported.last().copied().flatten()));
        if let Some(model) = &turn.model {
            self.draft.models.add(model, &id);
            self.draft.metadata.insert(model.clone());
        }
        if blocks.is_empty() && turn.usage.is_none() {
            self.draft.leave_out("empty message", 1);
            return;
        }
        // The agent's own words, such as its answer to a summary.
        let synthetic =
            turn.role == Role::Assistant && turn.usage.is_none() && turn.model.is_none();
        let usage = turn.usage.filter(|_| turn.role == Role::Assistant);
        let message = Message::new(id, turn.role, turn.at, blocks);
        self.draft.push(Message { usage, synthetic, ..message }, None);
        for (call, Outcome { text, is_error, at }) in results {
            let id = format!("result-{call}");
            self.draft.push(result_message(id, call, text, is_error, at), None);
        }
    }

    fn boundary(&mut self, boundary: Boundary) -> Result<(), Problem> {
        let mut pieces = Vec::new();
        for slot in boundary.front.iter() {
            match slot {
                Slot::Turn(turn) => {
                    let messages = self.turns[*turn].0..self.turns[turn + 1].0;
                    pieces.extend(messages.map(Piece::Message));
                }
                Slot::Text(turn) if turn.text().is_empty() => {
                    self.draft.leave_out("message without text in a summary", 1);
                }
                Slot::Text(turn) => pieces.push(Piece::Text { role: turn.role, text: turn.text() }),
            }
        }
        let clears = !boundary.cleared.is_empty();
        let call = |&(turn, call): &(usize, usize)| self.turns[turn].1[call].clone();
        self.draft.compact(RecordedCompaction {
            after: self.turns[boundary.after].0,
            kept_from: self.turns[boundary.run].0,
            summary: boundary.folded.filter(|text| !text.is_empty()),
            cleared: boundary.cleared.iter().map(call).collect(),
            pieces: if clears { Vec::new() } else { pieces },
            // The file does not say whether the user asked for a summary.
            trigger: if clears { RecordedTrigger::Auto } else { RecordedTrigger::Unknown },
            tokens_before: self.reported[boundary.after],
            at: boundary.at,
            ..RecordedCompaction::default()
        })
    }
}

// A message of Gemini CLI, whichever way its file writes it.

/// What the user or the model said, with the calls and their results.
struct Turn {
    id: Option<String>,
    at: Option<Timestamp>,
    role: Role,
    /// Text and pictures.
    blocks: Vec<Block>,
    thoughts: Vec<String>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    model: Option<String>,
    /// Kinds of parts that are not imported.
    left_out: Vec<&'static str>,
}

struct Call {
    id: String,
    name: String,
    arguments: Json,
    outcome: Option<Outcome>,
}

/// What a tool returned.
struct Outcome {
    text: ResultText,
    is_error: bool,
    at: Option<Timestamp>,
}

/// A record as the log takes it.
enum Arrived {
    /// A message, perhaps with results of earlier calls.
    Turn(Box<Turn>, Vec<Response>),
    /// Results of earlier calls alone.
    Responses(Vec<Response>),
    /// A note to the user that the model never saw.
    Note { kind: String },
}

/// The result of a call that another message made.
struct Response {
    call: String,
    outcome: Outcome,
}

impl Arrived {
    fn new(wire: WireMessage) -> Arrived {
        let role = match wire.kind.as_str() {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => return Arrived::Note { kind: wire.kind },
        };
        let thoughts = wire.thoughts.unwrap_or_default().into_iter();
        let (thoughts, silent): (Vec<String>, Vec<String>) = thoughts
            .map(|thought| joined(&thought.subject, &thought.description))
            .partition(|text| !text.is_empty());
        let mut turn = Turn {
            id: wire.id,
            at: wire.timestamp,
            role,
            blocks: Vec::new(),
            thoughts,
            calls: wire.tool_calls.unwrap_or_default().into_iter().map(Call::new).collect(),
            usage: wire.tokens.map(|tokens| tokens.usage()),
            model: wire.model,
            left_out: vec!["thought without text"; silent.len()],
        };
        let responses = turn.take(wire.content);
        let nothing_else = turn.blocks.is_empty() && turn.left_out.is_empty();
        if role == Role::User && nothing_else && !responses.is_empty() {
            Arrived::Responses(responses)
        } else {
            Arrived::Turn(Box::new(turn), responses)
        }
    }
}

fn joined(subject: &str, description: &str) -> String {
    [subject, description].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("\n")
}

impl Turn {
    /// Takes the parts of the message; returns results of earlier calls.
    fn take(&mut self, parts: Vec<Part>) -> Vec<Response> {
        let recorded = self.thoughts.len();
        let listed = self.calls.len();
        let mut responses = Vec::new();
        for part in parts {
            match part {
                Part { thought: true, text, .. } => {
                    // They are listed with the message as well.
                    self.thoughts.extend(text.filter(|_| recorded == 0));
                }
                Part { text: Some(text), .. } => {
                    self.blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
                }
                // So are calls.
                Part { function_call: Some(call), .. } if listed == 0 => {
                    let id = call.id.unwrap_or_else(|| format!("call-{}", self.calls.len() + 1));
                    let call = Call { id, name: call.name, arguments: call.args, outcome: None };
                    self.calls.push(call);
                }
                Part { function_call: Some(_), .. } => {}
                Part { function_response: Some(response), .. } => match &response.id {
                    Some(call) => responses.push(Response {
                        call: call.clone(),
                        outcome: outcome(
                            vec![Part { function_response: Some(response), ..Part::default() }],
                            None,
                            self.at,
                        ),
                    }),
                    None => self.left_out.push("function response without an id"),
                },
                Part { inline_data: Some(data), .. } | Part { file_data: Some(data), .. } => {
                    match data.mime_type {
                        Some(kind) if kind.starts_with("image/") => {
                            self.blocks.push(Block::Image { media_type: Some(kind) });
                        }
                        _ => self.left_out.push("file part"),
                    }
                }
                _ => self.left_out.push("part of an unknown kind"),
            }
        }
        responses
    }

    /// Whether it says, with these calls, all that an older version of it said.
    fn repeats(&self, calls: &[Call], old: &Turn) -> bool {
        let thoughts: FxHashSet<&String> = self.thoughts.iter().collect();
        let calls: FxHashSet<String> =
            calls.iter().map(|call| call.arguments.to_string()).collect();
        let mut made = old.calls.iter().map(|call| call.arguments.to_string());
        self.text().contains(&old.text())
            && old.thoughts.iter().all(|text| thoughts.contains(text))
            && made.all(|call| calls.contains(&call))
    }

    /// What it says, without blanks at its ends.
    fn text(&self) -> String {
        recap_core::model::sent(&self.blocks).trim().to_owned()
    }

    /// Whether both are the same message. A compression gives the messages that
    /// it keeps new ids.
    fn is(&self, other: &Turn) -> bool {
        let same_id = self.id.is_some() && self.id == other.id;
        let ids = |turn: &Turn| turn.calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
        same_id
            || (self.role == other.role && self.text() == other.text() && ids(self) == ids(other))
    }
}

impl Call {
    fn new(wire: WireCall) -> Call {
        let there = !wire.result.is_empty();
        let outcome = there.then(|| outcome(wire.result, wire.status.as_deref(), wire.timestamp));
        let name = wire.name.unwrap_or_default();
        let arguments = if wire.args.is_null() { serde_json::json!({}) } else { wire.args };
        Call { id: wire.id, name, arguments, outcome }
    }
}

/// What a tool returned: the text of its response and what stands beside it.
fn outcome(parts: Vec<Part>, status: Option<&str>, at: Option<Timestamp>) -> Outcome {
    let mut outcome = Outcome {
        text: ResultText::default(),
        is_error: matches!(status, Some("error" | "cancelled")),
        at,
    };
    for part in parts {
        if let Some(response) = part.function_response {
            outcome.is_error |= response.response.get("error").is_some();
            outcome.text.add(&response_text(&response.response));
            let pictures = response.parts.iter().filter(|part| part.inline_data.is_some());
            outcome.text.images += pictures.count() as u32;
        } else if let Some(text) = part.text {
            outcome.text.add(&text);
        } else if part.inline_data.is_some() || part.file_data.is_some() {
            outcome.text.images += 1;
        } else {
            outcome.text.add(&text_of(&part.other));
        }
    }
    outcome
}

/// The text of a function's response, which is an object.
fn response_text(response: &Json) -> String {
    let text = ["output", "error"].iter().find_map(|key| response.get(key)?.as_str());
    match (text, response) {
        (Some(text), _) => text.to_owned(),
        (None, Json::String(text)) => text.clone(),
        (None, Json::Null) => String::new(),
        (None, other) => other.to_string(),
    }
}

// Records of Gemini CLI on disk, in both forms of its files.

/// A line of the event-sourced form.
enum Record {
    /// The session's own data, at the head of a file or changed by `$set`.
    Session(WireSession),
    /// A message, or a newer version of the one with the same id.
    Message(WireMessage),
    /// Fields that replace those of a message.
    Patch(Patch),
    /// The message with this id and all that follow it are undone.
    Rewind(String),
    /// Nothing that is known.
    Other,
}

/// The fields that tell the records apart.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
    #[serde(rename = "$set")]
    set: Option<WireSession>,
    #[serde(rename = "$patch")]
    patch: Option<Patch>,
    id: Option<String>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

fn read_record(text: &str) -> Result<Record, Problem> {
    let line: Line = parse(text)?;
    Ok(match line {
        Line { rewind_to: Some(id), .. } => Record::Rewind(id),
        Line { set: Some(session), .. } => Record::Session(session),
        Line { patch: Some(patch), .. } => Record::Patch(patch),
        Line { id: Some(_), .. } => Record::Message(parse(text)?),
        Line { session: Some(_), .. } => Record::Session(parse(text)?),
        _ => Record::Other,
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSession {
    session_id: Option<String>,
    project_hash: Option<String>,
    last_updated: Option<Timestamp>,
    directories: Option<Vec<String>>,
    /// All messages of the older form; in the event-sourced form, what the
    /// model is sent from then on.
    messages: Option<Vec<WireMessage>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage {
    id: Option<String>,
    timestamp: Option<Timestamp>,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "parts")]
    content: Vec<Part>,
    thoughts: Option<Vec<Thought>>,
    tool_calls: Option<Vec<WireCall>>,
    tokens: Option<Tokens>,
    model: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Patch {
    id: String,
    #[serde(default, deserialize_with = "some_parts")]
    content: Option<Vec<Part>>,
    tool_calls: Option<Vec<WireCall>>,
    tokens: Option<Tokens>,
    model: Option<String>,
}

#[derive(Deserialize)]
struct Thought {
    #[serde(default)]
    subject: String,
    #[serde(default)]
    description: String,
}

/// A call with its result.
#[derive(Deserialize)]
struct WireCall {
    id: String,
    name: Option<String>,
    #[serde(default)]
    args: Json,
    #[serde(default, deserialize_with = "parts")]
    result: Vec<Part>,
    status: Option<String>,
    timestamp: Option<Timestamp>,
}

/// A part of a message, as the Gemini API has it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<FunctionCall>,
    function_response: Option<FunctionResponse>,
    inline_data: Option<Data>,
    file_data: Option<Data>,
    /// All of it, where it is of no known kind.
    #[serde(skip)]
    other: Json,
}

impl Part {
    fn is_known(&self) -> bool {
        self.text.is_some()
            || self.function_call.is_some()
            || self.function_response.is_some()
            || self.inline_data.is_some()
            || self.file_data.is_some()
    }
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Json,
}

#[derive(Deserialize)]
struct FunctionResponse {
    id: Option<String>,
    #[serde(default)]
    response: Json,
    /// Pictures that the tool returned.
    #[serde(default, deserialize_with = "parts")]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    mime_type: Option<String>,
}

/// Gemini's usage: cached tokens are part of the input, thoughts are not part
/// of the output, and what the provider's own tools returned is counted apart.
#[derive(Clone, Copy, Deserialize)]
struct Tokens {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    thoughts: u64,
    #[serde(default)]
    tool: u64,
}

impl Tokens {
    /// The usage in disjoint buckets.
    fn usage(&self) -> Usage {
        let usage =
            usage_of(self.input, [self.cached, 0], self.output.saturating_add(self.thoughts));
        Usage { input: usage.input.saturating_add(self.tool), ..usage }
    }
}

/// Parts may be written as a text, as one part, or as a list of either.
fn parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    some_parts(deserializer).map(Option::unwrap_or_default)
}

fn some_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Part>>, D::Error> {
    let part = |value: Json| match value {
        Json::String(text) => Ok(Part { text: Some(text), ..Part::default() }),
        other => match Part::deserialize(&other) {
            Ok(part) if part.is_known() => Ok(part),
            Ok(part) => Ok(Part { other, ..part }),
            Err(error) => {
                Err(serde::de::Error::custom(format_args!("a part of `content`: {error}")))
            }
        },
    };
    match Json::deserialize(deserializer)? {
        Json::Null => Ok(None),
        Json::Array(items) => items.into_iter().map(part).collect::<Result<_, _>>().map(Some),
        one => Ok(Some(vec![part(one)?])),
    }
}
