//! A coding agent at work in a simulated repository.
//!
//! The world is a checkout ([`repo`]) of one of the bundled projects
//! ([`project`]) and the machines behind it ([`ops`]). Every tool result is
//! worked out from it: searches and reads from the files as they were edited,
//! test runs from whether the fault is still there, diffs and commits from
//! what changed. Beside the tasks ([`tasks`]) the user mentions facts, rules
//! and plans ([`agenda`]).

mod agenda;
mod diff;
mod facts;
mod interludes;
mod ops;
mod project;
mod repo;
mod runner;
mod tasks;
mod uses;
mod work;

use recap_core::model::ToolDefinition;
use serde_json::json;

use self::agenda::Agenda;
use self::facts::Shapes;
use self::ops::Environment;
use self::project::{Checkout, PROJECTS};
use self::work::Work;
use super::{Kind, Phrases, Script};
use crate::voice::Voice;

/// The kind.
pub(super) static KIND: Kind = Kind {
    name: "coding-agent",
    about: "A coding agent finds faults, builds features and answers for its work.",
    tokens: 12_000..=100_000,
    write,
};

/// Tokens that a task may take, from its wish to its report.
const TASK: u64 = 5_600;

/// Tokens of the summary and the last words.
const END: u64 = 420;

/// Tokens of a remark with its answer.
const REMARK: u64 = 75;

fn write(script: &mut Script) {
    let mut random = script.random.fork("world");
    let prefixes = ["KX", "NJ", "QD", "VU", "ZT", "HB"];
    let (year, month) = (script.today().year(), script.today().month());
    let shapes = Shapes { tickets: (*random.pick(&prefixes)).to_owned(), month: (year, month) };
    let project = random.pick(PROJECTS);
    let checkout = Checkout::new(project, &mut random, &shapes);
    open(script, &checkout, project.environment);
    let mut rules = Phrases::new(include_str!("rules.txt"));
    let agenda = Agenda::new(&mut random, &mut rules, script.left());
    let mut work = Work {
        voice: Voice::new(&mut random),
        environments: ["staging", "production"]
            .map(|name| Environment::new(name, &mut random))
            .into(),
        facts: Phrases::new(include_str!("facts.txt")),
        rules,
        lines: Phrases::new(include_str!("agent.txt")),
        asks: Phrases::new(include_str!("asks.txt")),
        agenda,
        read: Vec::new(),
        used: Vec::new(),
        logged: Vec::new(),
        seen: vec![Vec::new(); 2],
        snapshots: vec![Vec::new(); 2],
        done: Vec::new(),
        shapes,
        checkout,
        random,
        script,
    };
    work.session();
}

impl Work<'_> {
    fn session(&mut self) {
        let mut tasks = self.checkout.tasks(&mut self.random);
        let mut first = true;
        loop {
            // A frozen folder has to stay as it is.
            let frozen = self.agenda.frozen || self.script.progress() < 20;
            let next = tasks.iter().rposition(|task| !(frozen && task.kind == "migration"));
            let reserve = END + REMARK * self.agenda.left() as u64;
            if self.script.left() < TASK + reserve {
                break;
            }
            match next {
                Some(next) => {
                    let task = tasks.remove(next);
                    self.task(&task, first);
                    first = false;
                }
                None => self.explain(),
            }
            self.between();
        }
        while self.script.left() > END + REMARK * self.agenda.left() as u64 + 350 {
            self.fill();
        }
        self.close();
    }
}

fn open(script: &mut Script, checkout: &Checkout, environment: &str) {
    let name = &checkout.name;
    let system = [
        format!(
            "You are a coding agent in the repository of {name}. Look before you change, reproduce \
             a fault before you mend it, run the tests after every change, commit in small steps. \
             What the user sets as a rule holds for the whole session, until the user takes it back. \
             Ask when a choice has consequences that the code cannot tell you. Be brief."
        ),
        format!("Environment: {environment} Working directory: /srv/{name}"),
    ];
    let text = |about: &str| json!({"type": "string", "description": about});
    let tool = |name: &str, description: &str, properties: serde_json::Value, required: &[&str]| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        ToolDefinition { name: name.into(), description: description.into(), parameters }
    };
    let path = || text("Path below the working directory.");
    let tools = vec![
        tool(
            "read_file",
            "Read a text file with line numbers; all of it unless offset and limit say otherwise.",
            json!({
                "path": path(),
                "offset": {"type": "integer", "description": "First line, from 1."},
                "limit": {"type": "integer", "description": "Number of lines."},
            }),
            &["path"],
        ),
        tool(
            "edit_file",
            "Replace a piece of text that stands exactly once in a file.",
            json!({
                "path": path(),
                "old_string": text("The text as it stands there."),
                "new_string": text("What is to stand there."),
            }),
            &["path", "old_string", "new_string"],
        ),
        tool(
            "write_file",
            "Create a file or replace its whole content.",
            json!({"path": path(), "content": text("The content.")}),
            &["path", "content"],
        ),
        tool(
            "grep",
            "Search for a text; one match a line, as path:line:text.",
            json!({"pattern": text("What to search for."), "path": text("Folder to search.")}),
            &["pattern"],
        ),
        tool(
            "todo_write",
            "Keep the list of what is to be done.",
            json!({"todos": {"type": "array", "items": {"type": "object"}}}),
            &["todos"],
        ),
        tool(
            "bash",
            "Run a command in the working directory.",
            json!({"command": text("The command line.")}),
            &["command"],
        ),
    ];
    script.open(name, &system, tools);
}
