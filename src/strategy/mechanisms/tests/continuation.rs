//! GenCode, seed 001 (`strategies` §4, second paragraph).

use crate::model::Role;
use crate::strategy::testkit::{Rig, Scripted, Talk, words};

/// Twelve turns of 100 tokens each.
fn turns(talk: Talk, count: usize) -> Talk {
    (0..count).fold(talk, |talk, at| {
        if at % 2 == 0 { talk.user(&words(100)) } else { talk.assistant(&words(100)) }
    })
}

#[test]
fn the_new_array_is_a_summary_and_the_last_ten() {
    // usable = 9,492 - 8,192 = 1,300; a turn is 500 characters, 125 by chars/4.
    // Up to the first response the estimate is chars/4, then what was sent.
    let talk = turns(Talk::new("S"), 14);
    let mut rig = Rig::new("continuation", &[], 9_492, talk, Scripted::failing_at([]));
    rig.finish();
    let sent = rig.sent();
    assert_eq!(rig.ledger(), "ffffvvvvvvvvvv");
    assert_eq!(sent[0].0, Role::System);
    assert_eq!(sent[0].1, "[Earlier conversation - 4 messages summarized]\n\ncontinuation 0");
    assert_eq!(sent.len(), 11);
}
