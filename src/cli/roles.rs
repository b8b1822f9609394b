//! The options that fill the roles, and those of calls to models: cassette, budget, limits,
//! redaction.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use super::model_session::{self, ModelSession};
use super::{headings, wire};
use crate::bench::cores;
use crate::failure::{Exit, Failure};
use recap_billing::pricing::PriceList;
use recap_core::model::{OFFLINE, Shard};
use recap_core::tokens::Counter;
use recap_exam::roles::embedder::Embedder;
use recap_exam::roles::{answerer, compactor, judge};
use recap_llm::cassette::{Mode, Scrub};
use recap_llm::{Budget, Cassette, Client, DryRunCalls, Limits, Options};
use recap_replay::run::ModelRoles;
use recap_strategy::Strategy;

/// The roles of a run.
#[derive(Clone, Debug, Args)]
pub struct RoleOptions {
    /// Who writes summaries: `offline`, or provider/model (openai/…, anthropic/…, gemini/…,
    /// ollama/…, NAME/… with NAME_BASE_URL) with the key in NAME_API_KEY; settings follow a `?`
    /// (`?temperature=0&effort=low&room=4096`)
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    compactor: String,

    /// The model that answers the questions; `offline`: none, and answers are looked for in the
    /// contexts (findable)
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    answerer: String,

    /// Who grades the answers of a model, and decides at cuts whether what was written of a fact is
    /// true; two are a panel, a third decides where they disagree
    #[arg(long, value_name = "MODEL", default_values_t = [OFFLINE.to_owned()])]
    judge: Vec<String>,

    /// Who ranks closed sessions where a strategy lets the answerer search them: a model at
    /// OpenAI's /embeddings, or `offline`, by words (BM25)
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    embedder: String,

    /// Questions asked right after a compaction, besides those of the data sets: `auto` makes them
    /// from each session without its own, `none` asks none, a file of `recap questions generate`
    /// holds them, a model (provider/model) writes them
    #[arg(long, value_name = "auto|none|FILE|MODEL", default_value = "auto")]
    questions: String,

    #[command(flatten)]
    pub calls: CallOptions,
}

/// The questions at cuts, as typed.
pub(super) enum QuestionSource<'a> {
    Auto,
    None,
    File(&'a Path),
    Model(&'a str),
}

impl RoleOptions {
    /// The same roles for a part of a run, which has an equal part of what may be spent and
    /// called.
    ///
    /// # Errors
    /// If there are fewer calls a minute than parts.
    pub(super) fn of_shard(&self, shard: Option<Shard>) -> Result<RoleOptions, Failure> {
        let mut own = self.clone();
        let Some(Shard { of, .. }) = shard else { return Ok(own) };
        own.calls.max_cost = self.calls.max_cost.map(|usd| usd / f64::from(of));
        if let Some(all) = self.calls.per_minute {
            own.calls.per_minute = NonZero::new(all.get() / of);
            own.calls.per_minute.ok_or_else(|| {
                Failure::usage(format!(
                    "--per-minute {all} is less than one call a minute for each of the {of} shards"
                ))
                .help("raise it, or make fewer shards")
            })?;
        }
        Ok(own)
    }

    /// How many cells run at a time where the user does not say: those that wait
    /// for a model take no core.
    pub(super) fn jobs(&self) -> usize {
        let waiting = if self.has_models() { self.calls.concurrency() } else { 1 };
        cores().max(waiting)
    }

    /// What was typed for each role, `offline` or a model.
    fn typed(&self) -> impl Iterator<Item = &str> {
        let roles = [&self.compactor, &self.answerer, &self.embedder];
        roles.into_iter().chain(&self.judge).map(String::as_str).chain(self.author())
    }

    /// Whether any role is filled by a model.
    pub(super) fn has_models(&self) -> bool {
        self.typed().any(|typed| typed != OFFLINE)
    }

    /// The questions at cuts as typed. What exists or is called `*.jsonl` is a
    /// file; anything else with a `/` is a model.
    pub(super) fn questions(&self) -> QuestionSource<'_> {
        let path = Path::new(&self.questions);
        let is_file = path.exists() || path.extension().is_some_and(|end| end == "jsonl");
        match self.questions.as_str() {
            "auto" => QuestionSource::Auto,
            "none" => QuestionSource::None,
            model if model.contains('/') && !is_file => QuestionSource::Model(model),
            _ => QuestionSource::File(path),
        }
    }

    /// The model that writes the questions.
    pub(super) fn author(&self) -> Option<&str> {
        match self.questions() {
            QuestionSource::Model(model) => Some(model),
            _ => None,
        }
    }

    /// The model in the compactor's role, by its name in the price list.
    pub(super) fn compactor_id(&self) -> Result<Option<String>, Failure> {
        Ok(model_session::parse(&self.compactor)?.map(|model| model.id()))
    }

    /// Refuses models that would never be called: for answering and grading
    /// where no questions are asked, and for embedding where no strategy searches
    /// sessions; and a model whose questions could not be asked again.
    pub(super) fn refuse(&self, asks: bool, strategies: &[Arc<Strategy>]) -> Result<(), Failure> {
        let would_be_asked = self.has_answerer()
            || self.has_embedder()
            || self.judge.iter().any(|judge| judge != OFFLINE)
            || !matches!(self.questions(), QuestionSource::Auto);
        if !asks && would_be_asked {
            return Err(Failure::usage("`recap replay` asks no questions").help(
                "leave out --answerer, --judge, --embedder and --questions, or use `recap bench`",
            ));
        }
        if !self.has_answerer() && self.has_embedder() {
            return Err(Failure::usage("--embedder without --answerer").help(
                "add --answerer MODEL: where no model answers, nothing is graded or searched",
            ));
        }
        if let Some(model) = self.author() {
            model_session::parse(model)?;
            if self.calls.cassette.is_none() {
                return Err(Failure::usage(format!("--questions {model} without a cassette")).help(
                    "add --cassette FILE --record, so that the same questions are asked when the \
                     run is made again",
                ));
            }
        }
        let Some(embedder) = model_session::parse(&self.embedder)? else { return Ok(()) };
        embedder.embedder()?;
        if !strategies.iter().any(|strategy| strategy.searches_sessions()) {
            return Err(Failure::usage("--embedder without a strategy that searches sessions").help(
                "add one, such as --strategy lis or --set STRATEGY.recovery=sessions, or leave it \
                 out",
            ));
        }
        Ok(())
    }

    /// Whether a model answers, which then chooses its own search queries.
    pub(super) fn has_answerer(&self) -> bool {
        self.answerer != OFFLINE
    }

    /// Whether a model embeds.
    pub(super) fn has_embedder(&self) -> bool {
        self.embedder != OFFLINE
    }

    /// The roles with their models.
    pub(super) fn fill(
        &self,
        counter: &Arc<Counter>,
        prices: &Arc<PriceList>,
        seed: u64,
    ) -> Result<(ModelRoles, ModelSession), Failure> {
        let typed: Vec<&str> = self.typed().collect();
        let mut model_session = ModelSession::open(&self.calls, &typed, prices, seed)?;
        Ok((self.filled(counter, &mut model_session)?, model_session))
    }

    /// The roles of a dry run, which count calls instead of making them.
    pub(super) fn dry_run(
        &self,
        counter: &Arc<Counter>,
        prices: &Arc<PriceList>,
        planned: &Arc<DryRunCalls>,
    ) -> Result<(ModelRoles, ModelSession), Failure> {
        let mut model_session = ModelSession::dry_run(&self.calls, prices, counter, planned)?;
        let mut roles = self.filled(counter, &mut model_session)?;
        if !roles.offline {
            let dry_run = compactor::DryRunCompactor::new;
            roles.compactor = Arc::new(dry_run(roles.compactor, counter, Arc::clone(planned)));
        }
        Ok((roles, model_session))
    }

    fn filled(
        &self,
        counter: &Arc<Counter>,
        model_session: &mut ModelSession,
    ) -> Result<ModelRoles, Failure> {
        let mut roles = ModelRoles::offline(counter);
        if let Some(llm) = model_session.llm(&self.compactor)? {
            roles.compactor = Arc::new(compactor::Llm::new(llm, Arc::clone(counter)));
            roles.offline = false;
        }
        if let Some(llm) = model_session.llm(&self.answerer)? {
            roles.answerer = Some(Arc::new(answerer::Llm::new(llm)));
        }
        roles.judge = judges(&self.judge, model_session)?;
        model_session.grade_with(&self.judge);
        roles.embedder =
            model_session.embedder(&self.embedder)?.map(|llm| Arc::new(Embedder::new(llm)));
        roles.calls = self.has_models().then(|| Arc::clone(&model_session.calls));
        Ok(roles)
    }
}

/// One judge, or a panel of two or three.
pub(super) fn judges(
    typed: &[String],
    model_session: &mut ModelSession,
) -> Result<Arc<dyn judge::Judge>, Failure> {
    let mut judges: Vec<Arc<dyn judge::Judge>> = Vec::new();
    for name in typed {
        judges.push(match model_session.llm(name)? {
            Some(llm) => Arc::new(judge::Llm::new(llm)),
            None => Arc::new(judge::Offline),
        });
    }
    if judges.len() == 1 {
        return Ok(judges.remove(0));
    }
    let panel = judge::Panel::new(judges).map_err(|problem| {
        Failure::usage(problem).help("name --judge once, twice, or three times")
    })?;
    Ok(Arc::new(panel))
}

// The options of calls to models: cassette, budget, limits, redaction.

/// How models are called.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = headings::CALLS)]
pub struct CallOptions {
    /// Recording of calls, with --record or --replay
    #[arg(long, value_name = "FILE")]
    cassette: Option<PathBuf>,

    /// Add every call to the cassette; calls that it holds are not sent
    #[arg(long, requires = "cassette", conflicts_with = "replay")]
    record: bool,

    /// Read every call from the cassette; nothing is sent
    #[arg(long, requires = "cassette")]
    pub(super) replay: bool,

    /// Largest cost of all calls to models: no call that could exceed it is made, and `recap bench`
    /// makes none where more is expected
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,

    /// Calls under way at a time, for each model
    #[arg(long, value_name = "N", default_value = "16")]
    concurrency: NonZero<u32>,

    /// Calls begun in a minute, for each model [default: any number]
    #[arg(long, value_name = "N")]
    per_minute: Option<NonZero<u32>>,

    /// Requests for a call at most, the first included
    #[arg(long, value_name = "N", default_value = "5")]
    attempts: NonZero<u32>,

    /// Seconds that a model may take for a reply
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    timeout: NonZero<u32>,

    /// Whether keys, tokens, passwords and e-mail addresses are replaced by placeholders before
    /// text is sent [default: yes, but for servers on this machine]
    #[arg(long, value_name = "yes|no",
          value_parser = PossibleValuesParser::new(["yes", "no"]).map(|typed| typed == "yes"))]
    pub(super) redact: Option<bool>,
}

fn dollars(typed: &str) -> Result<f64, String> {
    let usd: f64 = typed.trim_start_matches('$').parse().map_err(|_| "not a number".to_owned())?;
    if usd.is_finite() && usd >= 0.0 { Ok(usd) } else { Err("not an amount".to_owned()) }
}

impl CallOptions {
    /// Calls in flight at a time.
    pub(super) fn concurrency(&self) -> usize {
        self.concurrency.get() as usize
    }

    /// How many calls may be made at a time and in a minute.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            concurrency: self.concurrency.get(),
            per_minute: self.per_minute.map(NonZero::get),
        }
    }

    pub(super) fn cassette(
        &self,
        scrub: &Scrub,
    ) -> Result<(Option<Cassette>, Vec<String>), Failure> {
        let Some(file) = &self.cassette else { return Ok((None, Vec::new())) };
        let mode = match (self.record, self.replay) {
            (true, _) => Mode::Record,
            (_, true) => Mode::Replay,
            _ => {
                return Err(Failure::usage("--cassette without --record or --replay")
                    .help("--record adds calls to it, --replay reads every call from it"));
            }
        };
        let (tape, warnings) = Cassette::open(file, mode, Arc::clone(scrub))?;
        Ok((Some(tape), warnings))
    }

    /// The existing cassette, if there is one.
    pub(super) fn recorded(&self) -> Result<Option<Cassette>, Failure> {
        let Some(file) = self.cassette.as_ref().filter(|file| file.exists()) else {
            return Ok(None);
        };
        let (tape, _) = Cassette::open(file, Mode::Replay, Arc::new(str::to_owned))?;
        Ok(Some(tape))
    }

    pub(super) fn client(&self, seed: u64) -> Result<Arc<Client>, Failure> {
        let attempt = Duration::from_secs(self.timeout.get().into());
        let mut options = Options::new(seed, wire::now);
        options.budget = Budget::new(self.max_cost);
        options.call = options.call.max(attempt);
        options.attempt = attempt;
        options.patience.attempts = self.attempts.get();
        Client::new(options).map_err(|problem| {
            let what = format!("cannot start the thread that sends requests: {problem}");
            Failure::with_code(Exit::Incomplete, what)
                .help("the system could not start a thread; try again, or free some memory")
        })
    }

    /// Refuses options of model calls where no role has a model: they would have no effect.
    pub(super) fn refuse_idle(&self) -> Result<(), Failure> {
        let idle = [
            (self.cassette.is_some(), "--cassette"),
            (self.max_cost.is_some(), "--max-cost"),
            (self.per_minute.is_some(), "--per-minute"),
        ];
        match idle.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(Failure::usage(format!("{option} without a model")).help(
                "name one with --compactor, --answerer, --judge, --embedder or --questions, or \
                 leave it out",
            )),
            None => Ok(()),
        }
    }
}
