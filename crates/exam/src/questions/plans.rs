//! What is still to be done: the list of the agent's own tool at the cut, in
//! the forms of Claude Code (`TodoWrite`, `TaskCreate`), Codex (`update_plan`),
//! OpenCode (`todowrite`) and Gemini CLI (`write_todos`).

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::acts::{Act, text};
use super::draft::Draft;
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind};

/// Arguments that hold the text of an item, and its state.
const ITEM: [&str; 8] =
    ["content", "step", "subject", "description", "title", "task", "text", "name"];
const STATE: [&str; 2] = ["status", "state"];

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
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

    /// The words for the state, as the tools of agents write them.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            State::Open => &["pending", "to do", "not started"],
            State::InProgress => &["in_progress", "in progress"],
            State::Done => &["completed", "done", "finished"],
        }
    }
}

/// An item of the list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Number of the task, where the tool gives one.
    id: Option<String>,
    pub text: String,
    pub state: State,
    /// Its earlier states.
    pub before: Vec<State>,
    /// The message that made it, and the one that gave it this state.
    made: MessageIndex,
    pub at: MessageIndex,
}

/// The list as it stands.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub items: Vec<Item>,
}

/// The number that a tool gave to a task.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"#(\d+)").expect("it is valid"));

impl Lists {
    /// The list at the end of a view.
    pub fn new(view: &View<'_>) -> Lists {
        let mut lists = Lists::default();
        for act in view.acts.iter().filter(|act| !act.failed && act.result.is_some()) {
            lists.read(act);
        }
        lists
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
            let (id, text) = (number, text(act.arguments, &["subject", "title", "description"]));
            let (state, before, at) = (State::Open, Vec::new(), act.message);
            self.items.extend(text.map(|text| Item {
                id,
                text: text.trim().to_owned(),
                state,
                before,
                made: at,
                at,
            }));
        } else if tool == "taskupdate" {
            self.update(act);
        }
    }

    /// A list that replaces the one before: items keep their earlier states by
    /// their text.
    fn replace(&mut self, items: Vec<(String, State)>, at: MessageIndex) {
        let old = std::mem::take(&mut self.items);
        self.items = items
            .into_iter()
            .map(|(text, state)| match old.iter().find(|item| item.text == text) {
                Some(known) if known.state == state => known.clone(),
                Some(known) => {
                    let mut before = known.before.clone();
                    before.push(known.state);
                    Item { id: None, text, state, before, made: at, at }
                }
                None => Item { id: None, text, state, before: Vec::new(), made: at, at },
            })
            .collect();
    }

    fn update(&mut self, act: &Act<'_>) {
        let id = act.arguments.get("taskId").or_else(|| act.arguments.get("id"));
        let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        let known = self.items.iter().position(|item| id.is_some() && item.id == id);
        let Some(at) = known else { return };
        let state = text(act.arguments, &STATE);
        if state == Some("deleted") {
            self.items.remove(at);
            return;
        }
        let item = &mut self.items[at];
        if let Some(state) = state.and_then(State::read).filter(|state| *state != item.state) {
            item.before.push(item.state);
            item.state = state;
            item.at = act.message;
        }
    }

    fn of(&self, state: State) -> Vec<&Item> {
        self.items.iter().filter(|item| item.state == state).collect()
    }
}

fn item(value: &Json) -> Option<(String, State)> {
    let content = text(value, &ITEM)?.trim();
    let state = State::read(text(value, &STATE)?)?;
    (!content.is_empty()).then(|| (content.to_owned(), state))
}

/// A question about an item. A tool that names items by number says their texts
/// elsewhere: only a model puts both together, so that a model judges it.
fn of_item(item: &Item, kind: QuestionKind, question: String, answers: Vec<String>) -> Draft {
    match item.id {
        None => Draft::new(kind, question, answers, [item.at]),
        Some(_) => {
            let part = format!("It says: {}", answers.first().map_or("", String::as_str));
            Draft::rubric(kind, question, vec![part], [item.made, item.at])
        }
    }
}

/// The questions about the states of items that changed.
pub(super) fn states(lists: &Lists) -> Vec<Draft> {
    let changed = |item: &&Item| item.before.iter().any(|old| *old != item.state);
    let each = lists.items.iter().filter(changed).map(|item| {
        let question = format!("What is the state of the to-do item “{}” now?", item.text);
        let names = |state: State| state.names().iter().map(|name| (*name).to_owned());
        let before = item.before.iter().filter(|old| **old != item.state);
        let stale: Vec<String> = before.flat_map(|old| names(*old)).collect();
        of_item(item, QuestionKind::Update, question, names(item.state).collect()).with_stale(stale)
    });
    each.collect()
}

/// The questions about the plan.
pub(super) fn questions(lists: &Lists) -> Vec<Vec<Draft>> {
    let (open, active, done) =
        (lists.of(State::Open), lists.of(State::InProgress), lists.of(State::Done));
    let mut drafts = Vec::new();
    let finished = || done.iter().map(|item| item.text.clone());
    if let [item] = active.as_slice() {
        let question = "Which item of the to-do list is in progress?".to_owned();
        let answer = vec![item.text.clone()];
        drafts.push(of_item(item, QuestionKind::Plan, question, answer).with_stale(finished()));
    }
    if let Some(next) = open.first() {
        let question =
            "Which item of the to-do list comes next of those that are still pending?".to_owned();
        let answer = vec![next.text.clone()];
        drafts.push(of_item(next, QuestionKind::Plan, question, answer).with_stale(finished()));
    }
    let left: Vec<&Item> = active.iter().chain(&open).copied().collect();
    if left.len() > 1 {
        let question = "What is still to be done?".to_owned();
        let parts = left.iter().map(|item| format!("It names: {}", item.text)).collect();
        let evidence = left.iter().map(|item| item.at);
        drafts.push(Draft::rubric(QuestionKind::Plan, question, parts, evidence));
    }
    drafts.into_iter().map(|draft| vec![draft]).collect()
}
