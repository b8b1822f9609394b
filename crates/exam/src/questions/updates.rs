//! Values that changed: the newest one is asked, the older ones are wrong.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::captured::captures_that;
use super::draft::Draft;
use super::plans::{self, Lists};
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind, Role};

/// A line that gives a name a value: `name = value`, `name: value`, `"name":
/// value`, perhaps behind keywords.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?mx) ^\s* (?: [a-z]+ \s+ ){0,3} ["']? (?<name>[A-Za-z_][\w.-]{3,}) ["']?
           \s* (?: : \s* [A-Za-z&<>\[\]']+ \s* = | := | = | : ) \s*
           (?<value> ["'`][^"'`\n]{2,}["'`] | -?\d[\w.%:]* ) \s* [,;]? \s*
           (?: (?:\#|//) .* )? $"#,
    )
    .expect("the pattern is constant and valid")
});

/// Most characters of the name, of a value in quotes and of a number.
const LONGEST: [usize; 3] = [61, 62, 21];

/// A change in words: `the port from 8080 to 9090`.
static REWORDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi) \b(?: chang(?:e|ed|es|ing) | mov(?:e|ed|ing) | updat(?:e|ed|ing) | bump(?:ed|ing)?
            | rais(?:e|ed|ing) | lower(?:ed|ing)? | increas(?:e|ed|ing) | reduc(?:e|ed|ing)
            | switch(?:ed|ing)? | renam(?:e|ed|ing) ) \s+
          (?<what> (?:\S+\s+){1,6}? ) from \s+ (?<old>[`'\x22]?\S*[\w%][`'\x22]?) \s+ to \s+
          (?<new>[`'\x22]?\S*[\w%][`'\x22]?)",
    )
    .expect("the pattern is constant and valid")
});

/// The questions about values that changed.
pub(super) fn questions(view: &View<'_>, lists: &Lists) -> Vec<Vec<Draft>> {
    vec![assigned(view), reworded(view), plans::states(lists)]
}

/// A value in a file, and the values that it had before.
#[derive(Default)]
struct History {
    now: String,
    before: Vec<String>,
    at: MessageIndex,
}

/// Values that edits of files replaced.
fn assigned(view: &View<'_>) -> Vec<Draft> {
    let mut values: BTreeMap<(String, String), History> = BTreeMap::new();
    for made in view.changes() {
        let (old, new) = (only(&made.change.removed), only(&made.change.added));
        for (name, now) in new {
            let key = (made.path.to_owned(), name.to_owned());
            let before = old.get(name).map(|value| value.trim_matches(QUOTES).to_owned());
            let now = now.trim_matches(QUOTES).to_owned();
            if before.as_ref().is_some_and(|before| *before != now) || values.contains_key(&key) {
                let history = values.entry(key).or_default();
                let last = std::mem::replace(&mut history.now, now);
                history.before.extend(before.into_iter().chain([last]).filter(|v| !v.is_empty()));
                history.at = made.act.message;
            }
        }
    }
    let asked = values.into_iter().filter(|(_, history)| is_telling(&history.now));
    asked
        .map(|((path, name), History { now, mut before, at })| {
            before.retain(|value| *value != now);
            let question = format!("What is the value of `{name}` in `{path}` now?");
            Draft::new(QuestionKind::Update, question, [now], [at]).with_stale(before)
        })
        .filter(|draft| !draft.stale.is_empty())
        .collect()
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The names that have one value in a text.
fn only(text: &str) -> BTreeMap<&str, &str> {
    let mut values: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for (name, value) in captures_that(&ASSIGNED, text, is_short).map(|found| named(&found)) {
        let entry = values.entry(name).or_insert(Some(value));
        if *entry != Some(value) {
            *entry = None;
        }
    }
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn named<'a>(found: &Captures<'a>) -> (&'a str, &'a str) {
    let part = |name| found.name(name).expect("no match is without it").as_str();
    (part("name"), part("value"))
}

fn is_short(found: &Captures<'_>) -> bool {
    let (name, value) = named(found);
    let [named, quoted, number] = LONGEST;
    let most = if value.starts_with(QUOTES) { quoted } else { number };
    name.chars().count() <= named && value.trim_start_matches('-').chars().count() <= most
}

/// Whether a value is more than one sign or a word that is guessed easily.
fn is_telling(value: &str) -> bool {
    value.chars().count() > 1
        && !matches!(value, "true" | "false" | "null" | "none" | "None" | "10" | "100")
}

/// Values that somebody said were changed.
fn reworded(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (at, text) in [Role::User, Role::Assistant].into_iter().flat_map(|role| view.said(role)) {
        for found in REWORDED.captures_iter(text) {
            let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
            let value = |name: &str| {
                let ends = |c: char| QUOTES.contains(&c) || ".,;:!?)*".contains(c);
                part(name).trim_matches(ends).to_owned()
            };
            let (what, old, new) = (part("what").trim().to_owned(), value("old"), value("new"));
            if !is_value(&old) || !is_value(&new) || old == new || what.contains(['\n', '.']) {
                continue;
            }
            // What changed twice is asked by its last change alone.
            let question = format!("What was {what} changed to?");
            let draft = Draft::new(QuestionKind::Update, question, [new], [at]).with_stale([old]);
            drafts.retain(|other: &Draft| other.question != draft.question);
            drafts.push(draft);
        }
    }
    drafts
}

/// Whether a word is a value: it has a digit or joins several words.
fn is_value(word: &str) -> bool {
    let hyphened = word.contains('-') && word.contains(char::is_alphabetic);
    word.len() > 1
        && !hyphened
        && (word.contains(|c: char| c.is_ascii_digit()) || word.contains(['_', '.', '/']))
}
