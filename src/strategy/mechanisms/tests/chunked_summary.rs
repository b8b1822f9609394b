//! GSV, seed 004 (`strategies` §4, last paragraph).

use crate::model::Role;
use crate::strategy::testkit::{Rig, Scripted, Talk, words};

const MARKER: &str = "[Conversation summary from automatic context compaction]";

#[test]
fn the_summary_is_one_user_message_with_the_marker() {
    let talk = Talk::new("S").user(&words(100)).assistant(&words(100)).user("end");
    let overrides = [("keep_recent", "50"), ("when", "{ reserve = 420 }")];
    let mut rig = Rig::new("chunked-summary", &overrides, 500, talk, Scripted::failing_at([]));
    rig.finish();
    let sent = rig.sent();
    assert_eq!(rig.ledger(), "ffv");
    assert_eq!(sent[0].0, Role::User);
    assert!(sent[0].1.starts_with(MARKER), "{}", sent[0].1);
}
