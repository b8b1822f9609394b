//! What a mechanism is to a strategy, and what it is built from.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::host::Mechanism;
use super::prompt::{Prompt, PromptError};
use recap_core::text::read_json;

/// A mechanism: one file, one constant, one line in
/// `MECHANISMS`.
pub struct MechanismSpec {
    /// The kebab-case name used in strategies.
    pub name: &'static str,
    /// One sentence for `--help` and documentation.
    pub summary: &'static str,
    /// Whether it calls the compactor.
    pub uses_compactor: bool,
    /// Whether the entries that it hides are shown again at the next run of the stage.
    pub is_view: bool,
    /// Parameters that are absolute numbers of tokens or characters: they are
    /// written for the native window and can scale with the run's. Those of a
    /// table are given as `table.key`. Counts, shares and durations do not scale.
    pub scales: &'static [&'static str],
    /// Builds the mechanism for one cell; the error is a sentence without a position.
    pub build: fn(&Build<'_>) -> Result<Box<dyn Mechanism>, BuildError>,
}

impl std::fmt::Debug for MechanismSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MechanismSpec({})", self.name)
    }
}

impl PartialEq for MechanismSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Why a mechanism cannot be built. A strategy adds the stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A parameter that is wrong, or does not go with another one.
    #[error("{0}")]
    Parameter(String),
    /// The prompt of this name is missing.
    #[error("prompt `{0}` is not there")]
    NoPrompt(String),
    /// A prompt is no template: the name of its file, and what is wrong with it.
    #[error("prompt `{0}`: {1}")]
    Prompt(String, PromptError),
    /// A text in the parameters is no template.
    #[error(transparent)]
    Marker(#[from] PromptError),
}

impl From<String> for BuildError {
    fn from(problem: String) -> Self {
        BuildError::Parameter(problem)
    }
}

impl From<&str> for BuildError {
    fn from(problem: &str) -> Self {
        BuildError::Parameter(problem.to_owned())
    }
}

/// The inputs from which a mechanism is built.
pub struct Build<'a> {
    /// Its parameters, scaled to the run's window.
    pub parameters: &'a Table,
    /// Assumed context limit in tokens.
    pub window: u64,
    /// Name of the strategy.
    pub strategy: &'a str,
    /// Position of the stage in the strategy, from 1.
    pub stage: usize,
    /// Hash of the strategy.
    pub hash: &'a str,
    /// Whether secrets are replaced in what a token saver is sent.
    pub redacts: bool,
    /// The source of its numbers; of a token saver, how it is installed.
    pub source: &'a str,
    /// Folder of the strategy's file, if it is one of the user's own.
    pub folder: Option<&'a Path>,
    /// The prompts of the strategy, by file.
    pub(super) prompts: &'a BTreeMap<String, String>,
}

impl Build<'_> {
    /// Reads the mechanism's parameters into its own struct, which refuses
    /// unknown keys.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, BuildError> {
        Ok(keyed(&Value::Table(self.parameters.clone()))?)
    }

    /// The text of a prompt file, by the name that a parameter gives.
    pub fn text(&self, file: &str) -> Result<&str, BuildError> {
        let text = self.prompts.get(file);
        text.map(String::as_str).ok_or_else(|| BuildError::NoPrompt(file.to_owned()))
    }

    /// The same as a template.
    pub fn prompt(&self, file: &str, allowed: &[&str]) -> Result<Prompt, BuildError> {
        Prompt::new(self.text(file)?, allowed)
            .map_err(|error| BuildError::Prompt(file.to_owned(), error))
    }
}

/// Deserializes a value; an error names the key.
pub(super) fn keyed<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    read_json(&text).map_err(|(key, problem)| {
        // The message itself names an unknown key.
        if key == "." || problem.contains(&format!("`{key}`")) {
            problem
        } else {
            format!("{key}: {problem}")
        }
    })
}
