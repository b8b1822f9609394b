//! Entries of a pi session in their format on disk, versions 1 to 3.

use crate::formats::prelude::*;

pub(super) struct Entry {
    pub(super) line: u64,
    pub(super) header: Header,
    pub(super) body: Body,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<String>,
    pub(super) parent_id: Option<String>,
    pub(super) timestamp: Option<Timestamp>,
}

pub(super) enum Body {
    Session(WireSession),
    Message(WireMessage),
    Compaction(Compaction),
    BranchSummary(String),
    Custom(Content<Part>),
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSession {
    pub(super) cwd: Option<String>,
    pub(super) branched_from: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compaction {
    pub(super) summary: String,
    pub(super) first_kept_entry_index: Option<usize>,
    pub(super) first_kept_entry_id: Option<String>,
    pub(super) tokens_before: Option<u64>,
    /// Usage of the call that wrote the summary, since 2026.
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct BranchSummary {
    pub(super) summary: String,
}

#[derive(Deserialize)]
pub(super) struct Custom {
    #[serde(default)]
    pub(super) content: Content<Part>,
}

#[derive(Deserialize)]
pub(super) struct WithMessage {
    pub(super) message: WireMessage,
}

/// The fields depend on `role`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMessage {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content<Part>,
    pub(super) model: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<WireUsage>,
    pub(super) tool_call_id: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) command: Option<String>,
    pub(super) output: Option<String>,
    pub(super) exit_code: Option<i64>,
    pub(super) cancelled: Option<bool>,
    pub(super) truncated: Option<bool>,
    pub(super) full_output_path: Option<String>,
    pub(super) exclude_from_context: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Json>,
    pub(super) mime_type: Option<String>,
}

/// pi's usage: cached tokens are counted besides `input`, for every provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireUsage {
    pub(super) input: u64,
    pub(super) output: u64,
    #[serde(default)]
    pub(super) cache_read: u64,
    #[serde(default)]
    pub(super) cache_write: u64,
}

impl WireUsage {
    /// The usage in disjoint buckets.
    pub(super) fn usage(&self, output_final: bool) -> Usage {
        let usage = disjoint(self.input, self.cache_read, self.cache_write, self.output);
        Usage { output_final, ..usage }
    }
}

pub(super) fn read_entry(text: &str) -> Result<(Header, Body), Problem> {
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

pub(super) fn lacks(field: &str) -> Problem {
    Problem::shape("message", format!("lacks `{field}`"))
}

/// A command that the user ran, in the form in which pi sends it to the model
/// (pi-mono, `packages/coding-agent/src/core/messages.ts`).
pub(super) fn bash_text(message: &mut WireMessage) -> Result<String, Problem> {
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
