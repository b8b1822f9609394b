//! What a preset says of a program or a server.

use serde::Deserialize;
use toml::Table;

use super::server::Address;

/// Longest time-out in seconds: a day.
pub(super) const LONGEST_WAIT: f64 = 86_400.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Program and arguments.
    pub(super) command: Vec<String>,
    /// More files that it is made of: they only go into the preset's hash.
    #[serde(default)]
    pub(super) files: Vec<String>,
    #[serde(default)]
    pub(super) timeouts: Timeouts,
    /// Handed to the program as they are.
    #[serde(default)]
    pub(super) parameters: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerParameters {
    /// Where every message is sent.
    pub(super) url: String,
    #[serde(default)]
    pub(super) timeouts: Timeouts,
    /// Handed to the server as they are.
    #[serde(default)]
    pub(super) parameters: Table,
}

/// How long the program may take, in seconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Timeouts {
    /// To be ready.
    pub(super) start: f64,
    /// For one answer.
    pub(super) call: f64,
    /// For all its answers in a session together.
    pub(super) total: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { start: 10.0, call: 30.0, total: 600.0 }
    }
}

/// Program and arguments of a stage, and the files beside its preset that its
/// parameters name: what a change of is a change of the strategy.
pub(crate) fn named_files(stage: &Table) -> impl Iterator<Item = (&str, bool)> {
    let listed = |key| stage.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    // A bare first word is looked up in `PATH`, never beside the preset.
    let is_path = |(at, word): &(usize, &str)| *at > 0 || word.contains(std::path::is_separator);
    let command = listed("command").filter_map(toml::Value::as_str).enumerate().filter(is_path);
    let files = listed("files").filter_map(toml::Value::as_str);
    command.map(|(_, word)| (word, false)).chain(files.map(|file| (file, true)))
}

/// The address of a stage's server, as it may be shown.
pub(crate) fn told_address(stage: &Table) -> Option<String> {
    let url = stage.get("url").and_then(toml::Value::as_str)?;
    Address::new(url).ok().map(|address| address.to_string())
}
