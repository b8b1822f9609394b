//! The models of a run with everything that their calls need: cassette, budget,
//! limits, keys, prices and recordings.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value as Json;

use super::roles::CallOptions;
use super::wire;
use super::work::Work;
use crate::failure::{Exit, Failure};
use recap_billing::pricing::PriceList;
use recap_core::model::{OFFLINE, Session, suggest};
use recap_core::text::counted;
use recap_core::text::redact::distinctive_secrets;
use recap_core::tokens::Counter;
use recap_llm::cassette::{Mode, Scrub};
use recap_llm::providers::{Anthropic, Gemini, OpenAiChat, OpenAiEmbeddings, OpenAiResponses};
use recap_llm::{
    CallError, Calls, Cassette, Client, DryRunCalls, DryRunModel, Endpoint, FailedCalls,
    FailureRecorder, Halt, Key, KnownSecrets, Limits, Live, Llm, Memoized, Model, Provider,
    Scrubbed, Settings,
};
use recap_replay::run::{REPLIES, SPENT};

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
    redact: Option<bool>,
    /// Secrets of the sessions, where a model gets redacted text.
    known: Option<KnownSecrets>,
    live: Vec<Arc<Live>>,
    models: BTreeMap<String, Arc<dyn Llm>>,
    failed: Arc<FailedCalls>,
    scrub: Scrub,
    pub warnings: Vec<String>,
}

impl ModelSession {
    /// Opens the cassette and the client for the models that the user named. Where every role is
    /// offline nothing is opened, and options of calls are refused.
    pub fn open(
        options: &CallOptions,
        typed: &[&str],
        prices: &Arc<PriceList>,
        seed: u64,
    ) -> Result<Self, Failure> {
        let named: Result<Vec<_>, _> = typed.iter().map(|name| parse(name)).collect();
        let named: Vec<ModelName> = named?.into_iter().flatten().collect();
        if named.is_empty() {
            options.refuse_idle()?;
            return Ok(Self::new(options, prices, Target::Cassette, None));
        }
        let mut keys: Vec<Key> = Vec::new();
        for model in named.iter().filter(|_| !options.replay) {
            keys.extend(model.endpoint(&wire::variable, prices, None)?.key().cloned());
        }
        let scrub: Scrub = Arc::new(move |text: &str| {
            keys.iter().fold(text.to_owned(), |text, key| key.scrub(&text))
        });
        let (cassette, warnings) = options.cassette(&scrub)?;
        let target =
            if options.replay { Target::Cassette } else { Target::Provider(options.client(seed)?) };
        Ok(Self { warnings, scrub, ..Self::new(options, prices, target, cassette) })
    }

    /// Makes no connection: calls are counted and added to `planned`.
    pub fn dry_run(
        options: &CallOptions,
        prices: &Arc<PriceList>,
        counter: &Arc<Counter>,
        planned: &Arc<DryRunCalls>,
    ) -> Result<Self, Failure> {
        let recorded =
            options.recorded()?.map(|tape| Arc::new(Calls::new(Some(tape), Box::new(wire::now))));
        let (counter, planned) = (Arc::clone(counter), Arc::clone(planned));
        let target = Target::DryRun { counter, recorded, planned };
        Ok(Self::new(options, prices, target, None))
    }

    fn new(
        options: &CallOptions,
        prices: &Arc<PriceList>,
        target: Target,
        cassette: Option<Cassette>,
    ) -> Self {
        Self {
            calls: Arc::new(Calls::new(cassette, Box::new(wire::now))),
            target,
            prices: Arc::clone(prices),
            limits: options.limits(),
            redact: options.redact,
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
        let Some(name) = parse(typed)? else { return Ok(None) };
        if let Some(known) = self.models.get(typed) {
            return Ok(Some(Arc::clone(known)));
        }
        let llm = self.model_for(&name, name.model(&self.prices), None)?;
        self.models.insert(typed.to_owned(), Arc::clone(&llm));
        Ok(Some(llm))
    }

    /// The same model for embedding texts.
    pub fn embedder(&mut self, typed: &str) -> Result<Option<Arc<dyn Llm>>, Failure> {
        let Some(name) = parse(typed)? else { return Ok(None) };
        self.model_for(&name, name.embedder()?, Some(&OpenAiEmbeddings)).map(Some)
    }

    fn model_for(
        &mut self,
        name: &ModelName,
        model: Model,
        format: Option<&'static dyn Provider>,
    ) -> Result<Arc<dyn Llm>, Failure> {
        let prices = self.prices.priced(&name.id()).cloned();
        let llm = match &self.target {
            Target::Provider(client) => {
                let client = Arc::clone(client);
                let endpoint = name.endpoint(&wire::variable, &self.prices, format)?;
                self.called(model, endpoint, &client)?
            }
            Target::Cassette => {
                self.replayed(Memoized::replayed(model, prices, Arc::clone(&self.calls)))
            }
            Target::DryRun { counter, recorded, planned } => {
                let (counter, planned) = (Arc::clone(counter), Arc::clone(planned));
                let recorded = recorded.clone();
                let known = recorded
                    .map(|tape| self.replayed(Memoized::replayed(model.clone(), None, tape)));
                let counted = Arc::new(DryRunModel { model, counter, planned, recorded: known });
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
        let scrubs = self.redact.unwrap_or(!endpoint.is_local());
        let live = Arc::new(client.live(model, endpoint, self.limits)?);
        self.live.push(Arc::clone(&live));
        let once = Memoized::live(live, prices, Arc::clone(&self.calls));
        Ok(if scrubs {
            Arc::new(Scrubbed::new(Arc::new(once), self.secrets()))
        } else {
            Arc::new(once)
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
            Some(false) => once,
            Some(true) => Arc::new(Scrubbed::new(once, self.secrets())),
            None => Arc::new(Scrubbed::where_not_recorded(once, self.secrets())),
        }
    }

    /// Stores what was spent, and during a run without a cassette every reply if text may be
    /// kept, in the run's folder: if the run is resumed, replies are read from it, and what
    /// was spent counts.
    ///
    /// # Errors
    /// If a file cannot be written, or is not a file of replies.
    pub fn keep(&self, folder: &Path, text: bool) -> Result<(), Failure> {
        let Target::Provider(client) = &self.target else { return Ok(()) };
        let mut known = 0.0;
        if text && self.calls.cassette().is_none() {
            let path = folder.join(REPLIES);
            let (replies, _) = Cassette::open(&path, Mode::Record, Arc::clone(&self.scrub))?;
            known = replies.usd(|model| self.prices.priced(model).cloned());
            self.calls.keep_replies(replies);
        }
        let path = folder.join(SPENT);
        client.budget().keep(&path, known).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => Failure::usage(format!("{}: {e}", path.display()))
                .help("write into it what the run has cost so far, in USD"),
            _ => Failure::unwritable(&path, &e),
        })
    }

    /// Begins no further call, and waits for those under way, each of which has a time limit.
    pub async fn wind_up(&self) {
        let Target::Provider(client) = &self.target else { return };
        let calls = client.budget().close();
        if calls > 0 {
            let (calls, limit) = (counted(calls, "call"), client.attempt_limit().as_secs());
            wire::say(&format!(
                "waiting for {calls} under way, {limit} s (--timeout) at most; another signal ends \
                 recap at once"
            ));
        }
        client.budget().settled().await;
    }

    /// Waits for work that calls models and writes nothing before its end.
    ///
    /// # Errors
    /// If a signal arrived.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let done = Work::new(1)?.run_until(work, self.wind_up());
        done.map_err(|stopped| {
            stopped.help("with --cassette FILE --record, a second run pays only for the rest")
        })
    }

    /// Stops the answerer's calls once every judge is stopped, where all of them are models.
    pub fn grade_with(&self, judges: &[String]) {
        let Target::Provider(client) = &self.target else { return };
        let live = |typed: &String| {
            let model = parse(typed).ok().flatten()?.model(&self.prices);
            self.live.iter().find(|live| *live.model() == model).cloned()
        };
        if let Some(judges) = judges.iter().map(live).collect::<Option<Vec<Arc<Live>>>>() {
            client.graded_by(&judges);
        }
    }

    /// Prints what the cap counts where it exceeds the known cost of the calls, in USD.
    pub fn report_cap(&self, known_usd: f64) {
        let Target::Provider(client) = &self.target else { return };
        // The sum of nothing is -0.
        let (counted, known_usd) = (client.budget().spent_usd(), known_usd + 0.0);
        if client.budget().is_capped() && counted > known_usd + 1e-4 {
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
        let mut reasons: Vec<String> = halts.into_iter().map(|halt| halt.reason).collect();
        if reasons.is_empty() {
            reasons.push(error.to_string());
        }
        // What all models share, such as the file of what is spent, is told once.
        reasons.sort();
        reasons.dedup();
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

// The MODEL argument: a provider, a model, its settings, and the server that
// the environment names for it.

/// Default number of tokens for reasoning: what most requests of the roles take
/// at the providers' default effort, with a margin.
const ROOM: u64 = 8_192;

/// Expected number of reasoning tokens in a reply: the mean over the 455
/// replies of the four recordings of Codex that the project develops with is
/// 278.
pub(super) const TYPICAL_THINKING: u64 = 300;

/// Providers with a known address, each with its wire format. Any other is called with OpenAI's
/// chat completions at `NAME_BASE_URL`. The key of each is in `NAME_API_KEY`.
const KNOWN: &[(&str, &dyn Provider, &str)] = &[
    ("openai", &OpenAiChat::OPENAI, "https://api.openai.com/v1"),
    ("openai-responses", &OpenAiResponses, "https://api.openai.com/v1"),
    ("anthropic", &Anthropic, "https://api.anthropic.com"),
    ("gemini", &Gemini, "https://generativelanguage.googleapis.com"),
    ("openrouter", COMPATIBLE, "https://openrouter.ai/api/v1"),
    ("deepseek", COMPATIBLE, "https://api.deepseek.com/v1"),
    ("mistral", COMPATIBLE, "https://api.mistral.ai/v1"),
    ("groq", COMPATIBLE, "https://api.groq.com/openai/v1"),
    ("xai", COMPATIBLE, "https://api.x.ai/v1"),
    ("ollama", COMPATIBLE, "http://127.0.0.1:11434/v1"),
    ("lmstudio", COMPATIBLE, "http://127.0.0.1:1234/v1"),
    ("vllm", COMPATIBLE, "http://127.0.0.1:8000/v1"),
    ("llamacpp", COMPATIBLE, "http://127.0.0.1:8080/v1"),
];

/// The wire format of OpenAI's chat completions on other servers.
const COMPATIBLE: &dyn Provider = &OpenAiChat::COMPATIBLE;

/// A model as typed: `provider/model`, and after a `?` its settings
/// (`openai/gpt-5.4?effort=low&room=4096`).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelName {
    pub provider: String,
    pub name: String,
    temperature: Option<f64>,
    effort: Option<String>,
    room: Option<u64>,
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (id, settings) = typed.split_once('?').unwrap_or((typed, ""));
        let (provider, name) = id.split_once('/').ok_or("it has no `/`")?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if provider.is_empty() || !provider.chars().all(plain) {
            return Err(format!("`{provider}` is not the name of a provider"));
        }
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("the model has no name".to_owned());
        }
        let mut model = Self {
            provider: provider.to_owned(),
            name: name.to_owned(),
            temperature: None,
            effort: None,
            room: None,
        };
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let refused = || format!("`{value}` is not a value of `{key}`");
            match key {
                "temperature" => {
                    let degrees = value.parse().ok().filter(|t: &f64| (0.0..=2.0).contains(t));
                    model.temperature = Some(degrees.ok_or_else(refused)?);
                }
                "effort" if !value.is_empty() => model.effort = Some(value.to_owned()),
                "room" => model.room = Some(value.parse().map_err(|_| refused())?),
                "effort" => return Err(refused()),
                _ => {
                    let like = suggest(key, ["temperature", "effort", "room"]);
                    return Err(format!("`{key}` is not a setting: {like}"));
                }
            }
        }
        Ok(model)
    }
}

/// Parses a model; `None` for a role that stays offline.
pub(super) fn parse(typed: &str) -> Result<Option<ModelName>, Failure> {
    if typed == OFFLINE {
        return Ok(None);
    }
    typed.parse().map(Some).map_err(|problem: String| {
        Failure::usage(format!("`{typed}` is not a model: {problem}")).help(
            "`offline`, or provider/model as in openai/gpt-5.4, anthropic/claude-sonnet-5-5, \
             gemini/gemini-3.8-flash, ollama/NAME; settings behind a `?`, as in \
             openai/gpt-5.4?effort=low&room=4096",
        )
    })
}

impl ModelName {
    /// The id `provider/model`, without the settings.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    /// The model with its settings. By default, models that reason get room for
    /// it and no temperature, which most of them refuse; the others are asked
    /// at temperature 0, so that measurements repeat.
    pub fn model(&self, prices: &PriceList) -> Model {
        let entry = prices.priced(&self.id()).and_then(|model| prices.entry(&model.id));
        let says = |field: &str| entry.as_ref()?.get(field).and_then(Json::as_bool);
        // Anthropic's models reason only when asked to, except for those that always do.
        let reasons = says("supports_reasoning") == Some(true) && self.provider != "anthropic";
        let thinks = reasons || says("thinking_always_on") == Some(true);
        let fixed = thinks || says("supports_sampling_params") == Some(false);
        let temperature = self.temperature.or((!fixed).then_some(0.0));
        let room = self.room.unwrap_or(if thinks { ROOM } else { 0 });
        let settings = Settings { temperature, effort: self.effort.clone(), room };
        Model { provider: self.provider.clone(), name: self.name.clone(), settings }
    }

    /// The model for embedding texts, without settings.
    ///
    /// # Errors
    /// If its provider does not offer embeddings in OpenAI's format, or
    /// settings are typed.
    pub fn embedder(&self) -> Result<Model, Failure> {
        let speaks = self.known().map_or(COMPATIBLE, |(_, speaks, _)| *speaks).name();
        if ![OpenAiChat::OPENAI, OpenAiChat::COMPATIBLE].iter().any(|chat| chat.name() == speaks) {
            let problem = format!("`{}` has no embeddings that recap can ask for", self.provider);
            return Err(Failure::usage(problem).help(
                "--embedder takes openai/NAME, ollama/NAME, llamacpp/NAME, or any server with \
                 OpenAI's /embeddings as PROVIDER/NAME with PROVIDER_BASE_URL set",
            ));
        }
        if self.temperature.is_some() || self.effort.is_some() || self.room.is_some() {
            return Err(Failure::usage(format!("`{}`: an embedder has no settings", self.id()))
                .help("leave out the `?` and everything after it"));
        }
        let (provider, name) = (self.provider.clone(), self.name.clone());
        Ok(Model { provider, name, settings: Settings::default() })
    }

    fn known(&self) -> Option<&'static (&'static str, &'static dyn Provider, &'static str)> {
        KNOWN.iter().find(|(name, ..)| *name == self.provider)
    }

    /// The server named in the environment, or the provider's own; `format`: another wire format
    /// than that of its chats.
    pub fn endpoint(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
        prices: &PriceList,
        format: Option<&'static dyn Provider>,
    ) -> Result<Endpoint, Failure> {
        let known = self.known();
        let stem = match self.provider.as_str() {
            "openai-responses" => "OPENAI".to_owned(),
            other => other.to_uppercase().replace('-', "_"),
        };
        let base_variable = format!("{stem}_BASE_URL");
        let typed = variable(&base_variable);
        let base = typed.as_deref().or(known.map(|(.., base)| *base)).ok_or_else(|| {
            Failure::usage(format!("the address of the provider `{}` is not known", self.provider))
                .help(format!(
                    "set {base_variable} to the address of an OpenAI-compatible server, or use a \
                     provider that is known; {}",
                    suggest(&self.provider, KNOWN.iter().map(|(name, ..)| *name))
                ))
        })?;
        let mut keys = vec![format!("{stem}_API_KEY")];
        keys.extend((stem == "GEMINI").then(|| "GOOGLE_API_KEY".to_owned()));
        let key = match keys.iter().find_map(|name| Some((name, variable(name)?))) {
            Some((name, value)) => Some(Key::new(&value).map_err(|problem| {
                Failure::usage(format!("{name}: {problem}")).help("copy the key again")
            })?),
            None => None,
        };
        // OpenAI's newer fields are known to OpenAI alone.
        let speaks = match known {
            Some((name, speaks, _)) if *name != "openai" || base.contains("api.openai.com") => {
                *speaks
            }
            _ => COMPATIBLE,
        };
        let listed = prices.priced(&self.id()).cloned();
        let endpoint =
            Endpoint::new(format.unwrap_or(speaks), base, key, listed).map_err(|problem| {
                Failure::usage(format!("{base_variable}: {problem}"))
                    .help("an address looks like http://127.0.0.1:8080/v1")
            })?;
        if endpoint.key().is_none() && !endpoint.is_local() {
            let names = keys.join(" or ");
            return Err(Failure::usage(format!("{} needs a key: {names} is not set", self.id()))
                .help(format!("set {names} in the environment; recap keeps no key anywhere")));
        }
        Ok(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(typed: &str) -> Model {
        parse(typed).unwrap().unwrap().model(&PriceList::bundled())
    }

    fn endpoint(typed: &str, variables: &[(&str, &str)]) -> Result<Endpoint, Failure> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        parse(typed).unwrap().unwrap().endpoint(&variable, &PriceList::bundled(), None)
    }

    #[test]
    fn model_is_provider_name_and_settings() {
        assert_eq!(parse("offline").unwrap(), None);
        let named = parse("openrouter/qwen/qwen3-8b?temperature=0.5&effort=low&room=9").unwrap();
        let named = named.unwrap();
        assert_eq!((named.provider.as_str(), named.name.as_str()), ("openrouter", "qwen/qwen3-8b"));
        let settings = named.model(&PriceList::bundled()).settings;
        let expected = Settings { temperature: Some(0.5), effort: Some("low".into()), room: 9 };
        assert_eq!(settings, expected);
    }

    #[test]
    fn invalid_model_is_reported_with_reason() {
        for (typed, problem) in [
            ("gpt-5.4", "no `/`"),
            ("/gpt", "is not the name of a provider"),
            ("Open AI/gpt", "is not the name of a provider"),
            ("openai/", "has no name"),
            ("openai/m?warmth=1", "`warmth` is not a setting"),
            ("openai/m?temperature=3", "`3` is not a value of `temperature`"),
            ("openai/m?room=-1", "`-1` is not a value of `room`"),
            ("openai/m?effort", "`` is not a value of `effort`"),
        ] {
            let error = parse(typed).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("help: "), "{typed}: {error}");
        }
    }

    #[test]
    fn models_that_think_get_room_and_no_temperature() {
        let thinks = model("openai/gpt-5.4").settings;
        assert_eq!((thinks.temperature, thinks.room), (None, ROOM));
        let plain = model("openai/gpt-4o-mini").settings;
        assert_eq!((plain.temperature, plain.room), (Some(0.0), 0));
        let unlisted = model("ollama/mine").settings;
        assert_eq!((unlisted.temperature, unlisted.room), (Some(0.0), 0));
    }

    #[test]
    fn address_and_key_come_from_environment() {
        let own = endpoint("openai/gpt-5.4", &[("OPENAI_API_KEY", "sk-canary-1")]).unwrap();
        assert_eq!(
            (own.origin().as_str(), own.provider().name()),
            ("https://api.openai.com", "openai")
        );
        assert!(!own.is_local() && own.prices().is_some());
        let local = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")];
        let server = endpoint("openai/mine", &local).unwrap();
        assert_eq!(
            server.provider().name(),
            COMPATIBLE.name(),
            "only OpenAI knows its newer fields"
        );
        assert!(server.is_local() && server.key().is_none());
        let any = endpoint("my-lab/m", &[("MY_LAB_BASE_URL", "http://localhost:1")]).unwrap();
        assert_eq!(any.origin(), "http://localhost:1");
        let second = endpoint("gemini/g", &[("GOOGLE_API_KEY", "canary-2")]).unwrap();
        assert!(second.key().unwrap().is_in("<canary-2>"));
    }

    #[test]
    fn embedder_needs_openai_embeddings_server_and_no_settings() {
        let embedder = |typed: &str| {
            parse(typed).unwrap().unwrap().embedder().map_err(|failure| failure.to_string())
        };
        for typed in ["openai/text-embedding-3-small", "ollama/nomic", "llamacpp/m", "my-lab/m"] {
            let model = embedder(typed).unwrap();
            assert_eq!((model.id().as_str(), model.settings), (typed, Settings::default()));
        }
        for typed in ["anthropic/m", "gemini/m", "openai-responses/m"] {
            let error = embedder(typed).unwrap_err();
            assert!(error.contains("has no embeddings") && error.contains("ollama"), "{error}");
        }
        for typed in ["openai/m?temperature=0", "openai/m?effort=low", "openai/m?room=9"] {
            let error = embedder(typed).unwrap_err();
            assert!(error.contains("an embedder has no settings"), "{error}");
        }
    }

    #[test]
    fn missing_environment_is_named_without_repeating_keys() {
        let error = |typed, variables| endpoint(typed, variables).unwrap_err().to_string();
        assert!(error("openai/m", &[]).contains("OPENAI_API_KEY is not set"));
        assert!(error("gemini/m", &[]).contains("GEMINI_API_KEY or GOOGLE_API_KEY is not set"));
        let discard = error("lab/m", &[]);
        assert!(discard.contains("LAB_BASE_URL") && discard.contains("ollama"), "{discard}");
        let broken = error("openai/m", &[("OPENAI_API_KEY", "sk canary")]);
        assert!(broken.contains("OPENAI_API_KEY") && !broken.contains("canary"), "{broken}");
        assert!(error("openai/m", &[("OPENAI_BASE_URL", "here")]).contains("OPENAI_BASE_URL"));
    }
}
