use std::sync::Arc;

use super::*;
use crate::prepared::text_hash;
use recap_core::model::{
    Block, Expectation, Message, Preamble, PreambleChange, Question, QuestionKind, RecordedTrigger,
    Role, Session, SnapshotPart,
};
use recap_core::tokens::Counter;
use recap_exam::roles::compactor::Offline;
use recap_strategy::builtin;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A question, a call with its result and an answer, at 100, 130, 131 and 190.
fn talk() -> Session {
    let text = |text: &str| Block::Text { text: text.to_owned() };
    let (id, name) = ("c".to_owned(), "read".to_owned());
    let call = Block::ToolCall { id: id.clone(), name, arguments: serde_json::json!({}) };
    let found = "found ".repeat(100);
    let result = Block::ToolResult { call: id, text: found, images: 0, is_error: false };
    let said = [
        (Role::User, 100, text("What is there?")),
        (Role::Assistant, 130, call),
        (Role::Tool, 131, result),
        (Role::Assistant, 190, text("Many things.")),
    ];
    let message = |(role, second, block): (Role, i64, Block)| {
        Message::new(second.to_string(), role, Some(at(second)), vec![block])
    };
    Session { messages: said.into_iter().map(message).collect(), ..Session::default() }
}

/// The result of `show` for a session of the strategy `recorded` that has
/// prepared this request.
async fn at_request<T>(talk: Session, request: u32, show: impl Fn(&ReplaySession<'_>) -> T) -> T {
    let prepared = PreparedSession::new("d", talk, Arc::new(Counter::default()));
    let plan = plan(100_000);
    let compactor = Offline::new(Arc::new(Counter::default()));
    let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    assert!(session.run_to_request(request).await.unwrap());
    show(&session)
}

/// The strategy `recorded` at a window.
fn plan(window: u64) -> Plan {
    let strategy = builtin("recorded", &[]).unwrap().unwrap();
    Plan::new(("d", ""), Arc::new(strategy), ("", window))
}

/// A talk with a question after each of these messages, which asks for a message.
fn asked(talk: Session, asked: &[(MessageIndex, &str)]) -> PreparedSession {
    let question = |(n, &(asked_at, evidence)): (usize, &(MessageIndex, &str))| Question {
        id: format!("p{n}"),
        session: String::new(),
        asked_at,
        kind: QuestionKind::Fact,
        question: String::new(),
        expect: Expectation::Unanswerable,
        evidence: vec![evidence.to_owned()],
        stale: Vec::new(),
    };
    let questions = asked.iter().enumerate().map(question).collect();
    PreparedSession::new("d", talk, Arc::new(Counter::default())).with_questions(questions)
}

/// The rows and texts of the whole session at a window.
async fn whole(prepared: &PreparedSession, window: u64) -> CellResult {
    let (plan, compactor) = (plan(window), Offline::new(Arc::new(Counter::default())));
    let mut session = ReplaySession::open(prepared, &plan, &compactor).unwrap();
    session.run_to_end().await.unwrap();
    session.finish()
}

#[tokio::test]
async fn request_is_prepared_at_time_of_sending() {
    // The time is not that of its answer, at 130 and 190.
    assert_eq!(at_request(talk(), 0, |session| session.now).await, at(100));
    assert_eq!(at_request(talk(), 1, |session| session.now).await, at(131));
}

#[tokio::test]
async fn what_follows_a_response_happens_when_it_arrived() {
    let prepared = PreparedSession::new("d", talk(), Arc::new(Counter::default()));
    let (plan, compactor) = (plan(100_000), Offline::new(Arc::new(Counter::default())));
    let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    for arrived in [100, 130, 131, 190] {
        assert!(session.step().await.unwrap());
        assert_eq!(session.now, at(arrived));
    }
}

#[tokio::test]
async fn all_compactions_at_one_message_apply_in_order() {
    let recorded = |cleared: &[&str], summary: Option<&str>| RecordedCompaction {
        after: 3,
        kept_from: 2,
        summary: summary.map(str::to_owned),
        cleared: cleared.iter().map(|&id| id.to_owned()).collect(),
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    };
    let shown = |compactions: Vec<RecordedCompaction>| async {
        at_request(Session { compactions, ..talk() }, 1, |session| {
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

#[tokio::test]
async fn each_message_is_step_and_each_answer_request() {
    let prepared = PreparedSession::new("d", talk(), Arc::new(Counter::default()));
    let (plan, compactor) = (plan(100_000), Offline::new(Arc::new(Counter::default())));
    let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    let mut made = vec![session.requests_made()];
    while session.step().await.unwrap() {
        made.push(session.requests_made());
    }
    assert_eq!(made, [0, 0, 1, 1, 2]);
    assert_eq!(whole(&prepared, 100_000).await.0.requests.len(), 2);
}

#[tokio::test]
async fn compaction_row_has_place_sizes_and_text_hashes() {
    let folded = RecordedCompaction {
        after: 3,
        kept_from: 2,
        summary: Some("one".to_owned()),
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    };
    let talk = Session { compactions: vec![folded], ..talk() };
    let (row, before, after) = at_request(talk, 1, |session| {
        let sizes = &session.prepared.recording.sizes;
        let before = sizes.messages[..3].iter().map(|w| w.tokens).sum::<u64>();
        let sent = session.requests.last().unwrap().tokens_sent;
        (session.compactions[0].1.clone(), sizes.preamble_tokens() + before, sent)
    })
    .await;
    assert_eq!(row.texts, [text_hash("one")]);
    assert_eq!((row.request, row.begun, row.messages_seen), (1, 1, 3));
    assert_eq!((row.tokens_before, row.tokens_after), (before, after));
    // Its call is not on record, and so estimated.
    assert_eq!((row.messages_folded, row.messages_edited, row.model_calls), (2, 0, 1));
    assert_eq!((row.input_tokens, row.at_end), (before, false));
    assert!(row.latency_ms > Some(0.0));
}

#[tokio::test]
async fn question_uses_context_sent_at_its_request() {
    // The result, message 2, is cleared when it has arrived.
    let cleared = RecordedCompaction {
        after: 3,
        kept_from: 2,
        cleared: vec!["c".to_owned()],
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    };
    let prepared = asked(
        Session { compactions: vec![cleared], ..talk() },
        &[(2, "131"), (3, "190"), (0, "100")],
    );
    let (rows, texts, asked) = whole(&prepared, 100_000).await;
    let snapshots = &rows.snapshots;
    let places: Vec<_> = snapshots.iter().map(|s| (s.request, s.compactions)).collect();
    assert_eq!(places, [(0, 0), (1, 1), (2, 1)]);
    assert_eq!(snapshots[1].tokens, rows.requests[1].tokens_sent);
    assert_eq!(snapshots[0].parts, [SnapshotPart::Messages { from: 0, to: 1 }]);
    let [SnapshotPart::Messages { from: 0, to: 2 }, SnapshotPart::Edited { message: 2, text }] =
        snapshots[1].parts.as_slice()
    else {
        panic!("{:?}", snapshots[1].parts)
    };
    assert!(!texts[text].contains("found"), "{}", texts[text]);
    // The last answer came after the compaction, the first request before it.
    let ages: Vec<_> = asked.iter().map(|p| (p.question, p.snapshot, p.age_compactions)).collect();
    assert_eq!(ages, [(0, 1, Some(1)), (1, 2, Some(0)), (2, 0, Some(0))]);
}

#[tokio::test]
async fn final_question_overflows_only_if_context_exceeds_window() {
    let prepared = asked(talk(), &[(3, "190")]);
    let tokens = whole(&prepared, 100_000).await.0.snapshots[0].tokens;
    for (window, over) in [(tokens - 1, true), (tokens, false)] {
        assert_eq!(whole(&prepared, window).await.0.snapshots[0].overflow, over, "{window}");
    }
}

#[tokio::test]
async fn question_uses_preamble_of_its_time() {
    let system = |text: &str| vec![text.to_owned()];
    let talk = Session {
        preamble: Preamble { system: system("old"), ..Preamble::default() },
        preamble_changes: vec![PreambleChange { before: 3, system: system("new") }],
        ..talk()
    };
    let prepared = asked(talk, &[(0, "100"), (2, "131")]);
    let (rows, texts, _) = whole(&prepared, 100_000).await;
    let first = rows.snapshots.iter().map(|snapshot| match &snapshot.parts[0] {
        SnapshotPart::Written { role: Role::System, text } => texts[text].as_str(),
        part => panic!("{part:?}"),
    });
    assert_eq!(first.collect::<Vec<_>>(), ["old", "new"]);
}

#[test]
fn control_evidence_shows_two_messages_each_side() {
    let prepared = asked(talk(), &[(2, "100"), (3, "190"), (0, "100"), (3, "no such message")]);
    let (rows, _, asked) = evidence_alone(&prepared, &plan(100_000));
    let shown: Vec<_> = rows.snapshots.iter().map(|s| s.parts.clone()).collect();
    let run = |from, to| vec![SnapshotPart::Messages { from, to }];
    assert_eq!(shown, [run(0, 3), run(1, 4), run(0, 1), Vec::new()]);
    let sizes = &prepared.recording.sizes;
    let tokens: u64 = sizes.messages[1..4].iter().map(|weight| weight.tokens).sum();
    assert_eq!(rows.snapshots[1].tokens, tokens + sizes.preamble_tokens());
    let ages: Vec<_> = asked.iter().map(|p| (p.snapshot, p.age_compactions)).collect();
    assert_eq!(ages, [(0, Some(0)), (1, Some(0)), (2, Some(0)), (3, None)]);
}

#[tokio::test]
async fn request_overflows_if_prompt_and_answer_exceed_window() {
    let prepared = asked(talk(), &[(0, "100")]);
    let first = whole(&prepared, 100_000).await.0.requests[0].tokens_sent;
    let (sent, answer) = (first, prepared.recording.sizes.output[1]);
    assert!(answer > 1, "{answer}");
    for (window, over) in [(sent + answer - 1, true), (sent + answer, false)] {
        let (rows, ..) = whole(&prepared, window).await;
        assert_eq!((rows.requests[0].overflow, rows.snapshots[0].overflow), (over, over));
        assert_eq!(rows.window, window);
    }
}

#[tokio::test]
async fn session_ends_before_request_it_does_not_make() {
    let preamble = Preamble { system: vec!["Be brief.".to_owned()], ..Preamble::default() };
    let prepared = PreparedSession::new("d", Session { preamble, ..talk() }, Arc::default());
    let (plan, compactor) = (plan(100_000), Offline::new(Arc::new(Counter::default())));
    let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    assert!(!session.run_to_request(2).await.unwrap());
    assert_eq!((session.requests_made(), session.context.seen_count()), (2, 4));
    let sizes = &prepared.recording.sizes;
    let sent: u64 = sizes.messages[..3].iter().map(|weight| weight.tokens).sum();
    let row = session.last_request().unwrap();
    assert_eq!((row.tokens_sent, row.messages), (sizes.preamble_tokens() + sent, 3));
    assert_eq!(session.prompt().tokens(), row.tokens_sent);
    assert_eq!(session.finish().0.preamble_added, 0);
}
