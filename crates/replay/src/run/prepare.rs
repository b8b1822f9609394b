//! Counts and mines the sessions of a run, and plans its cells.

use std::sync::Arc;

use super::cutting::without_summary;
use super::pool::side_by_side;
use super::spec::{CutQuestions, ModelRoles, NamedSession, RunError, RunSpec};
use crate::receipt::receipt_facts;
use crate::{NativeWindow, Plan, PreparedSession, validate};
use recap_billing::pricing::BillingModel;
use recap_core::model::{CellKey, Planned, PlannedSession, PlannedStrategy, Question};
use recap_core::tokens::Counter;
use recap_exam::facts::CutPlace;
use recap_exam::questions;
use recap_strategy::Strategy;

/// The cells of a session, in the order of their keys, and the reasons why
/// windows that it does not fit are left out.
pub fn plan(
    spec: &RunSpec,
    roles: &ModelRoles,
    prepared: &PreparedSession,
) -> (Vec<Plan>, Vec<String>) {
    let (mut plans, mut set_aside) = (Vec::new(), Vec::new());
    let facts = &prepared.facts;
    let recorded = (facts.model.as_deref(), &facts.other_models[..]);
    let billing_models: Arc<[BillingModel]> = spec.billing_models.of(recorded.0, recorded.1).into();
    let today: Arc<[BillingModel]> =
        spec.billing_models.of_recording(recorded.0, recorded.1).into();
    let native = NativeWindow::of(&prepared.recording.session, &spec.billing_models).tokens;
    let model = facts.model.as_deref().map(|name| spec.billing_models.named(name).model);
    let model = model.unwrap_or_default();
    for window in spec.windows.of(&prepared.facts.dataset) {
        let tokens = match window.tokens(&prepared.recording.sizes, native) {
            Ok(tokens) => tokens,
            Err(why) => {
                set_aside.push(format!("{}: {why}", prepared.facts.session));
                continue;
            }
        };
        for strategy in &spec.strategies {
            // Only the reply of a compactor can differ between repetitions.
            let replicates = if strategy.uses_compactor() { spec.replicates } else { 1 };
            for replicate in 0..replicates {
                plans.push(Plan {
                    key: CellKey {
                        dataset: prepared.facts.dataset.clone(),
                        session: prepared.facts.session.clone(),
                        strategy: strategy.name.clone(),
                        window: window.label().to_owned(),
                        replicate,
                    },
                    strategy: Strategy::for_model(strategy, &model),
                    window: tokens,
                    scaling: window.scaling(spec.scaled),
                    seed: spec.seed,
                    offline: roles.offline,
                    billing_models: Arc::clone(if strategy.replays_recording() {
                        &today
                    } else {
                        &billing_models
                    }),
                    compactor: spec.compactor.clone(),
                });
            }
        }
    }
    plans.sort_by(|a, b| a.key.cmp(&b.key));
    (plans, set_aside)
}

/// Sessions that were counted and mined, and everything else that a run needs.
#[derive(Clone)]
pub struct Prepared {
    pub(super) spec: RunSpec,
    pub(super) roles: ModelRoles,
    pub(super) sessions: Vec<Arc<PreparedSession>>,
    /// Every cell and every cut that the run will produce.
    pub planned: Planned,
    set_aside: Vec<String>,
    /// How many sessions were given, those that fit no window included.
    given: usize,
}

impl Prepared {
    /// Sessions that do not fit a window and are not replayed at it, each
    /// with the reason.
    pub fn set_aside(&self) -> impl Iterator<Item = String> {
        self.set_aside.iter().map(|why| format!("set aside: {why}"))
    }

    /// Refuses a run in which no session fits any window.
    ///
    /// # Errors
    /// That is so.
    pub fn refuse_nothing(&self) -> Result<(), RunError> {
        if !self.sessions.is_empty() || self.set_aside.is_empty() {
            return Ok(());
        }
        let reasons = self.set_aside.join("\n");
        Err(RunError::Windows { sessions: self.given, reasons })
    }
}

/// What the plans of one session come to.
fn planned(prepared: &PreparedSession, plans: &[Plan], without_summaries: bool) -> Planned {
    let mut windows: Vec<String> = Vec::new();
    for plan in plans {
        if !windows.contains(&plan.key.window) {
            windows.push(plan.key.window.clone());
        }
    }
    let strategies = plans.iter().map(|plan| PlannedStrategy {
        name: plan.key.strategy.clone(),
        row_kind: plan.row_kind(),
        replicates: plan.key.replicate + 1,
    });
    let at_cuts = plans.iter().filter(|_| without_summaries).filter_map(without_summary);
    let session = PlannedSession {
        windows,
        dataset: prepared.facts.dataset.clone(),
        session: prepared.facts.session.clone(),
        cuts: prepared.cuts.iter().map(|(at, _)| (at.request, at.recorded.is_some())).collect(),
    };
    Planned {
        strategies: strategies.collect(),
        at_cuts: at_cuts.map(|plan| plan.key.strategy).collect(),
        sessions: vec![session],
    }
}

/// Counts, mines and plans, before anything is written.
///
/// # Errors
/// A worker could not be started.
pub async fn prepare(
    spec: RunSpec,
    sessions: Vec<NamedSession>,
    roles: ModelRoles,
    counter: Arc<Counter>,
) -> Result<Prepared, RunError> {
    let given = sessions.len();
    let mut sessions = prepare_sessions(&spec, sessions, &roles, counter).await?;
    let (mut parts, mut set_aside) = (Vec::new(), Vec::new());
    sessions.retain(|prepared| {
        let (plans, aside) = plan(&spec, &roles, prepared);
        set_aside.extend(aside);
        if !plans.is_empty() {
            parts.push(planned(prepared, &plans, spec.without_summaries));
        }
        !plans.is_empty()
    });
    // Sorted, so that the parts of a run can be put together in the same order.
    set_aside.sort_unstable();
    Ok(Prepared { spec, roles, sessions, planned: Planned::union(parts), set_aside, given })
}

/// Counts and mines each session, in their order.
async fn prepare_sessions(
    spec: &RunSpec,
    sessions: Vec<NamedSession>,
    roles: &ModelRoles,
    counter: Arc<Counter>,
) -> Result<Vec<Arc<PreparedSession>>, RunError> {
    let task = |NamedSession { dataset, session, questions }| {
        let counter = Arc::clone(&counter);
        let (billing_models, compactor) =
            (Arc::clone(&spec.billing_models), Arc::clone(&roles.compactor));
        let (cuts, depth) = (spec.cuts, spec.depth);
        let made = spec.questions.clone();
        async move {
            let mut prepared = PreparedSession::with_cuts(&dataset, session, counter, cuts, depth);
            let validation = validate(&prepared, &billing_models, compactor.as_ref()).await;
            let at_cuts = cut_questions(&made, &prepared, questions.is_empty());
            let receipt = receipt_facts(&prepared, &billing_models);
            let facts = Arc::make_mut(&mut prepared.facts);
            (facts.validation, facts.receipt) = (validation, Some(receipt));
            prepared.with_questions(questions).with_cut_questions(at_cuts)
        }
    };
    let mut found = Vec::new();
    let tasks = sessions.into_iter().map(task).enumerate();
    side_by_side(spec.jobs, tasks, |at, prepared| {
        let prepared = prepared.map_err(|panicked| RunError::Worker(panicked.to_string()))?;
        found.push((at, Arc::new(prepared)));
        Ok(())
    })
    .await?;
    found.sort_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, prepared)| prepared).collect())
}

/// The questions that are asked at a session's cuts alone.
fn cut_questions(
    made: &CutQuestions,
    prepared: &PreparedSession,
    no_questions: bool,
) -> Vec<Question> {
    let facts = &prepared.facts;
    match made {
        CutQuestions::None => Vec::new(),
        CutQuestions::Auto if no_questions => {
            let places: Vec<CutPlace> =
                prepared.cuts.iter().map(|(place, _)| place.clone()).collect();
            questions::generate(&prepared.recording.session, &places)
        }
        CutQuestions::Auto => Vec::new(),
        CutQuestions::Given(given) => {
            let key = (facts.dataset.clone(), facts.session.clone());
            given.get(&key).cloned().unwrap_or_default()
        }
    }
}
