//! What is still to be done: the list of the agent's own tool at the cut, in
//! the forms of Claude Code (`TodoWrite`, `TaskCreate`), Codex (`update_plan`),
//! OpenCode (`todowrite`) and Gemini CLI (`write_todos`).

use serde_json::Value as Json;

use super::acts::Act;
use super::draft::Draft;
use super::view::View;
use recap_core::model::call::text_argument;
use recap_core::model::{MessageIndex, QuestionKind};
use recap_core::text::{Pattern, pattern};

/// Arguments that hold the text of an item, and its state.
const ITEM: [&str; 8] =
    ["content", "step", "subject", "description", "title", "task", "text", "name"];
const STATE: [&str; 2] = ["status", "state"];

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    InProgress,
    Done,
}

impl State {
    fn read(text: &str) -> Option<State> {
        match text.to_ascii_lowercase().replace('-', "_").as_str() {
            "pending" | "open" | "todo" | "not_started" => Some(State::Open),
            "in_progress" | "inprogress" | "active" | "doing" => Some(State::InProgress),
            "completed" | "complete" | "done" | "finished" => Some(State::Done),
            _ => None,
        }
    }
}

/// An item of the list.
#[derive(Debug)]
struct Item {
    /// Number of the task, where the tool gives one.
    id: Option<String>,
    text: String,
    state: State,
    /// The message that says its text, and the one that gave it this state.
    made: MessageIndex,
    at: MessageIndex,
}

/// The list as it stands.
#[derive(Debug, Default)]
struct List {
    items: Vec<Item>,
    /// The message that changed it last.
    at: MessageIndex,
}

/// The number that a tool gave to a task.
static NUMBER: Pattern = pattern!(r"#(\d+)");

impl List {
    /// The list at the end of a view.
    fn new(view: &View<'_>) -> List {
        let mut list = List::default();
        view.acts.iter().filter(|act| act.is_done()).for_each(|act| list.read(act));
        list
    }

    fn read(&mut self, act: &Act<'_>) {
        let whole = act.arguments.as_object().into_iter().flatten().find_map(|(_, value)| {
            let items = value.as_array()?;
            let read: Option<Vec<(String, State)>> = items.iter().map(item).collect();
            read.filter(|items| !items.is_empty())
        });
        let tool = act.tool.to_ascii_lowercase().replace('_', "");
        if let Some(items) = whole {
            self.replace(items, act.message);
        } else if tool == "taskcreate" {
            let number = NUMBER.captures(act.output).map(|found| found[1].to_owned());
            let (id, text) =
                (number, text_argument(act.arguments, &["subject", "title", "description"]));
            let (text, at) = (text.unwrap_or_default().trim().to_owned(), act.message);
            if !text.is_empty() {
                self.items.push(Item { id, text, state: State::Open, made: at, at });
                self.at = at;
            }
        } else if tool == "taskupdate" {
            self.update(act);
        }
    }

    /// A list that replaces the one before: every item stands in the newest.
    fn replace(&mut self, items: Vec<(String, State)>, at: MessageIndex) {
        let items = items.into_iter();
        self.items =
            items.map(|(text, state)| Item { id: None, text, state, made: at, at }).collect();
        self.at = at;
    }

    fn update(&mut self, act: &Act<'_>) {
        let id = act.arguments.get("taskId").or_else(|| act.arguments.get("id"));
        let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        let known = self.items.iter().position(|item| id.is_some() && item.id == id);
        let Some(at) = known else { return };
        self.at = act.message;
        let state = text_argument(act.arguments, &STATE);
        if state == Some("deleted") {
            self.items.remove(at);
            return;
        }
        let item = &mut self.items[at];
        if let Some(text) = text_argument(act.arguments, &["subject", "title"]) {
            (item.text, item.made) = (text.trim().to_owned(), act.message);
        }
        if let Some(state) = state.and_then(State::read) {
            (item.state, item.at) = (state, act.message);
        }
    }

    fn of(&self, state: State) -> Vec<&Item> {
        self.items.iter().filter(|item| item.state == state).collect()
    }
}

fn item(value: &Json) -> Option<(String, State)> {
    let content = text_argument(value, &ITEM)?.trim();
    let state = State::read(text_argument(value, &STATE)?)?;
    (!content.is_empty()).then(|| (content.to_owned(), state))
}

/// The questions about the plan.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let list = List::new(view);
    let (open, active, done) =
        (list.of(State::Open), list.of(State::InProgress), list.of(State::Done));
    let finished = || done.iter().map(|item| item.text.clone());
    let one = |item: &Item, question: &str, known: MessageIndex| {
        let evidence = [item.made, item.at, known];
        Draft::new(QuestionKind::Plan, question.to_owned(), [item.text.clone()], evidence)
            .with_stale(finished())
    };
    let mut drafts = Vec::new();
    if let [item] = active.as_slice() {
        drafts.push(one(item, "Which item of the to-do list is in progress?", item.at));
    }
    if let Some(next) = open.first() {
        let question = "Which item of the to-do list comes next of those that are still pending?";
        drafts.push(one(next, question, list.at));
    }
    let left: Vec<&Item> = active.iter().chain(&open).copied().collect();
    if left.len() > 1 {
        let question = "What is still to be done?".to_owned();
        let parts = left.iter().map(|item| format!("It names: {}", item.text)).collect();
        let evidence = left.iter().flat_map(|item| [item.made, item.at]);
        drafts.push(Draft::rubric(QuestionKind::Plan, question, parts, evidence));
    }
    drafts.into_iter().map(|draft| vec![draft]).collect()
}
