use std::sync::Arc;

use serde_json::json;

use super::Makeup;
use crate::context::{Context, EntryId, InsertAt, Op, Recording};
use crate::testkit::{Talk, words};
use recap_core::model::{Role, ToolDefinition};

/// Every token of the context belongs to one of five parts.
#[test]
fn context_parts_are_counted_separately_and_add_up() {
    let talk = Talk::new(&words(20)).user(&words(30)).assistant(&words(40)).user(&words(50));
    let talk = talk.calls(&[("c", "Read", json!({"path": "a"}))]).result("c", &words(60));
    let mut session = talk.assistant(&words(70)).end();
    let tool = ToolDefinition {
        name: "Read".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    session.preamble.tools = vec![tool];
    let mut context = Context::new(Recording::new(Arc::new(session), Arc::default()));
    (0..6).for_each(|_| context.append());
    let range = vec![EntryId::message(0), EntryId::message(1)];
    let into = vec![(Role::User, words(25))];
    context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap();
    let makeup = Makeup::of(&context);
    // The summary; the question of 50 and the answer of 70; the call and its result of 60.
    assert_eq!((makeup.summary, makeup.kept), (25, 120));
    let call = context.weight_of(EntryId::message(3)).tokens;
    assert_eq!(makeup.calls, call + 60);
    // Beside 20 tokens of the system prompt there are the definitions of tools.
    assert_eq!(makeup.system + makeup.definitions, context.preamble_weight().tokens);
    assert!((20..24).contains(&makeup.system), "{makeup:?}");
    assert_eq!(makeup.total(), context.weight().tokens);
}
