//! A strategy of the user's own: a program in any language, which is asked for
//! a new context over its standard input and output.
//!
//! The program is started at the first compaction of a cell and serves that
//! cell alone. Any error of the program fails the cell, with the call and the
//! program's last output; it never fails the run, and it leaves no process
//! behind. `docs/program.md` describes the protocol for authors of such
//! programs.

#![allow(clippy::disallowed_methods, reason = "a program of the user's is waited for")]

mod apply;
mod protocol;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::time::Instant;
use toml::Table;

use super::process::{Fault, ITS_WORDS, Launch, Program, check_command, check_timeout, harmless};
use crate::compactor::{CallUsage, ModelCall};
use crate::context::{Context, EntryId};
use crate::mechanism::{
    Build, BuildError, Host, Mechanism, MechanismError, MechanismSpec, Outcome, Work,
};
use protocol::{
    Answer, CLOSE, NOTICE, NewContext, PROTOCOL, Request, ShownCall, WireEntry, excerpt,
};
use recap_core::model::Call;
use recap_core::text::beginning;

/// The mechanism that asks a program.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "command",
    summary: "Asks a program of your own for the new context, over standard input and output",
    build: |build| Ok(Box::new(Asker::new(build)?)),
    ..MechanismSpec::PLAIN
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The program and its arguments.
    command: Vec<String>,
    /// More files of the program: they only go into the strategy's hash.
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    timeouts: Timeouts,
    /// Passed to the program unchanged.
    #[serde(default)]
    parameters: Table,
}

/// Timeouts of the program, in seconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Timeouts {
    /// Until the program is ready.
    start: f64,
    /// Of one answer.
    call: f64,
    /// Of all its answers in a session together.
    total: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { start: 10.0, call: 30.0, total: 600.0 }
    }
}

/// The words of a stage's command, and the files beside its strategy that its
/// parameters name: changing one of them changes the strategy.
pub(crate) fn named_files(stage: &Table) -> impl Iterator<Item = (&str, bool)> {
    let listed = |key| stage.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    // A first word without a separator is looked up in `PATH`, not in the strategy's folder.
    let is_path = |(at, word): &(usize, &str)| *at > 0 || word.contains(std::path::is_separator);
    let command = listed("command").filter_map(toml::Value::as_str).enumerate().filter(is_path);
    let files = listed("files").filter_map(toml::Value::as_str);
    command.map(|(_, word)| (word, false)).chain(files.map(|file| (file, true)))
}

/// Sends requests to the program of one cell. A copy starts a program of its own, which gets the
/// state back and is sent all of the context.
struct Asker {
    launch: Launch,
    strategy: String,
    stage: usize,
    parameters: Json,
    timeouts: Timeouts,
    program: Option<Program>,
    /// The entries that the program was sent, with the hash of the text.
    seen: BTreeMap<EntryId, Option<blake3::Hash>>,
    calls: u32,
    waited: Duration,
    /// The state that the program wants to get back in a later process.
    state: Json,
}

impl Clone for Asker {
    fn clone(&self) -> Self {
        Self {
            launch: self.launch.clone(),
            strategy: self.strategy.clone(),
            parameters: self.parameters.clone(),
            program: None,
            seen: BTreeMap::new(),
            state: self.state.clone(),
            ..*self
        }
    }
}

impl Asker {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let Parameters { command, files, timeouts, parameters } = build.read()?;
        check_command(&command)?;
        if files.iter().any(String::is_empty) {
            return Err("`files` must name something".into());
        }
        let folder = build.strategy.folder.clone();
        let folder = folder.ok_or("a program runs only from a strategy file of your own")?;
        let launch = Launch { command, folder, ..Launch::default() };
        let Timeouts { start, call, total } = timeouts;
        [start, call, total].into_iter().try_for_each(check_timeout)?;
        Ok(Self {
            launch,
            strategy: build.strategy.name.clone(),
            stage: build.stage,
            parameters: serde_json::to_value(parameters).map_err(|e| e.to_string())?,
            timeouts,
            program: None,
            seen: BTreeMap::new(),
            calls: 0,
            waited: Duration::ZERO,
            state: Json::Null,
        })
    }

    /// An error that fails the cell.
    fn error(&self, during: &str, problem: &str) -> MechanismError {
        let (strategy, program) = (&self.strategy, &self.launch);
        let problem = format!("strategy `{strategy}`, {during} of `{program}`: {problem}");
        MechanismError::Outside(problem)
    }

    /// Sends one message to the program. A program that fails is ended.
    async fn ask(
        &mut self,
        mut program: Program,
        request: &Request<'_>,
        limit: f64,
    ) -> Result<(Program, Answer), String> {
        let line = serde_json::to_string(request).expect("plain data serialises");
        let before = Instant::now();
        let total = Duration::from_secs_f64(self.timeouts.total);
        let left = total.saturating_sub(self.waited);
        let asked = program.ask(&line, Duration::from_secs_f64(limit).min(left)).await;
        self.waited += before.elapsed();
        let answer = match asked {
            Ok(answer) => answer,
            Err(fault) => {
                let late = matches!(fault, Fault::Late(_)) && self.waited >= total;
                let (mut why, words) = program.post_mortem(&fault).await;
                if late {
                    why = format!("its {} s in total are used up", self.timeouts.total);
                }
                return Err(if words.is_empty() {
                    why
                } else {
                    format!("{why}{ITS_WORDS}{}", harmless(&words))
                });
            }
        };
        match protocol::read(&answer) {
            Ok(read) => Ok((program, read)),
            Err(problem) if problem.contains(ITS_WORDS) => Err(harmless(&problem)),
            Err(problem) => Err(format!("{problem}{ITS_WORDS}{}", excerpt(&answer))),
        }
    }

    /// The program, which is started if it is not running.
    async fn running(&mut self, host: &Host<'_>) -> Result<Program, MechanismError> {
        if let Some(program) = self.program.take() {
            return Ok(program);
        }
        let started = Program::start(&self.launch);
        let program = started.map_err(|fault| self.error("at its start", &fault.to_string()))?;
        let (strategy, parameters, state) =
            (self.strategy.clone(), self.parameters.clone(), self.state.clone());
        let open = Request::Open {
            protocol: PROTOCOL,
            recap: env!("CARGO_PKG_VERSION"),
            strategy: &strategy,
            stage: self.stage,
            window: host.window,
            budget: host.budget,
            parameters: &parameters,
            state: &state,
        };
        self.seen.clear();
        match self.ask(program, &open, self.timeouts.start).await {
            Ok((program, Answer::Ready)) => Ok(program),
            Ok(_) => Err(self.error("at its start", "it must answer `open` with `ready`")),
            Err(problem) => Err(self.error("at its start", &problem)),
        }
    }

    /// The entries that the program has not been sent in their current form.
    fn changed_entries<'a>(
        &mut self,
        context: &'a Context,
        base: &[EntryId],
    ) -> Vec<WireEntry<'a>> {
        let mut news = Vec::new();
        for &id in base {
            let edited = id.index().and_then(|index| context.edited_text(index));
            let version = edited.map(|text| blake3::hash(text.as_bytes()));
            if self.seen.insert(id, version) != Some(version) {
                news.extend(shown(context, id));
            }
        }
        news
    }

    /// The effects of an answer besides changing the context.
    fn outcome(&mut self, new: NewContext) -> Outcome {
        if let Some(state) = new.state {
            self.state = state;
        }
        let call = |call: &protocol::Usage| ModelCall {
            usage: CallUsage { input: call.input, output: call.output },
            latency_ms: call.latency_ms,
            recorded: false,
            live: false,
            reply: None,
        };
        Outcome {
            notices: new.notice.iter().map(|text| beginning(text, NOTICE).into_owned()).collect(),
            calls: new.usage.iter().map(call).collect(),
            ..Outcome::default()
        }
    }
}

/// An entry as a program sees it.
fn shown(context: &Context, id: EntryId) -> Option<WireEntry<'_>> {
    let entry = context.entry(id)?;
    let made = id.index().map_or(&[][..], |index| context.recording().calls_in(index));
    let session = &context.recording().session;
    let calls = made
        .iter()
        .filter(|call| !context.is_call_removed(call))
        .map(|call| ShownCall { arguments: Some(session.arguments(call).clone()), ..named(call) });
    let images = match context.original(id) {
        Some(message) if !context.is_edited(id) => message.images(),
        _ => 0,
    };
    Some(WireEntry {
        id: apply::name(id),
        role: entry.role,
        tokens: entry.weight.tokens,
        calls: calls.collect(),
        result_of: context.call_of(id).map(|(_, call)| named(call)),
        images,
        text: entry.text.to_owned(),
    })
}

fn named(call: &Call) -> ShownCall<'_> {
    ShownCall { id: &call.id, tool: &call.tool, arguments: None }
}

/// Applies an answer to `compact`, with all messages of a recording in the
/// context. No program is started: for tests of the reader.
///
/// # Errors
///
/// What is wrong with the answer.
#[cfg(any(test, feature = "testkit"))]
pub fn take_answer(recording: crate::Recording, line: &str) -> Result<(), String> {
    let mut context = Context::new(recording);
    for _ in 0..context.recording().session.messages.len() {
        context.append();
    }
    let base: Vec<EntryId> = context.visible().collect();
    let Answer::Context(new) = protocol::read(line)? else {
        return Err("it must answer `compact`".to_owned());
    };
    apply::apply(&mut context, &base, new.messages)
}

#[async_trait]
impl Mechanism for Asker {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, host, .. } = work;
        let program = self.running(host).await?;
        self.calls += 1;
        let during = format!("call {}", self.calls);
        let base: Vec<EntryId> = context.visible().collect();
        let request = Request::Compact {
            call: self.calls,
            target: host.target,
            window: host.window,
            budget: host.budget,
            believed: host.believed,
            now: host.now.to_string(),
            cause: host.cause.to_string(),
            context: base.iter().map(|id| apply::name(*id)).collect(),
            messages: self.changed_entries(context, &base),
        };
        let asked = self.ask(program, &request, self.timeouts.call).await;
        let (program, answer) = asked.map_err(|problem| self.error(&during, &problem))?;
        self.program = Some(program);
        let Answer::Context(mut new) = answer else {
            return Err(self.error(&during, "it must answer `compact` with `context`"));
        };
        let messages = std::mem::take(&mut new.messages);
        apply::apply(context, &base, messages).map_err(|problem| self.error(&during, &problem))?;
        Ok(self.outcome(new))
    }

    async fn close(&mut self) {
        if let Some(program) = self.program.take() {
            program.close(CLOSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::context::{Op, Recording};
    use crate::testkit::{Talk, words};
    use recap_core::model::CallId;

    #[test]
    fn program_sees_entry_as_sent() {
        let calls = [("a", "read", json!({"path": "x"})), ("b", "grep", json!({}))];
        let talk = Talk::new("S").image().calls(&calls).result("a", &words(9)).result("b", "y");
        let mut context = Context::new(Recording::new(Arc::new(talk.end()), Arc::default()));
        (0..4).for_each(|_| context.append());
        let seen = |context: &Context, at| {
            serde_json::to_value(shown(context, EntryId::message(at)).unwrap()).unwrap()
        };
        assert_eq!(seen(&context, 0)["images"], 1);
        let first = json!({"id": "a", "tool": "read", "arguments": {"path": "x"}});
        let second = json!({"id": "b", "tool": "grep", "arguments": {}});
        assert_eq!(seen(&context, 1)["calls"], json!([first, second]));
        let result = seen(&context, 2);
        assert_eq!(result["result_of"], json!({"id": "a", "tool": "read"}));
        assert_eq!((result["id"].as_str(), result["tokens"].as_u64()), (Some("m2"), Some(9)));
        context.apply(Op::RemoveCall(CallId(1))).unwrap();
        assert_eq!(seen(&context, 1)["calls"], json!([first]));
    }

    fn asker(script: &str) -> Asker {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let launch = Launch { command, folder: std::env::temp_dir(), ..Launch::default() };
        Asker {
            launch,
            strategy: "mine".to_owned(),
            stage: 2,
            parameters: json!({}),
            timeouts: Timeouts { start: 60.0, call: 60.0, total: 600.0 },
            program: None,
            seen: BTreeMap::new(),
            calls: 0,
            waited: Duration::ZERO,
            state: Json::Null,
        }
    }

    fn conversation() -> Context {
        let calls = [("a", "read", json!({}))];
        let talk = Talk::new("S").image().calls(&calls).result("a", "y").user("z");
        let mut context = Context::new(Recording::new(Arc::new(talk.end()), Arc::default()));
        (0..4).for_each(|_| context.append());
        context
    }

    #[test]
    fn program_is_sent_only_new_or_edited_entries() {
        let (mut asker, mut context) = (asker("true"), conversation());
        let base: Vec<EntryId> = context.visible().collect();
        let mut news = |context: &Context, base: &[EntryId]| {
            let shown = asker.changed_entries(context, base);
            shown.into_iter().map(|shown| (shown.id, shown.text)).collect::<Vec<_>>()
        };
        assert_eq!(news(&context, &base[..3]).len(), 3);
        assert_eq!(news(&context, &base), [("m3".to_owned(), "z".to_owned())]);
        context.apply(Op::EditResult(CallId(0), "gone".to_owned())).unwrap();
        assert_eq!(news(&context, &base), [("m2".to_owned(), "gone".to_owned())]);
        assert!(news(&context, &base).is_empty());
    }

    #[test]
    fn copy_keeps_state_and_calls_and_starts_a_program_anew() {
        let mut asker = asker("true");
        (asker.calls, asker.state) = (4, json!({"n": 7}));
        asker.seen.insert(EntryId::message(0), None);
        let copy = asker.clone();
        assert_eq!((copy.calls, &copy.state), (4, &asker.state));
        assert!(copy.program.is_none() && copy.seen.is_empty());
    }
}
