//! The settings of a cell, and what stops its replay.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use recap_billing::pricing::Agent;
use recap_core::model::{CellKey, RowKind};
use recap_strategy::{BrokenPair, MechanismError, Scaling, Strategy, StrategyError};

/// The settings of one cell to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The session, strategy, window and replicate.
    pub key: CellKey,
    /// The strategy that is replayed.
    pub strategy: Arc<Strategy>,
    /// Assumed context limit in tokens.
    pub window: u64,
    /// Which absolute numbers scale with the window.
    pub scaling: Scaling,
    /// Seed of the run; mixed with the cell's key.
    pub seed: u64,
    /// Whether the compactor is the offline one.
    pub offline: bool,
    /// The billing models of the session; each has a bill of its own.
    pub agents: Arc<[Agent]>,
    /// The model in the compactor's role; `None`: the offline one, whose calls are
    /// billed as the agent's model.
    pub compactor: Option<Arc<Agent>>,
}

impl Plan {
    /// The role of the row in the comparison.
    pub fn row_kind(&self) -> RowKind {
        if self.strategy.control {
            RowKind::Control
        } else if self.offline && self.strategy.uses_compactor() {
            RowKind::OfflineSummary
        } else {
            RowKind::Ranked
        }
    }

    /// The random stream of the cell, from the seed and the cell's key.
    pub(super) fn random(&self) -> ChaCha8Rng {
        let key = format!("{}\u{0}{:?}", self.seed, self.key);
        ChaCha8Rng::from_seed(*blake3::hash(key.as_bytes()).as_bytes())
    }
}

/// Why a replay stopped. The cell then fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The strategy cannot be built for the window.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// A mechanism cannot resume from a saved state.
    #[error(transparent)]
    Restore(#[from] MechanismError),
    /// A mechanism failed: its name, and at what.
    #[error("{0}: {1}")]
    Mechanism(&'static str, MechanismError),
    /// The effect of a strategy without its model says nothing about the strategy: the name
    /// of the mechanism, and why nobody answered.
    #[error("{0}: the compactor could not be asked: {1}")]
    Unavailable(&'static str, String),
    /// The context would be refused by every provider at this request.
    #[error("strategy bug at request {0}: {1}")]
    BrokenPair(usize, BrokenPair),
    /// No request stands after the cut.
    #[error("the recording ends before the cut")]
    EndsBeforeCut,
}
