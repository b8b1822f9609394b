//! Where the rules of the exam begin and end, message by message.

use serde_json::json;

use super::{FILLER, agent, call, cut, exam, message, result, sizes, talk, user};
use crate::facts::{MiningRules, mine};
use recap_core::model::{Block, RecordedCompaction, Role, Session};

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

fn read(id: &str) -> recap_core::model::Message {
    call(id, "read", json!({"path": "lib"}))
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

/// A message that names what it reads.
fn reads_and_names(id: &str) -> recap_core::model::Message {
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
    // One behind the request changes nothing for it.
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

/// A value of up to 40 characters that an argument held before is a habit.
#[test]
fn longer_argument_value_is_no_habit() {
    let requests = |value: &str| {
        let held = || call("a", "grep", json!({ "mode": value }));
        let t = talk(vec![user(value), user(FILLER), held(), user(FILLER), held()]);
        let found = mine(&t, &sizes(&t), &MiningRules::default()).references;
        found.into_iter().map(|reference| reference.request).collect::<Vec<_>>()
    };
    let forty = "fluxCapacitorFullThrottleMaximumOverdriv";
    assert_eq!(forty.len(), 40);
    assert_eq!(requests(forty), [0]);
    assert_eq!(requests(&format!("{forty}e")), [0, 1]);
}

/// Paths are used again because they are needed again: also one that stood in a
/// list before, whose entries are habits.
#[test]
fn path_that_stood_in_list_is_no_habit() {
    let path = "src/net/pool_guard.rs";
    let t = talk(vec![
        user(path),
        user(FILLER),
        call("a", "open", json!({ "from": [path] })),
        user(FILLER),
        call("b", "open", json!({ "from": path })),
    ]);
    let found = mine(&t, &sizes(&t), &MiningRules::default()).references;
    let requests: Vec<u32> = found.into_iter().map(|reference| reference.request).collect();
    assert_eq!(requests, [0, 1]);
}

#[test]
fn repeated_address_in_same_argument_is_no_habit() {
    let address = "https://shards.example/drain";
    let held = || call("a", "fetch", json!({ "from": address }));
    let t = talk(vec![user(address), user(FILLER), held(), user(FILLER), held()]);
    let found = mine(&t, &sizes(&t), &MiningRules::default()).references;
    let requests: Vec<u32> = found.into_iter().map(|reference| reference.request).collect();
    assert_eq!(requests, [0, 1]);
}
