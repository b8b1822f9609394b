//! Replays one strategy at one context limit through sessions that a run has, for
//! their bills alone.

use std::sync::Arc;

use super::pool::side_by_side;
use super::prepare::{Prepared, plan};
use super::spec::{ModelRoles, RunError, RunSpec, compactor};
use crate::{LEAST_FOR_MESSAGES, PreparedSession, replay};
use recap_core::model::{Cell, SessionFacts};
use recap_strategy::Strategy;

/// The sessions of a run, as a bill needs them.
pub struct Billable {
    spec: RunSpec,
    roles: ModelRoles,
    subjects: Vec<Arc<PreparedSession>>,
}

impl Billable {
    /// Those of a prepared run; `None` where one of them has questions, since its run is
    /// about answers.
    pub fn of(prepared: &Prepared) -> Option<Self> {
        let subjects = &prepared.subjects;
        let asks = subjects.iter().any(|subject| !subject.facts.questions.is_empty());
        (!asks).then(|| Self {
            spec: prepared.spec.clone(),
            roles: prepared.roles.clone(),
            subjects: subjects.iter().map(|one| Arc::new(one.unasked())).collect(),
        })
    }

    /// A strategy of the run.
    pub fn strategy(&self, name: &str) -> Option<&Arc<Strategy>> {
        self.spec.strategies.iter().find(|strategy| strategy.name == name)
    }

    /// The facts that the cells fit, sorted by data set and id.
    pub fn facts(&self) -> Vec<SessionFacts> {
        let mut facts: Vec<SessionFacts> =
            self.subjects.iter().map(|subject| (*subject.facts).clone()).collect();
        facts.sort_by(|a, b| (&a.dataset, &a.session).cmp(&(&b.dataset, &b.session)));
        facts
    }

    /// Replays a strategy through every session at a window of so many tokens, or at
    /// the session's own window where that is smaller or where no message would fit.
    ///
    /// # Errors
    /// A worker could not be started.
    pub async fn follow(
        &self,
        strategy: &Arc<Strategy>,
        window: u64,
    ) -> Result<Vec<Cell>, RunError> {
        let (strategies, roles) = (vec![Arc::clone(strategy)], &self.roles);
        let spec = RunSpec { strategies, replicates: 1, ..self.spec.clone() };
        let tasks = self.subjects.iter().filter_map(|subject| {
            let mut plan = plan(&spec, roles, subject).0.into_iter().next()?;
            let least = subject.recording.sizes.preamble_tokens() + LEAST_FOR_MESSAGES;
            if (least + 1..plan.window).contains(&window) {
                plan.window = window;
                plan.scaling = plan.scaling.at_made_window();
            }
            let (subject, compactor) = (Arc::clone(subject), compactor(roles, subject, 0));
            Some(((), async move { replay(&subject, &plan, compactor.as_ref()).await.cell }))
        });
        let mut cells = Vec::new();
        side_by_side(spec.jobs, tasks, |(), cell| {
            cells.push(cell.map_err(|panicked| RunError::Worker(panicked.to_string()))?);
            Ok(())
        })
        .await?;
        Ok(cells)
    }
}
