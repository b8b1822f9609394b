//! Tests of the mechanism `trim`.

use std::sync::Arc;

use serde_json::json;

use crate::testkit::{Rig, Scripted, Talk, words};

fn rig(preserve: f64, above: f64, talk: Talk) -> Rig {
    let stage = format!(
        "[[stage]]\nmechanism = \"trim\"\nat = \"request\"\npreserve = {preserve}\n\
         when = {{ above = \"window\", share = {above} }}"
    );
    Rig::stages(&stage, 1_000, talk, Arc::new(Scripted::default()))
}

/// The task, then so many messages of 100 tokens, the agent's first.
fn turns(count: usize) -> Talk {
    (0..count).fold(Talk::new("S").user(" task"), |talk, at| {
        if at % 2 == 0 { talk.assistant(&words(100)) } else { talk.user(&words(100)) }
    })
}

#[test]
fn input_and_share_of_other_messages_stay() {
    // 2 + 10 × 100 are above 900; of ten messages four tenths go.
    let mut rig = rig(0.6, 0.9, turns(10));
    rig.finish();
    assert_eq!(rig.ledger(), "v----vvvvvv");
}

#[test]
fn nothing_happens_up_to_the_threshold() {
    let mut rig = rig(0.6, 0.802, turns(8));
    rig.finish();
    assert_eq!(rig.ledger(), "vvvvvvvvv", "802 are not above 802");
}

#[test]
fn trimming_repeats_at_most_three_times_while_oversized() {
    // All at once, or it would trim on the way. Of 12: 3, then 2 of 9, then 1
    // of 7: six of 100 tokens are left, and 602 are not above 650.
    let at_once = |above: f64| {
        let mut rig = rig(0.75, above, turns(12));
        rig.append(13);
        rig.request();
        rig.ledger()
    };
    assert_eq!(at_once(0.65), "v------vvvvvv");
    // 3, 2, 1 and 1: that was three times more, although 502 are above 100.
    assert_eq!(at_once(0.1), "v-------vvvvv");
}

#[test]
fn results_leave_with_their_calls() {
    let both = [("a", "read", json!({})), ("b", "read", json!({}))];
    let talk = Talk::new("S").user("task").user(&words(400)).calls(&both);
    let talk = talk.result("a", &words(300)).result("b", &words(300)).assistant("ok");
    // Half of four messages: the call goes, and both results with it.
    let mut rig = rig(0.5, 0.9, talk);
    rig.finish();
    assert_eq!(rig.ledger(), "v----v");
}

#[test]
fn a_call_without_its_result_yet_stays() {
    let talk = Talk::new("S").user("task").calls(&[("a", "read", json!({}))]);
    let talk = (0..10).fold(talk, |talk, _| talk.user(&words(100))).result("a", "late");
    let mut rig = rig(0.5, 0.9, talk);
    rig.feed(12);
    rig.request();
    assert_eq!(rig.ledger(), "vvvvvvvvvvvv");
    rig.finish();
    assert_eq!(rig.ledger(), "v------vvvvv-");
}

#[test]
fn results_stay_with_calls_before_first_user_message() {
    let talk = Talk::new("S").calls(&[("a", "read", json!({}))]).user("task").result("a", "out");
    let talk = (0..9).fold(talk, |talk, _| talk.user(&words(110)));
    let mut rig = rig(0.5, 0.9, talk);
    rig.finish();
    assert_eq!(rig.ledger(), "vvv----vvvvv");
}

#[test]
fn without_a_user_message_everything_is_input() {
    let talk = (0..10).fold(Talk::new("S"), |talk, _| talk.assistant(&words(100)));
    let mut rig = rig(0.5, 0.9, talk);
    rig.finish();
    assert_eq!(rig.ledger(), "vvvvvvvvvv");
}
