//! The options that fill the seats.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::call_options::CallOptions;
use super::exchange::Exchange;
use super::exit::Failure;
use super::{model_name, wire};
use crate::bench::Part;
use crate::llm::DryRunCalls;
use crate::model::OFFLINE;
use crate::pricing::PriceList;
use crate::run::Seats;
use crate::seats::embedder::Embedder;
use crate::seats::{answerer, compactor, judge};
use crate::strategy::Preset;
use crate::tokens::Counter;

/// Whether probes are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeMode {
    /// All probes of the data sets.
    Probes,
    /// None: the part of a run that needs neither answerer nor judge.
    Nothing,
}

/// The seats of a run.
#[derive(Clone, Debug, Args)]
pub struct Seating {
    /// Who writes summaries: `offline`, or provider/model (openai/…, anthropic/…, gemini/…,
    /// ollama/…, or NAME/… with NAME_BASE_URL set), with the key in NAME_API_KEY; settings behind a
    /// `?` (`?temperature=0&effort=low&room=4096`)
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    compactor: String,

    /// Who answers the probes
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    answerer: String,

    /// Who grades the answers; name two for a panel, and a third for what they disagree on
    #[arg(long, value_name = "MODEL", default_values_t = [OFFLINE.to_owned()])]
    judge: Vec<String>,

    /// Who ranks closed sessions where a preset lets the answerer search them: a model at OpenAI's
    /// /embeddings, by meaning, or `offline`, by words (BM25)
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    embedder: String,

    /// Questions that are asked right behind a compaction, besides those of the data sets: `auto`
    /// makes them from each session without its own, `none` asks none, a file holds them as
    /// `recap probes generate` writes them, and provider/model writes them for each session without
    /// its own and keeps them on the --cassette
    #[arg(long, value_name = "auto|none|FILE|MODEL", default_value = "auto")]
    questions: String,

    #[command(flatten)]
    pub line: CallOptions,
}

/// The questions at cuts, as typed.
pub(super) enum Asked<'a> {
    Auto,
    None,
    File(&'a Path),
    Model(&'a str),
}

impl Seating {
    /// The same seats for a part of a run, with its part of what may be spent and
    /// called.
    ///
    /// # Errors
    /// If there is too little to divide.
    pub(super) fn of_part(&self, part: Part<'_>) -> Result<Seating, Failure> {
        Ok(Seating { line: self.line.of_part(part)?, ..self.clone() })
    }

    /// How many cells run at a time where the user does not say: those that wait
    /// for a model take no core.
    pub(super) fn jobs(&self) -> usize {
        let waiting = if self.has_models() { self.line.concurrency() } else { 1 };
        wire::cores().max(waiting)
    }

    /// The compactor, as typed.
    pub(super) fn compactor(&self) -> &str {
        &self.compactor
    }

    /// Whether a model answers, grades or embeds.
    pub(super) fn has_readers(&self) -> bool {
        let others = [&self.answerer, &self.embedder];
        others.into_iter().chain(&self.judge).any(|typed| typed != OFFLINE)
    }

    /// Whether any seat is filled by a model.
    pub(super) fn has_models(&self) -> bool {
        let others = [&self.compactor, &self.answerer, &self.embedder];
        self.author().is_some()
            || others.into_iter().chain(&self.judge).any(|typed| typed != OFFLINE)
    }

    /// The questions at cuts as typed. What exists or is called `*.jsonl` is a
    /// file; anything else with a `/` is a model.
    pub(super) fn questions(&self) -> Asked<'_> {
        let path = Path::new(&self.questions);
        let is_file = path.exists() || path.extension().is_some_and(|end| end == "jsonl");
        match self.questions.as_str() {
            "auto" => Asked::Auto,
            "none" => Asked::None,
            model if model.contains('/') && !is_file => Asked::Model(model),
            _ => Asked::File(path),
        }
    }

    /// The model that writes the questions.
    pub(super) fn author(&self) -> Option<&str> {
        match self.questions() {
            Asked::Model(model) => Some(model),
            _ => None,
        }
    }

    /// Whether a model writes the summaries, so that repetitions differ.
    pub(super) fn has_compactor(&self) -> bool {
        self.compactor != OFFLINE
    }

    /// The model in the compactor's seat, by its name in the price list.
    pub(super) fn compactor_id(&self) -> Result<Option<String>, Failure> {
        Ok(model_name::parse(&self.compactor)?.map(|model| model.id()))
    }

    /// Refuses models that would never be called: for answering and grading
    /// where no probes are asked, and for embedding where no preset searches
    /// sessions; and a model whose questions could not be asked again.
    pub(super) fn refuse(&self, ask: ProbeMode, presets: &[Arc<Preset>]) -> Result<(), Failure> {
        let idle = self.has_readers();
        if ask == ProbeMode::Nothing && (idle || !matches!(self.questions(), Asked::Auto)) {
            return Err(Failure::usage("`recap replay` asks no questions").help(
                "leave out --answerer, --judge, --embedder and --questions, or use `recap bench`",
            ));
        }
        if let Some(model) = self.author() {
            model_name::parse(model)?;
            if !self.line.has_cassette() {
                return Err(Failure::usage(format!("--questions {model} without a cassette")).help(
                    "add --cassette FILE --record, so that the same questions are asked when the \
                     run is made again",
                ));
            }
        }
        let Some(embedder) = model_name::parse(&self.embedder)? else { return Ok(()) };
        embedder.embedder()?;
        if !presets.iter().any(|preset| preset.searches_sessions()) {
            return Err(Failure::usage("--embedder without a preset that searches sessions").help(
                "add one, such as --strategy lis or --set PRESET.recovery=sessions, or leave it \
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

    /// The seats with their models.
    pub(super) fn fill(
        &self,
        counter: &Arc<Counter>,
        prices: &Arc<PriceList>,
        seed: u64,
    ) -> Result<(Seats, Option<Exchange>), Failure> {
        let compactor = std::slice::from_ref(&self.compactor);
        let (mut seats, exchange) = self.fill_each(compactor, counter, prices, seed)?;
        Ok((seats.remove(0), exchange))
    }

    /// Seats that differ in their compactor alone, which share one exchange.
    pub(super) fn fill_each(
        &self,
        compactors: &[String],
        counter: &Arc<Counter>,
        prices: &Arc<PriceList>,
        seed: u64,
    ) -> Result<(Vec<Seats>, Option<Exchange>), Failure> {
        let with = |name: &String| Seating { compactor: name.clone(), ..self.clone() };
        let each: Vec<Seating> = compactors.iter().map(with).collect();
        if !each.iter().any(Seating::has_models) {
            self.line.refuse_idle()?;
            return Ok((each.iter().map(|_| Seats::offline(counter)).collect(), None));
        }
        let others = [&self.answerer, &self.embedder].into_iter().chain(&self.judge);
        let typed = compactors.iter().chain(others).map(String::as_str).chain(self.author());
        let typed: Vec<&str> = typed.collect();
        let mut exchange = Exchange::open(&self.line, &typed, prices, seed)?;
        let filled = each.iter().map(|seating| seating.filled(counter, &mut exchange));
        Ok((filled.collect::<Result<_, _>>()?, Some(exchange)))
    }

    /// The seats of a dry run, which count calls instead of making them.
    pub(super) fn dry_run(
        &self,
        counter: &Arc<Counter>,
        prices: &Arc<PriceList>,
        planned: &Arc<DryRunCalls>,
    ) -> Result<(Seats, Exchange), Failure> {
        let mut exchange = Exchange::dry_run(&self.line, prices, counter, planned)?;
        let mut seats = self.filled(counter, &mut exchange)?;
        if !seats.offline {
            let stand_in = Arc::new(compactor::Offline::new(Arc::clone(counter)));
            seats.compactor =
                Arc::new(compactor::Rehearsed::new(seats.compactor, stand_in, Arc::clone(planned)));
        }
        Ok((seats, exchange))
    }

    fn filled(&self, counter: &Arc<Counter>, exchange: &mut Exchange) -> Result<Seats, Failure> {
        let mut seats = Seats::offline(counter);
        if let Some(llm) = exchange.llm(&self.compactor)? {
            seats.compactor = Arc::new(compactor::Llm::new(llm, Arc::clone(counter)));
            seats.offline = false;
        }
        if let Some(llm) = exchange.llm(&self.answerer)? {
            seats.answerer = Arc::new(answerer::Llm::new(llm));
        }
        seats.judge = judges(&self.judge, exchange)?;
        seats.embedder = exchange.embedder(&self.embedder)?.map(|llm| Arc::new(Embedder::new(llm)));
        seats.calls = Some(Arc::clone(&exchange.calls));
        Ok(seats)
    }
}

/// One judge, or a panel of two or three.
pub(super) fn judges(
    typed: &[String],
    exchange: &mut Exchange,
) -> Result<Arc<dyn judge::Judge>, Failure> {
    let mut judges: Vec<Arc<dyn judge::Judge>> = Vec::new();
    for name in typed {
        judges.push(match exchange.llm(name)? {
            Some(llm) => Arc::new(judge::Llm::new(llm)),
            None => Arc::new(judge::Offline),
        });
    }
    if judges.len() == 1 {
        return Ok(judges.remove(0));
    }
    match judge::Panel::new(judges) {
        Ok(panel) => Ok(Arc::new(panel)),
        Err(problem) => {
            Err(Failure::usage(problem.to_string())
                .help("name --judge once, twice, or three times"))
        }
    }
}
