//! A session's requests in the wire format of a provider, and the parts of which a request consists.
//!
//! Formats: Anthropic's Messages (<https://docs.claude.com/en/api/messages>), OpenAI's Chat
//! Completions and Responses (<https://platform.openai.com/docs/api-reference>).

use std::collections::BTreeSet;

use recap_core::model::{Block, Message, MessageIndex, Preamble, Role, Session};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// The interface of a provider that requests are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
}

impl Api {
    /// The interface of the model that answered most of a session: Messages for Claude, Responses
    /// for OpenAI's own models, and Chat Completions for all others, whose providers offer it.
    pub fn of(session: &Session) -> Self {
        let model = session.model.as_deref().unwrap_or_default();
        let model = model.rsplit('/').next().unwrap_or(model);
        let openai = ["gpt-5", "gpt-6", "codex", "o1", "o3", "o4"];
        if model.starts_with("claude") || model.is_empty() {
            Api::Anthropic
        } else if openai.iter().any(|prefix| model.starts_with(prefix)) {
            Api::OpenaiResponses
        } else {
            Api::OpenaiChat
        }
    }

    /// The path of a request; savers are told of addresses without it.
    pub fn path(self) -> &'static str {
        match self {
            Api::Anthropic => "/v1/messages",
            Api::OpenaiChat => "/v1/chat/completions",
            Api::OpenaiResponses => "/v1/responses",
        }
    }

    /// The interface that a path belongs to, wherever a saver puts the upstream's version.
    pub fn at(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        if path.ends_with("/messages") {
            Some(Api::Anthropic)
        } else if path.ends_with("/chat/completions") {
            Some(Api::OpenaiChat)
        } else if path.ends_with("/responses") {
            Some(Api::OpenaiResponses)
        } else {
            None
        }
    }
}

/// What a part of a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// System prompt, tools and pinned content.
    Preamble,
    /// A recorded message.
    Message(MessageIndex),
    /// Something that a provider requires and no recording has: it counts nowhere.
    Required,
}

/// What tells a part apart from others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// A picture.
    Image,
    /// The definition of a tool, by its name.
    Tool(String),
    /// A call, by its id.
    Call(String),
    /// The result of a call, by the call's id.
    Result(String),
}

/// One part of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub owner: Owner,
    /// Whom the provider attributes it to; a result is attributed to its call.
    pub role: &'static str,
    pub kind: Kind,
    /// What counts of it: as [`Message::sent`] and [`Preamble::sent`] write it.
    pub text: String,
    /// Whether a cache breakpoint stands after it.
    pub marked: bool,
}

/// The messages of one request, before they are written.
pub(super) struct Outgoing<'a> {
    pub session: &'a Session,
    pub preamble: &'a Preamble,
    /// Position of the recorded response.
    pub response: MessageIndex,
    /// Whether the provider is asked for a stream of events.
    pub stream: bool,
    /// Positions of the messages after which a cache breakpoint is set; besides those the
    /// preamble has one.
    pub marks: &'a [MessageIndex],
}

/// The smallest picture there is, in the place of pictures whose bytes are not kept.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

impl Outgoing<'_> {
    /// The body of the request.
    pub fn body(&self, api: Api) -> Json {
        let model = self.session.other_models.get(&self.response).or(self.session.model.as_ref());
        let model = model.map_or("recorded", String::as_str);
        let mut body = match api {
            Api::Anthropic => json!({"model": model, "max_tokens": 32_000,
                "system": self.anthropic_system(), "messages": self.anthropic_messages()}),
            Api::OpenaiChat => json!({"model": model, "messages": self.chat_messages()}),
            Api::OpenaiResponses => json!({"model": model, "store": false,
                "instructions": self.system().join("\n\n"), "input": self.response_items()}),
        };
        let tools = self.tools(api);
        if !tools.is_empty() {
            body["tools"] = tools.into();
        }
        if self.stream {
            body["stream"] = true.into();
        }
        if self.stream && api == Api::OpenaiChat {
            body["stream_options"] = json!({"include_usage": true});
        }
        body
    }

    fn messages(&self) -> impl Iterator<Item = (MessageIndex, &Message)> {
        (0..self.response).zip(&self.session.messages)
    }

    /// System prompt and pinned content.
    fn system(&self) -> Vec<&str> {
        let texts = self.preamble.system.iter().chain(&self.preamble.pinned);
        texts.map(String::as_str).filter(|text| !text.is_empty()).collect()
    }

    /// The recorded tools. Where the recording has none, those that were called, by name alone:
    /// providers refuse calls of tools that a request does not define.
    fn tools(&self, api: Api) -> Vec<Json> {
        let known = self.preamble.tools.iter();
        let mut tools: Vec<(&str, &str, Json)> =
            known.map(|t| (&*t.name, &*t.description, t.parameters.clone())).collect();
        if tools.is_empty() {
            let blocks = self.messages().flat_map(|(_, message)| &message.blocks);
            let called = blocks.filter_map(|block| match block {
                Block::ToolCall { name, .. } => Some(name.as_str()),
                _ => None,
            });
            let called: BTreeSet<&str> = called.collect();
            tools.extend(called.into_iter().map(|name| (name, "", required())));
        }
        let written = tools.into_iter().map(|(name, description, parameters)| match api {
            Api::Anthropic => {
                json!({"name": name, "description": description, "input_schema": parameters})
            }
            Api::OpenaiChat => json!({"type": "function", "function":
                {"name": name, "description": description, "parameters": parameters}}),
            Api::OpenaiResponses => json!({"type": "function", "name": name,
                "description": description, "parameters": parameters}),
        });
        written.collect()
    }

    fn anthropic_system(&self) -> Vec<Json> {
        let texts = self.system().into_iter();
        let mut blocks: Vec<Json> =
            texts.map(|text| json!({"type": "text", "text": text})).collect();
        if let Some(last) = blocks.last_mut() {
            mark(last);
        }
        blocks
    }

    fn anthropic_messages(&self) -> Vec<Json> {
        let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
        for (at, message) in self.messages() {
            let role = if message.role == Role::Assistant { "assistant" } else { "user" };
            let mut blocks: Vec<Json> = message.blocks.iter().filter_map(anthropic_block).collect();
            if let Some(last) = blocks.last_mut().filter(|_| self.marks.contains(&at)) {
                mark(last);
            }
            match turns.last_mut() {
                Some((last, all)) if *last == role => all.extend(blocks),
                _ => turns.push((role, blocks)),
            }
        }
        let filled = turns.into_iter().filter(|(_, blocks)| !blocks.is_empty());
        filled.map(|(role, content)| json!({"role": role, "content": content})).collect()
    }

    fn chat_messages(&self) -> Vec<Json> {
        let system = self.system().into_iter();
        let mut all: Vec<Json> =
            system.map(|text| json!({"role": "system", "content": text})).collect();
        for (_, message) in self.messages() {
            let texts = texts(message);
            let images = message.blocks.iter().filter(|b| matches!(b, Block::Image { .. })).count();
            match message.role {
                Role::Tool => all.extend(message.tool_result().map(
                    |(call, text)| json!({"role": "tool", "tool_call_id": call, "content": text}),
                )),
                Role::Assistant => {
                    let calls: Vec<Json> = calls(message)
                        .map(|(id, name, arguments)| {
                            json!({"id": id, "type": "function",
                            "function": {"name": name, "arguments": arguments.to_string()}})
                        })
                        .collect();
                    let content =
                        if texts.is_empty() { Json::Null } else { texts.join("\n").into() };
                    let mut turn = json!({"role": "assistant", "content": content});
                    if !calls.is_empty() {
                        turn["tool_calls"] = calls.into();
                    }
                    all.push(turn);
                }
                role if images == 0 && texts.len() == 1 => {
                    all.push(json!({"role": role.as_str(), "content": texts[0]}));
                }
                role => {
                    let texts = texts.iter().map(|text| json!({"type": "text", "text": text}));
                    let url = format!("data:image/png;base64,{PIXEL}");
                    let image = json!({"type": "image_url", "image_url": {"url": url}});
                    let parts: Vec<Json> =
                        texts.chain(std::iter::repeat_n(image, images)).collect();
                    all.push(json!({"role": role.as_str(), "content": parts}));
                }
            }
        }
        // A message without any content is refused.
        all.retain(|m| {
            m["content"] != json!([]) && (!m["content"].is_null() || m.get("tool_calls").is_some())
        });
        all
    }

    fn response_items(&self) -> Vec<Json> {
        let mut items = Vec::new();
        for (_, message) in self.messages() {
            let (role, kind) = match message.role {
                Role::Assistant => ("assistant", "output_text"),
                Role::System => ("developer", "input_text"),
                Role::User | Role::Tool => ("user", "input_text"),
            };
            let texts = texts(message).into_iter().map(|text| json!({"type": kind, "text": text}));
            let images = message.blocks.iter().filter(|b| matches!(b, Block::Image { .. })).map(
                |_| json!({"type": "input_image", "image_url": format!("data:image/png;base64,{PIXEL}")}),
            );
            let content: Vec<Json> = texts.chain(images).collect();
            if !content.is_empty() {
                items.push(json!({"type": "message", "role": role, "content": content}));
            }
            items.extend(calls(message).map(|(id, name, arguments)| {
                json!({"type": "function_call", "call_id": id, "name": name,
                       "arguments": arguments.to_string()})
            }));
            items.extend(message.tool_result().map(|(call, text)| {
                json!({"type": "function_call_output", "call_id": call, "output": text})
            }));
        }
        items
    }
}

/// Sets a cache breakpoint after a block.
fn mark(block: &mut Json) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

/// The schema of a tool that no recording describes.
pub(super) fn required() -> Json {
    json!({"type": "object"})
}

/// The texts of a message that are sent as such.
fn texts(message: &Message) -> Vec<&str> {
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Id, tool and arguments of the calls in a message.
fn calls(message: &Message) -> impl Iterator<Item = (&str, &str, &Json)> {
    message.blocks.iter().filter_map(|block| match block {
        Block::ToolCall { id, name, arguments } => Some((&**id, &**name, arguments)),
        _ => None,
    })
}

fn anthropic_block(block: &Block) -> Option<Json> {
    let image = || {
        json!({"type": "image",
               "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}})
    };
    Some(match block {
        Block::Text { text } if text.is_empty() => return None,
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Reasoning { .. } => return None,
        Block::ToolCall { id, name, arguments } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
        }
        Block::ToolResult { call, text, images, is_error } => {
            let content: Json = match images {
                0 => text.as_str().into(),
                &images => {
                    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
                    let pictures = (0..images).map(|_| image());
                    text.into_iter().chain(pictures).collect::<Vec<_>>().into()
                }
            };
            let mut result =
                json!({"type": "tool_result", "tool_use_id": call, "content": content});
            if *is_error {
                result["is_error"] = true.into();
            }
            result
        }
        Block::Image { .. } => image(),
    })
}

/// The parts of a body that a saver was sent, with their owners: those of [`parts`] in the same
/// order. Every message is written in one piece, so its parts follow each other.
pub(super) fn outgoing_parts(outgoing: &Outgoing<'_>, api: Api, body: &Json) -> Vec<Part> {
    let mut parts = parts(api, body).unwrap_or_default();
    let recorded_tools = !outgoing.preamble.tools.is_empty();
    let system = outgoing.system().len();
    let system = if api == Api::OpenaiResponses { system.min(1) } else { system };
    let mut texts = 0;
    let mut owners = outgoing.messages().flat_map(|(at, message)| {
        let count = match api {
            Api::Anthropic => {
                message.blocks.iter().filter(|b| anthropic_block(b).is_some()).count()
            }
            Api::OpenaiChat | Api::OpenaiResponses => chat_parts(api, message),
        };
        std::iter::repeat_n(Owner::Message(at), count)
    });
    for part in &mut parts {
        part.owner = match part.kind {
            Kind::Tool(_) if recorded_tools => Owner::Preamble,
            Kind::Tool(_) => Owner::Required,
            _ if texts < system => {
                texts += 1;
                Owner::Preamble
            }
            _ => owners.next().unwrap_or(Owner::Required),
        };
    }
    parts
}

/// Number of parts that an OpenAI format writes of a message: Chat joins the texts of a response.
fn chat_parts(api: Api, message: &Message) -> usize {
    let (texts, calls) = (texts(message).len(), calls(message).count());
    let images = message.blocks.iter().filter(|b| matches!(b, Block::Image { .. })).count();
    let result = usize::from(message.tool_result().is_some());
    match (api, message.role) {
        (Api::OpenaiChat, Role::Tool) => result,
        (Api::OpenaiChat, Role::Assistant) => texts.min(1) + calls,
        (Api::OpenaiChat, _) => texts + images,
        _ => texts + images + calls + result,
    }
}

/// The parts of a request, in the order in which they are sent: tools, system prompt, messages.
/// Their owners are not known yet.
///
/// # Errors
/// What the provider would refuse.
pub(super) fn parts(api: Api, body: &Json) -> Result<Vec<Part>, String> {
    let mut reader = Reader { parts: Vec::new() };
    for tool in list(&body["tools"]) {
        reader.tool(tool);
    }
    match api {
        Api::Anthropic => {
            reader.content("system", &body["system"])?;
            for message in messages(body, "messages")? {
                reader.content(role(message)?, &message["content"])?;
            }
        }
        Api::OpenaiChat => {
            for message in messages(body, "messages")? {
                reader.chat(message)?;
            }
        }
        Api::OpenaiResponses => {
            if let Some(text) = body["instructions"].as_str() {
                reader.push("system", Kind::Text, text.to_owned(), &Json::Null);
            }
            for item in messages(body, "input")? {
                reader.item(item)?;
            }
        }
    }
    Ok(reader.parts)
}

fn list(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn messages<'a>(body: &'a Json, key: &str) -> Result<&'a [Json], String> {
    let all = body[key].as_array().ok_or_else(|| format!("`{key}` is no list"))?;
    if all.is_empty() { Err(format!("`{key}` is empty")) } else { Ok(all) }
}

/// The role of a message, of those that the providers know.
fn role(message: &Json) -> Result<&'static str, String> {
    let known = ["user", "assistant", "system", "developer", "tool"];
    let role = message["role"].as_str().unwrap_or_default();
    let found = known.into_iter().find(|known| *known == role);
    found.ok_or_else(|| format!("a message has the role `{role}`, which providers do not know"))
}

/// Collects the parts of a request.
struct Reader {
    parts: Vec<Part>,
}

impl Reader {
    fn push(&mut self, role: &'static str, kind: Kind, text: String, block: &Json) {
        // Providers refuse an empty text; recorded ones are not sent.
        if kind == Kind::Text && text.is_empty() {
            return;
        }
        let marked = block.get("cache_control").is_some_and(|mark| !mark.is_null());
        self.parts.push(Part { owner: Owner::Required, role, kind, text, marked });
    }

    fn tool(&mut self, tool: &Json) {
        let function = tool.get("function").unwrap_or(tool);
        let schema = ["input_schema", "parameters"].iter().find_map(|key| function.get(*key));
        let name = function["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
        let text = json!({"name": name, "description": function["description"].as_str().unwrap_or_default(),
            "parameters": schema.unwrap_or(&Json::Null)});
        self.push("system", Kind::Tool(name.to_owned()), text.to_string(), tool);
    }

    /// A content in Anthropic's format: a text, or a list of blocks.
    fn content(&mut self, role: &'static str, content: &Json) -> Result<(), String> {
        if let Some(text) = content.as_str() {
            self.push(role, Kind::Text, text.to_owned(), &Json::Null);
            return Ok(());
        }
        for block in list(content) {
            let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
            match block["type"].as_str() {
                Some("text") => self.push(role, Kind::Text, text("text"), block),
                Some("image" | "document") => self.push(role, Kind::Image, String::new(), block),
                Some("tool_use") => {
                    let call = call(&text("name"), block["input"].clone());
                    self.push(role, Kind::Call(text("id")), call, block);
                }
                Some("tool_result") => {
                    let result = joined(&block["content"]);
                    self.push(role, Kind::Result(text("tool_use_id")), result, block);
                }
                // What the model thought is not sent here, and not counted.
                Some("thinking" | "redacted_thinking") => {}
                other => return Err(unknown(other)),
            }
        }
        Ok(())
    }

    fn chat(&mut self, message: &Json) -> Result<(), String> {
        let role = role(message)?;
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let result = joined(&message["content"]);
            self.push(role, Kind::Result(id.to_owned()), result, message);
            return Ok(());
        }
        self.openai(role, &message["content"])?;
        for made in list(&message["tool_calls"]) {
            let function = &made["function"];
            let call = call(function["name"].as_str().unwrap_or_default(), arguments(function));
            let id = made["id"].as_str().unwrap_or_default();
            self.push(role, Kind::Call(id.to_owned()), call, made);
        }
        Ok(())
    }

    /// A content in OpenAI's formats.
    fn openai(&mut self, role: &'static str, content: &Json) -> Result<(), String> {
        if let Some(text) = content.as_str() {
            self.push(role, Kind::Text, text.to_owned(), &Json::Null);
        }
        for part in list(content) {
            match part["type"].as_str() {
                Some("text" | "input_text" | "output_text") => {
                    let text = part["text"].as_str().unwrap_or_default();
                    self.push(role, Kind::Text, text.to_owned(), part);
                }
                Some("image_url" | "input_image") => {
                    self.push(role, Kind::Image, String::new(), part);
                }
                other => return Err(unknown(other)),
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Json) -> Result<(), String> {
        let id = || item["call_id"].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("function_call") => {
                let call = call(item["name"].as_str().unwrap_or_default(), arguments(item));
                self.push("assistant", Kind::Call(id()), call, item);
            }
            Some("function_call_output") => {
                self.push("tool", Kind::Result(id()), joined(&item["output"]), item);
            }
            Some("reasoning") => {}
            Some("message") | None => self.openai(role(item)?, &item["content"])?,
            other => return Err(unknown(other)),
        }
        Ok(())
    }
}

fn unknown(kind: Option<&str>) -> String {
    format!("a part of the type `{}` is not known", kind.unwrap_or("none"))
}

/// A call as [`Message::sent`] writes it.
fn call(name: &str, arguments: Json) -> String {
    json!({"name": name, "arguments": arguments}).to_string()
}

/// The decoded arguments of a call in OpenAI's formats.
fn arguments(function: &Json) -> Json {
    let text = function["arguments"].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The texts of a result, one a line.
fn joined(content: &Json) -> String {
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let texts = list(content).iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
