//! The manifest of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::PROFILE;
use crate::dataset::Dataset;
use crate::model::{
    INSTRUMENT, MARGIN, Manifest, OFFLINE, Planned, Prices, Provenance, Source, Transcript,
};
use crate::run::{RunSpec, Seats};
use crate::strategy::Preset;
use crate::tokens::Counter;

fn title(datasets: &[Dataset]) -> String {
    let names: Vec<&str> = datasets.iter().map(|d| d.name.as_str()).collect();
    names.join("+")
}

/// The agent that recorded everything, where it is one.
fn agent(datasets: &[Dataset]) -> Option<String> {
    let (first, others) = datasets.split_first()?;
    first.agent.clone().filter(|_| others.iter().all(|other| other.agent == first.agent))
}

/// The manifest of a run before its seats are filled.
pub(super) fn of_plan(spec: &RunSpec, datasets: &[Dataset], counter: &Counter) -> Manifest {
    let preset = |p: &Arc<Preset>| Provenance { name: p.name.clone(), hash: p.hash.clone() };
    let files = datasets.iter().flat_map(|d| &d.files);
    Manifest {
        title: title(datasets),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instrument: INSTRUMENT,
        seed: spec.seed,
        tokens: counter.describe(),
        windows: spec.windows.labels(),
        scaled: spec.scaled,
        cuts: spec.cuts.to_string(),
        questions: String::new(),
        followed: None,
        agent: agent(datasets),
        depth: spec.depth,
        replicates: spec.replicates,
        transcripts: files
            .map(|(name, hash)| Provenance { name: name.clone(), hash: hash.clone() })
            .collect(),
        presets: spec.presets.iter().map(preset).collect(),
        compactor: OFFLINE.to_owned(),
        answerer: OFFLINE.to_owned(),
        judge: OFFLINE.to_owned(),
        embedder: None,
        source: Source::Lexical,
        agent_models: spec.agents.names(),
        prices: priced(spec, datasets),
        profile: PROFILE,
        named: Vec::new(),
        comparator: None,
        margin: MARGIN,
        no_text: false,
        shard: None,
        planned: Planned::default(),
        warnings: datasets.iter().flat_map(|d| d.warnings.clone()).collect(),
    }
}

/// The same with the names of the models in the seats.
pub(super) fn with_seats(manifest: Manifest, spec: &RunSpec, seats: &Seats) -> Manifest {
    Manifest {
        compactor: seats.compactor.name().to_owned(),
        answerer: seats.answerer.name().to_owned(),
        judge: seats.judge.name().to_owned(),
        embedder: embedder(spec, seats),
        source: match (seats.answerer.source(), seats.judge.source()) {
            (Source::Model, Source::Model) => Source::Model,
            _ => Source::Lexical,
        },
        ..manifest
    }
}

/// What ranks closed sessions, where a preset searches them.
fn embedder(spec: &RunSpec, seats: &Seats) -> Option<String> {
    let searched = spec.presets.iter().any(|preset| preset.searches_sessions());
    let name = seats.embedder.as_ref().map_or(OFFLINE, |embedder| embedder.name());
    searched.then(|| name.to_owned())
}

/// The part of the price list that the run needs: the models that pay, those
/// that the recordings name, and the one that compacts. What recordings name
/// also stands under the names that they give it.
fn priced(spec: &RunSpec, datasets: &[Dataset]) -> Prices {
    let agents = &spec.agents;
    let list = agents.list();
    let transcripts = || datasets.iter().flat_map(|d| &d.transcripts);
    let payers = transcripts().flat_map(|t| {
        let recorded = t.model.as_deref();
        let others = t.other_models.values().map(|model| agents.recorded(Some(model)));
        agents.of(recorded, &[]).into_iter().chain([agents.recorded(recorded)]).chain(others)
    });
    let payers = payers.chain(spec.compactor.as_deref().cloned());
    let payers = payers.map(|agent| (agent.model.clone(), agent.model));
    let recorded = transcripts().flat_map(recorded_models);
    let recorded =
        recorded.filter_map(|named| Some((named.clone(), list.priced(&named)?.id.clone())));
    let models: BTreeMap<String, String> = payers.chain(recorded).collect();
    let models = models.into_iter().filter_map(|(name, id)| Some((name, list.entry(&id)?.clone())));
    Prices {
        name: list.name.clone(),
        date: list.date.clone(),
        hash: list.hash.clone(),
        models: models.collect(),
    }
}

/// Every model that a recording names, as it does.
fn recorded_models(transcript: &Transcript) -> impl Iterator<Item = String> + '_ {
    let others = transcript.other_models.values();
    let subagents = transcript.sidechains.iter().filter_map(|request| request.model.as_ref());
    let calls = transcript.compactions.iter().filter_map(|made| made.call.as_ref()?.model.as_ref());
    transcript.model.iter().chain(others).chain(subagents).chain(calls).cloned()
}
