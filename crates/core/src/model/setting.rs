//! A setting of the recorded agent, filled in.

use serde::Serialize;

/// A setting of the recorded agent and what to write there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The agent: the format that its recordings were detected as.
    pub agent: String,
    /// Name of the setting.
    pub name: String,
    /// The line to write.
    pub line: String,
    /// Where it is written.
    pub file: String,
    /// What else is to be known of it.
    pub note: Option<String>,
    /// Address of the public source that it was read in.
    pub source: String,
    /// Version or commit of that source.
    pub version: String,
    /// The day on which it was read: `2026-11-27`.
    pub checked: String,
}
