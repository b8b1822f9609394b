//! Notes as carriers of what was folded into them, and sizes of what left.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::sent::Sent;
use super::{Context, EntryId, InsertAt, Op, OpError, Recording};
use crate::testkit::{Talk, words};
use recap_billing::prompt_cache::Block;
use recap_core::model::LedgerState;
use recap_core::model::LedgerState::{Folded, Gone, Verbatim};
use recap_core::model::Role;
use recap_core::tokens::{Counter, Shrink};

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
    let new = context.apply(Op::Fold { range, into, at: InsertAt::Note(key.to_owned()) });
    assert_eq!(new, Ok(Vec::new()));
}

fn states(context: &Context) -> Vec<LedgerState> {
    (0..4).map(|at| context.state(at)).collect()
}

#[test]
fn messages_folded_into_note_weigh_in_preamble() {
    let mut context = context();
    let before = context.preamble_weight().tokens;
    fold(&mut context, 0..2, "state", "a and b");
    assert_eq!(states(&context), [Folded, Folded, Verbatim, Verbatim]);
    assert_eq!(context.preamble_weight().tokens, before + 3);
    assert_eq!(context.messages_weight().tokens, 2);
    assert_eq!(context.visible().count(), 2);
}

#[test]
fn head_is_current_preamble_followed_by_notes() {
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
fn second_fold_takes_over_what_note_carried() {
    let mut context = context();
    fold(&mut context, 0..2, "state", "a and b");
    fold(&mut context, 2..3, "state", "a, b and c");
    assert_eq!(states(&context), [Folded, Folded, Folded, Verbatim]);
    assert_eq!(context.notes().collect::<Vec<_>>(), [("state", "a, b and c")]);
    context.apply(Op::Note { key: "state".to_owned(), text: None }).unwrap();
    assert_eq!(states(&context), [Gone, Gone, Gone, Verbatim]);
}

#[test]
fn replaced_note_text_loses_what_it_carried() {
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
        let (range, at) = (vec![EntryId(0)], InsertAt::Note("state".to_owned()));
        let refused = context.apply(Op::Fold { range, into, at });
        assert_eq!(refused, Err(OpError::NotANote("state".to_owned())));
    }
    assert_eq!(states(&context), [Verbatim; 4]);
}

#[test]
fn departed_entry_keeps_its_last_sent_size() {
    let mut context = context();
    let recorded = context.recording().sizes.messages[0];
    let range = vec![EntryId(0), EntryId(1)];
    let into = vec![(Role::User, "a and b".to_owned())];
    let new = context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap();
    assert_eq!(context.weight_of(EntryId(0)), recorded);
    assert_eq!(context.weight_of(new[0]).tokens, 3);
    context.apply(Op::Evict(new.clone())).unwrap();
    assert_eq!(context.weight_of(new[0]).tokens, 3);
}

#[test]
fn recording_part_keeps_models_and_prompts_at_messages() {
    let mut talk =
        Talk::new("S").user("a").assistant("b").system("S2").user("c").assistant("d").end();
    talk.other_models.insert(3, "other".to_owned());
    let whole = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
    let part = whole.part(&[(0, None), (2, Some("x")), (3, None)], Vec::new());
    let models: Vec<_> = part.session.other_models.iter().collect();
    assert_eq!(models, [(&2, &"other".to_owned())]);
    assert_eq!(part.session.preamble.system, ["S"]);
    assert_eq!(part.session.preamble_changes[0].before, 1);
    let later = whole.part(&[(2, None), (3, None)], Vec::new()).session;
    assert_eq!(
        (later.preamble.system.clone(), later.preamble_changes.len()),
        (vec!["S2".to_owned()], 0)
    );
}

/// A question of 10 tokens, a call, its result of 20, an answer of 30, and
/// another call with a result of 7.
fn sized() -> Recording {
    let call = |id| [(id, "read", serde_json::json!({}))];
    let talk = Talk::new("S").user(&words(10)).calls(&call("a")).result("a", &words(20));
    let talk = talk.assistant(&words(30)).calls(&call("b")).result("b", &words(7));
    Recording::new(Arc::new(talk.end()), Arc::new(Counter::default()))
}

#[test]
fn message_shrinks_from_request_that_omits_its_part() {
    let shrink = |before, message, tokens| Shrink { before, message, tokens };
    let mut recording = sized();
    Arc::make_mut(&mut recording.sizes).shrinks =
        vec![shrink(3, 2, 4), shrink(4, 2, 3), shrink(4, 0, 1)];
    let mut context = Context::new(recording.clone());
    (0..3).for_each(|_| context.append());
    let whole = context.messages_weight().tokens;
    context.enter(2);
    assert_eq!((context.messages_weight().tokens, context.changes()), (whole, 0));
    context.enter(3);
    assert_eq!((context.messages_weight().tokens, context.changes()), (whole - 4, 1));
    assert_eq!(context.tool_tokens_after(None), 16);
    context.append();
    context.enter(4);
    assert_eq!((context.messages_weight().tokens, context.changes()), (whole - 8 + 30, 3));
    let sizes = [0, 2, 3].map(|at| context.weight_of(EntryId(at)).tokens);
    assert_eq!(sizes, [9, 13, 30]);
    assert_eq!(
        (context.tool_tokens_after(None), context.recorded_weight_before(1).tokens),
        (13, 9)
    );
    // What is not in the context any more changes nothing in it.
    let mut context = Context::new(recording);
    (0..3).for_each(|_| context.append());
    context.apply(Op::Evict(vec![EntryId(0), EntryId(2)])).unwrap();
    let before = (context.messages_weight(), context.changes());
    context.enter(4);
    assert_eq!((context.messages_weight(), context.changes()), before);
}

#[test]
fn tool_output_counts_after_present_or_departed_entry() {
    let mut context = Context::new(sized());
    (0..6).for_each(|_| context.append());
    let after = |context: &Context, at| context.tool_tokens_after(Some(EntryId(at)));
    assert_eq!(context.tool_tokens_after(None), 27);
    assert_eq!([1, 2, 4, 5].map(|at| after(&context, at)), [27, 7, 7, 0]);
    context.apply(Op::Evict(vec![EntryId(1), EntryId(2)])).unwrap();
    assert_eq!([0, 2, 5].map(|at| after(&context, at)), [7, 7, 0]);
}

#[test]
fn whole_summary_size_is_shared_among_its_texts() {
    let mut context = Context::new(sized());
    (0..6).for_each(|_| context.append());
    let rest = context.messages_weight().tokens - 10 - 30;
    let into = [2, 3, 5].map(|tokens| (Role::User, words(tokens))).to_vec();
    let range = vec![EntryId(0), EntryId(3)];
    let new = context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap();
    assert_eq!(context.messages_weight().tokens, rest + 10);
    context.size_written(&new, 27);
    // Two, three and five tenths of 27, rounded down; the last takes what is left.
    let sizes: Vec<u64> = new.iter().map(|&id| context.weight_of(id).tokens).collect();
    assert_eq!(sizes, [5, 8, 14]);
    assert_eq!(context.messages_weight().tokens, rest + 27);
    assert_eq!(context.recorded_weight_before(6).tokens, rest);
}

#[test]
fn every_strategy_written_text_has_its_own_number() {
    let mut context = context();
    assert_eq!(context.written(), (0, 0));
    let into = vec![(Role::User, "sum".to_owned())];
    let range = vec![EntryId(0)];
    let entry = context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap()[0];
    for (key, text) in [("x", "one"), ("y", "two"), ("x", "three")] {
        context.apply(Op::Note { key: key.to_owned(), text: Some(text.to_owned()) }).unwrap();
    }
    assert_eq!((context.written(), context.synthetic_count()), ((1, 3), 1));
    let written = |entries, notes| {
        let mut found: Vec<(u32, String)> = Vec::new();
        context.each_written(entries, notes, &mut |id, text| found.push((id, text.to_owned())));
        found
    };
    let text = |id: u32, text: &str| (id, text.to_owned());
    assert_eq!(written(0, 0), [text(entry.0, "sum"), text(2, "two"), text(3, "three")]);
    assert_eq!(written(1, 2), [text(3, "three")]);
    assert!(written(9, 3).is_empty());
    assert_eq!([1, 3].map(|id| context.written_text(id)), [None, Some(("three", true))]);
    assert_eq!(context.written_text(entry.0), Some(("sum", true)));
    context.apply(Op::Hide { before: 0, also: vec![entry] }).unwrap();
    assert_eq!(context.written_text(entry.0), Some(("sum", false)));
    context.apply(Op::Evict(vec![entry])).unwrap();
    assert_eq!(context.written_text(entry.0), None);
}

#[test]
fn recording_part_has_facts_and_both_message_sizes() {
    let mut talk = Talk::new("S").user(&words(3)).assistant(&words(5)).user(&words(7)).end();
    talk.model = Some("model".to_owned());
    talk.project = Some("project".to_owned());
    talk.metadata = vec!["/home/x".to_owned()];
    let mut whole = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
    let tokens = |part: &Recording| {
        let of = |sizes: &recap_core::tokens::Sizes| -> Vec<u64> {
            sizes.messages.iter().map(|weight| weight.tokens).collect()
        };
        (of(&part.sizes), of(&part.exact))
    };
    let part = whole.part(&[(1, None), (2, None)], Vec::new());
    assert_eq!(tokens(&part), (vec![5, 7], vec![5, 7]));
    let said = &part.session;
    assert_eq!((said.id.as_str(), said.model.as_deref()), ("talk", Some("model")));
    assert_eq!((said.project.as_deref(), said.metadata.len()), (Some("project"), 1));
    Arc::make_mut(&mut whole.sizes).messages[2].tokens = 77;
    let part = whole.part(&[(1, None), (2, None)], Vec::new());
    assert_eq!(tokens(&part), (vec![5, 77], vec![5, 7]), "as the provider counts, and exactly");
}

#[test]
fn every_edit_departure_and_return_is_a_change() {
    let mut context = Context::new(sized());
    (0..6).for_each(|_| context.append());
    let mut changes = |op| {
        let before = context.changes();
        context.apply(op).unwrap();
        context.changes() - before
    };
    assert_eq!(changes(Op::EditResult(recap_core::model::CallId(0), "x".to_owned())), 1);
    assert_eq!(changes(Op::Hide { before: 1, also: Vec::new() }), 0);
    assert_eq!(changes(Op::Evict(vec![EntryId(0), EntryId(3)])), 2);
    assert_eq!(changes(Op::Recall(vec![0, 3, 4])), 2);
    let into = vec![(Role::User, "sum".to_owned())];
    let range = vec![EntryId(0), EntryId(3), EntryId(4)];
    assert_eq!(changes(Op::Fold { range, into, at: InsertAt::Head }), 3);
    // The call is edited, and leaves with its result.
    assert_eq!(changes(Op::RemoveCall(recap_core::model::CallId(0))), 3);
}

/// The blocks of a context's prompt.
fn prompt(context: &Context) -> Vec<Block> {
    let mut sent = Sent::new(None);
    sent.update(&mut context.clone());
    sent.prompt().blocks()
}

/// The result of 20 tokens of [`sized`], for which a provider counted `tokens`.
fn counted(tokens: u64) -> Context {
    let mut recording = sized();
    Arc::make_mut(&mut recording.sizes).messages[2].tokens = tokens;
    let mut context = Context::new(recording);
    (0..6).for_each(|_| context.append());
    context
}

#[test]
fn rewritten_size_follows_text_from_recorded_size() {
    // What was counted for 20 tokens of text, the tokens of the new text, and its size: as many
    // fewer, or in proportion where less was counted than the text has; as many more.
    let cases = [
        (20, 5, 5),
        (20, 20, 20),
        (20, 26, 26),
        (50, 5, 35),
        (50, 30, 60),
        (10, 5, 3), // 15 of 20 are gone: 10 less 7.5, rounded down.
        (10, 0, 0),
        (10, 24, 14),
        (0, 5, 0),
    ];
    for (recorded, text, size) in cases {
        let mut context = counted(recorded);
        let rest = context.messages_weight().tokens - recorded;
        context.apply(Op::Rewrite(2, Some(words(text)))).unwrap();
        let case = format!("{recorded}, {text}");
        assert_eq!(context.weight_of(EntryId(2)).tokens, size, "{case}");
        assert_eq!(context.messages_weight().tokens, rest + size, "{case}");
        assert_eq!(context.entry(EntryId(2)).unwrap().text, words(text), "{case}");
        assert_eq!(context.state(2), LedgerState::Edited, "{case}");
        let output = context.tool_tokens_after(None);
        assert_eq!(output, if recorded > 0 { 7 + size.min(text as u64) } else { 7 }, "{case}");
    }
}

#[test]
fn message_rewritten_back_is_as_never_rewritten() {
    let (mut context, plain) = (counted(50), counted(50));
    let mut sent = Sent::new(None);
    sent.update(&mut context);
    for text in [Some(words(3)), Some(words(4)), None, None] {
        let is_back = text.is_none();
        context.apply(Op::Rewrite(2, text)).unwrap();
        sent.update(&mut context);
        assert_eq!(sent.prompt().blocks(), prompt(&context), "as if looked at for the first time");
        assert_eq!(prompt(&context) == prompt(&plain), is_back);
        assert_eq!(context.weight() == plain.weight(), is_back);
    }
    assert_eq!(states(&context), [Verbatim; 4]);
    let unseen = Context::new(sized()).apply(Op::Rewrite(2, None));
    assert_eq!(unseen, Err(OpError::UnknownEntry(EntryId(2))));
}

#[test]
fn other_preamble_replaces_recorded_one_until_taken_back() {
    let (mut context, plain) = (context(), context());
    let before = plain.preamble_weight().tokens;
    for text in [words(5), words(7)] {
        context.apply(Op::Preamble(Some(text.clone()))).unwrap();
        let tokens = text.matches("word").count() as u64;
        assert_eq!(context.preamble_weight().tokens, before - 1 + tokens, "`S` is one token");
        assert_eq!(context.head(), text);
        let blocks = prompt(&context);
        assert_eq!(blocks[0].end, tokens);
        assert_eq!(blocks.len(), prompt(&plain).len());
    }
    let other = prompt(&context);
    context.apply(Op::Preamble(None)).unwrap();
    assert_ne!(other, prompt(&plain));
    assert_eq!(prompt(&context), prompt(&plain));
    assert_eq!((context.head(), context.weight()), (plain.head(), plain.weight()));
}
