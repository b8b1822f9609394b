//! Which presets run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::model::suggest;
use crate::strategy::{Preset, PresetError, PresetText, builtin_names};

/// The mechanisms, from simple to elaborate (semantics §40).
const MECHANISMS: &[&str] = &[
    "fifo",
    "sliding-window",
    "snapshot-dedup",
    "prune",
    "session-state",
    "continuation",
    "chunked-summary",
];

/// The published systems that combine them.
const SYSTEMS: &[&str] = &["arachne", "gencode", "lis", "zoea", "gsv"];

/// What agents and providers that many people use do.
const AGENTS: &[&str] =
    &["claude-code", "codex", "opencode", "gemini-cli", "anthropic-context-editing"];

/// Names that stand for several presets.
const GROUPS: [(&str, &[&str]); 3] =
    [("mechanisms", MECHANISMS), ("systems", SYSTEMS), ("agents", AGENTS)];

/// Controls without which the other rows cannot be interpreted.
const ALWAYS: &[&str] = &["full", "empty", "id-list", WITH_PROBES, WITH_COMPACTIONS];

/// The control that needs probes.
const WITH_PROBES: &str = "evidence";

/// The control that equals `full` where no vendor's compaction is recorded.
const WITH_COMPACTIONS: &str = "recorded";

/// Why a preset cannot run.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// It is neither built in nor a file.
    #[error("strategy `{name}` is not known")]
    Unknown {
        /// The name.
        name: String,
        /// Names that may have been meant, in a sentence.
        suggestion: String,
    },
    /// `evidence` was named, and no data set has probes.
    #[error("the control `evidence` needs probes")]
    NoProbes,
    /// Rows with the same name could not be told apart.
    #[error("two presets are named `{0}`")]
    SameName(String),
    /// A change is not written as `PRESET.KEY=VALUE`.
    #[error("`{0}` is not PRESET.KEY=VALUE")]
    Change(String),
    /// A preset file, or a changed value, is wrong.
    #[error(transparent)]
    Preset(#[from] PresetError),
}

/// What the data of a run contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataContents {
    /// Whether there are probes.
    pub probes: bool,
    /// Whether there are compactions of the recorded agent.
    pub compactions: bool,
    /// Whether they are somebody's recordings, and no published data set.
    pub recordings: bool,
}

impl DataContents {
    fn fit(self, name: &str) -> bool {
        match name {
            WITH_PROBES => self.probes,
            WITH_COMPACTIONS => self.compactions,
            _ => true,
        }
    }
}

/// The presets that were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Names, files, `all`, or a group of presets.
    pub names: Vec<String>,
    /// `PRESET.KEY=VALUE`, for a preset each.
    pub changes: Vec<String>,
}

impl Selection {
    /// The presets of the run, controls included, in the order in which they
    /// were named.
    ///
    /// # Errors
    /// If one cannot be loaded, or two have the same name.
    pub fn presets(&self, data: DataContents) -> Result<Vec<Arc<Preset>>, SelectionError> {
        let names = self.with_controls(data)?;
        let mut presets = Vec::new();
        for name in &names {
            presets.push(preset(name, &[])?);
        }
        for change in &self.changes {
            presets.push(changed(change, &names)?);
        }
        unique(&presets)?;
        Ok(presets.into_iter().map(Arc::new).collect())
    }

    /// The names with the controls first, each once. `evidence` runs only where
    /// there are probes; `recorded`, unless named, only where a vendor's
    /// compaction is recorded.
    fn with_controls(&self, data: DataContents) -> Result<Vec<String>, SelectionError> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        };
        ALWAYS.iter().filter(|name| data.fit(name)).for_each(|name| add(name));
        if self.names.is_empty() {
            let others = if data.recordings { AGENTS } else { SYSTEMS };
            MECHANISMS.iter().chain(others).for_each(|name| add(name));
        }
        for name in &self.names {
            match name.as_str() {
                "all" => builtin_names().filter(|name| data.fit(name)).for_each(&mut add),
                WITH_PROBES if !data.probes => return Err(SelectionError::NoProbes),
                name => match GROUPS.iter().find(|(group, _)| *group == name) {
                    Some((_, members)) => members.iter().for_each(|member| add(member)),
                    None => add(name),
                },
            }
        }
        Ok(names)
    }

    /// Names of the presets that were named or made by a change. `all` stands
    /// for every preset but the controls.
    pub fn named(&self, presets: &[Arc<Preset>]) -> Vec<String> {
        let all = self.names.iter().any(|name| name == "all");
        // The name inside a preset file is independent of the file's name.
        let members = |name: &String| match GROUPS.iter().find(|(group, _)| group == name) {
            Some((_, members)) => members.iter().map(|member| (*member).to_owned()).collect(),
            None => preset(name, &[]).map(|preset| vec![preset.name]).unwrap_or_default(),
        };
        let loaded: Vec<String> = self.names.iter().flat_map(members).collect();
        let made = presets.len() - self.changes.len();
        let asked = |(at, preset): &(usize, &Arc<Preset>)| {
            *at >= made || loaded.contains(&preset.name) || (all && !preset.control)
        };
        let each = presets.iter().enumerate().filter(asked);
        each.map(|(_, preset)| preset.name.clone()).collect()
    }
}

/// Refuses two presets with the same name, which could not be told apart.
fn unique(presets: &[Preset]) -> Result<(), SelectionError> {
    for (at, preset) in presets.iter().enumerate() {
        if presets[..at].iter().any(|p| p.name == preset.name) {
            return Err(SelectionError::SameName(preset.name.clone()));
        }
    }
    Ok(())
}

/// The changed preset for `PRESET.KEY=VALUE`.
fn changed(change: &str, selected: &[String]) -> Result<Preset, SelectionError> {
    let malformed = || SelectionError::Change(change.to_owned());
    let (path, value) = change.split_once('=').ok_or_else(malformed)?;
    let by_name = selected.iter().filter_map(|name| {
        let key = path.strip_prefix(name.as_str())?.strip_prefix('.')?;
        Some((name.clone(), key))
    });
    let (name, key) = match by_name.max_by_key(|(name, _)| name.len()) {
        Some(found) => found,
        None => path.split_once('.').map(|(n, k)| (n.to_owned(), k)).ok_or_else(malformed)?,
    };
    let mut preset = preset(&name, &[(key.trim().to_owned(), value.trim().to_owned())])?;
    preset.name = format!("{}[{}={}]", preset.name, key.trim(), value.trim());
    Ok(preset)
}

/// A built-in preset, or one in a TOML file, with changed values by key.
///
/// # Errors
/// If there is no such preset, or it is wrong.
pub fn preset(name: &str, overrides: &[(String, String)]) -> Result<Preset, SelectionError> {
    Ok(preset_text(name)?.preset(overrides, &BTreeMap::new())?)
}

/// The text of a built-in preset, or of one in a TOML file.
///
/// # Errors
/// If there is no such preset, or its file cannot be read.
pub fn preset_text(name: &str) -> Result<PresetText, SelectionError> {
    if let Some(found) = PresetText::builtin(name) {
        return Ok(found);
    }
    if name.ends_with(".toml") || Path::new(name).is_file() {
        return Ok(PresetText::read(Path::new(name))?);
    }
    let suggestion = suggest(name, builtin_names());
    Err(SelectionError::Unknown { name: name.to_owned(), suggestion })
}
