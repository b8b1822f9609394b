//! Content parts, token counts and triggers of a Claude Code log, in the
//! vocabulary of the model.

use super::wire::{Part, Response, WireUsage};
use crate::dataset::check::Draft;
use crate::dataset::error::Problem;
use crate::dataset::formats::content::{Content, ImageSource};
use crate::model::{Block, RecordedTrigger, Usage};

/// The blocks of a message, without results, which were taken out before; kinds
/// that the model does not have are counted as left out.
pub(super) fn blocks(content: Content<Part>, draft: &mut Draft) -> Result<Vec<Block>, Problem> {
    let parts = match content {
        Content::Text(text) => return Ok(vec![Block::Text { text }]),
        Content::Parts(parts) => parts,
    };
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts {
        match part.kind.as_str() {
            "text" => {
                blocks.push(Block::Text { text: part.text.ok_or_else(|| lacks("text", "text"))? })
            }
            // A redacted part has only ciphertext, but there was reasoning.
            "thinking" | "redacted_thinking" => {
                blocks.push(Block::Reasoning { text: part.thinking.unwrap_or_default() })
            }
            "tool_use" => blocks.push(Block::ToolCall {
                id: part.id.ok_or_else(|| lacks("tool_use", "id"))?,
                name: part.name.ok_or_else(|| lacks("tool_use", "name"))?,
                arguments: part.input.unwrap_or_else(|| serde_json::json!({})),
            }),
            "image" => blocks
                .push(Block::Image { media_type: part.source.and_then(ImageSource::media_type) }),
            other => draft.leave_out(format!("{other} part"), 1),
        }
    }
    Ok(blocks)
}

fn lacks(kind: &str, field: &str) -> Problem {
    Problem::Shape {
        at: "message.content".to_owned(),
        message: format!("a part of type {kind} lacks `{field}`"),
    }
}

/// The text of a summary.
pub(super) fn plain_text(content: Content<Part>) -> String {
    match content {
        Content::Text(text) => text,
        Content::Parts(parts) => {
            let texts: Vec<String> = parts.into_iter().filter_map(|p| p.text).collect();
            texts.join("\n")
        }
    }
}

/// Token counts of one response out of those of its lines: the largest output
/// (earlier lines hold a placeholder), final once a line has a stop reason.
pub(super) fn merge_usage(known: Option<Usage>, line: &Response) -> Option<Usage> {
    let Some(wire) = &line.usage else {
        return known;
    };
    let mut usage = usage(wire);
    usage.output_final = line.stop_reason.is_some();
    let Some(known) = known else {
        return Some(usage);
    };
    let output_final = known.output_final || usage.output_final;
    let larger = if usage.output >= known.output { usage } else { known };
    Some(Usage { output_final, ..larger })
}

/// Anthropic counts cached tokens beside `input_tokens`, so nothing is
/// subtracted; writes without a lifetime are the five-minute default.
fn usage(wire: &WireUsage) -> Usage {
    let written = wire.cache_creation_input_tokens.unwrap_or(0);
    let hour = wire
        .cache_creation
        .as_ref()
        .and_then(|c| c.ephemeral_1h_input_tokens)
        .unwrap_or(0)
        .min(written);
    Usage {
        input: wire.input_tokens.unwrap_or(0),
        cache_read: wire.cache_read_input_tokens.unwrap_or(0),
        cache_write_5m: written - hour,
        cache_write_1h: hour,
        output: wire.output_tokens.unwrap_or(0),
        output_final: false,
    }
}

/// The trigger of a compaction.
pub(super) fn trigger(name: Option<&str>) -> RecordedTrigger {
    match name {
        Some("auto") => RecordedTrigger::Auto,
        Some("manual") => RecordedTrigger::Manual,
        _ => RecordedTrigger::Unknown,
    }
}
