//! Where breakpoints stand in the prompt, block by block.

use std::sync::Arc;

use super::sent::Sent;
use super::{Context, EntryId, Op, Place, Recording};
use crate::model::Role;
use crate::prompt_cache::Life;
use crate::strategy::preset::Breakpoint;
use crate::strategy::testkit::Talk;
use crate::tokens::Counter;

/// Five messages behind a system prompt and 50 hidden tokens, of which 20
/// survive a restart; with a note, and a summary of two messages in place of
/// the first two. Its blocks:
///
/// | 0 | 1 | 2 | 3 | 4, 5 | 6, 7, 8 |
/// |---|---|---|---|---|---|
/// | system prompt | 20 hidden | note | 30 hidden | summary | messages 2, 3, 4 |
fn context() -> Context {
    let talk = Talk::new("S").user("a").assistant("b").user("c").assistant("d").user("e").end();
    let mut recording = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
    Arc::make_mut(&mut recording.sizes).hidden_tokens = 50;
    let mut context = Context::new(recording);
    (0..5).for_each(|_| context.append());
    context.apply(Op::Note { key: "n".to_owned(), text: Some("note".to_owned()) }).unwrap();
    let range = vec![EntryId::message(0), EntryId::message(1)];
    let into = vec![(Role::User, "what was said".to_owned()), (Role::Assistant, "Yes.".to_owned())];
    context.apply(Op::Fold { range, into, at: Place::Head }).unwrap();
    context
}

fn hide(context: &mut Context, message: u32) {
    let also = vec![EntryId::message(message)];
    context.apply(Op::Hide { before: 0, except: Vec::new(), also }).unwrap();
}

/// Measures §2: where each breakpoint of a preset stands.
#[test]
fn each_breakpoint_stands_behind_the_block_that_it_is_named_after() {
    let mut context = context();
    let mut sent = Sent::new(Some(20));
    sent.look(&mut context);
    let ends: Vec<u64> = sent.prompt().blocks().iter().map(|block| block.end).collect();
    assert_eq!(ends[0..4], [1, 21, 22, 52], "system prompt, hidden, note, hidden");
    assert_eq!((ends.len(), sent.base(), sent.head()), (9, 2, 4));
    let places = |breakpoint, pruned| sent.places(&context, &[breakpoint], pruned);
    assert_eq!(places(Breakpoint::Preamble, None), [1, 2]);
    assert_eq!(places(Breakpoint::Head, None), [3]);
    assert_eq!(places(Breakpoint::Summary, None), [5]);
    assert_eq!(places(Breakpoint::Newest, None), [8]);
    assert_eq!(places(Breakpoint::Previous, None), [0; 0], "nothing was sent before");
    assert_eq!(places(Breakpoint::PruneBoundary, None), [0; 0]);
    assert_eq!(places(Breakpoint::PruneBoundary, Some(EntryId::message(3))), [7]);
    let plan = [Breakpoint::Summary, Breakpoint::Newest];
    assert_eq!(sent.places(&context, &plan, None), [5, 8]);
}

#[test]
fn without_a_summary_nothing_is_marked_for_one() {
    let talk = Talk::new("S").user("a").assistant("b").end();
    let recording = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
    let mut context = Context::new(recording);
    (0..2).for_each(|_| context.append());
    let mut sent = Sent::new(None);
    sent.look(&mut context);
    assert_eq!(sent.places(&context, &[Breakpoint::Summary], None), [0; 0]);
    // Without a note and a hidden part, the preamble is one block.
    assert_eq!(sent.places(&context, &[Breakpoint::Preamble], None), [0, 0]);
}

#[test]
fn the_boundary_of_pruning_is_the_last_block_before_an_entry_that_is_not_sent() {
    let mut context = context();
    hide(&mut context, 3);
    let mut sent = Sent::new(Some(20));
    sent.look(&mut context);
    let place = |id| sent.places(&context, &[Breakpoint::PruneBoundary], Some(id));
    assert_eq!(place(EntryId::message(3)), [6], "behind message 2");
    assert_eq!(place(EntryId::message(4)), [7]);
}

/// The newest breakpoint of the request before is marked again as long as
/// everything up to it is sent unchanged.
#[test]
fn the_breakpoint_before_counts_if_it_was_billed_and_still_stands() {
    let mut context = context();
    let previous = [Breakpoint::Previous];
    let mut sent = Sent::new(Some(20));
    sent.look(&mut context);
    sent.step(false);
    assert_eq!(sent.places(&context, &previous, None), [0; 0], "that request was not billed");
    sent.look(&mut context);
    let step = sent.step(true);
    assert!(!step.broken && step.common_prefix == sent.prompt().tokens());
    assert_eq!(sent.places(&context, &previous, None), [8]);
    hide(&mut context, 4);
    sent.look(&mut context);
    assert_eq!(sent.places(&context, &previous, None), [0; 0], "its block is gone");
    hide(&mut context, 2);
    sent.look(&mut context);
    assert!(sent.step(true).broken);
}

#[test]
fn every_breakpoint_lives_as_long_as_the_plan_says_and_others_are_removed() {
    let mut context = context();
    let mut sent = Sent::new(Some(20));
    sent.look(&mut context);
    sent.mark(&[1, 8], Life::Minutes5);
    sent.mark(&[8, 3], Life::Hour);
    assert_eq!(sent.prompt().marks(), [(3, Life::Hour), (8, Life::Hour)]);
}
