//! Session formats, one file each.
//!
//! A new format is one file, one `mod` line and one line in [`FORMATS`].

mod aider;
mod anthropic;
mod beam;
mod claude_code;
mod codex;
pub(crate) mod content;
mod copilot_cli;
mod exchange;
mod gemini_cli;
mod inspect;
mod kimi_code;
mod locomo;
mod openai_chat;
mod opencode;
mod openhands;
mod otel;
mod pi;
mod responses;
mod role_content;
mod swe_agent;

/// What nearly every reader needs.
mod prelude {
    pub(super) use jiff::Timestamp;
    pub(super) use rustc_hash::{FxHashMap, FxHashSet};
    pub(super) use serde::Deserialize;
    pub(super) use serde_json::Value as Json;

    pub(super) use super::content::{
        Fields, ResultText, below, disjoint, in_utc, media_type, project_of, role_of, text_of,
        tool_definitions, trigger_of,
    };
    pub(super) use crate::LoadOptions;
    pub(super) use crate::draft::{Draft, Ids, Outcome, Turn, arguments};
    pub(super) use crate::error::{DatasetError, Problem};
    pub(super) use crate::format::{Format, Head, Read, Take, Tried};
    pub(super) use crate::source::{Source, from_json, parse};
    pub(super) use recap_core::model::{
        Block, Message, MessageIndex, Piece, Preamble, RecordedCall, RecordedCompaction,
        RecordedTrigger, Role, SIDECHAIN, Session, SessionTotal, SidechainRequest, ToolDefinition,
        Usage,
    };
}

use super::format::Format;
use super::native;

/// Every format, in the order in which they are tried.
pub static FORMATS: &[&Format] = &[
    &native::FORMAT,
    &claude_code::FORMAT,
    &pi::FORMAT,
    &codex::FORMAT,
    &opencode::FORMAT,
    &gemini_cli::FORMAT,
    &openhands::FORMAT,
    &copilot_cli::FORMAT,
    &kimi_code::FORMAT,
    &aider::FORMAT,
    &swe_agent::FORMAT,
    &inspect::FORMAT,
    &anthropic::FORMAT,
    &responses::FORMAT,
    &otel::FORMAT,
    &locomo::FORMAT,
    &beam::FORMAT,
    &role_content::FORMAT,
    &openai_chat::FORMAT,
];
