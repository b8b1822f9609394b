//! `recap tune`: a search over the parameters of a strategy.

mod files;
mod options;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::bench::new_folder;
use super::exit::{Exit, Failure};
use super::model_session::ModelSession;
use super::progress::{Progress, Verbosity};
use super::role_options::{QuestionSource, RoleOptions};
use super::work::{Stopped, Work};
use super::{authoring, headings, inputs, model_name, models, wire};
use crate::bench::{self, Inputs, Questions};
use crate::tune::{
    AUTHOR, Cluster, Figures, Objective, Runs, Search, Searched, Settings, Space, SpaceError,
    Split, held_back, split, tuned,
};
use options::{ReplayOptions, SearchOptions};
use recap_billing::pricing::PriceList;
use recap_core::model::OFFLINE;
use recap_core::text::counted;
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_formats::Dataset;
use recap_measure::SessionFigures;
use recap_replay::run::{ModelRoles, REPLIES};

/// Options of `recap tune`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A bundled data set, or files or folders of a known format [default: quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    /// Print only the result, as JSON
    #[arg(long)]
    json: bool,

    /// No progress, only the table
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten, next_help_heading = headings::SEARCH)]
    search: SearchOptions,

    #[command(flatten, next_help_heading = headings::ROLES)]
    role_options: RoleOptions,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    replay: ReplayOptions,

    /// Model whose prices and cache rules bill the sessions [default: the recorded model]
    #[arg(long, value_name = "MODEL", help_heading = headings::BILL)]
    agent_model: Option<String>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,

    /// Folder of the search: new, empty, or that of a search to go on with [default:
    /// reports/TIME-tune-NAME]
    #[arg(long, value_name = "DIR", help_heading = headings::REPORT)]
    out: Option<PathBuf>,

    /// Go on with the search in --out, if there is one
    #[arg(long, requires = "out", help_heading = headings::REPORT)]
    resume: bool,
}

/// Settings that take part where neither the command nor the space says how many.
const SETTINGS: usize = 16;

/// Folder of the runs on the sessions of the search.
const SEARCH: &str = "search";
/// Folder of the runs on held-back sessions.
const HELD_BACK: &str = "held-back";

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let space = Space::find(&arguments.search.space)?;
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let counter = wire::counter(arguments.replay.tokens);
    let datasets = arguments.datasets()?;
    let split = arguments.split(&datasets)?;
    let settings = arguments.settings(&space)?;
    let questions = arguments.questions(&datasets)?;
    let desks = Desks::fill(arguments, &settings, (&prices, &counter))?;
    let title: Vec<&str> = datasets.iter().map(|dataset| dataset.name.as_str()).collect();
    let title = title.join("+");
    let folder = arguments.folder(&title)?;
    if let Some(model_session) = &desks.model_session {
        model_session.keep_replies(&folder)?;
        model_session.read_secrets(datasets.iter().flat_map(|dataset| &dataset.sessions));
    }
    let objective = arguments.search.objective;
    let inputs = Inputs { datasets, questions, prices, counter, ..Inputs::default() };
    let runs = Runs::new(inputs, settings.all.clone(), arguments.replay_settings(), objective);
    let mut drive = Drive { arguments, runs, desks, folder, usd: 0.0 };
    let all: Vec<usize> = (0..settings.all.len()).collect();
    let figures = match drive.replay(SEARCH, &all, &split.search)? {
        ControlFlow::Continue(figures) => figures,
        ControlFlow::Break(exit) => return Ok(exit),
    };
    let searched = Searched { settings: all.len(), figures, max_wait: arguments.search.max_wait };
    let seed = arguments.replay.seed;
    let mut recommended = searched.recommend(seed);
    let mut held = None;
    if let Some(setting) = recommended.setting.filter(|setting| *setting != AUTHOR) {
        let figures = match drive.replay(HELD_BACK, &[AUTHOR, setting], &split.held_back)? {
            ControlFlow::Continue(figures) => figures,
            ControlFlow::Break(exit) => return Ok(exit),
        };
        let found = held_back(&figures, setting, objective, seed);
        recommended = searched.confirmed(recommended, &found);
        held = Some(found);
    }
    let search = Search {
        space: &space,
        settings: &settings,
        split: &split,
        objective,
        searched,
        held_back: held,
        title,
        depth: arguments.replay.depth,
        seed,
    };
    drive.finish()?;
    files::write(&drive.folder, &search, tuned(&search, &recommended), arguments.json)?;
    Ok(Exit::Done)
}

/// Who sits where, for each compactor, and the model's name in the price list.
struct Desks {
    by_compactor: BTreeMap<String, (ModelRoles, Option<String>)>,
    model_session: Option<ModelSession>,
}

impl Desks {
    /// Fills the roles for every compactor of the settings.
    fn fill(
        arguments: &Arguments,
        settings: &Settings,
        (prices, counter): (&Arc<PriceList>, &Arc<Counter>),
    ) -> Result<Self, Failure> {
        let mut names: Vec<String> =
            settings.all.iter().map(|setting| setting.compactor.clone()).collect();
        names.sort();
        names.dedup();
        let seed = arguments.replay.seed;
        let (roles, model_session) =
            arguments.role_options.fill_each(&names, counter, prices, seed)?;
        let mut by_compactor = BTreeMap::new();
        for (name, roles) in names.into_iter().zip(roles) {
            let model = model_name::parse(&name)?.map(|model| model.id());
            by_compactor.insert(name, (roles, model));
        }
        Ok(Self { by_compactor, model_session })
    }
}

/// A search under way.
struct Drive<'a> {
    arguments: &'a Arguments,
    runs: Runs,
    desks: Desks,
    folder: PathBuf,
    /// What the calls cost so far.
    usd: f64,
}

impl Drive<'_> {
    /// Replays settings on one part of the sessions; how the program ends, if it
    /// does.
    fn replay(
        &mut self,
        part: &str,
        settings: &[usize],
        clusters: &[Cluster],
    ) -> Result<ControlFlow<Exit, Figures>, Failure> {
        let sessions: usize = clusters.iter().map(|cluster| cluster.sessions.len()).sum();
        if self.verbosity() != Verbosity::Quiet {
            let (settings, sessions) =
                (counted(settings.len(), "setting"), counted(sessions, "session"));
            wire::say(&format!("{part}: {settings} on {sessions}"));
        }
        let folder = self.folder.join(part);
        let mut figures: Vec<(usize, SessionFigures)> = Vec::new();
        let mut work = Work::new(self.arguments.jobs())?;
        for group in self.runs.groups(settings) {
            let desk = self.desks.by_compactor[&group.compactor].clone();
            let progress = Progress::new(self.verbosity());
            let ran = work.run(self.runs.replay(&group, clusters, desk, &folder, &progress));
            progress.finish();
            let record = match ran {
                Ok(record) => record?,
                Err(Stopped(exit)) => return Ok(ControlFlow::Break(self.interrupted(exit))),
            };
            if let Some(record) = record {
                self.usd += record.calls.iter().filter_map(|call| call.usd).sum::<f64>();
                figures.extend(self.runs.figures(&group, &record));
            }
        }
        if let Some(model_session) = &self.desks.model_session {
            model_session.save()?;
            // Cells without replies of a model are no figures.
            let ended = model_session.ended(false)?;
            if ended != Exit::Done {
                return Ok(ControlFlow::Break(self.interrupted(ended)));
            }
        }
        Ok(ControlFlow::Continue(Figures::new(clusters, figures)))
    }

    /// Tells what was spent, and removes the replies, which the runs hold by now.
    fn finish(&self) -> Result<(), Failure> {
        let Some(model_session) = &self.desks.model_session else { return Ok(()) };
        model_session.report_cap(self.usd);
        let replies = self.folder.join(REPLIES);
        match std::fs::remove_file(&replies) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::unwritable(&replies, &e))
            }
            _ => Ok(()),
        }
    }

    fn verbosity(&self) -> Verbosity {
        match self.arguments.quiet || self.arguments.json {
            true => Verbosity::Quiet,
            false => Verbosity::Normal,
        }
    }

    fn interrupted(&self, exit: Exit) -> Exit {
        let path = self.folder.display();
        wire::say(&format!("the search is not done; what finished is in {path}"));
        wire::say("help: the same command with --out and --resume goes on");
        exit
    }
}

impl Arguments {
    /// The folder of the search, new or that of a search to go on with.
    fn folder(&self, title: &str) -> Result<PathBuf, Failure> {
        let Some(folder) = &self.out else { return new_folder(&format!("tune-{title}")) };
        std::fs::create_dir_all(folder).map_err(|e| Failure::unwritable(folder, &e))?;
        let mut entries = std::fs::read_dir(folder).map_err(|e| Failure::unwritable(folder, &e))?;
        let used = |problem: &str| Failure::usage(format!("{}: {problem}", folder.display()));
        let runs = folder.join(SEARCH);
        match (entries.next().is_some(), runs.is_dir()) {
            (true, true) if !self.resume => Err(used("there is a search in this folder")
                .help("add --resume to go on with it, or give another --out")),
            (true, false) => Err(used("this folder holds something else than a search")
                .help("give --out a new or empty folder")),
            _ => {
                std::fs::create_dir_all(&runs).map_err(|e| Failure::unwritable(&runs, &e))?;
                Ok(folder.clone())
            }
        }
    }

    /// The data sets; questions are asked only where answers are the objective.
    fn datasets(&self) -> Result<Vec<Dataset>, Failure> {
        let mut datasets = inputs::load(&self.inputs, &self.replay.reading.options())?;
        for dataset in &mut datasets {
            dataset
                .warnings
                .drain(..)
                .for_each(|warning| wire::say(&format!("warning: {warning}")));
            if self.search.objective == Objective::Kept {
                dataset.questions.clear();
            }
        }
        Ok(datasets)
    }

    /// The two parts of the sessions.
    fn split(&self, datasets: &[Dataset]) -> Result<Split, Failure> {
        let split = split(datasets, self.search.hold_back, self.replay.seed).map_err(|e| {
            Failure::usage(e.to_string())
                .help("give more sessions: one to search on, one to hold back")
        })?;
        if !split.by_project {
            wire::say(
                "warning: at most one project is known, so sessions are split by session: \
                 held-back sessions may resemble those of the search",
            );
        }
        Ok(split)
    }

    fn settings(&self, space: &Space) -> Result<Settings, Failure> {
        let most = self.search.settings.map(usize::from).or(space.most).unwrap_or(SETTINGS);
        let compactor = self.role_options.compactor();
        if let Some(first) = space.compactors.first().filter(|_| compactor != OFFLINE) {
            return Err(Failure::usage(format!(
                "--compactor {compactor} beside `compactors` of the space, which begin with {first}"
            ))
            .help("leave out one of the two"));
        }
        if let (Some(window), false) = (&self.replay.window, space.windows.is_empty()) {
            return Err(Failure::usage(format!(
                "--window {} beside `windows` of the space",
                window.label()
            ))
            .help("leave out one of the two"));
        }
        let settings = Settings::draw(space, most, compactor, self.replay.seed)?;
        if settings.all.len() < 2 {
            let refused = settings.refused.iter().map(|(what, why)| format!("{what}: {why}"));
            let refused: Vec<String> = refused.collect();
            let none = "the space has no setting but the author's";
            return Err(Failure::with_code(
                Exit::Nothing,
                format!("{none}\n{}", refused.join("\n")).trim_end().to_owned(),
            )
            .help("give other values"));
        }
        for setting in &settings.all {
            model_name::parse(&setting.compactor)?;
        }
        Ok(settings)
    }

    /// The questions that all runs ask.
    fn questions(&self, datasets: &[Dataset]) -> Result<Questions, Failure> {
        let questions = match (self.search.objective, self.role_options.questions()) {
            (Objective::Kept, QuestionSource::Auto) => Questions::Own,
            (Objective::Kept, _) => {
                return Err(Failure::usage("--questions without --objective continuity")
                    .help("add it, or leave them out"));
            }
            (Objective::Continuity, QuestionSource::Auto) => Questions::Auto,
            (Objective::Continuity, QuestionSource::File(path)) => authoring::read(path, datasets)?,
            (Objective::Continuity, QuestionSource::None) => {
                return Err(Failure::usage("--objective continuity with --questions none")
                    .help("leave out one of the two"));
            }
            (Objective::Continuity, QuestionSource::Model(model)) => {
                return Err(Failure::usage(format!("--questions {model} in a search")).help(
                    "let it write them once with `recap questions generate INPUT --model MODEL -o \
                     FILE`, and give that FILE",
                ));
            }
        };
        if self.search.objective == Objective::Kept && self.role_options.has_readers() {
            return Err(Failure::usage(
                "--answerer, --judge or --embedder without --objective continuity",
            )
            .help("facts at cuts are looked for without a model: leave them out"));
        }
        if self.replay.cuts == Cuts::None {
            return Err(Failure::usage("--cuts none in a search")
                .help("what is kept is measured at cuts: give a number, all or recorded"));
        }
        Ok(questions)
    }

    /// The settings that all runs have in common.
    fn replay_settings(&self) -> bench::Settings {
        bench::Settings {
            windows: self.replay.window.iter().cloned().collect(),
            no_scale: self.replay.no_scale,
            cuts: self.replay.cuts,
            depth: self.replay.depth,
            replicates: Some(self.replay.replicates),
            seed: self.replay.seed,
            jobs: Some(self.jobs()),
            agent_models: self.agent_model.iter().cloned().collect(),
            ..bench::Settings::default()
        }
    }

    /// Cells that wait for a model take no core.
    fn jobs(&self) -> usize {
        self.replay.jobs.map_or_else(|| self.role_options.jobs(), usize::from)
    }
}

impl From<SpaceError> for Failure {
    fn from(error: SpaceError) -> Self {
        match error {
            SpaceError::Base(base) => base.into(),
            SpaceError::File { .. } => Failure::usage(error.to_string()).help(
                "a space has `version = 1`, `base`, and `[vary]` with keys as --set has them, each \
                 with a list or a range",
            ),
        }
    }
}
