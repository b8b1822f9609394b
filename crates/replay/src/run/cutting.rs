//! Examines every strategy at every cut. The strategies of a cut run side by side:
//! they share its part of the session, which is dropped afterwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;

use super::asking::Asking;
use super::pool::{Done, Task};
use super::record::CutKey;
use super::spec::{ModelRoles, compactor};
use crate::cut::Statements;
use crate::{
    CutSegment, ExaminedCut, PendingQuestion, Plan, PreparedSession, ReplayError, RequestInspector,
    examine,
};
use recap_core::model::{
    Cell, CellKey, CellOutcome, CellRows, Cut, CutRow, Expectation, NO_SUMMARY, QuestionFacts,
    RowKind, Source,
};
use recap_strategy::AskedFrom;

/// Every cut of a session, with the plans of one of its windows: a cut has a
/// window of its own.
pub(super) struct Cutting {
    prepared: Arc<PreparedSession>,
    asking: Arc<Asking>,
    plans: Vec<Plan>,
    /// Depth of the cuts: [`super::spec::RunSpec::depth`].
    depth: u32,
    /// The questions of each cut.
    asked: Vec<Vec<u32>>,
    /// Positions of the cuts that are not examined yet.
    to_do: Vec<usize>,
}

impl Cutting {
    /// The strategies of a session's plans, each also without its summaries if `without_summaries`
    /// holds and a model writes text for it. `done` contains the cuts that are already examined.
    pub fn new(
        prepared: &Arc<PreparedSession>,
        asking: &Arc<Asking>,
        (plans, without_summaries): (&[Plan], bool),
        depth: u32,
        done: &BTreeMap<CutKey, Cut>,
    ) -> Self {
        let facts = &prepared.facts;
        let is_done = |at: &usize| {
            let place = &prepared.cuts[*at].0;
            let (dataset, session) = (facts.dataset.clone(), facts.session.clone());
            done.contains_key(&(dataset, session, place.request, place.recorded.is_some()))
        };
        let first = plans.first().map(|plan| plan.key.window.clone());
        let of_one = plans.iter().filter(|plan| Some(&plan.key.window) == first.as_ref());
        let examined = of_one.filter(|plan| plan.strategy.asked_from == AskedFrom::Context);
        let with_without_summaries = examined.flat_map(|plan| {
            [Some(plan.clone()), without_summary(plan).filter(|_| without_summaries)]
        });
        Cutting {
            prepared: Arc::clone(prepared),
            asking: Arc::clone(asking),
            plans: with_without_summaries.flatten().collect(),
            depth,
            asked: asked(prepared),
            to_do: (0..prepared.cuts.len()).filter(|at| !is_done(at)).collect(),
        }
    }

    /// Examines every strategy at one cut.
    async fn cut(&self, at: usize, roles: &ModelRoles) -> (Cut, BTreeMap<String, String>) {
        let (place, facts) = &self.prepared.cuts[at];
        let part = CutSegment::new(&self.prepared, place, facts, &self.asked[at]);
        let mut cut = part.cut(place, facts);
        let fits = |plan: &&Plan| place.recorded.is_some() || !plan.strategy.replays_recording();
        let wanted: Vec<&Plan> = self.plans.iter().filter(fits).collect();
        let exams = wanted.into_iter().map(|plan| {
            let part = &part;
            async move {
                let examined = self.exam(part, plan, roles).await;
                let asked = match examined {
                    Ok(examined) => Ok(self.ask(at, examined).await),
                    Err(error) => Err(error),
                };
                row(plan, asked)
            }
        });
        let mut texts = BTreeMap::new();
        for (row, written) in join_all(exams).await {
            cut.rows.push(row);
            texts.extend(written);
        }
        cut.rows.sort_by(|a, b| (&a.strategy, a.replicate).cmp(&(&b.strategy, b.replicate)));
        (cut, texts)
    }

    async fn exam(
        &self,
        part: &CutSegment,
        plan: &Plan,
        roles: &ModelRoles,
    ) -> Result<ExaminedCut, ReplayError> {
        let compactor = compactor(roles, &self.prepared, &plan.key);
        if plan.key.strategy.starts_with(NO_SUMMARY) || roles.judge.source() == Source::Lexical {
            return examine(part, plan, self.depth, compactor.as_ref(), &|_, _| ()).await;
        }
        let statements = Mutex::new(Statements::default());
        let look: RequestInspector<'_> = &|request, context| {
            let mut statements = statements.lock().expect("no look panics");
            statements.read(request, context, part);
        };
        let examined = examine(part, plan, self.depth, compactor.as_ref(), look).await;
        let mut examined = examined?;
        let statements = statements.into_inner().expect("no look panics");
        statements.check(&mut examined.exam, roles.judge.as_ref()).await;
        Ok(examined)
    }

    /// Asks the questions of this cut in the context right behind it, without a recovery channel.
    async fn ask(&self, at: usize, mut examined: ExaminedCut) -> ExaminedCut {
        examined.asked.retain(|asked| self.asked[at].contains(&asked.question));
        let ExaminedCut { exam, texts, asked, .. } = &mut examined;
        let here: Vec<&PendingQuestion> = asked.iter().collect();
        match exam.snapshot.as_ref().filter(|_| !here.is_empty()) {
            Some(snapshot) => {
                exam.questions = self.asking.rows(snapshot, texts, &here, None).await;
            }
            None => exam.snapshot = None,
        }
        examined
    }
}

fn row(
    plan: &Plan,
    examined: Result<ExaminedCut, ReplayError>,
) -> (CutRow, BTreeMap<String, String>) {
    let (exam, texts) = match examined {
        Ok(ExaminedCut { exam, texts, .. }) => (Ok(exam), texts),
        Err(error) => (Err(error), BTreeMap::new()),
    };
    let row = CutRow {
        strategy: plan.key.strategy.clone(),
        replicate: plan.key.replicate,
        row_kind: plan.row_kind(),
        outcome: exam.into(),
    };
    (row, texts)
}

/// A plan without summaries: the same strategy with empty texts in place of those that
/// its model writes. There is one of it, whatever the number of repetitions.
pub(super) fn without_summary(plan: &Plan) -> Option<Plan> {
    let strategy = plan.strategy.without_summary().filter(|_| plan.key.replicate == 0)?;
    let key = CellKey { strategy: strategy.name.clone(), ..plan.key.clone() };
    // It is not billed, because nobody would use it.
    let billing_models = Arc::new([]);
    Some(Plan { key, strategy: Arc::new(strategy), billing_models, ..plan.clone() })
}

/// An empty cell for each of these plans without summaries: it is examined only at
/// cuts.
pub(super) fn cells_without_summary(plans: &[Plan]) -> Vec<Cell> {
    let cell = |plan: Plan| {
        let rows = CellRows { window: plan.window, ..CellRows::default() };
        Cell {
            key: plan.key,
            row_kind: RowKind::Control,
            outcome: CellOutcome::Done(Box::new(rows)),
        }
    };
    plans.iter().filter_map(without_summary).map(cell).collect()
}

/// The questions of each cut, ascending. A question of the data set fits
/// a cut if all of its evidence is part of the material, and if it is asked at
/// or after the cut. It is assigned to one of the cuts that it fits, in turn, so
/// that the cost of answering does not grow with the number of cuts. A question
/// that is asked at cuts alone belongs to the cut that it is asked at; one that
/// is asked elsewhere is assigned like one of the data set.
fn asked(prepared: &PreparedSession) -> Vec<Vec<u32>> {
    let cuts = &prepared.cuts;
    let mut asked = vec![Vec::new(); cuts.len()];
    let questions = prepared.facts.questions.len() as u32;
    for (number, question) in (0u32..).zip(prepared.facts.all_questions()) {
        let stands = |at: &usize| stands(question, &cuts[*at].0);
        let fitting: Vec<usize> = (0..cuts.len()).filter(stands).collect();
        // What the session never answers has no evidence.
        let known = question.question.expect != Expectation::Unanswerable;
        let here = |at: &usize| cuts[*at].0.request == question.request && (stands(at) || !known);
        let own = (0..cuts.len()).find(|at| number >= questions && here(at));
        let turn = || fitting.get(number as usize % fitting.len().max(1)).copied();
        if let Some(at) = own.or_else(turn) {
            asked[at].push(number);
        }
    }
    asked
}

fn stands(question: &QuestionFacts, place: &recap_exam::facts::CutPlace) -> bool {
    let evidence = &question.evidence;
    !evidence.is_empty()
        && question.request >= place.request
        && evidence.iter().all(|&message| message < place.from && place.holds(message))
}

/// A task for each cut that is not examined yet: it gives the cut, and the texts of the
/// strategies.
pub(super) fn cuts(cutting: Cutting, roles: &ModelRoles) -> Vec<Task> {
    let cutting = Arc::new(cutting);
    let mut tasks: Vec<Task> = Vec::new();
    for &at in &cutting.to_do {
        let (cutting, roles) = (Arc::clone(&cutting), roles.clone());
        tasks.push(Box::pin(async move {
            let (cut, texts) = cutting.cut(at, &roles).await;
            Done::Cut(Box::new(cut), texts)
        }));
    }
    tasks
}
