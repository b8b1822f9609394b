//! The models of a run with everything that their calls need: cassette, budget,
//! limits, keys, prices and recordings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::call_options::{CallOptions, Redact};
use super::exit::{Exit, Failure};
use super::model_name::{self, ModelName};
use super::wire;
use recap_billing::pricing::PriceList;
use recap_core::model::Session;
use recap_core::text::counted;
use recap_core::text::redact::distinctive_secrets;
use recap_core::tokens::Counter;
use recap_llm::cassette::{Mode, Scrub};
use recap_llm::{
    CallError, Calls, Cassette, Client, DryRunCalls, DryRunModel, Endpoint, FailedCalls,
    FailureRecorder, Halt, Key, KnownSecrets, Limits, Live, Llm, Memoized, Model, Scrubbed,
};
use recap_replay::run::REPLIES;

/// Finds the server of a model.
type FindServer = fn(&ModelName, &PriceList) -> Result<Endpoint, Failure>;

/// Where calls go.
enum Target {
    /// Calls are sent to the provider.
    Provider(Arc<Client>),
    /// Calls are read from the cassette.
    Cassette,
    /// Calls are only counted, except those that a cassette has.
    DryRun { counter: Arc<Counter>, recorded: Option<Arc<Calls>>, planned: Arc<DryRunCalls> },
}

/// The models of a run, and how their calls are made.
pub(super) struct ModelSession {
    pub calls: Arc<Calls>,
    target: Target,
    prices: Arc<PriceList>,
    limits: Limits,
    redact: Option<Redact>,
    /// Secrets of the sessions, where a model gets redacted text.
    known: Option<KnownSecrets>,
    live: Vec<Arc<Live>>,
    models: BTreeMap<String, Arc<dyn Llm>>,
    failed: Arc<FailedCalls>,
    scrub: Scrub,
    pub warnings: Vec<String>,
}

impl ModelSession {
    /// Opens the cassette and the client for the models that the user named.
    pub fn open(
        line: &CallOptions,
        typed: &[&str],
        prices: &Arc<PriceList>,
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut keys: Vec<Key> = Vec::new();
        for name in typed {
            if let (Some(model), false) = (model_name::parse(name)?, line.is_replay()) {
                keys.extend(model.endpoint(prices)?.key().cloned());
            }
        }
        let scrub: Scrub = Arc::new(move |text: &str| {
            keys.iter().fold(text.to_owned(), |text, key| key.scrub(&text))
        });
        let (cassette, warnings) = line.cassette(&scrub)?;
        let target = match line.is_replay() {
            true => Target::Cassette,
            false => Target::Provider(line.client(seed)?),
        };
        Ok(Self { warnings, scrub, ..Self::new(line, prices, target, cassette) })
    }

    /// Makes no connection: calls are counted and added to `planned`.
    pub fn dry_run(
        line: &CallOptions,
        prices: &Arc<PriceList>,
        counter: &Arc<Counter>,
        planned: &Arc<DryRunCalls>,
    ) -> Result<Self, Failure> {
        let recorded = line.recorded()?.map(|tape| Arc::new(Calls::new(Some(tape), wire::clock())));
        let (counter, planned) = (Arc::clone(counter), Arc::clone(planned));
        let target = Target::DryRun { counter, recorded, planned };
        Ok(Self::new(line, prices, target, None))
    }

    fn new(
        line: &CallOptions,
        prices: &Arc<PriceList>,
        target: Target,
        cassette: Option<Cassette>,
    ) -> Self {
        Self {
            calls: Arc::new(Calls::new(cassette, wire::clock())),
            target,
            prices: Arc::clone(prices),
            limits: line.limits(),
            redact: line.redact,
            known: None,
            live: Vec::new(),
            models: BTreeMap::new(),
            failed: Arc::default(),
            scrub: Arc::new(str::to_owned),
            warnings: Vec::new(),
        }
    }

    /// Whether calls may be in a cassette.
    pub fn has_cassette(&self) -> bool {
        let dry_run = matches!(&self.target, Target::DryRun { recorded: Some(_), .. });
        dry_run || self.calls.cassette().is_some()
    }

    /// The model with a name, the same for all roles that name it; `None`: offline.
    pub fn llm(&mut self, typed: &str) -> Result<Option<Arc<dyn Llm>>, Failure> {
        let Some(name) = model_name::parse(typed)? else { return Ok(None) };
        if let Some(known) = self.models.get(typed) {
            return Ok(Some(Arc::clone(known)));
        }
        let llm = self.model_for(&name, name.model(&self.prices), ModelName::endpoint)?;
        self.models.insert(typed.to_owned(), Arc::clone(&llm));
        Ok(Some(llm))
    }

    /// The same model for embedding texts.
    pub fn embedder(&mut self, typed: &str) -> Result<Option<Arc<dyn Llm>>, Failure> {
        let Some(name) = model_name::parse(typed)? else { return Ok(None) };
        let model = name.embedder()?;
        self.model_for(&name, model, ModelName::embeddings).map(Some)
    }

    fn model_for(
        &mut self,
        name: &ModelName,
        model: Model,
        at: FindServer,
    ) -> Result<Arc<dyn Llm>, Failure> {
        let prices = self.prices.priced(&name.id()).cloned();
        let llm = match &self.target {
            Target::Provider(client) => {
                let client = Arc::clone(client);
                self.called(model, at(name, &self.prices)?, &client)?
            }
            Target::Cassette => {
                self.replayed(Memoized::replayed(model, prices, Arc::clone(&self.calls)))
            }
            Target::DryRun { counter, recorded, planned } => {
                let (counter, planned) = (Arc::clone(counter), Arc::clone(planned));
                let recorded = recorded.clone();
                let known = recorded
                    .map(|tape| self.replayed(Memoized::replayed(model.clone(), None, tape)));
                let counted = Arc::new(DryRunModel::new(model, counter, planned, known));
                Arc::new(Memoized::live(counted, prices, Arc::clone(&self.calls)))
            }
        };
        Ok(Arc::new(FailureRecorder::new(llm, Arc::clone(&self.failed))))
    }

    fn called(
        &mut self,
        model: Model,
        endpoint: Endpoint,
        client: &Arc<Client>,
    ) -> Result<Arc<dyn Llm>, Failure> {
        let prices = endpoint.prices().cloned();
        let scrubs = self.redact.map_or(!endpoint.is_local(), |redact| redact == Redact::Yes);
        let live = Arc::new(client.live(model, endpoint, self.limits)?);
        self.live.push(Arc::clone(&live));
        let once = Memoized::live(live, prices, Arc::clone(&self.calls));
        Ok(match scrubs {
            true => Arc::new(Scrubbed::new(Arc::new(once), self.secrets())),
            false => Arc::new(once),
        })
    }

    fn secrets(&mut self) -> KnownSecrets {
        Arc::clone(self.known.get_or_insert_default())
    }

    /// Reads the sessions for secrets that requests may hold without the words that
    /// tell them.
    pub fn read_secrets<'a>(&self, sessions: impl IntoIterator<Item = &'a Session>) {
        if let Some(known) = &self.known {
            let texts: Vec<String> = sessions.into_iter().flat_map(Session::texts).collect();
            known.get_or_init(|| distinctive_secrets(texts.iter().map(String::as_str)));
        }
    }

    /// A model that replays a cassette, whose requests may have been scrubbed or not.
    fn replayed(&mut self, once: Memoized) -> Arc<dyn Llm> {
        let once: Arc<dyn Llm> = Arc::new(once);
        match self.redact {
            Some(Redact::No) => once,
            Some(Redact::Yes) => Arc::new(Scrubbed::new(once, self.secrets())),
            None => Arc::new(Scrubbed::where_not_recorded(once, self.secrets())),
        }
    }

    /// Stores every reply in the run's folder during a run without a cassette: if
    /// the run is resumed, replies are read from it, and their cost counts.
    ///
    /// # Errors
    /// If its file cannot be written, or is not a file of replies.
    pub fn keep_replies(&self, folder: &Path) -> Result<(), Failure> {
        let Target::Provider(client) = &self.target else { return Ok(()) };
        if self.calls.cassette().is_some() {
            return Ok(());
        }
        let opened = Cassette::open(&folder.join(REPLIES), Mode::Record, Arc::clone(&self.scrub));
        let (replies, _) = opened?;
        client.count(replies.usd(|model| self.prices.priced(model).cloned()));
        self.calls.keep_replies(replies);
        Ok(())
    }

    /// Writes what calls are recorded to completely and sorted.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self) -> Result<(), Failure> {
        Ok(self.calls.save()?)
    }

    /// Prints what the cap counts where it exceeds the known cost of the calls, in USD.
    pub fn report_cap(&self, known_usd: f64) {
        let Target::Provider(client) = &self.target else { return };
        let counted = client.spent_usd();
        if client.is_capped() && counted > known_usd + 1e-4 {
            wire::say(&format!(
                "note: --max-cost counts ${counted:.4}, the calls are known to have cost \
                 ${known_usd:.4}: a call whose usage is not known counts as the most that it could \
                 cost"
            ));
        }
    }

    /// Reports failed calls and the exit code that follows from them. `answered`: a
    /// resumed run would have nothing to try again, so that strategies whose compactor
    /// gave no reply fell back as their designs say.
    ///
    /// # Errors
    /// If a model could never be called or the cassette lacks a call: nothing was measured.
    pub fn ended(&self, answered: bool) -> Result<Exit, Failure> {
        let failed = self.failed.first(answered);
        if let Some((calls, error @ CallError::NotRecorded(_))) = &failed {
            let more = match calls {
                1 => String::new(),
                n => format!("\n{n} calls are missing, this is the first"),
            };
            return Err(Failure::usage(format!("{error}{more}")).help(
                "record it with access to the models, or replay with the settings of the recording",
            ));
        }
        let halts: Vec<Halt> = self.live.iter().filter_map(|live| live.halted()).collect();
        let never = |halt: &&Halt| halt.fault.is_some() && !halt.after_success;
        if let Some(halt) = halts.iter().find(never) {
            return Err(Failure::usage(&halt.reason)
                .help("check the key, the account and the name of the model"));
        }
        let Some((calls, error)) = failed else { return Ok(Exit::Done) };
        let calls = counted(calls, "call");
        // A halt's reason says more than the errors of the calls.
        let reasons: Vec<String> = match halts.is_empty() {
            true => vec![error.to_string()],
            false => halts.into_iter().map(|halt| halt.reason).collect(),
        };
        wire::say(&format!("error: {calls} brought no reply: {}", reasons.join("; ")));
        wire::say(match (self.calls.cassette(), self.calls.keeps_replies()) {
            (Some(_), _) => "help: run it again: what is on the cassette costs nothing",
            (None, true) => {
                "help: the same command with --out and --resume asks only for what is missing"
            }
            (None, false) => {
                "help: with --cassette FILE --record, a run that is made again pays only for \
                     what is missing"
            }
        });
        Ok(Exit::Incomplete)
    }
}
