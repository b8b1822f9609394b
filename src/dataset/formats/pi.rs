//! Sessions of the pi coding agent: JSON lines, a list (version 1) or a tree
//! (versions 2 and 3) of entries.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use super::Format;
use super::content::{Content, ResultText, Tally, home_of, project_of, result_message};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::detect::Probe;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::source::{Source, parse};
use crate::model::{Block, Message, RecordedCompaction, RecordedTrigger, Role, Usage};

/// pi's session log.
pub struct Pi;

impl Format for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn describe(&self) -> &'static str {
        "pi coding agent session (JSON lines, ~/.pi/agent/sessions/*/*.jsonl)"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        probe.any(|record| match record.get("type").and_then(Json::as_str) {
            Some("session") => record.get("cwd").is_some() && record.get("id").is_some(),
            Some("message") => {
                let role = record.pointer("/message/role").and_then(Json::as_str);
                matches!(role, Some("toolResult" | "bashExecution"))
            }
            _ => false,
        })
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut entries = Vec::new();
        while let Some((line, (header, body))) = source.next_record(read_entry)? {
            entries.push(Entry { line, header, body });
        }
        let mut reader = Reader::new(source.stem());
        let chain = chain(&entries).map_err(|p| source.error(None, p))?;
        let off = entries.len() - chain.len();
        let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
        reader.index_ids(&entries);
        for at in chain {
            let entry = entries[at].take().expect("a chain holds an entry once");
            let line = entry.line;
            let emitted = reader.entry(at, entry);
            emitted.map_err(|problem| source.error(Some(line), problem))?;
        }
        let mut draft = reader.finish();
        draft.leave_out("entry on an abandoned branch", off as u64);
        draft.leave_out("torn last line", source.torn());
        let empty = draft.transcript.messages.is_empty();
        Ok(if empty { vec![] } else { vec![draft] })
    }
}

struct Entry {
    line: u64,
    header: Header,
    body: Body,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    parent_id: Option<String>,
    timestamp: Option<Timestamp>,
}

enum Body {
    Session(Session),
    Message(WireMessage),
    Compaction(Compaction),
    BranchSummary(String),
    Custom(Content<Part>),
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    cwd: Option<String>,
    branched_from: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compaction {
    summary: String,
    first_kept_entry_index: Option<usize>,
    first_kept_entry_id: Option<String>,
    tokens_before: Option<u64>,
}

#[derive(Deserialize)]
struct BranchSummary {
    summary: String,
}

#[derive(Deserialize)]
struct Custom {
    #[serde(default)]
    content: Content<Part>,
}

#[derive(Deserialize)]
struct WithMessage {
    message: WireMessage,
}

/// Which fields there are depends on `role`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Content<Part>,
    model: Option<String>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
    tool_call_id: Option<String>,
    is_error: Option<bool>,
    command: Option<String>,
    output: Option<String>,
    exit_code: Option<i64>,
    cancelled: Option<bool>,
    truncated: Option<bool>,
    full_output_path: Option<String>,
    exclude_from_context: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Json>,
    mime_type: Option<String>,
}

/// pi counts cached tokens beside `input`, for every provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    input: u64,
    output: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

fn read_entry(text: &str) -> Result<(Header, Body), Problem> {
    let header: Header = parse(text)?;
    let body = match header.kind.as_str() {
        "session" => Body::Session(parse(text)?),
        "message" => Body::Message(parse::<WithMessage>(text)?.message),
        "compaction" => Body::Compaction(parse(text)?),
        "branch_summary" => Body::BranchSummary(parse::<BranchSummary>(text)?.summary),
        "custom_message" => Body::Custom(parse::<Custom>(text)?.content),
        _ => Body::Other,
    };
    Ok((header, body))
}

/// Positions of the conversation's entries: all of a list, or the path to the
/// last entry of a tree. The session entry is a node of neither.
fn chain(entries: &[Entry]) -> Result<Vec<usize>, Problem> {
    let is_session = |e: &Entry| matches!(e.body, Body::Session(_));
    let ids: FxHashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, e)| !is_session(e))
        .filter_map(|(at, e)| Some((e.header.id.as_deref()?, at)))
        .collect();
    if ids.is_empty() {
        return Ok((0..entries.len()).collect());
    }
    let mut path = Vec::new();
    let mut up = entries.iter().rposition(|e| !is_session(e));
    while let Some(at) = up {
        if path.len() == entries.len() {
            let what = "the entries' parents run in a circle".to_owned();
            return Err(Problem::Inconsistent(what));
        }
        path.push(at);
        let parent = entries[at].header.parent_id.as_deref();
        up = match parent {
            None => None,
            Some(id) => Some(*ids.get(id).ok_or_else(|| {
                Problem::Inconsistent(format!("parent `{id}` is not in the file"))
            })?),
        };
    }
    path.extend((0..entries.len()).filter(|&at| is_session(&entries[at])));
    path.sort_unstable();
    Ok(path)
}

/// What pi puts around the summary of a branch that was left
/// (pi-mono, `packages/coding-agent/src/core/messages.ts`).
const BRANCH_SUMMARY: (&str, &str) = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
);

struct Reader {
    draft: Draft,
    models: Tally,
    metadata: BTreeSet<String>,
    /// Index of the first message at or after each entry, by its position in
    /// the file: `firstKeptEntryIndex` counts the session entry as 0.
    index_at: FxHashMap<usize, u32>,
    by_id: FxHashMap<String, usize>,
}

impl Reader {
    fn new(stem: &str) -> Reader {
        let mut draft = Draft::default();
        draft.transcript.id = stem.to_owned();
        Reader {
            draft,
            models: Tally::default(),
            metadata: BTreeSet::new(),
            index_at: FxHashMap::default(),
            by_id: FxHashMap::default(),
        }
    }

    fn index_ids(&mut self, entries: &[Option<Entry>]) {
        let ids = entries.iter().enumerate().filter_map(|(at, entry)| {
            let id = entry.as_ref()?.header.id.clone()?;
            Some((id, at))
        });
        self.by_id = ids.collect();
    }

    fn entry(&mut self, at: usize, entry: Entry) -> Result<(), Problem> {
        self.index_at.insert(at, self.draft.next_index());
        let Entry { line, header, body } = entry;
        match body {
            Body::Session(session) => self.session(&header, session),
            Body::Message(message) => self.message(&header, line, message)?,
            Body::Compaction(compaction) => self.compaction(at, &header, compaction)?,
            Body::BranchSummary(summary) => {
                let (open, close) = BRANCH_SUMMARY;
                let text = format!("{open}{summary}{close}");
                self.push(&header, line, Role::User, vec![Block::Text { text }]);
            }
            Body::Custom(content) => {
                let blocks = self.blocks(content)?;
                self.push(&header, line, Role::User, blocks);
            }
            Body::Other => self.draft.leave_out(format!("{} entry", header.kind), 1),
        }
        Ok(())
    }

    fn session(&mut self, header: &Header, session: Session) {
        self.metadata.extend(header.id.clone());
        self.metadata.extend(session.branched_from);
        if let Some(cwd) = session.cwd {
            self.draft.transcript.project = project_of(&cwd);
            self.metadata.extend(home_of(&cwd));
            self.metadata.insert(cwd);
        }
    }

    fn message(
        &mut self,
        header: &Header,
        line: u64,
        mut message: WireMessage,
    ) -> Result<(), Problem> {
        match message.role.as_str() {
            "user" | "custom" => {
                let blocks = self.blocks(message.content)?;
                self.push(header, line, Role::User, blocks);
            }
            "assistant" => self.response(header, line, message)?,
            "toolResult" => {
                let call = message.tool_call_id.ok_or_else(|| lacks("toolCallId"))?;
                let text = self.result_text(message.content);
                let is_error = message.is_error == Some(true);
                let id = entry_id(header, line);
                let message = result_message(id, call, text, is_error, header.timestamp);
                self.draft.push(message, line);
            }
            "bashExecution" if message.exclude_from_context == Some(true) => {
                self.draft.leave_out("bash execution outside the context", 1);
            }
            "bashExecution" => {
                let text = bash_text(&mut message)?;
                self.push(header, line, Role::User, vec![Block::Text { text }]);
            }
            _ => return Err(Problem::UnknownRole { role: message.role }),
        }
        Ok(())
    }

    fn response(
        &mut self,
        header: &Header,
        line: u64,
        message: WireMessage,
    ) -> Result<(), Problem> {
        let stopped = message.stop_reason.as_deref();
        // The provider refused the request: nothing was answered.
        let failed = stopped == Some("error");
        let whole = !failed && stopped != Some("aborted");
        if let (Some(model), false) = (&message.model, failed) {
            self.models.add(model);
            self.metadata.insert(model.clone());
        }
        let usage = message.usage.filter(|_| !failed).map(|usage| Usage {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write_5m: usage.cache_write,
            cache_write_1h: 0,
            output: usage.output,
            output_final: whole,
        });
        let blocks = self.blocks(message.content)?;
        self.draft.push(
            Message {
                id: entry_id(header, line),
                role: Role::Assistant,
                at: header.timestamp,
                blocks,
                usage,
                synthetic: failed,
            },
            line,
        );
        Ok(())
    }

    fn push(&mut self, header: &Header, line: u64, role: Role, blocks: Vec<Block>) {
        let message = Message {
            id: entry_id(header, line),
            role,
            at: header.timestamp,
            blocks,
            usage: None,
            synthetic: false,
        };
        self.draft.push(message, line);
    }

    fn compaction(
        &mut self,
        at: usize,
        header: &Header,
        compaction: Compaction,
    ) -> Result<(), Problem> {
        let first = match (compaction.first_kept_entry_index, &compaction.first_kept_entry_id) {
            (Some(index), _) => Some(index),
            (None, Some(id)) => Some(*self.by_id.get(id).ok_or_else(|| {
                Problem::Inconsistent(format!("first kept entry `{id}` is not in the file"))
            })?),
            (None, None) => None,
        };
        let after = self.draft.next_index();
        let kept_from = match first {
            None => after,
            Some(first) if first > at => {
                return Err(Problem::Inconsistent(format!(
                    "first kept entry {first} stands after the compaction (entry {at})"
                )));
            }
            // The entry itself may lie on a branch that was left.
            Some(first) => {
                (first..=at).find_map(|e| self.index_at.get(&e).copied()).unwrap_or(after)
            }
        };
        self.draft.transcript.compactions.push(RecordedCompaction {
            after,
            kept_from,
            summary: Some(compaction.summary),
            cleared: Vec::new(),
            // pi does not say whether the user asked for it.
            trigger: RecordedTrigger::Unknown,
            tokens_before: compaction.tokens_before,
            at: header.timestamp,
        });
        Ok(())
    }

    fn blocks(&mut self, content: Content<Part>) -> Result<Vec<Block>, Problem> {
        let parts = match content {
            Content::Text(text) => return Ok(vec![Block::Text { text }]),
            Content::Parts(parts) => parts,
        };
        let mut blocks = Vec::with_capacity(parts.len());
        for part in parts {
            match part.kind.as_str() {
                "text" => {
                    blocks.push(Block::Text { text: part.text.ok_or_else(|| lacks("text"))? })
                }
                "thinking" => {
                    blocks.push(Block::Reasoning { text: part.thinking.unwrap_or_default() })
                }
                "toolCall" => blocks.push(Block::ToolCall {
                    id: part.id.ok_or_else(|| lacks("id"))?,
                    name: part.name.ok_or_else(|| lacks("name"))?,
                    arguments: part.arguments.unwrap_or_else(|| serde_json::json!({})),
                }),
                "image" => blocks.push(Block::Image { media_type: part.mime_type }),
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        Ok(blocks)
    }

    fn result_text(&mut self, content: Content<Part>) -> ResultText {
        let mut result = ResultText::default();
        match content {
            Content::Text(text) => result.text = text,
            Content::Parts(parts) => {
                for part in parts {
                    match (part.kind.as_str(), part.text) {
                        ("text", Some(text)) => result.add(&text),
                        ("image", _) => result.images += 1,
                        (other, _) => {
                            let reason = format!("{other} part in a tool result");
                            self.draft.leave_out(reason, 1);
                        }
                    }
                }
            }
        }
        result
    }

    fn finish(mut self) -> Draft {
        self.draft.transcript.model = self.models.most_frequent();
        self.draft.transcript.metadata = self.metadata.into_iter().collect();
        self.draft
    }
}

fn entry_id(header: &Header, line: u64) -> String {
    let id = header.id.clone();
    id.unwrap_or_else(|| format!("line-{line}"))
}

fn lacks(field: &str) -> Problem {
    Problem::Shape { at: "message".to_owned(), message: format!("lacks `{field}`") }
}

/// A command that the user ran, as pi tells the model about it
/// (pi-mono, `packages/coding-agent/src/core/messages.ts`).
fn bash_text(message: &mut WireMessage) -> Result<String, Problem> {
    let command = message.command.take().ok_or_else(|| lacks("command"))?;
    let output = message.output.take().unwrap_or_default();
    let mut text = format!("Ran `{command}`\n");
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{output}\n```"));
    }
    if message.cancelled == Some(true) {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = message.exit_code.filter(|&code| code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if let (Some(true), Some(path)) = (message.truncated, &message.full_output_path) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    Ok(text)
}
