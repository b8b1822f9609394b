//! The log of changes in which VS Code keeps a chat: a first state, and then
//! what was set, appended or removed at a path.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::dataset::error::Problem;
use crate::dataset::source::from_json;

/// Most keys of a path. Its longest own ones have five; values are nested to
/// 127 levels, so that what is put at a path may be nested this much deeper.
const MOST_KEYS: usize = 32;

#[derive(Deserialize)]
struct Entry {
    kind: u64,
    #[serde(default)]
    k: Vec<Key>,
    v: Option<Json>,
    /// Length to which a list is cut before values are appended.
    i: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Key {
    Name(String),
    Place(usize),
}

/// Whether a record is one of such a log.
pub(super) fn is_entry(record: &Json) -> bool {
    let has = |key| record.get(key).is_some();
    match record.get("kind").and_then(Json::as_u64) {
        Some(0) => has("v"),
        Some(1..=3) => record.get("k").is_some_and(Json::is_array),
        _ => false,
    }
}

/// Applies the next entry to the state; returns whether it had an effect.
///
/// # Errors
/// An entry that no state or value of this kind allows.
pub(super) fn apply(state: &mut Option<Json>, entry: Json) -> Result<bool, Problem> {
    let Entry { kind, k, v, i } = from_json(entry)?;
    if kind == 0 {
        *state = v;
        return Ok(true);
    }
    let state = state.as_mut().ok_or_else(|| bad("stands before the first state"))?;
    if k.len() > MOST_KEYS {
        return Err(bad("has a path that is too long"));
    }
    let Some((last, way)) = k.split_last() else { return Ok(false) };
    let parent = way.iter().try_fold(state, |at, key| match key {
        Key::Name(name) => at.get_mut(name),
        Key::Place(place) => at.get_mut(place),
    });
    let parent = parent.ok_or_else(nowhere)?;
    match kind {
        1 => set(parent, last, v.unwrap_or_default())?,
        2 => push(parent, last, v, i)?,
        3 => match (parent, last) {
            (Json::Object(fields), Key::Name(name)) => _ = fields.swap_remove(name),
            (parent, key) => set(parent, key, Json::Null)?,
        },
        _ => return Err(bad("is of an unknown kind")),
    }
    Ok(true)
}

fn set(parent: &mut Json, key: &Key, value: Json) -> Result<(), Problem> {
    match (parent, key) {
        (Json::Object(fields), Key::Name(name)) => _ = fields.insert(name.clone(), value),
        (Json::Array(items), Key::Place(place)) if *place == items.len() => items.push(value),
        (Json::Array(items), Key::Place(place)) => {
            *items.get_mut(*place).ok_or_else(nowhere)? = value;
        }
        _ => return Err(nowhere()),
    }
    Ok(())
}

fn push(
    parent: &mut Json,
    key: &Key,
    values: Option<Json>,
    length: Option<usize>,
) -> Result<(), Problem> {
    let place = match (parent, key) {
        (Json::Object(fields), Key::Name(name)) => {
            fields.entry(name.as_str()).or_insert(Json::Null)
        }
        (Json::Array(items), Key::Place(place)) => items.get_mut(*place).ok_or_else(nowhere)?,
        _ => return Err(nowhere()),
    };
    if place.is_null() {
        *place = Json::Array(Vec::new());
    }
    let list = place.as_array_mut().ok_or_else(|| bad("appends to what is no list"))?;
    if let Some(length) = length {
        if length > list.len() {
            return Err(bad("cuts a list behind its end"));
        }
        list.truncate(length);
    }
    match values {
        None | Some(Json::Null) => {}
        Some(Json::Array(values)) => list.extend(values),
        Some(_) => return Err(bad("appends what is no list")),
    }
    Ok(())
}

fn nowhere() -> Problem {
    bad("has a path that leads nowhere")
}

fn bad(what: &str) -> Problem {
    Problem::Inconsistent(format!("a change of the log {what}"))
}
