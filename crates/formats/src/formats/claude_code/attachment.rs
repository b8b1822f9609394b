//! What Claude Code adds to a conversation besides messages: `attachment`
//! records (typed while the agent works, results of background agents, memory
//! files, changed files, context of hooks, reminders) and the output of slash
//! commands.
//!
//! Newer versions record the text as it was sent (`rendered`). In older ones it
//! is put together from the record's fields; the fixed sentences around them are
//! not in the recording.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::wire::{Body, Queue, Record};
use crate::formats::anthropic::Part;
use crate::formats::prelude::*;

/// What a record adds to the conversation.
#[derive(Debug)]
pub(super) enum Added {
    /// What the user typed while the agent worked.
    Typed(Content<Part>),
    /// What the harness said to the model; `standing` is what it says once about
    /// the whole session, before it asks for the first time.
    Note { text: String, standing: bool },
    /// The system prompt and the tools of the session.
    Prompt { system: Vec<String>, tools: Vec<ToolDefinition> },
}

/// Kinds that are shown to the user or kept for the program, and never sent.
const UNSENT: [&str; 17] = [
    "already_read_file",
    "bagel_console",
    "command_permissions",
    "current_session_memory",
    "dynamic_skill",
    "edited_image_file",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_system_message",
    "max_turns_reached",
    "structured_output",
    "teammate_shutdown_batch",
    "autocheckpointing",
    "background_task_status",
    "credential_org",
];

/// Kinds that belong to one message, even in front of the first request.
const OF_A_MESSAGE: [&str; 15] = [
    "agent_mention",
    "compact_file_reference",
    "diagnostics",
    "directory",
    "edited_text_file",
    "file",
    "invoked_skills",
    "mcp_resource",
    "nested_memory",
    "opened_file_in_ide",
    "pdf_reference",
    "queued_command",
    "selected_lines_in_ide",
    "task_status",
    "teammate_mailbox",
];

#[derive(Deserialize)]
struct Attached {
    #[serde(default)]
    attachment: Json,
    rendered: Option<Json>,
}

/// The kind of an attachment, and what it adds; `None` where it was not sent.
pub(super) fn read(text: &str) -> Result<(String, Option<Added>), Problem> {
    let Attached { mut attachment, rendered } = parse(text)?;
    let kind = field(&attachment, "type").unwrap_or("attachment").to_owned();
    if UNSENT.contains(&kind.as_str()) {
        return Ok((kind, None));
    }
    let human = attachment.pointer("/origin/kind").is_none_or(|kind| kind == "human");
    let typed = match field(&attachment, "commandMode") {
        Some(mode) => mode == "prompt",
        None => !field(&attachment, "prompt").is_some_and(|text| text.starts_with('<')),
    };
    if kind == "queued_command" && typed && human {
        let prompt = attachment.get_mut("prompt").map(Json::take).unwrap_or_default();
        return Ok((kind, Some(Added::Typed(from_json(prompt)?))));
    }
    if kind == "prompt_snapshot" {
        return Ok((kind, Some(prompt(&attachment))));
    }
    let text = match rendered {
        Some(rendered) => texts_of(&rendered),
        None => fields_text(&kind, &attachment).map(reminder).unwrap_or_default(),
    };
    let standing = !OF_A_MESSAGE.contains(&kind.as_str());
    Ok((kind, (!text.is_empty()).then_some(Added::Note { text, standing })))
}

/// The text of a slash command or of its output, which is sent with the next request.
pub(super) fn local_command(text: &str) -> Result<Option<Added>, Problem> {
    #[derive(Deserialize)]
    struct Command {
        #[serde(default)]
        content: Json,
    }
    let text = texts_of(&parse::<Command>(text)?.content);
    Ok((!text.is_empty()).then_some(Added::Note { text, standing: false }))
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
                    Some(_) => record.body = Body::Added(Added::Typed(Content::Text(text))),
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
    match text.is_empty() {
        true => text,
        false => format!("<system-reminder>\n{text}\n</system-reminder>"),
    }
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

/// The text of an attachment of an older version, put together from its fields.
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
    let list = |name: &str| attachment.get(name).and_then(Json::as_array).into_iter().flatten();
    let tools = list("tools").filter_map(|tool| {
        let schema = tool.get("input_schema").or_else(|| tool.get("parameters"));
        Some(ToolDefinition {
            name: field(tool, "name")?.to_owned(),
            description: field(tool, "description").unwrap_or_default().to_owned(),
            parameters: schema.cloned().unwrap_or_default(),
        })
    });
    let system = match attachment.get("systemPrompt") {
        Some(Json::Array(blocks)) => blocks.iter().map(texts_of).collect(),
        other => other.map(texts_of).into_iter().collect::<Vec<String>>(),
    };
    let system = system.into_iter().filter(|text: &String| !text.is_empty()).collect();
    Added::Prompt { system, tools: tools.collect() }
}
