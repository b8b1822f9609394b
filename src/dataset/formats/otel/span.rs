//! A span's attributes under the names of each convention.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::dataset::error::Problem;
use crate::dataset::formats::chat::{all_said, definition, said};
use crate::dataset::formats::exchange::{Part, Request, Said};
use crate::model::{Preamble, Role, Usage};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    trace_id: Option<String>,
    start_time_unix_nano: Option<Json>,
    #[serde(default)]
    attributes: Vec<Attribute>,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    name: String,
    #[serde(default)]
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    key: String,
    #[serde(default)]
    value: AnyValue,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyValue {
    string_value: Option<String>,
    /// 64-bit numbers are strings in JSON.
    int_value: Option<Json>,
    double_value: Option<Json>,
    bool_value: Option<bool>,
    array_value: Option<Values<AnyValue>>,
    kvlist_value: Option<Values<Attribute>>,
}

#[derive(Deserialize)]
struct Values<T> {
    #[serde(default = "Vec::new")]
    values: Vec<T>,
}

impl AnyValue {
    fn json(self) -> Json {
        if let Some(text) = self.string_value {
            return Json::String(text);
        }
        if let Some(list) = self.array_value {
            return Json::Array(list.values.into_iter().map(AnyValue::json).collect());
        }
        if let Some(list) = self.kvlist_value {
            return Json::Object(
                list.values.into_iter().map(|one| (one.key, one.value.json())).collect(),
            );
        }
        let number = self.int_value.or(self.double_value);
        number.or(self.bool_value.map(Json::Bool)).unwrap_or_default()
    }
}

/// Attributes by name, in order.
struct Attributes(BTreeMap<String, Json>);

/// Deepest name of an attribute that is looked at.
const DEEPEST: usize = 16;

impl Attributes {
    fn new(list: Vec<Attribute>) -> Attributes {
        Attributes(list.into_iter().map(|one| (one.key, one.value.json())).collect())
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.0.get(*name)?.as_str()).map(str::to_owned)
    }

    fn number(&self, names: &[&str]) -> Option<u64> {
        let of = |value: &Json| value.as_u64().or_else(|| value.as_str()?.parse().ok());
        names.iter().find_map(|name| of(self.0.get(*name)?))
    }

    /// A value that may be JSON in a string.
    fn decoded(&self, names: &[&str]) -> Option<Json> {
        names.iter().find_map(|name| self.0.get(*name)).map(decoded)
    }

    /// The list that attributes with a number in their names make up.
    fn numbered(&self, prefix: &str) -> Vec<Json> {
        let mut all: BTreeMap<u32, Json> = BTreeMap::new();
        let own = self.0.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        for (key, value) in own {
            let mut path = key[prefix.len()..].split('.');
            let number = path.next().and_then(|number| number.parse().ok());
            let path: Vec<&str> = path.take(DEEPEST).collect();
            if let Some(number) = number {
                put(all.entry(number).or_default(), &path, value);
            }
        }
        all.into_values().collect()
    }
}

fn put(place: &mut Json, path: &[&str], value: &Json) {
    match path.split_first() {
        None => *place = value.clone(),
        Some((first, rest)) => {
            if !place.is_object() {
                *place = Json::Object(Map::new());
            }
            if let Json::Object(fields) = place {
                put(fields.entry(*first).or_insert(Json::Null), rest, value);
            }
        }
    }
}

/// The list that an object with numbers for names stands for.
fn listed(value: Option<&Json>) -> Vec<&Json> {
    match value {
        Some(Json::Object(fields)) => {
            let numbered = fields.iter().filter_map(|(key, one)| Some((key.parse().ok()?, one)));
            numbered.collect::<BTreeMap<u32, &Json>>().into_values().collect()
        }
        Some(Json::Array(all)) => all.iter().collect(),
        _ => Vec::new(),
    }
}

fn decoded(value: &Json) -> Json {
    let text = value.as_str().filter(|text| text.trim_start().starts_with(['[', '{']));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// The request that a span of a model call stands for.
pub(super) fn request(span: Span) -> Result<Option<Request>, Problem> {
    let attributes = Attributes::new(span.attributes);
    let operation = attributes.text(&["gen_ai.operation.name", "llm.request.type"]);
    let kind = attributes.text(&["openinference.span.kind", "traceloop.span.kind"]);
    let is_model = matches!(
        operation.as_deref(),
        Some("chat" | "text_completion" | "generate_content" | "completion")
    ) || kind.as_deref() == Some("LLM")
        || (operation.is_none()
            && kind.is_none()
            && attributes.0.keys().any(|key| is_message(key)));
    if !is_model {
        return Ok(None);
    }
    let (mut said, mut answer) = messages(&attributes)?;
    for event in span.events {
        let own = Attributes::new(event.attributes);
        let (more, answered) = event_messages(&event.name, &own)?;
        said.extend(more);
        answer.extend(answered);
    }
    let nanos = span.start_time_unix_nano.as_ref();
    let nanos = nanos.and_then(|at| at.as_i64().or_else(|| at.as_str()?.parse().ok()));
    Ok(Some(Request {
        session: attributes.text(&[
            "gen_ai.conversation.id",
            "session.id",
            "langfuse.session.id",
            "traceloop.association.properties.session_id",
        ]),
        group: span.trace_id,
        preamble: preamble(&attributes),
        said,
        answer,
        usage: usage(&attributes),
        model: attributes.text(&[
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.model_name",
        ]),
        at: nanos.and_then(|at| Timestamp::from_nanosecond(at.into()).ok()),
    }))
}

fn is_message(key: &str) -> bool {
    ["gen_ai.input.messages", "gen_ai.prompt.0.", "llm.input_messages.0."]
        .iter()
        .any(|start| key.starts_with(start))
}

fn messages(attributes: &Attributes) -> Result<(Vec<Said>, Vec<Said>), Problem> {
    let read = |names: &[&str], numbered: &str, flat: &str| -> Result<Vec<Said>, Problem> {
        if let Some(list) = attributes.decoded(names) {
            return all_said(&list);
        }
        let open = attributes.numbered(numbered);
        if !open.is_empty() {
            return open.iter().map(inference).collect();
        }
        attributes.numbered(flat).iter().map(vendor).collect()
    };
    let said = read(&["gen_ai.input.messages"], "llm.input_messages.", "gen_ai.prompt.")?;
    let mut answer =
        read(&["gen_ai.output.messages"], "llm.output_messages.", "gen_ai.completion.")?;
    answer.iter_mut().for_each(|said| said.role = Role::Assistant);
    Ok((said, answer))
}

/// A message of OpenInference.
fn inference(entry: &Json) -> Result<Said, Problem> {
    let message = entry.get("message").unwrap_or(entry);
    let mut plain = message.clone();
    let contents = listed(message.get("contents")).into_iter().map(|part| {
        let mut own = part.get("message_content").cloned().unwrap_or_default();
        if let (Some(call), Json::Object(fields)) = (part.get("tool_call"), &mut own) {
            fields.extend(call.as_object().cloned().unwrap_or_default());
        }
        own
    });
    let contents: Vec<Json> = contents.collect();
    let calls = listed(message.get("tool_calls")).into_iter();
    let calls: Vec<Json> =
        calls.map(|call| call.get("tool_call").unwrap_or(call).clone()).collect();
    if let Json::Object(fields) = &mut plain {
        if !contents.is_empty() {
            fields.insert("content".to_owned(), Json::Array(contents));
        }
        fields.insert("tool_calls".to_owned(), Json::Array(calls));
    }
    said(&plain)
}

/// A message of OpenLLMetry, whose content may be JSON in a string.
fn vendor(entry: &Json) -> Result<Said, Problem> {
    let mut plain = entry.clone();
    let calls: Vec<Json> = listed(entry.get("tool_calls")).into_iter().cloned().collect();
    if let Json::Object(fields) = &mut plain {
        let content = fields.get("content").map(decoded).filter(Json::is_array);
        fields.extend(content.map(|content| ("content".to_owned(), content)));
        fields.insert("tool_calls".to_owned(), Json::Array(calls));
    }
    said(&plain)
}

/// Messages that older conventions record as events.
fn event_messages(name: &str, own: &Attributes) -> Result<(Vec<Said>, Vec<Said>), Problem> {
    let role = match name {
        "gen_ai.client.inference.operation.details" => return messages(own),
        "gen_ai.system.message" => "system",
        "gen_ai.user.message" => "user",
        "gen_ai.assistant.message" | "gen_ai.choice" => "assistant",
        "gen_ai.tool.message" => "tool",
        _ => return Ok(Default::default()),
    };
    let mut fields: Map<String, Json> =
        own.0.iter().map(|(key, value)| (key.clone(), decoded(value))).collect();
    if let Some(Json::Object(body)) = own.decoded(&["gen_ai.event.content", "message"]) {
        fields.extend(body);
    }
    if let Some(Json::Object(message)) = fields.remove("message") {
        fields.extend(message);
    }
    fields.entry("role").or_insert_with(|| Json::String(role.to_owned()));
    let said = vec![said(&Json::Object(fields))?];
    Ok(if name == "gen_ai.choice" { (Vec::new(), said) } else { (said, Vec::new()) })
}

fn preamble(attributes: &Attributes) -> Preamble {
    let system = attributes.decoded(&["gen_ai.system_instructions"]).unwrap_or_default();
    let parts = match &system {
        Json::String(text) => vec![Part::Text(text.clone())],
        Json::Null => Vec::new(),
        parts => {
            let message = serde_json::json!({"role": "system", "content": parts});
            said(&message).map_or_else(|_| Vec::new(), |said| said.parts)
        }
    };
    let text = |part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    };
    let mut tools = match attributes.decoded(&["gen_ai.tool.definitions"]) {
        Some(Json::Array(tools)) => tools,
        _ => Vec::new(),
    };
    for entry in attributes.numbered("llm.tools.") {
        tools.extend(entry.pointer("/tool/json_schema").map(decoded));
    }
    for mut entry in attributes.numbered("llm.request.functions.") {
        if let Some(parameters) = entry.get_mut("parameters") {
            *parameters = decoded(parameters);
        }
        tools.push(entry);
    }
    Preamble {
        system: parts.into_iter().filter_map(text).collect(),
        tools: tools.iter().filter_map(definition).collect(),
        ..Preamble::default()
    }
}

/// The prompt includes what was cached, except where it is less than that.
fn usage(attributes: &Attributes) -> Option<Usage> {
    let prompt = attributes.number(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
    ])?;
    let cache_read = attributes.number(&[
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ]);
    let written = attributes.number(&[
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ]);
    let output = attributes.number(&[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
    ]);
    let (cache_read, written) = (cache_read.unwrap_or(0), written.unwrap_or(0));
    let fresh = prompt.checked_sub(cache_read.saturating_add(written));
    Some(Usage {
        input: fresh.unwrap_or(prompt),
        cache_read,
        cache_write_5m: written,
        output: output.unwrap_or(0),
        output_final: output.is_some(),
        ..Usage::default()
    })
}
