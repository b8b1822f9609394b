//! Working sessions of any length: the same mixture of exchanges, reads,
//! repeated test runs and names used again, whatever the length.

use recap_core::model::{Block, Message, RecordedCompaction, RecordedTrigger, Role, Session};
use serde_json::{Value as Json, json};

use super::Author;

/// Messages of one exchange: a user's words, then calls and results.
const EXCHANGE: usize = 25;
/// Names that the agent may come back to.
const REMEMBERED: usize = 400;
/// Messages between two recorded compactions.
const COMPACTED_EVERY: u32 = 200;

/// A session of exactly `messages` messages, about 200 tokens each.
pub fn generated(messages: usize) -> Session {
    let mut script = Script { author: Author::new(7), names: Vec::new(), messages: Vec::new() };
    while script.messages.len() < messages {
        let place = script.messages.len() % EXCHANGE;
        match place {
            0 => script.ask(),
            _ if place + 1 == EXCHANGE || script.messages.len() + 1 == messages => script.report(),
            _ if place % 2 == 1 => script.call(),
            _ => script.answer(),
        }
    }
    Session { id: format!("generated-{messages}"), messages: script.messages, ..Session::default() }
}

/// The same session as an agent would have recorded it that compacted now and
/// then and kept its last twenty messages.
pub fn compacted(mut session: Session) -> Session {
    let length = session.messages.len() as u32;
    session.compactions = (1..)
        .map(|round| round * COMPACTED_EVERY)
        .take_while(|&after| after < length)
        .map(|after| RecordedCompaction {
            after,
            kept_from: after - 20,
            summary: Some(Author::new(after.into()).prose(2_000)),
            cleared: Vec::new(),
            trigger: RecordedTrigger::Auto,
            ..RecordedCompaction::default()
        })
        .collect();
    session
}

struct Script {
    author: Author,
    names: Vec<String>,
    messages: Vec<Message>,
}

impl Script {
    fn push(&mut self, role: Role, blocks: Vec<Block>) {
        let number = self.messages.len();
        let seconds = 1_750_000_000 + 20 * number as i64;
        let at = jiff::Timestamp::from_second(seconds).ok();
        self.messages.push(Message::new(format!("m{number}"), role, at, blocks));
    }

    /// A name that was met before, mostly long ago.
    fn known(&mut self) -> String {
        if self.names.is_empty() {
            return self.author.name();
        }
        let at = self.author.below(self.names.len());
        self.names[at].clone()
    }

    fn learn(&mut self) -> String {
        let name = self.author.name();
        if self.names.len() < REMEMBERED {
            self.names.push(name.clone());
        } else {
            let at = self.author.below(REMEMBERED);
            self.names[at].clone_from(&name);
        }
        name
    }

    fn ask(&mut self) {
        let (name, text) = (self.learn(), self.author.prose(300));
        let text = format!("Please look at `{name}` in src/{name}.rs. {text}");
        self.push(Role::User, vec![Block::Text { text }]);
    }

    fn report(&mut self) {
        let (name, text) = (self.known(), self.author.prose(400));
        let text = format!("We will keep `{name}` because {text}");
        self.push(Role::Assistant, vec![Block::Text { text }]);
    }

    fn call(&mut self) {
        let id = format!("call-{}", self.messages.len());
        let (tool, arguments): (&str, Json) = match self.author.below(4) {
            0 => ("run", json!({"command": "cargo test --quiet"})),
            1 => ("search", json!({"pattern": self.known()})),
            2 => ("read_file", json!({"path": format!("src/{}.rs", self.known())})),
            _ => ("read_file", json!({"path": format!("src/{}.rs", self.learn())})),
        };
        let text = self.author.prose(60);
        let call = Block::ToolCall { id, name: tool.to_owned(), arguments };
        self.push(Role::Assistant, vec![Block::Text { text }, call]);
    }

    fn answer(&mut self) {
        let name = self.learn();
        let size = 200 + self.author.below(1_800);
        let code = self.author.code(size);
        let call = format!("call-{}", self.messages.len() - 1);
        let text = format!("// {name}\n{code}");
        let result = Block::ToolResult { call, text, images: 0, is_error: false };
        self.push(Role::Tool, vec![result]);
    }
}
