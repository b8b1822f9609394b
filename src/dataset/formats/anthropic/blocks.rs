//! Messages in Anthropic's shape, as the API has them and several agents keep them.

use jiff::Timestamp;

use super::wire::{Part, ResultPart};
use crate::dataset::error::Problem;
use crate::dataset::formats::content::{Content, ResultText, result_text};
use crate::dataset::formats::recorder::{Outcome, Recorder, Turn};
use crate::model::{Block, Role};

/// The role of a message.
pub(in crate::dataset::formats) fn role_of(name: String) -> Result<Role, Problem> {
    match name.as_str() {
        "system" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        _ => Err(Problem::UnknownRole { role: name }),
    }
}

/// Adds a message with this content. Results stand before what else the user
/// said, and behind the calls of the same message.
pub(in crate::dataset::formats) fn add(
    recorder: &mut Recorder,
    mut turn: Turn,
    content: Content<Part>,
) -> Result<(), Problem> {
    let next = || format!("message-{}", recorder.count() + 1);
    let own = turn.id.clone().unwrap_or_else(next);
    let parts = match content {
        Content::Text(text) => {
            turn.text(text);
            Vec::new()
        }
        Content::Parts(parts) => parts,
    };
    let mut results = Vec::new();
    for (n, part) in parts.into_iter().enumerate() {
        if part.kind == "tool_result" {
            results.push((format!("{own}-result-{}", n + 1), part));
        } else {
            turn.blocks.extend(block(recorder, part)?);
        }
    }
    let (at, line, first) = (turn.at, turn.line, turn.role == Role::Assistant);
    let mut said = Some(turn).filter(|turn| !turn.blocks.is_empty() || turn.usage.is_some());
    if let Some(turn) = said.take_if(|_| first) {
        recorder.turn(turn);
    }
    for (id, part) in results {
        result(recorder, id, part, (at, line))?;
    }
    if let Some(turn) = said {
        recorder.turn(turn);
    }
    Ok(())
}

fn result(
    recorder: &mut Recorder,
    id: String,
    part: Part,
    (at, line): (Option<Timestamp>, Option<u64>),
) -> Result<(), Problem> {
    let call = part.tool_use_id.ok_or_else(|| lacks("tool_result", "tool_use_id"))?;
    let mut is_error = part.is_error == Some(true);
    let text = match part.run {
        Some(run) => {
            is_error |= run.failed();
            ResultText { text: run.text(), images: 0 }
        }
        None => {
            let read = |part: ResultPart| (part.kind, part.text);
            result_text(part.content, read, "image", &mut recorder.draft)
        }
    };
    recorder.result(&call, text, Outcome { id: Some(id), is_error, at, line });
    Ok(())
}

fn block(recorder: &mut Recorder, part: Part) -> Result<Option<Block>, Problem> {
    Ok(Some(match part.kind.as_str() {
        "text" => Block::Text { text: part.text.ok_or_else(|| lacks("text", "text"))? },
        "thinking" => Block::Reasoning { text: part.thinking.unwrap_or_default() },
        "redacted_thinking" => Block::Reasoning { text: String::new() },
        "tool_use" => {
            let id = part.id.ok_or_else(|| lacks("tool_use", "id"))?;
            let name = part.name.ok_or_else(|| lacks("tool_use", "name"))?;
            recorder.call(id, name, part.input.unwrap_or_default())
        }
        "image" => Block::Image { media_type: part.source.and_then(|source| source.media_type()) },
        other => {
            recorder.draft.leave_out(format!("{other} part"), 1);
            return Ok(None);
        }
    }))
}

fn lacks(kind: &str, field: &str) -> Problem {
    let message = format!("a part of type {kind} lacks `{field}`");
    Problem::Shape { at: "messages".to_owned(), message }
}
