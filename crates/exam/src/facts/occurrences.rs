//! The texts of a message that a provider would send (how-it-works §34).

use serde_json::Value as Json;

use recap_core::model::{Block, Message};

/// The kind of text within a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind<'a> {
    /// Text of the user or the assistant.
    Said,
    /// A string inside the arguments of a call.
    Argument {
        /// The tool that is called.
        tool: &'a str,
        /// The nearest object key above the string; empty for a bare string.
        key: &'a str,
        /// Whether it is an element of a list.
        listed: bool,
    },
    /// The result of a tool.
    Result,
}

/// Calls `each` with every text, decoded string argument and result of a
/// message, in order; without reasoning and the names of tools and arguments.
pub(super) fn texts<'a>(message: &'a Message, each: &mut dyn FnMut(TextKind<'a>, &'a str)) {
    for block in &message.blocks {
        block_texts(block, each);
    }
}

/// The same of one block.
pub(super) fn block_texts<'a>(block: &'a Block, each: &mut dyn FnMut(TextKind<'a>, &'a str)) {
    match block {
        Block::Text { text } => each(TextKind::Said, text),
        Block::ToolResult { text, .. } => each(TextKind::Result, text),
        Block::ToolCall { name, arguments, .. } => strings(name, "", false, arguments, each),
        Block::Reasoning { .. } | Block::Image { .. } => {}
    }
}

impl TextKind<'_> {
    /// Whether the text at `from` is what the agent itself searched for: it may stand nowhere.
    pub(super) fn is_searched(self, text: &str, from: usize) -> bool {
        let TextKind::Argument { key, .. } = self else { return false };
        let key = key.to_ascii_lowercase();
        if ["pattern", "regex", "glob"].iter().any(|kind| key.contains(kind)) {
            return true;
        }
        if !matches!(key.as_str(), "command" | "cmd") && !key.is_empty() {
            return false;
        }
        // The command of a pipe or a list that the place belongs to.
        let start = text[..from].rfind(['|', ';', '&', '\n']).map_or(0, |at| at + 1);
        let command = text[start..].trim_start();
        let command = command.strip_prefix("git ").unwrap_or(command);
        let program = command.split_whitespace().next().unwrap_or_default();
        matches!(program, "grep" | "egrep" | "rg" | "ag" | "ack" | "find" | "fd" | "Select-String")
    }
}

fn strings<'a>(
    tool: &'a str,
    key: &'a str,
    listed: bool,
    value: &'a Json,
    each: &mut dyn FnMut(TextKind<'a>, &'a str),
) {
    match value {
        Json::String(text) => each(TextKind::Argument { tool, key, listed }, text),
        Json::Array(items) => {
            for item in items {
                strings(tool, key, true, item, each);
            }
        }
        Json::Object(fields) => {
            for (key, item) in fields {
                strings(tool, key, listed, item, each);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
