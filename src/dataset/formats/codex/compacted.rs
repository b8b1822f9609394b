//! What a compaction of Codex CLI kept, and what took the place of the rest.

use jiff::Timestamp;

use super::Reader;
use super::wire::{Compacted, Kept, texts};
use crate::model::{Block, Message, RecordedCompaction, RecordedTrigger};

impl Reader {
    /// Notes a compaction (`semantics` 6). The new context is a list of
    /// messages: those that are the last ones before it were kept as a tail.
    /// Others, from further up, have no place in the model and are counted.
    pub(super) fn compaction(&mut self, at: Option<Timestamp>, compacted: Compacted) {
        let after = self.draft.next_index();
        let history = compacted.replacement_history.unwrap_or_default();
        let encrypted = history.iter().any(|item| item.kind == "compaction");
        let summary = compacted.message;
        let kept = kept_messages(history, &summary);
        let messages = &self.draft.transcript.messages;
        let tail = messages.iter().rev().zip(kept.iter().rev());
        let tail = tail.take_while(|(message, kept)| is_same(message, kept)).count();
        self.draft.leave_out("message that a compaction kept apart", (kept.len() - tail) as u64);
        if encrypted {
            self.encrypted += 1;
            self.draft.leave_out("encrypted summary", 1);
        }
        self.draft.transcript.compactions.push(RecordedCompaction {
            after,
            kept_from: after - tail as u32,
            // A redacted file may say something of an empty message.
            summary: (!encrypted && !summary.is_empty()).then_some(summary),
            cleared: Vec::new(),
            trigger: RecordedTrigger::Unknown,
            tokens_before: self.prompt,
            at,
        });
    }
}

/// Role and text of the messages of the new context that stood in the old one:
/// neither instructions nor the summary.
fn kept_messages(history: Vec<Kept>, summary: &str) -> Vec<(String, String)> {
    let messages = history.into_iter().filter(|item| item.kind == "message");
    let messages = messages.filter(|item| matches!(item.role.as_str(), "user" | "assistant"));
    let messages = messages.map(|item| (item.role, texts(item.content).join("\n")));
    let is_summary = |text: &str| !summary.is_empty() && text.ends_with(summary);
    messages.filter(|(_, text)| !is_summary(text)).collect()
}

/// Whether a message says the same. One that calls a tool is never kept alone.
fn is_same(message: &Message, (role, text): &(String, String)) -> bool {
    let calls = message.blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
    !calls && message.role.as_str() == role && message.sent() == *text
}
