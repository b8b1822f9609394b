//! Conversations by hand for the suites that hold mechanisms against their
//! seeds, and the built-in strategies to run them through.

use recap_core::model::{Block, Role, Session};
use recap_formats::{Dataset, LoadOptions, load, write_native};
use recap_replay::{Plan, ReplaySession};
use recap_strategy::{Scaling, builtin};
use serde_json::json;

use super::{block_on, ledger, message, offline, plan, prepared};

/// A text of so many tokens by the tokeniser and by characters / 4 alike.
pub fn even(tokens: usize) -> String {
    " the".repeat(tokens)
}

/// Writes a session by hand. Its texts are [`even`].
#[derive(Default)]
pub struct Talk(Session);

impl Talk {
    pub fn new(system: &str) -> Self {
        let mut talk = Self::default();
        talk.0.id = "talk".into();
        talk.0.preamble.system = vec![system.into()];
        talk
    }

    fn push(mut self, role: Role, blocks: Vec<Block>) -> Self {
        let next = self.0.messages.len();
        self.0.messages.push(message(next, role, blocks));
        self
    }

    pub fn user(self, tokens: usize) -> Self {
        self.push(Role::User, vec![Block::Text { text: even(tokens) }])
    }

    /// What a user says in these words.
    pub fn asks(self, words: &str) -> Self {
        self.push(Role::User, vec![Block::Text { text: words.into() }])
    }

    pub fn says(self, tokens: usize) -> Self {
        self.push(Role::Assistant, vec![Block::Text { text: even(tokens) }])
    }

    /// A response with calls: id and tool.
    pub fn calls(self, calls: &[(&str, &str)]) -> Self {
        let block = |(id, tool): &(&str, &str)| Block::ToolCall {
            id: (*id).into(),
            name: (*tool).into(),
            arguments: json!({ "id": id }),
        };
        self.push(Role::Assistant, calls.iter().map(block).collect())
    }

    pub fn result(self, call: &str, tokens: usize) -> Self {
        self.result_text(call, &even(tokens))
    }

    pub fn result_text(self, call: &str, text: &str) -> Self {
        let (call, text) = (call.into(), text.into());
        self.push(Role::Tool, vec![Block::ToolResult { call, text, images: 0, is_error: false }])
    }

    /// One call of a tool and its result, for each size. Call ids count on.
    pub fn uses(self, tool: &str, sizes: &[usize]) -> Self {
        sizes.iter().fold(self, |talk, &tokens| {
            let id = format!("c{}", talk.0.messages.len());
            talk.calls(&[(&id, tool)]).result(&id, tokens)
        })
    }

    /// A closing answer, and one more exchange that shows what came of it.
    pub fn close(self) -> Session {
        self.says(1).user(1).says(1).end()
    }

    pub fn end(self) -> Session {
        self.0
    }
}

/// The session as it is read from a file.
pub fn from_disk(session: Session) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset { name: "talk".into(), sessions: vec![session], ..Dataset::default() };
    write_native(&dataset, folder.path()).unwrap();
    let [session] =
        load(folder.path(), &LoadOptions::default()).unwrap().sessions.try_into().unwrap();
    session
}

/// A built-in strategy at a window, with overrides.
pub fn real(name: &str, window: u64, overrides: &[(&str, &str)]) -> Plan {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    plan(builtin(name, &overrides).expect("a built-in strategy").unwrap(), window)
}

/// The same without scaling (`--no-scale`).
pub fn unscaled(plan: Plan) -> Plan {
    Plan { scaling: Scaling::AsWritten, ..plan }
}

/// Looks at the session when it sends a request, counted from 0.
pub fn at_request<T>(
    session: &Session,
    plan: &Plan,
    request: u32,
    look: impl FnOnce(&ReplaySession<'_>) -> T,
) -> T {
    let prepared = prepared(session.clone());
    let compactor = offline();
    block_on(async {
        let mut replay = ReplaySession::open(&prepared, plan, &compactor).unwrap();
        assert!(replay.run_to_request(request).await.unwrap(), "no request {request}");
        look(&replay)
    })
}

/// Looks at the session when it sends its last request.
pub fn at_last<T>(session: &Session, plan: &Plan, look: impl FnOnce(&ReplaySession<'_>) -> T) -> T {
    let requests = session.messages.iter().filter(|m| m.is_request()).count();
    at_request(session, plan, requests as u32 - 1, look)
}

/// The ledger at the last request.
pub fn last(session: &Session, plan: &Plan) -> String {
    at_last(session, plan, ledger)
}

/// Recorded messages that are sent, in the order in which they are sent.
pub fn shown(session: &ReplaySession<'_>) -> Vec<u32> {
    session.context().visible().map(|id| id.index().expect("nothing synthetic")).collect()
}
