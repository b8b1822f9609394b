//! Counts and mines the transcripts of a run, and plans its cells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::cutting::null;
use super::pool::{RunError, RunSpec, Sample, Seats};
use crate::model::{CellKey, Planned, PlannedPreset, PlannedTranscript};
use crate::pricing::Agent;
use crate::probes::Place;
use crate::replay::{NativeWindow, Plan, Subject, validate};
use crate::tokens::Counter;

/// The cells of a subject, in the order of their keys, and why it is set aside
/// at windows that it does not fit.
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
            // Only a compactor's reply can differ from one time to the next.
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
    pub(super) plans: Vec<(Arc<Subject>, Plan)>,
    set_aside: Vec<String>,
}

impl Prepared {
    /// Transcripts that do not fit a window and are not replayed at it, each
    /// with the reason.
    pub fn set_aside(&self) -> impl Iterator<Item = String> {
        self.set_aside.iter().map(|why| format!("set aside: {why}"))
    }

    /// Every cell and every cut that the run is to bring.
    pub fn planned(&self) -> Planned {
        let mut presets: BTreeMap<&str, PlannedPreset> = BTreeMap::new();
        let mut windows: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for (_, plan) in &self.plans {
            let CellKey { dataset, transcript, strategy, window, replicate } = &plan.key;
            let preset = presets.entry(strategy).or_insert_with(|| PlannedPreset {
                name: strategy.clone(),
                standing: plan.standing(),
                replicates: 1,
            });
            preset.replicates = preset.replicates.max(replicate + 1);
            let windows = windows.entry((dataset, transcript)).or_default();
            if !windows.contains(window) {
                windows.push(window.clone());
            }
        }
        let plans = self.plans.iter().map(|(_, plan)| plan);
        let at_cuts: BTreeSet<String> =
            plans.filter_map(null).map(|plan| plan.key.strategy).collect();
        let transcript = |subject: &Arc<Subject>| {
            let (dataset, transcript) = (&subject.facts.dataset, &subject.facts.transcript);
            let cut = |(place, _): &(Place, _)| (place.request, place.recorded.is_some());
            PlannedTranscript {
                windows: windows.get(&(dataset, transcript)).cloned().unwrap_or_default(),
                dataset: dataset.clone(),
                transcript: transcript.clone(),
                cuts: subject.cuts.iter().map(cut).collect(),
            }
        };
        let mut transcripts: Vec<_> = self.subjects.iter().map(transcript).collect();
        transcripts.sort_by(|a, b| (&a.dataset, &a.transcript).cmp(&(&b.dataset, &b.transcript)));
        Planned {
            presets: presets.into_values().collect(),
            at_cuts: at_cuts.into_iter().collect(),
            transcripts,
        }
    }
}

/// Counts, mines and plans, before anything is written.
///
/// # Errors
/// Every window leaves every transcript too little.
pub async fn prepare(
    spec: &RunSpec,
    transcripts: Vec<Sample>,
    seats: &Seats,
    counter: Arc<Counter>,
) -> Result<Prepared, RunError> {
    let mut subjects = subjects(spec, transcripts, seats, counter).await?;
    let (mut plans, mut set_aside) = (Vec::new(), Vec::new());
    let transcripts = subjects.len();
    subjects.retain(|subject| {
        let (planned, aside) = plan(spec, seats, subject);
        let replayed = !planned.is_empty();
        plans.extend(planned.into_iter().map(|plan| (Arc::clone(subject), plan)));
        set_aside.extend(aside);
        replayed
    });
    if subjects.is_empty() && !set_aside.is_empty() {
        let reasons = set_aside.join("\n");
        return Err(RunError::Windows { transcripts, reasons });
    }
    Ok(Prepared { subjects, plans, set_aside })
}

async fn subjects(
    spec: &RunSpec,
    transcripts: Vec<Sample>,
    seats: &Seats,
    counter: Arc<Counter>,
) -> Result<Vec<Arc<Subject>>, RunError> {
    let gate = Arc::new(Semaphore::new(spec.jobs.max(1)));
    let mut tasks = JoinSet::new();
    for (at, sample) in transcripts.into_iter().enumerate() {
        let (gate, counter) = (Arc::clone(&gate), Arc::clone(&counter));
        let (agents, compactor) = (Arc::clone(&spec.agents), Arc::clone(&seats.compactor));
        let (cuts, depths) = (spec.cuts, spec.depths.clone());
        tasks.spawn(async move {
            let _turn = gate.acquire_owned().await.expect("the gate is never closed");
            let Sample { dataset, transcript, probes } = sample;
            let cuts = (cuts, &depths[..]);
            let subject = Subject::with_cuts(&dataset, transcript, counter, cuts);
            let validation = validate(&subject, &agents, compactor.as_ref()).await;
            (at, Arc::new(subject.with_validation(validation).with_probes(probes)))
        });
    }
    let mut subjects = Vec::new();
    while let Some(done) = tasks.join_next().await {
        subjects.push(done.map_err(|e| RunError::Worker(e.to_string()))?);
    }
    subjects.sort_by_key(|(at, _)| *at);
    Ok(subjects.into_iter().map(|(_, subject)| subject).collect())
}
