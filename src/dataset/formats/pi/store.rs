//! The store of OpenClaw since 2026 (`openclaw-agent.sqlite`): an entry of pi's
//! log a row, large ones packed with zstd. The schema is known from the notes of
//! another reader (`franken-agent-detection`, `connectors/openclaw.rs`); no store
//! was at hand.

use super::session;
use super::wire::{Entry, read_entry};
use crate::dataset::LoadOptions;
use crate::dataset::database::Wanted;
use crate::dataset::error::DatasetError;
use crate::dataset::format::Take;
use crate::dataset::formats::store::{Listed, UNTRIED, read_sessions};
use crate::dataset::source::Source;

/// The entries of all sessions.
pub(super) const EVENTS: Wanted = Wanted {
    table: "transcript_events",
    key: Some("session_id"),
    columns: &["seq", "event_json"],
    optional: &["event_zstd"],
    order: &["seq"],
};

/// The sessions, in the order of their first entries.
const SESSIONS: Wanted = Wanted {
    table: "transcript_events",
    key: None,
    columns: &["session_id"],
    optional: &[],
    order: &["rowid"],
};

/// Reads every session of the store.
pub(super) fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let database = source.database()?;
    let mut listed: Vec<Listed<()>> = Vec::new();
    let mut known = rustc_hash::FxHashSet::default();
    let events = database.rows(&SESSIONS).and_then(|mut rows| {
        rows.each(None, |row| {
            let id = row.needed("session_id")?;
            if known.insert(id.clone()) {
                listed.push(Listed { id, parent: None, facts: () });
            }
            Ok(())
        })?;
        database.rows(&EVENTS)
    });
    let mut events = events.map_err(|problem| source.error(None, problem))?;
    read_sessions(source, listed, &LoadOptions::default(), take, |listed| {
        let mut entries = Vec::new();
        events.each(Some(&listed.id), |row| {
            let text = match row.text("event_json")? {
                Some(text) => text,
                None => database
                    .unpack(row.bytes("event_zstd")?)
                    .map_err(|problem| row.problem("event_zstd", problem))?,
            };
            let read = read_entry(&text);
            let (header, body) = read.map_err(|problem| row.problem("event_json", problem))?;
            let line = u64::try_from(row.integer("seq").unwrap_or_default()).unwrap_or_default();
            entries.push(Entry { line, header, body });
            Ok(())
        })?;
        session(entries, &listed.id).map_err(|(_, problem)| problem)
    })?;
    source.warn(UNTRIED);
    Ok(())
}
