//! Why a replay stops.

use crate::strategy::{BrokenPair, PresetError, StrategyError};

/// Why a replay stopped. It fails the cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The preset cannot be built for the window.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// A mechanism cannot go on from a saved state.
    #[error(transparent)]
    Restore(#[from] StrategyError),
    /// A mechanism failed.
    #[error("{mechanism}: {error}")]
    Mechanism {
        /// Its name.
        mechanism: &'static str,
        /// What it failed at.
        error: StrategyError,
    },
    /// The effect of a strategy without its model says nothing about the strategy.
    #[error("{mechanism}: the compactor could not be asked: {why}")]
    Unavailable {
        /// The name of the mechanism.
        mechanism: &'static str,
        /// Why nobody answered.
        why: String,
    },
    /// The context would be refused by every provider.
    #[error("strategy bug at request {request}: {pair}")]
    BrokenPair {
        /// Ordinal of the request.
        request: usize,
        /// What is not whole.
        pair: BrokenPair,
    },
    /// No request stands behind the cut.
    #[error("the recording ends before the cut")]
    EndsBeforeCut,
}
