//! Builds the mechanism of a stage.

use toml::{Table, Value};

use super::{Stage, Strategy, StrategyError};
use crate::host::Mechanism;
use crate::mechanism::Build;
use crate::trigger::When;

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
    /// stays 0 (how-it-works §14).
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
    pub mechanism: Box<dyn Mechanism>,
}

impl std::fmt::Debug for BuiltStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltStage").field("when", &self.when).finish_non_exhaustive()
    }
}

impl Strategy {
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
    /// names the stage; a strategy knows no file.
    pub fn build(&self, window: u64, scaled: bool) -> Result<Vec<BuiltStage>, StrategyError> {
        let scale = self.scale(window, scaled);
        let mut built = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let build = Build {
                parameters: &self.effective(stage, window, scaled),
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
