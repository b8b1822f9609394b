//! What tests read of a recording, and compare of an imported session.

use recap_core::model::Session;
use recap_formats::{Dataset, DatasetError, LoadOptions, load_reader};
use serde_json::Value as Json;

pub fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("file.jsonl", text.as_bytes(), &LoadOptions::default())
}

/// The only session of a recording.
pub fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

pub fn lines(records: &[Json]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Roles and texts, a result with its call.
pub fn outline(session: &Session) -> Vec<String> {
    let messages = session.messages.iter();
    let line = messages.map(|message| match message.tool_result() {
        Some((call, text)) => format!("{call}: {text}"),
        None => format!("{}: {}", message.role.as_str(), message.first_text()),
    });
    line.collect()
}
