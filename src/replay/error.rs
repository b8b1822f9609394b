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
    /// A mechanism failed with an error of its own.
    #[error("{mechanism}: {error}")]
    Mechanism {
        /// Name of the mechanism.
        mechanism: &'static str,
        /// Error of the mechanism.
        error: StrategyError,
    },
    /// No model answered, so that the result would not describe the strategy.
    #[error("{mechanism}: the compactor could not be asked: {why}")]
    Unavailable {
        /// Name of the mechanism.
        mechanism: &'static str,
        /// Why no model answered.
        why: String,
    },
    /// A call without its result, or a result without its call, would be sent;
    /// every provider would refuse it.
    #[error("strategy bug at request {request}: {pair}")]
    BrokenPair {
        /// Ordinal of the request.
        request: usize,
        /// The call without a result, or the result without a call.
        pair: BrokenPair,
    },
    /// The transcript has no request after the cut.
    #[error("the recording ends before the cut")]
    EndsBeforeCut,
}
