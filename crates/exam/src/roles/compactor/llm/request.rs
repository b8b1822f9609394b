//! Builds the request for a task.

use serde_json::json;

use recap_core::model::Role;
use recap_llm::{Message, ModelRequest, Schema, Speaker};
use recap_strategy::{Live, MESSAGES, Task, TaskMessage};

/// Text before a live conversation that the assistant began: providers require
/// a user's message first.
const OPENING: &str = "[The conversation begins.]";

/// The request that is sent to a model for a task.
pub(crate) fn question(task: &Task) -> ModelRequest {
    let (prompt, live, schema) = match task {
        Task::SessionState { prompt, .. } => (prompt, None, Some(state_schema())),
        Task::Continuation { prompt, live, .. } => (prompt, live.as_ref(), None),
        Task::Digest { prompt, .. } => (prompt, None, None),
    };
    let question = match live {
        Some(live) => ModelRequest {
            system: live.system.clone(),
            messages: turns(live, prompt),
            max_tokens: task.max_tokens(),
            ..ModelRequest::default()
        },
        None => ModelRequest::of("", filled(prompt, task.messages()), task.max_tokens()),
    };
    ModelRequest { schema, ..question }
}

/// The four fields of SessionState in its published design (000, "SessionState
/// Schema").
fn state_schema() -> Schema {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let json = json!({
        "type": "object",
        "properties": {
            "logos": list,
            "pathos": list,
            "abstract": list,
            "conversation_summary": {"type": "string"},
        },
        "required": ["logos", "pathos", "abstract", "conversation_summary"],
        "additionalProperties": false,
    });
    Schema { name: "session_state".to_owned(), json }
}

/// The prompt with the messages at their placeholder, or in front of it.
fn filled(prompt: &str, messages: &[TaskMessage]) -> String {
    let label = |message: &TaskMessage| format!("[{}]\n{}", message.role.as_str(), shown(message));
    let session = messages.iter().map(label).collect::<Vec<_>>().join("\n\n");
    if prompt.contains(MESSAGES) {
        prompt.replace(MESSAGES, &session)
    } else {
        format!("{session}\n\n{prompt}")
    }
}

/// The live conversation as turns, with the prompt as the last one. A message
/// of another role than user or assistant becomes a user's message that names
/// its role. User and assistant alternate, since many chat templates require
/// it.
fn turns(live: &Live, prompt: &str) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::new();
    for message in &live.messages {
        let text = shown(message);
        if text.is_empty() {
            continue;
        }
        match message.role {
            Role::Assistant => push(&mut turns, Speaker::Assistant, text),
            Role::User => push(&mut turns, Speaker::User, text),
            role @ (Role::System | Role::Tool) => {
                push(&mut turns, Speaker::User, format!("[{}]\n{text}", role.as_str()));
            }
        }
    }
    if turns.first().is_some_and(|turn| turn.speaker == Speaker::Assistant) {
        turns.insert(0, Message { speaker: Speaker::User, text: OPENING.to_owned() });
    }
    push(&mut turns, Speaker::User, prompt.replace(MESSAGES, ""));
    turns
}

fn push(turns: &mut Vec<Message>, speaker: Speaker, text: String) {
    match turns.last_mut() {
        Some(last) if last.speaker == speaker => last.text.extend(["\n\n", &text]),
        _ => turns.push(Message { speaker, text }),
    }
}

/// The text of a message, in which images are named.
fn shown(message: &TaskMessage) -> String {
    let images = match message.images {
        0 => return message.text.clone(),
        1 => "[1 image]".to_owned(),
        images => format!("[{images} images]"),
    };
    match message.text.as_str() {
        "" => images,
        text => format!("{text}\n{images}"),
    }
}
