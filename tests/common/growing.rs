//! Recordings whose prompt grows until their agent might compact.

use serde_json::{Value as Json, json};

/// A Claude Code session whose prompt grows by 20k from request to request, from 20k on: what was
/// there is read, the rest is written for an hour, and a hundred tokens are put out.
pub fn session(name: &str, requests: u64) -> Vec<Json> {
    let mut records: Vec<Json> = Vec::new();
    for n in 0..requests {
        let (hour, minute) = (9 + n / 60, n % 60);
        let at = |second: u32| format!("2026-10-05T{hour:02}:{minute:02}:{second:02}Z");
        let parent = records.last().map(|record| record["uuid"].clone());
        let (asks, says) = (format!("{name}u{n}"), format!("{name}a{n}"));
        let usage = json!({"input_tokens": 0, "cache_read_input_tokens": 20_000 * n,
            "cache_creation_input_tokens": 20_000, "output_tokens": 100,
            "cache_creation": {"ephemeral_5m_input_tokens": 0,
                "ephemeral_1h_input_tokens": 20_000}});
        let text = format!("Step {n} of {name}: look into part {n}.");
        records.push(json!({"type": "user", "uuid": asks, "parentUuid": parent,
            "isSidechain": false, "sessionId": name, "timestamp": at(0), "version": "2.1.217",
            "message": {"role": "user", "content": text}}));
        records.push(json!({"type": "assistant", "uuid": says, "parentUuid": asks,
            "isSidechain": false, "sessionId": name, "timestamp": at(5), "version": "2.1.217",
            "requestId": format!("{name}r{n}"),
            "message": {"role": "assistant", "id": format!("{name}m{n}"), "type": "message",
                "model": "claude-opus-4-6", "content": [{"type": "text", "text": "Done."}],
                "stop_reason": "end_turn", "usage": usage}}));
    }
    records
}
