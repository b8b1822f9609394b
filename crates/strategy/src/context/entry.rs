//! The entries of a context: recorded messages unchanged, edited ones,
//! synthetic ones, and notes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::op::EntryId;
use recap_core::model::{Block, Message, Role};
use recap_core::tokens::Weight;

/// An entry as it is sent now.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The identity of the entry.
    pub id: EntryId,
    /// Whom the entry is attributed to.
    pub role: Role,
    /// Its text as sent.
    pub text: Cow<'a, str>,
    /// The size of the entry.
    pub weight: Weight,
    /// Whether part of a recorded message was replaced or removed.
    pub edited: bool,
}

/// Text that a fold put into the context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Synthetic {
    pub role: Role,
    pub text: String,
    pub weight: Weight,
    pub cover: u32,
}

/// The change of a recorded message that is not sent as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub text: String,
    pub weight: Weight,
    pub removed_blocks: BTreeSet<u32>,
    pub result: Option<String>,
    /// The text of the whole message, which stands for all of its blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
}

/// A text of the preamble that a strategy wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// A number that is different for every text that a note ever had.
    pub revision: u32,
    pub text: String,
    pub weight: Weight,
    /// What the note stands for, if something was folded into it.
    pub cover: Option<u32>,
}

/// The blocks of a recorded message with an edit applied.
pub(super) fn edited_blocks(source: &Message, edit: &Edit) -> Vec<Block> {
    if let Some(text) = &edit.whole {
        return vec![Block::Text { text: text.clone() }];
    }
    let kept = (0u32..).zip(&source.blocks).filter(|(at, _)| !edit.removed_blocks.contains(at));
    kept.map(|(_, block)| match (block, &edit.result) {
        (Block::ToolResult { call, is_error, .. }, Some(text)) => Block::ToolResult {
            call: call.clone(),
            text: text.clone(),
            images: 0,
            is_error: *is_error,
        },
        _ => block.clone(),
    })
    .collect()
}
