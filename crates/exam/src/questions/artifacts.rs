//! What the session made: files, and the names that were added to them. The
//! answers are those of the recorded calls that wrote, edited, moved or deleted
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::acts::ChangeKind;
use super::captured::captures_that;
use super::draft::Draft;
use super::view::{Made, View};
use recap_core::model::{MessageIndex, QuestionKind};

/// A name that code defines.
static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x) \b(?: func (?:\s*\([^()\n]*\))? | function\*? | fn | def | class | struct
            | interface | enum | trait | const ) \s+ (?<name>[A-Za-z_]\w{4,}) \b
          # Between the braces of an import a type is not defined.
          | \b type \s+ (?<type>[A-Za-z_]\w{4,}) \s* (?: [=<({] | \s \w )",
    )
    .expect("the pattern is constant and valid")
});

/// Most characters of such a name.
const LONGEST: usize = 61;

/// Ends of the names of files with text.
const TEXTS: [&str; 5] = [".md", ".mdx", ".txt", ".rst", ".adoc"];

/// Most names of one file that count as an answer.
const MOST_NAMES: usize = 12;

/// The questions about files.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let files = Files::new(view);
    vec![
        files.places_of_names(view),
        files.names_in_files(),
        files.created(),
        files.moved(),
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
    created: Option<MessageIndex>,
    /// Whether it was written whole, if it was there before or not.
    written: bool,
    gone: Option<(MessageIndex, Option<String>)>,
}

struct Files(BTreeMap<String, File>);

impl Files {
    fn new(view: &View<'_>) -> Files {
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        let mut seen = Seen::default();
        for made in view.changes() {
            seen.until(view, made.act.message);
            let known = files.contains_key(made.path) || seen.mentions(made.path);
            let file = files.entry(made.path.to_owned()).or_default();
            file.change(&made, &seen);
            if !known && made.change.kind == ChangeKind::Written {
                file.created = Some(made.act.message);
            }
            if let ChangeKind::Moved(to) = &made.change.kind {
                let names = std::mem::take(&mut file.names);
                files.entry(to.clone()).or_default().names.extend(names);
            }
        }
        Files(files)
    }

    fn row_kind(&self) -> impl Iterator<Item = (&String, &File)> {
        self.0.iter().filter(|(_, file)| file.gone.is_none())
    }

    /// In which file a name was defined, for names that one file alone defines.
    fn places_of_names(&self, view: &View<'_>) -> Vec<Draft> {
        let mut places: BTreeMap<&str, Vec<(&str, MessageIndex)>> = BTreeMap::new();
        for (path, file) in self.row_kind() {
            for (name, at) in &file.names {
                places.entry(name).or_default().push((path, *at));
            }
        }
        let elsewhere = defined_often(&view.text);
        let only =
            places.into_iter().filter(|(name, at)| at.len() == 1 && !elsewhere.contains(*name));
        only.map(|(name, at)| {
            let (path, message) = at[0];
            let question = format!("Which file did the agent add `{name}` to?");
            Draft::new(QuestionKind::Artifact, question, spellings(path), [message])
        })
        .collect()
    }

    /// Which names were added to a file.
    fn names_in_files(&self) -> Vec<Draft> {
        let with_names =
            self.row_kind().filter(|(_, file)| (1..=MOST_NAMES).contains(&file.names.len()));
        with_names
            .map(|(path, file)| {
                let question =
                    format!("Which function, type or constant did the agent add to `{path}`?");
                let names = file.names.keys().cloned();
                let evidence = file.names.values().copied();
                Draft::new(QuestionKind::Artifact, question, names, evidence)
            })
            .collect()
    }

    /// Which file was created in a folder, where there is one.
    fn created(&self) -> Vec<Draft> {
        let mut folders: BTreeMap<&str, Vec<(&str, Option<MessageIndex>)>> = BTreeMap::new();
        for (path, file) in self.row_kind().filter(|(_, file)| file.written) {
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

    /// What a file that was moved is called now.
    fn moved(&self) -> Vec<Draft> {
        let gone = self.0.iter().filter_map(|(path, file)| {
            let (at, to) = file.gone.as_ref()?;
            let to = to.as_ref()?;
            let question = format!("Where did the agent move the file `{path}`?");
            let stale = [path.clone()];
            Some(
                Draft::new(QuestionKind::Artifact, question, spellings(to), [*at])
                    .with_stale(stale),
            )
        });
        gone.collect()
    }

    /// Every file that was changed: a list, which a model judges.
    fn changed(&self) -> Option<Draft> {
        let changed: Vec<(&String, &File)> =
            self.row_kind().filter(|(_, file)| !file.changes.is_empty()).collect();
        let parts = changed.iter().map(|(path, _)| format!("It names the file {path}")).collect();
        let evidence: BTreeSet<MessageIndex> =
            changed.iter().flat_map(|(_, file)| file.changes.iter().copied()).collect();
        let question = "Which files has the agent changed or created so far?".to_owned();
        (changed.len() > 1)
            .then(|| Draft::rubric(QuestionKind::Artifact, question, parts, evidence))
    }
}

impl File {
    fn change(&mut self, made: &Made<'_>, seen: &Seen) {
        let at = made.act.message;
        match &made.change.kind {
            ChangeKind::Written => {
                self.written = true;
                self.names.clear();
                self.gone = None;
            }
            ChangeKind::Edited => {}
            ChangeKind::Deleted => self.gone = Some((at, None)),
            ChangeKind::Moved(to) => self.gone = Some((at, Some(to.clone()))),
        }
        self.changes.push(at);
        // Code in a text about code defines nothing.
        let is_code = !TEXTS.iter().any(|end| made.path.ends_with(end));
        let (removed, added) = (&made.change.removed, &made.change.added);
        let before = defined(removed);
        let after = if is_code { declared(added) } else { BTreeSet::new() };
        self.names
            .retain(|name, _| !before.contains(name.as_str()) || after.contains(name.as_str()));
        // A name that stood anywhere before was not added.
        let new = after.into_iter().filter(|name| !before.contains(name) && !seen.defines(name));
        for name in new {
            self.names.entry(name.to_owned()).or_insert(at);
        }
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
    /// Reads the messages of the view before `end`.
    fn until(&mut self, view: &View<'_>, end: MessageIndex) {
        while let Some(&at) = view.messages.get(self.next).filter(|at| **at < end) {
            self.next += 1;
            let message = &view.session.messages[at as usize];
            let Some((_, text)) = message.tool_result() else { continue };
            self.names.extend(defined(text).into_iter().map(str::to_owned));
            self.text.push_str(text);
        }
    }

    fn defines(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn mentions(&self, path: &str) -> bool {
        self.text.contains(path)
    }
}

/// The names that a text defines, each time that it does.
fn definitions(text: &str) -> impl Iterator<Item = &str> {
    named(text).map(|(_, name)| name)
}

/// Each match with the name that it defines.
fn named(text: &str) -> impl Iterator<Item = (Match<'_>, &str)> {
    let short = |found: &Captures<'_>| name(found).chars().count() <= LONGEST;
    let all = captures_that(&DEFINED, text, short);
    all.map(|found| (found.get(0).expect("group 0 is the match"), name(&found)))
}

fn name<'a>(found: &Captures<'a>) -> &'a str {
    let name = found.name("name").or(found.name("type"));
    name.expect("one of the two").as_str()
}

fn defined(text: &str) -> BTreeSet<&str> {
    definitions(text).filter(|name| is_specific(name)).collect()
}

/// The same without constants within a function, which nobody asks for: they
/// are indented.
fn declared(text: &str) -> BTreeSet<&str> {
    let is_local = |whole: &Match<'_>| {
        let line = text[..whole.start()].rsplit('\n').next().unwrap_or_default();
        whole.as_str().starts_with("const") && line.starts_with([' ', '\t'])
    };
    let names = named(text).filter(|(whole, _)| !is_local(whole)).map(|(_, name)| name);
    names.filter(|name| is_specific(name)).collect()
}

/// Names that are defined in texts of several kinds of places: more than the
/// change itself and what repeats it.
fn defined_often(text: &str) -> BTreeSet<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in definitions(text) {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 4).map(|(name, _)| name).collect()
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

/// The spellings of a path that name the file: as recorded, and its name alone.
fn spellings(path: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    vec![name.to_owned(), path.to_owned()]
}
