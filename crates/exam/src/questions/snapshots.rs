//! The last value of a field of a tool that only reads and was called several
//! times.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::acts::{Act, PATH, What, text};
use super::draft::Draft;
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind};

/// Words in the name of a tool that only reads.
const READS: [&str; 12] = [
    "get", "read", "list", "search", "find", "show", "view", "fetch", "query", "describe",
    "status", "lookup",
];
/// Longest value, and longest list of arguments in a question, in characters.
const LONGEST: (usize, usize) = (60, 80);
/// Fields that a harness puts around every result.
const OF_HARNESS: [&str; 5] =
    ["Chunk ID", "Wall time", "Exit code", "Original token count", "Total output lines"];
/// Most fields of one result.
const FIELDS: usize = 400;

/// The questions about snapshots.
pub(super) fn questions(view: &View<'_>) -> Vec<Draft> {
    let mut tools: BTreeMap<&str, Vec<&Act<'_>>> = BTreeMap::new();
    for act in &view.acts {
        // The text of a file is no state with fields.
        let of_file = text(act.arguments, &PATH).is_some();
        let reads = matches!(act.what, What::Other) && is_reading(act.tool) && !of_file;
        if reads && !act.failed && act.result.is_some() {
            tools.entry(act.tool).or_default().push(act);
        }
    }
    let repeated = tools.into_iter().filter(|(_, acts)| acts.len() > 1);
    repeated.flat_map(|(tool, acts)| of_tool(tool, &acts)).collect()
}

fn is_reading(tool: &str) -> bool {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_ascii_lowercase();
    name.split(['_', '-', '.']).any(|word| READS.contains(&word))
        || READS.iter().any(|word| name.starts_with(word))
}

/// A field of a result: its newest value, and those before.
struct Field {
    now: String,
    before: Vec<String>,
    at: [MessageIndex; 2],
}

fn of_tool(tool: &str, acts: &[&Act<'_>]) -> Vec<Draft> {
    let mut fields: BTreeMap<(String, String), Field> = BTreeMap::new();
    for act in acts {
        let Some(asked) = named(act.arguments) else { continue };
        let Some(result) = act.result else { continue };
        for (path, value) in values(act.output) {
            let at = [act.message, result];
            match fields.get_mut(&(asked.clone(), path.clone())) {
                None => {
                    let before = Vec::new();
                    fields.insert((asked.clone(), path), Field { now: value, before, at });
                }
                Some(field) => {
                    let old = std::mem::replace(&mut field.now, value);
                    if old != field.now {
                        field.before.push(old);
                    }
                    field.at = at;
                }
            }
        }
    }
    // What every result says is not what one of them gave.
    let mut values: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    for ((_, path), field) in &fields {
        let (results, distinct) = values.entry(path.clone()).or_default();
        *results += 1;
        distinct.insert(field.now.clone());
    }
    let is_common = |path: &String| {
        let (results, distinct) = &values[path];
        *results > 1 && distinct.len() == 1
    };
    let telling = fields.into_iter().filter(|((_, path), _)| !is_common(path));
    let drafts = telling.map(|((asked, path), field)| {
        let of = if asked.is_empty() { String::new() } else { format!(" for {asked}") };
        let question = format!("What did the last `{tool}`{of} give as `{path}`?");
        Draft::new(QuestionKind::Snapshot, question, [field.now], field.at).with_stale(field.before)
    });
    drafts.collect()
}

/// The plain arguments of a call in words; `None` if they are too long to be
/// named.
fn named(arguments: &Json) -> Option<String> {
    let values = arguments.as_object()?.values().filter_map(|value| match value {
        Json::String(text) => Some(format!("`{text}`")),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    });
    let named = values.collect::<Vec<_>>().join(", ");
    (named.chars().count() <= LONGEST.1 && !named.contains('\n')).then_some(named)
}

/// The fields with a telling value: of a JSON object, or of lines `name: value`.
fn values(output: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    match serde_json::from_str::<Json>(output) {
        Ok(value) => leaves(&value, "", &mut found),
        Err(_) => {
            let lines = output.lines().take(FIELDS).filter_map(|line| line.split_once(": "));
            let short = lines.filter(|(name, _)| {
                name.chars().count() <= 30
                    && !OF_HARNESS.contains(name)
                    && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-'))
                    && name.starts_with(char::is_alphabetic)
            });
            found.extend(short.map(|(name, value)| (name.to_owned(), value.trim().to_owned())));
        }
    }
    // A name that stands several times does not tell its values apart.
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    found.iter().for_each(|(name, _)| *counts.entry(name.clone()).or_default() += 1);
    found.retain(|(name, value)| counts[name] == 1 && is_telling(value));
    found
}

fn leaves(value: &Json, path: &str, found: &mut Vec<(String, String)>) {
    if found.len() >= FIELDS {
        return;
    }
    match value {
        Json::Object(fields) => fields.iter().for_each(|(name, value)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            leaves(value, &path, found);
        }),
        Json::String(text) => found.push((path.to_owned(), text.clone())),
        Json::Number(number) => found.push((path.to_owned(), number.to_string())),
        Json::Array(_) | Json::Bool(_) | Json::Null => {}
    }
}

/// Whether a value is specific: more than two characters, and not a word that
/// many fields share.
fn is_telling(value: &str) -> bool {
    let length = value.chars().count();
    (3..=LONGEST.0).contains(&length)
        && !value.contains('\n')
        && !matches!(
            value.to_ascii_lowercase().as_str(),
            "none" | "null" | "true" | "false" | "yes"
        )
}
