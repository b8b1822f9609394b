//! A small harness for tests of mechanisms: it appends a hand-written
//! conversation message by message and looks at a strategy's stages at their
//! points. The real one, with background stages and rows, is `replay`.

#![allow(dead_code, clippy::unwrap_used, reason = "tests of other crates use a part of it")]

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::Value as Json;

use super::compactor::{
    Asked, CallUsage, Compactor, CompactorError, Digest, FailedCall, Produced, Reply, SessionState,
    Task,
};
use super::context::{Context, EntryId, Recording};
use super::state::StrategyState;
use super::strategy::{BuiltStage, Scaling, Strategy, builtin};
use super::trigger::{At, Gauge, Limits, Turn, When};
use crate::mechanism::{Host, Mechanism, Outcome, Work};
use recap_core::model::{Block, LedgerState, Message, PreambleChange, Role, Session};
use recap_core::tokens::{Counter, Reported};

/// Writes a session by hand.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    session: Session,
}

impl Talk {
    /// A conversation with this system prompt.
    pub fn new(system: &str) -> Self {
        let mut talk = Self::default();
        talk.session.id = "talk".to_owned();
        talk.session.preamble.system = vec![system.to_owned()];
        talk
    }

    fn push(mut self, role: Role, blocks: Vec<Block>) -> Self {
        let id = format!("m{}", self.session.messages.len());
        let message =
            Message { id, role, at: None, blocks, usage: None, synthetic: false, broadcast: false };
        self.session.messages.push(message);
        self
    }

    pub fn user(self, text: &str) -> Self {
        self.push(Role::User, vec![Block::Text { text: text.to_owned() }])
    }

    pub fn assistant(self, text: &str) -> Self {
        self.push(Role::Assistant, vec![Block::Text { text: text.to_owned() }])
    }

    /// A picture from the user.
    pub(crate) fn image(self) -> Self {
        self.push(Role::User, vec![Block::Image { media_type: None }])
    }

    /// An assistant message with calls: id, tool, arguments.
    pub fn calls(self, calls: &[(&str, &str, Json)]) -> Self {
        let block = |(id, name, arguments): &(&str, &str, Json)| Block::ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        };
        self.push(Role::Assistant, calls.iter().map(block).collect())
    }

    pub fn result(self, call: &str, text: &str) -> Self {
        let (call, text) = (call.to_owned(), text.to_owned());
        self.push(Role::Tool, vec![Block::ToolResult { call, text, images: 0, is_error: false }])
    }

    /// A new system prompt from the next message on.
    pub(crate) fn system(mut self, system: &str) -> Self {
        let before = self.session.messages.len() as u32;
        let change = PreambleChange { before, system: vec![system.to_owned()] };
        self.session.preamble_changes.push(change);
        self
    }

    pub fn end(self) -> Session {
        self.session
    }
}

impl From<Session> for Talk {
    fn from(session: Session) -> Self {
        Self { session }
    }
}

/// A text of exactly this many o200k tokens.
pub fn words(tokens: usize) -> String {
    vec![" word"; tokens].concat()
}

/// A compactor that writes short numbered replies in the asked shape and fails
/// at chosen calls (how-it-works §27).
#[derive(Default)]
pub(crate) struct Scripted {
    fails_at: BTreeSet<usize>,
    /// Whether it wants the texts of the live conversation.
    reads_live: bool,
    /// What it was asked.
    pub tasks: Mutex<Vec<Task>>,
}

impl Scripted {
    pub(crate) fn failing_at(calls: impl IntoIterator<Item = usize>) -> Arc<Self> {
        Arc::new(Self { fails_at: calls.into_iter().collect(), ..Self::default() })
    }

    /// One that never fails and wants the texts of the live conversation.
    pub(crate) fn reading() -> Arc<Self> {
        Arc::new(Self { reads_live: true, ..Self::default() })
    }

    pub(crate) fn tasks(&self) -> Vec<Task> {
        self.tasks.lock().unwrap().clone()
    }
}

#[async_trait]
impl Compactor for Scripted {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let mut tasks = self.tasks.lock().unwrap();
        let call = tasks.len();
        tasks.push(task.clone());
        if self.fails_at.contains(&call) {
            return Err(CompactorError::NoReply(format!("no reply: call {call} fails")).into());
        }
        let produced = match &task.asked {
            Asked::SessionState { previous } => {
                let mut state = previous.clone().unwrap_or_default();
                state.logos.push(format!("fact {call}"));
                state.conversation_summary = "They talked. It goes on.".to_owned();
                Produced::SessionState(state)
            }
            Asked::Continuation { .. } => Produced::Continuation(format!("continuation {call}")),
            Asked::Digest { rolling, .. } => {
                let before = rolling.iter().map(|r| format!("{r} ")).collect::<String>();
                let memories = vec![format!("memory {call}")];
                Produced::Digest(Digest { summary: format!("{before}summary {call}"), memories })
            }
        };
        Ok(free(produced))
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn reads_live(&self) -> bool {
        self.reads_live
    }
}

/// A reply of a hundred tokens that took nothing.
pub(crate) fn free(produced: Produced) -> Reply {
    let (usage, written) = (CallUsage::default(), 100);
    Reply::unmodelled(produced, usage, written)
}

/// A reply in a shape that was not requested.
pub(crate) struct OffShape;

#[async_trait]
impl Compactor for OffShape {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let produced = match task.asked {
            Asked::SessionState { .. } => Produced::Continuation("no state".to_owned()),
            _ => Produced::SessionState(SessionState::default()),
        };
        Ok(free(produced))
    }

    fn name(&self) -> &str {
        "off-shape"
    }
}

/// One strategy on one conversation.
pub struct Rig {
    pub strategy: Strategy,
    pub context: Context,
    pub shared: StrategyState,
    pub now: Timestamp,
    /// When the message before the newest came.
    before: Option<Timestamp>,
    /// Stage and outcome of every compaction.
    pub outcomes: Vec<(usize, Outcome)>,
    pub reported: Option<Reported>,
    window: u64,
    scaling: Scaling,
    stages: Vec<BuiltStage>,
    compactor: Arc<dyn Compactor>,
    random: Mutex<ChaCha8Rng>,
}

impl Rig {
    /// A built-in strategy, unscaled, with overrides.
    pub fn new(
        strategy: &str,
        overrides: &[(&str, &str)],
        window: u64,
        talk: Talk,
        compactor: Arc<dyn Compactor>,
    ) -> Self {
        Self::build(strategy, overrides, window, Scaling::AsWritten, talk, compactor)
    }

    /// A built-in strategy with its token numbers scaled to the window.
    pub fn scaled(
        strategy: &str,
        overrides: &[(&str, &str)],
        window: u64,
        talk: Talk,
        compactor: Arc<dyn Compactor>,
    ) -> Self {
        Self::build(strategy, overrides, window, Scaling::All, talk, compactor)
    }

    fn build(
        strategy: &str,
        overrides: &[(&str, &str)],
        window: u64,
        scaling: Scaling,
        talk: Talk,
        compactor: Arc<dyn Compactor>,
    ) -> Self {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(own).collect();
        let strategy = builtin(strategy, &overrides).expect("a built-in strategy").unwrap();
        Self::of(strategy, window, scaling, talk, compactor)
    }

    /// A strategy of these stages, scaled from a window of 1,000. Its prompts say
    /// what they are for, with `{{draft}}` where it is a check.
    pub(crate) fn stages(
        stages: &str,
        window: u64,
        talk: Talk,
        compactor: Arc<dyn Compactor>,
    ) -> Self {
        let head = "version = 1\nname = \"test\"\nsummary = \"\"\nsource = \"\"\n\
                    native_window = 1_000\n";
        let prompt = |file: &str| {
            let draft = if file.contains("check") { " {{draft}}" } else { "" };
            Some(format!("{file}:{draft}\n1. Goal\n2. Files modified\n{{{{messages}}}}"))
        };
        let text = format!("{head}{stages}");
        let strategy = Strategy::parse(None, "test.toml", &text, &[], &prompt).unwrap();
        Self::of(strategy, window, Scaling::All, talk, compactor)
    }

    fn of(
        strategy: Strategy,
        window: u64,
        scaling: Scaling,
        talk: Talk,
        compactor: Arc<dyn Compactor>,
    ) -> Self {
        let counter = Arc::new(Counter::default());
        let recording = Recording::new(Arc::new(talk.end()), counter);
        let stages = strategy.build(window, scaling).unwrap();
        let mut rig = Self {
            strategy,
            context: Context::new(recording),
            shared: StrategyState::default(),
            now: "2026-01-18T14:30:00Z".parse().unwrap(),
            before: None,
            outcomes: Vec::new(),
            reported: None,
            window,
            scaling,
            stages,
            compactor,
            random: Mutex::new(ChaCha8Rng::seed_from_u64(7)),
        };
        rig.prepare();
        rig
    }

    /// Appends this many messages and runs the stages that are due.
    pub fn feed(&mut self, messages: u32) {
        for _ in 0..messages {
            let index = self.context.seen_count();
            let message = &self.context.recording().session.messages[index as usize];
            let (request, user) = (message.is_request(), message.opens_exchange());
            self.context.enter(index);
            if request {
                self.request();
            }
            self.context.append();
            self.evaluate_stage(At::Append);
            if user {
                self.evaluate_stage(At::UserTurn);
            }
            if request {
                self.evaluate_stage(At::Response);
            }
            self.before = Some(self.now);
            self.now += SignedDuration::from_secs(60);
        }
    }

    /// Appends this many messages without running any stage.
    pub(crate) fn append(&mut self, messages: u32) {
        (0..messages).for_each(|_| self.context.append());
    }

    /// Appends all that is left, and sends one more request.
    pub fn finish(&mut self) {
        let all = self.context.recording().session.messages.len() as u32;
        self.feed(all - self.context.seen_count());
        self.request();
    }

    /// What happens before a call to the agent's model.
    pub(crate) fn request(&mut self) {
        self.prepare();
        self.evaluate_stage(At::Request);
        self.reported = Some(Reported { input: self.context.weight().tokens, output: 0 });
    }

    pub(crate) fn prepare(&mut self) {
        for at in 0..self.stages.len() {
            self.with_host(at, |strategy, context, shared, host| {
                strategy.prepare(Work { context, shared, host }).unwrap();
            });
        }
    }

    fn evaluate_stage(&mut self, at: At) {
        for number in 0..self.stages.len() {
            if self.strategy.stages[number].at != at {
                continue;
            }
            self.context.begin_stage(number as u32);
            if !self.stages[number].when.holds(&self.gauge()) {
                continue;
            }
            let before = self.strategy.estimator.fallback(self.context.weight());
            let mut outcome = None;
            self.with_host(number, |strategy, context, shared, host| {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                outcome = Some(
                    runtime.block_on(strategy.compact(Work { context, shared, host })).unwrap(),
                );
            });
            let outcome = outcome.unwrap();
            let forgets = outcome.forgets_usage;
            self.outcomes.push((number, outcome));
            super::validity::pairs_are_whole(&self.context).unwrap();
            let after = self.strategy.estimator.fallback(self.context.weight());
            if let Some(reported) = &mut self.reported {
                reported.input = (reported.input + after).saturating_sub(before);
            }
            self.reported = self.reported.filter(|_| !forgets);
        }
    }

    pub(crate) fn gauge(&self) -> Gauge<'_> {
        let newest = self.context.seen_count().checked_sub(1).map(EntryId::message);
        let newest = newest.and_then(|id| self.context.original(id));
        let turn = newest.filter(|message| message.opens_exchange()).map(|message| Turn {
            said: message.first_text(),
            at: self.now,
            before: self.before,
        });
        Gauge {
            turn,
            believed: self.strategy.estimator.total(self.context.weight(), self.reported),
            limits: self.strategy.limits(self.window, self.scaling),
            tool_tokens: self.context.tool_tokens_after(self.shared.pruned_through),
            messages: self.context.message_count(),
            recorded: false,
        }
    }

    fn with_host(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut dyn Mechanism, &mut Context, &mut StrategyState, &Host<'_>),
    ) {
        let gauge = self.gauge();
        let own = self.strategy.stages[number].target;
        let target = match &self.stages[number].when {
            _ if own.is_some() => own.map(|(of, share)| gauge.limits.share(of, share)).unwrap(),
            When::Above { of, share, .. } => gauge.limits.share(*of, *share),
            When::AboveReserve { reserve } => gauge.limits.window.saturating_sub(*reserve),
            _ => gauge.limits.window,
        };
        let Limits { window, budget, .. } = gauge.limits;
        let believed = gauge.believed;
        let BuiltStage { when, mechanism } = &mut self.stages[number];
        let host = Host {
            window,
            budget,
            target,
            believed,
            now: self.now,
            cause: when,
            reported: self.reported,
            estimator: self.strategy.estimator,
            recorded: None,
            compactor: &*self.compactor,
            random: &self.random,
        };
        act(mechanism.as_mut(), &mut self.context, &mut self.shared, &host);
    }

    /// Each recorded message as one letter: verbatim, edited, folded, `-` gone.
    pub fn ledger(&self) -> String {
        let letter = |index| match self.context.state(index) {
            LedgerState::Verbatim => 'v',
            LedgerState::Edited => 'e',
            LedgerState::Folded => 'f',
            LedgerState::Gone => '-',
        };
        (0..self.context.seen_count()).map(letter).collect()
    }

    /// The messages as sent: role and text.
    pub fn sent(&self) -> Vec<(Role, String)> {
        let entry = |id: EntryId| self.context.entry(id).unwrap();
        self.context.visible().map(entry).map(|e| (e.role, e.text.to_owned())).collect()
    }

    /// The files that the system would have now, by path.
    pub(crate) fn stored(&self) -> Vec<String> {
        let files = |stage: &BuiltStage| stage.mechanism.stored(&self.context, &self.shared);
        self.stages.iter().flat_map(files).map(|file| file.path).collect()
    }

    pub fn notes(&self) -> BTreeMap<String, String> {
        self.context.notes().map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
    }

    /// Fallbacks in order, by stage.
    pub fn fallbacks(&self) -> Vec<(usize, String)> {
        let fallback = |(stage, outcome): &(usize, Outcome)| {
            Some((*stage, outcome.fallback.as_ref()?.to.clone()))
        };
        self.outcomes.iter().filter_map(fallback).collect()
    }

    /// GenCode's session file as it would be saved now.
    pub(crate) fn session_file(&self) -> Json {
        let files = |stage: &BuiltStage| stage.mechanism.stored(&self.context, &self.shared);
        let [file] = &self.stages.iter().flat_map(files).collect::<Vec<_>>()[..] else {
            panic!("one session, one file");
        };
        serde_json::from_slice(&file.content).unwrap()
    }
}
