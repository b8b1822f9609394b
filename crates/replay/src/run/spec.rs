//! What a run is made of, and what ends it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::FolderError;
use super::windows::Windows;
use crate::PreparedSession;
use recap_billing::pricing::{Agent, Agents};
use recap_core::model::{Question, Session};
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_exam::roles::answerer::Answerer;
use recap_exam::roles::compactor;
use recap_exam::roles::finder::Embedder;
use recap_exam::roles::judge::{self, Judge};
use recap_llm::Calls;
use recap_strategy::{Compactor, Strategy};

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The rows.
    pub strategies: Vec<Arc<Strategy>>,
    /// The windows.
    pub windows: Windows,
    /// Repetitions of the compaction.
    pub replicates: u32,
    /// Seed of every random stream.
    pub seed: u64,
    /// Whether absolute numbers scale with the window.
    pub scaled: bool,
    /// Whether each strategy that calls a compactor is also examined with empty
    /// texts in place of what its model writes.
    pub without_summaries: bool,
    /// Where compactions are made to happen.
    pub cuts: Cuts,
    /// Depth of the cuts: [`recap_core::model::Manifest::depth`].
    pub depth: u32,
    /// The questions that are asked at cuts alone.
    pub questions: CutQuestions,
    /// Cells at a time.
    pub jobs: usize,
    /// The billing models.
    pub agents: Arc<Agents>,
    /// The model in the compactor's role, with its prices; `None`: the offline one.
    pub compactor: Option<Arc<Agent>>,
}

/// The questions that are asked at cuts alone, besides the data sets' own
/// questions.
#[derive(Clone, Debug, Default)]
pub enum CutQuestions {
    /// None.
    #[default]
    None,
    /// Made from every session without questions of its own.
    Auto,
    /// Given, by data set and session.
    Given(Arc<BTreeMap<(String, String), Vec<Question>>>),
}

/// A session and the data set that it belongs to.
#[derive(Clone, Debug)]
pub struct NamedSession {
    /// Name of the data set.
    pub dataset: String,
    /// The session.
    pub session: Session,
    /// Its questions.
    pub questions: Vec<Question>,
}

/// The model of each role.
#[derive(Clone)]
pub struct ModelRoles {
    /// The compactor.
    pub compactor: Arc<dyn Compactor>,
    /// Whether it is the offline one.
    pub offline: bool,
    /// The model that answers; `None`: questions are only looked for in the contexts.
    pub answerer: Option<Arc<dyn Answerer>>,
    /// The judge.
    pub judge: Arc<dyn Judge>,
    /// Who ranks closed sessions by meaning; `None`: they are ranked by words.
    pub embedder: Option<Arc<Embedder>>,
    /// What the models among them were asked; `None` where all are offline.
    pub calls: Option<Arc<Calls>>,
}

impl ModelRoles {
    /// The program's own compactor and judge, and no answerer.
    pub fn offline(counter: &Arc<Counter>) -> Self {
        Self {
            compactor: Arc::new(compactor::Offline::new(Arc::clone(counter))),
            offline: true,
            answerer: None,
            judge: Arc::new(judge::Offline),
            embedder: None,
            calls: None,
        }
    }
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No window fits any session.
    #[error("no session fits its window:\n{reasons}")]
    Windows {
        /// Sessions that were to be replayed.
        sessions: usize,
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

/// Who compacts in a cell: the offline compactor counts as its session does,
/// a model is asked anew at each repetition.
pub(super) fn compactor(
    roles: &ModelRoles,
    subject: &PreparedSession,
    replicate: u32,
) -> Arc<dyn Compactor> {
    let shared = &roles.compactor;
    let own = shared.counting(&subject.recording.counter);
    let own = own.unwrap_or_else(|| Arc::clone(shared));
    own.repeated(replicate).unwrap_or(own)
}
