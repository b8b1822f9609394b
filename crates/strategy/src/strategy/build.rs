//! Builds the mechanism of a stage.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::{Stage, Strategy, StrategyError};
use crate::host::Mechanism;
use crate::mechanism::Build;
use crate::trigger::When;

/// Which absolute numbers of tokens and characters scale with the window
/// (how-it-works §14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// None (`--no-scale`).
    AsWritten,
    /// Those that the strategy's file names: at a window that a model may have.
    Named,
    /// All: at a window that is made for a session, a share of it or for a cut.
    All,
}

impl Scaling {
    /// The same at a window that is made for a session.
    #[must_use]
    pub fn at_made_window(self) -> Self {
        if self == Scaling::AsWritten { self } else { Scaling::All }
    }
}

/// A factor for absolute numbers of tokens and characters: run window over
/// native window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    window: u64,
    native: u64,
}

impl Scale {
    /// The factor 1: no scaling.
    const ONE: Scale = Scale { window: 1, native: 1 };

    /// Scales a number of tokens or characters: rounded down, at least 1; 0
    /// stays 0 (how-it-works §14).
    pub(super) fn number(self, number: u64) -> u64 {
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
    pub mechanism: Box<dyn Mechanism>,
}

impl std::fmt::Debug for BuiltStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltStage").field("when", &self.when).finish_non_exhaustive()
    }
}

/// Numbers of a trigger that can scale.
const OF_TRIGGERS: [&str; 4] =
    ["when.and_over", "when.at_most", "when.reserve", "when.tool_tokens"];

/// The key of the output limit.
pub(super) const OUTPUT_LIMIT: &str = "output_limit";

impl Strategy {
    /// Every key that `scales` may name, as `--set` has it.
    pub(super) fn scalable(&self) -> BTreeSet<String> {
        let stages = self.stages.iter().zip(1..);
        let of_stages = stages.flat_map(|(stage, number)| {
            let own = OF_TRIGGERS.iter().chain(stage.mechanism.scales);
            own.map(move |key| format!("{number}.{key}"))
        });
        of_stages.chain([OUTPUT_LIMIT.to_owned()]).collect()
    }

    /// The factor for the number of a key at a window.
    pub(super) fn scale(&self, key: &str, window: u64, scaling: Scaling) -> Scale {
        let scales = match scaling {
            Scaling::AsWritten => false,
            Scaling::Named => self.scales.as_ref().is_none_or(|named| named.contains(key)),
            Scaling::All => true,
        };
        match self.native_window {
            Some(native) if scales => Scale { window, native },
            _ => Scale::ONE,
        }
    }

    /// The parameters of a stage, counted from 0, scaled to a window.
    ///
    /// # Panics
    ///
    /// If it has no such stage.
    pub fn effective(&self, stage: usize, window: u64, scaling: Scaling) -> Table {
        let Stage { mechanism, parameters, .. } = &self.stages[stage];
        let mut parameters = parameters.clone();
        for path in mechanism.scales {
            let scale = self.scale(&format!("{}.{path}", stage + 1), window, scaling);
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
    pub fn trigger(&self, stage: usize, window: u64, scaling: Scaling) -> When {
        let [and_over, at_most, reserve, tool_tokens] =
            OF_TRIGGERS.map(|key| self.scale(&format!("{}.{key}", stage + 1), window, scaling));
        match &self.stages[stage].when {
            When::Above { of, share, and_over: over, at_most: bound } => When::Above {
                of: *of,
                share: *share,
                and_over: and_over.number(*over),
                at_most: bound.map(|bound| at_most.number(bound)),
            },
            When::AboveReserve { reserve: written } => {
                When::AboveReserve { reserve: reserve.number(*written) }
            }
            When::ToolTokens(tokens) => When::ToolTokens(tool_tokens.number(*tokens)),
            other => other.clone(),
        }
    }

    /// The triggers scaled to a window, and a new mechanism each. An error
    /// names the stage; a strategy knows no file.
    pub fn build(&self, window: u64, scaling: Scaling) -> Result<Vec<BuiltStage>, StrategyError> {
        let mut built = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let build = Build {
                parameters: &self.effective(number, window, scaling),
                window,
                strategy: &self.name,
                stage: number + 1,
                hash: &self.hash,
                redacts: self.redacts,
                source: &self.source,
                folder: self.folder.as_deref(),
                prompts: &self.prompts,
            };
            let mechanism = (stage.mechanism.build)(&build).map_err(|error| StrategyError {
                place: format!("stage {} ({})", number + 1, stage.mechanism.name),
                problem: error.to_string(),
            })?;
            built.push(BuiltStage { when: self.trigger(number, window, scaling), mechanism });
        }
        Ok(built)
    }
}

/// Whether the numbers of a table are lines, which are counted like messages
/// and do not scale.
fn counts_lines(table: &Table) -> bool {
    table.get("unit").and_then(Value::as_str) == Some("lines")
}
