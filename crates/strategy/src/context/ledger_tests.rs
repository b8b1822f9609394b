//! The ledger: what operations make of messages, worked out by hand.

use std::sync::Arc;

use super::{Context, EntryId, InsertAt, Op, OpError, Recording};
use crate::testkit::{Talk, words};
use recap_core::model::{CallId, LedgerState, Role};
use recap_core::tokens::Counter;

/// Six messages of ten tokens: two exchanges with a call each.
fn six() -> Context {
    let talk = Talk::new("six")
        .user(&words(10))
        .calls(&[("a", "read", serde_json::json!({}))])
        .result("a", &words(10))
        .user(&words(10))
        .calls(&[("b", "read", serde_json::json!({}))])
        .result("b", &words(10))
        .end();
    let mut context = Context::new(Recording::new(Arc::new(talk), Arc::new(Counter::default())));
    (0..6).for_each(|_| context.append());
    context
}

fn states(context: &Context) -> String {
    let letter = |m| match context.state(m) {
        LedgerState::Verbatim => 'V',
        LedgerState::Edited => 'E',
        LedgerState::Folded => 'F',
        LedgerState::Gone => '.',
    };
    (0..context.seen_count()).map(letter).collect()
}

fn ids(messages: impl IntoIterator<Item = u32>) -> Vec<EntryId> {
    messages.into_iter().map(EntryId::message).collect()
}

fn fold(context: &mut Context, range: Vec<EntryId>, texts: &[&str], at: InsertAt) -> Vec<EntryId> {
    let into = texts.iter().map(|t| (Role::User, (*t).to_owned())).collect();
    context.apply(Op::Fold { range, into, at }).unwrap()
}

#[test]
fn rule_24_evicting_nested_fold_removes_whole_union() {
    let mut context = six();
    let first = fold(&mut context, ids(0..2), &["one"], InsertAt::Head);
    assert_eq!(states(&context), "FFVVVV");
    let mut range = first.clone();
    range.extend(ids(2..3));
    let second = fold(&mut context, range, &["two"], InsertAt::Head);
    assert_eq!(states(&context), "FFFVVV");
    assert!(!context.contains(first[0]));
    context.apply(Op::Evict(second)).unwrap();
    assert_eq!(states(&context), "...VVV");
}

#[test]
fn rule_24_pair_covers_until_both_are_gone() {
    let mut context = six();
    let pair = fold(&mut context, ids(0..3), &["state", "Understood."], InsertAt::Head);
    context.apply(Op::Evict(vec![pair[1]])).unwrap();
    assert_eq!(states(&context), "FFFVVV");
    context.apply(Op::Evict(vec![pair[0]])).unwrap();
    assert_eq!(states(&context), "...VVV");
}

#[test]
fn rule_24_hiding_ends_when_stage_begins_again() {
    let mut context = six();
    context.begin_stage(3);
    context.apply(Op::Hide { before: 2, also: ids(4..5) }).unwrap();
    assert_eq!(states(&context), "..VV.V");
    assert_eq!((context.message_count(), context.hides(3), context.hides(0)), (3, true, false));
    context.begin_stage(3);
    assert!(!context.hides(3));
    assert_eq!(states(&context), "VVVVVV");
}

#[test]
fn stages_hide_what_any_of_them_hides() {
    let mut context = six();
    context.begin_stage(1);
    // Message 2 is before 4, so that it is hidden anyway.
    context.apply(Op::Hide { before: 4, also: ids([5, 2]) }).unwrap();
    assert_eq!(states(&context), "....V.");
    assert_eq!(context.visible().filter_map(EntryId::index).collect::<Vec<_>>(), [4]);
    let shown = context.weight_of(EntryId::message(4)).tokens;
    assert_eq!((context.messages_weight().tokens, context.oldest_sent()), (shown, 4));
    context.begin_stage(2);
    context.apply(Op::Hide { before: 1, also: ids([4]) }).unwrap();
    assert_eq!(states(&context), "......");
    context.begin_stage(1);
    assert_eq!(states(&context), ".VVV.V");
    assert_eq!((context.message_count(), context.oldest_sent()), (4, 1));
}

#[test]
fn edits_are_marked_and_removed_calls_take_results() {
    let mut context = six();
    let full = context.messages_weight();
    context.apply(Op::EditResult(CallId(1), "x".into())).unwrap();
    assert_eq!(states(&context), "VVVVVE");
    assert_eq!(context.messages_weight().tokens, full.tokens - 9);
    assert_eq!(context.tool_tokens_after(None), 10);
    context.apply(Op::RemoveCall(CallId(0))).unwrap();
    // The call was all that message 1 said.
    assert_eq!(states(&context), "V..VVE");
}

#[test]
fn rule_23_fold_follows_older_or_in_place() {
    let mut context = six();
    fold(&mut context, ids(0..1), &["one"], InsertAt::Head);
    fold(&mut context, ids(3..4), &["two"], InsertAt::Head);
    fold(&mut context, ids(5..6), &["three"], InsertAt::InPlace);
    let order: Vec<String> = context
        .visible()
        .map(|id| match id.index() {
            Some(index) => index.to_string(),
            None => context.entry(id).unwrap().text.to_owned(),
        })
        .collect();
    assert_eq!(order, ["one", "two", "1", "2", "4", "three"]);
}

#[test]
fn fold_may_stand_behind_its_own_entry() {
    let mut context = six();
    let range = vec![EntryId::message(0), EntryId::message(3)];
    fold(&mut context, range, &["sum"], InsertAt::Behind(EntryId::message(3)));
    let order: Vec<Option<u32>> = context.visible().map(|id| id.index()).collect();
    assert_eq!(order, [Some(1), Some(2), None, Some(4), Some(5)]);
    assert_eq!(states(&context), "FVVFVV");
}

#[test]
fn unknown_entries_and_calls_are_refused_without_change() {
    let mut context = six();
    let before = (states(&context), context.messages_weight());
    let gone = EntryId::message(9);
    assert_eq!(context.apply(Op::Evict(vec![gone])), Err(OpError::UnknownEntry(gone)));
    let mut range = ids(0..2);
    range.push(gone);
    let into = vec![(Role::User, "x".to_owned())];
    let refused = context.apply(Op::Fold { range, into, at: InsertAt::Head });
    assert_eq!(refused, Err(OpError::UnknownEntry(gone)));
    let refused = context.apply(Op::EditResult(CallId(7), "x".into()));
    assert_eq!(refused, Err(OpError::UnknownCall(CallId(7))));
    let refused = context.apply(Op::Hide { before: 0, also: vec![gone] });
    assert_eq!(refused, Err(OpError::UnknownEntry(gone)));
    assert_eq!((states(&context), context.messages_weight()), before);
}
