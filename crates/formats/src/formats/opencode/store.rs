//! The store of OpenCode (`opencode.db`) and Kilo (`kilo.db`). No store was at hand.
//!
//! OpenCode 1 keeps the parts of an export as rows, with the ids in columns of their own
//! (anomalyco/opencode, `packages/opencode/src/session/session.sql.ts`); OpenCode 2 keeps
//! entries in tables beside those, which stay as they were (`packages/core/src/session/sql.ts`).
//! A session of both was taken over, with the ids of its messages, or went on in the new tables.

use std::collections::BTreeMap;

use super::Reader;
use super::wire::{Entry, Info, Item, Part, WireMessage, WireSession};
use crate::database::{Database, Row, Rows, Wanted};
use crate::formats::prelude::*;
use crate::formats::store::{Listed, UNTRIED, read_sessions, tell_of_unread};
use recap_core::text::counted;

const SESSIONS: Wanted = Wanted {
    table: "session",
    key: None,
    columns: &["id", "time_created"],
    optional: &["parent_id", "slug", "project_id", "directory", "version", "fork_session_id"],
    order: &["time_created", "id"],
};

const SESSIONS_2: Wanted = Wanted { table: "session_v2", ..SESSIONS };

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

const ENTRIES: Wanted = Wanted {
    table: "session_message",
    key: Some("session_id"),
    columns: &["id", "time_created", "type", "seq", "data"],
    optional: &[],
    order: &["seq", "id"],
};

/// Whether the input is such a store.
pub(super) fn is_store(head: &Head) -> bool {
    let is_first = head.has_table(SESSIONS.table, &["id"])
        && head.has_table(MESSAGES.table, &["session_id", "data"])
        && head.has_table(PARTS.table, &["message_id", "data"]);
    is_first
        || head.has_table(SESSIONS_2.table, &["id"])
            && head.has_table(ENTRIES.table, &["session_id", "seq", "data"])
}

/// A session as the store lists it.
struct Facts {
    own: WireSession,
    /// When it was made from another one, whose entries it begins with a copy of.
    forked: Option<i64>,
}

/// Reads every session of the store.
pub(super) fn read(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    let database = source.database()?;
    let listed = source.whole(sessions(&database))?;
    let known: FxHashSet<String> = listed.iter().map(|session| session.id.clone()).collect();
    let mut tables = source.whole(Tables::open(&database))?;
    read_sessions(source, listed, options, take, |session| tables.session(session))?;
    let unread = tables.all.saturating_sub(tables.read);
    if unread > 0 {
        source.warn(format!("left out: {} of no listed session", counted(unread, "row")));
    }
    let read = [SESSIONS, SESSIONS_2, MESSAGES, PARTS, ENTRIES].map(|wanted| wanted.table);
    tell_of_unread(source, &database, &read, &known)?;
    source.warn(UNTRIED);
    Ok(())
}

/// The sessions of all tables, by time.
fn sessions(database: &Database) -> Result<Vec<Listed<Facts>>, Problem> {
    let mut found: BTreeMap<(i64, String), Listed<Facts>> = BTreeMap::new();
    let mut known = FxHashSet::default();
    for wanted in [&SESSIONS_2, &SESSIONS] {
        let Some(mut rows) = database.rows_if_any(wanted)? else { continue };
        rows.each(None, |row| {
            let id = row.needed("id")?;
            if !known.insert(id.clone()) {
                return Ok(());
            }
            let (parent, at) = (row.text("parent_id")?, row.integer("time_created"));
            let own = WireSession {
                id: id.clone(),
                slug: row.text("slug")?,
                project_id: row.text("project_id")?,
                parent_id: parent.clone(),
                directory: row.text("directory")?,
                version: row.text("version")?,
            };
            let forked = row.text("fork_session_id")?.and(at);
            let facts = Facts { own, forked };
            found.insert((at.unwrap_or_default(), id.clone()), Listed { id, parent, facts });
            Ok(())
        })?;
    }
    Ok(found.into_values().collect())
}

/// The tables that hold what the sessions say.
struct Tables<'d> {
    messages: Option<Rows<'d>>,
    parts: Option<Rows<'d>>,
    entries: Option<Rows<'d>>,
    /// Rows of all of them, and those that were read.
    all: usize,
    read: usize,
}

impl<'d> Tables<'d> {
    fn open(database: &'d Database) -> Result<Tables<'d>, Problem> {
        let mut all = 0;
        let mut open = |wanted| {
            let rows = database.rows_if_any(wanted)?;
            all += if rows.is_some() { database.count(wanted)? } else { 0 };
            Ok::<_, Problem>(rows)
        };
        let (messages, parts, entries) = (open(&MESSAGES)?, open(&PARTS)?, open(&ENTRIES)?);
        Ok(Tables { messages, parts, entries, all, read: 0 })
    }

    fn session(&mut self, session: &Listed<Facts>) -> Result<Draft, Problem> {
        let (messages, orphans) = self.messages(&session.id)?;
        let entries = self.entries(session)?;
        let new: FxHashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        let count = messages.len();
        let mut old: Vec<_> =
            messages.into_iter().filter(|(_, old)| !new.contains(old.info.id.as_str())).collect();
        let is_taken_over = old.len() < count;
        let left = if is_taken_over { std::mem::take(&mut old).len() } else { 0 };
        let mut old = old.into_iter().peekable();
        let mut items = Vec::with_capacity(count + entries.len());
        for entry in entries {
            while let Some((_, message)) = old.next_if(|(at, _)| *at <= entry.at) {
                items.push(Item::Message(Box::new(message)));
            }
            items.push(Item::Entry(entry));
        }
        items.extend(old.map(|(_, message)| Item::Message(Box::new(message))));
        let mut draft = Reader::read(&session.id, session.facts.own.clone(), items)?;
        draft.leave_out("part without its message", orphans);
        draft.leave_out("message that OpenCode 2 did not take over", left as u64);
        Ok(draft)
    }

    /// The messages of OpenCode 1 with their times, and the number of parts of none.
    fn messages(&mut self, session: &str) -> Result<(Vec<(i64, WireMessage)>, u64), Problem> {
        let mut of_message: FxHashMap<String, Vec<Part>> = FxHashMap::default();
        let mut all = Vec::new();
        let read = &mut self.read;
        if let Some(parts) = &mut self.parts {
            parts.each(Some(session), |row| {
                *read += 1;
                let part = with_id(row)?;
                of_message.entry(row.needed("message_id")?).or_default().push(part);
                Ok(())
            })?;
        }
        if let Some(messages) = &mut self.messages {
            messages.each(Some(session), |row| {
                *read += 1;
                let info: Info = with_id(row)?;
                let parts = of_message.remove(&info.id).unwrap_or_default();
                let at = row.integer("time_created").unwrap_or_default();
                all.push((at, WireMessage { info, parts }));
                Ok(())
            })?;
        }
        Ok((all, of_message.values().map(|parts| parts.len() as u64).sum()))
    }

    fn entries(&mut self, session: &Listed<Facts>) -> Result<Vec<Entry>, Problem> {
        let (mut all, read) = (Vec::new(), &mut self.read);
        if let Some(entries) = &mut self.entries {
            entries.each(Some(&session.id), |row| {
                *read += 1;
                let at = row.integer("time_created").unwrap_or_default();
                let (id, kind) = (row.needed("id")?, row.needed("type")?);
                let copied = session.facts.forked.is_some_and(|forked| at < forked);
                all.push(Entry { id, kind, at, copied, data: row.json("data")? });
                Ok(())
            })?;
        }
        Ok(all)
    }
}

/// The JSON of a row, in which its own id is a column.
fn with_id<T: serde::de::DeserializeOwned>(row: &Row<'_>) -> Result<T, Problem> {
    let mut data: Json = row.json("data")?;
    if let Json::Object(fields) = &mut data {
        fields.insert("id".to_owned(), Json::String(row.needed("id")?));
    }
    from_json(data).map_err(|problem| row.problem("data", problem))
}
