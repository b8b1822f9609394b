use std::sync::Arc;

use super::*;
use crate::model::{Block, CellKey, Message, RecordedTrigger, Role, Transcript};
use crate::seats::compactor::Offline;
use crate::strategy::builtin;
use crate::tokens::Counter;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A question, a call with its result and an answer, at 100, 130, 131 and 190.
fn talk() -> Transcript {
    let text = |text: &str| Block::Text { text: text.to_owned() };
    let call = Block::ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments: serde_json::json!({}),
    };
    let result = Block::ToolResult {
        call: "c".to_owned(),
        text: "found ".repeat(100),
        images: 0,
        is_error: false,
    };
    let said = [
        (Role::User, 100, text("What is there?")),
        (Role::Assistant, 130, call),
        (Role::Tool, 131, result),
        (Role::Assistant, 190, text("Many things.")),
    ];
    let message = |(role, second, block): (Role, i64, Block)| Message {
        id: second.to_string(),
        role,
        at: Some(at(second)),
        blocks: vec![block],
        usage: None,
        synthetic: false,
        broadcast: false,
    };
    Transcript { messages: said.into_iter().map(message).collect(), ..Transcript::default() }
}

/// The result of `show` for a session of the preset `recorded` that has
/// prepared this request.
async fn at_request<T>(
    talk: Transcript,
    request: u32,
    show: impl Fn(&ReplaySession<'_>) -> T,
) -> T {
    let subject = Subject::new("d", talk, Arc::new(Counter::default()));
    let preset = builtin("recorded", &[]).unwrap().unwrap();
    let plan = Plan {
        key: CellKey {
            dataset: "d".to_owned(),
            transcript: String::new(),
            strategy: preset.name.clone(),
            window: String::new(),
            replicate: 0,
        },
        preset: Arc::new(preset),
        window: 100_000,
        scaled: true,
        seed: 1,
        offline: true,
        agents: Arc::new([]),
        compactor: None,
    };
    let compactor = Offline::new(Arc::new(Counter::default()));
    let mut session = ReplaySession::open(&subject, &plan, &compactor).unwrap();
    assert!(session.run_to_request(request).await.unwrap());
    show(&session)
}

#[tokio::test]
async fn a_request_is_prepared_at_the_time_when_it_was_sent() {
    // The time is not that of its answer, at 130 and 190.
    assert_eq!(at_request(talk(), 0, |session| session.now).await, at(100));
    assert_eq!(at_request(talk(), 1, |session| session.now).await, at(131));
}

#[tokio::test]
async fn every_compaction_recorded_at_one_message_is_seen_in_its_order() {
    let recorded = |cleared: &[&str], summary: Option<&str>| RecordedCompaction {
        after: 3,
        kept_from: 2,
        summary: summary.map(str::to_owned),
        cleared: cleared.iter().map(|&id| id.to_owned()).collect(),
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    };
    let shown = |compactions: Vec<RecordedCompaction>| async {
        at_request(Transcript { compactions, ..talk() }, 1, |session| {
            let texts = session.texts.values().cloned().collect::<Vec<_>>();
            (texts, session.compactions.len(), session.context.message_count())
        })
        .await
    };
    let micro = recorded(&["c"], None);
    // A summary of question and call, and the result.
    let first = recorded(&[], Some("one"));
    let (texts, rows, messages) = shown(vec![micro.clone(), first.clone()]).await;
    assert_eq!((texts, rows, messages), (vec!["one".to_owned()], 2, 2));
    // The last compaction folds the rest, including the summary.
    let second = RecordedCompaction { kept_from: 3, ..recorded(&[], Some("two")) };
    let (mut texts, rows, messages) = shown(vec![micro, first, second]).await;
    texts.sort();
    assert_eq!((texts, rows, messages), (vec!["one".to_owned(), "two".to_owned()], 3, 1));
}
