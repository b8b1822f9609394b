//! Requests to OpenAI's Responses API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or a list of items alone, as
//! OpenAI's Agents SDK keeps its sessions.
//!
//! Read from OpenAI's public types (openai/openai-python,
//! `src/openai/types/responses`), without recordings at hand. Of a log, the
//! conversation that was extended last is read, by repeated items or by
//! `previous_response_id`.

mod items;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use self::items::is_item;
pub(super) use self::items::{is_items, said};
use super::anthropic::entry;
use super::content::Content;
use super::exchange::{Part, Request, Requests, Said};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source, from_json, parse};
use crate::model::{Preamble, Role, ToolDefinition, Usage};

/// The format of requests to OpenAI's Responses API.
pub struct Responses;

impl Format for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn describe(&self) -> &'static str {
        "OpenAI Responses requests (JSON, a log of many, or a list of items as the Agents SDK keeps it; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let long = head.records.is_empty()
            && head.mentions(&["type", "call_id", "role"])
            && head.text.contains("\"function_call_output\"")
            && !head.mentions(&["payload"])
            && !head.mentions(&["blocks"]);
        let is_it = |record: &Json| {
            is_request(record) || record.get(0).is_some_and(is_request) || is_items(record)
        };
        head.any(|record| is_it(record) || is_item(record)) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let head = Head::new(source.head(HEAD)?);
        let mut log = Log::default();
        log.requests.is_itemised = true;
        if head.first_char() == Some('[') || head.spread {
            let document: Json = source.document()?;
            log.all(document).map_err(|problem| source.error(None, problem))?;
        } else {
            while let Some((line, value)) = source.next_record(parse::<Json>)? {
                log.add(value).map_err(|problem| source.error(Some(line), problem))?;
            }
        }
        if !log.loose.is_empty() {
            let said = std::mem::take(&mut log.loose);
            log.requests.add(Request { said, ..Request::default() });
        }
        log.requests.sessions(source)
    }
}

/// Whether a record can only be a request to this API, or its response.
pub(super) fn is_request(record: &Json) -> bool {
    let request = record.get("request").unwrap_or(record);
    let body = request.get("body").unwrap_or(request);
    let has = |key: &str| body.get(key).is_some();
    match body.get("input") {
        Some(Json::Array(items)) => {
            let is_message = |item: &Json| item.get("role").is_some_and(Json::is_string);
            let is_body = has("model") || has("instructions") || has("previous_response_id");
            items.iter().any(is_item)
                || (is_body && !items.is_empty() && items.iter().all(is_message))
        }
        Some(Json::String(_)) => {
            has("model") && (has("instructions") || has("previous_response_id"))
        }
        _ => body.get("object").is_some_and(|kind| kind == "response") && has("output"),
    }
}

#[derive(Default, Deserialize)]
struct Body {
    model: Option<String>,
    #[serde(default)]
    instructions: Option<Content<Json>>,
    #[serde(default)]
    input: Content<Json>,
    tools: Option<Vec<Tool>>,
    previous_response_id: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(rename = "type", default)]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    parameters: Json,
}

#[derive(Default, Deserialize)]
struct Response {
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    output: Vec<Json>,
    usage: Option<WireUsage>,
    created_at: Option<f64>,
}

/// OpenAI's usage: cached tokens are part of the input, reasoning of the output.
#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

impl WireUsage {
    fn usage(&self) -> Usage {
        let cached = self.input_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        let cache_read = cached.unwrap_or(0).min(self.input_tokens);
        Usage {
            input: self.input_tokens - cache_read,
            cache_read,
            output: self.output_tokens,
            output_final: true,
            ..Usage::default()
        }
    }
}

/// The requests of a log.
#[derive(Default)]
struct Log {
    requests: Requests,
    /// The conversation of each response, and its number of items with it.
    by_response: FxHashMap<String, (usize, usize)>,
    /// Items that stand alone.
    loose: Vec<Said>,
}

impl Log {
    /// A document is a body, a list of bodies, or a list of items.
    fn all(&mut self, document: Json) -> Result<(), Problem> {
        match document {
            Json::Array(entries) if entries.first().is_some_and(is_request) => {
                entries.into_iter().try_for_each(|entry| self.add(entry))
            }
            Json::Array(items) => {
                self.loose = all_said(items)?;
                Ok(())
            }
            other => self.add(other),
        }
    }

    fn add(&mut self, value: Json) -> Result<(), Problem> {
        if is_item(&value) {
            self.loose.push(said(value)?);
            return Ok(());
        }
        // A response repeats the settings of its request.
        let is_response = value.get("output").is_some_and(Json::is_array);
        let (body, response) =
            if is_response { (value.clone(), Some(value)) } else { entry(value) };
        let body: Body = from_json(body)?;
        let response: Response = response.map(from_json).transpose()?.unwrap_or_default();
        let request = Request {
            preamble: preamble(body.instructions, body.tools),
            said: match body.input {
                Content::Text(text) => vec![Said::new(Role::User, vec![Part::Text(text)])],
                Content::Parts(items) => all_said(items)?,
            },
            answer: all_said(response.output)?,
            usage: response.usage.map(|usage| usage.usage()),
            model: response.model.or(body.model),
            at: response.created_at.and_then(|at| jiff::Timestamp::from_second(at as i64).ok()),
            ..Request::default()
        };
        let answered = request.answer.len();
        let before = body.previous_response_id.and_then(|id| self.by_response.get(&id).copied());
        let (at, length) = match before {
            Some((at, length)) => {
                let all = length + request.said.len();
                self.requests.follow(at, length, request);
                (at, all)
            }
            None => {
                let length = request.said.len();
                (self.requests.add(request), length)
            }
        };
        self.by_response.extend(response.id.map(|id| (id, (at, length + answered))));
        Ok(())
    }
}

fn all_said(items: Vec<Json>) -> Result<Vec<Said>, Problem> {
    let read = |(at, item)| {
        said(item).map_err(|problem| match problem {
            Problem::Shape { at: inner, message } => {
                Problem::Shape { at: format!("input[{at}].{inner}"), message }
            }
            other => other,
        })
    };
    items.into_iter().enumerate().map(read).collect()
}

/// Tools of the provider have a type and no schema.
fn preamble(instructions: Option<Content<Json>>, tools: Option<Vec<Tool>>) -> Preamble {
    let system = match instructions {
        Some(Content::Text(text)) => vec![text],
        Some(Content::Parts(items)) => {
            let said = items.into_iter().filter_map(|item| said(item).ok());
            let texts = said.flat_map(|said| said.parts).filter_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            });
            texts.collect()
        }
        None => Vec::new(),
    };
    let tools = tools.into_iter().flatten().map(|tool| ToolDefinition {
        name: tool.name.unwrap_or(tool.kind),
        description: tool.description.unwrap_or_default(),
        parameters: tool.parameters,
    });
    Preamble { system, tools: tools.collect(), ..Preamble::default() }
}
