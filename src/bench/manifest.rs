//! The manifest of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Settings;
use recap_core::clock::PROFILE;
use recap_core::model::{
    INSTRUMENT, MARGIN, Manifest, OFFLINE, Planned, Prices, Provenance, Session, Source,
};
use recap_core::tokens::Counter;
use recap_formats::Dataset;
use recap_replay::run::{ModelRoles, RunSpec};
use recap_strategy::Strategy;

/// The agent that recorded everything, where it is one.
pub(super) fn agent(datasets: &[Dataset]) -> Option<String> {
    let (first, others) = datasets.split_first()?;
    first.agent.clone().filter(|_| others.iter().all(|other| other.agent == first.agent))
}

/// The manifest of a run before its roles are filled.
pub(super) fn of_plan(
    spec: &RunSpec,
    datasets: &[Dataset],
    counter: &Counter,
    settings: &Settings,
) -> Manifest {
    let strategy = |p: &Arc<Strategy>| Provenance { name: p.name.clone(), hash: p.hash.clone() };
    let files = datasets.iter().flat_map(|d| &d.files);
    Manifest {
        title: datasets.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join("+"),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instrument: INSTRUMENT,
        seed: spec.seed,
        tokens: counter.describe(),
        windows: spec.windows.labels(),
        scaled: spec.scaled,
        cuts: spec.cuts.to_string(),
        compact_at: settings.compact_at.clone(),
        grid: None,
        questions: String::new(),
        agent: agent(datasets),
        depth: spec.depth,
        replicates: spec.replicates,
        sessions: files
            .map(|(name, hash)| Provenance { name: name.clone(), hash: hash.clone() })
            .collect(),
        strategies: spec.strategies.iter().map(strategy).collect(),
        savers: (spec.strategies.iter().filter(|one| one.is_saver()))
            .map(|one| one.name.clone())
            .collect(),
        compactor: OFFLINE.to_owned(),
        answerer: OFFLINE.to_owned(),
        judge: OFFLINE.to_owned(),
        embedder: None,
        source: Source::Lexical,
        agent_models: spec.billing_models.names(),
        prices: priced(spec, datasets),
        profile: PROFILE,
        named: Vec::new(),
        comparator: None,
        margin: MARGIN,
        no_text: false,
        shard: settings.shard,
        planned: Planned::default(),
        warnings: datasets.iter().flat_map(|d| d.warnings.clone()).collect(),
    }
}

/// The same with the names of the models in the roles.
pub(super) fn with_roles(manifest: Manifest, spec: &RunSpec, roles: &ModelRoles) -> Manifest {
    let answerer = roles.answerer.as_ref();
    let searched = spec.strategies.iter().any(|strategy| strategy.searches_sessions());
    let embedder = roles.embedder.as_ref().map_or(OFFLINE, |embedder| embedder.name());
    Manifest {
        compactor: roles.compactor.name().to_owned(),
        answerer: answerer.map_or(OFFLINE, |answerer| answerer.name()).to_owned(),
        judge: roles.judge.name().to_owned(),
        embedder: searched.then(|| embedder.to_owned()),
        source: match (answerer, roles.judge.source()) {
            (Some(_), Source::Model) => Source::Model,
            _ => Source::Lexical,
        },
        ..manifest
    }
}

/// The part of the price list that the run needs: the models that pay, those
/// that the recordings name, and the one that compacts. What recordings name
/// also stands under the names that they give it.
fn priced(spec: &RunSpec, datasets: &[Dataset]) -> Prices {
    let billing_models = &spec.billing_models;
    let list = billing_models.list();
    let sessions = || datasets.iter().flat_map(|d| &d.sessions);
    let billing_models = sessions().flat_map(|t| {
        let recorded = t.model.as_deref();
        let others = t.other_models.values().map(|model| billing_models.recorded(Some(model)));
        billing_models
            .of(recorded, &[])
            .into_iter()
            .chain([billing_models.recorded(recorded)])
            .chain(others)
    });
    let billing_models = billing_models.chain(spec.compactor.as_deref().cloned());
    let billing_models = billing_models.map(|billed| (billed.model.clone(), billed.model));
    let recorded = sessions().flat_map(recorded_models);
    let recorded =
        recorded.filter_map(|named| Some((named.clone(), list.priced(&named)?.id.clone())));
    let models: BTreeMap<String, String> = billing_models.chain(recorded).collect();
    let models = models.into_iter().filter_map(|(name, id)| Some((name, list.entry(&id)?.clone())));
    Prices {
        name: list.name.clone(),
        date: list.date.clone(),
        hash: list.hash.clone(),
        models: models.collect(),
    }
}

/// Every model that a recording names, as it does.
fn recorded_models(session: &Session) -> impl Iterator<Item = String> + '_ {
    let others = session.other_models.values();
    let subagents = session.sidechains.iter().filter_map(|request| request.model.as_ref());
    let calls = session.compactions.iter().filter_map(|made| made.call.as_ref()?.model.as_ref());
    let totals = session.totals.iter().filter_map(|total| total.model.as_ref());
    session.model.iter().chain(others).chain(subagents).chain(calls).chain(totals).cloned()
}
