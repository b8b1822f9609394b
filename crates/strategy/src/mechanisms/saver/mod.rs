//! Token savers: programs that stand between an agent and its provider (`proxy`), or between a tool
//! and the agent (`filter`), and make requests smaller.
//!
//! What a saver is given follows from the recording alone: the agent sends its whole conversation,
//! whatever arrives. So each session passes through a saver once, request by request and in order,
//! and every context of that session repeats what arrived ([`intercept`]). A saver that fails,
//! fails the cells of that session with its reason, and leaves no process behind.
//!
//! One file each: requests in the providers' formats ([`wire`], and a file for each provider), the
//! provider behind a saver ([`upstream`]), and what of a request arrived ([`arrived`]).

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "programs of the user's are started, waited for, and spoken to on loopback"
)]

mod anthropic;
mod arrived;
mod intercept;
mod openai_chat;
mod openai_responses;
mod upstream;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::sync::OnceCell;

use super::process::{check_command, check_timeout};
use crate::context::{Context, EntryId, Op, Recording};
use crate::mechanism::{
    Build, BuildError, Mechanism, MechanismError, MechanismSpec, Outcome, Work,
};
use arrived::Arrival;
use intercept::{Intercepted, Step};
use recap_core::model::{Block, MessageIndex, Session};
use recap_core::text::redact::{Originals, Redaction, redact};
use wire::{Api, Owner};

/// Passes the results of tools through a command.
pub static FILTER: MechanismSpec = MechanismSpec {
    name: "filter",
    summary: "Passes tool results through a command, as they are when the tool has run",
    is_view: true,
    build: |build| {
        let mut filter: Filter = build.read()?;
        check_command(&filter.command)?;
        check_timeout(filter.timeout)?;
        filter.folder.clone_from(&build.strategy.folder);
        let command = filter.command.join(" ");
        Ok(Box::new(Saver::new(build, &command, Source::Filter(filter))))
    },
    ..MechanismSpec::PLAIN
};

/// Passes the requests of the agent through a proxy.
pub static PROXY: MechanismSpec = MechanismSpec {
    name: "proxy",
    summary: "Sends every request through a token saver's proxy, and takes what arrives behind it",
    is_view: true,
    build: |build| {
        let proxy = proxy(build)?;
        let name = proxy.url.clone().unwrap_or_else(|| proxy.command.join(" "));
        Ok(Box::new(Saver::new(build, &name, Source::Proxy(Box::new(proxy)))))
    },
    ..MechanismSpec::PLAIN
};

/// A command for the results of tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// The program and its arguments.
    command: Vec<String>,
    /// Names of the tools whose results it gets; empty: all.
    #[serde(default)]
    tools: Vec<String>,
    /// Beginnings of the shell commands whose results it gets; empty: all.
    #[serde(default)]
    commands: Vec<String>,
    /// Seconds that it may take for one result.
    #[serde(default = "half_a_minute")]
    timeout: f64,
    /// The strategy's folder, in which it runs.
    #[serde(skip)]
    folder: Option<PathBuf>,
}

/// A proxy, and how it is run and asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proxy {
    /// The program and its arguments; `{port}` and `{upstream}` stand for what it is told.
    #[serde(default)]
    command: Vec<String>,
    /// The address of a proxy that runs already.
    url: Option<String>,
    /// The port at which the provider of such a proxy stands.
    #[serde(default = "upstream_port")]
    upstream_port: u16,
    /// Variables of its environment, with the same words.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// The path that answers once it is ready; absent: any answer.
    health: Option<String>,
    /// The interface of the provider.
    api: Option<Api>,
    /// Whether responses are asked for as streams of events, as agents do.
    #[serde(default = "super::yes")]
    stream: bool,
    /// Seconds until it is ready.
    #[serde(default = "half_a_minute")]
    start_timeout: f64,
    /// Seconds that it may take for one request.
    #[serde(default = "half_a_minute")]
    timeout: f64,
    /// Where it tells what it saved.
    report: Option<Report>,
    /// How its own tool is asked for what it removed.
    recovery: Option<RecoveryTool>,
    /// The form of the handles that this tool takes.
    #[serde(skip)]
    handle: Option<Regex>,
    /// The strategy's folder, in which it runs.
    #[serde(skip)]
    folder: Option<PathBuf>,
    /// Where it is from, and how it is installed.
    #[serde(skip)]
    source: String,
}

/// Where a saver tells what it saved: a path of its own, or a command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    path: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    /// The JSON pointer of the tokens in it.
    tokens: String,
    /// The JSON pointer of the dollars in it.
    usd: Option<String>,
}

/// How a saver's own tool is asked for what was removed, as an agent would by calling it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecoveryTool {
    /// A regular expression, whose first group is the handle that it leaves in a text.
    handle: String,
    /// The path that is asked, with `{handle}`.
    path: Option<String>,
    /// The command that is run instead, with `{handle}`.
    #[serde(default)]
    command: Vec<String>,
    /// The body that is posted, with `{handle}`; absent: the path is read.
    body: Option<String>,
    /// The JSON pointer of the text in the answer; absent: the whole answer.
    text: Option<String>,
}

fn half_a_minute() -> f64 {
    30.0
}

fn upstream_port() -> u16 {
    9797
}

fn proxy(build: &Build<'_>) -> Result<Proxy, BuildError> {
    let mut proxy: Proxy = build.read()?;
    match &proxy.url {
        Some(url) if !proxy.command.is_empty() => {
            let problem = "`url` is for a proxy that runs: leave out `command`, or";
            return Err(format!("{problem} `{url}`").into());
        }
        Some(url) if !is_loopback(url) => {
            let problem = "is not on this machine, such as http://127.0.0.1:8787";
            return Err(format!("`{url}` {problem}").into());
        }
        Some(_) => {}
        None => check_command(&proxy.command)?,
    }
    if let Some(report) = &proxy.report {
        match (&report.path, report.command.as_slice()) {
            (Some(_), []) => {}
            (None, [program, ..]) if !program.is_empty() => {}
            _ => return Err("report: name either a `path` of the proxy or a `command`".into()),
        }
    }
    if let Some(tool) = &proxy.recovery {
        let form = Regex::new(&tool.handle).map_err(|e| format!("recovery.handle: {e}"))?;
        if form.captures_len() < 2 {
            return Err("recovery.handle: the handle is a group in brackets".into());
        }
        if tool.path.is_none() {
            check_command(&tool.command)?;
        }
        proxy.handle = Some(form);
    }
    check_timeout(proxy.start_timeout)?;
    check_timeout(proxy.timeout)?;
    proxy.folder.clone_from(&build.strategy.folder);
    proxy.source.clone_from(&build.strategy.source);
    Ok(proxy)
}

/// Whether an address is on this machine: recorded text goes nowhere else.
fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "http" && ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}

/// A session with placeholders for secrets and e-mail addresses, and what they stand for.
fn redacted(session: &Session) -> (Session, Originals) {
    let mut session = session.clone();
    let mut texts: Vec<&mut String> = session.preamble.system.iter_mut().collect();
    texts.extend(&mut session.preamble.pinned);
    texts.extend(session.preamble_changes.iter_mut().flat_map(|change| &mut change.system));
    let mut arguments: Vec<(&mut Json, String)> = Vec::new();
    for block in session.messages.iter_mut().flat_map(|message| &mut message.blocks) {
        match block {
            Block::Text { text } | Block::ToolResult { text, .. } => texts.push(text),
            Block::ToolCall { arguments: own, .. } => {
                let text = own.to_string();
                arguments.push((own, text));
            }
            Block::Reasoning { .. } | Block::Image { .. } => {}
        }
    }
    let calls = arguments.iter().map(|(_, text)| text.as_str());
    let all: Vec<&str> = texts.iter().map(|text| text.as_str()).chain(calls).collect();
    let Redaction { texts: replaced, originals } = redact(&all);
    let mut replaced = replaced.into_iter();
    for (text, replaced) in texts.into_iter().zip(&mut replaced) {
        *text = replaced;
    }
    for ((own, _), replaced) in arguments.into_iter().zip(replaced) {
        *own = serde_json::from_str(&replaced).unwrap_or(Json::String(replaced));
    }
    (session, originals)
}

/// The program that sessions pass through.
enum Source {
    Filter(Filter),
    Proxy(Box<Proxy>),
}

/// Repeats in one context what a saver did to its session.
#[derive(Clone)]
struct Saver {
    source: Arc<Source>,
    /// Its strategy, and its command or address.
    name: String,
    hash: String,
    redacts: bool,
    /// What arrived, once it is known.
    done: Option<Arc<Intercepted>>,
    /// The position in the whole session of each message of the recording, ascending.
    whole: Vec<MessageIndex>,
    /// Number of steps that were applied.
    applied: usize,
    /// Messages that do not arrive.
    dropped: BTreeSet<EntryId>,
}

/// The result of a session's passage: it is shared by all contexts of the session.
type Passage = OnceCell<Result<Arc<Intercepted>, String>>;

impl Saver {
    fn new(build: &Build<'_>, command: &str, source: Source) -> Self {
        Self {
            source: Arc::new(source),
            name: format!("strategy `{}`, `{command}`", build.strategy.name),
            hash: build.strategy.hash.clone(),
            redacts: build.strategy.redacts,
            done: None,
            whole: Vec::new(),
            applied: 0,
            dropped: BTreeSet::new(),
        }
    }

    /// What arrived of the requests of the whole session.
    async fn intercepted(&self, recording: &Recording) -> Result<Arc<Intercepted>, MechanismError> {
        let passage = recording.derived::<Passage>(&self.hash);
        let pass = async {
            let (whole, counter) = (recording.whole(), &recording.counter);
            let (session, originals) = if self.redacts {
                redacted(whole)
            } else {
                (Session::clone(whole), Originals::default())
            };
            let passed = match &*self.source {
                Source::Filter(filter) => filter.pass(&session, counter).await,
                Source::Proxy(proxy) => proxy.pass(&session, counter).await,
            };
            passed.map(|passed| Arc::new(passed.restored(&originals)))
        };
        let passed = passage.get_or_init(|| pass).await.clone();
        let name = &self.name;
        passed.map_err(|problem| MechanismError::Outside(format!("{name}: {problem}")))
    }

    /// The position of a message of the whole session in this recording.
    fn own(&self, message: MessageIndex) -> Option<MessageIndex> {
        self.whole.binary_search(&message).ok().map(|at| at as MessageIndex)
    }

    fn apply(&mut self, context: &mut Context, step: &Step) -> Result<(), MechanismError> {
        for (message, arrival) in &step.messages {
            let Some(own) = self.own(*message) else { continue };
            let id = EntryId::message(own);
            match arrival {
                Some(Arrival::Dropped) => {
                    self.dropped.insert(id);
                }
                Some(Arrival::Changed(text)) => {
                    self.dropped.remove(&id);
                    context.apply(Op::Rewrite(own, Some(text.clone())))?;
                }
                None => {
                    self.dropped.remove(&id);
                    context.apply(Op::Rewrite(own, None))?;
                }
            }
        }
        if let Some(preamble) = &step.preamble {
            context.apply(Op::Preamble(preamble.clone()))?;
        }
        let entry = |owner: &Owner| match owner {
            Owner::Message(message) => self.own(*message).map(|own| Some(EntryId::message(own))),
            Owner::Preamble | Owner::Required => Some(None),
        };
        let marks = step.marks.as_ref();
        context.set_breakpoints(marks.map(|marks| marks.iter().filter_map(entry).collect()));
        Ok(())
    }
}

#[async_trait]
impl Mechanism for Saver {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let context = work.context;
        let recording = context.recording().clone();
        let done = match &self.done {
            Some(done) => Arc::clone(done),
            None => self.intercepted(&recording).await?,
        };
        if self.whole.is_empty() {
            let whole = (0..).zip(&recording.whole().messages);
            let places: HashMap<&str, MessageIndex> =
                whole.map(|(at, message)| (message.id.as_str(), at)).collect();
            let own = recording.session.messages.iter();
            self.whole =
                own.filter_map(|message| places.get(message.id.as_str()).copied()).collect();
        }
        self.done = Some(Arc::clone(&done));
        let seen = context.seen_count() as usize;
        let next = self.whole.get(seen).copied().unwrap_or(MessageIndex::MAX);
        let mut waited_ms = None;
        while let Some(step) = done.steps.get(self.applied).filter(|step| step.response <= next) {
            self.apply(context, step)?;
            waited_ms = step.added_ms;
            self.applied += 1;
        }
        let also = self.dropped.iter().copied().filter(|&id| context.contains(id)).collect();
        context.apply(Op::Hide { before: 0, also })?;
        Ok(Outcome { waited_ms, saver: Some(Arc::clone(&done.facts)), ..Outcome::default() })
    }

    fn recovered(&self, message: MessageIndex) -> Option<&str> {
        let whole = self.whole.get(message as usize)?;
        self.done.as_ref()?.recovered.get(whole).map(String::as_str)
    }
}
