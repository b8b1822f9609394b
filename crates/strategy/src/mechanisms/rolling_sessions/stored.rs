//! The files that Lis would keep: a row of its session table each, and the chat
//! with the current session.
//!
//! They lack embeddings and cache statistics: replay has no embedding model,
//! and cache reads are known to the bill only, not to a strategy.

use serde_json::{Value as Json, json};

use crate::chain::ChainLink;
use crate::context::{Context, EntryId};
use crate::host::StoredFile;
use crate::state::StrategyState;

/// The files `chat.json` and `sessions/N.json`.
pub(super) fn files(context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
    let current = shared.chain.open.map(|open| open.number);
    let chat = file("chat.json".to_owned(), &json!({"current_session_id": current}));
    let session = |(&number, facts): (&u32, &ChainLink)| {
        file(format!("sessions/{number}.json"), &session(context, shared, number, facts))
    };
    std::iter::once(chat).chain(shared.chain.known.iter().map(session)).collect()
}

fn file(path: String, body: &Json) -> StoredFile {
    let mut content = serde_json::to_vec_pretty(body).expect("plain data serialises");
    content.push(b'\n');
    StoredFile { path, content }
}

fn session(context: &Context, shared: &StrategyState, number: u32, facts: &ChainLink) -> Json {
    let past = shared.past_session(number);
    let summary = shared.session_summary(number);
    let messages = shared.session_messages(number, context.seen_count());
    let recording = context.recording();
    let id = |&message: &u32| Some(context.original(EntryId::message(message))?.id.as_str());
    let ids: Vec<&str> = messages.iter().filter_map(id).collect();
    let sizes = &recording.sizes;
    json!({
        "id": number,
        "parent_session_id": facts.parent,
        "summary": summary,
        "created_at": facts.opened.to_string(),
        "closed_at": past.map(|past| past.closed.to_string()),
        "message_ids": ids,
        "message_tokens": messages.iter().map(|&m| sizes.messages[m as usize].tokens).sum::<u64>(),
        "output_tokens": messages.iter().map(|&m| sizes.output[m as usize]).sum::<u64>(),
        "summary_tokens": summary.map(|text| recording.counter.count(text)),
    })
}
