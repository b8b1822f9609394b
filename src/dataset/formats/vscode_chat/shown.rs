//! What VS Code showed of a response: texts in pieces, thoughts, and calls.

use serde_json::Value as Json;

use super::wire::joined;
use crate::dataset::formats::content::ResultText;
use crate::dataset::formats::recorder::{Outcome, Recorder, Turn};
use crate::model::Role;
/// A call: its id, the tool, the arguments, and the result with whether it failed.
type Made = (String, String, Json, Option<(ResultText, bool)>);

/// A response that is being put together from its parts.
struct Shown<'a> {
    recorder: &'a mut Recorder,
    model: Option<&'a str>,
    text: String,
    thought: String,
    calls: Vec<Made>,
}

/// Adds the messages of a response. What follows a call is the next message.
pub(super) fn add(recorder: &mut Recorder, parts: Vec<Json>, model: Option<&str>) {
    let (text, thought, calls) = (String::new(), String::new(), Vec::new());
    let mut shown = Shown { recorder, model, text, thought, calls };
    for part in parts {
        shown.part(&part);
    }
    shown.close();
}

impl Shown<'_> {
    fn part(&mut self, part: &Json) {
        let field = |pointer| part.pointer(pointer).and_then(Json::as_str);
        match (field("/kind"), part.get("value")) {
            // A text has no kind, and its value may be an object again.
            (None | Some("markdownContent"), _) => {
                let text = ["/value", "/content/value"].into_iter().find_map(field);
                self.say(text.unwrap_or_default());
            }
            (Some("markdownVuln"), _) => self.say(field("/content/value").unwrap_or_default()),
            (Some("inlineReference"), _) if field("/name").is_some() => {
                self.say(field("/name").unwrap_or_default());
            }
            (Some("thinking"), Some(thought)) => {
                self.begin();
                self.thought.push_str(&joined(thought));
            }
            (Some("toolInvocationSerialized"), _) => self.call(part),
            (Some(kind), _) => {
                self.recorder.draft.leave_out(format!("{kind} part of what was shown"), 1);
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.begin();
        self.text.push_str(text);
    }

    /// What comes behind a call belongs to the next response.
    fn begin(&mut self) {
        if !self.calls.is_empty() {
            self.close();
        }
    }

    fn call(&mut self, part: &Json) {
        let field = |key: &str| part.get(key).and_then(Json::as_str);
        if field("subAgentInvocationId").is_some() {
            self.recorder.draft.leave_out("call of a subagent", 1);
            return;
        }
        let (Some(id), Some(name)) = (field("toolCallId"), field("toolId")) else {
            self.recorder.draft.leave_out("call without an id or a name", 1);
            return;
        };
        let first = |pointers: &[&str]| pointers.iter().find_map(|at| part.pointer(at)).cloned();
        let given = first(&["/toolSpecificData/rawInput", "/resultDetails/input"]);
        let output = part.pointer("/resultDetails/output").and_then(Json::as_array);
        let result = output.map(|output| {
            let mut text = ResultText::default();
            output.iter().filter_map(|one| one.get("value")?.as_str()).for_each(|t| text.add(t));
            (text, part.pointer("/resultDetails/isError") == Some(&Json::Bool(true)))
        });
        self.calls.push((id.to_owned(), name.to_owned(), given.unwrap_or_default(), result));
    }

    fn close(&mut self) {
        let mut turn = Turn::new(Role::Assistant);
        turn.model = self.model.map(str::to_owned);
        turn.reasoning(std::mem::take(&mut self.thought));
        turn.text(std::mem::take(&mut self.text));
        let mut results = Vec::new();
        for (id, name, given, result) in self.calls.drain(..) {
            results.extend(result.map(|result| (id.clone(), result)));
            turn.blocks.push(self.recorder.call(id, name, given));
        }
        if !turn.blocks.is_empty() {
            self.recorder.turn(turn);
        }
        for (id, (text, is_error)) in results {
            self.recorder.result(&id, text, Outcome { is_error, ..Outcome::default() });
        }
    }
}
