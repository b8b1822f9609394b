//! Session formats, one file each.
//!
//! In: an input ([`Source`]) that a format recognises by its first bytes ([`Head`]). Out: a
//! [`Draft`] of each session.
//!
//! A new format is one file, one `mod` line and one line in [`FORMATS`]. A reader of a log takes its
//! records by [`Source::each_record`], their fields by [`Fields`], and adds messages by
//! [`Draft::turn`], results of tools by [`Draft::result`] and compactions by [`Draft::compact`]; what
//! it does not read it counts by [`Draft::leave_out`]. `copilot_cli` shows all of it.
//!
//! [`Source`]: prelude::Source
//! [`Source::each_record`]: prelude::Source::each_record
//! [`Head`]: prelude::Head
//! [`Fields`]: prelude::Fields
//! [`Draft`]: prelude::Draft
//! [`Draft::turn`]: prelude::Draft::turn
//! [`Draft::result`]: prelude::Draft::result
//! [`Draft::compact`]: prelude::Draft::compact
//! [`Draft::leave_out`]: prelude::Draft::leave_out

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
    pub(super) use crate::draft::{Draft, Ids, Turn, arguments};
    pub(super) use crate::error::{DatasetError, Problem};
    pub(super) use crate::format::{Format, Head, Take, Tried};
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
