//! Records of a Claude Code log in their format on disk, versions 1.0 to 2.1.
//!
//! Only fields that the importer reads are named: `toolUseResult` repeats a
//! result with whole files and was never sent to the model.

use crate::dataset::formats::content::ImageSource;
use crate::dataset::formats::prelude::*;

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

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
    #[serde(rename = "sourceToolUseID")]
    pub(super) source_tool_use: Option<String>,
    subtype: Option<String>,
}

/// The content of a record.
#[derive(Debug)]
pub(super) enum Body {
    User(Content<Part>),
    Assistant(Response),
    Compaction(CompactMetadata),
    MicroCompaction(MicrocompactMetadata),
    /// Not part of the conversation; the reason under which it is counted.
    Other(String),
}

/// One line of the log.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) header: Header,
    pub(super) body: Body,
}

impl Record {
    /// Whether this is a message of the conversation.
    pub(super) fn is_conversation(&self) -> bool {
        matches!(self.body, Body::User(_) | Body::Assistant(_))
    }

    pub(super) fn is_sidechain(&self) -> bool {
        self.header.is_sidechain == Some(true)
    }
}

#[derive(Deserialize)]
struct UserMessage {
    role: String,
    #[serde(default)]
    content: Content<Part>,
}

/// The part of a response that one line holds.
#[derive(Debug, Deserialize)]
pub(super) struct Response {
    role: String,
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) content: Content<Part>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<WireUsage>,
}

/// A part of a message's content; which fields there are depends on `kind`.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) input: Option<Json>,
    pub(super) tool_use_id: Option<String>,
    pub(super) content: Option<Content<Part>>,
    pub(super) is_error: Option<bool>,
    pub(super) source: Option<ImageSource>,
}

/// Anthropic's token counts: cached tokens are counted besides `input_tokens`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_creation: Option<CacheCreation>,
}

/// Cache writes by their lifetime.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CacheCreation {
    pub(super) ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactMetadata {
    pub(super) trigger: Option<String>,
    pub(super) pre_tokens: Option<u64>,
    pub(super) preserved_segment: Option<PreservedSegment>,
    pub(super) preserved_messages: Option<PreservedMessages>,
}

/// What a partial compaction kept: the records from a first to a last.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreservedSegment {
    pub(super) head_uuid: String,
    /// The record after which they were kept: the boundary, or its summary.
    pub(super) anchor_uuid: Option<String>,
    pub(super) tail_uuid: Option<String>,
}

/// The same as a list of records, since 2026.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreservedMessages {
    pub(super) anchor_uuid: Option<String>,
    #[serde(default)]
    pub(super) uuids: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MicrocompactMetadata {
    pub(super) trigger: Option<String>,
    pub(super) pre_tokens: Option<u64>,
    #[serde(default)]
    pub(super) compacted_tool_ids: Vec<String>,
}

#[derive(Deserialize)]
struct WithMessage<M> {
    message: M,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithMetadata {
    #[serde(default)]
    compact_metadata: Option<CompactMetadata>,
    #[serde(default)]
    microcompact_metadata: Option<MicrocompactMetadata>,
}

/// Reads one line. Two passes: the fields of a record depend on its kind, and
/// kinds that are not part of the conversation must not fail on fields that are
/// not used.
pub(super) fn read(text: &str) -> Result<(Header, Body), Problem> {
    let kind = parse::<Kind>(text)?.kind;
    let header: Header = match kind.as_str() {
        "user" | "assistant" | "system" | "progress" | "attachment" => parse(text)?,
        // Snapshots, summaries and queue operations are no part of the tree in
        // every version, and need not have its fields.
        _ => parse(text).unwrap_or_default(),
    };
    let body = match (kind.as_str(), header.subtype.as_deref()) {
        ("user", _) => {
            let message = parse::<WithMessage<UserMessage>>(text)?.message;
            expect_role(&message.role, "user")?;
            Body::User(message.content)
        }
        ("assistant", _) => {
            let message = parse::<WithMessage<Response>>(text)?.message;
            expect_role(&message.role, "assistant")?;
            Body::Assistant(message)
        }
        ("system", Some("compact_boundary")) => {
            let metadata = parse::<WithMetadata>(text)?.compact_metadata;
            Body::Compaction(metadata.unwrap_or_default())
        }
        ("system", Some("microcompact_boundary")) => {
            let metadata = parse::<WithMetadata>(text)?.microcompact_metadata;
            Body::MicroCompaction(metadata.unwrap_or_default())
        }
        (kind, Some(subtype)) => Body::Other(format!("{kind}/{subtype} record")),
        (kind, None) => Body::Other(format!("{kind} record")),
    };
    Ok((header, body))
}

fn expect_role(role: &str, expected: &str) -> Result<(), Problem> {
    if role == expected {
        return Ok(());
    }
    match role {
        "user" | "assistant" => Err(Problem::Inconsistent(format!(
            "a record of type {expected} holds a message of role {role}"
        ))),
        _ => Err(Problem::UnknownRole { role: role.to_owned() }),
    }
}
