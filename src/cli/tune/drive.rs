//! The rounds of a search, one after the other, until it has ended.

#![allow(clippy::disallowed_methods, reason = "shows what has passed")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::files;
use super::{Arguments, model_name, wire};
use crate::bench::{MergeError, Outcome};
use crate::cli::exchange::Exchange;
use crate::cli::exit::{Exit, Failure};
use crate::cli::progress::{Progress, Verbosity};
use crate::cli::work::{Stopped, Work as Runtime};
use crate::pricing::PriceList;
use crate::run::Seats;
use crate::text::counted;
use crate::tokens::Counter;
use crate::tune::{
    Closed, Cluster, Group, Journal, Next, Race, Recommended, RoundError, Rounds, Rule, Search,
    Settings, Space, Split, Work, has_shards, recommend, tuned,
};

/// Folder of the run on held-back sessions.
const HELD_BACK: &str = "held-back";
/// The author's setting.
const AUTHOR: usize = 0;

/// A search under way.
pub(super) struct Drive<'a> {
    pub arguments: &'a Arguments,
    pub space: Space,
    pub settings: Settings,
    pub split: Split,
    pub title: String,
    pub rule: Rule,
    pub folder: PathBuf,
    pub journal: Journal,
    pub race: Race,
    pub rounds: Rounds,
}

/// The round that is open.
enum Open {
    /// A round of the search.
    Search(Work),
    /// The recommended setting and the author's on held-back sessions.
    HeldBack(Work),
    /// Nothing is left to do.
    Finished,
}

/// Who sits where, for each compactor, and the model's name in the price list.
pub(super) struct Desks {
    by_compactor: BTreeMap<String, (Seats, Option<String>)>,
    exchange: Option<Exchange>,
}

impl Desks {
    /// Fills the seats for every compactor of the settings.
    pub fn fill(
        arguments: &Arguments,
        settings: &Settings,
        (prices, counter): (&Arc<PriceList>, &Arc<Counter>),
    ) -> Result<Self, Failure> {
        let mut names: Vec<String> =
            settings.all.iter().map(|setting| setting.compactor.clone()).collect();
        names.sort();
        names.dedup();
        let seed = arguments.replay.seed;
        let (seats, exchange) = arguments.seating.fill_each(&names, counter, prices, seed)?;
        let mut by_compactor = BTreeMap::new();
        for (name, seats) in names.into_iter().zip(seats) {
            let model = model_name::parse(&name)?.map(|model| model.id());
            by_compactor.insert(name, (seats, model));
        }
        Ok(Self { by_compactor, exchange })
    }
}

impl Drive<'_> {
    /// Goes on until the search has ended, or its part of a round is done.
    /// Without desks nothing is replayed: shards are put together.
    pub fn run(mut self, desks: Option<Desks>) -> Result<Exit, Failure> {
        let Some(desks) = desks else { return self.close_shards() };
        loop {
            let (work, held_back) = match self.open() {
                Open::Search(work) => (work, false),
                Open::HeldBack(work) => (work, true),
                Open::Finished => {
                    if self.arguments.search.shard.is_some() {
                        wire::say("the search has ended: --close writes its result");
                        return Ok(Exit::Done);
                    }
                    return self.finish(desks.exchange.as_ref());
                }
            };
            if let Some(exit) = self.round(work, held_back, &desks)? {
                return Ok(exit);
            }
        }
    }

    /// The round that comes next. Once held-back sessions were replayed, nothing
    /// is searched any more, whatever budget is left.
    fn open(&self) -> Open {
        if self.journal.held_back.is_some() {
            return Open::Finished;
        }
        if let Next::Work(work) = self.race.next(self.affordable()) {
            return Open::Search(work);
        }
        match self.recommended().setting {
            Some(setting) if setting != AUTHOR => Open::HeldBack(Work {
                settings: vec![AUTHOR, setting],
                from: 0,
                to: self.split.held_back.len(),
            }),
            _ => Open::Finished,
        }
    }

    fn recommended(&self) -> Recommended {
        recommend(&self.race, self.rule.seed)
    }

    /// The cells that the budgets leave; `None`: any number. What a cell takes
    /// in time and dollars is told by the rounds so far.
    fn affordable(&self) -> Option<u64> {
        let search = &self.arguments.search;
        let used: u64 = self.race.rounds.iter().map(|round| round.cells).sum();
        let spent = |of: fn(&Closed) -> f64| self.journal.rounds.iter().map(of).sum::<f64>();
        let by_rate = |most: f64, spent: f64| match (most - spent, used) {
            (left, _) if left <= 0.0 => Some(0),
            (_, 0) => None,
            (_, _) if spent <= 0.0 => None,
            (left, used) => Some((left / (spent / used as f64)) as u64),
        };
        let cells = search.max_cells.map(|most| most.saturating_sub(used));
        let minutes = search.max_minutes;
        let minutes = minutes.and_then(|most| by_rate(60.0 * most, spent(|round| round.seconds)));
        let dollars = self.arguments.seating.line.most_dollars();
        let dollars = dollars.and_then(|most| by_rate(most, spent(|round| round.usd)));
        [cells, minutes, dollars].into_iter().flatten().min()
    }

    /// Replays a round, or a shard of it; how the program ends, if it does.
    fn round(
        &mut self,
        work: Work,
        held_back: bool,
        desks: &Desks,
    ) -> Result<Option<Exit>, Failure> {
        let (folder, clusters) = self.place(&work, held_back);
        let shard = self.arguments.search.shard;
        if shard.is_none() && has_shards(&folder) {
            return Err(Failure::usage(format!("{}: the open round has shards", folder.display()))
                .help("put them together with --close, or remove that folder"));
        }
        self.tell(&work, held_back, &clusters);
        let begun = Instant::now();
        let (mut figures, mut usd) = (Vec::new(), 0.0);
        let mut runtime = Runtime::new(self.arguments.jobs().min(wire::cores()))?;
        for group in self.rounds.groups(&work.settings) {
            let (seats, model) = &desks.by_compactor[&group.compactor];
            let progress = Progress::new(self.verbosity());
            let desk = (seats.clone(), model.clone(), shard);
            let replay = self.rounds.replay(&group, &clusters, desk, &folder, &progress);
            let ran = runtime.run(replay);
            progress.finish();
            let outcome = match ran {
                Ok(outcome) => outcome.map_err(refused)?,
                Err(Stopped(exit)) => return Ok(Some(self.interrupted(exit))),
            };
            if let Some(outcome) = outcome.filter(|_| shard.is_none()) {
                usd += spent(&outcome);
                figures.extend(self.rounds.figures(&group, &outcome));
            }
        }
        drop(runtime);
        if let Some(exchange) = &desks.exchange {
            exchange.save()?;
            // Cells without replies of a model are no figures.
            let ended = exchange.ended()?;
            if ended != Exit::Done {
                return Ok(Some(self.interrupted(ended)));
            }
        }
        if let Some(shard) = shard {
            wire::say(&format!("shard {shard} of the open round is in {}", folder.display()));
            return Ok(Some(Exit::Done));
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.close(Closed { work, figures, seconds, usd }, held_back)?;
        Ok(None)
    }

    /// Adds a round to the journal and removes its folder, whose figures are in
    /// the journal now; that of the held-back sessions stays.
    fn close(&mut self, closed: Closed, held_back: bool) -> Result<(), Failure> {
        if held_back {
            return Ok(self.journal.close_held_back(closed)?);
        }
        let (folder, _) = self.place(&closed.work, false);
        self.journal.close(closed.clone())?;
        self.race.close(closed.work, closed.figures);
        files::remove_folder(&folder)?;
        if let Some(round) = self.race.rounds.last().filter(|round| !round.dropped.is_empty()) {
            let dropped: Vec<String> = round.dropped.iter().map(ToString::to_string).collect();
            self.say(&format!("dropped: {}", dropped.join(", ")));
        }
        Ok(())
    }

    /// `--close`: puts the shards of the open round together.
    fn close_shards(mut self) -> Result<Exit, Failure> {
        let (work, held_back) = match self.open() {
            Open::Search(work) => (work, false),
            Open::HeldBack(work) => (work, true),
            Open::Finished => return self.finish(None),
        };
        let (folder, clusters) = self.place(&work, held_back);
        let (mut figures, mut usd) = (Vec::new(), 0.0);
        for group in self.rounds.groups(&work.settings) {
            if let Some(outcome) = self.merged(&group, &clusters, &folder)? {
                usd += spent(&outcome);
                figures.extend(self.rounds.figures(&group, &outcome));
            }
        }
        // How long the shards took is not known here.
        self.close(Closed { work, figures, seconds: 0.0, usd }, held_back)?;
        match self.open() {
            Open::Finished => self.finish(None),
            Open::Search(_) => {
                wire::say("the round is closed; the next one is open");
                Ok(Exit::Incomplete)
            }
            Open::HeldBack(_) => {
                wire::say("the search has ended; the held-back sessions are open");
                Ok(Exit::Incomplete)
            }
        }
    }

    fn merged(
        &self,
        group: &Group,
        clusters: &[Cluster],
        folder: &std::path::Path,
    ) -> Result<Option<Outcome>, Failure> {
        self.rounds.merged(group, clusters, folder).map_err(|error| match error {
            RoundError::NoShard { .. } => Failure::usage(error.to_string())
                .help("replay the open round with --shard 1/N to --shard N/N first"),
            RoundError::Merge(MergeError::Missing { .. }) => Failure::usage(error.to_string())
                .help("make the missing shards, then --close again"),
            other => refused(other),
        })
    }

    /// The folder of a round, and its clusters.
    fn place(&self, work: &Work, held_back: bool) -> (PathBuf, Vec<Cluster>) {
        match held_back {
            true => (self.folder.join(HELD_BACK), self.split.held_back.clone()),
            false => {
                let number = self.race.rounds.len() + 1;
                let clusters = self.split.search[work.from..work.to].to_vec();
                (self.folder.join(Work::folder(number)), clusters)
            }
        }
    }

    /// Writes the result and prints it.
    fn finish(self, exchange: Option<&Exchange>) -> Result<Exit, Failure> {
        let search = Search {
            space: &self.space,
            settings: &self.settings,
            split: &self.split,
            objective: self.arguments.search.objective,
            rule: self.rule,
            title: self.title.clone(),
            depth: self.arguments.replay.depth,
        };
        let ended = match self.race.next(None) {
            Next::Work(_) => "The budget ended before every setting that is left had every session",
            Next::Over | Next::TooDear => {
                "Every setting that is left was replayed on every session of the search"
            }
        };
        let recommended = self.recommended();
        let result = tuned(&search, &self.race, &self.journal, &recommended, ended);
        if let Some(exchange) = exchange {
            let rounds = self.journal.rounds.iter().chain(&self.journal.held_back);
            exchange.report_cap(rounds.map(|round| round.usd).sum());
        }
        files::write(&self.folder, &search, result, self.arguments.json)?;
        Ok(Exit::Done)
    }

    fn tell(&self, work: &Work, held_back: bool, clusters: &[Cluster]) {
        let sessions: usize = clusters.iter().map(|cluster| cluster.sessions.len()).sum();
        let settings = counted(work.settings.len(), "setting");
        let sessions = counted(sessions, "session");
        self.say(&match held_back {
            true => format!("held-back sessions: {settings} on {sessions}"),
            false => {
                let number = self.race.rounds.len() + 1;
                format!("round {number}: {settings} on {sessions}")
            }
        });
    }

    fn say(&self, line: &str) {
        if self.verbosity() != Verbosity::Quiet {
            wire::say(line);
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
        wire::say(&format!("the open round is not done; what finished is in {path}"));
        wire::say("help: the same command with --out and --resume goes on");
        exit
    }
}

/// What the calls of a run cost.
fn spent(outcome: &Outcome) -> f64 {
    outcome.finished.calls.iter().filter_map(|call| call.usd).sum()
}

fn refused(error: RoundError) -> Failure {
    match error {
        RoundError::Bench(error) => error.into(),
        RoundError::Folder(error) => error.into(),
        RoundError::Merge(_) | RoundError::NoShard { .. } => Failure::usage(error.to_string())
            .help("make all shards of the round with the same inputs and options"),
    }
}
