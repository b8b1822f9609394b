//! Counts and mines the transcripts of a run, and plans its cells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cutting::null;
use super::pool::side_by_side;
use super::spec::{CutQuestions, RunError, RunSpec, Sample, Seats};
use crate::model::{CellKey, Planned, PlannedPreset, PlannedTranscript, Probe};
use crate::pricing::Agent;
use crate::probes::Place;
use crate::questions;
use crate::replay::{NativeWindow, Plan, Subject, receipt_facts, validate};
use crate::tokens::Counter;

/// The cells of a subject, in the order of their keys, and the reasons why
/// windows that it does not fit are left out.
pub fn plan(spec: &RunSpec, seats: &Seats, subject: &Subject) -> (Vec<Plan>, Vec<String>) {
    let (mut plans, mut set_aside) = (Vec::new(), Vec::new());
    let facts = &subject.facts;
    let agents: Arc<[Agent]> = spec.agents.of(facts.model.as_deref(), &facts.other_models).into();
    let native = NativeWindow::of(&subject.recording.transcript, &spec.agents).tokens;
    for window in spec.windows.of(&subject.facts.dataset) {
        let tokens = match window.tokens(&subject.recording.sizes, native) {
            Ok(tokens) => tokens,
            Err(why) => {
                set_aside.push(format!("{}: {why}", subject.facts.transcript));
                continue;
            }
        };
        for preset in &spec.presets {
            // Only the reply of a compactor can differ between repetitions.
            let replicates = if preset.uses_compactor() { spec.replicates } else { 1 };
            for replicate in 0..replicates {
                plans.push(Plan {
                    key: CellKey {
                        dataset: subject.facts.dataset.clone(),
                        transcript: subject.facts.transcript.clone(),
                        strategy: preset.name.clone(),
                        window: window.label().to_owned(),
                        replicate,
                    },
                    preset: Arc::clone(preset),
                    window: tokens,
                    scaled: spec.scaled,
                    seed: spec.seed,
                    offline: seats.offline,
                    agents: Arc::clone(&agents),
                    compactor: spec.compactor.clone(),
                });
            }
        }
    }
    plans.sort_by(|a, b| a.key.cmp(&b.key));
    (plans, set_aside)
}

/// Transcripts that were counted and mined, and the cells to run on them.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) subjects: Vec<Arc<Subject>>,
    planned: Planned,
    set_aside: Vec<String>,
    transcripts: usize,
}

impl Prepared {
    /// Transcripts that do not fit a window and are not replayed at it, each
    /// with the reason.
    pub fn set_aside(&self) -> impl Iterator<Item = String> {
        self.set_aside.iter().map(|why| format!("set aside: {why}"))
    }

    /// Refuses a run in which no transcript fits any window.
    ///
    /// # Errors
    /// That is so.
    pub fn refuse_nothing(&self) -> Result<(), RunError> {
        if !self.subjects.is_empty() || self.set_aside.is_empty() {
            return Ok(());
        }
        let reasons = self.set_aside.join("\n");
        Err(RunError::Windows { transcripts: self.transcripts, reasons })
    }

    /// Every cell and every cut that the run will produce.
    pub fn planned(&self) -> &Planned {
        &self.planned
    }
}

/// The totals over the plans of all transcripts.
#[derive(Default)]
struct Summed {
    presets: BTreeMap<String, PlannedPreset>,
    at_cuts: BTreeSet<String>,
    transcripts: Vec<PlannedTranscript>,
}

impl Summed {
    fn add(&mut self, subject: &Subject, plans: &[Plan], nulls: bool) {
        let mut windows: Vec<String> = Vec::new();
        for plan in plans {
            let CellKey { strategy, window, replicate, .. } = &plan.key;
            if !self.presets.contains_key(strategy) {
                let (name, standing) = (strategy.clone(), plan.standing());
                let preset = PlannedPreset { name, standing, replicates: 1 };
                self.presets.insert(strategy.clone(), preset);
                let null = null(plan).filter(|_| nulls);
                self.at_cuts.extend(null.map(|null| null.key.strategy));
            }
            let preset = self.presets.get_mut(strategy).expect("it is there by now");
            preset.replicates = preset.replicates.max(replicate + 1);
            if !windows.contains(window) {
                windows.push(window.clone());
            }
        }
        let cut = |(place, _): &(Place, _)| (place.request, place.recorded.is_some());
        self.transcripts.push(PlannedTranscript {
            windows,
            dataset: subject.facts.dataset.clone(),
            transcript: subject.facts.transcript.clone(),
            cuts: subject.cuts.iter().map(cut).collect(),
        });
    }

    fn planned(mut self) -> Planned {
        let key = |one: &PlannedTranscript| (one.dataset.clone(), one.transcript.clone());
        self.transcripts.sort_by_cached_key(key);
        Planned {
            presets: self.presets.into_values().collect(),
            at_cuts: self.at_cuts.into_iter().collect(),
            transcripts: self.transcripts,
        }
    }
}

/// Counts, mines and plans, before anything is written.
///
/// # Errors
/// A worker could not be started.
pub async fn prepare(
    spec: &RunSpec,
    transcripts: Vec<Sample>,
    seats: &Seats,
    counter: Arc<Counter>,
) -> Result<Prepared, RunError> {
    let mut subjects = subjects(spec, transcripts, seats, counter).await?;
    let (mut summed, mut set_aside) = (Summed::default(), Vec::new());
    let transcripts = subjects.len();
    subjects.retain(|subject| {
        let (plans, aside) = plan(spec, seats, subject);
        set_aside.extend(aside);
        if !plans.is_empty() {
            summed.add(subject, &plans, spec.nulls);
        }
        !plans.is_empty()
    });
    // Sorted, so that the parts of a run can be put together in the same order.
    set_aside.sort_unstable();
    Ok(Prepared { subjects, planned: summed.planned(), set_aside, transcripts })
}

async fn subjects(
    spec: &RunSpec,
    transcripts: Vec<Sample>,
    seats: &Seats,
    counter: Arc<Counter>,
) -> Result<Vec<Arc<Subject>>, RunError> {
    let task = |Sample { dataset, transcript, probes }| {
        let counter = Arc::clone(&counter);
        let (agents, compactor) = (Arc::clone(&spec.agents), Arc::clone(&seats.compactor));
        let at = (spec.cuts, spec.depth);
        let made = spec.questions.clone();
        async move {
            let subject = Subject::with_cuts(&dataset, transcript, counter, at);
            let validation = validate(&subject, &agents, compactor.as_ref()).await;
            let questions = cut_questions(&made, &subject, probes.is_empty());
            let receipt = receipt_facts(&subject, &agents);
            let subject = subject.with_validation(validation).with_receipt(receipt);
            subject.with_probes(probes).with_cut_questions(questions)
        }
    };
    let mut subjects = Vec::new();
    let tasks = transcripts.into_iter().map(task).enumerate();
    side_by_side(spec.jobs, tasks, |at, subject| {
        let subject = subject.map_err(|panicked| RunError::Worker(panicked.to_string()))?;
        subjects.push((at, Arc::new(subject)));
        Ok(())
    })
    .await?;
    subjects.sort_by_key(|(at, _)| *at);
    Ok(subjects.into_iter().map(|(_, subject)| subject).collect())
}

/// The questions that are asked at a subject's cuts alone.
fn cut_questions(made: &CutQuestions, subject: &Subject, no_probes: bool) -> Vec<Probe> {
    let facts = &subject.facts;
    match made {
        CutQuestions::None => Vec::new(),
        CutQuestions::Auto if no_probes => {
            let places: Vec<Place> = subject.cuts.iter().map(|(place, _)| place.clone()).collect();
            questions::generate(&subject.recording.transcript, &places)
        }
        CutQuestions::Auto => Vec::new(),
        CutQuestions::Given(given) => {
            let key = (facts.dataset.clone(), facts.transcript.clone());
            given.get(&key).cloned().unwrap_or_default()
        }
    }
}
