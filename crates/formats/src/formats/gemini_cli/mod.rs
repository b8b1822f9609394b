//! Sessions of Gemini CLI: one JSON document, or (since 2026) a log of events,
//! one a line.

mod log;

use self::log::{ABANDONED, Boundary, Log, Slot};
use super::content::{list, usage_of, warn_of_branches};
use super::prelude::*;
use crate::source::KEPT;

/// The format of Gemini CLI's session files.
pub(super) const FORMAT: Format = Format {
    name: "gemini-cli",
    describe: "Gemini CLI session (JSON or JSON lines, ~/.gemini/tmp/*/chats/session-*)",
    tried: Tried::On {
        files: 5,
        compared: "messages, calls with results, requests, largest prompt, sum of outputs",
    },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/sessionId /projectHash"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut log = Log::default();
    log.draft.session.id = source.stem().to_owned();
    if source.is_document()? {
        let session = source.document()?;
        source.whole(log.session(Fields(session)))?;
    } else {
        source.keeps_of_each(0);
        while let Some((line, record)) = source.next_record(parse::<Json>)? {
            let before = log.turns.len();
            if let Err(problem) = log.record(Fields(record)) {
                source.set_aside(line, problem)?;
            }
            let more = log.turns.len().saturating_sub(before) as u64;
            source.keep(more * KEPT)?;
        }
    }
    let draft = source.whole(Reader::default().read(log))?;
    warn_of_branches(source, &draft, ABANDONED);
    take(source, draft)
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
        let Log { project, metadata, directories, turns, boundaries, draft, .. } = log;
        (self.draft, self.reported) = (draft, vec![None]);
        // Sessions of one folder share the hash of its path.
        let hash = project.as_ref().map(|hash| hash.chars().take(12).collect::<String>());
        self.draft.session.project = hash.filter(|hash| !hash.is_empty());
        self.draft.metadata.extend(metadata.into_iter().chain(project));
        directories.into_iter().for_each(|folder| self.draft.worked_in(folder));
        for turn in turns {
            self.turn(turn);
        }
        self.turns.push((self.draft.next_index(), Vec::new()));
        for boundary in boundaries {
            self.boundary(boundary)?;
        }
        Ok(self.draft)
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
        // The agent's own words, such as its answer to a summary.
        let synthetic =
            turn.role == Role::Assistant && turn.usage.is_none() && turn.model.is_none();
        if let Some(model) = turn.model {
            self.draft.written_by(model, &id);
        }
        if blocks.is_empty() && turn.usage.is_none() {
            self.draft.leave_out("empty message", 1);
            return;
        }
        let usage = turn.usage.filter(|_| turn.role == Role::Assistant);
        let message = Message::new(id, turn.role, turn.at, blocks);
        self.draft.push(Message { usage, synthetic, ..message });
        for (call, (result, at)) in results {
            let id = format!("result-{call}");
            let message = self.draft.result_message(id, call, result, at);
            self.draft.push(message);
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

/// What a tool returned, and when.
type Outcome = (ResultText, Option<Timestamp>);

/// Results of calls that other messages made.
type Results = Vec<(String, Outcome)>;

/// A record as the log takes it.
enum Arrived {
    /// A message, results of earlier calls, or both.
    Said(Option<Box<Turn>>, Results),
    /// A note to the user that the model never saw.
    Note { kind: String, id: Option<String> },
}

impl Arrived {
    fn read(message: Json) -> Result<Arrived, Problem> {
        let mut message = Fields(message);
        let kind: String = message.need("/type")?;
        let role = match kind.as_str() {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => return Ok(Arrived::Note { kind, id: message.take("/id")? }),
        };
        let mut thoughts = Vec::new();
        for thought in message.take::<Vec<Json>>("/thoughts")?.unwrap_or_default() {
            let mut thought = Fields(thought);
            let texts = [thought.take("/subject")?, thought.take("/description")?];
            let texts = texts.into_iter().flatten().filter(|text: &String| !text.is_empty());
            thoughts.push(texts.collect::<Vec<_>>().join("\n"));
        }
        let silent = thoughts.extract_if(.., |text| text.is_empty()).count();
        let mut turn = Turn {
            id: message.take("/id")?,
            at: message.take("/timestamp")?,
            role,
            blocks: Vec::new(),
            thoughts,
            calls: calls(&mut message)?,
            usage: usage(&mut message)?,
            model: message.take("/model")?,
            left_out: vec!["thought without text"; silent],
        };
        let results = turn.take(list(message.take("/content")?.unwrap_or_default()))?;
        let nothing_else = turn.blocks.is_empty() && turn.left_out.is_empty();
        let is_message = role != Role::User || !nothing_else || results.is_empty();
        Ok(Arrived::Said(is_message.then(|| Box::new(turn)), results))
    }
}

impl Turn {
    /// Takes the parts of the message; returns results of earlier calls.
    fn take(&mut self, parts: Vec<Json>) -> Result<Results, Problem> {
        let recorded = self.thoughts.len();
        let listed = self.calls.len();
        let mut results = Vec::new();
        for part in parts {
            let mut part = match part {
                Json::String(text) => Fields(serde_json::json!({ "text": text })),
                part => Fields(part),
            };
            let text: Option<String> = part.take("/text")?;
            let call: Option<Json> = part.take("/functionCall")?;
            if part.take("/thought")? == Some(true) {
                // They are listed with the message as well.
                self.thoughts.extend(text.filter(|_| recorded == 0));
            } else if let Some(text) = text {
                self.blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
            } else if let Some(call) = call {
                // So are calls.
                let mut call = Fields(call);
                let id: Option<String> = call.take("/id")?;
                let id = id.unwrap_or_else(|| format!("call-{}", self.calls.len() + 1));
                let (name, arguments) = (call.need("/name")?, call.take("/args")?);
                let arguments = arguments.unwrap_or_default();
                let call = Call { id, name, arguments, outcome: None };
                self.calls.extend((listed == 0).then_some(call));
            } else if part.0.get("functionResponse").is_some_and(|own| !own.is_null()) {
                match part.text("/functionResponse/id").map(str::to_owned) {
                    Some(call) => results.push((call, outcome(vec![part.0], None, self.at))),
                    None => self.left_out.push("function response without an id"),
                }
            } else if part.0.get("inlineData").or(part.0.get("fileData")).is_some() {
                let mime: Option<String> =
                    part.first(&["/inlineData/mimeType", "/fileData/mimeType"])?;
                match mime.filter(|kind| kind.starts_with("image/")) {
                    Some(kind) => self.blocks.push(Block::Image { media_type: Some(kind) }),
                    None => self.left_out.push("file part"),
                }
            } else {
                self.left_out.push("part of an unknown kind");
            }
        }
        Ok(results)
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

/// Takes the calls of a message, with their results.
fn calls(message: &mut Fields) -> Result<Vec<Call>, Problem> {
    let calls: Vec<Json> = message.take("/toolCalls")?.unwrap_or_default();
    let read = |call| {
        let mut call = Fields(call);
        let (id, name): (String, Option<String>) = (call.need("/id")?, call.take("/name")?);
        let arguments = call.take("/args")?.unwrap_or_else(|| serde_json::json!({}));
        let (status, at): (Option<String>, _) = (call.take("/status")?, call.take("/timestamp")?);
        let parts = list(call.take("/result")?.unwrap_or_default());
        let there = !parts.is_empty();
        let outcome = there.then(|| outcome(parts, status.as_deref(), at));
        Ok(Call { id, name: name.unwrap_or_default(), arguments, outcome })
    };
    calls.into_iter().map(read).collect::<Result<_, _>>().map_err(|one| below("/toolCalls", one))
}

/// What a tool returned: the text of its response and what stands beside it.
fn outcome(parts: Vec<Json>, status: Option<&str>, at: Option<Timestamp>) -> Outcome {
    let is_error = matches!(status, Some("error" | "cancelled"));
    let mut result = ResultText { is_error, ..ResultText::default() };
    for part in parts {
        let is_text = part.get("text").is_some_and(Json::is_string);
        if let Some(response) = part.get("functionResponse").filter(|own| !own.is_null()) {
            let pictures = list(response.get("parts").cloned().unwrap_or_default());
            let pictures = pictures.iter().filter(|part| part.get("inlineData").is_some());
            result.images += pictures.count() as u32;
            let returned = response.get("response").unwrap_or(&Json::Null);
            result.is_error |= returned.get("error").is_some();
            result.add(&response_text(returned));
        } else if is_text {
            result.add(&text_of(&part["text"]));
        } else if part.get("inlineData").or(part.get("fileData")).is_some() {
            result.images += 1;
        } else {
            result.add(&text_of(&part));
        }
    }
    (result, at)
}

/// The text of a function's response, which is an object.
fn response_text(response: &Json) -> String {
    let text = ["output", "error"].iter().find_map(|key| response.get(key)?.as_str());
    text.map_or_else(|| text_of(response), str::to_owned)
}

/// Gemini's usage: cached tokens are part of the input, thoughts are not part
/// of the output, and what the provider's own tools returned is counted apart.
fn usage(message: &mut Fields) -> Result<Option<Usage>, Problem> {
    let Some(tokens) = message.take("/tokens")? else { return Ok(None) };
    let mut tokens = Fields(tokens);
    let counts = tokens.counts(["/input", "/cached", "/thoughts", "/output"]);
    let [input, cached, thoughts, output] = counts.map_err(|one| below("/tokens", one))?;
    let tool = tokens.take("/tool")?.unwrap_or(0);
    let usage = usage_of(input, [cached, 0], output.saturating_add(thoughts));
    Ok(Some(Usage { input: usage.input.saturating_add(tool), ..usage }))
}
