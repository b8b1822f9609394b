//! The parameters of a program or a server in a preset.

use serde::Deserialize;
use toml::Table;

use super::server::Address;

/// Longest timeout in seconds: a day.
pub(super) const LONGEST_WAIT: f64 = 86_400.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// More files of the program: they only go into the preset's hash.
    #[serde(default)]
    pub(super) files: Vec<String>,
    #[serde(default)]
    pub(super) timeouts: Timeouts,
    /// Passed to the program unchanged.
    #[serde(default)]
    pub(super) parameters: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerParameters {
    /// The address that every message is sent to.
    pub(super) url: String,
    #[serde(default)]
    pub(super) timeouts: Timeouts,
    /// Passed to the server unchanged.
    #[serde(default)]
    pub(super) parameters: Table,
}

/// Timeouts of the program, in seconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Timeouts {
    /// Timeout until the program is ready, in seconds.
    pub(super) start: f64,
    /// Timeout of one answer, in seconds.
    pub(super) call: f64,
    /// Timeout of all its answers in a session together, in seconds.
    pub(super) total: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { start: 10.0, call: 30.0, total: 600.0 }
    }
}

/// The words of a stage's command, and the files beside its preset that its
/// parameters name: changing one of them changes the strategy.
pub(crate) fn named_files(stage: &Table) -> impl Iterator<Item = (&str, bool)> {
    let listed = |key| stage.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    // A first word without a separator is looked up in `PATH`, not in the preset's folder.
    let is_path = |(at, word): &(usize, &str)| *at > 0 || word.contains(std::path::is_separator);
    let command = listed("command").filter_map(toml::Value::as_str).enumerate().filter(is_path);
    let files = listed("files").filter_map(toml::Value::as_str);
    command.map(|(_, word)| (word, false)).chain(files.map(|file| (file, true)))
}

/// The address of a stage's server, without its secrets.
pub(crate) fn shown_address(stage: &Table) -> Option<String> {
    let url = stage.get("url").and_then(toml::Value::as_str)?;
    Address::new(url).ok().map(|address| address.to_string())
}
