//! Examines a strategy at a cut: a compaction is forced at a place in a
//! recording, and the requests after it are searched for the identifiers that
//! the recorded agent used next (how-it-works §44 and §45).
//!
//! The parts have a file each: the segment of the session ([`part`]), depth
//! 1 ([`forced`]), the search for lost facts ([`recovered`]), and what a judge checks
//! ([`statements`]).

mod forced;
mod part;
mod recovered;
mod statements;

#[cfg(test)]
mod tests;

use crate::plan::ReplayError;
use std::collections::BTreeMap;

pub use part::CutSegment;
pub(crate) use statements::Statements;
pub use statements::carrier;

use super::asked::PendingQuestion;
use super::plan::Plan;
use super::session::ReplaySession;
use super::window::LEAST_FOR_MESSAGES;
use recap_core::model::{
    CallBill, CellRows, CompactionRow, CutExam, Fallbacks, LatencySource, NO_SUMMARY,
    ReferenceOutcome, ReferenceState, Snapshot, counts_refusals,
};
use recap_strategy::{Compactor, Context};
use recovered::Searcher;

/// The result of examining a strategy at a cut.
#[derive(Clone, Debug)]
pub struct ExaminedCut {
    /// The measured result; its questions still have to be asked.
    pub exam: CutExam,
    /// Texts that the strategy wrote, by hash.
    pub texts: BTreeMap<String, String>,
    /// Questions that still have to be asked, with positions in the whole session.
    pub asked: Vec<PendingQuestion>,
}

/// A callback that receives the context of each request after a cut, with the
/// request's ordinal in the session.
pub type RequestInspector<'a> = &'a (dyn Fn(u32, &Context) + Sync);

/// Examines a strategy at a cut and a depth.
///
/// The plan's window is not used: the cut has its own.
///
/// # Errors
/// The replay of the strategy stopped.
pub async fn examine(
    part: &CutSegment,
    plan: &Plan,
    depth: u32,
    compactor: &dyn Compactor,
) -> Result<ExaminedCut, ReplayError> {
    examine_and_inspect(part, plan, depth, compactor, &|_, _| ()).await
}

/// Examines a strategy like [`examine`], with a callback for every context after
/// the cut.
///
/// # Errors
/// The replay of the strategy stopped.
pub async fn examine_and_inspect(
    part: &CutSegment,
    plan: &Plan,
    depth: u32,
    compactor: &dyn Compactor,
    look: RequestInspector<'_>,
) -> Result<ExaminedCut, ReplayError> {
    // The windows of a cut are made for it.
    let plan = &Plan { scaling: plan.scaling.at_made_window(), ..plan.clone() };
    let examination = CutExamination { part, plan, compactor, look };
    match depth {
        _ if plan.strategy.is_saver() => examination.as_it_goes().await,
        0 | 1 => examination.first_compaction().await,
        _ => examination.long_session(depth).await,
    }
}

/// The inputs of examining a strategy at a cut.
struct CutExamination<'a> {
    part: &'a CutSegment,
    plan: &'a Plan,
    compactor: &'a dyn Compactor,
    look: RequestInspector<'a>,
}

impl CutExamination<'_> {
    /// Depth 1: the first stage that can act does so, at the window at which
    /// its trigger is just reached. If no stage acts at its own window, each is
    /// tried at a window as large as the context; if none acts there either,
    /// nothing is compacted.
    async fn first_compaction(&self) -> Result<ExaminedCut, ReplayError> {
        let part = self.part;
        let sizes = &part.subject.recording.sizes;
        let tokens = sizes.preamble_tokens() + self.material_tokens();
        let Plan { strategy, scaling, .. } = self.plan;
        let stages = forced::forceable(strategy);
        let own =
            stages.iter().map(|&at| (forced::window(strategy, at, *scaling, tokens), Some(at)));
        let mut tries: Vec<(u64, Option<usize>)> = own.collect();
        tries.extend(stages.iter().map(|&stage| (tokens, Some(stage))));
        tries.dedup();
        let mut tries = tries.into_iter().peekable();
        loop {
            let (window, stage) = tries.next().unwrap_or((tokens, None));
            let plan = Plan { window, ..self.plan.clone() };
            let mut session = opened(part, &plan, self.compactor)?;
            let acted = async {
                session.arrive_uncompacted(part.material).await?;
                session.force(stage).await
            };
            let acted = acted.await;
            if matches!(acted, Ok(false)) && tries.peek().is_some() {
                session.close().await;
                continue;
            }
            let behind = match acted {
                Ok(_) if part.material == part.first_message() => {
                    session.request(part.material).and_then(|()| session.behind(part))
                }
                Ok(_) => {
                    session.run_to_request(part.first).await.and_then(|_| session.behind(part))
                }
                Err(error) => Err(error),
            };
            return self.finished(&plan, 1, session, behind).await;
        }
    }

    /// A greater depth: the material is replayed from its beginning at a window
    /// that is smaller by this factor, not counting the preamble and the
    /// largest answer (how-it-works §10), so that losses accumulate.
    async fn long_session(&self, depth: u32) -> Result<ExaminedCut, ReplayError> {
        let part = self.part;
        let sizes = &part.subject.recording.sizes;
        let share = (self.material_tokens() / u64::from(depth)).max(LEAST_FOR_MESSAGES);
        let window = sizes.preamble_tokens() + sizes.largest_output() + share;
        let plan = Plan { window, ..self.plan.clone() };
        let mut session = opened(part, &plan, self.compactor)?;
        let behind = session.run_to_request(part.first).await.and_then(|_| session.behind(part));
        self.finished(&plan, depth, session, behind).await
    }

    /// A token saver stands before the first request: nothing is forced, whatever the depth.
    async fn as_it_goes(&self) -> Result<ExaminedCut, ReplayError> {
        let part = self.part;
        let window = part.subject.recording.sizes.preamble_tokens() + self.material_tokens();
        let plan = Plan { window, ..self.plan.clone() };
        let mut session = opened(part, &plan, self.compactor)?;
        let behind = session.run_to_request(part.first).await.and_then(|_| session.behind(part));
        self.finished(&plan, 1, session, behind).await
    }

    fn material_tokens(&self) -> u64 {
        let messages = &self.part.subject.recording.sizes.messages;
        messages[..self.part.material as usize].iter().map(|weight| weight.tokens).sum()
    }

    /// Continues to the last request of the segment and collects the result.
    async fn finished(
        &self,
        plan: &Plan,
        depth: u32,
        mut session: ReplaySession<'_>,
        behind: Result<CutStart, ReplayError>,
    ) -> Result<ExaminedCut, ReplayError> {
        let CutExamination { part, look, .. } = *self;
        let mut searcher = Searcher::new(part, plan.strategy.recovery);
        let followed = match behind {
            Ok(behind) => {
                session.biller.stop();
                follow(part, &mut session, &mut searcher, look).await.map(|()| behind)
            }
            Err(error) => Err(error),
        };
        session.close().await;
        let behind = followed?;
        let is_without_summary = plan.key.strategy.starts_with(NO_SUMMARY);
        let counts = counts_refusals(&plan.key.strategy, plan.row_kind(), depth);
        let (rows, texts, asked) = session.finish();
        let refused = |outcome: &ReferenceOutcome| {
            let request = part.subject.facts.exam.references[outcome.reference as usize].request;
            counts && rows.requests[request as usize].overflow
        };
        let states = rows.references.iter().map(|outcome| match outcome.state {
            _ if refused(outcome) => ReferenceState::Lost,
            ReferenceState::Lost if searcher.found(outcome.reference) => ReferenceState::Recovered,
            state => state,
        });
        let states = states.collect();
        let over = rows.references.iter().filter(|outcome| refused(outcome));
        let over = over.map(|outcome| outcome.reference).collect();
        let compactor_usd = compactor_usd(part, plan, &rows);
        let mut kept = BTreeMap::new();
        let mut snapshots = rows.snapshots.into_iter();
        let snapshot: Option<Snapshot> =
            snapshots.next().map(|snapshot| part.whole(snapshot, &mut kept));
        let asked = asked
            .into_iter()
            .map(|p| PendingQuestion { question: part.question(p.question), ..p })
            .collect();
        kept.extend(texts);
        // Without its summaries a strategy writes an empty text on purpose.
        let by_model = || rows.compactions.iter().filter(|_| !is_without_summary);
        let replies = by_model().flat_map(|row| row.replies.clone());
        let exam = CutExam {
            window: plan.window,
            tokens_after: behind.tokens_after,
            compactions: behind.compactions,
            states,
            unchecked: 0,
            refused: over,
            blocking_ms: behind.blocking_ms,
            latency_source: behind.latency_source,
            compactor_usd,
            texts: behind.texts,
            replies: replies.collect(),
            fallbacks: Fallbacks::among(by_model()),
            snapshot,
            questions: Vec::new(),
        };
        Ok(ExaminedCut { exam, texts: kept, asked })
    }
}

/// Dollars of the compactor's calls up to the cut, as the first billing model is billed;
/// `None` where a price is unknown, and without a billing model.
fn compactor_usd(part: &CutSegment, plan: &Plan, rows: &CellRows) -> Option<f64> {
    let (bill, agent) = rows.bills.first().zip(plan.agents.first())?;
    let prices = plan.compactor.as_deref().unwrap_or(agent).prices.as_deref();
    let requests = &part.subject.facts.requests;
    let call = |call: &CallBill| {
        let begun = rows.compactions[call.compaction as usize].begun as usize;
        let at = requests.get(begun).or(requests.last())?.at;
        prices?.standard().request_usd(&call.prompt.billed, call.output, at)
    };
    bill.calls.iter().map(call).sum()
}

/// Opens a session over a segment, with the billing of a cut.
fn opened<'a>(
    part: &'a CutSegment,
    plan: &'a Plan,
    compactor: &'a dyn Compactor,
) -> Result<ReplaySession<'a>, ReplayError> {
    let mut session = ReplaySession::open(&part.subject, plan, compactor)?;
    session.biller.only_as_billed();
    Ok(session)
}

/// The state directly after a cut.
struct CutStart {
    tokens_after: u64,
    compactions: u32,
    blocking_ms: Option<f64>,
    latency_source: Option<LatencySource>,
    texts: Vec<String>,
}

impl ReplaySession<'_> {
    /// Records the state of a session that has just sent its first request
    /// after a cut.
    fn behind(&mut self, part: &CutSegment) -> Result<CutStart, ReplayError> {
        let sent = self.requests.get(part.first as usize).map(|request| request.tokens_sent);
        let rows = || self.compactions.iter().map(|(_, row)| row);
        // A token saver acts at every request, of which this is one.
        let saver = self.plan.strategy.is_saver();
        let here = |row: &&CompactionRow| !row.background && (!saver || row.request == part.first);
        let waits = rows().filter(here).filter_map(|row| row.latency_ms);
        let waits: Vec<f64> = waits.collect();
        Ok(CutStart {
            tokens_after: sent.ok_or(ReplayError::EndsBeforeCut)?,
            compactions: self.compactions.len() as u32,
            blocking_ms: (!waits.is_empty()).then(|| waits.iter().sum()),
            latency_source: rows().find_map(|row| row.latency_source),
            texts: rows().flat_map(|row| row.texts.iter().cloned()).collect(),
        })
    }
}

/// Continues from the first request after the cut to the last one of the
/// segment.
async fn follow(
    part: &CutSegment,
    session: &mut ReplaySession<'_>,
    searcher: &mut Searcher<'_>,
    look: RequestInspector<'_>,
) -> Result<(), ReplayError> {
    searcher.search(session);
    look(part.request_of(part.first), session.context());
    for message in part.first_message()..part.length() - 1 {
        session.arrive(message).await?;
        let made = session.requests_made();
        session.prepare_next(message + 1).await?;
        searcher.search(session);
        if session.requests_made() > made {
            look(part.request_of(made), session.context());
        }
    }
    Ok(())
}
