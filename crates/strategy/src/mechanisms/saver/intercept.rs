//! Lets a session pass through a saver, request by request and in order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recap_core::model::call::command_line;
use recap_core::model::{
    FilterAnswers, Message, MessageIndex, Preamble, SaverFacts, SaverRecovery, Session, ToolCut,
};
use recap_core::text::redact::Originals;
use recap_core::text::{density, first_cause};
use recap_core::tokens::Counter;
use regex::Regex;
use reqwest::{Client, Method};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::arrived::{Arrival, Arrived, compare};
use super::upstream::Upstream;
use super::wire::{Api, Outgoing, Owner, parts};
use super::{Filter, Proxy, RecoveryTool};
use crate::mechanisms::process::{ITS_WORDS, Launch, Service, harmless, run};

/// How one request differs from the one before in what arrives of the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Step {
    /// Position of the response that the request was made for; the number of messages for what
    /// follows the last one.
    pub response: MessageIndex,
    /// The messages that arrive in another way than before; `None`: as recorded.
    pub messages: Vec<(MessageIndex, Option<Arrival>)>,
    /// System prompt and tools, where they arrive in another way than before.
    pub preamble: Option<Option<String>>,
    /// The places of cache breakpoints, where the saver sets its own.
    pub marks: Option<Vec<Owner>>,
    /// Milliseconds that the saver added to the request; absent for a filter.
    pub added_ms: Option<f64>,
}

/// What arrived of the requests of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Intercepted {
    pub steps: Vec<Step>,
    pub facts: Arc<SaverFacts>,
    /// What the saver's own tool brings back of the messages that it changed.
    pub recovered: BTreeMap<MessageIndex, String>,
}

impl Intercepted {
    /// The same with the values that placeholders stand for.
    pub fn restored(mut self, originals: &Originals) -> Self {
        for step in &mut self.steps {
            for (_, arrival) in &mut step.messages {
                if let Some(Arrival::Changed(text)) = arrival {
                    *text = originals.restore(text);
                }
            }
            if let Some(Some(text)) = &mut step.preamble {
                *text = originals.restore(text);
            }
        }
        self.recovered.values_mut().for_each(|text| *text = originals.restore(text));
        self
    }
}

/// Number of answers that may be refused beyond those that are used, before a session is given up.
const MORE_REFUSED: u64 = 2;

/// How to start a saver: its home is an empty folder, so that nothing that it kept from earlier
/// counts, and variables that hold keys are not handed on.
fn launch(command: &[String], folder: Option<&PathBuf>, home: &TempDir) -> Launch {
    let keys = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"];
    let is_key = |name: &String| {
        let name = name.to_uppercase();
        let ends = ["_PAT", "_PWD"].iter().any(|end| name.ends_with(end));
        ends || keys.iter().any(|word| name.contains(word))
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let hidden = names.filter(|name| is_key(name) || name.starts_with("XDG_"));
    let path = home.path().display().to_string();
    Launch {
        command: command.to_vec(),
        folder: folder.cloned().unwrap_or_else(|| home.path().to_owned()),
        environment: vec![("HOME".to_owned(), path)],
        hidden: hidden.collect(),
    }
}

fn home() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|e| format!("there is no folder for it: {e}"))
}

/// Counts what arrived of the results of each tool.
fn cuts(
    session: &Session,
    counter: &Counter,
    state: &BTreeMap<MessageIndex, Arrival>,
) -> BTreeMap<String, ToolCut> {
    let mut tools: BTreeMap<String, ToolCut> = BTreeMap::new();
    for call in session.calls() {
        let Some(result) = call.result else { continue };
        let before = counter.count(&session.messages[result as usize].sent());
        let cut = tools.entry(call.tool).or_default();
        let after = match state.get(&result) {
            None => before,
            Some(Arrival::Changed(text)) => counter.count(text),
            Some(Arrival::Dropped) => 0,
        };
        cut.results += 1;
        cut.cut += u64::from(state.contains_key(&result));
        cut.tokens_before += before;
        cut.tokens_after += after;
    }
    tools
}

impl Filter {
    /// Lets every result pass that the filter is for. A result whose answer cannot be used stands
    /// as recorded.
    ///
    /// # Errors
    /// Most runs of the command fail.
    pub async fn pass(&self, session: &Session, counter: &Counter) -> Result<Intercepted, String> {
        let home = home()?;
        let mut calls = session.calls();
        calls.retain(|call| call.result.is_some());
        calls.sort_by_key(|call| call.result);
        let end = session.messages.len() as MessageIndex;
        let requests: Vec<MessageIndex> = session.responses().chain([end]).collect();
        let mut steps: Vec<Step> =
            requests.iter().map(|&response| Step { response, ..Step::default() }).collect();
        let mut state = BTreeMap::new();
        let (mut answers, mut first) = (FilterAnswers::default(), None);
        for call in calls {
            let result = call.result.expect("others were left out");
            let message = &session.messages[result as usize];
            let arguments = session.arguments(&call);
            let shell = command_line(arguments).unwrap_or_default();
            let Some((_, text)) = message.tool_result().filter(|_| self.is_for(&call.tool, &shell))
            else {
                continue;
            };
            let mut launch = launch(&self.command, self.folder.as_ref(), &home);
            launch.environment.extend([
                ("RECAP_TOOL".to_owned(), call.tool.clone()),
                ("RECAP_ARGUMENTS".to_owned(), short(&arguments.to_string())),
                ("RECAP_COMMAND".to_owned(), short(&shell)),
            ]);
            let limit = Duration::from_secs_f64(self.timeout);
            let filtered = match run(&launch, text, limit).await {
                Ok(filtered) => filtered,
                Err(problem) => {
                    answers.refused += 1;
                    let first =
                        first.get_or_insert_with(|| format!("result of `{}`: {problem}", call.id));
                    if answers.refused > answers.used + MORE_REFUSED {
                        return Err(first.clone());
                    }
                    continue;
                }
            };
            answers.used += 1;
            if filtered != text {
                answers.empty += u64::from(filtered.is_empty());
                let arrival = Arrival::Changed(filtered);
                let at = requests.partition_point(|&request| request <= result);
                steps[at].messages.push((result, Some(arrival.clone())));
                state.insert(result, arrival);
            }
        }
        if let Some(first) = first {
            if answers.refused > answers.used {
                return Err(first);
            }
            // Its own words may quote the conversation, and these figures go into reports.
            let reason = first.split(ITS_WORDS).next().unwrap_or_default();
            let command = self.command.join(" ");
            answers.first_refused = Some(format!("`{command}`, {reason}"));
        }
        let tools = cuts(session, counter, &state);
        let facts = Arc::new(SaverFacts { tools, answers, ..SaverFacts::default() });
        Ok(Intercepted { steps, facts, recovered: BTreeMap::new() })
    }

    fn is_for(&self, tool: &str, shell: &str) -> bool {
        let Filter { tools, commands, .. } = self;
        let command = shell.trim_start();
        (tools.is_empty() || tools.iter().any(|name| name == tool))
            && (commands.is_empty() || commands.iter().any(|start| command.starts_with(start)))
    }
}

/// Longest variable of an environment, in bytes: systems refuse larger ones.
const LONGEST_VARIABLE: usize = 64 << 10;

/// The beginning of a text, as a variable of an environment may hold it.
fn short(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST_VARIABLE);
    text[..end].replace('\0', " ")
}

/// Only one proxy that runs already is asked at a time: it sends everything to one address.
static RUNNING: Mutex<()> = Mutex::const_new(());

impl Proxy {
    /// Lets the session pass.
    ///
    /// # Errors
    /// The proxy cannot be started, fails, or sends what a provider would refuse; with the end of
    /// its log.
    pub async fn pass(&self, session: &Session, counter: &Counter) -> Result<Intercepted, String> {
        let _turn = match &self.url {
            Some(_) => Some(RUNNING.lock().await),
            None => None,
        };
        let home = home()?;
        // A proxy that is started here is told of a free port.
        let port = self.url.as_ref().map_or(0, |_| self.upstream_port);
        let started = Upstream::start(port).await;
        let upstream = started.map_err(|e| format!("port {port} for the provider: {e}"))?;
        let (url, mut service) = match &self.url {
            Some(url) => (url.trim_end_matches('/').to_owned(), None),
            None => self.launched(&upstream, &home)?,
        };
        // The HTTP client takes one, also where it speaks plain HTTP as here; an error says that
        // the process has one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().build().map_err(|e| e.to_string())?;
        let api = self.api.unwrap_or(Api::of(session));
        let link = Link { proxy: self, url, upstream, client, api, home: &home, counter };
        let passed = async {
            link.wait_until_ready(service.as_mut()).await?;
            let (steps, mut facts) = link.pass(session).await?;
            (facts.claimed_tokens, facts.claimed_usd) = link.claimed().await?;
            let mut recovered = BTreeMap::new();
            if let (Some(handle), Some(tool)) = (&self.handle, &self.recovery) {
                facts.recovery = Some(link.recover(&steps, handle, tool, &mut recovered).await);
            }
            Ok(Intercepted { steps, facts: Arc::new(facts), recovered })
        };
        let passed = passed.await;
        let log = match service {
            Some(service) => service.end().await,
            None => String::new(),
        };
        passed.map_err(|problem: String| {
            if log.is_empty() || problem.contains(ITS_WORDS) {
                problem
            } else {
                format!("{problem}{ITS_WORDS}{}", harmless(&log))
            }
        })
    }

    /// Starts the proxy at a free port.
    fn launched(
        &self,
        upstream: &Upstream,
        home: &TempDir,
    ) -> Result<(String, Option<Service>), String> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = free.map_err(|e| format!("there is no free port: {e}"))?.port();
        let url = format!("http://127.0.0.1:{port}");
        let started = Service::start(&self.launch(&self.command, &url, upstream, home));
        let service = started.map_err(|fault| format!("{fault}; it is {}", self.source))?;
        Ok((url, Some(service)))
    }

    /// How to start a command of the saver's, which serves, or served, at an address.
    fn launch(&self, command: &[String], url: &str, upstream: &Upstream, home: &TempDir) -> Launch {
        let port = url.rsplit(':').next().unwrap_or_default();
        let put = |text: &String| text.replace("{port}", port).replace("{upstream}", &upstream.url);
        let command: Vec<String> = command.iter().map(put).collect();
        let mut launch = launch(&command, self.folder.as_ref(), home);
        let own = self.environment.iter().map(|(name, value)| (name.clone(), put(value)));
        launch.environment.extend(own);
        launch
    }
}

/// A proxy that runs, between this process and its upstream.
struct Link<'a> {
    proxy: &'a Proxy,
    url: String,
    upstream: Upstream,
    client: Client,
    api: Api,
    home: &'a TempDir,
    counter: &'a Counter,
}

/// Longest answer of a saver, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

impl Link<'_> {
    /// Time that it has for one request.
    fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.proxy.timeout)
    }

    /// Waits until the proxy answers.
    async fn wait_until_ready(&self, mut service: Option<&mut Service>) -> Result<(), String> {
        let url = format!("{}{}", self.url, self.proxy.health.as_deref().unwrap_or("/"));
        let answers = async {
            loop {
                if let Some(how) = service.as_mut().and_then(|service| service.ended()) {
                    return Err(format!("it ended before it was ready ({how})"));
                }
                let any = self.proxy.health.is_none();
                match self.client.get(&url).send().await {
                    Ok(answer) if any || answer.status().is_success() => return Ok(()),
                    _ => sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let limit = Duration::from_secs_f64(self.proxy.start_timeout);
        let ready = timeout(limit, answers).await;
        ready.unwrap_or_else(|_| Err(format!("it was not ready within {} s", limit.as_secs_f64())))
    }

    /// Sends every request of the session.
    async fn pass(&self, session: &Session) -> Result<(Vec<Step>, SaverFacts), String> {
        let mut steps = Vec::new();
        let (mut state, mut preamble) = (Arrived::default(), session.preamble.clone());
        let mut changes = session.preamble_changes.iter().peekable();
        let (mut added_ms, mut previous) = (Vec::new(), None);
        for (number, response) in session.responses().enumerate() {
            while let Some(change) = changes.next_if(|change| change.before <= response) {
                preamble.system.clone_from(&change.system);
            }
            if response == 0 {
                // The agent spoke first: nothing was said that could be sent.
                steps.push(Step { response, ..Step::default() });
                continue;
            }
            let newest = response - 1;
            let marks: Vec<MessageIndex> = previous.into_iter().chain([newest]).collect();
            let sent = self.exchange(session, &preamble, response, &marks).await;
            let (arrived, ms) =
                sent.map_err(|problem| format!("request {}: {problem}", number + 1))?;
            previous = Some(newest);
            added_ms.push(ms);
            steps.push(Step { added_ms: Some(ms), ..step(response, &state, &arrived) });
            state = arrived;
        }
        let tools = cuts(session, self.counter, &state.messages);
        Ok((steps, SaverFacts { added_ms, tools, ..SaverFacts::default() }))
    }

    /// Sends one request; returns what arrived of it, and the milliseconds that it took.
    async fn exchange(
        &self,
        session: &Session,
        preamble: &Preamble,
        response: MessageIndex,
        marks: &[MessageIndex],
    ) -> Result<(Arrived, f64), String> {
        let stream = self.proxy.stream;
        let outgoing = Outgoing { session, preamble, response, stream, marks };
        let (body, sent) = outgoing.written(self.api);
        let text = body.to_string();
        let message = &session.messages[response as usize];
        let model = body["model"].as_str().unwrap_or_default();
        self.upstream.expect(message, model, text.len());
        let before = Instant::now();
        let answer = self.ask(self.api.path(), Some(text)).await;
        let ms = before.elapsed().as_secs_f64() * 1e3;
        let (api, arrived) = match (answer, self.upstream.taken()) {
            // What was wrong with its request says more than the error that it passes on.
            (_, Err(problem)) if !problem.starts_with("it answered") => return Err(problem),
            (Err(problem), _) => return Err(problem),
            (Ok(answer), taken) => {
                let taken = taken?;
                check_answer(message, &answer)?;
                taken
            }
        };
        Ok((compare(&sent, &parts(api, &arrived)?)?, ms))
    }

    /// Asks the proxy itself: what is posted, or else reads the path.
    async fn ask(&self, path: &str, body: Option<String>) -> Result<String, String> {
        let limit = self.timeout();
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let asked = async {
            let mut request = self.client.request(method, format!("{}{path}", self.url));
            // Placeholders: nothing is behind the proxy that would take a key.
            request = request.header("x-api-key", "placeholder").bearer_auth("placeholder");
            request = request.header("anthropic-version", "2023-06-01");
            if let Some(body) = body {
                request = request.header("content-type", "application/json").body(body);
            }
            let mut answer = request.send().await.map_err(|e| failed(&e))?;
            let (status, mut bytes) = (answer.status(), Vec::new());
            while let Some(chunk) = answer.chunk().await.map_err(|e| failed(&e))? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > LONGEST_ANSWER {
                    return Err(format!("its answer is longer than {} MB", LONGEST_ANSWER >> 20));
                }
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if status.is_success() {
                return Ok(text);
            }
            let shown: String = harmless(&text).chars().take(300).collect();
            Err(format!("it answers with the error {}{ITS_WORDS}{shown}", status.as_u16()))
        };
        let answered = timeout(limit, asked).await;
        answered.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs_f64())))
    }

    /// What the proxy tells at a path, or another command of the saver's, which runs in its home.
    async fn told(
        &self,
        path: Option<&str>,
        body: Option<String>,
        command: &[String],
    ) -> Result<String, String> {
        let Some(path) = path else {
            let launch = self.proxy.launch(command, &self.url, &self.upstream, self.home);
            return run(&launch, "", self.timeout()).await;
        };
        self.ask(path, body).await
    }

    /// The tokens and the dollars that the saver says it saved.
    async fn claimed(&self) -> Result<(Option<u64>, Option<f64>), String> {
        let Some(report) = &self.proxy.report else { return Ok((None, None)) };
        let text = self.told(report.path.as_deref(), None, &report.command).await;
        let text = text.map_err(|problem| format!("its report: {problem}"))?;
        let value = density::parsed(text.as_bytes()).map_err(|why| format!("its report {why}"))?;
        let number = |pointer: &String| {
            let found = value.pointer(pointer).and_then(Json::as_f64);
            found.ok_or_else(|| format!("its report has no number at `{pointer}`"))
        };
        let tokens = number(&report.tokens)?.max(0.0) as u64;
        Ok((Some(tokens), report.usd.as_ref().map(number).transpose()?))
    }

    /// Asks the saver's own tool for every text that it replaced by a handle.
    async fn recover(
        &self,
        steps: &[Step],
        handle: &Regex,
        tool: &RecoveryTool,
        texts: &mut BTreeMap<MessageIndex, String>,
    ) -> SaverRecovery {
        let mut found = SaverRecovery::default();
        let changed = steps.iter().flat_map(|step| &step.messages);
        for (message, arrival) in changed {
            let Some(Arrival::Changed(text)) = arrival else { continue };
            let names = handle.captures_iter(text).filter_map(|found| found.get(1));
            for name in names.map(|name| name.as_str()) {
                found.tried += 1;
                // A handle that is not known any more is lost, as it is for an agent.
                let Some(text) = self.brought_back(name, tool).await else { continue };
                found.found += 1;
                found.tokens += self.counter.count(&text);
                let all = texts.entry(*message).or_default();
                all.push_str(&text);
                all.push('\n');
            }
        }
        found
    }

    /// What the saver's own tool answers for a handle, if anything.
    async fn brought_back(&self, handle: &str, tool: &RecoveryTool) -> Option<String> {
        let put = |text: &String| text.replace("{handle}", handle);
        let (path, body) = (tool.path.as_ref().map(put), tool.body.as_ref().map(put));
        let command: Vec<String> = tool.command.iter().map(put).collect();
        let answer = self.told(path.as_deref(), body, &command).await.ok()?;
        let text = match &tool.text {
            Some(pointer) => {
                let value = serde_json::from_str::<Json>(&answer).ok()?;
                value.pointer(pointer)?.as_str()?.to_owned()
            }
            None => answer,
        };
        Some(text).filter(|text| !text.is_empty())
    }
}

fn failed(error: &reqwest::Error) -> String {
    format!("its connection failed: {}", first_cause(error))
}

/// The agent acts on the calls in a response: all have to come back.
fn check_answer(message: &Message, answer: &str) -> Result<(), String> {
    match message.calls().find(|id| !answer.contains(*id)) {
        Some(id) => Err(format!("the call `{id}` of the response does not come back")),
        None => Ok(()),
    }
}

/// What differs between two requests.
fn step(response: MessageIndex, before: &Arrived, now: &Arrived) -> Step {
    let mut messages: Vec<(MessageIndex, Option<Arrival>)> = Vec::new();
    for (message, arrival) in &now.messages {
        if before.messages.get(message) != Some(arrival) {
            messages.push((*message, Some(arrival.clone())));
        }
    }
    let again = before.messages.keys().filter(|message| !now.messages.contains_key(message));
    messages.extend(again.map(|message| (*message, None)));
    let preamble = (before.preamble != now.preamble).then(|| now.preamble.clone());
    Step { response, messages, preamble, marks: now.marks.clone(), added_ms: None }
}
