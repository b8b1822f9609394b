//! Arachne, seed 000 (`strategies` §4, first paragraph).

use crate::model::Role;
use crate::strategy::testkit::{Rig, Scripted, Talk, words};

/// Exchanges of 1,000 and 1,500 tokens, then a last user message.
fn long_talk(exchanges: usize) -> Talk {
    let talk = Talk::new("Be brief.");
    let talk = (0..exchanges).fold(talk, |talk, _| talk.user(&words(1000)).assistant(&words(1500)));
    talk.user("And now?")
}

#[test]
fn the_fewest_oldest_exchanges_are_folded() {
    // At the last user message: 7,500 + preamble (about 150) > 7,000. To reach
    // 6,000 with 800 reserved, about 2,450 must go: one exchange of 2,500.
    let mut rig = Rig::new("session-state", &[], 10_000, long_talk(3), Scripted::failing_at([]));
    rig.finish();
    assert_eq!(rig.ledger(), "ffvvvvv");
    let sent = rig.sent();
    assert_eq!(sent.len(), 7);
    let state = r#"{"logos":["fact 0"],"pathos":[],"abstract":[],"conversation_summary":"They talked. It goes on."}"#;
    assert_eq!(sent[0], (Role::User, format!("<session_state>{state}</session_state>")));
    assert_eq!(sent[1], (Role::Assistant, "Understood.".to_owned()));
    assert_eq!(sent[6], (Role::User, "And now?".to_owned()));
    assert_eq!(rig.shared.boundary, Some(1));
}
