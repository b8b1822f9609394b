//! The checks of `recap strategies check`: whether a strategy obeys, on a session, the rules that
//! hold for every strategy.
//!
//! In: a prepared session and a plan. Out: a [`ConformanceReport`], or the rule that is broken.

use crate::{Plan, PreparedSession, ReplaySession, replay};
use recap_core::model::{CellOutcome, CellRows, LatencySource};
use recap_strategy::{Compactor, Context};

/// Number of points in a session at which a copy takes the place of the strategy.
const COPIES: u32 = 3;

/// What a strategy did on a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConformanceReport {
    /// Number of requests of the session.
    pub requests: u64,
    /// Number of compactions on the session.
    pub compactions: u64,
    /// Tokens of the context before each compaction, summed.
    pub tokens_before: u64,
    /// Tokens of the context after each compaction, summed.
    pub tokens_after: u64,
    /// Number of requests larger than the window.
    pub overflows: u64,
    /// The first difference between two runs of the session, if there is one.
    pub differs: Option<String>,
}

/// The rule that a strategy breaks, in words.
type Broken = Box<dyn std::error::Error>;

/// Tests a strategy on a session: the replay succeeds with whole pairs of tool
/// calls and results, two runs are equal, and a copy of a strategy in the middle of
/// a session goes on as the strategy itself does.
///
/// # Errors
/// The rule that the strategy breaks. A difference between two runs is not an
/// error if the strategy calls models of its own.
pub async fn check_conformance(
    prepared: &PreparedSession,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Result<ConformanceReport, Broken> {
    let (first, second) =
        (rows(prepared, plan, compactor).await?, rows(prepared, plan, compactor).await?);
    let differs = difference(&first, &second);
    let calls_models = !plan.strategy.uses_compactor()
        && first.compactions.iter().any(|compaction| compaction.model_calls > 0);
    if let Some(differs) = differs.as_ref().filter(|_| !calls_models) {
        return Err(format!("two runs of the same session differ: {differs}").into());
    }
    if differs.is_none() {
        check_copies(prepared, plan, compactor).await?;
    }
    let sum = |size: fn(&recap_core::model::CompactionRow) -> u64| {
        first.compactions.iter().map(size).sum()
    };
    Ok(ConformanceReport {
        requests: first.requests.len() as u64,
        compactions: first.compactions.len() as u64,
        tokens_before: sum(|compaction| compaction.tokens_before),
        tokens_after: sum(|compaction| compaction.tokens_after),
        overflows: first.requests.iter().filter(|request| request.overflow).count() as u64,
        differs,
    })
}

/// The rows of a run without the values that depend on the machine.
async fn rows(
    prepared: &PreparedSession,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Result<CellRows, Broken> {
    let mut rows = match replay(prepared, plan, compactor).await.cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => return Err(error.into()),
    };
    rows.cpu_ms = 0.0;
    for compaction in &mut rows.compactions {
        if compaction.latency_source == Some(LatencySource::Live) {
            compaction.latency_ms = None;
        }
    }
    Ok(rows)
}

/// The first difference between two runs, if there is one.
fn difference(first: &CellRows, second: &CellRows) -> Option<String> {
    if first == second {
        return None;
    }
    let request = first.requests.iter().zip(second.requests.iter()).position(|(a, b)| a != b);
    let compaction = first.compactions.iter().zip(&second.compactions).position(|(a, b)| a != b);
    Some(match (request, compaction) {
        (Some(request), _) => format!("request {request} is another"),
        (None, Some(compaction)) => format!("compaction {} is another", compaction + 1),
        (None, None) => "what is kept beside the requests is another".to_owned(),
    })
}

/// Runs twice side by side, one run being dropped for a copy of it now and then.
async fn check_copies(
    prepared: &PreparedSession,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Result<(), Broken> {
    let length = prepared.facts.messages.len() as u32;
    let every = (length / COPIES).max(1);
    let mut straight = ReplaySession::open(prepared, plan, compactor)?;
    let mut replaced = ReplaySession::open(prepared, plan, compactor)?;
    for message in 0..length {
        if message % every == every - 1 {
            let copy = replaced.copied()?;
            replaced.close().await;
            replaced = copy;
        }
        straight.step().await?;
        replaced.step().await?;
        let compared = message % every == every - 1 || message + 1 == length;
        if compared && !same(straight.context(), replaced.context()) {
            let copied = format!("saved and restored before message {message}");
            return Err(format!("{copied}, the context is another after it").into());
        }
    }
    straight.close().await;
    replaced.close().await;
    Ok(())
}

/// Whether two contexts of a session would send the same.
fn same(one: &Context, other: &Context) -> bool {
    one.visible().eq(other.visible())
        && one.visible().all(|id| one.entry(id).map(|e| e.text) == other.entry(id).map(|e| e.text))
        && one.notes().eq(other.notes())
}
