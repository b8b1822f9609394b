//! Spans and events of model calls in OTLP JSON, as OpenTelemetry's collector writes
//! them: one document, or one export request a line.
//!
//! Read from the conventions of OpenTelemetry (open-telemetry/
//! semantic-conventions, `docs/gen-ai`), of OpenInference (Arize-ai/openinference,
//! `spec`) and of OpenLLMetry (traceloop/openllmetry, `semconv_ai/__init__.py` and
//! the instrumentations of Cohere and Ollama for `gen_ai.prompt.N` and its calls,
//! of Anthropic for what its counts include), and from what OpenRouter's Broadcast
//! sends. Every span repeats the conversation so far, or names the response that it
//! goes on from: of a session or trace, the one that was extended last is read.
//! Messages may stand in events instead, on a span or in a log that names it.

use std::collections::BTreeMap;

use serde_json::Map;

use super::content::{ChatMessage, Part, joined, list};
use super::exchange::{Calls, Request, Requests};
use super::prelude::*;
use crate::source;
use recap_core::text::counted;

/// Why there is no session, though models were called.
const NO_CONTENT: &str = "none of its spans of model calls has the messages: they have to be \
     recorded (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only, \
     TRACELOOP_TRACE_CONTENT=true, OPENINFERENCE_HIDE_INPUTS=false)";

/// What can be done where no model was called.
const NO_CALL: &str = "export the traces of the program that calls the model, with its \
     instrumentation for that (OpenTelemetry GenAI, OpenLLMetry, OpenInference)";

/// The format of spans in OTLP JSON.
pub(super) const FORMAT: Format = Format {
    name: "otel",
    describe: "OpenTelemetry spans and events (OTLP JSON, a document or lines; GenAI, OpenInference, OpenLLMetry, OpenRouter)",
    tried: Tried::Documentation,
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/resourceSpans", "/resourceLogs"])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut found = Found::default();
    source.each_value(|_, export| found.add(export))?;
    source.settle_aside(found.calls.len())?;
    source.whole(found.attach_events())?;
    let all = found.calls.len();
    found
        .calls
        .retain(|Call { request, .. }| !request.messages.is_empty() || !request.answer.is_empty());
    let silent = all - found.calls.len();
    if found.calls.is_empty() {
        let nothing = found.nothing(silent);
        return Err(source.error(None, nothing));
    }
    if silent > 0 {
        source.warn(format!("of {all} spans of model calls, {silent} have no messages"));
    }
    // Spans are written when they end.
    found.calls.sort_by_key(|call| call.request.at);
    let mut requests = Requests::default();
    for call in found.calls {
        requests.add(call.request);
    }
    let mut drafts = requests.sessions(source)?;
    if let Some(first) = drafts.first_mut() {
        first.leave_out("span that is no model call", found.others);
        first.leave_out("span of a model call without messages", silent as u64);
        first.leave_out("record of a log that is no message of a model call", found.logs);
        first.leave_out("record without a span", found.empty);
        first.leave_out("attribute that a span has twice", found.repeated);
    }
    drafts.into_iter().try_for_each(|draft| take(source, draft))
}

/// A span by its trace and its own id.
type SpanId = (Option<String>, Option<String>);

/// A call of a model, with the span that it is.
struct Call {
    span: SpanId,
    request: Request,
}

#[derive(Default)]
struct Found {
    calls: Vec<Call>,
    /// Events of logs, by the span that they name.
    events: BTreeMap<SpanId, Vec<Fields>>,
    /// Other spans, and other records of logs.
    others: u64,
    logs: u64,
    /// Records without a span, and attributes that a span has twice.
    empty: u64,
    repeated: u64,
}

impl Found {
    /// Why there is no session.
    fn nothing(&self, silent: usize) -> Problem {
        let others = [(self.others, "span"), (self.logs, "record of a log")];
        let others = others.into_iter().filter(|(n, _)| *n > 0);
        let others: Vec<String> = others.map(|(n, what)| counted(n, what)).collect();
        let (what, remedy) = match silent {
            0 if others.is_empty() => ("it holds no span".to_owned(), NO_CALL),
            0 => (format!("none of its {} is a call of a model", others.join(" and ")), NO_CALL),
            _ => (NO_CONTENT.to_owned(), "set that where the program runs, and export again"),
        };
        Problem::other(what, remedy)
    }

    fn add(&mut self, export: Json) -> Result<(), Problem> {
        let mut export = Fields(export);
        let spans: Vec<Json> = export.take("/resourceSpans")?.unwrap_or_default();
        let logs: Vec<Json> = export.take("/resourceLogs")?.unwrap_or_default();
        self.empty += u64::from(spans.is_empty() && logs.is_empty());
        for record in items(items(logs, &["/scopeLogs"])?, &["/logRecords"])? {
            let record = Fields(record);
            if is_event(name(&record)) {
                self.events.entry(span(&record)).or_default().push(record);
            } else {
                self.logs += 1;
            }
        }
        for resource in spans {
            let scopes = items(vec![resource], &["/scopeSpans", "/instrumentationLibrarySpans"])?;
            self.empty += u64::from(scopes.is_empty());
            for scope in scopes {
                let spans = items(vec![scope], &["/spans"])?;
                self.empty += u64::from(spans.is_empty());
                spans.into_iter().try_for_each(|span| self.span(Fields(span)))?;
            }
        }
        Ok(())
    }

    fn span(&mut self, record: Fields) -> Result<(), Problem> {
        let span = span(&record);
        let (request, repeated) = request(record)?;
        self.repeated += repeated;
        match request {
            None => self.others += 1,
            Some(request) => self.calls.push(Call { span, request }),
        }
        Ok(())
    }

    /// Gives spans without messages those of their events in logs. Events without such
    /// a span are calls of their own: spans and logs are exported apart.
    fn attach_events(&mut self) -> Result<(), Problem> {
        let mut events = std::mem::take(&mut self.events);
        for call in self.calls.iter_mut().filter(|call| call.span.1.is_some()) {
            take_events(&mut call.request, events.remove(&call.span).unwrap_or_default())?;
        }
        for (span, records) in events {
            // One is a whole call, the others are its messages one by one.
            let (whole, mut parts): (Vec<_>, Vec<_>) =
                records.into_iter().partition(|record| name(record) == DETAILS);
            if span.1.is_none() {
                self.logs += parts.drain(..).count() as u64;
            }
            let whole = whole.into_iter().map(|record| vec![record]);
            for records in whole.chain(Some(parts).filter(|parts| !parts.is_empty())) {
                let at = records.iter().find_map(time);
                let mut request = Request { group: span.0.clone(), at, ..Request::default() };
                take_events(&mut request, records)?;
                self.calls.push(Call { span: span.clone(), request });
            }
        }
        Ok(())
    }
}

// A span's attributes under the names of each convention.

/// The items of a list within each record.
fn items(records: Vec<Json>, names: &[&str]) -> Result<Vec<Json>, Problem> {
    let mut all = Vec::new();
    for record in records {
        all.extend(Fields(record).first::<Vec<Json>>(names)?.unwrap_or_default());
    }
    Ok(all)
}

/// The name of a record: one that has a name is an event. Older exporters have it among the
/// attributes.
fn name(record: &Fields) -> &str {
    let own = record.text("/name").or_else(|| record.text("/eventName"));
    let attributes = || record.0.get("attributes").and_then(Json::as_array).into_iter().flatten();
    let is_name = |one: &&Json| one.get("key").is_some_and(|key| key == "event.name");
    let named = || attributes().find(is_name)?.pointer("/value/stringValue")?.as_str();
    own.filter(|name| !name.is_empty()).or_else(named).unwrap_or_default()
}

fn time(record: &Fields) -> Option<Timestamp> {
    let names = ["startTimeUnixNano", "timeUnixNano", "observedTimeUnixNano"];
    names.iter().find_map(|name| {
        let at = record.0.get(*name)?;
        let nanos: i64 = at.as_i64().or_else(|| at.as_str()?.parse().ok())?;
        Timestamp::from_nanosecond(nanos.into()).ok().filter(|_| nanos > 0)
    })
}

fn span(record: &Fields) -> SpanId {
    let own = |at: &str| record.text(at).filter(|id| !id.is_empty()).map(str::to_owned);
    (own("/traceId"), own("/spanId"))
}

/// A value of OTLP. 64-bit numbers are strings in it.
fn any_value(value: Json) -> Result<Json, Problem> {
    let mut value = Fields(value);
    if let Some(text) = value.take("/stringValue")? {
        return Ok(Json::String(text));
    }
    if let Some(list) = value.take::<Vec<Json>>("/arrayValue/values")? {
        return list.into_iter().map(any_value).collect::<Result<_, _>>().map(Json::Array);
    }
    if let Some(list) = value.take("/kvlistValue/values")? {
        return Ok(Json::Object(pairs(list)?.into_iter().collect()));
    }
    Ok(value.first(&["/intValue", "/doubleValue", "/boolValue"])?.unwrap_or_default())
}

fn pairs(list: Vec<Json>) -> Result<Vec<(String, Json)>, Problem> {
    let pair = |one| {
        let mut one = Fields(one);
        Ok((one.need("/key")?, any_value(one.take("/value")?.unwrap_or_default())?))
    };
    list.into_iter().map(pair).collect()
}

/// Attributes by name, in order.
struct Attributes(BTreeMap<String, Json>);

/// Deepest name of an attribute that is looked at.
const DEEPEST: usize = 16;

impl Attributes {
    /// Takes the attributes of a record, with their number; of several with one name the
    /// last, as the collector reads them.
    fn of(record: &mut Fields) -> Result<(Attributes, usize), Problem> {
        let list = pairs(record.take("/attributes")?.unwrap_or_default())?;
        let count = list.len();
        Ok((Attributes(list.into_iter().collect()), count))
    }

    /// Those of an event, with the fields of its body.
    fn of_event(record: &mut Fields) -> Result<Attributes, Problem> {
        let (mut own, _) = Attributes::of(record)?;
        let body = any_value(record.take("/body")?.unwrap_or_default())?;
        if let Json::Object(fields) = decoded(&body) {
            own.0.extend(fields);
        }
        Ok(own)
    }

    /// The values under these names, one behind the other.
    fn under(&self, names: &str) -> impl Iterator<Item = &Json> {
        names.split_whitespace().filter_map(|name| self.0.get(name))
    }

    fn text(&self, names: &str) -> Option<String> {
        self.under(names).find_map(Json::as_str).map(str::to_owned)
    }

    fn number(&self, names: &str) -> Option<u64> {
        let of = |value: &Json| value.as_u64().or_else(|| value.as_str()?.parse().ok());
        self.under(names).find_map(of)
    }

    /// A value that may be JSON in a string.
    fn decoded(&self, names: &str) -> Option<Json> {
        self.under(names).next().map(decoded)
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
    text.and_then(source::decoded).unwrap_or_else(|| value.clone())
}

/// The request that a span of a model call stands for, and how many attributes the
/// span has twice.
fn request(mut record: Fields) -> Result<(Option<Request>, u64), Problem> {
    let (attributes, listed) = Attributes::of(&mut record)?;
    let repeated = (listed - attributes.0.len()) as u64;
    if !is_call(&attributes) {
        return Ok((None, repeated));
    }
    let (messages, answer) = messages(&attributes)?;
    let at = time(&record);
    let mut request = Request { messages, answer, at, ..described(&attributes) };
    request.group = record.take("/traceId")?;
    let events: Vec<Json> = record.take("/events")?.unwrap_or_default();
    take_events(&mut request, events.into_iter().map(Fields).collect())?;
    Ok((Some(request), repeated))
}

/// Takes from events what the call itself does not tell.
fn take_events(request: &mut Request, events: Vec<Fields>) -> Result<(), Problem> {
    let (asks, answers) = (request.messages.is_empty(), request.answer.is_empty());
    for mut event in events.into_iter().filter(|event| is_event(name(event))) {
        let name = name(&event).to_owned();
        let own = Attributes::of_event(&mut event)?;
        let (more, answered) = event_messages(&name, &own)?;
        request.messages.extend(more.into_iter().filter(|_| asks));
        request.answer.extend(answered.into_iter().filter(|_| answers));
        let own = described(&own);
        let Preamble { system, tools, .. } = own.preamble;
        if request.preamble.system.is_empty() {
            request.preamble.system = system;
        }
        if request.preamble.tools.is_empty() {
            request.preamble.tools = tools;
        }
        request.usage = request.usage.take().or(own.usage);
        request.usd = request.usd.or(own.usd);
        request.model = request.model.take().or(own.model);
        request.session = request.session.take().or(own.session);
        request.response = request.response.take().or(own.response);
        request.previous = request.previous.take().or(own.previous);
    }
    Ok(())
}

/// Whether a span with these attributes is a call of a model.
fn is_call(attributes: &Attributes) -> bool {
    let operation = attributes.text("gen_ai.operation.name llm.request.type");
    let kind = attributes.text("openinference.span.kind traceloop.span.kind");
    // OpenRouter's attempts at providers repeat the operation of the call.
    let is_part = attributes.text("span.type").is_some_and(|kind| kind == "span");
    let calls = ["chat", "text_completion", "generate_content", "completion"];
    !is_part
        && (operation.as_deref().is_some_and(|operation| calls.contains(&operation))
            || kind.as_deref() == Some("LLM")
            || (operation.is_none()
                && kind.is_none()
                && attributes.0.keys().any(|key| is_message(key))))
}

/// What the attributes of a span or an event tell of a call besides its messages.
fn described(attributes: &Attributes) -> Request {
    let sessions = "gen_ai.conversation.id session.id langfuse.session.id \
                    traceloop.association.properties.session_id";
    let previous = "gen_ai.request.previous_response.id gen_ai.request.previous_response_id";
    Request {
        session: attributes.text(sessions),
        response: attributes.text("gen_ai.response.id"),
        previous: attributes.text(previous),
        preamble: preamble(attributes),
        usage: usage(attributes).map(Calls::from),
        usd: attributes.0.get("gen_ai.usage.total_cost").and_then(Json::as_f64),
        model: attributes.text("gen_ai.response.model gen_ai.request.model llm.model_name"),
        ..Request::default()
    }
}

fn is_message(key: &str) -> bool {
    ["gen_ai.input.messages", "gen_ai.prompt.0.", "llm.input_messages.0."]
        .iter()
        .any(|start| key.starts_with(start))
}

fn messages(attributes: &Attributes) -> Result<(Vec<ChatMessage>, Vec<ChatMessage>), Problem> {
    let read = |name: &str, numbered: &str, flat: &str| -> Result<Vec<ChatMessage>, Problem> {
        if let Some(list) = attributes.decoded(name) {
            return messages_of(&list);
        }
        let open = attributes.numbered(numbered);
        if !open.is_empty() {
            return open.iter().map(inference).collect();
        }
        if let Some(own) = attributes.decoded(flat) {
            return broadcast(own);
        }
        attributes.numbered(&format!("{flat}.")).iter().map(vendor).collect()
    };
    let messages = read("gen_ai.input.messages", "llm.input_messages.", "gen_ai.prompt")?;
    let mut answer = read("gen_ai.output.messages", "llm.output_messages.", "gen_ai.completion")?;
    answer.iter_mut().for_each(|message| message.role = Role::Assistant);
    Ok((messages, answer))
}

/// What OpenRouter's Broadcast sends: the messages of a request, or the parts of its
/// only answer; anything else as it is.
fn broadcast(own: Json) -> Result<Vec<ChatMessage>, Problem> {
    if let Some(messages) = own.get("messages") {
        return messages_of(messages);
    }
    let parts = [
        ("content", "completion"),
        ("reasoning_content", "reasoning"),
        ("tool_calls", "toolCalls"),
    ];
    let fields = parts.into_iter().filter_map(|(name, key)| {
        Some((name.to_owned(), own.get(key).filter(|value| !value.is_null())?.clone()))
    });
    let fields: Map<String, Json> = fields.collect();
    if fields.is_empty() { messages_of(&own) } else { messages_of(&Json::Object(fields)) }
}

/// A message of OpenInference.
fn inference(entry: &Json) -> Result<ChatMessage, Problem> {
    let message = entry.get("message").unwrap_or(entry);
    let contents = listed(message.get("contents")).into_iter().map(|part| {
        let mut own = part.get("message_content").cloned().unwrap_or_default();
        if let (Some(call), Json::Object(fields)) = (part.get("tool_call"), &mut own) {
            fields.extend(call.as_object().cloned().unwrap_or_default());
        }
        own
    });
    let contents: Vec<Json> = contents.collect();
    let contents = Some(Json::Array(contents)).filter(|contents| contents.get(0).is_some());
    let calls = listed(message.get("tool_calls")).into_iter();
    let calls = calls.map(|call| call.get("tool_call").unwrap_or(call).clone()).collect();
    with(message, contents, calls)
}

/// A message of OpenLLMetry, whose content may be JSON in a string.
fn vendor(entry: &Json) -> Result<ChatMessage, Problem> {
    let content = entry.get("content").map(decoded).filter(Json::is_array);
    let calls = listed(entry.get("tool_calls")).into_iter().cloned().collect();
    with(entry, content, calls)
}

/// A message with these calls, and perhaps with another content.
fn with(message: &Json, content: Option<Json>, calls: Vec<Json>) -> Result<ChatMessage, Problem> {
    let mut plain = message.clone();
    if let Json::Object(fields) = &mut plain {
        fields.extend(content.map(|content| ("content".to_owned(), content)));
        fields.insert("tool_calls".to_owned(), Json::Array(calls));
    }
    message_of(&plain)
}

/// The event that has all messages of a call.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// Whether an event of this name has messages.
fn is_event(name: &str) -> bool {
    let sender = name.strip_prefix("gen_ai.").and_then(|rest| rest.strip_suffix(".message"));
    name == DETAILS
        || name == "gen_ai.choice"
        || matches!(sender, Some("system" | "user" | "assistant" | "tool"))
}

/// Messages that are recorded as events.
fn event_messages(
    name: &str,
    own: &Attributes,
) -> Result<(Vec<ChatMessage>, Vec<ChatMessage>), Problem> {
    let role = match name {
        DETAILS => return messages(own),
        "gen_ai.system.message" => "system",
        "gen_ai.user.message" => "user",
        "gen_ai.assistant.message" | "gen_ai.choice" => "assistant",
        "gen_ai.tool.message" => "tool",
        _ => return Ok(Default::default()),
    };
    let mut fields: Map<String, Json> =
        own.0.iter().map(|(key, value)| (key.clone(), decoded(value))).collect();
    if let Some(Json::Object(body)) = own.decoded("gen_ai.event.content message") {
        fields.extend(body);
    }
    if let Some(Json::Object(message)) = fields.remove("message") {
        fields.extend(message);
    }
    fields.entry("role").or_insert_with(|| Json::String(role.to_owned()));
    let message = vec![message_of(&Json::Object(fields))?];
    Ok(if name == "gen_ai.choice" { (Vec::new(), message) } else { (message, Vec::new()) })
}

fn preamble(attributes: &Attributes) -> Preamble {
    let system = attributes.decoded("gen_ai.system_instructions").unwrap_or_default();
    let text = |one: &Json| match part(one) {
        Part::Text(text) => text,
        _ => one.to_string(),
    };
    let mut tools = attributes.decoded("gen_ai.tool.definitions").map_or_else(Vec::new, list);
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
        system: list(system).iter().map(text).collect(),
        tools: tool_definitions(&tools),
        ..Preamble::default()
    }
}

/// The names of counts of tokens: of the prompt, of what was read from a cache and written to
/// it, and of the output.
const COUNTS: [&str; 4] = [
    "gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens llm.token_count.prompt",
    "gen_ai.usage.cache_read.input_tokens gen_ai.usage.cache_read_input_tokens \
     gen_ai.usage.input_tokens.cached llm.token_count.prompt_details.cache_read",
    "gen_ai.usage.cache_creation.input_tokens gen_ai.usage.cache_creation_input_tokens \
     gen_ai.usage.cache_write.input_tokens gen_ai.usage.input_tokens.cache_write \
     llm.token_count.prompt_details.cache_write",
    "gen_ai.usage.output_tokens gen_ai.usage.completion_tokens llm.token_count.completion",
];

/// The prompt includes what was cached, except where it is less than that.
fn usage(attributes: &Attributes) -> Option<Usage> {
    let [prompt, read, written, output] = COUNTS.map(|names| attributes.number(names));
    let (prompt, cache_read, written) = (prompt?, read.unwrap_or(0), written.unwrap_or(0));
    let fresh = prompt.checked_sub(cache_read.saturating_add(written));
    let hour = attributes.number("gen_ai.usage.input_tokens.cache_write_1h");
    let cache_write_1h = hour.unwrap_or(0).min(written);
    let (written, output_final) = (written - cache_write_1h, output.is_some());
    let usage = disjoint(fresh.unwrap_or(prompt), cache_read, written, output.unwrap_or(0));
    Some(Usage { output_final, cache_write_1h, ..usage })
}

// A chat message in any of the shapes in which tracing tools record one:
// OpenAI's, Anthropic's, that of OpenTelemetry's conventions, or LangChain's.

/// Reads a message.
pub(super) fn message_of(message: &Json) -> Result<ChatMessage, Problem> {
    if let Json::String(text) = message {
        return Ok(ChatMessage::new(Role::User, vec![Part::Text(text.clone())]));
    }
    let (kind, message) = plain(message);
    let name = text_at(message, "role").or(kind).unwrap_or("user");
    let role = match name {
        "system" | "developer" | "SystemMessage" => Role::System,
        "user" | "human" | "HumanMessage" => Role::User,
        "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" => Role::Assistant,
        "tool" | "function" | "ToolMessage" | "FunctionMessage" => Role::Tool,
        other => return Err(Problem::UnknownRole(other.to_owned())),
    };
    let mut parts: Vec<Part> = text_at(message, "reasoning_content")
        .map(|text| Part::Reasoning(text.into()))
        .into_iter()
        .collect();
    let content = message.get("parts").or_else(|| message.get("content")).unwrap_or(&Json::Null);
    let has_results = content.as_array().is_some_and(|all| all.iter().any(is_result));
    if role == Role::Tool && !has_results {
        parts.push(result(message, content));
        return Ok(ChatMessage::new(role, parts));
    }
    match content {
        Json::String(text) => parts.push(Part::Text(text.clone())),
        Json::Array(all) => parts.extend(all.iter().map(part)),
        Json::Null => {}
        one => parts.push(part(one)),
    }
    let called = parts.iter().any(|part| matches!(part, Part::Call { .. }));
    let extra = message.get("additional_kwargs").and_then(|more| more.get("tool_calls"));
    let listed = message.get("tool_calls").filter(|calls| calls.get(0).is_some()).or(extra);
    let calls = listed.and_then(Json::as_array).filter(|_| !called);
    parts.extend(calls.into_iter().flatten().map(call));
    if parts.is_empty() {
        parts.push(Part::Other("message without content".to_owned()));
    }
    Ok(ChatMessage::new(role, parts))
}

/// Reads a list of messages, or one.
pub(super) fn messages_of(messages: &Json) -> Result<Vec<ChatMessage>, Problem> {
    match messages {
        Json::Array(all) => all.iter().map(message_of).collect(),
        Json::Null => Ok(Vec::new()),
        one => Ok(vec![message_of(one)?]),
    }
}

/// LangChain keeps a message's fields within another object, and its class.
fn plain(message: &Json) -> (Option<&str>, &Json) {
    let class = message.get("id").and_then(Json::as_array).and_then(|path| path.last()?.as_str());
    match (message.get("kwargs"), message.get("data")) {
        (Some(fields), _) if class.is_some() => (class, fields),
        (_, Some(fields)) if fields.is_object() => (text_at(message, "type"), fields),
        _ => (text_at(message, "type"), message),
    }
}

fn text_at<'a>(value: &'a Json, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Json::as_str).filter(|text| !text.is_empty())
}

fn is_result(part: &Json) -> bool {
    matches!(text_at(part, "type"), Some("tool_result" | "tool_call_response"))
}

fn part(part: &Json) -> Part {
    if let Some(text) = part.as_str() {
        return Part::Text(text.to_owned());
    }
    let said = ["text", "content", "refusal", "thinking", "reasoning"].map(|key| part.get(key));
    let is_there = said.iter().any(Option::is_some);
    let text = said.into_iter().flatten().map(text_of).find(|text| !text.is_empty());
    let text = text.unwrap_or_default();
    match text_at(part, "type").unwrap_or("text") {
        "text" | "input_text" | "output_text" | "refusal" if is_there => Part::Text(text),
        "thinking" | "redacted_thinking" | "reasoning" => Part::Reasoning(text),
        "tool_call" | "tool_use" | "function" => call(part),
        "tool_result" => result(part, part.get("content").unwrap_or(&Json::Null)),
        "tool_call_response" => {
            let response = part.get("response").or_else(|| part.get("result"));
            result(part, response.unwrap_or(&Json::Null))
        }
        "image" | "image_url" | "input_image" => {
            let url = part.pointer("/image_url/url").or_else(|| part.get("image_url"));
            Part::Image(url.and_then(Json::as_str).and_then(media_type))
        }
        "blob" | "uri" | "file" if text_at(part, "modality") == Some("image") => {
            Part::Image(text_at(part, "mime_type").map(str::to_owned))
        }
        kind => Part::Other(format!("{kind} part")),
    }
}

fn call(call: &Json) -> Part {
    let function = call.get("function").unwrap_or(call);
    let given = ["arguments", "input", "args"].iter().find_map(|key| function.get(key));
    let (id, name) = (text_at(call, "id"), function.get("name").map(text_of).unwrap_or_default());
    if id.is_none() && name.is_empty() && given.is_none() {
        return Part::Other("call without a name".to_owned());
    }
    Part::Call { id: id.map(str::to_owned), name, arguments: given.cloned().unwrap_or_default() }
}

/// Whether a part of a result is a text or a picture; a list of others is its JSON.
fn is_shown(one: &Json) -> bool {
    text_at(one, "type").is_some() && matches!(part(one), Part::Text(_) | Part::Image(_))
}

fn result(message: &Json, content: &Json) -> Part {
    let call = ["tool_call_id", "tool_use_id", "id"].iter().find_map(|key| text_at(message, key));
    let is_error = message.get("is_error").is_some_and(|error| error == true)
        || text_at(message, "status") == Some("error");
    let result = match content {
        Json::Array(items) if items.iter().all(is_shown) => {
            let parts: Vec<Part> = items.iter().map(part).collect();
            let text = joined(&parts);
            let pictures = parts.iter().filter(|one| matches!(one, Part::Image(_))).count();
            ResultText::new(text, pictures as u32)
        }
        other => ResultText::new(text_of(other), 0),
    };
    let name = text_at(message, "name").map(str::to_owned);
    Part::Result { call: call.map(str::to_owned), name, result: ResultText { is_error, ..result } }
}
