mod survival;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::{MiningRules, mine, *};
use recap_core::model::{
    Block, Exam, IdentifierClass, Message, RecordedCompaction, RecordedTrigger, ReferenceState,
    Role, Session, ToolDefinition,
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

pub(super) fn result(call: &str, text: &str) -> Message {
    message(
        Role::Tool,
        vec![Block::ToolResult {
            call: call.into(),
            text: text.into(),
            images: 0,
            is_error: false,
        }],
    )
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
    mine(session, &sizes(session), &MiningRules::default())
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
fn name_last_seen_far_back_is_a_reference() {
    let t = talk(vec![
        user("the fault is in drainShardQueue, near lease and epoch"),
        user(FILLER),
        agent("I open drainShardQueue."),
    ]);
    let exam = exam(&t);
    assert_eq!(exam.references.len(), 1);
    let reference = &exam.references[0];
    assert_eq!(reference.text, "drainShardQueue");
    assert_eq!(reference.class, IdentifierClass::Identifier);
    assert_eq!((reference.request, reference.last_seen), (0, 0));
    assert_eq!(reference.distance_tokens, 5_000);
    assert_eq!(reference.sources, [0]);
    assert_eq!(reference.refetch, None);
    // Every word stands in one message: ties by order.
    assert_eq!(reference.near, ["the", "fault", "near", "lease", "epoch"]);
}

#[test]
fn distance_starts_at_end_of_last_source() {
    let t = talk(vec![
        user("see drainShardQueue"),
        user(FILLER),
        agent("drainShardQueue again"),
        user(FILLER),
        user("go"),
        agent("I open drainShardQueue."),
    ]);
    let exam = exam(&t);
    let distances: Vec<(u32, u64)> =
        exam.references.iter().map(|r| (r.request, r.distance_tokens)).collect();
    assert_eq!(distances, [(0, 5_000), (1, 5_010)]);
    assert_eq!(exam.references[1].sources, [0, 2]);
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

#[test]
fn reasoning_is_neither_use_nor_source() {
    let reasoning =
        |text: &str| message(Role::Assistant, vec![Block::Reasoning { text: text.into() }]);
    let t = talk(vec![
        user("see drainShardQueue"),
        user(FILLER),
        reasoning("drainShardQueue"),
        agent("I open drainShardQueue."),
    ]);
    let exam = exam(&t);
    assert_eq!(exam.references.len(), 1);
    assert_eq!(exam.references[0].sources, [0]);
}

#[test]
fn numeric_arguments_are_no_use_even_as_strings() {
    let arguments = json!({"offset": 48217, "limit": "48217", "note": ["see 48217"]});
    let t = |arguments| talk(vec![user("48217"), user(FILLER), call("c", "read", arguments)]);
    assert_eq!(names(&t(arguments)), ["48217"]);
    let arguments = json!({"offset": 48217, "limit": "48217", "max_lines": "48217"});
    assert!(names(&t(arguments)).is_empty());
}

#[test]
fn what_went_at_a_boundary_was_not_there() {
    let mut t = talk(vec![
        user("see drainShardQueue and fluxCapacitorPort"),
        user("see leaseEpochGuard"),
        user(FILLER),
        agent("drainShardQueue, fluxCapacitorPort, leaseEpochGuard"),
    ]);
    t.compactions = vec![cut(2, 1, "we look at fluxCapacitorPort")];
    let exam = exam(&t);
    let kept: Vec<&str> = exam.references.iter().map(|r| r.text.as_str()).collect();
    assert_eq!(kept, ["leaseEpochGuard"]);
    // fluxCapacitorPort stood in the summary, drainShardQueue nowhere.
    assert_eq!(exam.did_without, 1);
}

#[test]
fn cleared_result_loses_only_its_own_names() {
    let mut t = talk(vec![
        user("see leaseEpochGuard"),
        call("c", "read", json!({"path": "x"})),
        result("c", "drainShardQueue"),
        user(FILLER),
        agent("drainShardQueue, leaseEpochGuard"),
    ]);
    t.compactions =
        vec![RecordedCompaction { summary: None, cleared: vec!["c".into()], ..cut(3, 3, "") }];
    let exam = exam(&t);
    let kept: Vec<&str> = exam.references.iter().map(|r| r.text.as_str()).collect();
    assert_eq!(kept, ["leaseEpochGuard"]);
    assert_eq!(exam.did_without, 1);
}

#[test]
fn sources_are_those_of_the_whole_conversation() {
    let mut t = talk(vec![
        user("see drainShardQueue"),
        user("see drainShardQueue"),
        user(FILLER),
        agent("drainShardQueue"),
    ]);
    t.compactions = vec![cut(1, 1, "so far")];
    assert_eq!(exam(&t).references[0].sources, [0, 1]);
}

#[test]
fn refetch_cost_is_the_smallest_result_holding_it() {
    let t = talk(vec![
        call("a", "read", json!({"path": "x"})),
        result("a", "long drainShardQueue"),
        call("b", "read", json!({"path": "y"})),
        result("b", "drainShardQueue"),
        user(FILLER),
        agent("drainShardQueue"),
    ]);
    let mut sizes = sizes(&t);
    sizes[1] = 700;
    let exam = mine(&t, &sizes, &MiningRules::default());
    assert_eq!(exam.references[0].refetch, Some(3));
    assert!(!exam.references[0].reread);
}

#[test]
fn repeated_call_is_reread_whatever_part_it_reads() {
    let read = |id, path, offset| call(id, "read", json!({"path": path, "offset": offset}));
    let t = |again| {
        talk(vec![
            read("a", "lib", 0),
            result("a", "fn drainShardQueue"),
            user(FILLER),
            again,
            result("b", "nothing"),
            agent("drainShardQueue"),
        ])
    };
    let reread = |again| exam(&t(again)).references[0].reread;
    assert!(reread(read("b", "lib", 90)));
    assert!(!reread(read("b", "bin", 0)));
}

#[test]
fn an_empty_session_has_an_empty_exam() {
    assert_eq!(exam(&talk(Vec::new())), Exam::default());
}

/// Reference §4: at least 4,000 tokens lie between.
#[test]
fn exactly_4000_tokens_are_far_enough() {
    let far = |tokens| {
        let t = talk(vec![user("see drainShardQueue"), user(FILLER), agent("drainShardQueue")]);
        let references = mine(&t, &[10, tokens, 10], &MiningRules::default()).references;
        references.iter().map(|reference| reference.distance_tokens).collect::<Vec<_>>()
    };
    assert_eq!(far(4_000), [4_000]);
    assert_eq!(far(3_999), [0; 0]);
}

#[test]
fn nearby_name_gives_another_away_below_4000_tokens() {
    let t = talk(vec![
        user("see pool.drainShardQueue"),
        user(FILLER),
        user("a drainShardQueue"),
        user(FILLER),
        agent("set pool.drainShardQueue"),
    ]);
    let found = |between| {
        let sizes = [10, 5_000, 10, between, 10];
        mine(&t, &sizes, &MiningRules::default()).references.len()
    };
    assert_eq!((found(3_999), found(4_000)), (0, 1));
}

fn read(id: &str) -> Message {
    call(id, "read", json!({"path": "lib"}))
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

/// A message that names what it reads.
fn reads_and_names(id: &str) -> Message {
    let mut blocks = vec![text("drainShardQueue")];
    blocks.extend(read(id).blocks);
    message(Role::Assistant, blocks)
}

fn rereads(session: &Session) -> Vec<(u32, bool)> {
    let references = exam(session).references;
    references.into_iter().map(|reference| (reference.request, reference.reread)).collect()
}

#[test]
fn reread_lies_between_last_source_and_request_inclusive() {
    let first = || vec![read("a"), result("a", "fn drainShardQueue")];
    // The second call is in the message that names it last: nothing was read since.
    let with_last = [first(), vec![reads_and_names("b"), result("b", "nothing")]].concat();
    let t = talk([with_last, vec![user(FILLER), agent("drainShardQueue")]].concat());
    assert_eq!(rereads(&t), [(2, false)]);
    // The call is in the request that uses it.
    let t = talk([first(), vec![user(FILLER), reads_and_names("b")]].concat());
    assert_eq!(rereads(&t), [(1, true)]);
    // The call comes after the request.
    let t = talk([first(), vec![user(FILLER), agent("drainShardQueue"), read("b")]].concat());
    assert_eq!(rereads(&t), [(1, false)]);
}

#[test]
fn boundary_right_before_request_counts_for_it() {
    let messages = vec![user("see drainShardQueue"), user(FILLER), agent("drainShardQueue")];
    let mut t = talk(messages);
    t.compactions = vec![cut(2, 2, "nothing of it")];
    let found = exam(&t);
    assert_eq!((found.references.len(), found.did_without), (0, 1));
    // One after the request changes nothing for it.
    t.compactions = vec![cut(3, 3, "nothing of it")];
    let found = exam(&t);
    assert_eq!((found.references.len(), found.did_without), (1, 0));
}

#[test]
fn result_is_gone_from_its_first_clearing() {
    let t = |cleared: &[u32]| {
        let mut t = talk(vec![
            read("c"),
            result("c", "drainShardQueue"),
            user(FILLER),
            agent("drainShardQueue"),
            user("well"),
        ]);
        let clear = |after: &u32| RecordedCompaction {
            summary: None,
            cleared: vec!["c".into()],
            ..cut(*after, *after, "")
        };
        t.compactions = cleared.iter().map(clear).collect();
        exam(&t).references.len()
    };
    assert_eq!(t(&[]), 1);
    assert_eq!(t(&[3]), 0, "right before the request");
    assert_eq!(t(&[4]), 1, "behind it");
    assert_eq!(t(&[2, 4]), 0, "before it, and again behind it");
}

/// A value of up to 40 characters that the same argument held before is a habit. Paths and
/// addresses are used again because they are needed again: also one that stood in a list
/// before, whose entries are habits.
#[test]
fn short_value_repeated_in_same_argument_is_habit() {
    let forty = "fluxCapacitorFullThrottleMaximumOverdriv";
    assert_eq!(forty.len(), 40);
    let longer = format!("{forty}e");
    let (path, address) = ("src/net/pool_guard.rs", "https://shards.example/drain");
    let alone = |value: &str| json!({ "from": value });
    for (value, first, again, expected) in [
        (forty, alone(forty), alone(forty), &[0][..]),
        (forty, alone(forty), json!({ "to": forty }), &[0, 1]),
        (&longer, alone(&longer), alone(&longer), &[0, 1]),
        (path, alone(path), alone(path), &[0, 1]),
        (path, json!({ "from": [path] }), alone(path), &[0, 1]),
        (address, alone(address), alone(address), &[0, 1]),
    ] {
        let case = format!("{first}, {again}");
        let uses = [call("a", "open", first), user(FILLER), call("b", "open", again)];
        let t = talk([vec![user(value), user(FILLER)], uses.to_vec()].concat());
        let requests: Vec<u32> = exam(&t).references.iter().map(|r| r.request).collect();
        assert_eq!(requests, expected, "{case}");
    }
}
