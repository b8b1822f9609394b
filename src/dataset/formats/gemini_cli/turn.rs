//! A message of Gemini CLI, whichever way its file writes it.

use jiff::Timestamp;
use serde_json::Value as Json;

use super::wire::{Part, WireCall, WireMessage};
use crate::dataset::formats::content::ResultText;
use crate::model::{Block, Role, Usage};

/// What the user or the model said, with the calls and their results.
pub(super) struct Turn {
    pub(super) id: Option<String>,
    pub(super) at: Option<Timestamp>,
    pub(super) role: Role,
    /// Text and pictures.
    pub(super) said: Vec<Block>,
    pub(super) thoughts: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
    /// Kinds of parts that are not imported.
    pub(super) left_out: Vec<&'static str>,
}

pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Json,
    pub(super) outcome: Option<Outcome>,
}

/// What a tool returned.
pub(super) struct Outcome {
    pub(super) text: ResultText,
    pub(super) is_error: bool,
    pub(super) at: Option<Timestamp>,
}

/// A record as the log takes it.
pub(super) enum Arrived {
    /// A message, perhaps with results of earlier calls.
    Turn(Box<Turn>, Vec<Response>),
    /// Results of earlier calls alone.
    Responses(Vec<Response>),
    /// A note to the user that the model never saw.
    Note { kind: String },
}

/// The result of a call that another message made.
pub(super) struct Response {
    pub(super) call: String,
    pub(super) outcome: Outcome,
}

impl Arrived {
    pub(super) fn new(wire: WireMessage) -> Arrived {
        let role = match wire.kind.as_str() {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => return Arrived::Note { kind: wire.kind },
        };
        let thoughts = wire.thoughts.unwrap_or_default().into_iter();
        let mut turn = Turn {
            id: wire.id,
            at: wire.timestamp,
            role,
            said: Vec::new(),
            thoughts: thoughts.map(|t| joined(&t.subject, &t.description)).collect(),
            calls: wire.tool_calls.unwrap_or_default().into_iter().map(Call::new).collect(),
            usage: wire.tokens.map(|tokens| tokens.usage()),
            model: wire.model,
            left_out: Vec::new(),
        };
        let responses = turn.take(wire.content);
        let nothing_else = turn.said.is_empty() && turn.left_out.is_empty();
        if role == Role::User && nothing_else && !responses.is_empty() {
            Arrived::Responses(responses)
        } else {
            Arrived::Turn(Box::new(turn), responses)
        }
    }
}

fn joined(subject: &str, description: &str) -> String {
    [subject, description].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("\n")
}

impl Turn {
    /// Takes the parts of the message; returns results of earlier calls.
    pub(super) fn take(&mut self, parts: Vec<Part>) -> Vec<Response> {
        let recorded = self.thoughts.len();
        let listed = self.calls.len();
        let mut responses = Vec::new();
        for part in parts {
            match part {
                Part { thought: true, text, .. } => {
                    // They are listed with the message as well.
                    self.thoughts.extend(text.filter(|_| recorded == 0));
                }
                Part { text: Some(text), .. } => {
                    self.said.extend((!text.is_empty()).then_some(Block::Text { text }));
                }
                // So are calls.
                Part { function_call: Some(call), .. } if listed == 0 => {
                    let id = call.id.unwrap_or_else(|| format!("call-{}", self.calls.len() + 1));
                    let call = Call { id, name: call.name, arguments: call.args, outcome: None };
                    self.calls.push(call);
                }
                Part { function_call: Some(_), .. } => {}
                Part { function_response: Some(response), .. } => match &response.id {
                    Some(call) => responses.push(Response {
                        call: call.clone(),
                        outcome: outcome(
                            vec![Part { function_response: Some(response), ..Part::default() }],
                            None,
                            self.at,
                        ),
                    }),
                    None => self.left_out.push("function response without an id"),
                },
                Part { inline_data: Some(data), .. } | Part { file_data: Some(data), .. } => {
                    match data.mime_type {
                        Some(kind) if kind.starts_with("image/") => {
                            self.said.push(Block::Image { media_type: Some(kind) });
                        }
                        _ => self.left_out.push("file part"),
                    }
                }
                _ => self.left_out.push("part of an unknown kind"),
            }
        }
        responses
    }

    /// What it says, without blanks at its ends.
    pub(super) fn text(&self) -> String {
        crate::model::sent(&self.said).trim().to_owned()
    }

    /// Whether both are the same message. A compression gives the messages that
    /// it keeps new ids.
    pub(super) fn is(&self, other: &Turn) -> bool {
        let same_id = self.id.is_some() && self.id == other.id;
        let ids = |turn: &Turn| turn.calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
        same_id
            || (self.role == other.role && self.text() == other.text() && ids(self) == ids(other))
    }
}

impl Call {
    pub(super) fn new(wire: WireCall) -> Call {
        let there = !wire.result.is_empty();
        let outcome = there.then(|| outcome(wire.result, wire.status.as_deref(), wire.timestamp));
        let name = wire.name.unwrap_or_default();
        let arguments = if wire.args.is_null() { serde_json::json!({}) } else { wire.args };
        Call { id: wire.id, name, arguments, outcome }
    }
}

/// What a tool returned: the text of its response and what stands beside it.
fn outcome(parts: Vec<Part>, status: Option<&str>, at: Option<Timestamp>) -> Outcome {
    let mut outcome = Outcome {
        text: ResultText::default(),
        is_error: matches!(status, Some("error" | "cancelled")),
        at,
    };
    for part in parts {
        if let Some(response) = part.function_response {
            outcome.is_error |= response.response.get("error").is_some();
            outcome.text.add(&response_text(&response.response));
            let pictures = response.parts.iter().filter(|part| part.inline_data.is_some());
            outcome.text.images += pictures.count() as u32;
        } else if let Some(text) = part.text {
            outcome.text.add(&text);
        } else if part.inline_data.is_some() || part.file_data.is_some() {
            outcome.text.images += 1;
        }
    }
    outcome
}

/// The text of a function's response, which is an object.
pub(in crate::dataset::formats) fn response_text(response: &Json) -> String {
    let text = ["output", "error"].iter().find_map(|key| response.get(key)?.as_str());
    match (text, response) {
        (Some(text), _) => text.to_owned(),
        (None, Json::String(text)) => text.clone(),
        (None, Json::Null) => String::new(),
        (None, other) => other.to_string(),
    }
}
