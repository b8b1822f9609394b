//! `recap tune`: a search over the parameters of a preset.

mod drive;
mod files;
mod options;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::exit::{Exit, Failure};
use super::seating::{Asked, Seating};
use super::{authoring, bench, headings, inputs, model_name, models, wire};
use crate::bench::{Bench, Questions};
use crate::dataset::Dataset;
use crate::model::{INSTRUMENT, OFFLINE};
use crate::pricing::PriceList;
use crate::probes::Cuts;
use crate::tokens::Counter;
use crate::tune::{
    Header, Journal, JournalError, Objective, Race, Rounds, Rule, Settings, Space, SpaceError,
    Split, split,
};
use drive::{Desks, Drive};
use options::{ReplayOptions, SearchOptions};

/// Options of `recap tune`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Recorded sessions: a bundled data set, a native data set folder, or any file or folder of a
    /// known transcript format [default: quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,

    /// No progress, only the table
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten, next_help_heading = headings::SEARCH)]
    search: SearchOptions,

    #[command(flatten, next_help_heading = headings::SEATS)]
    seating: Seating,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    replay: ReplayOptions,

    /// Model whose prices and cache rules bill the sessions [default: the model that each
    /// recording names; where that has no price, one of its family]
    #[arg(long, value_name = "MODEL", help_heading = headings::BILL)]
    agent_model: Option<String>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,

    /// Folder of the search: a new or empty one, or that of a search to go on with [default:
    /// reports/TIME-tune-NAME]
    #[arg(long, value_name = "DIR", help_heading = headings::REPORT)]
    out: Option<PathBuf>,

    /// Go on with the search in --out: rounds that are over are taken over, and so is what an
    /// interrupted round finished; without a search there one begins
    #[arg(long, requires = "out", help_heading = headings::REPORT)]
    resume: bool,
}

/// Settings that take part where neither the command nor the space says how many.
const SETTINGS: usize = 16;

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let space = Space::find(&arguments.search.space)?;
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let counter = wire::counter(arguments.replay.tokens);
    let datasets = arguments.datasets()?;
    let split = arguments.split(&datasets)?;
    let settings = arguments.settings(&space)?;
    let bench = arguments.bench(&datasets, &prices, &counter)?;
    let desks = match arguments.search.close {
        true => None,
        false => Some(Desks::fill(arguments, &settings, (&prices, &counter))?),
    };
    let header = arguments.header(&space, &settings, (&split, &datasets), (&prices, &counter));
    let title: Vec<&str> = datasets.iter().map(|dataset| dataset.name.as_str()).collect();
    let title = title.join("+");
    let folder = match &arguments.out {
        Some(out) => out.clone(),
        None => bench::new_folder(&format!("tune-{title}"))?,
    };
    let goes_on = arguments.resume || arguments.search.shard.is_some() || arguments.search.close;
    let journal = Journal::open(&folder, &header, goes_on)?;
    let mut race = Race::new(settings.all.len(), split.search.clone(), header.rule);
    for closed in &journal.rounds {
        race.close(closed.work.clone(), closed.figures.clone());
    }
    let rounds = Rounds::new(datasets, settings.all.clone(), bench, arguments.search.objective);
    let drive = Drive {
        arguments,
        space,
        settings,
        split,
        title,
        rule: header.rule,
        folder,
        journal,
        race,
        rounds,
    };
    drive.run(desks)
}

impl Arguments {
    /// The data sets; probes are asked only where answers are the objective.
    fn datasets(&self) -> Result<Vec<Dataset>, Failure> {
        let mut datasets = inputs::load(&self.inputs, &self.replay.reading.options())?;
        for dataset in &mut datasets {
            dataset
                .warnings
                .drain(..)
                .for_each(|warning| wire::say(&format!("warning: {warning}")));
            if self.search.objective == Objective::Kept {
                dataset.probes.clear();
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
        let compactor = self.seating.compactor();
        if let Some(first) = space.compactors.first().filter(|_| compactor != OFFLINE) {
            return Err(Failure::usage(format!(
                "--compactor {compactor} beside `compactors` of the space, which begin with {first}"
            ))
            .help("leave out one of the two"));
        }
        if let (Some(window), false) = (&self.replay.window, space.windows.is_empty()) {
            return Err(Failure::usage(format!("--window {window} beside `windows` of the space"))
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

    /// What all rounds have in common.
    fn bench(
        &self,
        datasets: &[Dataset],
        prices: &Arc<PriceList>,
        counter: &Arc<Counter>,
    ) -> Result<Bench, Failure> {
        let questions = match (self.search.objective, self.seating.questions()) {
            (Objective::Kept, Asked::Auto) => Questions::None,
            (Objective::Kept, _) => {
                return Err(Failure::usage("--questions without --objective continuity")
                    .help("add it, or leave them out"));
            }
            (Objective::Continuity, Asked::Auto) => Questions::Auto,
            (Objective::Continuity, Asked::File(path)) => authoring::read(path, datasets)?,
            (Objective::Continuity, Asked::None) => {
                return Err(Failure::usage("--objective continuity with --questions none")
                    .help("leave out one of the two"));
            }
            (Objective::Continuity, Asked::Model(model)) => {
                return Err(Failure::usage(format!("--questions {model} in a search")).help(
                    "let it write them once with `recap probes generate INPUT --model MODEL -o \
                     FILE`, and give that FILE",
                ));
            }
        };
        if self.search.objective == Objective::Kept && self.seating.has_readers() {
            return Err(Failure::usage(
                "--answerer, --judge or --embedder without --objective continuity",
            )
            .help("facts at cuts are looked for without a model: leave them out"));
        }
        if self.replay.cuts == Cuts::None {
            return Err(Failure::usage("--cuts none in a search")
                .help("what is kept is measured at cuts: give a number, all or recorded"));
        }
        Ok(Bench::new([])
            .prices(Arc::clone(prices))
            .agent_models(&self.agent_model)
            .counter(Arc::clone(counter))
            .cuts(self.replay.cuts, [self.replay.depth])
            .questions(questions)
            .replicates(self.replay.replicates)
            .seed(self.replay.seed)
            .scaled(!self.replay.no_scale)
            .jobs(self.jobs()))
    }

    fn rule(&self) -> Rule {
        Rule {
            margin: self.search.margin,
            false_drops: self.search.false_drops,
            max_wait: self.search.max_wait,
            seed: self.replay.seed,
        }
    }

    /// What a search that goes on must have in common with this one.
    fn header(
        &self,
        space: &Space,
        settings: &Settings,
        (split, datasets): (&Split, &[Dataset]),
        (prices, counter): (&PriceList, &Counter),
    ) -> Header {
        let setting = |one: &crate::tune::Setting| {
            let window = one.window.as_ref().map(|window| window.label().to_owned());
            let window = window.or_else(|| self.replay.window.clone());
            (one.preset.name.clone(), one.preset.hash.clone(), window, one.compactor.clone())
        };
        Header {
            version: 1,
            instrument: INSTRUMENT,
            base: space.base.clone(),
            settings: settings.all.iter().map(setting).collect(),
            objective: self.search.objective,
            rule: self.rule(),
            split: split.clone(),
            files: datasets.iter().flat_map(|dataset| dataset.files.clone()).collect(),
            cuts: (self.replay.cuts.to_string(), self.replay.depth),
            seats: self.seating.readers(),
            replicates: self.replay.replicates,
            scaled: !self.replay.no_scale,
            tokens: counter.describe(),
            prices: (prices.hash.clone(), self.agent_model.clone()),
        }
    }

    fn jobs(&self) -> usize {
        self.replay.jobs.map_or_else(|| self.seating.jobs(), usize::from)
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

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let help = match &error {
            JournalError::Io { .. } => "give --out a folder that may be written to",
            JournalError::Exists { .. } => "add --resume to go on with it, or give another --out",
            JournalError::Foreign { .. } => "give --out a new or empty folder",
            JournalError::Unlike { .. } => {
                "give the same inputs and options as there, or another --out"
            }
            JournalError::Broken { .. } => "begin again with another --out",
        };
        Failure::usage(error.to_string()).help(help)
    }
}
