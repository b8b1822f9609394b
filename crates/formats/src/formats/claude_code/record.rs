//! Records of a Claude Code log in their format on disk, versions 1.0 to 2.1.
//!
//! Only fields that the importer reads are named: `toolUseResult` repeats a
//! result with whole files and was never sent to the model.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::formats::anthropic::WireUsage;
use crate::formats::content::{Part, parts};
use crate::formats::prelude::*;
use recap_core::text::density::object_without;

/// The fields that every record has.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    pub(super) uuid: Option<String>,
    pub(super) parent_uuid: Option<String>,
    pub(super) logical_parent_uuid: Option<String>,
    pub(super) is_sidechain: Option<bool>,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) session_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) version: Option<String>,
    pub(super) git_branch: Option<String>,
    pub(super) slug: Option<String>,
    pub(super) is_compact_summary: Option<bool>,
    pub(super) is_api_error_message: Option<bool>,
    pub(super) request_id: Option<String>,
    #[serde(rename = "sourceToolUseID")]
    pub(super) source_tool_use: Option<String>,
    is_meta: Option<bool>,
    subtype: Option<String>,
}

/// The content of a record.
#[derive(Debug)]
pub(super) enum Body {
    User(Vec<Part>),
    Assistant(Box<Response>),
    Compaction(CompactMetadata),
    /// Results of these calls were cleared.
    MicroCompaction(CompactMetadata),
    /// What the harness added to the conversation besides messages.
    Added(Added),
    /// A response of a subagent, shown as its progress: it is in no other record
    /// where the subagent's log is not at hand.
    Progress(Box<Response>),
    /// What became of a prompt that was typed while the agent worked.
    Queue(Queue),
    /// Not part of the conversation; the reason under which it is counted.
    Other(String),
}

/// One line of the log.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) line: u64,
    /// Apart, like a response: a list of records that grows is moved, and stands in memory twice
    /// meanwhile.
    pub(super) header: Box<Header>,
    pub(super) body: Body,
    /// Whether it names as its parent the end of what the log wrote once more
    /// before it.
    pub(super) behind_copy: bool,
}

impl Record {
    /// The id of the record that it follows.
    pub(super) fn parent(&self) -> Option<&str> {
        let Header { parent_uuid, logical_parent_uuid, .. } = &*self.header;
        parent_uuid.as_deref().or(logical_parent_uuid.as_deref())
    }

    /// Whether this is a message of the conversation.
    pub(super) fn is_conversation(&self) -> bool {
        matches!(self.body, Body::User(_) | Body::Assistant(_))
    }

    /// Whether it is neither a message nor context.
    pub(super) fn is_side(&self) -> bool {
        matches!(self.body, Body::Other(_) | Body::Progress(_) | Body::Queue(_))
    }

    pub(super) fn is_sidechain(&self) -> bool {
        self.header.is_sidechain == Some(true)
    }

    /// Whether this is a user's record with nothing but results of calls.
    pub(super) fn is_result(&self) -> bool {
        match &self.body {
            Body::User(parts) => {
                !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::Result { .. }))
            }
            _ => false,
        }
    }

    /// Whether this is a user's record that the harness wrote.
    pub(super) fn is_of_harness(&self) -> bool {
        self.header.is_meta == Some(true) || self.header.source_tool_use.is_some()
    }

    /// Whether this is a slash command or what it printed.
    pub(super) fn is_command(&self) -> bool {
        match &self.body {
            Body::Added(Added::Note { .. }) => self.header.subtype.is_some(),
            Body::User(parts) => match &parts[..] {
                [Part::Text(text)] => {
                    ["<command-", "<local-command-"].iter().any(|start| text.starts_with(start))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the harness wrote the message in the agent's name (how-it-works §4).
    pub(super) fn is_synthetic(&self) -> bool {
        let model = match &self.body {
            Body::Assistant(response) => response.model.as_deref(),
            _ => None,
        };
        model == Some("<synthetic>") || self.header.is_api_error_message == Some(true)
    }

    /// What the request of this record's response used, where that is reported.
    pub(super) fn request_usage(&self) -> Option<Usage> {
        match &self.body {
            Body::Assistant(response) if !self.is_synthetic() => response.request_usage(),
            _ => None,
        }
    }
}

/// The part of a response that one line holds.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) content: Vec<Part>,
    /// Whether its token count is final: the reason why it stopped is `null` until the
    /// response is complete, and some recorders leave it out.
    pub(super) is_final: bool,
    /// Whether more lines come: without a reason nothing was written yet.
    pub(super) is_open: bool,
    pub(super) usage: Option<WireUsage>,
}

impl Response {
    fn read(message: &mut Fields) -> Result<Response, Problem> {
        let diagnostics: Json = message.take("/diagnostics")?.unwrap_or_default();
        let usage = WireUsage::read(message.take("/usage")?, &diagnostics);
        let usage = usage.map_err(|problem| below("/usage", problem))?;
        let reason = message.0.get("stop_reason");
        let is_silent = usage.as_ref().is_some_and(|usage| usage.output() == 0);
        let is_final = reason.is_none_or(|reason| !reason.is_null());
        let is_open = !is_final || reason.is_none() && is_silent;
        Ok(Response {
            id: message.take("/id")?,
            model: message.take("/model")?,
            content: message.parts("/content")?,
            is_final,
            is_open,
            usage,
        })
    }

    /// What its request used.
    pub(super) fn request_usage(&self) -> Option<Usage> {
        self.usage.as_ref().map(WireUsage::usage).filter(|usage| usage.prompt() > 0)
    }

    /// Whether it completes the response of an earlier line with the same id, however
    /// large that one's prompt: gateways to models of other makers report an estimate
    /// while a response is written, and what was used with its end.
    pub(super) fn completes(&self, earlier: &Response) -> bool {
        !self.is_open && earlier.is_open
    }

    pub(super) fn opens_with_call(&self) -> bool {
        self.content.first().is_none_or(|part| matches!(part, Part::Call { .. }))
    }
}

/// A change of the queue of prompts.
#[derive(Debug, Deserialize)]
pub(super) struct Queue {
    pub(super) operation: String,
    pub(super) content: Option<String>,
}

/// What the boundary of a compaction says of it.
#[derive(Debug, Default)]
pub(super) struct CompactMetadata {
    pub(super) trigger: RecordedTrigger,
    pub(super) tokens_before: Option<u64>,
    pub(super) tokens_after: Option<u64>,
    /// How long the user waited: not at all while the session was idle. A
    /// figure beyond a day is none.
    pub(super) waited_ms: Option<f64>,
    /// What a partial compaction kept: the records from a first to a last, or (since 2026)
    /// a list.
    pub(super) head: Option<String>,
    pub(super) tail: Option<String>,
    pub(super) listed: Vec<String>,
    /// The record after which they were kept: the boundary, or its summary.
    pub(super) anchor: Option<String>,
    pub(super) cleared: Vec<String>,
}

impl CompactMetadata {
    fn read(metadata: Option<Json>) -> Result<CompactMetadata, Problem> {
        let mut own = Fields(metadata.unwrap_or_default());
        let trigger: Option<String> = own.take("/trigger")?;
        let is_idle = trigger.as_deref().is_some_and(|trigger| trigger.contains("idle"));
        let duration: Option<f64> = own.take("/durationMs")?;
        let duration = duration.filter(|ms| (0.0..=86_400_000.0).contains(ms) && *ms > 0.0);
        let listed: Vec<String> = own.take("/preservedMessages/uuids")?.unwrap_or_default();
        let anchor = own.take("/preservedMessages/anchorUuid")?.filter(|_| !listed.is_empty());
        Ok(CompactMetadata {
            trigger: trigger_of(trigger.as_deref()),
            tokens_before: own.take("/preTokens")?,
            tokens_after: own.take("/postTokens")?,
            waited_ms: if is_idle { Some(0.0) } else { duration },
            head: own.take("/preservedSegment/headUuid")?,
            tail: own.take("/preservedSegment/tailUuid")?,
            anchor: anchor.or(own.take("/preservedSegment/anchorUuid")?),
            listed,
            cleared: own.take("/compactedToolIds")?.unwrap_or_default(),
        })
    }

    /// The records that it says were kept, as far as it names them.
    pub(super) fn kept(&self) -> impl Iterator<Item = &str> {
        let ends = [&self.head, &self.tail].into_iter().flatten();
        self.listed.iter().chain(ends).map(String::as_str)
    }
}

/// Reads one line. The fields of a record depend on its kind, and kinds that are not part
/// of the conversation must not fail on fields that are not used.
pub(super) fn read_record(text: &str) -> Result<(Header, Body), Problem> {
    // `toolUseResult` copies a result and is half of a log: it is not parsed. A broken record is
    // parsed whole, so that its error names the right place.
    let slim = object_without(text, "toolUseResult");
    let mut record = Fields(slim.map_or_else(|| parse(text), Ok)?);
    let kind: String = record.need("/type")?;
    let header: Header = match kind.as_str() {
        "user" | "assistant" | "system" | "progress" | "attachment" => from_json(&record.0)?,
        // Snapshots, summaries and queue operations are no part of the tree in
        // every version, and need not have its fields.
        _ => from_json(&record.0).unwrap_or_default(),
    };
    let body = match (kind.as_str(), header.subtype.as_deref()) {
        ("user", _) => {
            expect_role(&mut record, "user")?;
            Body::User(record.parts("/message/content")?)
        }
        ("assistant", _) => {
            expect_role(&mut record, "assistant")?;
            let response = Response::read(&mut Fields(record.need("/message")?));
            Body::Assistant(Box::new(response.map_err(|problem| below("/message", problem))?))
        }
        ("system", Some("compact_boundary")) => {
            Body::Compaction(CompactMetadata::read(record.take("/compactMetadata")?)?)
        }
        ("system", Some("microcompact_boundary")) => {
            Body::MicroCompaction(CompactMetadata::read(record.take("/microcompactMetadata")?)?)
        }
        // The text of a slash command or of its output, which is sent with the next request.
        ("system", Some("local_command")) => {
            let text = texts_of(&record.take("/content")?.unwrap_or_default());
            if text.is_empty() {
                Body::Other("system/local_command record".to_owned())
            } else {
                Body::Added(Added::Note { text, standing: false })
            }
        }
        ("progress", _) => agent_progress(&mut record).map_or_else(
            || Body::Other("progress record".to_owned()),
            |shown| Body::Progress(Box::new(shown)),
        ),
        ("queue-operation", _) => from_json(&record.0)
            .map_or_else(|_| Body::Other("queue-operation record".to_owned()), Body::Queue),
        ("attachment", _) => match read_attachment(record)? {
            (_, Ok(added)) => Body::Added(added),
            (kind, Err(why)) => Body::Other(format!("attachment/{kind} record, {why}")),
        },
        (kind, Some(subtype)) => Body::Other(format!("{kind}/{subtype} record")),
        (kind, None) => Body::Other(format!("{kind} record")),
    };
    Ok((header, body))
}

/// The response of a subagent that a record of its progress shows, without its content.
fn agent_progress(record: &mut Fields) -> Option<Response> {
    let mut message = Fields(record.take("/data/message/message").ok()??);
    let is_answer = message.text("/role") == Some("assistant");
    let response = Response::read(&mut message).ok()?;
    let is_billed = is_answer && response.request_usage().is_some();
    is_billed.then_some(Response { content: Vec::new(), ..response })
}

fn expect_role(record: &mut Fields, expected: &str) -> Result<(), Problem> {
    let role: String = record.need("/message/role")?;
    match role.as_str() {
        role if role == expected => Ok(()),
        "user" | "assistant" => Err(Problem::Inconsistent(format!(
            "a record of type {expected} holds a message of role {role}"
        ))),
        _ => Err(Problem::UnknownRole(role)),
    }
}

// What Claude Code adds to a conversation besides messages: `attachment`
// records (typed while the agent works, results of background agents, memory
// files, changed files, context of hooks, reminders) and the output of slash
// commands.
//
// Newer versions record the text as it was sent (`rendered`). In older ones it
// is put together from the record's fields; the fixed sentences around them are
// not in the recording.

/// What a record adds to the conversation.
#[derive(Debug)]
pub(super) enum Added {
    /// What the user typed while the agent worked.
    Typed(Vec<Part>),
    /// What the harness said to the model; `standing` is what it says once about
    /// the whole session, before it asks for the first time.
    Note { text: String, standing: bool },
    /// The system prompt and the tools of the session.
    Prompt { system: Vec<String>, tools: Vec<ToolDefinition> },
}

/// Kinds that are shown to the user or kept for the program, and never sent.
const UNSENT: &str = "already_read_file bagel_console command_permissions current_session_memory \
    dynamic_skill edited_image_file hook_cancelled hook_error_during_execution \
    hook_non_blocking_error hook_permission_decision hook_system_message \
    max_turns_reached structured_output teammate_shutdown_batch autocheckpointing \
    background_task_status credential_org";

/// Kinds that belong to one message, even in front of the first request.
const OF_A_MESSAGE: &str = "agent_mention compact_file_reference diagnostics directory edited_text_file file \
    invoked_skills mcp_resource nested_memory opened_file_in_ide pdf_reference \
    queued_command selected_lines_in_ide task_status teammate_mailbox";

/// Why an attachment adds nothing.
const NOT_SENT: &str = "which is not sent";
const NOT_RECORDED: &str = "whose text is not recorded";

/// The kind of an attachment, and what it adds or why it adds nothing.
fn read_attachment(mut record: Fields) -> Result<(String, Result<Added, &'static str>), Problem> {
    let mut attachment: Json = record.take("/attachment")?.unwrap_or_default();
    let kind = field(&attachment, "type").unwrap_or("attachment").to_owned();
    if UNSENT.split(' ').any(|unsent| unsent == kind) {
        return Ok((kind, Err(NOT_SENT)));
    }
    let human = attachment.pointer("/origin/kind").is_none_or(|kind| kind == "human");
    let typed = match field(&attachment, "commandMode") {
        Some(mode) => mode == "prompt",
        None => !field(&attachment, "prompt").is_some_and(|text| text.starts_with('<')),
    };
    if kind == "queued_command" && typed && human {
        let prompt = attachment.get_mut("prompt").map(Json::take).unwrap_or_default();
        return Ok((kind, Ok(Added::Typed(parts(prompt)?))));
    }
    if kind == "prompt_snapshot" {
        return Ok((kind, Ok(prompt(&attachment))));
    }
    let text = match record.take::<Json>("/rendered")? {
        Some(rendered) => Some(texts_of(&rendered)).filter(|text| !text.is_empty()),
        None => fields_text(&kind, &attachment).map(reminder),
    };
    let standing = OF_A_MESSAGE.split(' ').all(|own| own != kind);
    let added = match text {
        Some(text) if text.is_empty() => Err(NOT_RECORDED),
        Some(text) => Ok(Added::Note { text, standing }),
        None => Err(NOT_SENT),
    };
    Ok((kind, added))
}

/// Versions before 2.1.8x record no attachments. A prompt that was typed while the
/// agent worked, and that the next request took along, is only in their queue:
/// it is removed there, and no record of the user has it.
pub(super) fn take_from_queue(records: &mut [Record]) {
    let recorded = |record: &Record| match &record.body {
        Body::Added(_) => !record.is_command(),
        Body::Other(reason) => reason.starts_with("attachment/"),
        _ => false,
    };
    if records.iter().any(recorded) {
        return;
    }
    let mut waiting: VecDeque<String> = VecDeque::new();
    for record in records {
        let Body::Queue(Queue { operation, content }) = &mut record.body else {
            continue;
        };
        match operation.as_str() {
            "enqueue" => waiting.push_back(content.take().unwrap_or_default()),
            "dequeue" => drop(waiting.pop_front()),
            "popAll" => waiting.clear(),
            "remove" => {
                let text = waiting.pop_front().unwrap_or_default();
                match text.chars().next() {
                    // A command of the program is not sent.
                    None | Some('/') => {}
                    Some('<' | '{') => {
                        record.body = Body::Added(Added::Note { text, standing: false });
                    }
                    Some(_) => record.body = Body::Added(Added::Typed(vec![Part::Text(text)])),
                }
            }
            _ => {}
        }
    }
}

fn field<'a>(value: &'a Json, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Json::as_str)
}

/// How Claude Code marks what is not of the user.
fn reminder(text: String) -> String {
    if text.is_empty() { text } else { format!("<system-reminder>\n{text}\n</system-reminder>") }
}

/// The texts of a string, of a part, or of a list of such.
fn texts_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(parts) => {
            let texts = parts.iter().map(texts_of).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Json::Object(part) => match part.get("content").or_else(|| part.get("text")) {
            Some(own) => texts_of(own),
            None if part.contains_key("type") => String::new(),
            None => {
                let mut text = String::new();
                gather("", value, &mut text);
                text.trim_end().to_owned()
            }
        },
        _ => String::new(),
    }
}

/// The text of an attachment of an older version, put together from its fields; `None` where
/// it is not sent.
fn fields_text(kind: &str, attachment: &Json) -> Option<String> {
    let named = |name: &str| field(attachment, name);
    let content = attachment.get("content").map(texts_of).unwrap_or_default();
    let hook = named("hookName").unwrap_or("a");
    Some(match kind {
        "queued_command" => attachment.get("prompt").map(texts_of)?,
        "nested_memory" => format!("Contents of {}:\n\n{content}", named("path")?),
        "edited_text_file" => {
            format!("Note: {} was modified.\n{}", named("filename")?, named("snippet")?)
        }
        "file" => {
            let file = attachment.pointer("/content/file");
            let text = file.and_then(|file| field(file, "content")).unwrap_or(&content);
            format!("Contents of {}:\n\n{text}", named("filename")?)
        }
        "hook_success" => {
            // Only of these events does the output reach the model.
            let event = named("hookEvent").unwrap_or(hook);
            let sent = ["SessionStart", "UserPromptSubmit"].iter().any(|e| event.starts_with(e));
            if !sent || content.is_empty() {
                return None;
            }
            format!("{hook} hook success: {content}")
        }
        "hook_additional_context" => {
            (!content.is_empty()).then(|| format!("{hook} hook additional context: {content}"))?
        }
        _ => {
            let mut text = String::new();
            gather("", attachment, &mut text);
            text.trim_end().to_owned()
        }
    })
}

/// Every text of a value, one a line. Names of kinds and ids are none.
fn gather(name: &str, value: &Json, into: &mut String) {
    match value {
        Json::String(text) => {
            let is_prose = ["content", "text", "message", "prompt"].contains(&name);
            if is_prose || text.contains([' ', '\n', '/', '\\']) {
                let _ = writeln!(into, "{text}");
            }
        }
        Json::Array(items) => items.iter().for_each(|item| gather(name, item, into)),
        Json::Object(fields) => {
            // Lists of names whose lines stand beside them.
            let lines = fields.contains_key("addedLines") || fields.contains_key("addedBlocks");
            let own = fields.iter().filter(|(name, _)| match name.as_str() {
                "type" | "timestamp" | "uuid" | "toolUseID" => false,
                "addedNames" => !lines,
                _ => true,
            });
            own.for_each(|(name, value)| gather(name, value, into));
        }
        _ => {}
    }
}

/// The system prompt and the tools that a version since 2.1.26x records.
fn prompt(attachment: &Json) -> Added {
    let tools = attachment.get("tools").and_then(Json::as_array).into_iter().flatten();
    let system = match attachment.get("systemPrompt") {
        Some(Json::Array(blocks)) => blocks.iter().map(texts_of).collect(),
        other => other.map(texts_of).into_iter().collect::<Vec<String>>(),
    };
    let system = system.into_iter().filter(|text: &String| !text.is_empty()).collect();
    Added::Prompt { system, tools: tool_definitions(tools) }
}
