//! Where breakpoints stand in the prompt, block by block.

use std::sync::Arc;

use super::sent::Sent;
use super::{Context, EntryId, InsertAt, Op, Recording};
use crate::strategy::Breakpoint;
use crate::testkit::Talk;
use recap_billing::prompt_cache::Life;
use recap_core::model::Role;
use recap_core::tokens::Counter;

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
    context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap();
    context
}

fn hide(context: &mut Context, message: u32) {
    let also = vec![EntryId::message(message)];
    context.apply(Op::Hide { before: 0, except: Vec::new(), also }).unwrap();
}

/// Reference §2: where each breakpoint of a strategy stands.
#[test]
fn each_breakpoint_follows_the_block_it_names() {
    let mut context = context();
    let mut sent = Sent::new(Some(20));
    sent.update(&mut context);
    let ends: Vec<u64> = sent.prompt().blocks().iter().map(|block| block.end).collect();
    assert_eq!(ends[0..4], [1, 21, 22, 52], "system prompt, hidden, note, hidden");
    assert_eq!((ends.len(), sent.base, sent.head()), (9, 2, 4));
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
    // Another session has no note of this one, which may go on with another.
    assert_eq!(sent.shared(), sent.prompt().tokens());
    sent.step(true);
    assert_eq!(sent.shared(), 21);
}

#[test]
fn without_a_summary_nothing_is_marked_for_one() {
    let talk = Talk::new("S").user("a").assistant("b").end();
    let recording = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
    let mut context = Context::new(recording);
    (0..2).for_each(|_| context.append());
    let mut sent = Sent::new(None);
    sent.update(&mut context);
    assert_eq!(sent.places(&context, &[Breakpoint::Summary], None), [0; 0]);
    // Without a note and a hidden part, the preamble is one block.
    assert_eq!(sent.places(&context, &[Breakpoint::Preamble], None), [0, 0]);
}

#[test]
fn prune_boundary_is_last_block_before_unsent_entry() {
    let mut context = context();
    hide(&mut context, 3);
    let mut sent = Sent::new(Some(20));
    sent.update(&mut context);
    let place = |id| sent.places(&context, &[Breakpoint::PruneBoundary], Some(id));
    assert_eq!(place(EntryId::message(3)), [6], "behind message 2");
    assert_eq!(place(EntryId::message(4)), [7]);
}

/// The newest breakpoint of the request before is marked again as long as
/// everything up to it is sent unchanged.
#[test]
fn previous_breakpoint_counts_if_billed_and_still_present() {
    let mut context = context();
    let previous = [Breakpoint::Previous];
    let mut sent = Sent::new(Some(20));
    sent.update(&mut context);
    sent.step(false);
    assert_eq!(sent.places(&context, &previous, None), [0; 0], "that request was not billed");
    sent.update(&mut context);
    let step = sent.step(true);
    assert!(!step.broken && step.common_prefix == sent.prompt().tokens());
    assert_eq!(sent.places(&context, &previous, None), [8]);
    hide(&mut context, 4);
    sent.update(&mut context);
    assert_eq!(sent.places(&context, &previous, None), [0; 0], "its block is gone");
    hide(&mut context, 2);
    sent.update(&mut context);
    assert!(sent.step(true).broken);
}

#[test]
fn breakpoints_take_planned_lifetime_and_others_are_removed() {
    let mut context = context();
    let mut sent = Sent::new(Some(20));
    sent.update(&mut context);
    sent.mark(&[1, 8], Life::Minutes5);
    sent.mark(&[8, 3], Life::Hour);
    assert_eq!(sent.prompt().marks(), [(3, Life::Hour), (8, Life::Hour)]);
}

/// The prompt that is kept up to date is that of a first look, whatever changes
/// between two requests.
#[test]
fn updated_prompt_equals_one_built_anew() {
    let note = |key: &str, text: &str| {
        let text = (!text.is_empty()).then(|| text.to_owned());
        Op::Note { key: key.to_owned(), text }
    };
    let steps = [
        vec![],
        vec![note("n", "the only one replaced")],
        vec![note("o", "one behind")],
        vec![note("p", "two"), note("q", "and three behind")],
        vec![note("a", "one before all the others")],
        vec![note("q", "the last replaced by a longer one")],
        vec![note("a", ""), note("n", ""), note("o", "")],
        vec![note("p", ""), note("q", "one gone, and the other replaced")],
        vec![note("q", "")],
        vec![note("z", "the first again")],
        vec![Op::Evict(vec![EntryId::message(3)]), note("zz", "with an entry that leaves")],
    ];
    let (mut context, mut sent) = (context(), Sent::new(Some(20)));
    for step in steps {
        let shown = format!("{step:?}");
        step.into_iter().for_each(|op| drop(context.apply(op).unwrap()));
        sent.update(&mut context);
        let mut anew = Sent::new(Some(20));
        anew.update(&mut context.clone());
        assert_eq!(sent.prompt().blocks(), anew.prompt().blocks(), "{shown}");
        assert_eq!((sent.base, sent.head()), (anew.base, anew.head()), "{shown}");
        sent.step(true);
    }
}

#[test]
fn note_behind_others_breaks_and_carries_what_follows() {
    let (mut context, mut sent) = (context(), Sent::new(Some(20)));
    sent.update(&mut context);
    let before = sent.prompt().tokens();
    let first = sent.step(true);
    assert_eq!((first.common_prefix, first.broken, first.carried), (0, false, 0));
    let text = Some(" word word word".to_owned());
    context.apply(Op::Note { key: "o".to_owned(), text }).unwrap();
    sent.update(&mut context);
    let step = sent.step(true);
    assert_eq!((step.common_prefix, step.broken, step.carried), (22, true, before));
    assert_eq!(sent.prompt().tokens(), before + 3);
    // Another text of the same size is another text.
    let text = Some(" world world world".to_owned());
    context.apply(Op::Note { key: "o".to_owned(), text }).unwrap();
    sent.update(&mut context);
    assert_eq!(sent.prompt().tokens(), before + 3);
    assert_eq!(sent.step(true).carried, before);
}

#[test]
fn new_recorded_system_prompt_alone_breaks_nothing() {
    let talk = Talk::new("S").user("a").system("S and more").user("b").system("S").user("c").end();
    let mut context = Context::new(Recording::new(Arc::new(talk), Arc::new(Counter::default())));
    let mut sent = Sent::new(None);
    context.append();
    sent.update(&mut context);
    sent.step(true);
    for message in [1, 2] {
        context.enter(message);
        context.append();
        // It may change more than once between two requests.
        sent.update(&mut context);
    }
    let mut anew = Sent::new(None);
    anew.update(&mut context.clone());
    assert_eq!(sent.prompt().blocks(), anew.prompt().blocks());
    let step = sent.step(true);
    assert_eq!((step.common_prefix, step.broken), (0, false));
    hide(&mut context, 1);
    sent.update(&mut context);
    assert!(sent.step(true).broken, "the strategy's own doing");
}

#[test]
fn text_that_stood_elsewhere_in_prompt_is_carried() {
    let mut context = context();
    let mut fold = |message, text: &str| {
        let (range, into) = (vec![EntryId::message(message)], vec![(Role::User, text.to_owned())]);
        context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap()[0]
    };
    let (other, _, again) = (fold(2, " word"), fold(3, " world world"), fold(4, " world world"));
    context.apply(Op::Hide { before: 0, except: Vec::new(), also: vec![other, again] }).unwrap();
    let mut sent = Sent::new(None);
    sent.update(&mut context);
    let before = sent.prompt().tokens();
    sent.step(true);
    context.begin_stage(0);
    sent.update(&mut context);
    let step = sent.step(true);
    assert_eq!(step.carried, before + 2, "only the other text is new");
    assert_eq!(sent.prompt().tokens(), before + 2 + 1);
}

/// Breakpoints that a token saver sets stand in the place of those of the strategy.
#[test]
fn breakpoints_set_by_entry_replace_planned_ones() {
    let mut context = context();
    let mut sent = Sent::new(Some(20));
    sent.update(&mut context);
    let plan = [Breakpoint::Summary, Breakpoint::Newest];
    let mut places = |set: Option<Vec<Option<u32>>>| {
        let entry = |at: Option<u32>| at.map(EntryId::message);
        context.set_breakpoints(set.map(|set| set.into_iter().map(entry).collect()));
        sent.places(&context, &plan, None)
    };
    assert_eq!(places(None), [5, 8]);
    assert_eq!(places(Some(vec![None, Some(2), Some(3)])), [2, 6, 7], "`None` is the preamble");
    assert_eq!(places(Some(Vec::new())), [0; 0]);
    assert_eq!(places(Some(vec![Some(0)])), [0; 0], "it was folded");
    assert_eq!(places(None), [5, 8]);
    hide(&mut context, 3);
    sent.update(&mut context);
    context.set_breakpoints(Some(vec![Some(EntryId::message(3))]));
    assert_eq!(sent.places(&context, &plan, None), [6], "message 2 stands before it");
}
