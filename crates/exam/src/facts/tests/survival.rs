//! Whether a reference survives in a context.

use std::sync::Arc;

use super::*;
use recap_strategy::{Context, EntryId, InsertAt, Op, Recording};

/// What a strategy left of a session.
#[derive(Default)]
struct Left {
    verbatim: Vec<u32>,
    edited: Vec<(u32, &'static str)>,
    /// Messages, and the text in their place.
    folded: Option<(Vec<u32>, &'static str)>,
}

fn survival(session: &Session, exam: &Exam) -> Survival {
    let last = LastComponents::new(&exam.references, (0..).zip(&session.messages));
    Survival::new(session, exam, &last)
}

fn whole(session: &Session) -> Context {
    let recording = Recording::new(Arc::new(session.clone()), Arc::default());
    let mut context = Context::new(recording);
    session.messages.iter().for_each(|_| context.append());
    context
}

fn fold(context: &mut Context, messages: &[u32], text: &str) -> EntryId {
    let range = messages.iter().copied().map(EntryId::message).collect();
    let (into, at) = (vec![(Role::User, text.to_owned())], InsertAt::Head);
    context.apply(Op::Fold { range, into, at }).unwrap()[0]
}

impl Left {
    fn of(self, session: &Session) -> Context {
        let mut context = whole(session);
        for (message, text) in &self.edited {
            context.apply(Op::Rewrite(*message, Some((*text).to_owned()))).unwrap();
        }
        let folded = self.folded.iter().flat_map(|(messages, _)| messages);
        let edited = self.edited.iter().map(|(message, _)| message);
        let kept: Vec<&u32> = self.verbatim.iter().chain(edited).chain(folded).collect();
        let gone = (0..session.messages.len() as u32).filter(|at| !kept.contains(&at));
        context.apply(Op::Evict(gone.map(EntryId::message).collect())).unwrap();
        self.folded.iter().for_each(|(messages, text)| _ = fold(&mut context, messages, text));
        context
    }
}

/// The state of `src/net/pool_guard.rs`, which stands in messages 0 and 1;
/// message 2 holds its last component only.
fn state(left: Left) -> ReferenceState {
    let path = "src/net/pool_guard.rs";
    let t = talk(vec![
        user("zebra quagga src/net/pool_guard.rs okapi"),
        user("the zebra and the quagga live in src/net/pool_guard.rs"),
        user("other/pool_guard.rs"),
        user(FILLER),
        agent(path),
        user("later: src/net/pool_guard.rs and pool_guard.rs"),
    ]);
    let exam = exam(&t);
    assert_eq!(exam.references.len(), 1);
    assert_eq!(exam.references[0].sources, [0, 1]);
    survival(&t, &exam).state(0, &left.of(&t))
}

#[test]
fn each_context_keeps_a_reference_in_its_state() {
    use ReferenceState::{Bare, Carried, Lost, Partial, Verbatim};
    let sent = |message| Left { verbatim: vec![message], ..Left::default() };
    let edited = |message, text| Left { edited: vec![(message, text)], ..Left::default() };
    let summary = |text| Left { folded: Some((vec![0, 1, 2, 3], text)), ..Left::default() };
    for (name, left, expected) in [
        ("a source", sent(0), Verbatim),
        ("another message", sent(3), Lost),
        ("its last component alone", sent(2), Partial),
        ("the request", sent(4), Lost),
        ("a message behind the request", sent(5), Lost),
        ("a statement", summary("Zebra, quagga: net/pool_guard.rs"), Carried),
        ("a list of names", summary("- src/net/pool_guard.rs\n- src/main.rs"), Bare),
        ("a longer name", summary("src/net/pool_guard.rs.bak zebra quagga"), Lost),
        ("a summary with its last component", summary("we fixed pool_guard.rs"), Partial),
        ("an edit that says it", edited(1, "zebra quagga src/net/pool_guard.rs"), Carried),
        ("an edit that names it", edited(1, "src/net/pool_guard.rs [...]"), Bare),
        ("a cleared source", edited(1, "[cleared]"), Lost),
        ("an edit with its last component", edited(2, "see pool_guard.rs"), Partial),
        ("a cleared message of its last component", edited(2, "[cleared]"), Lost),
    ] {
        assert_eq!(state(left), expected, "{name}");
    }
}

/// What a strategy keeps of recorded text is not carried: with an empty text in
/// the place of its summaries it would keep the same.
#[test]
fn edit_remainder_is_verbatim_and_its_additions_carried() {
    let left = "[cut]\nzebra and the quagga live in src/net/pool_guard.rs";
    let written = "Zebra and quagga were both seen in src/net/pool_guard.rs";
    let edited = |text| state(Left { edited: vec![(1, text)], ..Left::default() });
    assert_eq!(edited(left), ReferenceState::Verbatim);
    assert_eq!(edited(written), ReferenceState::Carried);
    // A text that stands in the place of one message is an edit of it, and a
    // summary of several is written, even where it quotes.
    let folded = |text, messages: &[u32]| {
        state(Left { folded: Some((messages.to_vec(), text)), ..Left::default() })
    };
    assert_eq!(folded(left, &[1]), ReferenceState::Verbatim);
    assert_eq!(folded(written, &[1]), ReferenceState::Carried);
    assert_eq!(folded(left, &[0, 1]), ReferenceState::Carried);
}

#[test]
fn fresh_survival_forgets_entries_of_other_cell() {
    let t =
        talk(vec![user("zebra quagga drainShardQueue"), user(FILLER), agent("drainShardQueue")]);
    let exam = exam(&t);
    let view = |text| Left { folded: Some((vec![0, 1], text)), ..Left::default() }.of(&t);
    let mut first = survival(&t, &exam);
    assert_eq!(first.state(0, &view("nothing")), ReferenceState::Lost);
    let mut second = first.fresh();
    let kept = second.state(0, &view("zebra quagga drainShardQueue"));
    assert_eq!(kept, ReferenceState::Carried);
}

#[test]
fn carrier_counts_while_sent_and_is_read_once() {
    let t =
        talk(vec![user("zebra quagga drainShardQueue"), user(FILLER), agent("drainShardQueue")]);
    let mut kept = survival(&t, &exam(&t));
    let mut context = whole(&t);
    let list = fold(&mut context, &[0], "- drainShardQueue");
    assert_eq!(kept.state(0, &context), ReferenceState::Bare);
    let said = fold(&mut context, &[1], "the zebra, the quagga, drainShardQueue");
    assert_eq!(kept.state(0, &context), ReferenceState::Carried);
    context.apply(Op::Hide { before: 0, also: vec![said] }).unwrap();
    assert_eq!(kept.state(0, &context), ReferenceState::Bare);
    context.apply(Op::Evict(vec![list])).unwrap();
    assert_eq!(kept.state(0, &context), ReferenceState::Lost);
    context.begin_stage(0);
    assert_eq!(kept.state(0, &context), ReferenceState::Carried);
}

proptest! {
    #[test]
    fn mining_is_deterministic_and_full_keeps_everything(
        parts in prop::collection::vec("[a-z]{3,5}[A-Z][a-z]{3,6}Qx|a/bq_c/[a-z]{4}\\.rs|漢🦀 ?", 1..12),
    ) {
        let mut messages = Vec::new();
        for part in &parts {
            messages.push(user(part));
            messages.push(user(FILLER));
            messages.push(agent(&parts.join(" ")));
        }
        let t = talk(messages);
        let first = exam(&t);
        prop_assert_eq!(&first, &exam(&t));
        let mut kept = survival(&t, &first);
        let full = whole(&t);
        for (at, reference) in first.references.iter().enumerate() {
            prop_assert!(reference.distance_tokens >= 4_000);
            prop_assert!(reference.sources.contains(&reference.last_seen));
            prop_assert_eq!(kept.state(at, &full), ReferenceState::Verbatim);
        }
    }
}

#[test]
fn part_of_a_session_has_the_last_components_of_its_own_messages() {
    let of = |text| talk(vec![user(text), user(FILLER), agent("src/net/pool_guard.rs")]);
    let references = exam(&of("zebra src/net/pool_guard.rs")).references;
    let texts =
        ["in pool_guard.rs", "other/pool_guard.rs", "none", "pool_guard.rs", "pool_guard.rs"];
    let messages = texts.map(user);
    let search = |messages: &[Message]| LastComponents::new(&references, (0..).zip(messages));
    let part = [messages[1].clone(), user("[cleared]"), messages[4].clone()];
    let taken = [(1, false), (3, true), (4, false)];
    let found = search(&messages).part(&references, &part, &taken);
    assert_eq!(found, search(&part));
    assert_ne!(found, search(&part[..2]));
}

#[test]
fn text_is_searched_for_name_and_statement() {
    let t =
        talk(vec![user("zebra quagga drainShardQueue"), user(FILLER), agent("drainShardQueue")]);
    let survival = survival(&t, &exam(&t));
    let found = |text: &str| (survival.place_in(0, text), survival.stated_in(0, text));
    assert_eq!(found("- drainShardQueue"), (Some(2..17), None));
    assert_eq!(found("it drains: drainShardQueue"), (Some(11..26), Some(11..26)));
    assert_eq!(found("drainShardQueues"), (None, None));
    assert_eq!(found("zebra quagga"), (None, None));
}
