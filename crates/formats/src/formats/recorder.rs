//! Writes the messages of one session into a draft: ids are made unique,
//! results are tied to their calls, and the models are counted.

use jiff::Timestamp;
use rustc_hash::FxHashSet;
use serde_json::Value as Json;

use super::content::{ResultText, result_message};
use crate::draft::{Draft, Ids};
use recap_core::model::{Block, Message, Role, Session, Usage};

/// A message as a format has it, without the results of calls.
#[derive(Clone)]
pub(super) struct Turn {
    /// Its id in the recording; without one it is named by its position.
    pub(super) id: Option<String>,
    pub(super) role: Role,
    pub(super) at: Option<Timestamp>,
    pub(super) blocks: Vec<Block>,
    /// What the request that it answers used.
    pub(super) usage: Option<Usage>,
    /// The model that wrote it.
    pub(super) model: Option<String>,
    /// Its line in the file, where that has lines.
    pub(super) line: Option<u64>,
}

impl Turn {
    pub(super) fn new(role: Role) -> Turn {
        let (id, at, usage, model, line) = (None, None, None, None, None);
        Turn { id, role, at, blocks: Vec::new(), usage, model, line }
    }

    /// Adds a text that is not empty.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
    }

    /// Adds what the model thought, unless that is empty.
    pub(super) fn reasoning(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.blocks.extend((!text.is_empty()).then_some(Block::Reasoning { text }));
    }
}

/// The session that is being written.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) draft: Draft,
    ids: Ids,
    /// Calls whose results have not come, by their newest ids.
    open: FxHashSet<String>,
}

impl Recorder {
    /// Begins the session with this id.
    pub(super) fn new(id: impl Into<String>) -> Recorder {
        Recorder { draft: Draft::named(id), ..Recorder::default() }
    }

    /// The session so far.
    pub(super) fn session(&mut self) -> &mut Session {
        &mut self.draft.session
    }

    /// Number of messages so far.
    pub(super) fn count(&self) -> u32 {
        self.draft.next_index()
    }

    /// Notes which model wrote the message at a place.
    pub(super) fn wrote(&mut self, at: u32, model: &str) {
        if let Some(message) = self.draft.session.messages.get(at as usize) {
            self.draft.models.add(model, &message.id);
        }
    }

    /// The responses that a model wrote.
    pub(super) fn responses_of(&mut self, model: &str) -> Vec<&mut Message> {
        let Draft { session, models, .. } = &mut self.draft;
        let messages = session.messages.iter_mut();
        messages.filter(|message| models.of(&message.id) == Some(model)).collect()
    }

    /// A call, with an id that no other call of the session has. Arguments may
    /// be JSON in a string.
    pub(super) fn call(&mut self, id: String, name: String, given: Json) -> Block {
        let block = self.draft.call(id, name, given);
        if let Block::ToolCall { id, .. } = &block {
            self.open.insert(id.clone());
        }
        block
    }

    /// Appends a message; one that says nothing and used nothing is left out.
    pub(super) fn turn(&mut self, turn: Turn) {
        let Turn { id, role, at, blocks, usage, model, line } = turn;
        if blocks.is_empty() && usage.is_none() {
            self.draft.leave_out("message without content", 1);
            return;
        }
        let id = self.id(id);
        if let Some(model) = model.filter(|_| role == Role::Assistant) {
            self.draft.models.add(&model, &id);
        }
        let message = Message { usage, ..Message::new(id, role, at, blocks) };
        self.draft.push(message, line);
    }

    /// Appends the result of the newest call with this id. A second result, or
    /// one whose call is not in the recording, is left out and counted.
    pub(super) fn result(&mut self, call: &str, result: ResultText, outcome: Outcome) {
        let Some(newest) = self.draft.newest_call(call) else {
            self.draft.leave_out("tool result whose call is not in the recording", 1);
            return;
        };
        let newest = newest.to_owned();
        if !self.open.remove(&newest) {
            self.draft.leave_out("second result of a tool call", 1);
            return;
        }
        let id = self.id(outcome.id);
        let message = result_message(id, newest, result, outcome.is_error, outcome.at);
        self.draft.push(message, outcome.line);
    }

    /// The session. Leading system messages become its preamble.
    pub(super) fn finish(mut self) -> Draft {
        if self.draft.session.compactions.is_empty() {
            self.draft.leading_system_to_preamble();
        }
        self.draft
    }

    fn id(&mut self, own: Option<String>) -> String {
        let own = own.unwrap_or_else(|| format!("message-{}", self.count() + 1));
        // `#` parts a response into messages that keep its model.
        self.ids.free(own)
    }
}

/// How a call ended.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) id: Option<String>,
    pub(super) is_error: bool,
    pub(super) at: Option<Timestamp>,
    pub(super) line: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> ResultText {
        ResultText { text: text.to_owned(), images: 0 }
    }

    #[test]
    fn ids_are_unique_and_results_match_newest_call() {
        let mut recorder = Recorder::new("s");
        for _ in 0..2 {
            let mut turn = Turn::new(Role::Assistant);
            turn.id = Some("m".to_owned());
            turn.model = Some("a".to_owned());
            turn.blocks.push(recorder.call("c".to_owned(), "read".to_owned(), json!("{\"a\":1}")));
            recorder.turn(turn);
            recorder.result("c", text("4210"), Outcome::default());
        }
        recorder.result("c", text("again"), Outcome::default());
        recorder.result("d", text("?"), Outcome::default());
        recorder.turn(Turn::new(Role::User));
        let mut draft = recorder.finish();
        draft.finish();
        crate::check::check(&draft).unwrap();
        let ids = draft.session.messages.iter().map(|message| message.id.as_str());
        assert_eq!(ids.collect::<Vec<_>>(), ["m", "message-2", "m#2", "message-4"]);
        let results = draft.session.messages.iter().filter_map(Message::tool_result);
        assert_eq!(results.map(|(call, _)| call).collect::<Vec<_>>(), ["c", "c#2"]);
        let left: Vec<(&str, u64)> =
            draft.session.left_out.iter().map(|(why, n)| (why.as_str(), *n)).collect();
        let expected = [
            ("message without content", 1),
            ("second result of a tool call", 1),
            ("tool result whose call is not in the recording", 1),
        ];
        assert_eq!(left, expected);
        assert_eq!(draft.session.model.as_deref(), Some("a"));
    }
}
