//! What a compaction of Codex keeps of a long session.

use recap_core::model::{Piece, Role};
use serde_json::{Value as Json, json};

use crate::outline::{lines, read};

fn record(kind: &str, payload: Json) -> Json {
    json!({"timestamp": "2026-01-05T09:00:00Z", "type": kind, "payload": payload})
}

fn message(role: &str, text: &str) -> Json {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    let content = json!([{"type": kind, "text": text}]);
    record("response_item", json!({"type": "message", "role": role, "content": content}))
}

#[test]
fn prefaced_summary_follows_newest_20_000_user_tokens() {
    let summary = "Another language model started to solve this problem and so on:\nThey went.";
    let long = "x".repeat(80_000 - 8);
    let records = [
        message("user", "<environment_context>\n</environment_context>"),
        message("user", "first of all, much is to be done"),
        message("assistant", "went"),
        message("user", &long),
        message("assistant", "on"),
        message("user", "more"),
        record("compacted", json!({"message": summary})),
        message("assistant", "done"),
    ];
    let compaction = &read(&lines(&records)).compactions[0];
    let text = |text: &str| Piece::Text { role: Role::User, text: text.to_owned() };
    // "more" is 1 token, the long one 19,998: 1 is left, which is 4 bytes.
    let expected =
        [text("fi…7 tokens truncated…ne"), Piece::Message(2), Piece::Message(4), text(summary)];
    assert_eq!(compaction.pieces, expected);
    assert_eq!((compaction.after, compaction.kept_from), (5, 5));
}
