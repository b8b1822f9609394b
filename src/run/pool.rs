//! Plans the cells and runs them side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tokio::sync::Semaphore;
use tokio::task::{Id, JoinError, JoinSet};

use super::asking::Asking;
use super::cutting::{CutUp, Cutting, cut_all, null_cells};
use super::folder::{Folder, FolderError};
use super::observer::{Event, Observer};
use super::prepare::Prepared;
use super::windows::Windows;
use crate::llm::Calls;
use crate::model::{
    CallRow, Cell, CellKey, CellOutcome, Cut, Probe, Standing, Transcript, TranscriptFacts,
};
use crate::pricing::{Agent, Agents};
use crate::probes::Cuts;
use crate::replay::{Plan, Replayed, Subject, replay};
use crate::seats::answerer::Answerer;
use crate::seats::embedder::Embedder;
use crate::seats::judge::Judge;
use crate::strategy::{Compactor, Preset};

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The rows.
    pub presets: Vec<Arc<Preset>>,
    /// The windows.
    pub windows: Windows,
    /// Repetitions of the compaction.
    pub replicates: u32,
    /// Seed of every random stream.
    pub seed: u64,
    /// Whether absolute numbers scale with the window.
    pub scaled: bool,
    /// Where compactions are made to happen.
    pub cuts: Cuts,
    /// Depths of the cuts, ascending.
    pub depths: Vec<u32>,
    /// Cells at a time.
    pub jobs: usize,
    /// Who pays.
    pub agents: Arc<Agents>,
    /// The model in the compactor's seat, with its prices; `None`: the stand-in.
    pub compactor: Option<Arc<Agent>>,
}

/// A transcript and the data set that it belongs to.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Name of the data set.
    pub dataset: String,
    /// The session.
    pub transcript: Transcript,
    /// Its probes.
    pub probes: Vec<Probe>,
}

/// Who sits where.
#[derive(Clone)]
pub struct Seats {
    /// The compactor.
    pub compactor: Arc<dyn Compactor>,
    /// Whether it is the offline stand-in.
    pub offline: bool,
    /// The answerer.
    pub answerer: Arc<dyn Answerer>,
    /// The judge.
    pub judge: Arc<dyn Judge>,
    /// Who ranks closed sessions by meaning; `None`: they are ranked by words.
    pub embedder: Option<Arc<Embedder>>,
    /// What the models among them were asked; `None` where all are offline.
    pub calls: Option<Arc<Calls>>,
}

/// What a run left, sorted by key.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Facts of the transcripts.
    pub transcripts: Vec<TranscriptFacts>,
    /// Every cell.
    pub cells: Vec<Cell>,
    /// Every cut.
    pub cuts: Vec<Cut>,
    /// Calls of real models, each once.
    pub calls: Vec<CallRow>,
    /// Texts by hash.
    pub texts: BTreeMap<String, String>,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No window fits any transcript.
    #[error("no transcript fits its window:\n{reasons}")]
    Windows {
        /// Transcripts that were to be replayed.
        transcripts: usize,
        /// What each does not fit, a line each.
        reasons: String,
    },
    /// The run folder cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A worker died.
    #[error("a worker stopped: {0}")]
    Worker(String),
}

/// Replays. Cells are appended to the folder as they end.
///
/// # Errors
/// A run folder that cannot be written.
pub async fn run(
    spec: &RunSpec,
    prepared: Prepared,
    seats: &Seats,
    folder: &mut Folder,
    observer: &dyn Observer,
) -> Result<Finished, RunError> {
    let Prepared { subjects, plans, .. } = prepared;
    let mut earlier = folder.take_earlier();
    let to_do = plans.iter().filter(|(_, plan)| !earlier.cells.contains_key(&plan.key)).count();
    let cuts = subjects.iter().map(|subject| subject.cuts.len()).sum::<usize>();
    let cuts = cuts - earlier.cuts.len().min(cuts);
    observer.event(&Event::Planned { transcripts: subjects.len(), cells: to_do, cuts });
    let mut texts = std::mem::take(&mut earlier.texts);
    for subject in &subjects {
        let key = (subject.facts.dataset.clone(), subject.facts.transcript.clone());
        if !earlier.transcripts.contains(&key) {
            folder.append_transcript(&subject.facts)?;
        }
        texts.extend(subject.texts.iter().map(|(k, v)| (k.clone(), v.clone())));
        let references = subject.facts.exam.references.len();
        observer.event(&Event::Prepared { transcript: &subject.facts.transcript, references });
    }
    let mut groups = by_subject(plans, seats);
    let nulls = groups.iter().filter(|group| !group.subject.cuts.is_empty());
    let nulls = nulls.flat_map(|group| null_cells(&group.plans));
    let nulls: Vec<Cell> = nulls.filter(|cell| !earlier.cells.contains_key(&cell.key)).collect();
    nulls.iter().try_for_each(|cell| folder.append_cell(cell))?;
    let cuttings = groups
        .iter()
        .map(|g| Cutting::new(&g.subject, &g.asking, &g.plans, &earlier.cuts))
        .collect();
    for group in &mut groups {
        group.plans.retain(|plan| !earlier.cells.contains_key(&plan.key));
    }
    let Ran { mut cells, mut calls, texts: written } =
        replay_all(spec.jobs, groups, seats, folder, observer).await?;
    texts.extend(written);
    let (CutUp { cuts, texts: written }, made) =
        cut_all(spec.jobs, cuttings, seats, folder, observer).await?;
    texts.extend(written);
    calls.extend(made);
    calls = earlier.with_calls(calls);
    cells.extend(nulls);
    let facts = subjects.iter().map(|s| (*s.facts).clone()).collect();
    let (mut facts, mut cells, mut cuts) = folder.shared(facts, cells, cuts);
    cuts.extend(earlier.cuts.into_values());
    cuts.sort_by(|a, b| a.key().cmp(&b.key()));
    cells.extend(earlier.cells.into_values());
    cells.sort_by(|a, b| a.key.cmp(&b.key));
    facts.sort_by(|a, b| (&a.dataset, &a.transcript).cmp(&(&b.dataset, &b.transcript)));
    calls.sort_by(|a, b| (a.seat, &a.model, &a.key).cmp(&(b.seat, &b.model, &b.key)));
    // First the texts, which are in the journal until it is sorted.
    folder.write_texts(&texts)?;
    folder.sort_journal(&facts, &cells, &cuts, &calls)?;
    Ok(Finished { transcripts: facts, cells, cuts, calls, texts })
}

/// The plans of one subject, and whoever asks its probes.
struct Group {
    subject: Arc<Subject>,
    asking: Arc<Asking>,
    plans: Vec<Plan>,
}

/// The plans of a subject stand together.
fn by_subject(plans: Vec<(Arc<Subject>, Plan)>, seats: &Seats) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (subject, plan) in plans {
        match groups.last_mut() {
            Some(group) if Arc::ptr_eq(&group.subject, &subject) => group.plans.push(plan),
            _ => groups.push(Group {
                asking: Arc::new(Asking::new(Arc::clone(&subject), seats.clone())),
                subject,
                plans: vec![plan],
            }),
        }
    }
    groups
}

/// What the cells left, in the order in which they ended.
#[derive(Default)]
struct Ran {
    cells: Vec<Cell>,
    calls: Vec<CallRow>,
    texts: BTreeMap<String, String>,
}

/// A cell whose strategy panicked: an error of its own, not of the run.
fn failed(
    running: &FxHashMap<Id, (CellKey, Standing)>,
    panicked: &JoinError,
) -> Result<Replayed, RunError> {
    let (key, standing) = (running.get(&panicked.id()).cloned())
        .ok_or_else(|| RunError::Worker(panicked.to_string()))?;
    let outcome = CellOutcome::Failed { error: format!("strategy bug: {panicked}") };
    let cell = Cell { key, standing, outcome };
    Ok(Replayed { cell, texts: BTreeMap::new(), probed: Vec::new() })
}

async fn replay_all(
    jobs: usize,
    groups: Vec<Group>,
    seats: &Seats,
    folder: &mut Folder,
    observer: &dyn Observer,
) -> Result<Ran, RunError> {
    let gate = Arc::new(Semaphore::new(jobs.max(1)));
    let mut tasks: JoinSet<Replayed> = JoinSet::new();
    let mut running: FxHashMap<Id, (CellKey, Standing)> = FxHashMap::default();
    let plans = groups.into_iter().flat_map(|Group { subject, asking, plans }| {
        plans.into_iter().map(move |plan| (Arc::clone(&subject), Arc::clone(&asking), plan))
    });
    for (subject, asking, plan) in plans {
        let planned = (plan.key.clone(), plan.standing());
        let gate = Arc::clone(&gate);
        let compactor = compactor(seats, &subject, plan.key.replicate);
        let task = tasks.spawn(async move {
            let _turn = gate.acquire_owned().await.expect("the gate is never closed");
            let mut replayed = replay(&subject, &plan, compactor.as_ref()).await;
            asking.ask(&mut replayed, plan.preset.recovery).await;
            replayed
        });
        running.insert(task.id(), planned);
    }
    let mut ran = Ran::default();
    while let Some(done) = tasks.join_next_with_id().await {
        let replayed = match done {
            Ok((_, replayed)) => replayed,
            Err(panicked) => failed(&running, &panicked)?,
        };
        folder.append_texts(&replayed.texts)?;
        folder.append_cell(&replayed.cell)?;
        let error = match &replayed.cell.outcome {
            CellOutcome::Failed { error } => Some(error.as_str()),
            CellOutcome::Done(_) => None,
        };
        observer.event(&Event::Cell { key: &replayed.cell.key, error });
        ran.texts.extend(replayed.texts);
        ran.cells.push(replayed.cell);
        if let Some(calls) = &seats.calls {
            let made = calls.take();
            folder.append_calls(&made)?;
            observer.event(&Event::Calls(&made));
            ran.calls.extend(made);
        }
    }
    Ok(ran)
}

/// Who compacts in a cell: the offline stand-in counts as its transcript does,
/// a model is asked anew at each repetition.
pub(super) fn compactor(seats: &Seats, subject: &Subject, replicate: u32) -> Arc<dyn Compactor> {
    let shared = &seats.compactor;
    let own = shared.counting(&subject.recording.counter);
    let own = own.unwrap_or_else(|| Arc::clone(shared));
    own.repeated(replicate).unwrap_or(own)
}
