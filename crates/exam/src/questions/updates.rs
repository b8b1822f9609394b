//! Values that changed: the newest one is asked, the older ones are wrong.

use std::collections::BTreeMap;

use regex::Captures;

use super::draft::Draft;
use super::sentences::captures_that;
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind};
use recap_core::text::{Pattern, pattern};

/// A line that gives a name a value: `name = value`, `name: value`, `"name":
/// value`, perhaps after keywords.
static ASSIGNED: Pattern = pattern!(
    r#"(?mx) ^\s* (?: [a-z]+ \s+ ){0,3} ["']? (?<name>[A-Za-z_][\w.-]{3,}) ["']?
           \s* (?: : \s* [A-Za-z&<>\[\]']+ \s* = | := | = | : ) \s*
           (?<value> ["'`][^"'`\n]{2,}["'`] | -?\d[\w.%:]* ) \s* [,;]? \s*
           (?: (?:\#|//) .* )? $"#
);

/// Most characters of the name, of a value in quotes and of a number.
const LONGEST: [usize; 3] = [61, 62, 21];

/// Ends of the names of files that configure something.
const SETTINGS: [&str; 8] = [".toml", ".json", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".env"];

/// The questions about values that changed.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    vec![assigned(view)]
}

/// A value in a file, and the values that it had before.
#[derive(Default)]
struct History {
    now: String,
    before: Vec<String>,
    at: MessageIndex,
}

/// Values that edits of files replaced: of constants, and in files of settings.
/// Other names are given values in many places of a file.
fn assigned(view: &View<'_>) -> Vec<Draft> {
    let mut values: BTreeMap<(&str, &str), History> = BTreeMap::new();
    for made in view.changes.iter().filter(|made| !is_test(&made.now)) {
        let settings = SETTINGS.iter().any(|end| made.now.ends_with(end));
        let (old, new) = (only(&made.change.removed), only(&made.change.added));
        for name in old.keys().filter(|name| !new.contains_key(**name)) {
            values.remove(&(made.now.as_str(), *name));
        }
        for (name, now) in new.into_iter().filter(|(name, _)| settings || is_constant(name)) {
            let key = (made.now.as_str(), name);
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

/// Whether a name is written as constants are.
fn is_constant(name: &str) -> bool {
    name.contains('_') && !name.contains(char::is_lowercase)
}

/// Whether a file tests or stands in for others: its values are examples.
fn is_test(path: &str) -> bool {
    let path = path.to_lowercase();
    ["test", "spec", "fixture", "mock"].iter().any(|part| path.contains(part))
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
