//! What a run is made of, and what ends it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::folder::FolderError;
use crate::{PreparedSession, WindowSpec};
use recap_billing::pricing::{BillingModel, BillingModels};
use recap_core::model::{CallRow, CellKey, Cut, NO_SUMMARY, Question, Session};
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_exam::roles::answerer::Answerer;
use recap_exam::roles::compactor;
use recap_exam::roles::embedder::Embedder;
use recap_exam::roles::judge::{self, Judge};
use recap_formats::Dataset;
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
    pub billing_models: Arc<BillingModels>,
    /// The model in the compactor's role, with its prices; `None`: the offline one.
    pub compactor: Option<Arc<BillingModel>>,
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
/// a model is asked anew at each repetition, and without summaries nobody writes.
pub fn compactor(
    roles: &ModelRoles,
    prepared: &PreparedSession,
    key: &CellKey,
) -> Arc<dyn Compactor> {
    if key.strategy.starts_with(NO_SUMMARY) {
        return Arc::new(compactor::EmptySummary);
    }
    let shared = &roles.compactor;
    let own = shared.counting(&prepared.recording.counter);
    let own = own.unwrap_or_else(|| Arc::clone(shared));
    own.repeated(key.replicate).unwrap_or(own)
}

// The windows at which each data set is replayed.

/// Window of data sets that are not recordings of agents, as a percentage of
/// each session's messages: short chats are compressed, and strategies that need
/// no model still differ in what they keep.
const SHARE: u8 = 50;

/// The windows of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Windows {
    /// Every data set has the same windows.
    Same(Vec<WindowSpec>),
    /// Each data set, by its name, has a window of its own.
    Own(BTreeMap<String, WindowSpec>),
}

impl Windows {
    /// The windows that the user asked for, or else those of each data set.
    pub fn or_default(asked: Vec<WindowSpec>, datasets: &[Dataset]) -> Self {
        if asked.is_empty() { Windows::by_default(datasets) } else { Windows::Same(asked) }
    }

    /// The default windows: recordings of agents are replayed at the native
    /// window of their model. All other data sets (the bundled and generated
    /// ones, and chats with questions) have no model whose window could be
    /// known; they are replayed at 50 % of each session's messages.
    ///
    /// A data set is a recording of agents if one of its sessions has a limit that is known
    /// ([`Dataset::has_limits`]).
    fn by_default(datasets: &[Dataset]) -> Self {
        let own = datasets.iter().map(|dataset| {
            let native = dataset.has_limits();
            let window = if native { WindowSpec::native() } else { WindowSpec::share(SHARE) };
            (dataset.name.clone(), window)
        });
        Windows::Own(own.collect())
    }

    /// The windows of a data set, in the order of tables.
    pub fn of(&self, dataset: &str) -> &[WindowSpec] {
        match self {
            Windows::Same(windows) => windows,
            Windows::Own(by_name) => by_name.get(dataset).map_or(&[], std::slice::from_ref),
        }
    }

    /// Label of every window, each once, in the order of tables: native first
    /// if data sets differ.
    pub fn labels(&self) -> Vec<String> {
        let mut windows: Vec<&WindowSpec> = match self {
            Windows::Same(windows) => windows.iter().collect(),
            Windows::Own(by_name) => by_name.values().collect(),
        };
        if let Windows::Own(_) = self {
            windows.sort_by_key(|window| !window.is_native());
            windows.dedup();
        }
        windows.into_iter().map(|window| window.label().to_owned()).collect()
    }
}

// The events that a run reports to an observer. The run itself never prints.

/// A step of a run that was reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The amount of work is known.
    Planned {
        /// Number of sessions to count and mine.
        sessions: usize,
        /// Number of cells to replay.
        cells: usize,
        /// Number of cuts to examine.
        cuts: usize,
    },
    /// A cell finished or failed.
    Cell {
        /// Key of the cell.
        key: &'a CellKey,
        /// Why the cell failed, if it failed.
        error: Option<&'a str>,
    },
    /// Every strategy was examined at a cut.
    Cut {
        /// The cut with its results.
        cut: &'a Cut,
    },
    /// The calls of models since the last such event.
    Calls(&'a [CallRow]),
}

/// Receives the events of a run.
pub trait Observer: Send + Sync {
    /// Called for each event, in the order of the events.
    fn event(&self, event: &Event<'_>);
}

/// An observer that ignores every event.
impl Observer for () {
    fn event(&self, _event: &Event<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Message, Role, Session, Usage};

    /// A data set of two sessions, of which one has a response with this
    /// usage.
    fn dataset(name: &str, usage: Option<Usage>) -> Dataset {
        let message = Message { usage, ..Message::new("a", Role::Assistant, None, Vec::new()) };
        let session = Session { messages: vec![message], ..Session::default() };
        // The other session reports no usage.
        let sessions = vec![Session::default(), session];
        Dataset { name: name.to_owned(), sessions, ..Dataset::default() }
    }

    fn reported(input: u64) -> Option<Usage> {
        Some(Usage { input, ..Usage::default() })
    }

    fn labels(windows: &Windows, dataset: &str) -> Vec<String> {
        windows.of(dataset).iter().map(|window| window.label().to_owned()).collect()
    }

    #[test]
    fn agent_recordings_have_native_window_and_others_half() {
        let datasets = [
            dataset("chats", None),
            dataset("sessions", reported(9_000)),
            // A usage of zeros is a placeholder and not a report.
            dataset("zeros", reported(0)),
            dataset("more chats", None),
        ];
        let windows = Windows::by_default(&datasets);
        assert_eq!(labels(&windows, "sessions"), ["native"]);
        for chats in ["chats", "zeros", "more chats"] {
            assert_eq!(labels(&windows, chats), ["50%"]);
        }
        assert_eq!(windows.labels(), ["native", "50%"]);
        assert_eq!(Windows::by_default(&datasets[..1]).labels(), ["50%"]);
        assert_eq!(labels(&windows, "unknown"), Vec::<String>::new());
    }

    #[test]
    fn every_data_set_has_requested_windows_in_order() {
        let asked = ["200k", "native", "10%"].map(|typed| typed.parse().unwrap());
        let windows = Windows::Same(asked.to_vec());
        assert_eq!(labels(&windows, "anything"), ["200k", "native", "10%"]);
        assert_eq!(windows.labels(), ["200k", "native", "10%"]);
    }

    #[test]
    fn the_bundled_sessions_are_replayed_at_a_half() {
        for name in recap_formats::bundled_names() {
            let bundled = recap_formats::bundled(name).unwrap().unwrap();
            assert_eq!(Windows::by_default(&[bundled]).labels(), ["50%"], "{name}");
        }
    }
}
