//! Notes as carriers of what was folded into them, and sizes of what left.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Context, EntryId, Op, OpError, Place, Recording};
use crate::model::LedgerState;
use crate::model::LedgerState::{Folded, Gone, Verbatim};
use crate::model::Role;
use crate::strategy::testkit::Talk;
use crate::tokens::Counter;

fn context() -> Context {
    let talk = Talk::new("S").user("a").assistant("b").user("c").assistant("d").end();
    let counter = Arc::new(Counter::default());
    let mut context = Context::new(Recording::new(Arc::new(talk), counter));
    (0..4).for_each(|_| context.append());
    context
}

fn fold(context: &mut Context, range: std::ops::Range<u32>, key: &str, text: &str) {
    let range = range.map(EntryId).collect();
    let into = vec![(Role::System, text.to_owned())];
    let new = context.apply(Op::Fold { range, into, at: Place::Note(key.to_owned()) });
    assert_eq!(new, Ok(Vec::new()));
}

fn states(context: &Context) -> Vec<LedgerState> {
    (0..4).map(|at| context.state(at)).collect()
}

#[test]
fn what_is_folded_into_a_note_is_folded_and_weighs_in_the_preamble() {
    let mut context = context();
    let before = context.preamble_weight().tokens;
    fold(&mut context, 0..2, "state", "a and b");
    assert_eq!(states(&context), [Folded, Folded, Verbatim, Verbatim]);
    assert_eq!(context.preamble_weight().tokens, before + 3);
    assert_eq!(context.messages_weight().tokens, 2);
    assert_eq!(context.visible().count(), 2);
}

#[test]
fn the_head_is_the_preamble_in_force_and_the_notes_behind_it() {
    let talk = Talk::new("S").user("a").system("S2").user("b").end();
    let counter = Arc::new(Counter::default());
    let mut context = Context::new(Recording::new(Arc::new(talk), counter));
    assert_eq!(context.head(), "S");
    for (key, text) in [("y", "last"), ("x", "first")] {
        let (key, text) = (key.to_owned(), Some(text.to_owned()));
        context.apply(Op::Note { key, text }).unwrap();
    }
    assert_eq!(context.head(), "S\n\nfirst\n\nlast");
    context.enter(1);
    assert_eq!(context.head(), "S2\n\nfirst\n\nlast");
}

#[test]
fn a_second_fold_takes_over_what_the_note_carried() {
    let mut context = context();
    fold(&mut context, 0..2, "state", "a and b");
    fold(&mut context, 2..3, "state", "a, b and c");
    assert_eq!(states(&context), [Folded, Folded, Folded, Verbatim]);
    assert_eq!(context.notes().collect::<Vec<_>>(), [("state", "a, b and c")]);
    context.apply(Op::Note { key: "state".to_owned(), text: None }).unwrap();
    assert_eq!(states(&context), [Gone, Gone, Gone, Verbatim]);
}

#[test]
fn another_text_in_its_place_loses_what_the_note_carried() {
    let mut context = context();
    fold(&mut context, 0..2, "state", "a and b");
    context.apply(Op::Note { key: "other".to_owned(), text: Some("x".to_owned()) }).unwrap();
    assert_eq!(states(&context)[0], Folded);
    context.apply(Op::Note { key: "state".to_owned(), text: Some("x".to_owned()) }).unwrap();
    assert_eq!(states(&context), [Gone, Gone, Verbatim, Verbatim]);
    let touched: BTreeSet<_> = context.take_touched().into_iter().collect();
    assert_eq!(touched, BTreeSet::from([0, 1]));
}

#[test]
fn a_note_has_one_text_of_the_systems() {
    let mut context = context();
    let one = |role| vec![(role, "x".to_owned())];
    for into in [one(Role::User), [one(Role::System), one(Role::System)].concat()] {
        let (range, at) = (vec![EntryId(0)], Place::Note("state".to_owned()));
        let refused = context.apply(Op::Fold { range, into, at });
        assert_eq!(refused, Err(OpError::NotANote("state".to_owned())));
    }
    assert_eq!(states(&context), [Verbatim; 4]);
}

#[test]
fn a_carrying_note_survives_saving() {
    let mut context = context();
    fold(&mut context, 0..2, "state", "a and b");
    let json = serde_json::to_string(&context.save()).unwrap();
    let saved = serde_json::from_str(&json).unwrap();
    let mut restored = Context::restore(context.recording().clone(), saved);
    assert_eq!(states(&restored), states(&context));
    assert_eq!(restored.weight(), context.weight());
    restored.apply(Op::Note { key: "state".to_owned(), text: None }).unwrap();
    assert_eq!(states(&restored)[..2], [Gone, Gone]);
}

#[test]
fn an_entry_that_left_keeps_the_size_it_was_last_sent_with() {
    let mut context = context();
    let recorded = context.recording().sizes.messages[0];
    let range = vec![EntryId(0), EntryId(1)];
    let into = vec![(Role::User, "a and b".to_owned())];
    let new = context.apply(Op::Fold { range, into, at: Place::Head }).unwrap();
    assert_eq!(context.weight_of(EntryId(0)), recorded);
    assert_eq!(context.weight_of(new[0]).tokens, 3);
    context.apply(Op::Evict(new.clone())).unwrap();
    assert_eq!(context.weight_of(new[0]).tokens, 3);
}

#[test]
fn a_part_of_a_recording_keeps_models_and_system_prompts_at_their_messages() {
    let mut talk =
        Talk::new("S").user("a").assistant("b").system("S2").user("c").assistant("d").end();
    talk.other_models.insert(3, "other".to_owned());
    let whole = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
    let part = whole.part(&[(0, None), (2, Some("x")), (3, None)], Vec::new());
    let models: Vec<_> = part.transcript.other_models.iter().collect();
    assert_eq!(models, [(&2, &"other".to_owned())]);
    assert_eq!(part.transcript.preamble.system, ["S"]);
    assert_eq!(part.transcript.preamble_changes[0].before, 1);
    let later = whole.part(&[(2, None), (3, None)], Vec::new()).transcript;
    assert_eq!(
        (later.preamble.system.clone(), later.preamble_changes.len()),
        (vec!["S2".to_owned()], 0)
    );
}
