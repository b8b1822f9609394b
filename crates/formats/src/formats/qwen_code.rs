//! Sessions of Qwen Code, JSON lines (`~/.qwen/projects/*/chats/*.jsonl`): a tree
//! of records whose messages are in the shape of the Gemini API. Read from the
//! agent's public source (QwenLM/qwen-code,
//! `packages/core/src/services/chatRecordingService.ts`), without recordings at
//! hand. A compression lists all that is sent from then on, as in Gemini CLI.

use std::collections::BTreeSet;

use super::content::{branch_to_last, warn_of_branches};
use super::gemini_cli::{Part, Record as Event, Session, Tokens, WireMessage, session_of};
use super::prelude::*;

/// Whether a record can only be one of Qwen Code: others have ids, too.
pub(super) fn is_record(record: &Json) -> bool {
    let kind = record.get("type").and_then(Json::as_str);
    let own = record.pointer("/message/parts").is_some_and(Json::is_array)
        || (kind == Some("system") && record.get("systemPayload").is_some());
    own && record.get("uuid").is_some() && record.get("sessionId").is_some()
}

/// The format of Qwen Code's session logs.
pub(super) const FORMAT: Format = Format {
    name: "qwen-code",
    describe: "Qwen Code session (JSON lines, ~/.qwen/projects/*/chats/*.jsonl)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.any(is_record)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut records = Vec::new();
    while let Some((_, record)) = source.next_record(parse::<Record>)? {
        records.push(record);
    }
    // Subagents have files of their own, all of whose records are marked.
    let is_main = records.iter().any(|record| !record.is_sidechain && record.is_message());
    let all = records.len();
    records.retain(|record| !is_main || !record.is_sidechain);
    let aside = all - records.len();
    let ids = records.iter().map(|record| (record.uuid.as_deref(), record.parent_uuid.as_deref()));
    let on = branch_to_last(ids).map_err(|problem| source.error(None, problem))?;
    let abandoned = on.iter().filter(|on| !**on).count();
    let mut notes: Vec<String> = Vec::new();
    let mut place = Place::default();
    let mut events = Vec::new();
    for (record, _) in records.into_iter().zip(on).filter(|(_, on)| *on) {
        place.take(&record);
        match record.event() {
            Ok(event) => events.push(event),
            Err(note) => notes.push(note),
        }
    }
    let draft = session_of(source.stem(), events);
    let mut draft = draft.map_err(|problem| source.error(None, problem))?;
    place.put(&mut draft);
    draft.leave_out("sidechain record", aside as u64);
    draft.leave_out(ABANDONED, abandoned as u64);
    notes.into_iter().for_each(|note| draft.leave_out(note, 1));
    warn_of_branches(source, &draft, ABANDONED);
    draft.leave_out("torn last line", source.torn());
    Ok(vec![draft])
}

/// Why a record is not in the transcript.
const ABANDONED: &str = "record on an abandoned branch";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    uuid: Option<String>,
    parent_uuid: Option<String>,
    session_id: Option<String>,
    timestamp: Option<Timestamp>,
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    cwd: Option<String>,
    git_branch: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    message: Option<Content>,
    usage_metadata: Option<UsageMetadata>,
    model: Option<String>,
    system_payload: Option<Payload>,
}

/// A message as the Gemini API has it.
#[derive(Deserialize)]
struct Content {
    role: Option<String>,
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    compressed_history: Option<Vec<Content>>,
}

/// Cached tokens are part of the prompt. Whether thoughts are part of what was
/// answered depends on the provider, so that the total decides.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
    total_token_count: Option<u64>,
}

impl UsageMetadata {
    fn tokens(&self) -> Tokens {
        let rest = self.total_token_count.and_then(|all| all.checked_sub(self.prompt_token_count));
        let answered = self.candidates_token_count.saturating_add(self.thoughts_token_count);
        let output = rest.filter(|rest| *rest > 0).unwrap_or(answered);
        Tokens::new(self.prompt_token_count, self.cached_content_token_count, output)
    }
}

impl Record {
    fn is_message(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "assistant" | "tool_result")
    }

    /// What the log says with it, or the name of what is left out.
    fn event(self) -> Result<Event, String> {
        let compressed = self.subtype.as_deref() == Some("chat_compression");
        if let Some(history) =
            self.system_payload.filter(|_| compressed).and_then(|own| own.compressed_history)
        {
            let messages = history.into_iter().map(|content| {
                let is_model = content.role.as_deref() == Some("model");
                message(if is_model { "gemini" } else { "user" }, content)
            });
            return Ok(Event::Session(Session {
                messages: Some(messages.collect()),
                last_updated: self.timestamp,
                ..Session::default()
            }));
        }
        let speaker = match self.kind.as_str() {
            "user" | "tool_result" => "user",
            "assistant" => "gemini",
            kind => {
                let subtype = self.subtype.map_or_else(String::new, |name| format!("/{name}"));
                return Err(format!("{kind}{subtype} record"));
            }
        };
        let Some(content) = self.message else { return Err("record without a message".to_owned()) };
        let message = message(speaker, content);
        Ok(Event::Message(WireMessage {
            id: self.uuid,
            timestamp: self.timestamp,
            tokens: self.usage_metadata.map(|usage| usage.tokens()),
            model: self.model,
            ..message
        }))
    }
}

fn message(kind: &str, content: Content) -> WireMessage {
    WireMessage::new(kind, content.parts.unwrap_or_default())
}

/// Where the session took place.
#[derive(Default)]
struct Place {
    project: Option<String>,
    known: BTreeSet<String>,
}

impl Place {
    fn take(&mut self, record: &Record) {
        if self.project.is_none() {
            self.project = record.cwd.as_deref().and_then(project_of);
        }
        let own = [&record.session_id, &record.cwd, &record.git_branch];
        self.known.extend(own.into_iter().flatten().cloned());
        self.known.extend(record.cwd.as_deref().and_then(home_of));
    }

    fn put(self, draft: &mut Draft) {
        let transcript = &mut draft.transcript;
        transcript.project = self.project;
        transcript.metadata.extend(self.known);
        transcript.metadata.sort();
        transcript.metadata.dedup();
    }
}
