//! The runs of a search: one for each window and compactor, on the sessions of
//! one part alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::figures::Objective;
use super::settings::Setting;
use super::split::{Cluster, SessionKey};
use crate::bench::{self, BenchError, Inputs, Strategies, plan};
use recap_core::model::FULL;
use recap_formats::Dataset;
use recap_measure::{SessionFigures, session_figures};
use recap_replay::WindowSpec;
use recap_replay::run::{ModelRoles, Observer, RunError, RunRecord, Windows};
use recap_strategy::{Strategy, builtin};

/// What all runs of a search have in common.
#[derive(Clone, Debug)]
pub struct Runs {
    inputs: Inputs,
    settings: Vec<Setting>,
    replay: bench::Settings,
    objective: Objective,
}

/// Settings that are replayed in one run.
#[derive(Clone, Debug)]
pub struct Group {
    /// The compactor, as typed.
    pub compactor: String,
    /// Number of the group, from 1.
    pub number: usize,
    settings: Vec<usize>,
    window: WindowSpec,
    datasets: Vec<usize>,
}

impl Runs {
    /// `inputs` and `replay` have everything that all runs have in common; the first
    /// window of `replay` is that of settings without one of their own.
    pub fn new(
        inputs: Inputs,
        settings: Vec<Setting>,
        replay: bench::Settings,
        objective: Objective,
    ) -> Self {
        Self { inputs, settings, replay, objective }
    }

    /// The runs of these settings, in a fixed order: settings with the same compactor
    /// and window share one.
    pub fn groups(&self, settings: &[usize]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for at in settings {
            let setting = &self.settings[*at];
            for (number, dataset) in self.inputs.datasets.iter().enumerate() {
                let own = setting.window.clone().or_else(|| self.replay.windows.first().cloned());
                let window = own.unwrap_or_else(|| default_window(dataset));
                let known = groups.iter_mut().find(|group| {
                    group.compactor == setting.compactor && group.window.label() == window.label()
                });
                match known {
                    Some(group) => {
                        if !group.settings.contains(at) {
                            group.settings.push(*at);
                        }
                        if !group.datasets.contains(&number) {
                            group.datasets.push(number);
                        }
                    }
                    None => groups.push(Group {
                        compactor: setting.compactor.clone(),
                        number: groups.len() + 1,
                        settings: vec![*at],
                        window,
                        datasets: vec![number],
                    }),
                }
            }
        }
        groups
    }

    /// The strategies of a group, and the whole conversation where answers are
    /// compared with it.
    fn strategies(&self, group: &Group) -> Vec<Arc<Strategy>> {
        let own = group.settings.iter().map(|at| Arc::clone(&self.settings[*at].strategy));
        let full = (self.objective == Objective::Continuity).then(|| builtin(FULL, &[])).flatten();
        let full = full.and_then(Result::ok).map(Arc::new);
        own.chain(full).collect()
    }

    /// Replays a group on the sessions of some clusters, in a folder below
    /// `folder`. `model` is the group's compactor as the price list names it;
    /// `None`: the offline summary. What an interrupted run left there is taken over.
    /// `None` without a session that fits the window.
    ///
    /// # Errors
    /// If the run cannot be made, or its folder cannot be written.
    pub async fn replay(
        &self,
        group: &Group,
        clusters: &[Cluster],
        (roles, model): (ModelRoles, Option<String>),
        folder: &Path,
        observer: &dyn Observer,
    ) -> Result<Option<RunRecord>, BenchError> {
        let datasets = self.subset(group, clusters);
        if datasets.is_empty() {
            return Ok(None);
        }
        // Not a clone of all inputs, which hold every session.
        let inputs = Inputs {
            datasets,
            strategies: Strategies::Only(self.strategies(group)),
            questions: self.inputs.questions.clone(),
            prices: Arc::clone(&self.inputs.prices),
            counter: Arc::clone(&self.inputs.counter),
            compactor_model: model,
        };
        let windows = vec![group.window.clone()];
        let mut plan = plan(inputs, &bench::Settings { windows, ..self.replay.clone() })?;
        plan.roles = roles;
        let mut run = match plan.prepare().await {
            // A session that is too small for the window tells nothing.
            Err(BenchError::Run(RunError::Windows { .. })) => return Ok(None),
            prepared => prepared?,
        };
        let mut folder = run.resume(&folder.join(format!("run-{}", group.number)))?;
        Ok(Some(run.run(&mut folder, observer).await?))
    }

    /// What a run tells of the settings of its group.
    pub fn figures(&self, group: &Group, record: &RunRecord) -> Vec<(usize, SessionFigures)> {
        let RunRecord { manifest, sessions, results, .. } = record;
        let mut figures = Vec::new();
        for mut one in session_figures(manifest, sessions, results, self.objective.measure()) {
            let named = |at: &&usize| self.settings[**at].strategy.name == one.strategy;
            let Some(setting) = group.settings.iter().find(named) else { continue };
            one.quality = one.quality.map(|(of, to)| (of / self.objective.most(), to));
            figures.push((*setting, one));
        }
        figures
    }

    /// The data sets of a group with the sessions of these clusters alone.
    fn subset(&self, group: &Group, clusters: &[Cluster]) -> Vec<Dataset> {
        let wanted: BTreeSet<&SessionKey> =
            clusters.iter().flat_map(|cluster| &cluster.sessions).collect();
        let is_wanted =
            |dataset: &Dataset, id: &str| wanted.contains(&(dataset.name.clone(), id.to_owned()));
        let subset = |dataset: &Dataset| {
            let own = dataset.sessions.iter().filter(|t| is_wanted(dataset, &t.id));
            let questions = dataset.questions.iter().filter(|p| is_wanted(dataset, &p.session));
            Dataset {
                name: dataset.name.clone(),
                version: dataset.version.clone(),
                licence: dataset.licence.clone(),
                origin: dataset.origin.clone(),
                description: dataset.description.clone(),
                agent: dataset.agent.clone(),
                sessions: own.cloned().collect(),
                warnings: Vec::new(),
                files: dataset.files.clone(),
                questions: questions.cloned().collect(),
            }
        };
        let all = group.datasets.iter().map(|at| subset(&self.inputs.datasets[*at]));
        all.filter(|dataset| !dataset.sessions.is_empty()).collect()
    }
}

/// The window of a data set where none is named, decided by all of its sessions.
fn default_window(dataset: &Dataset) -> WindowSpec {
    let windows = Windows::or_default(Vec::new(), std::slice::from_ref(dataset));
    windows.of(&dataset.name)[0].clone()
}
