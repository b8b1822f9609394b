mod survival;

use proptest::prelude::*;
use serde_json::json;

use super::{mine, *};
use recap_core::model::{
    Block, Exam, Message, RecordedCompaction, RecordedTrigger, ReferenceState, Role, Session,
    ToolDefinition,
};

/// Messages that name nothing, of 5,000 tokens each by the sizes of [`exam`].
pub(super) const FILLER: &str = "and so it went on";

fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message::new(String::new(), role, None, blocks)
}

pub(super) fn said(role: Role, text: &str) -> Message {
    message(role, vec![Block::Text { text: text.into() }])
}

pub(super) fn user(text: &str) -> Message {
    said(Role::User, text)
}

pub(super) fn agent(text: &str) -> Message {
    said(Role::Assistant, text)
}

pub(super) fn call(id: &str, tool: &str, arguments: serde_json::Value) -> Message {
    message(Role::Assistant, vec![Block::ToolCall { id: id.into(), name: tool.into(), arguments }])
}

pub(super) fn talk(messages: Vec<Message>) -> Session {
    Session { id: "t".into(), messages, ..Session::default() }
}

/// Ten tokens a message, 5,000 for a filler.
fn sizes(session: &Session) -> Vec<u64> {
    session
        .messages
        .iter()
        .map(|m| match &m.blocks[..] {
            [Block::Text { text }] if text == FILLER => 5_000,
            _ => 10,
        })
        .collect()
}

pub(super) fn exam(session: &Session) -> Exam {
    mine(session, &sizes(session))
}

pub(super) fn names(session: &Session) -> Vec<String> {
    let references = exam(session).references;
    references.into_iter().map(|r| r.text).collect()
}

pub(super) fn cut(after: u32, kept_from: u32, summary: &str) -> RecordedCompaction {
    RecordedCompaction {
        after,
        kept_from,
        summary: Some(summary.into()),
        cleared: Vec::new(),
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    }
}

#[test]
fn preamble_and_metadata_content_is_no_reference() {
    let text = "drainShardQueue lease-holder-77 fluxCapacitorPort /home/kim/work";
    let mut t = talk(vec![user(text), user(FILLER), agent(text)]);
    assert_eq!(names(&t).len(), 4);
    t.preamble.system = vec!["call drainShardQueue".into()];
    t.preamble.tools = vec![ToolDefinition {
        name: "open".into(),
        description: String::new(),
        parameters: json!({"properties": {"fluxCapacitorPort": {"type": "string"}}}),
    }];
    t.preamble.pinned = vec!["lease-holder-77".into()];
    t.metadata = vec!["/home/kim/work/shop".into()];
    assert!(names(&t).is_empty());
}

#[test]
fn recording_day_and_called_tool_names_are_known() {
    let text = "2026-01-16, 2026-01-17 and fluxCapacitorRead";
    let mut t = talk(vec![
        user(text),
        call("c", "fluxCapacitorRead", json!({})),
        user(FILLER),
        agent(text),
    ]);
    t.messages[0].at = Some("2026-01-16T09:00:00Z".parse().unwrap());
    assert_eq!(names(&t), ["2026-01-17"]);
}
