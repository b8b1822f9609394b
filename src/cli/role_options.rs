//! The options that fill the roles.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::call_options::CallOptions;
use super::exit::Failure;
use super::model_name;
use super::model_session::ModelSession;
use crate::bench::{Part, cores};
use recap_billing::pricing::PriceList;
use recap_core::model::OFFLINE;
use recap_core::tokens::Counter;
use recap_exam::roles::finder::Embedder;
use recap_exam::roles::{answerer, compactor, judge};
use recap_llm::DryRunCalls;
use recap_replay::run::ModelRoles;
use recap_strategy::Strategy;

/// Whether questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionMode {
    /// All questions of the data sets.
    Questions,
    /// None: the part of a run that needs neither answerer nor judge.
    Nothing,
}

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
    /// from each session without its own, `none` asks none, a file of `recap questions generate` holds
    /// them, a model (provider/model) writes them
    #[arg(long, value_name = "auto|none|FILE|MODEL", default_value = "auto")]
    questions: String,

    #[command(flatten)]
    pub line: CallOptions,
}

/// The questions at cuts, as typed.
pub(super) enum QuestionSource<'a> {
    Auto,
    None,
    File(&'a Path),
    Model(&'a str),
}

impl RoleOptions {
    /// The same roles for a part of a run, with its part of what may be spent and
    /// called.
    ///
    /// # Errors
    /// If there is too little to divide.
    pub(super) fn of_part(&self, part: Part<'_>) -> Result<RoleOptions, Failure> {
        Ok(RoleOptions { line: self.line.of_part(part)?, ..self.clone() })
    }

    /// How many cells run at a time where the user does not say: those that wait
    /// for a model take no core.
    pub(super) fn jobs(&self) -> usize {
        let waiting = if self.has_models() { self.line.concurrency() } else { 1 };
        cores().max(waiting)
    }

    /// Whether a model answers, grades or embeds.
    pub(super) fn has_readers(&self) -> bool {
        let others = [&self.answerer, &self.embedder];
        others.into_iter().chain(&self.judge).any(|typed| typed != OFFLINE)
    }

    /// Whether any role is filled by a model.
    pub(super) fn has_models(&self) -> bool {
        let others = [&self.compactor, &self.answerer, &self.embedder];
        self.author().is_some()
            || others.into_iter().chain(&self.judge).any(|typed| typed != OFFLINE)
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
        Ok(model_name::parse(&self.compactor)?.map(|model| model.id()))
    }

    /// Refuses models that would never be called: for answering and grading
    /// where no questions are asked, and for embedding where no strategy searches
    /// sessions; and a model whose questions could not be asked again.
    pub(super) fn refuse(
        &self,
        ask: QuestionMode,
        strategies: &[Arc<Strategy>],
    ) -> Result<(), Failure> {
        let idle = self.has_readers();
        if ask == QuestionMode::Nothing
            && (idle || !matches!(self.questions(), QuestionSource::Auto))
        {
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
    ) -> Result<(ModelRoles, Option<ModelSession>), Failure> {
        if !self.has_models() {
            self.line.refuse_idle()?;
            return Ok((ModelRoles::offline(counter), None));
        }
        let others =
            [&self.compactor, &self.answerer, &self.embedder].into_iter().chain(&self.judge);
        let typed: Vec<&str> = others.map(String::as_str).chain(self.author()).collect();
        let mut model_session = ModelSession::open(&self.line, &typed, prices, seed)?;
        Ok((self.filled(counter, &mut model_session)?, Some(model_session)))
    }

    /// The roles of a dry run, which count calls instead of making them.
    pub(super) fn dry_run(
        &self,
        counter: &Arc<Counter>,
        prices: &Arc<PriceList>,
        planned: &Arc<DryRunCalls>,
    ) -> Result<(ModelRoles, ModelSession), Failure> {
        let mut model_session = ModelSession::dry_run(&self.line, prices, counter, planned)?;
        let mut roles = self.filled(counter, &mut model_session)?;
        if !roles.offline {
            let offline_summary = Arc::new(compactor::Offline::new(Arc::clone(counter)));
            roles.compactor = Arc::new(compactor::Rehearsed::new(
                roles.compactor,
                offline_summary,
                Arc::clone(planned),
            ));
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
        roles.embedder =
            model_session.embedder(&self.embedder)?.map(|llm| Arc::new(Embedder::new(llm)));
        roles.calls = Some(Arc::clone(&model_session.calls));
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
    match judge::Panel::new(judges) {
        Ok(panel) => Ok(Arc::new(panel)),
        Err(problem) => {
            Err(Failure::usage(problem.to_string())
                .help("name --judge once, twice, or three times"))
        }
    }
}
