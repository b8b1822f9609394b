//! Tracks the state of every message, at a cost that depends only on the number
//! of changes.

use std::sync::Arc;

use recap_core::model::{CompactionRow, LedgerState, LossRow, MessageIndex};
use recap_strategy::{AllHidden, Context};

/// Messages that changed state, by their new state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub folded: u32,
    pub gone: u32,
    pub edited: u32,
}

impl Changes {
    /// Notes what a compaction changed in its row.
    pub fn note(self, row: &mut CompactionRow) {
        row.messages_folded = self.folded;
        row.messages_evicted = self.gone;
        row.messages_edited = self.edited;
    }
}

/// The last known state of every message, and the rows of the loss map.
#[derive(Debug, Default)]
pub(super) struct Loss {
    states: Vec<LedgerState>,
    last_row: Vec<Option<usize>>,
    hidden: Arc<AllHidden>,
    rows: Vec<LossRow>,
}

impl Loss {
    /// The states of a context that is resumed: only later changes are reported.
    pub fn resumed(context: &Context) -> Self {
        Self {
            states: (0..context.seen_count()).map(|message| context.state(message)).collect(),
            hidden: Arc::clone(context.all_hidden()),
            ..Self::default()
        }
    }

    /// Recorded messages whose state may have changed since the last call: new
    /// messages, messages that operations changed, and messages that were newly
    /// hidden or shown; ascending.
    pub(super) fn take_moved(&mut self, context: &mut Context) -> Vec<MessageIndex> {
        let mut moved = context.take_touched();
        moved.extend(self.states.len() as MessageIndex..context.seen_count());
        let (now, known) = (context.all_hidden(), &self.hidden);
        if now != known {
            moved.extend(known.before.min(now.before)..known.before.max(now.before));
            for id in known.named_otherwise(now) {
                moved.extend(id.index());
                moved.extend(context.covered_by(id));
            }
            self.hidden = Arc::clone(now);
        }
        moved.sort_unstable();
        moved.dedup();
        moved
    }

    /// Records the new states of the messages that changed; `request` is the
    /// ordinal of the first request after the change.
    pub fn observe(&mut self, context: &Context, moved: &[MessageIndex], request: u32) -> Changes {
        let seen = context.seen_count() as usize;
        self.states.resize(seen, LedgerState::Verbatim);
        self.last_row.resize(seen, None);
        let mut changes = Changes::default();
        for &message in moved {
            let Some(old) = self.states.get(message as usize).copied() else { continue };
            let new = context.state(message);
            if new == old {
                continue;
            }
            match new {
                LedgerState::Folded => changes.folded += 1,
                LedgerState::Gone => changes.gone += 1,
                LedgerState::Edited => changes.edited += 1,
                LedgerState::Verbatim => {}
            }
            self.states[message as usize] = new;
            self.write(LossRow { message, request, state: new });
        }
        changes
    }

    /// A change before the same request replaces the recorded one.
    fn write(&mut self, row: LossRow) {
        let last = &mut self.last_row[row.message as usize];
        match last {
            Some(at) if self.rows[*at].request == row.request => self.rows[*at].state = row.state,
            _ => {
                *last = Some(self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// The rows, by request and message; those without an effective change are
    /// left out.
    pub(super) fn into_rows(self) -> Vec<LossRow> {
        let mut rows = self.rows;
        rows.sort_unstable_by_key(|r| (r.message, r.request));
        let mut last: Option<LossRow> = None;
        rows.retain(|row| {
            let before = match last {
                Some(l) if l.message == row.message => l.state,
                _ => LedgerState::Verbatim,
            };
            last = Some(*row);
            before != row.state
        });
        rows.sort_unstable_by_key(|r| (r.request, r.message));
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use recap_core::model::{CallId, Role, Session};
    use recap_core::tokens::Counter;
    use recap_strategy::testkit::Talk;
    use recap_strategy::{EntryId, InsertAt, Op, Pairs, Recording, pairs_are_whole};

    /// Twelve rounds with a question, one to three calls and their results; every
    /// fourth round ends before its last result.
    fn talk() -> Session {
        let mut talk = Talk::new("S");
        for round in 0..12 {
            talk = talk.user("look");
            let ids: Vec<String> = (0..=round % 3).map(|at| format!("c{round}-{at}")).collect();
            let calls: Vec<_> = ids.iter().map(|id| (id.as_str(), "read", json!({}))).collect();
            talk = talk.calls(&calls);
            let answered = ids.len() - usize::from(round % 4 == 3);
            talk = ids[..answered].iter().fold(talk, |talk, id| talk.result(id, "found"));
        }
        talk.end()
    }

    /// An action of a strategy; entries are chosen among those stored.
    #[derive(Clone, Debug)]
    enum Act {
        Append,
        Stage(u32),
        Hide(u32, Vec<usize>),
        Edit(u32),
        Remove(u32),
        Evict(Vec<usize>),
        Fold(Vec<usize>, bool),
        Resume,
    }

    fn act() -> impl Strategy<Value = Act> {
        let some = || prop::collection::vec(any::<usize>(), 1..4);
        prop_oneof![
            8 => Just(Act::Append),
            2 => (0u32..2).prop_map(Act::Stage),
            2 => (0u32..50, some()).prop_map(|(before, also)| Act::Hide(before, also)),
            1 => (0u32..24).prop_map(Act::Edit),
            2 => (0u32..24).prop_map(Act::Remove),
            1 => some().prop_map(Act::Evict),
            1 => (some(), any::<bool>()).prop_map(|(range, place)| Act::Fold(range, place)),
            1 => Just(Act::Resume),
        ]
    }

    fn chosen(context: &Context, numbers: &[usize]) -> Vec<EntryId> {
        let stored: Vec<EntryId> = context.stored().collect();
        let picked = numbers.iter().filter_map(|n| stored.get(n % stored.len().max(1)).copied());
        picked.collect::<BTreeSet<_>>().into_iter().collect()
    }

    struct Followed {
        context: Context,
        loss: Loss,
        pairs: Pairs,
    }

    impl Followed {
        /// Refused operations change nothing, so their errors do not matter here.
        fn act(&mut self, act: Act, recording: &Recording) {
            let context = &mut self.context;
            let op = match act {
                Act::Append => {
                    let next = context.seen_count();
                    if (next as usize) < recording.session.messages.len() {
                        context.append();
                        self.pairs.recheck_pairs(context, [next]);
                    }
                    return;
                }
                Act::Stage(stage) => return context.begin_stage(stage),
                Act::Resume => {
                    self.loss = Loss::resumed(context);
                    self.pairs = Pairs::default();
                    return self.pairs.recheck_pairs(context, 0..context.seen_count());
                }
                Act::Hide(before, also) => Op::Hide { before, also: chosen(context, &also) },
                Act::Edit(call) => Op::EditResult(CallId(call), "cleared".to_owned()),
                Act::Remove(call) => Op::RemoveCall(CallId(call)),
                Act::Evict(ids) => Op::Evict(chosen(context, &ids)),
                Act::Fold(range, in_place) => Op::Fold {
                    range: chosen(context, &range),
                    into: vec![(Role::User, "summary".to_owned())],
                    at: if in_place { InsertAt::InPlace } else { InsertAt::Head },
                },
            };
            let _ = context.apply(op);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn tracked_pairs_agree_with_scan_of_all_messages(
            acts in prop::collection::vec(act(), 1..120),
        ) {
            let counter = Arc::new(Counter::default());
            let recording = Recording::new(Arc::new(talk()), counter);
            let context = Context::new(recording.clone());
            let mut followed =
                Followed { context, loss: Loss::default(), pairs: Pairs::default() };
            for act in acts {
                followed.act(act, &recording);
                let moved = followed.loss.take_moved(&mut followed.context);
                followed.pairs.recheck_pairs(&followed.context, moved.iter().copied());
                followed.loss.observe(&followed.context, &moved, 0);
                let whole = pairs_are_whole(&followed.context);
                prop_assert_eq!(followed.pairs.are_whole(), whole.is_ok(), "{:?}", whole);
                let shown = followed.context.visible().map(|id| followed.context.weight_of(id).tokens);
                prop_assert_eq!(followed.context.messages_weight().tokens, shown.sum::<u64>());
                for (message, followed_state) in (0u32..).zip(&followed.loss.states) {
                    let state = followed.context.state(message);
                    prop_assert_eq!(*followed_state, state, "{}", message);
                    let context = &followed.context;
                    let later = |id: &EntryId| id.index().is_some_and(|index| index >= message);
                    let later = context.visible().filter(later).map(|id| context.weight_of(id));
                    let rest = later.fold(context.weight(), |rest, own| rest - own);
                    prop_assert_eq!(context.weight_before(message), rest);
                }
            }
        }
    }

    fn row(message: MessageIndex, request: u32, state: LedgerState) -> LossRow {
        LossRow { message, request, state }
    }

    #[test]
    fn rows_list_only_state_changes_sorted_by_message() {
        use LedgerState::{Edited, Folded, Gone, Verbatim};
        let rows = vec![
            row(3, 2, Folded),
            row(1, 1, Verbatim),
            row(1, 2, Edited),
            row(2, 2, Edited),
            row(3, 4, Folded),
            row(3, 5, Verbatim),
            row(2, 5, Gone),
        ];
        let loss = Loss { rows, ..Loss::default() };
        let expected = [
            row(1, 2, Edited),
            row(2, 2, Edited),
            row(3, 2, Folded),
            row(2, 5, Gone),
            row(3, 5, Verbatim),
        ];
        assert_eq!(loss.into_rows(), expected);
    }

    #[test]
    fn later_change_before_same_request_replaces_earlier() {
        use LedgerState::{Edited, Folded, Gone};
        let mut loss = Loss { last_row: vec![None; 2], ..Loss::default() };
        loss.write(row(1, 2, Folded));
        loss.write(row(1, 2, Edited));
        loss.write(row(0, 2, Gone));
        loss.write(row(1, 3, Gone));
        assert_eq!(loss.rows, [row(1, 2, Edited), row(0, 2, Gone), row(1, 3, Gone)]);
    }

    #[test]
    fn changes_are_counted_by_resulting_message_state() {
        let talk = (0..5).fold(Talk::new("S"), |talk, _| talk.user("look"));
        let talk = talk.calls(&[("c", "read", json!({}))]).result("c", "found it here").end();
        let recording = Recording::new(Arc::new(talk), Arc::default());
        let mut context = Context::new(recording);
        (0..7).for_each(|_| context.append());
        let mut loss = Loss::default();
        let moved = loss.take_moved(&mut context);
        assert_eq!(loss.observe(&context, &moved, 3), Changes::default());
        let ids = |from, to| (from..to).map(EntryId::message).collect::<Vec<_>>();
        let into = vec![(Role::User, "summary".to_owned())];
        context.apply(Op::Evict(ids(0, 3))).unwrap();
        context.apply(Op::Fold { range: ids(3, 5), into, at: InsertAt::InPlace }).unwrap();
        context.apply(Op::EditResult(CallId(0), "cleared".to_owned())).unwrap();
        let moved = loss.take_moved(&mut context);
        let changes = loss.observe(&context, &moved, 4);
        assert_eq!(changes, Changes { folded: 2, gone: 3, edited: 1 });
        let moved = loss.take_moved(&mut context);
        assert_eq!(loss.observe(&context, &moved, 5), Changes::default());
        let rows = loss.into_rows();
        assert!(rows.iter().all(|row| row.request == 4), "{rows:?}");
        assert_eq!(rows.iter().map(|row| row.message).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 6]);
    }
}
