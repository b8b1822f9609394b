//! What the exports of tools that trace model calls have in common: records in
//! lists, pages or lines, some of which are model calls, and the shapes in which
//! these have their messages.

mod langfuse;
mod langsmith;

use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Map, Value as Json};

pub(super) use self::langfuse::Langfuse;
pub(super) use self::langsmith::LangSmith;
use super::chat::{all_said, definition};
use super::exchange::{Part, Request, Requests, Said};
use super::responses;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::Head;
use crate::dataset::source::{HEAD, Source, parse};
use crate::model::{Role, ToolDefinition};

/// A record with its line, where the file has lines.
type Record = (Option<u64>, Json);

/// All records: those of a list, of the list that a page has under `page`, or of
/// lines of either.
fn records(source: &mut Source<'_>, page: &str) -> Result<Vec<Record>, DatasetError> {
    let head = Head::new(source.head(HEAD)?);
    let mut found = Vec::new();
    if head.first_char() == Some('[') || head.spread {
        found.extend(listed(source.document()?, page).into_iter().map(|one| (None, one)));
    } else {
        while let Some((line, value)) = source.next_record(parse::<Json>)? {
            found.extend(listed(value, page).into_iter().map(|one| (Some(line), one)));
        }
    }
    Ok(found)
}

fn listed(mut value: Json, page: &str) -> Vec<Json> {
    let own = value.get_mut(page).filter(|own| own.is_array()).map(Json::take);
    match own.unwrap_or(value) {
        Json::Array(all) => all,
        one => vec![one],
    }
}

/// The first record of what may be a list or a page.
fn first<'a>(value: &'a Json, page: &str) -> Option<&'a Json> {
    match value.get(page).filter(|own| own.is_array()).unwrap_or(value) {
        Json::Array(all) => all.first(),
        one => Some(one),
    }
}

/// The model calls of an export.
#[derive(Default)]
struct Calls {
    requests: Vec<Request>,
    /// Those whose messages could not be found.
    silent: u64,
    /// Records that are no model calls.
    others: u64,
}

impl Calls {
    fn add(&mut self, request: Request) {
        if request.said.is_empty() {
            self.silent += 1;
        } else {
            self.requests.push(request);
        }
    }

    fn sessions(mut self, source: &mut Source<'_>) -> Result<Vec<Draft>, DatasetError> {
        let (silent, all) = (self.silent, self.silent + self.requests.len() as u64);
        if silent > 0 {
            source.warn(format!("of {all} model calls, {silent} have no messages that are read"));
        }
        // Exports are in any order, often with the newest first.
        self.requests.sort_by_key(|request| request.at);
        let mut requests = Requests::default();
        for request in self.requests {
            requests.add(request);
        }
        let mut drafts = requests.sessions(source)?;
        if let Some(first) = drafts.first_mut() {
            first.leave_out("record that is no model call", self.others);
            first.leave_out("model call without messages", silent);
        }
        Ok(drafts)
    }
}

/// A value that may be JSON in a string.
fn decoded(value: Json) -> Json {
    let text = value.as_str().filter(|text| text.trim_start().starts_with(['[', '{']));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value)
}

/// The messages that a model was sent, and its tools. Empty where the value has
/// no messages.
fn asked(input: Json) -> Result<(Vec<Said>, Vec<ToolDefinition>), Problem> {
    let mut input = decoded(input);
    let tools = input.get("tools").and_then(Json::as_array).into_iter().flatten();
    let tools = tools.filter_map(definition).collect();
    // Anthropic's requests have it beside the messages, as a text or as parts.
    let system = input.get_mut("system").map(Json::take).filter(|system| !system.is_null());
    let system = system.map(|content| serde_json::json!({"role": "system", "content": content}));
    let mut said = all_said(&system.map_or(Json::Null, |one| Json::Array(vec![one])))?;
    let keys = ["messages", "input", "prompts"];
    let own = keys.iter().find_map(|key| input.get_mut(key).map(Json::take));
    let mut messages = own.unwrap_or(input);
    // LangChain logs a list of conversations, or of prompts; a call has one.
    if let Some(only) = messages.get_mut(0).filter(|only| only.is_array() || only.is_string()) {
        messages = only.take();
    }
    said.extend(conversation(messages)?);
    Ok((said, tools))
}

/// A list of messages, one, the parts of one, or its text.
fn conversation(messages: Json) -> Result<Vec<Said>, Problem> {
    let is_items = responses::is_items(&messages);
    match messages {
        Json::Array(items) if is_items => items.into_iter().map(responses::said).collect(),
        Json::Array(all) if all.iter().all(is_message) => all_said(&Json::Array(all)),
        Json::Array(parts) if parts.iter().all(|part| part.get("type").is_some()) => {
            all_said(&serde_json::json!({"role": "user", "content": parts}))
        }
        Json::String(text) if !text.is_empty() => all_said(&Json::String(text)),
        one if is_message(&one) => all_said(&one),
        _ => Ok(Vec::new()),
    }
}

/// Parts have a type too, but neither a role nor a class.
fn is_message(value: &Json) -> bool {
    let has = |key: &str| value.get(key).is_some_and(|own| !own.is_null());
    let is_class = has("type") && (has("data") || value.get("content").is_some());
    let kind = value.get("type").and_then(Json::as_str);
    let is_part = matches!(kind, Some("text" | "thinking" | "tool_result" | "tool_use"));
    has("role") || has("kwargs") || (is_class && !is_part)
}

/// What the model answered. Of several answers the first one is read.
fn answered(output: Json) -> Result<Vec<Said>, Problem> {
    let mut output = decoded(output);
    let mut others = 0;
    for key in ["generations", "choices"] {
        let Some(mut all) = output.get_mut(key).map(Json::take) else { continue };
        // A list of answers for each of a list of conversations, of which there is one.
        if let Some(only) = all.get_mut(0).filter(|only| only.is_array()) {
            all = only.take();
        }
        others = all.as_array().map_or(0, |all| all.len().saturating_sub(1));
        let first = all.get_mut(0).map(Json::take).unwrap_or_default();
        output = field(first, &["message", "text"]);
    }
    let mut said = conversation(field(output, &["output", "message"]))?;
    said.iter_mut().filter(|said| said.role == Role::User).for_each(|said| {
        said.role = Role::Assistant;
    });
    if let Some(last) = said.last_mut() {
        let other = Part::Other("further answer to the same request".to_owned());
        last.parts.extend(std::iter::repeat_n(other, others));
    }
    Ok(said)
}

/// The first of these fields; without any, the value.
fn field(mut value: Json, names: &[&str]) -> Json {
    let own = |name: &&str| Some(value.get_mut(name).filter(|own| !own.is_null())?.take());
    names.iter().find_map(own).unwrap_or(value)
}

/// A time; without an offset it is UTC.
fn time(value: &Option<Json>) -> Option<Timestamp> {
    let text = value.as_ref()?.as_str()?;
    text.parse().ok().or_else(|| {
        let civil: DateTime = text.parse().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })
}

/// A count, which may be a number in a string.
fn count(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Text under the first of these names that has any.
fn text(fields: &Map<String, Json>, names: &[&str]) -> Option<String> {
    let mut all = names.iter().filter_map(|name| fields.get(*name)?.as_str());
    all.find(|text| !text.is_empty()).map(str::to_owned)
}
