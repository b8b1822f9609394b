//! A session's requests in the wire format of a provider, and the parts of which a request
//! consists. How each provider writes messages and responses stands in a file each; requests of all
//! three are read here, since no name means two things.

use std::collections::BTreeSet;

use recap_core::model::{Block, Message, MessageIndex, Preamble, Session, ToolDefinition, Usage};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{anthropic, openai_chat, openai_responses};

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
        let all = [Api::Anthropic, Api::OpenaiChat, Api::OpenaiResponses];
        all.into_iter().find(|api| path.ends_with(&api.path()["/v1".len()..]))
    }

    /// A message as it is sent: what provider and recording call a turn, a message or an item.
    fn message(self, message: &Message) -> Vec<Json> {
        match self {
            Api::Anthropic => anthropic::message(message).into_iter().collect(),
            Api::OpenaiChat => openai_chat::message(message).into_iter().collect(),
            Api::OpenaiResponses => openai_responses::items(message),
        }
    }

    fn tool(self, tool: &ToolDefinition) -> Json {
        let ToolDefinition { name, description, parameters } = tool;
        match self {
            Api::Anthropic => {
                json!({"name": name, "description": description, "input_schema": parameters})
            }
            Api::OpenaiChat => json!({"type": "function", "function":
                {"name": name, "description": description, "parameters": parameters}}),
            Api::OpenaiResponses => json!({"type": "function", "name": name,
                "description": description, "parameters": parameters}),
        }
    }

    /// A response, in one piece or as a stream of events.
    pub fn answer(self, response: &Response<'_>, stream: bool) -> String {
        match (self, stream) {
            (Api::Anthropic, false) => anthropic::whole(response).to_string(),
            (Api::Anthropic, true) => anthropic::events(response).iter().map(event).collect(),
            (Api::OpenaiChat, false) => openai_chat::whole(response).to_string(),
            (Api::OpenaiChat, true) => openai_chat::stream(response),
            (Api::OpenaiResponses, false) => openai_responses::whole(response).to_string(),
            (Api::OpenaiResponses, true) => {
                openai_responses::events(response).iter().map(event).collect()
            }
        }
    }
}

/// One event of a stream, with the name that is in its data.
fn event(data: &Json) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// A recorded response with what its provider reported.
pub(super) struct Response<'a> {
    pub message: &'a Message,
    pub model: &'a str,
    pub usage: Usage,
}

/// What a part of a request belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// System prompt, tools and pinned content.
    Preamble,
    /// A recorded message.
    Message(MessageIndex),
    /// Something that a provider requires and no recording has: it counts nowhere.
    #[default]
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

impl Outgoing<'_> {
    /// The body of the request, and its parts with their owners.
    pub fn written(&self, api: Api) -> (Json, Vec<Part>) {
        let mut reader = Reader::default();
        let (tools, owner) = self.tools();
        let tools: Vec<Json> = tools.iter().map(|tool| api.tool(tool)).collect();
        reader.owner = owner;
        tools.iter().for_each(|tool| reader.tool(tool));
        let texts = self.preamble.system.iter().chain(&self.preamble.pinned);
        let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
        let (system, pieces) = match api {
            Api::Anthropic => (anthropic::system(&texts), Vec::new()),
            Api::OpenaiChat => (Json::Null, openai_chat::system(&texts)),
            Api::OpenaiResponses => (texts.join("\n\n").into(), Vec::new()),
        };
        reader.owner = Owner::Preamble;
        let known = "what is written here can be read";
        reader.content("system", &system).expect(known);
        let mut pieces: Vec<(Owner, Json)> =
            pieces.into_iter().map(|piece| (Owner::Preamble, piece)).collect();
        for (at, message) in (0..self.response).zip(&self.session.messages) {
            let mut own = api.message(message);
            if api == Api::Anthropic && self.marks.contains(&at) {
                own.iter_mut().for_each(|turn| anthropic::mark(&mut turn["content"]));
            }
            pieces.extend(own.into_iter().map(|piece| (Owner::Message(at), piece)));
        }
        for (owner, piece) in &pieces {
            reader.owner = *owner;
            reader.piece(piece).expect(known);
        }
        let pieces = pieces.into_iter().map(|(_, piece)| piece).collect();
        (self.body(api, tools, system, pieces), reader.parts)
    }

    fn body(&self, api: Api, tools: Vec<Json>, system: Json, pieces: Vec<Json>) -> Json {
        let model = self.session.other_models.get(&self.response).or(self.session.model.as_ref());
        let model = model.map_or("recorded", String::as_str);
        let mut body = match api {
            Api::Anthropic => json!({"model": model, "max_tokens": 32_000, "system": system,
                "messages": anthropic::turns(pieces)}),
            Api::OpenaiChat => json!({"model": model, "messages": pieces}),
            Api::OpenaiResponses => json!({"model": model, "store": false,
                "instructions": system, "input": pieces}),
        };
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

    /// The recorded tools. Where the recording has none, those that were called, by name alone:
    /// providers refuse calls of tools that a request does not define.
    fn tools(&self) -> (Vec<ToolDefinition>, Owner) {
        if !self.preamble.tools.is_empty() {
            return (self.preamble.tools.clone(), Owner::Preamble);
        }
        let sent = self.session.messages.iter().take(self.response as usize);
        let called: BTreeSet<&str> = sent.flat_map(calls).map(|(_, name, _)| name).collect();
        let tool = |name: &str| ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        (called.into_iter().map(tool).collect(), Owner::Required)
    }
}

/// The smallest picture there is, in the place of pictures whose bytes are not kept.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The texts of a message that are sent as such.
pub(super) fn texts(message: &Message) -> Vec<&str> {
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Id, tool and arguments of the calls in a message.
pub(super) fn calls(message: &Message) -> impl Iterator<Item = (&str, &str, &Json)> {
    message.blocks.iter().filter_map(|block| match block {
        Block::ToolCall { id, name, arguments } => Some((&**id, &**name, arguments)),
        _ => None,
    })
}

/// The pictures of a message, each written like this.
pub(super) fn images(message: &Message, image: Json) -> impl Iterator<Item = Json> {
    let images = message.blocks.iter().filter(|block| matches!(block, Block::Image { .. }));
    std::iter::repeat_n(image, images.count())
}

/// The parts of a request, in the order in which they are sent: tools, system prompt, messages.
/// Their owners are not known yet.
///
/// # Errors
/// What the provider would refuse.
pub(super) fn parts(api: Api, body: &Json) -> Result<Vec<Part>, String> {
    let mut reader = Reader::default();
    list(&body["tools"]).iter().for_each(|tool| reader.tool(tool));
    let (system, messages) = match api {
        Api::Anthropic => ("system", "messages"),
        Api::OpenaiChat => ("", "messages"),
        Api::OpenaiResponses => ("instructions", "input"),
    };
    reader.content("system", &body[system])?;
    let all = body[messages].as_array().ok_or_else(|| format!("`{messages}` is no list"))?;
    if all.is_empty() {
        return Err(format!("`{messages}` is empty"));
    }
    all.iter().try_for_each(|piece| reader.piece(piece))?;
    Ok(reader.parts)
}

fn list(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text of an object; empty where it has none.
fn text(object: &Json, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

/// The role of a message, of those that the providers know.
fn role(message: &Json) -> Result<&'static str, String> {
    let known = ["user", "assistant", "system", "developer", "tool"];
    let role = message["role"].as_str().unwrap_or_default();
    let found = known.into_iter().find(|known| *known == role);
    found.ok_or_else(|| format!("a message has the role `{role}`, which providers do not know"))
}

/// Collects the parts of a request.
#[derive(Default)]
struct Reader {
    parts: Vec<Part>,
    /// What the next parts belong to.
    owner: Owner,
}

impl Reader {
    fn push(&mut self, role: &'static str, kind: Kind, text: String, block: &Json) {
        // Providers refuse an empty text; recorded ones are not sent.
        if kind == Kind::Text && text.is_empty() {
            return;
        }
        let marked = block.get("cache_control").is_some_and(|mark| !mark.is_null());
        self.parts.push(Part { owner: self.owner, role, kind, text, marked });
    }

    /// A call as [`Message::sent`] writes it. OpenAI writes its arguments as a text.
    fn call(
        &mut self,
        role: &'static str,
        (id, call): (&str, &Json),
        arguments: &Json,
        from: &Json,
    ) {
        let decoded = arguments.as_str().map(serde_json::from_str::<Json>);
        let arguments = decoded.and_then(Result::ok).unwrap_or_else(|| arguments.clone());
        let sent = json!({"name": text(call, "name"), "arguments": arguments});
        self.push(role, Kind::Call(id.to_owned()), sent.to_string(), from);
    }

    /// The texts of a result, one a line.
    fn result(&mut self, role: &'static str, id: &str, content: &Json, from: &Json) {
        let texts = list(content).iter().filter_map(|part| part["text"].as_str());
        let all = || texts.collect::<Vec<_>>().join("\n");
        let joined = content.as_str().map_or_else(all, str::to_owned);
        self.push(role, Kind::Result(id.to_owned()), joined, from);
    }

    fn tool(&mut self, tool: &Json) {
        let function = tool.get("function").unwrap_or(tool);
        let schema = ["input_schema", "parameters"].iter().find_map(|key| function.get(*key));
        let name = function["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
        let sent = json!({"name": name, "description": text(function, "description"),
            "parameters": schema.unwrap_or(&Json::Null)});
        self.push("system", Kind::Tool(name.to_owned()), sent.to_string(), tool);
    }

    /// A content: a text, or a list of blocks.
    fn content(&mut self, role: &'static str, content: &Json) -> Result<(), String> {
        if let Some(text) = content.as_str() {
            self.push(role, Kind::Text, text.to_owned(), &Json::Null);
        }
        for block in list(content) {
            match block["type"].as_str() {
                Some("text" | "input_text" | "output_text") => {
                    self.push(role, Kind::Text, text(block, "text"), block);
                }
                Some("image" | "document" | "image_url" | "input_image") => {
                    self.push(role, Kind::Image, String::new(), block);
                }
                Some("tool_use") => {
                    self.call(role, (&text(block, "id"), block), &block["input"], block);
                }
                Some("tool_result") => {
                    self.result(role, &text(block, "tool_use_id"), &block["content"], block);
                }
                // What the model thought is not sent here, and not counted.
                Some("thinking" | "redacted_thinking") => {}
                other => return Err(unknown(other)),
            }
        }
        Ok(())
    }

    /// A turn, a message or an item.
    fn piece(&mut self, piece: &Json) -> Result<(), String> {
        let id = text(piece, "call_id");
        match piece["type"].as_str() {
            Some("function_call") => {
                self.call("assistant", (&id, piece), &piece["arguments"], piece);
            }
            Some("function_call_output") => self.result("tool", &id, &piece["output"], piece),
            Some("reasoning") => {}
            Some("message") | None => match role(piece)? {
                "tool" => {
                    self.result("tool", &text(piece, "tool_call_id"), &piece["content"], piece);
                }
                role => {
                    self.content(role, &piece["content"])?;
                    for call in list(&piece["tool_calls"]) {
                        let function = &call["function"];
                        let id = text(call, "id");
                        self.call(role, (&id, function), &function["arguments"], call);
                    }
                }
            },
            other => return Err(unknown(other)),
        }
        Ok(())
    }
}

fn unknown(kind: Option<&str>) -> String {
    format!("a part of the type `{}` is not known", kind.unwrap_or("none"))
}
