//! Whether a preset keeps to what every strategy promises: tried on sessions,
//! not read off its file.

use crate::model::{CellOutcome, CellRows, LatencySource, LedgerState};
use crate::replay::{Plan, ReplayError, ReplaySession, Subject, replay};
use crate::strategy::{Compactor, Context};

/// Points of a session at which it is saved, dropped and restored.
const RESTORED: u32 = 3;

/// What a preset did on a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// Requests of the session.
    pub requests: u64,
    /// Compactions.
    pub compactions: u64,
    /// Tokens before the compactions, all together.
    pub tokens_before: u64,
    /// Tokens after them.
    pub tokens_after: u64,
    /// Requests over the window.
    pub overflows: u64,
    /// Messages at the end: verbatim, edited, folded, gone.
    pub messages: [u64; 4],
    /// Whether it called models of its own, whose replies may differ.
    pub calls_models: bool,
    /// How two runs of the session differ, if they do.
    pub differs: Option<String>,
}

/// What a preset does not keep to.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// It stops where it is saved and restored now and then.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// It does not run through, and why.
    #[error("{0}")]
    Stopped(String),
    /// Two runs of one session part, and where.
    #[error("two runs of the same session differ: {0}")]
    Differs(String),
    /// It goes on from a saved state otherwise than without a break, at this message.
    #[error("saved and restored before message {0}, the context is another after it")]
    Restored(u32),
}

/// Tries a preset on a session: it runs through with its pairs whole, twice
/// the same, and goes on as before when it is saved and restored.
///
/// # Errors
/// What it does not keep to. That two runs differ is no error where it calls
/// models of its own.
pub async fn try_out(
    subject: &Subject,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Result<Conduct, ConductError> {
    let (first, second) =
        (rows(subject, plan, compactor).await?, rows(subject, plan, compactor).await?);
    let differs = difference(&first, &second);
    let calls_models = !plan.preset.uses_compactor()
        && first.compactions.iter().any(|compaction| compaction.model_calls > 0);
    if let Some(differs) = differs.as_ref().filter(|_| !calls_models) {
        return Err(ConductError::Differs(differs.clone()));
    }
    let messages = match differs {
        None => restored(subject, plan, compactor).await?,
        Some(_) => [0; 4],
    };
    let sum =
        |size: fn(&crate::model::CompactionRow) -> u64| first.compactions.iter().map(size).sum();
    Ok(Conduct {
        requests: first.requests.len() as u64,
        compactions: first.compactions.len() as u64,
        tokens_before: sum(|compaction| compaction.tokens_before),
        tokens_after: sum(|compaction| compaction.tokens_after),
        overflows: first.requests.iter().filter(|request| request.overflow).count() as u64,
        messages,
        calls_models,
        differs,
    })
}

/// What a run leaves that does not depend on the machine.
async fn rows(
    subject: &Subject,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Result<CellRows, ConductError> {
    let mut rows = match replay(subject, plan, compactor).await.cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => return Err(ConductError::Stopped(error)),
    };
    rows.cpu_ms = 0.0;
    for compaction in &mut rows.compactions {
        compaction.cpu_ms = 0.0;
        if compaction.latency_source == Some(LatencySource::Live) {
            compaction.latency_ms = None;
        }
    }
    Ok(rows)
}

/// Where two runs part, if they do.
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

/// Runs twice side by side, one of them saved, dropped and restored now and
/// then; says what became of the messages.
async fn restored(
    subject: &Subject,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Result<[u64; 4], ConductError> {
    let length = subject.facts.messages.len() as u32;
    let every = (length / RESTORED).max(1);
    let mut straight = ReplaySession::open(subject, plan, compactor)?;
    let mut resumed = ReplaySession::open(subject, plan, compactor)?;
    for message in 0..length {
        if message % every == every - 1 {
            let saved = resumed.save();
            resumed.close().await;
            resumed = ReplaySession::restore(subject, plan, compactor, saved)?;
        }
        straight.step().await?;
        resumed.step().await?;
        let compared = message % every == every - 1 || message + 1 == length;
        if compared && !same(straight.context(), resumed.context()) {
            return Err(ConductError::Restored(message));
        }
    }
    straight.close().await;
    resumed.close().await;
    Ok(states(straight.context()))
}

/// Whether two contexts of a session send the same.
fn same(one: &Context, other: &Context) -> bool {
    let text = |context: &Context, id| context.entry(id).map(|entry| entry.text.into_owned());
    one.visible().eq(other.visible())
        && one.visible().all(|id| text(one, id) == text(other, id))
        && one.notes().eq(other.notes())
}

/// Messages by what became of them.
fn states(context: &Context) -> [u64; 4] {
    let mut counts = [0; 4];
    for message in 0..context.seen_count() {
        counts[match context.state(message) {
            LedgerState::Verbatim => 0,
            LedgerState::Edited => 1,
            LedgerState::Folded => 2,
            LedgerState::Gone => 3,
        }] += 1;
    }
    counts
}
