//! A session while it is being written.

use jiff::civil::Date;
use recap_core::model::{Block, Message, MessageIndex, Role, Session, ToolDefinition};
use recap_core::tokens::Counter;
use serde_json::Value as Json;

use super::calendar::Calendar;
use super::question::{Fact, PlannedQuestion};
use super::random::Stream;

/// A message that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub(super) MessageIndex);

/// A fact that was announced with [`Script::fact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactId(usize);

/// A tool call and what comes back.
#[derive(Clone, Debug)]
pub struct Act {
    tool: String,
    arguments: Json,
    result: String,
    failed: bool,
    seconds: u64,
}

impl Act {
    /// A call that succeeds within a second.
    pub fn new(tool: &str, arguments: Json, result: impl Into<String>) -> Act {
        Act { tool: tool.to_owned(), arguments, result: result.into(), failed: false, seconds: 1 }
    }

    /// The tool reports a failure.
    pub fn failed(mut self, failed: bool) -> Act {
        self.failed = failed;
        self
    }

    /// The call takes as long.
    pub fn takes(mut self, seconds: u64) -> Act {
        self.seconds = seconds;
        self
    }
}

/// Writes one session: messages at the end of the conversation, facts and
/// questions about them.
pub struct Script {
    /// Choices of the author.
    pub random: Stream,
    /// Simulated time.
    pub calendar: Calendar,
    pub(super) session: Session,
    pub(super) questions: Vec<PlannedQuestion>,
    pub(super) facts: Vec<Fact>,
    pace: Stream,
    counter: Counter,
    tokens: u64,
    target: u64,
}

impl Script {
    /// An empty session of about `target` tokens.
    pub(super) fn new(id: &str, random: Stream, target: u64) -> Script {
        let mut pace = random.fork("pace");
        Script {
            calendar: Calendar::new(&mut pace),
            session: Session { id: id.to_owned(), ..Session::default() },
            questions: Vec::new(),
            facts: Vec::new(),
            counter: Counter::default(),
            tokens: 0,
            random,
            pace,
            target,
        }
    }

    /// What stands before the first message, and whose work it is.
    pub fn open(&mut self, project: &str, system: &[String], tools: Vec<ToolDefinition>) {
        self.session.project = Some(project.to_owned());
        self.session.preamble.system = system.to_vec();
        self.session.preamble.tools = tools;
    }

    /// The user writes, after a pause.
    pub fn user(&mut self, text: impl Into<String>) -> Place {
        if !self.session.messages.is_empty() {
            self.calendar.wait_for_user(&mut self.pace);
        }
        self.push(Role::User, vec![Block::Text { text: text.into() }])
    }

    /// The agent writes and calls no tool.
    pub fn say(&mut self, text: impl Into<String>) -> Place {
        self.act(text, Vec::new()).0
    }

    /// The agent writes (or not: `text` may be empty) and calls tools. Gives
    /// the place of its message, and those of the results in order.
    ///
    /// # Panics
    /// Neither a text nor a call.
    pub fn act(&mut self, text: impl Into<String>, acts: Vec<Act>) -> (Place, Vec<Place>) {
        let text = text.into();
        assert!(
            !text.is_empty() || !acts.is_empty(),
            "an assistant message says or does something"
        );
        self.calendar.pass(self.pace.number(3..=9) + text.len() as u64 / 60);
        let mut blocks = Vec::new();
        if !text.is_empty() {
            blocks.push(Block::Text { text });
        }
        let mut results = Vec::new();
        for Act { tool, arguments, result, failed, seconds } in acts {
            let id = format!("call_{}", self.pace.fresh(|random| random.hex(10)));
            blocks.push(Block::ToolCall { id: id.clone(), name: tool, arguments });
            let block = Block::ToolResult { call: id, text: result, images: 0, is_error: failed };
            results.push((seconds, block));
        }
        let message = self.push(Role::Assistant, blocks);
        let mut places = Vec::new();
        for (seconds, block) in results {
            self.calendar.pass(seconds);
            places.push(self.push(Role::Tool, vec![block]));
        }
        (message, places)
    }

    fn push(&mut self, role: Role, blocks: Vec<Block>) -> Place {
        let index = self.session.messages.len() as MessageIndex;
        let at = Some(self.calendar.now());
        let id = format!("m{:04}", index + 1);
        let message =
            Message { id, role, at, blocks, usage: None, synthetic: false, broadcast: false };
        self.tokens += self.counter.count(&message.sent());
        self.session.messages.push(message);
        Place(index)
    }

    /// The text of a message as it is sent.
    pub fn text(&self, place: Place) -> String {
        self.session.messages[place.0 as usize].sent()
    }

    /// The simulated day.
    pub fn today(&self) -> Date {
        self.calendar.today()
    }

    /// Tokens of a text (o200k).
    pub fn count(&self, text: &str) -> u64 {
        self.counter.count(text)
    }

    /// Tokens of all messages so far (o200k).
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Tokens that are still to be written; 0 when there are enough.
    pub fn left(&self) -> u64 {
        self.target.saturating_sub(self.tokens)
    }

    /// Share of the session that is written, in percent.
    pub fn progress(&self) -> u64 {
        self.tokens * 100 / self.target
    }

    /// Messages written so far.
    pub fn messages(&self) -> usize {
        self.session.messages.len()
    }

    /// Announces a fact, which [`Script::state`] gives its values.
    pub fn fact(&mut self, fact: Fact) -> FactId {
        self.facts.push(fact);
        FactId(self.facts.len() - 1)
    }

    /// The message at `place` says that the fact's value is `value`; an earlier
    /// value is stale from then on. Saying the same value again changes nothing.
    ///
    /// # Panics
    /// A message that does not say it.
    pub fn state(&mut self, fact: FactId, value: &str, place: Place) {
        let text = self.text(place);
        assert!(text.contains(value), "`{value}` does not stand in: {text}");
        let said = &mut self.facts[fact.0].said;
        if said.last().is_none_or(|(known, _)| known != value) {
            said.push((value.to_owned(), place));
        }
    }

    /// The newest value of a fact.
    pub fn value(&self, fact: FactId) -> Option<&str> {
        self.facts[fact.0].said.last().map(|(value, _)| value.as_str())
    }

    /// Adds a question.
    pub fn ask(&mut self, question: PlannedQuestion) {
        self.questions.push(question);
    }
}
