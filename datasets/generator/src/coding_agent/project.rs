//! The projects that an agent can work in, and what there is to do there.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::facts::{self, Shapes, TOPICS};
use super::repo::{Commit, Repo};
use crate::Stream;

/// A programming language with its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// pytest and ruff.
    Python,
    /// go test and go vet.
    Go,
}

/// Files and tasks of one project, before names and numbers are filled in.
pub struct Project {
    /// What it is written in.
    pub language: Language,
    /// Sentences of the system prompt about the machine.
    pub environment: &'static str,
    bundle: &'static str,
    tasks: &'static str,
}

/// Every project.
pub static PROJECTS: &[Project] = &[
    Project {
        language: Language::Python,
        environment: "Linux, Python 3.11, SQLite, git. Tests: python -m pytest. No network.",
        bundle: include_str!("projects/python.txt"),
        tasks: include_str!("projects/python-tasks.toml"),
    },
    Project {
        language: Language::Go,
        environment: "Linux, Go 1.24, git. Tests: go test ./... The module has no dependencies.",
        bundle: include_str!("projects/go.txt"),
        tasks: include_str!("projects/go-tasks.toml"),
    },
];

/// What was committed before the session, newest last.
const SUBJECTS: &[&str] = &[
    "First version of the intake",
    "Refuse rows with a column too few",
    "Keep references as they were sent",
    "Write the nightly file",
    "Say which key of the settings is wrong",
    "Count requests by path",
    "Log the digest of a drop file",
    "Let partners be configured apart",
    "Name the depot in every refusal",
    "Close the database when the process ends",
    "Take the timeout from the settings",
    "Drop the old report",
    "Show the counts of every state",
    "Use one connection a process",
    "Read settings once",
    "Describe how to run it",
];

/// A change to a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    pub file: String,
    pub old: String,
    pub new: String,
}

/// Something to do, with every name and number filled in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub kind: String,
    pub topic: String,
    pub file: String,
    pub look: String,
    pub ask: Vec<String>,
    pub finding: String,
    pub old: String,
    pub new: String,
    /// The file in which `old` stands, where that is not `file`.
    #[serde(default)]
    pub old_file: Option<String>,
    #[serde(default)]
    pub also: Vec<Edit>,
    #[serde(default)]
    pub create: Option<String>,
    #[serde(default)]
    pub create_text: Option<String>,
    pub test_file: String,
    pub test: String,
    pub test_code: String,
    pub failure: String,
    pub value: String,
    pub subject: String,
    pub matter: String,
    pub options: Vec<String>,
    pub reason: String,
    pub figure: String,
    pub figure_of: String,
}

impl Task {
    /// Where `old` stands.
    pub fn old_file(&self) -> &str {
        self.old_file.as_deref().unwrap_or(&self.file)
    }
}

/// A project of one session.
pub struct Checkout {
    /// What it is written in.
    pub language: Language,
    /// Its name.
    pub name: String,
    /// Its files.
    pub repo: Repo,
    tasks: Vec<String>,
}

impl Checkout {
    /// Fills in names and numbers, and adds what the machines need.
    pub fn new(project: &Project, random: &mut Stream, shapes: &Shapes) -> Checkout {
        let (name, names) = names(random);
        let named = |text: &str| expand(text, &names);
        let mut files = Repo::unpack(&named(project.bundle));
        files.insert("ops/inventory.toml".to_owned(), inventory(random, shapes));
        files.insert("docs/neighbours.md".to_owned(), facts::neighbours(random));
        let log = log(random, shapes);
        let tasks = named(project.tasks);
        let tasks = tasks.split("[[task]]").skip(1).map(str::to_owned).collect();
        Checkout { language: project.language, name, repo: Repo::new(files, log), tasks }
    }

    /// Every task in any order, each with numbers of its own.
    ///
    /// # Panics
    /// A task file that is wrong.
    pub fn tasks(&self, random: &mut Stream) -> Vec<Task> {
        let mut tasks: Vec<Task> = self.tasks.iter().map(|text| filled(text, random)).collect();
        random.shuffle(&mut tasks);
        tasks
    }
}

fn filled(text: &str, random: &mut Stream) -> Task {
    let mut gaps = BTreeMap::new();
    for (key, least, most) in [
        ("n1", 61, 480),
        ("n2", 10_100, 98_900),
        ("n3", 1_030, 9_870),
        ("n4", 113, 4_890),
        ("n5", 23, 199),
    ] {
        let number = random.fresh(|random| random.number(least..=most).to_string());
        gaps.insert(format!("{{{key}}}"), number);
    }
    gaps.insert("{h1}".to_owned(), random.hex(10));
    gaps.insert("{h2}".to_owned(), random.fresh(|random| random.hex(12)));
    gaps.insert("{m}".to_owned(), random.fresh(|random| format!("0{}", random.number(103..=989))));
    toml::from_str(&expand(text, &gaps)).expect("task files are tested")
}

fn expand(text: &str, names: &BTreeMap<String, String>) -> String {
    names.iter().fold(text.to_owned(), |text, (key, value)| text.replace(key, value))
}

const NAMES: &[&str] = &[
    "depotline",
    "gateweigh",
    "stowline",
    "quaybook",
    "nightcart",
    "rampway",
    "tallyport",
    "weighbill",
];

const GOODS: &[(&str, &str)] = &[
    ("parcel", "parcels"),
    ("crate", "crates"),
    ("pallet", "pallets"),
    ("canister", "canisters"),
    ("bale", "bales"),
    ("carton", "cartons"),
];

/// The project's name, and all names and numbers of its sources.
fn names(random: &mut Stream) -> (String, BTreeMap<String, String>) {
    let name = (*random.pick(NAMES)).to_owned();
    let (thing, things) = *random.pick(GOODS);
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let version =
        format!("{}.{}.{}", random.number(1..=4), random.number(1..=30), random.number(0..=20));
    let mut names = BTreeMap::from([
        ("@pkg@".to_owned(), name.clone()),
        ("@thing@".to_owned(), thing.to_owned()),
        ("@things@".to_owned(), things.to_owned()),
        ("@Thing@".to_owned(), capital(thing)),
        ("@Things@".to_owned(), capital(things)),
        ("@version@".to_owned(), version),
    ]);
    let ranges = [(40, 95), (20, 80), (2, 9), (11, 60), (30, 99), (10, 90), (15, 90), (120, 900)];
    let units = [1000, 100, 100, 1, 1000, 1000, 1, 1];
    for (at, ((least, most), unit)) in ranges.into_iter().zip(units).enumerate() {
        let number = random.number(least..=most) * unit;
        names.insert(format!("@k{}@", at + 1), number.to_string());
    }
    (name, names)
}

/// Other services with values that look like those which the user mentions.
fn inventory(random: &mut Stream, shapes: &Shapes) -> String {
    let services = ["scales", "gates", "labels", "billing"];
    let mut text = "# Who runs where. Not ours: ask before you touch any of it.\n".to_owned();
    for (at, service) in services.iter().enumerate() {
        text.push_str(&format!("\n[{service}]\n"));
        // Each topic at three of the four services.
        for (number, topic) in TOPICS.iter().enumerate().filter(|(n, _)| (n + at) % 4 != 0) {
            let value = random.fresh(|random| (topic.value)(random, shapes));
            let label = topic.label;
            let quoted = value.parse::<u64>().map_or(format!("{value:?}"), |_| value.clone());
            let remark = if number == at { "  # since the move" } else { "" };
            text.push_str(&format!("{label} = {quoted}{remark}\n"));
        }
    }
    text
}

fn log(random: &mut Stream, shapes: &Shapes) -> Vec<Commit> {
    let (year, month) = shapes.month;
    let n = SUBJECTS.len();
    let commit = |(at, subject): (usize, &&str)| {
        // About two commits a month, up to the month before the session.
        let back = (n - at) as i16 / 2 + 1;
        let months = year * 12 + i16::from(month) - 1 - back;
        let day = 1 + 14 * ((n + at + 1) as i16 % 2) + random.number(0..=12) as i16;
        let ticket = random.fresh(|random| shapes.ticket(random));
        Commit {
            hash: random.fresh(|random| random.hex(7)),
            day: format!("{}-{:02}-{day:02}", months / 12, months % 12 + 1),
            subject: format!("{subject} ({ticket})"),
        }
    };
    SUBJECTS.iter().enumerate().map(commit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_edit_fits_and_gaps_are_filled() {
        for project in PROJECTS {
            let mut random = Stream::new(1, "project");
            let shapes = Shapes { tickets: "AB".into(), month: (2025, 3) };
            let checkout = Checkout::new(project, &mut random, &shapes);
            let tasks = checkout.tasks(&mut random);
            assert!(tasks.len() >= 8);
            // One after the other, as in a session.
            let mut repo = checkout.repo.clone();
            for path in repo.paths() {
                assert!(!repo.file(path).contains("@pkg@"), "{path}");
            }
            for task in tasks {
                let shown = format!("{task:?}");
                for gap in ["{n1}", "{n2}", "{n3}", "{n4}", "{n5}", "{h1}", "{m}", "@pkg"] {
                    assert!(!shown.contains(gap), "{shown}");
                }
                assert!(task.failure.contains(&task.value), "{}", task.topic);
                assert!(task.reason.contains(&task.figure), "{}", task.topic);
                assert_eq!(task.options.len(), 4, "{}", task.topic);
                assert!(repo.file(&task.file).contains(&task.look), "{}", task.topic);
                repo.edit(task.old_file(), &task.old, &task.new);
                for edit in &task.also {
                    repo.edit(&edit.file, &edit.old, &edit.new);
                }
            }
        }
    }
}
