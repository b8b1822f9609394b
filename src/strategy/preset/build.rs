//! Builds the mechanism of a stage.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::{Preset, PresetError, Stage};
use crate::strategy::host::Strategy;
use crate::strategy::prompt::Prompt;
use crate::strategy::trigger::When;

/// A mechanism: one file, one constant, one line in
/// `MECHANISMS`.
pub struct MechanismSpec {
    /// The kebab-case name used in presets.
    pub name: &'static str,
    /// One sentence for `--help` and documentation.
    pub summary: &'static str,
    /// Whether it calls the compactor.
    pub uses_compactor: bool,
    /// Whether the entries that it hides are shown again at the next run of the stage.
    pub is_view: bool,
    /// Parameters that are absolute numbers of tokens or characters: they are
    /// written for the native window and scale with the run's. Those of a table
    /// are given as `table.key`. Counts, shares and durations do not scale.
    pub scales: &'static [&'static str],
    /// Builds the mechanism for one cell; the error is a sentence without a position.
    pub build: fn(&Build<'_>) -> Result<Box<dyn Strategy>, String>,
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

/// The inputs from which a mechanism is built.
pub struct Build<'a> {
    /// Its parameters, scaled to the run's window.
    pub parameters: &'a Table,
    /// Assumed context limit in tokens.
    pub window: u64,
    /// Name of the preset.
    pub preset: &'a str,
    /// Position of the stage in the preset, from 1.
    pub stage: usize,
    /// Folder of the preset's file, if it is one of the user's own.
    pub folder: Option<&'a Path>,
    prompts: &'a BTreeMap<String, String>,
}

impl Build<'_> {
    /// Reads the mechanism's parameters into its own struct, which refuses
    /// unknown keys.
    pub fn read<T: for<'de> Deserialize<'de>>(&self) -> Result<T, String> {
        keyed(Value::Table(self.parameters.clone()))
    }

    /// The text of a prompt file, by the name that a parameter gives.
    pub fn text(&self, file: &str) -> Result<&str, String> {
        let text = self.prompts.get(file).ok_or_else(|| format!("prompt `{file}` is not there"))?;
        Ok(text)
    }

    /// The same as a template.
    pub fn prompt(&self, file: &str, allowed: &[&str]) -> Result<Prompt, String> {
        Prompt::new(self.text(file)?, allowed).map_err(|e| format!("prompt `{file}`: {e}"))
    }
}

/// Deserializes a value; an error names the key.
pub(super) fn keyed<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let (key, problem) = (e.path().to_string(), e.inner().message());
        // The message itself names an unknown key.
        if key == "." || problem.contains(&format!("`{key}`")) {
            problem.to_owned()
        } else {
            format!("{key}: {problem}")
        }
    })
}

/// A factor for absolute numbers of tokens and characters: run window over
/// native window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    window: u64,
    native: u64,
}

impl Scale {
    /// The factor 1: no scaling.
    pub const ONE: Scale = Scale { window: 1, native: 1 };

    /// Scales a number of tokens or characters: rounded down, at least 1; 0
    /// stays 0 (semantics §14).
    pub fn number(self, number: u64) -> u64 {
        if number == 0 {
            return 0;
        }
        let scaled = u128::from(number) * u128::from(self.window) / u128::from(self.native);
        u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
    }
}

/// A stage scaled to a window, ready for one cell.
pub struct BuiltStage {
    /// The condition under which it runs.
    pub when: When,
    /// The mechanism that it runs.
    pub mechanism: Box<dyn Strategy>,
}

impl std::fmt::Debug for BuiltStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltStage").field("when", &self.when).finish_non_exhaustive()
    }
}

impl Preset {
    /// The factor for absolute numbers at a window.
    pub fn scale(&self, window: u64, scaled: bool) -> Scale {
        match self.native_window {
            Some(native) if scaled => Scale { window, native },
            _ => Scale::ONE,
        }
    }

    /// A stage's parameters scaled to a window.
    pub fn effective(&self, stage: &Stage, window: u64, scaled: bool) -> Table {
        let scale = self.scale(window, scaled);
        let mut parameters = stage.parameters.clone();
        for path in stage.mechanism.scales {
            let keys: Vec<&str> = path.split('.').collect();
            let [tables @ .., key] = &keys[..] else { continue };
            let inner = tables.iter().try_fold(&mut parameters, |table: &mut Table, key| {
                table.get_mut(*key).and_then(Value::as_table_mut)
            });
            let Some(table) = inner.filter(|table| !counts_lines(table)) else { continue };
            // A value of another type is refused by the mechanism that reads it.
            if let Some(value) = table.get_mut(*key)
                && let Some(number) = value.as_integer().and_then(|n| u64::try_from(n).ok())
            {
                let scaled = i64::try_from(scale.number(number)).unwrap_or(i64::MAX);
                *value = Value::Integer(scaled);
            }
        }
        parameters
    }

    /// The trigger of a stage scaled to a window.
    ///
    /// # Panics
    ///
    /// If it has no such stage.
    pub fn trigger(&self, stage: usize, window: u64, scaled: bool) -> When {
        scale_when(&self.stages[stage].when, self.scale(window, scaled))
    }

    /// The triggers scaled to a window, and a new mechanism each. An error
    /// names the stage; a preset knows no file.
    pub fn build(&self, window: u64, scaled: bool) -> Result<Vec<BuiltStage>, PresetError> {
        let scale = self.scale(window, scaled);
        let mut built = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let build = Build {
                parameters: &self.effective(stage, window, scaled),
                window,
                preset: &self.name,
                stage: number + 1,
                folder: self.folder.as_deref(),
                prompts: &self.prompts,
            };
            let mechanism = (stage.mechanism.build)(&build).map_err(|problem| PresetError {
                place: format!("stage {} ({})", number + 1, stage.mechanism.name),
                problem,
            })?;
            built.push(BuiltStage { when: scale_when(&stage.when, scale), mechanism });
        }
        Ok(built)
    }
}

/// Whether the numbers of a table are lines, which are counted like messages
/// and do not scale.
fn counts_lines(table: &Table) -> bool {
    table.get("unit").and_then(Value::as_str) == Some("lines")
}

fn scale_when(when: &When, scale: Scale) -> When {
    match when {
        When::Above { of, share, and_over, at_most } => When::Above {
            of: *of,
            share: *share,
            and_over: scale.number(*and_over),
            at_most: at_most.map(|bound| scale.number(bound)),
        },
        When::AboveReserve { reserve } => When::AboveReserve { reserve: scale.number(*reserve) },
        When::ToolTokens(tokens) => When::ToolTokens(scale.number(*tokens)),
        other => other.clone(),
    }
}
