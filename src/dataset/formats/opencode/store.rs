//! The store of OpenCode (`opencode.db`) and Kilo (`kilo.db`): the parts of an
//! export as rows, with the ids in columns of their own (anomalyco/opencode,
//! `packages/opencode/src/session/session.sql.ts`). No store was at hand.

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::wire::{Info, Part, Session, WireMessage};
use super::{Reader, within};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::database::{Row, Rows, Wanted};
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Head, Take};
use crate::dataset::formats::store::{Listed, UNTRIED, read_sessions};
use crate::dataset::source::{Source, from_json};

const SESSIONS: Wanted = Wanted {
    table: "session",
    key: None,
    columns: &["id", "time_created"],
    optional: &["parent_id", "slug", "project_id", "directory", "version"],
    order: &["time_created", "id"],
};

const MESSAGES: Wanted = Wanted {
    table: "message",
    key: Some("session_id"),
    columns: &["id", "time_created", "data"],
    optional: &[],
    order: &["time_created", "id"],
};

const PARTS: Wanted = Wanted {
    table: "part",
    key: Some("session_id"),
    columns: &["id", "message_id", "data"],
    optional: &[],
    order: &["message_id", "id"],
};

/// Whether the input is such a store.
pub(super) fn is_store(head: &Head) -> bool {
    head.has_table(SESSIONS.table, &["id"])
        && head.has_table(MESSAGES.table, &["session_id", "data"])
        && head.has_table(PARTS.table, &["message_id", "data"])
}

/// Reads every session of the store.
pub(super) fn read(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    let database = source.database()?;
    let mut listed = Vec::new();
    let rows = database.rows(&SESSIONS).and_then(|mut rows| {
        rows.each(None, |row| {
            let id = row.needed("id")?;
            let parent = row.text("parent_id")?;
            let facts = Session {
                id: id.clone(),
                slug: row.text("slug")?,
                project_id: row.text("project_id")?,
                parent_id: parent.clone(),
                directory: row.text("directory")?,
                version: row.text("version")?,
            };
            listed.push(Listed { id, parent, facts });
            Ok(())
        })?;
        Ok((database.rows(&MESSAGES)?, database.rows(&PARTS)?))
    });
    let (mut messages, mut parts) = rows.map_err(|problem| source.error(None, problem))?;
    read_sessions(source, listed, options, take, |session| {
        one(session, &mut messages, &mut parts)
    })?;
    source.warn(UNTRIED);
    Ok(())
}

fn one(
    session: &Listed<Session>,
    messages: &mut Rows<'_>,
    parts: &mut Rows<'_>,
) -> Result<Draft, Problem> {
    let mut of_message: FxHashMap<String, Vec<Part>> = FxHashMap::default();
    parts.each(Some(&session.id), |row| {
        let part = with_id(row)?;
        of_message.entry(row.needed("message_id")?).or_default().push(part);
        Ok(())
    })?;
    let mut all = Vec::new();
    messages.each(Some(&session.id), |row| {
        let info: Info = with_id(row)?;
        let parts = of_message.remove(&info.id).unwrap_or_default();
        all.push(WireMessage { info, parts });
        Ok(())
    })?;
    let mut reader = Reader::new(&session.id);
    reader.session(session.facts.clone());
    let last = all.len().saturating_sub(1);
    for (at, message) in all.into_iter().enumerate() {
        let id = message.info.id.clone();
        reader.message(message, at == last).map_err(|problem| within(&id, problem))?;
    }
    let orphans = of_message.values().map(|parts| parts.len() as u64).sum();
    reader.draft.leave_out("part without its message", orphans);
    Ok(reader.finish())
}

/// The JSON of a row, in which its own id is a column.
fn with_id<T: serde::de::DeserializeOwned>(row: &Row<'_>) -> Result<T, Problem> {
    let mut data: Json = row.json("data")?;
    if let Json::Object(fields) = &mut data {
        fields.insert("id".to_owned(), Json::String(row.needed("id")?));
    }
    from_json(data).map_err(|problem| row.problem("data", problem))
}
