//! Builds the mechanism of a stage.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::{Stage, Strategy, StrategyError};
use crate::mechanism::Build;
use crate::mechanism::Mechanism;
use crate::trigger::{Limits, Of, When};

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

/// The ratio of two sizes: how far triggers move, or run window over native window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ratio {
    to: u64,
    from: u64,
}

impl Ratio {
    /// A number of tokens in this ratio, rounded down.
    pub(super) fn of(self, number: u64) -> u64 {
        let moved = u128::from(number) * u128::from(self.to) / u128::from(self.from);
        u64::try_from(moved).unwrap_or(u64::MAX)
    }

    /// An absolute number of tokens or characters of a strategy: at least 1; 0
    /// stays 0 (how-it-works §14).
    pub(super) fn number(self, number: u64) -> u64 {
        if number == 0 { 0 } else { self.of(number).max(1) }
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
    pub(super) fn scale(
        &self,
        key: impl FnOnce() -> String,
        window: u64,
        scaling: Scaling,
    ) -> Ratio {
        let scales = match scaling {
            Scaling::AsWritten => false,
            Scaling::Named => self.scales.as_ref().is_none_or(|named| named.contains(&key())),
            Scaling::All => true,
        };
        match self.native_window {
            Some(native) if scales => Ratio { to: window, from: native },
            _ => Ratio { to: 1, from: 1 },
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
            let scale = self.scale(|| format!("{}.{path}", stage + 1), window, scaling);
            let keys: Vec<&str> = path.split('.').collect();
            let [tables @ .., key] = &keys[..] else { continue };
            let inner = tables.iter().try_fold(&mut parameters, |table: &mut Table, key| {
                table.get_mut(*key).and_then(Value::as_table_mut)
            });
            let Some(table) = inner else { continue };
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

    /// The trigger of a stage scaled to a window, and moved to the size at which the strategy is
    /// told to compact.
    ///
    /// # Panics
    ///
    /// If it has no such stage.
    pub fn trigger(&self, stage: usize, window: u64, scaling: Scaling) -> When {
        let own = self.own_trigger(stage, window, scaling);
        let Some(moved) = self.moved(window, scaling) else { return own };
        let at = |tokens: u64, at_most| When::Above {
            of: Of::Window,
            share: 0.0,
            and_over: tokens,
            at_most,
        };
        match own {
            When::Above { of, share, and_over, at_most } => {
                let share = self.limits(window, scaling).share(of, share);
                at(moved.of(share).max(and_over.min(moved.to)), at_most)
            }
            When::AboveReserve { reserve } => at(moved.of(window.saturating_sub(reserve)), None),
            other => other,
        }
    }

    /// The size of the prompt above which a stage runs at a window; `None` where its trigger does
    /// not wait for one.
    pub fn threshold(&self, stage: usize, window: u64, scaling: Scaling) -> Option<u64> {
        self.trigger(stage, window, scaling).threshold(&self.limits(window, scaling))
    }

    /// The sizes that shares refer to, at a window.
    pub fn limits(&self, window: u64, scaling: Scaling) -> Limits {
        let budget = self.budget_tokens(window, scaling);
        Limits { window, budget, usable: self.usable(window, scaling) }
    }

    /// Whether a stage waits for a size of the prompt.
    pub fn awaits_size(&self) -> bool {
        self.stages.iter().any(|stage| stage.when.threshold(&Limits::default()).is_some())
    }

    /// How far its triggers move to smaller sizes, so that the last of them is at
    /// [`Strategy::compact_at`]; `None` where that is no smaller.
    pub(super) fn moved(&self, window: u64, scaling: Scaling) -> Option<Ratio> {
        let to = self.compact_at?;
        let limits = self.limits(window, scaling);
        let own = (0..self.stages.len())
            .filter_map(|stage| self.own_trigger(stage, window, scaling).threshold(&limits));
        own.max().filter(|from| to < *from).map(|from| Ratio { to, from })
    }

    /// The trigger of a stage as it is written, scaled to a window.
    fn own_trigger(&self, stage: usize, window: u64, scaling: Scaling) -> When {
        let [and_over, at_most, reserve, tool_tokens] = OF_TRIGGERS;
        let scaled = |key, number| {
            self.scale(|| format!("{}.{key}", stage + 1), window, scaling).number(number)
        };
        match &self.stages[stage].when {
            When::Above { of, share, and_over: over, at_most: bound } => When::Above {
                of: *of,
                share: *share,
                and_over: scaled(and_over, *over),
                at_most: bound.map(|bound| scaled(at_most, bound)),
            },
            When::AboveReserve { reserve: written } => {
                When::AboveReserve { reserve: scaled(reserve, *written) }
            }
            When::ToolTokens(tokens) => When::ToolTokens(scaled(tool_tokens, *tokens)),
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
                window: self.believed_window(window, scaling),
                strategy: self,
                stage: number + 1,
            };
            let mechanism = (stage.mechanism.build)(&build).map_err(|error| StrategyError {
                place: format!("stage {} ({})", number + 1, stage.mechanism.name),
                problem: error.0,
            })?;
            built.push(BuiltStage { when: self.trigger(number, window, scaling), mechanism });
        }
        Ok(built)
    }
}
