//! Requests to the Gemini API (`generateContent`): a body, a log of many (each
//! a body, or an object with `request` and `response`), or a list of contents.
//!
//! Read from the public types of googleapis/python-genai (`google/genai/types.py`),
//! in the notation of the API's JSON, without recordings at hand. Parts are those
//! that Gemini CLI keeps in its sessions.

use super::anthropic::entry;
use super::exchange::{Part, Request, Requests, Said};
use super::gemini_cli::{Part as WirePart, Tokens, response_text};
use super::prelude::*;
use recap_core::model::{Preamble, ToolDefinition};

/// The format of requests to the Gemini API.
pub(super) const FORMAT: Format = Format {
    name: "gemini-api",
    describe: "Gemini API requests (generateContent: JSON, a log of many, or a list of contents)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_it = |record: &Json| is_request(record) || record.get(0).is_some_and(is_request);
    head.any(|record| is_it(record) || record.get(0).is_some_and(is_content))
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let mut requests = Requests::default();
    source.each_value(|line, value| match line {
        None => all(&mut requests, value),
        Some(_) => add(&mut requests, value),
    })?;
    requests.sessions(source)
}

/// Whether a value is a content: OpenTelemetry's messages have parts with a type.
fn is_content(value: &Json) -> bool {
    let part = value.get("parts").and_then(|parts| parts.get(0));
    let role = value.get("role").and_then(Json::as_str);
    let is_part = |part: &Json| {
        ["text", "functionCall", "functionResponse", "inlineData", "fileData"]
            .iter()
            .any(|key| part.get(key).is_some())
    };
    part.is_some_and(|part| part.get("type").is_none() && is_part(part))
        && role.is_none_or(|role| matches!(role, "user" | "model" | "function"))
}

fn is_request(record: &Json) -> bool {
    let request = record.get("request").unwrap_or(record);
    let body = request.get("body").unwrap_or(request);
    body.get("contents").and_then(|contents| contents.get(0)).is_some_and(is_content)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    model: Option<String>,
    #[serde(default)]
    contents: Vec<WireContent>,
    #[serde(alias = "system_instruction")]
    system_instruction: Option<WireContent>,
    tools: Option<Vec<Tool>>,
}

#[derive(Deserialize)]
struct WireContent {
    role: Option<String>,
    #[serde(default)]
    parts: Vec<WirePart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    #[serde(default, alias = "function_declarations")]
    function_declarations: Vec<Declared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declared {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Option<Json>,
    parameters_json_schema: Option<Json>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<Metadata>,
    model_version: Option<String>,
    create_time: Option<jiff::Timestamp>,
}

#[derive(Deserialize)]
struct Candidate {
    content: Option<WireContent>,
}

/// Cached tokens are part of the prompt; thoughts and the results of tools that
/// the API runs are counted apart. A count that was not made may be null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
}

impl Metadata {
    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.prompt_token_count.unwrap_or(0),
            output: self.candidates_token_count.unwrap_or(0),
            cached: self.cached_content_token_count.unwrap_or(0),
            thoughts: self.thoughts_token_count.unwrap_or(0),
            tool: self.tool_use_prompt_token_count.unwrap_or(0),
        }
    }
}

/// A document is a body, a list of bodies, or a list of contents.
fn all(requests: &mut Requests, document: Json) -> Result<(), Problem> {
    match document {
        Json::Array(items) if items.first().is_some_and(is_content) => {
            add(requests, serde_json::json!({ "contents": items }))
        }
        Json::Array(items) => items.into_iter().try_for_each(|item| add(requests, item)),
        other => add(requests, other),
    }
}

fn add(requests: &mut Requests, value: Json) -> Result<(), Problem> {
    let (body, response) = entry(value);
    let body: Body = from_json(body)?;
    let response: Response = match response {
        // A stream is a list of responses; the last one counts all tokens.
        Some(Json::Array(parts)) => streamed(parts)?,
        other => other.map(from_json).transpose()?.unwrap_or_default(),
    };
    let mut answer = Vec::new();
    for content in response.candidates.into_iter().filter_map(|one| one.content) {
        answer.push(said(content, Role::Assistant)?);
    }
    let system = body.system_instruction.map_or_else(Vec::new, |content| content.parts);
    let tools = body.tools.into_iter().flatten().flat_map(|tool| tool.function_declarations);
    let contents = body.contents.into_iter().map(|content| said(content, Role::User));
    requests.add(Request {
        preamble: Preamble {
            system: system.into_iter().filter_map(|part| part.text).collect(),
            tools: tools.map(definition).collect(),
            ..Preamble::default()
        },
        said: contents.collect::<Result<_, _>>()?,
        answer,
        usage: response.usage_metadata.map(|metadata| metadata.tokens().usage()),
        model: response.model_version.or(body.model),
        at: response.create_time,
        ..Request::default()
    });
    Ok(())
}

fn streamed(parts: Vec<Json>) -> Result<Response, Problem> {
    let mut whole = Response::default();
    let mut said = WireContent { role: Some("model".to_owned()), parts: Vec::new() };
    for part in parts {
        let part: Response = from_json(part)?;
        let contents = part.candidates.into_iter().filter_map(|one| one.content);
        for new in contents.flat_map(|content| content.parts) {
            match said.parts.last_mut() {
                Some(last) if last.thought == new.thought => match (&mut last.text, new.text) {
                    (Some(text), Some(more)) => text.push_str(&more),
                    (_, text) => said.parts.push(WirePart { text, ..new }),
                },
                _ => said.parts.push(new),
            }
        }
        whole.usage_metadata = part.usage_metadata.or(whole.usage_metadata);
        whole.model_version = part.model_version.or(whole.model_version);
        whole.create_time = part.create_time.or(whole.create_time);
    }
    whole.candidates.push(Candidate { content: Some(said) });
    Ok(whole)
}

fn definition(declared: Declared) -> ToolDefinition {
    ToolDefinition {
        name: declared.name,
        description: declared.description,
        parameters: declared.parameters.or(declared.parameters_json_schema).unwrap_or_default(),
    }
}

fn said(content: WireContent, default: Role) -> Result<Said, Problem> {
    let role = match content.role.as_deref() {
        Some("user" | "function" | "tool") => Role::User,
        Some("model") => Role::Assistant,
        Some("system") => Role::System,
        None => default,
        Some(role) => return Err(Problem::UnknownRole { role: role.to_owned() }),
    };
    Ok(Said::new(role, content.parts.into_iter().map(part).collect()))
}

fn part(part: WirePart) -> Part {
    match part {
        WirePart { thought: true, text, .. } => Part::Reasoning(text.unwrap_or_default()),
        WirePart { text: Some(text), .. } => Part::Text(text),
        WirePart { function_call: Some(call), .. } => {
            Part::Call { id: call.id, name: call.name, arguments: call.args }
        }
        WirePart { function_response: Some(response), .. } => {
            let pictures = response.parts.iter().filter(|part| part.inline_data.is_some());
            Part::Result {
                images: pictures.count() as u32,
                text: response_text(&response.response),
                is_error: response.response.get("error").is_some_and(|error| !error.is_null()),
                call: response.id,
                name: response.name,
            }
        }
        WirePart { inline_data: Some(data), .. } | WirePart { file_data: Some(data), .. } => {
            match data.mime_type {
                Some(kind) if kind.starts_with("image/") => Part::Image(Some(kind)),
                _ => Part::Other("file part".to_owned()),
            }
        }
        _ => Part::Other("part of an unknown kind".to_owned()),
    }
}
