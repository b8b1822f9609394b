//! Saves a session between two messages, and restores it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::background::InFlight;
use super::loss::Loss;
use super::plan::{Plan, ReplayError};
use super::session::ReplaySession;
use super::subject::PreparedSession;
use recap_core::model::MessageIndex;
use recap_core::tokens::Reported;
use recap_strategy::{Compactor, Context, Saved, StrategyState};

/// Everything that a later process needs to resume a session: the strategy's
/// state, without the rows measured so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedSession {
    context: Saved,
    shared: StrategyState,
    stages: Vec<Json>,
    reported: Option<Reported>,
    reported_through: MessageIndex,
    drawn: u64,
    in_flight: BTreeMap<usize, InFlight>,
}

impl<'a> ReplaySession<'a> {
    /// The session's state between two messages.
    pub fn save(&self) -> SavedSession {
        let random = self.random.lock().expect("nothing panics while drawing");
        SavedSession {
            context: self.context.save(),
            shared: self.shared.clone(),
            stages: self.stages.iter().map(|s| s.mechanism.state()).collect(),
            reported: self.reported,
            reported_through: self.reported_through,
            drawn: random.get_word_pos() as u64,
            in_flight: self.in_flight.clone(),
        }
    }

    /// Resumes a session from a saved state.
    pub fn restore(
        subject: &'a PreparedSession,
        plan: &'a Plan,
        compactor: &'a dyn Compactor,
        saved: SavedSession,
    ) -> Result<Self, ReplayError> {
        let mut session = Self::open(subject, plan, compactor)?;
        session.context = Context::restore(subject.recording.clone(), saved.context);
        session.shared = saved.shared;
        session.reported = saved.reported;
        session.reported_through = saved.reported_through;
        session
            .random
            .get_mut()
            .expect("nothing panics while drawing")
            .set_word_pos(saved.drawn.into());
        for (running, state) in session.stages.iter_mut().zip(saved.stages) {
            running.mechanism.restore(state)?;
        }
        session.adopt(saved.in_flight);
        session.loss = Loss::resumed(&session.context);
        session.pairs.recheck_pairs(&session.context, 0..session.context.seen_count());
        Ok(session)
    }
}
