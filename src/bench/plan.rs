//! What a run is going to do, before anything is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::selection::DataContents;
use super::{Selection, Settings, grid, manifest, native, shard};
use crate::failure::{Exit, Failure};
use recap_billing::pricing::{BillingModels, PriceList};
use recap_core::model::{Manifest, Question, Session};
use recap_core::text::counted;
use recap_core::tokens::Counter;
use recap_core::wording::first_few;
use recap_exam::facts::Cuts;
use recap_formats::{Dataset, write_questions};
use recap_replay::run::{Conceal, CutQuestions, ModelRoles, NamedSession, RunSpec, Windows};

/// What a comparison is made of beside its settings.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The data sets, whose sessions are replayed.
    pub datasets: Vec<Dataset>,
    /// Which strategies run.
    pub strategies: Selection,
    /// The questions that are asked.
    pub questions: Questions,
    /// The price list.
    pub prices: Arc<PriceList>,
    /// How tokens are counted.
    pub counter: Arc<Counter>,
    /// The model in the compactor's role, as the price list names it; `None`:
    /// the offline compactor. It bills the calls of compactions.
    pub compactor_model: Option<String>,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            datasets: Vec::new(),
            strategies: Selection::default(),
            questions: Questions::Auto,
            prices: Arc::new(PriceList::bundled()),
            counter: Arc::new(Counter::where_reported()),
            compactor_model: None,
        }
    }
}

/// The questions that are asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Questions {
    /// The data sets' own, and at cuts those made from every session without any.
    Auto,
    /// The data sets' own.
    Own,
    /// The data sets' own, and at cuts these, with the hash of their file.
    Given(Vec<Question>, String),
    /// None.
    None,
}

/// A comparison whose strategies, windows and sessions are settled.
#[derive(Clone)]
pub struct BenchPlan {
    /// Strategies, windows and settings.
    pub spec: RunSpec,
    /// The sessions.
    pub sessions: Vec<NamedSession>,
    /// What the run is made of, as far as it is known: the roles and the cells
    /// come with [`BenchPlan::prepare`].
    pub manifest: Manifest,
    /// The model of each role: offline, unless others are set.
    pub roles: ModelRoles,
    /// How tokens are counted.
    pub counter: Arc<Counter>,
    pub(super) conceal: Option<Arc<Conceal>>,
}

impl BenchPlan {
    /// Asks these questions at the cuts, which were written about the sessions
    /// of this plan.
    #[must_use]
    pub fn written(mut self, questions: &[Question]) -> Self {
        let mut lines = Vec::new();
        write_questions(questions, &mut lines).expect("memory takes every line");
        self.manifest.questions = blake3::hash(&lines).to_hex().to_string();
        self.spec.questions = given(&self.sessions, questions);
        self
    }
}

/// Loads the strategies and chooses the windows, the billing models and the sessions.
/// Nothing is replayed, sent or written.
///
/// # Errors
/// If no session is selected or has a request, two have the same name, or a strategy cannot
/// be loaded.
pub fn plan(inputs: Inputs, settings: &Settings) -> Result<BenchPlan, Failure> {
    let Inputs { mut datasets, mut questions, prices, counter, .. } = inputs;
    set_requestless_aside(&mut datasets)?;
    let conceal = settings.no_text.then(|| Arc::new(Conceal::datasets(&datasets)));
    if let Some(conceal) = &conceal {
        datasets.iter_mut().for_each(|dataset| conceal.dataset(dataset));
        if let Questions::Given(given, _) = &mut questions {
            given.iter_mut().for_each(|question| conceal.question(question));
        }
    }
    let recordings = datasets.iter().all(Dataset::is_recorded);
    if questions == Questions::None {
        datasets.iter_mut().for_each(|dataset| dataset.questions.clear());
    }
    let windows = Windows::or_default(unique(settings.windows.iter().cloned()), &datasets);
    let models = unique(settings.agent_models.iter().map(|model| model.trim().to_owned()));
    known_models(&prices, &models)?;
    let billing_models = Arc::new(BillingModels::new(prices, models));
    let mut warnings = native::share_native_windows(&mut datasets, &windows, &billing_models);
    let sessions = named_sessions(&mut datasets, settings.limit)?;
    let (questions, hash) = match questions {
        Questions::Auto => (CutQuestions::Auto, "auto".to_owned()),
        Questions::Own | Questions::None => (CutQuestions::None, "none".to_owned()),
        Questions::Given(questions, hash) => (given(&sessions, &questions), hash),
    };
    let compactor = inputs.compactor_model.map(|model| Arc::new(billing_models.named(&model)));
    let selection = inputs.strategies;
    let (strategies, named, grid) = if selection.search {
        let agent = manifest::agent(&datasets);
        let sizes = &settings.compact_at;
        let (strategies, grid) = grid::load(&selection, sizes, &sessions, agent.as_deref())?;
        (strategies, Vec::new(), Some(grid))
    } else {
        let (strategies, named) = selection.load(contents(&sessions, recordings))?;
        (strategies, named, None)
    };
    let spec = RunSpec {
        billing_models,
        strategies,
        windows,
        // What a model writes differs from time to time.
        replicates: settings.replicates.unwrap_or(if compactor.is_some() { 3 } else { 1 }),
        compactor,
        seed: settings.seed,
        scaled: !settings.no_scale,
        without_summaries: !selection.search,
        cuts: settings.cuts,
        questions,
        depth: depth(settings.cuts, settings.depth),
        jobs: settings.jobs.unwrap_or_else(cores),
    };
    warnings.extend(native::warnings(&spec.windows, &sessions, &spec.billing_models));
    let left_out =
        || spec.without_summaries && !spec.strategies.iter().any(|p| p.replays_recording());
    warnings.extend(unreadable(&sessions).filter(|_| left_out()));
    let mut manifest = manifest::of_plan(&spec, &datasets, &counter, settings);
    (manifest.questions, manifest.named, manifest.grid) = (hash, named, grid);
    manifest.warnings.extend(warnings);
    let sessions = match settings.shard {
        Some(part) => shard::of_shard(sessions, part),
        None => sessions,
    };
    let roles = ModelRoles::offline(&counter);
    Ok(BenchPlan { spec, sessions, manifest, roles, counter, conceal })
}

/// What the strategies that run by default depend on.
fn contents(sessions: &[NamedSession], recordings: bool) -> DataContents {
    DataContents {
        questions: sessions.iter().any(|s| !s.questions.is_empty()),
        compactions: unreadable(sessions).is_none()
            && sessions.iter().any(|s| !s.session.compactions.is_empty()),
        recordings,
    }
}

/// Number of cores that may be used.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Each once, in the order given.
fn unique<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut unique, one| {
        if !unique.contains(&one) {
            unique.push(one);
        }
        unique
    })
}

/// A recorded compaction is examined as a first one.
fn depth(cuts: Cuts, asked: u32) -> u32 {
    match cuts {
        Cuts::None => 0,
        Cuts::Recorded => 1,
        Cuts::All | Cuts::Spread(_) => asked,
    }
}

/// Questions at cuts, by the sessions that they are about.
fn given(sessions: &[NamedSession], questions: &[Question]) -> CutQuestions {
    let given = sessions.iter().map(|named| {
        let id = &named.session.id;
        let own = questions.iter().filter(|question| question.session == *id).cloned();
        ((named.dataset.clone(), id.clone()), own.collect())
    });
    CutQuestions::Given(Arc::new(given.collect()))
}

/// Takes out the sessions in which no model was asked, and tells which.
///
/// # Errors
/// No other session is left.
fn set_requestless_aside(datasets: &mut [Dataset]) -> Result<(), Failure> {
    let (mut left, mut all_aside) = (0, 0);
    for dataset in datasets {
        let asked = |session: &Session| {
            let compacted = session.compactions.iter().any(|compaction| compaction.call.is_some());
            compacted || session.requests().next().is_some() || !session.sidechains.is_empty()
        };
        let aside: Vec<String> = dataset
            .sessions
            .extract_if(.., |session| !asked(session))
            .map(|session| session.id)
            .collect();
        left += dataset.sessions.len();
        all_aside += aside.len();
        if !aside.is_empty() {
            dataset.warnings.push(format!(
                "set aside: {} in which no model was asked ({})",
                counted(aside.len(), "session"),
                first_few(&aside, aside.len())
            ));
        }
    }
    if left == 0 && all_aside > 0 {
        let all = counted(all_aside, "session");
        return Err(Failure::usage(format!(
            "no session has a request: in {all} no model was asked"
        ))
        .help("give recordings in which the agent's model answered"));
    }
    Ok(())
}

/// The first sessions of each data set, with their questions. Their messages
/// move: they are most of a data set, and must not be held twice.
fn named_sessions(
    datasets: &mut [Dataset],
    limit: Option<usize>,
) -> Result<Vec<NamedSession>, Failure> {
    let mut seen = BTreeSet::new();
    let mut sessions = Vec::new();
    for dataset in datasets {
        let mut questions: BTreeMap<String, Vec<Question>> = BTreeMap::new();
        for question in &dataset.questions {
            questions.entry(question.session.clone()).or_default().push(question.clone());
        }
        for session in dataset.sessions.iter_mut().take(limit.unwrap_or(usize::MAX)) {
            if !seen.insert((dataset.name.clone(), session.id.clone())) {
                let twice =
                    format!("session `{}` of `{}` is given twice", session.id, dataset.name);
                return Err(Failure::usage(twice).help("name each input once"));
            }
            let messages = std::mem::take(&mut session.messages);
            sessions.push(NamedSession {
                dataset: dataset.name.clone(),
                questions: questions.remove(&session.id).unwrap_or_default(),
                session: Session { messages, ..session.clone() },
            });
        }
    }
    if sessions.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "no session is selected")
            .help("raise --limit, or give an input that holds a session"));
    }
    Ok(sessions)
}

/// Refuses a billing model without a price: every bill of it would be unknown.
fn known_models(prices: &PriceList, models: &[String]) -> Result<(), Failure> {
    let Some(unpriced) = models.iter().find_map(|name| prices.find(name).err()) else {
        return Ok(());
    };
    let like = unpriced.suggestion().map_or_else(String::new, |like| like + " ");
    Err(Failure::usage(format!("--agent-model: {unpriced}"))
        .help(format!("{like}--prices takes a list that has a model of your own")))
}

/// Why a recorded compaction cannot be shown, where one cannot.
fn unreadable(sessions: &[NamedSession]) -> Option<String> {
    let reason = |s: &NamedSession| s.session.compactions.iter().find_map(|c| c.unreadable.clone());
    let reasons: Vec<String> = sessions.iter().filter_map(reason).collect();
    let first = reasons.first()?;
    Some(format!(
        "the strategy recorded is left out: what the agent had behind its own compactions cannot be \
         repeated in {} of {} ({first})",
        reasons.len(),
        counted(sessions.len(), "session")
    ))
}
