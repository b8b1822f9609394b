//! What a run is going to do, before anything is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::selection::DataContents;
use super::{Bench, BenchError, Part, Questions, manifest, native, shard};
use recap_billing::pricing::{Agents, PriceList};
use recap_core::model::{Manifest, Question, Session};
use recap_core::text::counted;
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_formats::{Dataset, write_questions};
use recap_replay::run::{
    Conceal, CutQuestions, Finished, Folder, ModelRoles, NamedSession, RunSpec, Windows,
};

/// A comparison whose strategies, windows and sessions are settled.
#[derive(Clone)]
pub struct BenchPlan {
    /// Strategies, windows and settings.
    pub spec: RunSpec,
    /// The sessions.
    pub samples: Vec<NamedSession>,
    /// What the run is made of, as far as it is known: the roles and the cells
    /// come with [`BenchPlan::prepare`].
    pub manifest: Manifest,
    /// The calls of models that every shard is expected to make; empty where the
    /// run is not divided.
    pub(super) shard_calls: Vec<u64>,
    pub(super) counter: Arc<Counter>,
    pub(super) roles: ModelRoles,
    pub(super) conceal: Option<Arc<Conceal>>,
}

impl BenchPlan {
    /// Fills the roles; without this the offline models sit in all of them.
    #[must_use]
    pub fn roles(self, roles: ModelRoles) -> Self {
        Self { roles, ..self }
    }

    /// The part of the run that this is, with its share of the calls of models;
    /// `None` for a whole run.
    pub fn part(&self) -> Option<Part<'_>> {
        self.manifest.shard.map(|shard| Part::new(shard, &self.shard_calls))
    }

    /// Asks these questions at the cuts, which were written about the sessions
    /// of this plan.
    #[must_use]
    pub fn written(mut self, questions: &[Question]) -> Self {
        let mut lines = Vec::new();
        write_questions(questions, &mut lines).expect("memory takes every line");
        self.manifest.questions = blake3::hash(&lines).to_hex().to_string();
        let given = self.samples.iter().map(|sample| {
            let id = &sample.session.id;
            let own = questions.iter().filter(|question| question.session == *id).cloned();
            ((sample.dataset.clone(), id.clone()), own.collect())
        });
        self.spec.questions = CutQuestions::Given(Arc::new(given.collect()));
        self
    }

    /// Replays everything and keeps nothing, so that the calls of the roles can
    /// be counted.
    ///
    /// # Errors
    /// As for [`BenchPlan::prepare`].
    pub async fn dry_run(self) -> Result<Finished, BenchError> {
        let run = self.prepare().await?;
        Ok(run.run(&mut Folder::discard(), &()).await?.finished)
    }
}

/// Settles a comparison.
pub(super) fn plan(bench: Bench) -> Result<BenchPlan, BenchError> {
    let mut datasets = bench.datasets;
    let names: Vec<String> =
        datasets.iter().flat_map(|d| &d.sessions).map(|t| t.id.clone()).collect();
    let conceal = bench.no_text.then(|| Arc::new(Conceal::datasets(&datasets)));
    if let Some(conceal) = &conceal {
        datasets.iter_mut().for_each(|dataset| conceal.dataset(dataset));
    }
    let recordings = datasets.iter().all(Dataset::is_recorded);
    if !bench.asks {
        datasets.iter_mut().for_each(|dataset| dataset.questions.clear());
    }
    let questions = cut_questions(bench.questions, &names, &datasets);
    let windows = Windows::or_default(bench.windows, &datasets);
    let samples = samples(&mut datasets, bench.limit)?;
    let unreadable = unreadable(&samples);
    let contents = DataContents {
        questions: samples.iter().any(|s| !s.questions.is_empty()),
        compactions: unreadable.is_none()
            && samples.iter().any(|s| !s.session.compactions.is_empty()),
        recordings,
    };
    let strategies = match &bench.only {
        Some(only) => only.clone(),
        None => bench.selection.strategies(contents)?,
    };
    let prices = bench.prices.unwrap_or_else(|| Arc::new(PriceList::bundled()));
    let mut warnings = unpriced(&prices, &bench.agent_models);
    let agents = Arc::new(Agents::new(prices, bench.agent_models));
    let spec = RunSpec {
        compactor: bench.compactor_model.map(|model| Arc::new(agents.named(&model))),
        agents,
        strategies,
        windows,
        replicates: bench.replicates,
        seed: bench.seed,
        scaled: bench.scaled,
        without_summaries: bench.only.is_none(),
        cuts: bench.cuts,
        questions: questions.0,
        depth: depth(bench.cuts, bench.depth),
        jobs: bench.jobs,
    };
    warnings.extend(native::warnings(&spec.windows, &samples, &spec.agents));
    let left_out =
        || spec.without_summaries && !spec.strategies.iter().any(|p| p.replays_recording());
    warnings.extend(unreadable.filter(|_| left_out()));
    let mut manifest = manifest::of_plan(&spec, &datasets, &bench.counter);
    manifest.questions = questions.1;
    manifest.named = bench.selection.named(&spec.strategies);
    manifest.warnings.extend(warnings);
    manifest.shard = bench.shard;
    let (samples, shard_calls) = match bench.shard {
        Some(part) => shard::of_shard(samples, part, &spec),
        None => (samples, Vec::new()),
    };
    let (roles, counter) = (ModelRoles::offline(&bench.counter), bench.counter);
    Ok(BenchPlan { spec, samples, manifest, shard_calls, counter, roles, conceal })
}

/// A recorded compaction is examined as a first one.
fn depth(cuts: Cuts, asked: u32) -> u32 {
    match cuts {
        Cuts::None => 0,
        Cuts::Recorded => 1,
        Cuts::All | Cuts::Spread(_) => asked,
    }
}

/// The questions at cuts, by the sessions as they are named in the run, and
/// what the manifest says of them. `names` are those of the recordings.
fn cut_questions(
    questions: Questions,
    names: &[String],
    datasets: &[Dataset],
) -> (CutQuestions, String) {
    let (questions, hash) = match questions {
        Questions::Auto => return (CutQuestions::Auto, "auto".to_owned()),
        Questions::None => return (CutQuestions::None, "none".to_owned()),
        Questions::Given(questions, hash) => (questions, hash),
    };
    let mut given: BTreeMap<(String, String), Vec<Question>> = BTreeMap::new();
    let all = datasets.iter().flat_map(|d| d.sessions.iter().map(move |t| (&d.name, &t.id)));
    for ((dataset, id), name) in all.zip(names) {
        let own = questions.iter().filter(|question| question.session == *name);
        let own = own.map(|question| Question { session: id.clone(), ..question.clone() });
        given.insert((dataset.clone(), id.clone()), own.collect());
    }
    (CutQuestions::Given(Arc::new(given)), hash)
}

/// The first sessions of each data set, with their questions. Their messages
/// move: they are most of a data set, and must not be held twice.
fn samples(
    datasets: &mut [Dataset],
    limit: Option<usize>,
) -> Result<Vec<NamedSession>, BenchError> {
    let mut seen = BTreeSet::new();
    let mut samples = Vec::new();
    for dataset in datasets {
        let mut questions: BTreeMap<String, Vec<Question>> = BTreeMap::new();
        for question in &dataset.questions {
            questions.entry(question.session.clone()).or_default().push(question.clone());
        }
        for session in dataset.sessions.iter_mut().take(limit.unwrap_or(usize::MAX)) {
            if !seen.insert((dataset.name.clone(), session.id.clone())) {
                let (dataset, session) = (dataset.name.clone(), session.id.clone());
                return Err(BenchError::GivenTwice { dataset, session });
            }
            let messages = std::mem::take(&mut session.messages);
            samples.push(NamedSession {
                dataset: dataset.name.clone(),
                questions: questions.remove(&session.id).unwrap_or_default(),
                session: Session { messages, ..session.clone() },
            });
        }
    }
    if samples.is_empty() { Err(BenchError::NoSession) } else { Ok(samples) }
}

/// A warning for each model that bills the run, has no price, and resembles one
/// that has.
fn unpriced(prices: &PriceList, models: &[String]) -> Vec<String> {
    let unpriced = models.iter().filter_map(|name| prices.find(name).err());
    unpriced.filter_map(|unknown| Some(format!("{unknown}: {}", unknown.suggestion()?))).collect()
}

/// Why the vendor's compaction cannot be shown, where it cannot.
fn unreadable(samples: &[NamedSession]) -> Option<String> {
    let reason = |s: &NamedSession| s.session.compactions.iter().find_map(|c| c.unreadable.clone());
    let reasons: Vec<String> = samples.iter().filter_map(reason).collect();
    let first = reasons.first()?;
    Some(format!(
        "the strategy recorded is left out: what the agent had behind its own compactions cannot be \
         repeated in {} of {} ({first})",
        reasons.len(),
        counted(samples.len(), "session")
    ))
}
