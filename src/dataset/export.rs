//! The formats that sessions are written in: recap's own, and two that other
//! programs read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};

use super::error::DatasetError;
use super::import::{Lines, refused};
use super::native::{PROBES_FILE, TRANSCRIPTS_FILE, write_line};
use super::probes;
use crate::model::{Block, Message, Probe, Role, ToolDefinition, Transcript, Usage};

/// Name of the file of conversations, one a line.
pub const CHAT_FILE: &str = "conversations.jsonl";

/// The version of ATIF that is written (harbor-framework/harbor, `docs/rfcs`).
const ATIF: &str = "ATIF-v1.6";

/// A format that sessions are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Export {
    /// recap's own data set, which loses nothing.
    #[default]
    Native,
    /// A trajectory of Harbor's ATIF a file.
    Atif,
    /// A conversation of OpenAI chat messages a line.
    OpenAiChat,
}

/// What a format has no place for, and how often.
type Counts = BTreeMap<&'static str, u64>;

impl Export {
    /// Writes every session into `folder`; returns what could not be written.
    pub(super) fn write(
        self,
        folder: &Path,
        lines: &Lines<'_>,
        questions: &[Probe],
    ) -> Result<Counts, DatasetError> {
        let mut counts = Counts::new();
        match self {
            Export::Native => {
                native(folder, lines)?;
                if !questions.is_empty() {
                    let path = folder.join(PROBES_FILE);
                    let file = File::create(&path).map_err(|e| refused(&path, e))?;
                    let written = probes::write_probes(questions, BufWriter::new(file));
                    written.map_err(|e| refused(&path, e))?;
                }
                return Ok(counts);
            }
            Export::Atif => lines.each(|transcript| {
                let path = folder.join(format!("{}.json", file_name(&transcript.id)));
                let text = trajectory(&transcript, &mut counts).to_string();
                std::fs::write(&path, text).map_err(|e| refused(&path, e))
            })?,
            Export::OpenAiChat => {
                let path = folder.join(CHAT_FILE);
                let file = File::create(&path).map_err(|e| refused(&path, e))?;
                let mut file = BufWriter::new(file);
                lines.each(|transcript| {
                    let line = conversation(&transcript, &mut counts);
                    writeln!(file, "{line}").map_err(|e| refused(&path, e))
                })?;
                file.flush().map_err(|e| refused(&path, e))?;
            }
        }
        count(&mut counts, "question", questions.len());
        std::fs::remove_file(lines.path).map_err(|e| refused(lines.path, e))?;
        Ok(counts)
    }
}

fn native(folder: &Path, lines: &Lines<'_>) -> Result<(), DatasetError> {
    let path = folder.join(TRANSCRIPTS_FILE);
    if !lines.renamed {
        return std::fs::rename(lines.path, &path).map_err(|e| refused(&path, e));
    }
    let mut file = BufWriter::new(File::create(&path).map_err(|e| refused(&path, e))?);
    lines.each(|transcript| {
        write_line(&transcript, &mut file).map(drop).map_err(|e| refused(&path, e))
    })?;
    file.flush().map_err(|e| refused(&path, e))?;
    std::fs::remove_file(lines.path).map_err(|e| refused(lines.path, e))
}

/// An id without characters that a name of a file cannot have; with a hash where
/// it had some, so that no two names are the same.
fn file_name(id: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '#');
    let plain: String = id.chars().map(|c| if is_plain(c) { c } else { '-' }).take(120).collect();
    if plain == id && !id.starts_with('.') && !id.is_empty() {
        return plain;
    }
    format!("{}-{}", plain.trim_start_matches('.'), &blake3::hash(id.as_bytes()).to_hex()[..8])
}

fn count(counts: &mut Counts, what: &'static str, n: usize) {
    if n > 0 {
        *counts.entry(what).or_default() += n as u64;
    }
}

/// Counts what neither format has a place for.
fn count_common(transcript: &Transcript, counts: &mut Counts) {
    let Transcript { compactions, preamble_changes, sidechains, .. } = transcript;
    count(counts, "recorded compaction", compactions.len());
    count(counts, "change of the system prompt", preamble_changes.len());
    count(counts, "request of a sidechain", sidechains.len());
    let images: u32 = transcript.messages.iter().map(Message::images).sum();
    count(counts, "picture (recordings keep no bytes of it)", images as usize);
}

/// The blocks of a message, sorted by what they are.
struct Parts<'a> {
    text: String,
    reasoning: String,
    calls: Vec<(&'a str, &'a str, &'a Json)>,
    /// The call, the text, and whether the tool failed.
    result: Option<(&'a str, &'a str, bool)>,
}

impl<'a> Parts<'a> {
    fn of(message: &'a Message) -> Parts<'a> {
        let mut parts = Parts {
            text: String::new(),
            reasoning: message.reasoning(),
            calls: Vec::new(),
            result: None,
        };
        for block in &message.blocks {
            match block {
                Block::Text { text } => {
                    if !parts.text.is_empty() {
                        parts.text.push('\n');
                    }
                    parts.text.push_str(text);
                }
                Block::ToolCall { id, name, arguments } => parts.calls.push((id, name, arguments)),
                Block::ToolResult { call, text, is_error, .. } => {
                    parts.result = Some((call, text, *is_error));
                }
                Block::Reasoning { .. } | Block::Image { .. } => {}
            }
        }
        parts
    }
}

/// What is sent before the first message, as system messages.
fn preamble(transcript: &Transcript) -> impl Iterator<Item = &str> {
    let preamble = &transcript.preamble;
    preamble.system.iter().chain(&preamble.pinned).map(String::as_str)
}

fn function(tool: &ToolDefinition) -> Json {
    let ToolDefinition { name, description, parameters } = tool;
    let function = json!({"name": name, "description": description, "parameters": parameters});
    json!({"type": "function", "function": function})
}

fn conversation(transcript: &Transcript, counts: &mut Counts) -> Json {
    count_common(transcript, counts);
    let mut messages: Vec<Json> =
        preamble(transcript).map(|text| json!({"role": "system", "content": text})).collect();
    for message in &transcript.messages {
        let parts = Parts::of(message);
        count(counts, "reasoning", usize::from(!parts.reasoning.is_empty()));
        count(counts, "usage of a request", usize::from(message.usage.is_some()));
        count(counts, "time of a message", usize::from(message.at.is_some()));
        if let Some((call, text, failed)) = parts.result {
            count(counts, "mark of a failed tool call", usize::from(failed));
            messages.push(json!({"role": "tool", "tool_call_id": call, "content": text}));
            continue;
        }
        let mut written = json!({"role": message.role.as_str(), "content": parts.text});
        if !parts.calls.is_empty() {
            let call = |(id, name, arguments): &(&str, &str, &Json)| {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                json!({"id": id, "type": "function", "function": function})
            };
            written["tool_calls"] = parts.calls.iter().map(call).collect();
        }
        messages.push(written);
    }
    let mut line = json!({"id": transcript.id, "messages": messages});
    if let Some(model) = &transcript.model {
        line["model"] = json!(model);
    }
    if !transcript.preamble.tools.is_empty() {
        line["tools"] = transcript.preamble.tools.iter().map(function).collect();
    }
    line
}

fn trajectory(transcript: &Transcript, counts: &mut Counts) -> Json {
    count_common(transcript, counts);
    let mut steps: Vec<Map<String, Json>> = Vec::new();
    let mut step_of: FxHashMap<&str, usize> = FxHashMap::default();
    for text in preamble(transcript) {
        steps.push(step("system", text));
    }
    for (at, message) in (0..).zip(&transcript.messages) {
        let parts = Parts::of(message);
        if let Some((call, text, failed)) = parts.result {
            count(counts, "mark of a failed tool call", usize::from(failed));
            let Some(step) = step_of.get(call).and_then(|at| steps.get_mut(*at)) else { continue };
            let observation = step.entry("observation").or_insert_with(|| json!({"results": []}));
            if let Some(results) = observation["results"].as_array_mut() {
                results.push(json!({"source_call_id": call, "content": text}));
            }
            continue;
        }
        let source = match message.role {
            Role::System => "system",
            Role::User | Role::Tool => "user",
            Role::Assistant => "agent",
        };
        let mut step = step(source, &parts.text);
        step.extend(message.at.map(|at| ("timestamp".to_owned(), json!(at))));
        if message.role == Role::Assistant {
            let own = transcript.other_models.get(&at);
            step.extend(own.map(|model| ("model_name".to_owned(), json!(model))));
            let thoughts = (!parts.reasoning.is_empty()).then_some(parts.reasoning);
            step.extend(thoughts.map(|text| ("reasoning_content".to_owned(), json!(text))));
            step.extend(message.usage.map(|usage| ("metrics".to_owned(), metrics(&usage))));
        }
        if !parts.calls.is_empty() {
            let call = |(id, name, arguments): &(&str, &str, &Json)| json!({"tool_call_id": id, "function_name": name, "arguments": arguments});
            let calls = parts.calls.iter().map(call).collect();
            step.insert("tool_calls".to_owned(), calls);
            step_of.extend(parts.calls.iter().map(|(id, ..)| (*id, steps.len())));
        }
        steps.push(step);
    }
    for (number, step) in (1..).zip(&mut steps) {
        step.insert("step_id".to_owned(), json!(number));
    }
    let tools: Vec<Json> = transcript.preamble.tools.iter().map(function).collect();
    // The format requires a name and a version, which recordings rarely hold.
    let mut agent = json!({"name": "unknown", "version": "unknown", "tool_definitions": tools});
    if let Some(model) = &transcript.model {
        agent["model_name"] = json!(model);
    }
    json!({
        "schema_version": ATIF, "session_id": transcript.id, "agent": agent, "steps": steps,
    })
}

fn step(source: &str, message: &str) -> Map<String, Json> {
    let fields = [("source", json!(source)), ("message", json!(message))];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// ATIF's usage: cached tokens are part of the prompt.
fn metrics(usage: &Usage) -> Json {
    let mut metrics = json!({
        "prompt_tokens": usage.prompt(),
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
    });
    if usage.written() > 0 {
        metrics["extra"] = json!({"cache_creation_input_tokens": usage.written()});
    }
    metrics
}
