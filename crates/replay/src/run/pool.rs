//! Plans the cells and runs them side by side.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use tokio::task::{JoinError, JoinSet};

use super::asking::Asking;
use super::cutting::{self, Cutting, cells_without_summary};
use super::folder::{Folder, FolderError};
use super::prepare::{Prepared, plan};
use super::record::Earlier;
use super::spec::{Event, ModelRoles, Observer, RunError, RunSpec, compactor};
use crate::{PreparedSession, Replayed, replay};
use recap_core::model::{
    CallRow, Cell, CellKey, CellOutcome, Cut, RowKind, RunResults, SessionFacts,
};

/// The results of a run, sorted by key.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Facts of the sessions.
    pub sessions: Vec<SessionFacts>,
    /// All cells, also those that failed, and all cuts that were examined.
    pub results: RunResults,
    /// Calls of real models, each once.
    pub calls: Vec<CallRow>,
    /// Texts of the strategies by hash.
    pub texts: BTreeMap<String, String>,
}

/// Replays. Cells are appended to the folder as they end. A session is
/// forgotten, but for what measuring needs of it, once its cells and its cuts
/// have ended.
///
/// # Errors
/// The run folder cannot be written.
pub async fn run(
    prepared: Prepared,
    folder: &mut Folder,
    observer: &dyn Observer,
) -> Result<Finished, RunError> {
    let Prepared { spec, roles, sessions, .. } = prepared;
    let mut earlier = folder.take_earlier();
    begin(&spec, &roles, &sessions, &earlier, folder, observer)?;
    let facts: Vec<_> = sessions.iter().map(|prepared| Arc::clone(&prepared.facts)).collect();
    let recorded: Vec<_> = sessions.iter().map(|prepared| Arc::clone(&prepared.texts)).collect();
    let mut ran = Ran { texts: std::mem::take(&mut earlier.texts), ..Ran::default() };
    let tasks = sessions.into_iter().flat_map(|prepared| tasks(&spec, &roles, prepared, &earlier));
    side_by_side(spec.jobs, tasks, |cell, done| ran.keep(cell, done, &roles, folder, observer))
        .await?;
    let Ran { mut results, calls, mut texts } = ran;
    let calls = earlier.with_calls(calls);
    for mut recorded in recorded.into_iter().map(Arc::unwrap_or_clone) {
        // The smaller map moves into the larger one: a single long session is
        // not held twice.
        if recorded.len() > texts.len() {
            std::mem::swap(&mut recorded, &mut texts);
        }
        texts.extend(recorded);
    }
    let facts = facts.into_iter().map(|facts| folder.facts(Arc::unwrap_or_clone(facts)));
    let sessions = facts.collect();
    earlier.cells.into_values().for_each(|cell| results.add_cell(cell));
    earlier.cuts.into_values().for_each(|cut| results.add_cut(cut));
    results.close();
    // The texts are written first, because they are in the journal until it is
    // sorted.
    folder.write_texts(&texts)?;
    let mut finished = Finished { sessions, results, calls, texts };
    folder.sort_journal(&mut finished)?;
    Ok(finished)
}

/// Runs tasks, each with its key, and calls `each` with the key and the result
/// when a task ends. A task is created only when it can start: thousands of
/// waiting tasks would take more memory than their inputs.
///
/// # Errors
/// The first error of `each`; the running tasks are dropped.
pub(super) async fn side_by_side<K, T, F>(
    jobs: usize,
    tasks: impl Iterator<Item = (K, F)>,
    mut each: impl FnMut(K, Result<T, JoinError>) -> Result<(), RunError>,
) -> Result<(), RunError>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let running = stream::iter(tasks).map(|(key, task)| async move {
        // A set of its own ends the task where this future is dropped.
        let mut alone = JoinSet::new();
        alone.spawn(task);
        (key, alone.join_next().await.expect("the set holds the task"))
    });
    let mut ended = std::pin::pin!(running.buffer_unordered(jobs.max(1)));
    while let Some((key, result)) = ended.next().await {
        each(key, result)?;
    }
    Ok(())
}

/// Reports the amount of work, and writes the facts of the sessions.
fn begin(
    spec: &RunSpec,
    roles: &ModelRoles,
    sessions: &[Arc<PreparedSession>],
    earlier: &Earlier,
    folder: &mut Folder,
    observer: &dyn Observer,
) -> Result<(), FolderError> {
    let (mut cells, mut cuts) = (0, 0);
    for prepared in sessions {
        let plans = plan(spec, roles, prepared).0.into_iter();
        cells += plans.filter(|plan| !earlier.cells.contains_key(&plan.key)).count();
        cuts += prepared.cuts.len();
    }
    observer.event(&Event::Planned {
        sessions: sessions.len(),
        cells,
        cuts: cuts - earlier.cuts.len().min(cuts),
    });
    for prepared in sessions {
        let key = (prepared.facts.dataset.clone(), prepared.facts.session.clone());
        if !earlier.sessions.contains(&key) {
            folder.append_session(&prepared.facts)?;
        }
    }
    Ok(())
}

/// The result of a task.
pub(super) enum Done {
    /// The cell of a strategy without summaries, which sends nothing.
    EmptySummary(Box<Cell>),
    Cell(Box<Replayed>),
    Cut(Box<Cut>, BTreeMap<String, String>),
}

/// Replays a cell, or examines all strategies at a cut.
pub(super) type Task = Pin<Box<dyn Future<Output = Done> + Send>>;

/// The cell that a task replays; `None` for a cut.
type CellOfTask = Option<(CellKey, RowKind)>;

/// The remaining tasks of a session: its cells, then its cuts.
fn tasks(
    spec: &RunSpec,
    roles: &ModelRoles,
    prepared: Arc<PreparedSession>,
    earlier: &Earlier,
) -> Vec<(CellOfTask, Task)> {
    let mut tasks: Vec<(CellOfTask, Task)> = Vec::new();
    let asking = Arc::new(Asking::new(Arc::clone(&prepared), roles.clone()));
    let (plans, _) = plan(spec, roles, &prepared);
    let mut cuts = Vec::new();
    if !prepared.cuts.is_empty() {
        if spec.without_summaries {
            let mut cells = cells_without_summary(&plans);
            cells.retain(|cell| !earlier.cells.contains_key(&cell.key));
            let empty =
                |cell: Cell| -> Task { Box::pin(async { Done::EmptySummary(Box::new(cell)) }) };
            tasks.extend(cells.into_iter().map(|cell| (None, empty(cell))));
        }
        let plans = (&plans[..], spec.without_summaries);
        let cutting = Cutting::new(&prepared, &asking, plans, spec.depth, &earlier.cuts);
        cuts = cutting::cuts(cutting, roles);
    }
    for plan in plans.into_iter().filter(|plan| !earlier.cells.contains_key(&plan.key)) {
        let planned = (plan.key.clone(), plan.row_kind());
        let compactor = compactor(roles, &prepared, &plan.key);
        let (prepared, asking) = (Arc::clone(&prepared), Arc::clone(&asking));
        let task = async move {
            let mut replayed = replay(&prepared, &plan, compactor.as_ref()).await;
            asking.ask(&mut replayed, plan.strategy.recovery).await;
            Done::Cell(Box::new(replayed))
        };
        tasks.push((Some(planned), Box::pin(task)));
    }
    tasks.extend(cuts.into_iter().map(|cut| (None, cut)));
    tasks
}

/// The results of the tasks, in the order in which they finished.
#[derive(Default)]
struct Ran {
    results: RunResults,
    calls: Vec<CallRow>,
    texts: BTreeMap<String, String>,
}

impl Ran {
    /// Stores the result of a task.
    fn keep(
        &mut self,
        planned: CellOfTask,
        done: Result<Done, JoinError>,
        roles: &ModelRoles,
        folder: &mut Folder,
        observer: &dyn Observer,
    ) -> Result<(), RunError> {
        match done {
            Ok(Done::EmptySummary(cell)) => {
                self.results.add_cell(folder.append_cell(*cell)?);
            }
            Ok(Done::Cell(replayed)) => self.keep_cell(*replayed, folder, observer)?,
            Ok(Done::Cut(cut, texts)) => {
                folder.append_texts(&texts)?;
                observer.event(&Event::Cut { cut: &cut });
                self.texts.extend(texts);
                self.results.add_cut(folder.append_cut(*cut)?);
            }
            Err(panicked) => {
                let planned = planned.ok_or_else(|| RunError::Worker(panicked.to_string()))?;
                self.keep_cell(failed(planned, &panicked), folder, observer)?;
            }
        }
        if let Some(calls) = &roles.calls {
            let made = folder.append_calls(calls.take())?;
            observer.event(&Event::Calls(&made));
            self.calls.extend(made);
        }
        Ok(())
    }

    fn keep_cell(
        &mut self,
        Replayed { cell, texts, .. }: Replayed,
        folder: &mut Folder,
        observer: &dyn Observer,
    ) -> Result<(), FolderError> {
        folder.append_texts(&texts)?;
        observer.event(&Event::Cell { key: &cell.key, error: cell.outcome.error() });
        self.texts.extend(texts);
        self.results.add_cell(folder.append_cell(cell)?);
        Ok(())
    }
}

/// The failed cell of a strategy that panicked: the run continues.
fn failed((key, row_kind): (CellKey, RowKind), panicked: &JoinError) -> Replayed {
    let outcome = CellOutcome::Failed { error: format!("strategy bug: {panicked}") };
    let cell = Cell { key, row_kind, outcome };
    Replayed { cell, texts: BTreeMap::new(), asked: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn tasks_stay_within_limit_and_panics_keep_key() {
        let (made, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks = (0..100_usize).map(|at| {
            let under_way = made.fetch_add(1, Ordering::SeqCst) - ended.load(Ordering::SeqCst);
            assert!(under_way < 3, "{under_way} are under way before task {at}");
            (at, async move {
                tokio::task::yield_now().await;
                assert!(at != 50, "this one panics");
                at
            })
        });
        let mut seen = Vec::new();
        side_by_side(3, tasks, |key, left| {
            ended.fetch_add(1, Ordering::SeqCst);
            assert_eq!(left.ok(), (key != 50).then_some(key));
            seen.push(key);
            Ok(())
        })
        .await
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_error_ends_it() {
        let tasks = (0..10).map(|at| (at, async {}));
        let mut seen = 0;
        let ended = side_by_side(1, tasks, |_, _| {
            seen += 1;
            Err(RunError::Worker("full".to_owned()))
        });
        assert!(ended.await.is_err());
        assert_eq!(seen, 1);
    }
}
