//! Errors that stop a replay.

use crate::strategy::{BrokenPair, PresetError, StrategyError};

/// Why a replay stopped. The cell then fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The preset cannot be built for the window.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// A mechanism cannot resume from a saved state.
    #[error(transparent)]
    Restore(#[from] StrategyError),
    /// A mechanism failed: its name, and at what.
    #[error("{0}: {1}")]
    Mechanism(&'static str, StrategyError),
    /// The effect of a strategy without its model says nothing about the strategy: the name
    /// of the mechanism, and why nobody answered.
    #[error("{0}: the compactor could not be asked: {1}")]
    Unavailable(&'static str, String),
    /// The context would be refused by every provider at this request.
    #[error("strategy bug at request {0}: {1}")]
    BrokenPair(usize, BrokenPair),
    /// No request stands behind the cut.
    #[error("the recording ends before the cut")]
    EndsBeforeCut,
}
