//! The store of Crush (`.crush/crush.db`): sessions, and messages whose parts are
//! JSON. Read from its migrations and its types (charmbracelet/crush,
//! `internal/db/migrations`, `internal/message/content.go`), without stores at
//! hand. Tokens are known of a whole session only, so that no request has usage.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::anthropic::role_of;
use super::prelude::*;
use super::store::{Listed, read_sessions};
use crate::database::{Row, Rows, Wanted};

const SESSIONS: Wanted = Wanted {
    table: "sessions",
    key: None,
    columns: &["id", "created_at"],
    optional: &["parent_session_id", "summary_message_id"],
    order: &["created_at", "rowid"],
};

const MESSAGES: Wanted = Wanted {
    table: "messages",
    key: Some("session_id"),
    columns: &["id", "role", "parts", "created_at"],
    optional: &["model", "is_summary_message"],
    // Times are whole seconds.
    order: &["created_at", "rowid"],
};

/// The format of Crush's store.
pub(super) const FORMAT: Format = Format {
    name: "crush",
    describe: "Crush sessions (SQLite, .crush/crush.db)",
    tried: Tried::Documentation,
    sniff,
    read: Read::Each(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.has_table(MESSAGES.table, &["session_id", "parts", "finished_at"])
        && head.has_table(SESSIONS.table, &["parent_session_id"])
}

fn read(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    let database = source.database()?;
    let project = project(source.name());
    let mut listed = Vec::new();
    let messages = database.rows(&SESSIONS).and_then(|mut rows| {
        rows.each(None, |row| {
            let (id, parent) = (row.needed("id")?, row.text("parent_session_id")?);
            listed.push(Listed { id, parent, facts: row.text("summary_message_id")? });
            Ok(())
        })?;
        database.rows(&MESSAGES)
    });
    let mut messages = messages.map_err(|problem| source.error(None, problem))?;
    read_sessions(source, listed, options, take, |session| {
        let mut draft = one(session, &mut messages)?;
        draft.transcript.project.clone_from(&project);
        Ok(draft)
    })
}

/// The store is in a hidden folder of the project.
fn project(path: &str) -> Option<String> {
    let folder = Path::new(path).parent().filter(|folder| folder.ends_with(".crush"))?;
    Some(folder.parent()?.file_name()?.to_str()?.to_owned())
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Json,
}

/// The data of any part; which fields there are depends on its kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    text: String,
    thinking: String,
    id: String,
    name: String,
    input: String,
    tool_call_id: String,
    content: String,
    mime_type: String,
    data: String,
    is_error: bool,
    reason: String,
    command: String,
    output: String,
    exit_code: i64,
    /// The type and bytes of an attached file.
    #[serde(rename = "MIMEType")]
    attached_type: String,
    #[serde(rename = "Data")]
    attached: Option<String>,
}

fn one(session: &Listed<Option<String>>, messages: &mut Rows<'_>) -> Result<Draft, Problem> {
    let mut recorder = Recorder::new(&session.id);
    recorder.transcript().metadata = vec![session.id.clone()];
    messages.each(Some(&session.id), |row| {
        let typed: Vec<Typed> = row.json("parts")?;
        let mut parts = Vec::with_capacity(typed.len());
        for Typed { kind, data } in typed {
            let part = match data {
                Json::Null => Part::default(),
                data => from_json(data).map_err(|problem| row.problem("parts", problem))?,
            };
            parts.push((kind, part));
        }
        let is_newest = row.text("id")? == session.facts;
        if is_newest || row.integer("is_summary_message") == Some(1) {
            summary(&mut recorder, parts, row)
        } else {
            message(&mut recorder, parts, row)
        }
    })?;
    Ok(recorder.finish())
}

fn message(
    recorder: &mut Recorder,
    parts: Vec<(String, Part)>,
    row: &Row<'_>,
) -> Result<(), Problem> {
    let role = match row.needed("role")? {
        role if role == "tool" => Role::Tool,
        role => role_of(role)?,
    };
    let mut turn = Turn::new(role);
    turn.id = row.text("id")?;
    turn.at = row.time("created_at");
    turn.model = row.text("model")?.filter(|model| !model.is_empty());
    let mut results = Vec::new();
    for (kind, part) in parts {
        match kind.as_str() {
            "text" => turn.text(part.text),
            "reasoning" => turn.reasoning(part.thinking),
            "tool_call" if role == Role::Assistant => {
                turn.blocks.push(recorder.call(part.id, part.name, Json::String(part.input)));
            }
            "tool_result" => results.push(part),
            "image_url" => turn.blocks.push(Block::Image { media_type: None }),
            "binary" => attached(recorder, &mut turn, part),
            "shell_command" => {
                let Part { command, output, exit_code, .. } = part;
                turn.text(format!("$ {command}\n{output}\n(exit code {exit_code})"));
            }
            "finish" => {}
            other => recorder.draft.leave_out(format!("{other} part"), 1),
        }
    }
    let at = turn.at;
    if role != Role::Tool {
        recorder.turn(turn);
    } else if !turn.blocks.is_empty() {
        recorder.draft.leave_out("part of a tool message that is no result", 1);
    }
    for part in results {
        let is_picture = !part.data.is_empty() && part.mime_type.starts_with("image/");
        let result = ResultText { text: part.content, images: u32::from(is_picture) };
        let outcome = Outcome { is_error: part.is_error, at, ..Outcome::default() };
        recorder.result(&part.tool_call_id, result, outcome);
    }
    Ok(())
}

/// Attached texts are sent as text, and pictures as pictures.
fn attached(recorder: &mut Recorder, turn: &mut Turn, part: Part) {
    let decoded = part.attached.and_then(|data| STANDARD.decode(data).ok());
    let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    match (part.attached_type, text) {
        (kind, Some(text)) if kind.starts_with("text/") => turn.text(text),
        (kind, _) if kind.starts_with("image/") => {
            turn.blocks.push(Block::Image { media_type: Some(kind) });
        }
        _ => recorder.draft.leave_out("file part without text", 1),
    }
}

/// A summary takes the place of all messages before it, in the user's name.
fn summary(
    recorder: &mut Recorder,
    parts: Vec<(String, Part)>,
    row: &Row<'_>,
) -> Result<(), Problem> {
    let is_whole = parts.iter().any(|(kind, part)| {
        kind == "finish" && !matches!(part.reason.as_str(), "error" | "canceled")
    });
    let texts = parts.into_iter().filter(|(kind, _)| kind == "text").map(|(_, part)| part.text);
    let text = texts.collect::<Vec<_>>().join("\n");
    if !is_whole || text.is_empty() {
        recorder.draft.leave_out("summary that failed or was not finished", 1);
        return Ok(());
    }
    let after = recorder.count();
    recorder.draft.compact(RecordedCompaction {
        after,
        kept_from: after,
        summary: Some(text),
        at: row.time("created_at"),
        ..RecordedCompaction::default()
    })
}
