//! Holds the wire formats by bodies in the providers' documented shapes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

mod embeddings;
mod replies;
mod requests;
mod usage;

use super::{Gemini, LARGEST, OpenAiChat, PROVIDERS, Provider, figure, required, rest};
use crate::{Finish, Message, NoUsage, Reply, Request, Schema, Speaker, Tokens, WireError};

const OPENAI: OpenAiChat = OpenAiChat::OPENAI;

fn request() -> Request {
    let message = |speaker, text: &str| Message { speaker, text: text.to_owned() };
    Request {
        model: "some-model".to_owned(),
        system: "Answer briefly.".to_owned(),
        messages: vec![
            message(Speaker::User, "Which port?"),
            message(Speaker::Assistant, "8080."),
            message(Speaker::User, "And the host?"),
        ],
        max_tokens: 256,
        temperature: Some(0.0),
        effort: None,
        schema: Some(Schema { name: "answer".to_owned(), json: json!({"type": "object"}) }),
        shared_system: true,
    }
}

/// Holds these lines against those that were reviewed.
fn are_as_reviewed(name: &str, lines: &[String]) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, lines.join("\n"));
    });
}
