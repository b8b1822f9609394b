//! What the session made: files, and the names that were added to them. The
//! answers are those of the recorded calls that wrote, edited, moved or deleted
//! files.

use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Match};

use super::acts::{Moves, name};
use super::draft::Draft;
use super::sentences::captures_that;
use super::view::{Made, View};
use crate::facts::texts;
use recap_core::model::call::{CallEffect, ChangeKind, PATH, text_argument};
use recap_core::model::{Block, MessageIndex, QuestionKind};
use recap_core::text::{Pattern, pattern};

/// A name that code defines.
static DEFINED: Pattern = pattern!(
    r"(?x) \b(?: func (?:\s*\([^()\n]*\))? | function\*? | fn | def | class | struct
            | interface | enum | trait | const ) \s+ (?<name>[A-Za-z_]\w{4,}) \b
          # Between the braces of an import a type is not defined.
          | \b type \s+ (?<type>[A-Za-z_]\w{4,}) \s* (?: [=<({] | \s \w )"
);

/// Most characters of such a name.
const LONGEST: usize = 61;

/// Ends of the names of files with text.
const TEXTS: [&str; 5] = [".md", ".mdx", ".txt", ".rst", ".adoc"];

/// Files in the question about all that were changed: fewest and most.
const LISTED: std::ops::RangeInclusive<usize> = 2..=12;

/// The name of a file with the folder around it.
static PLACED: Pattern = pattern!(r"(?<folder>[\w.@-]+)/(?<name>[\w.@-]*\.\w+)\b");

/// The questions about files.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let files = Files::new(view);
    vec![
        files.places_of_names(),
        files.created(),
        files.moved(&view.moves),
        files.changed().into_iter().collect(),
    ]
}

/// The last state of a file that the session changed.
#[derive(Default)]
struct File {
    /// Names that its changes defined, each with the last message that did,
    /// without those that were taken away again.
    names: BTreeMap<String, MessageIndex>,
    changes: Vec<MessageIndex>,
    /// The message that created it here; absent for one that was there before or
    /// that was moved.
    created: Option<MessageIndex>,
    /// Whether it was written whole, if it was there before or not.
    written: bool,
}

/// The files that were changed and are still there, by their paths now.
struct Files<'a> {
    files: BTreeMap<&'a str, File>,
    /// The files that each name was ever added to; the empty path stands for a
    /// script in a command.
    went: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The folders in which the conversation names a file, by its name.
    folders: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Files<'a> {
    fn new(view: &'a View<'a>) -> Files<'a> {
        let mut files: BTreeMap<&str, File> = BTreeMap::new();
        let mut went: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut seen = Seen::default();
        for made in view.changes.iter().filter(|made| !is_scratch(&made.now)) {
            seen.until(view, made.act.message);
            let is_new = made.change.kind == ChangeKind::Written
                && made.path == made.now
                && !files.contains_key(made.now.as_str())
                && !seen.mentions(made);
            let file = files.entry(&made.now).or_default();
            for name in file.change(made, &seen) {
                went.entry(name).or_default().insert(&made.now);
            }
            file.created = is_new.then_some(made.act.message).or(file.created);
        }
        for act in &view.acts {
            if let CallEffect::Ran(line) = &act.what
                && let Some((_, script)) = line.split_once("<<")
            {
                defined(script)
                    .into_iter()
                    .for_each(|name| _ = went.entry(name).or_default().insert(""));
            }
        }
        let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for &at in &view.messages {
            texts(&view.session.messages[at as usize], &mut |_, text| {
                for found in PLACED.captures_iter(text) {
                    let part = |name| found.name(name).expect("no match is without it").as_str();
                    folders.entry(part("name")).or_default().insert(part("folder"));
                }
            });
        }
        Files { files, went, folders }
    }

    /// In which file a name was defined, for names that went into one file alone.
    fn places_of_names(&self) -> Vec<Draft> {
        let all = self.files.iter().flat_map(|(path, file)| {
            file.names.iter().map(move |(name, at)| (*path, name.as_str(), *at))
        });
        let only = all.filter(|(_, name, _)| self.went.get(name).is_some_and(|at| at.len() == 1));
        only.map(|(path, name, at)| {
            let question = format!("Which file did the agent add `{name}` to?");
            Draft::new(QuestionKind::Artifact, question, self.spellings(path), [at])
        })
        .collect()
    }

    /// Which file was created in a folder, where there is one.
    fn created(&self) -> Vec<Draft> {
        let mut folders: BTreeMap<&str, Vec<(&str, Option<MessageIndex>)>> = BTreeMap::new();
        for (path, file) in self.files.iter().filter(|(_, file)| file.written) {
            if let Some((folder, name)) = path.rsplit_once('/') {
                folders.entry(folder).or_default().push((name, file.created));
            }
        }
        let one = folders.into_iter().filter_map(|(folder, files)| match files[..] {
            [(name, Some(at))] => Some((folder, name, at)),
            _ => None,
        });
        one.map(|(folder, name, at)| {
            let question = format!("Which new file did the agent create in `{folder}/`?");
            Draft::new(QuestionKind::Artifact, question, [name.to_owned()], [at])
        })
        .collect()
    }

    /// Where a file that was moved is now.
    fn moved(&self, moves: &Moves) -> Vec<Draft> {
        let files = moves.files().filter(|(from, to, _)| from != to && !is_scratch(to));
        files
            .map(|(from, to, at)| {
                let question = format!("Where did the agent move the file `{from}`?");
                // The name alone says nothing about a file that kept it.
                let mut places = self.spellings(to);
                places.retain(|place| place != name(from));
                Draft::new(QuestionKind::Artifact, question, places, [at])
                    .with_stale([from.to_owned()])
            })
            .collect()
    }

    /// Every file that was changed: a list, which a model judges.
    fn changed(&self) -> Option<Draft> {
        let parts = self.files.keys().map(|path| format!("It names the file {path}")).collect();
        let evidence = self.files.values().flat_map(|file| file.changes.iter().copied());
        let question = "Which files has the agent changed or created so far?".to_owned();
        LISTED
            .contains(&self.files.len())
            .then(|| Draft::rubric(QuestionKind::Artifact, question, parts, evidence))
    }

    /// The spellings of a path that name the file: as recorded, and its name
    /// alone where no other folder has a file of that name.
    fn spellings(&self, path: &str) -> Vec<String> {
        let mut parts = path.rsplit('/');
        let (name, folder) = (parts.next().unwrap_or(path), parts.next());
        let others = self.folders.get(name).into_iter().flatten();
        let is_only = others.into_iter().all(|other| Some(*other) == folder);
        let alone = is_only.then(|| name.to_owned());
        alone.into_iter().chain([path.to_owned()]).collect()
    }
}

/// Whether a file lies in a folder for what nobody keeps.
fn is_scratch(path: &str) -> bool {
    let scratch = ["tmp", "temp", "scratchpad"];
    path.split('/').any(|part| scratch.iter().any(|name| part.eq_ignore_ascii_case(name)))
}

impl File {
    /// Takes in a change; gives the names that it adds, whether they stood
    /// somewhere before or not.
    fn change<'a>(&mut self, made: &'a Made<'a>, seen: &Seen) -> BTreeSet<&'a str> {
        let at = made.act.message;
        if made.change.kind == ChangeKind::Written {
            self.written = true;
            self.names.clear();
        }
        self.changes.push(at);
        // Code in a text about code defines nothing.
        let is_code = !TEXTS.iter().any(|end| made.now.ends_with(end));
        let (removed, added) = (&made.change.removed, &made.change.added);
        let before = defined(removed);
        let mut after = if is_code { declared(added) } else { BTreeSet::new() };
        self.names
            .retain(|name, _| !before.contains(name.as_str()) || after.contains(name.as_str()));
        after.retain(|name| !before.contains(name));
        for name in after.iter().filter(|name| !seen.names.contains(**name)) {
            self.names.entry((*name).to_owned()).or_insert(at);
        }
        after
    }
}

/// The definitions and texts before a message.
#[derive(Default)]
struct Seen {
    next: usize,
    names: BTreeSet<String>,
    text: String,
}

impl Seen {
    /// Reads the results, and the paths of the calls, before `end`.
    fn until(&mut self, view: &View<'_>, end: MessageIndex) {
        while let Some(&at) = view.messages.get(self.next).filter(|at| **at < end) {
            self.next += 1;
            let message = &view.session.messages[at as usize];
            if let Some((_, text)) = message.tool_result() {
                self.names.extend(defined(text).into_iter().map(str::to_owned));
                self.text.push_str(text);
            }
            for block in &message.blocks {
                if let Block::ToolCall { arguments, .. } = block {
                    self.text.extend(text_argument(arguments, &PATH));
                    self.text.push('\n');
                }
            }
        }
    }

    /// Whether a file was there before it was written: it was named before, or
    /// the result says so.
    fn mentions(&self, made: &Made<'_>) -> bool {
        let head = made.act.output.lines().next().unwrap_or_default();
        head.contains("updated") || head.contains("overw") || self.text.contains(&made.path)
    }
}

/// Each match with the name that it defines.
fn named(text: &str) -> impl Iterator<Item = (Match<'_>, &str)> {
    let short = |found: &Captures<'_>| defined_name(found).chars().count() <= LONGEST;
    let all = captures_that(&DEFINED, text, short);
    all.map(|found| (found.get(0).expect("group 0 is the match"), defined_name(&found)))
}

fn defined_name<'a>(found: &Captures<'a>) -> &'a str {
    let name = found.name("name").or(found.name("type"));
    name.expect("one of the two").as_str()
}

fn defined(text: &str) -> BTreeSet<&str> {
    named(text).map(|(_, name)| name).filter(|name| is_specific(name)).collect()
}

/// The same without constants within a function, which nobody asks for: they
/// are indented.
fn declared(text: &str) -> BTreeSet<&str> {
    let is_local = |whole: &Match<'_>| {
        let line = text[..whole.start()].rsplit('\n').next().unwrap_or_default();
        whole.as_str().starts_with("const") && line.starts_with([' ', '\t'])
    };
    let names = named(text).filter(|(whole, name)| !is_local(whole) && is_specific(name));
    names.map(|(_, name)| name).collect()
}

/// Whether a name is put together from several words, so that nobody guesses it.
fn is_specific(name: &str) -> bool {
    let inner = name.trim_matches('_');
    let joints = inner.char_indices().skip(1).filter(|(at, c)| {
        *c == '_'
            || c.is_uppercase() && inner[..*at].ends_with(|before: char| before.is_lowercase())
    });
    inner.len() >= 6 && joints.count() >= 1
}
