//! Restores recorded messages when an abandoned session is reopened.

use std::collections::BTreeSet;

use super::Context;
use super::ledger::MessageState;
use super::op::{EntryId, OpError};
use recap_core::model::MessageIndex;

impl Context {
    /// Stores recorded messages again, as they were last sent. Summaries that
    /// covered them stay, and stand for what else they covered.
    pub(super) fn recall(&mut self, messages: Vec<MessageIndex>) -> Result<Vec<EntryId>, OpError> {
        if let Some(&unseen) = messages.iter().find(|&&message| message >= self.seen) {
            return Err(OpError::UnknownEntry(EntryId(unseen)));
        }
        let is_out = |message: &MessageIndex| self.fates[*message as usize] != MessageState::Live;
        let back: BTreeSet<MessageIndex> = messages.into_iter().filter(is_out).collect();
        if back.is_empty() {
            return Ok(Vec::new());
        }
        self.uncover(&back);
        for &message in &back {
            self.fates[message as usize] = MessageState::Live;
            self.changes += 1;
        }
        self.touched.extend(&back);
        self.merge(&back);
        Ok(back.into_iter().map(EntryId).collect())
    }

    /// Removes messages from the covers that stand for them.
    fn uncover(&mut self, back: &BTreeSet<MessageIndex>) {
        let folded = back.iter().filter_map(|&message| match self.fates[message as usize] {
            MessageState::Folded(cover) => Some(cover),
            MessageState::Live | MessageState::Gone => None,
        });
        for cover in folded.collect::<BTreeSet<u32>>() {
            self.covers[cover as usize].messages.retain(|message| !back.contains(message));
        }
    }

    /// Inserts recorded messages before the first stored one that came after them.
    fn merge(&mut self, back: &BTreeSet<MessageIndex>) {
        let mut waiting = back.iter().copied().peekable();
        let mut order = Vec::with_capacity(self.positions.len() + back.len());
        for id in self.stored() {
            if let Some(index) = id.index() {
                while let Some(earlier) = waiting.next_if(|&message| message < index) {
                    order.push(EntryId(earlier));
                }
            }
            order.push(id);
        }
        order.extend(waiting.map(EntryId));
        self.positions = order.iter().map(|&id| (id, 0)).collect();
        self.order = order;
        self.rebuild(&BTreeSet::new(), None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::op::{InsertAt, Op};
    use super::*;
    use crate::testkit::{Rig, Scripted, Talk};
    use recap_core::model::{CallId, Role};

    fn rig() -> Rig {
        let talk = Talk::new("sys")
            .user("zero")
            .calls(&[("c1", "read", serde_json::json!({}))])
            .result("c1", "two")
            .user("three")
            .assistant("four");
        let mut rig = Rig::new("full", &[], 100_000, talk, Arc::new(Scripted::default()));
        rig.feed(5);
        rig
    }

    fn ids(messages: impl IntoIterator<Item = u32>) -> Vec<EntryId> {
        messages.into_iter().map(EntryId::message).collect()
    }

    fn texts(rig: &Rig) -> Vec<String> {
        rig.sent().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn recalled_messages_return_in_place_as_last_sent() {
        let mut rig = rig();
        let before = rig.context.weight();
        rig.context.apply(Op::EditResult(CallId(0), "read".to_owned())).unwrap();
        let edited = rig.context.weight();
        rig.context.apply(Op::Evict(ids(0..4))).unwrap();
        assert_eq!(rig.ledger(), "----v");
        let back = rig.context.apply(Op::Recall(vec![2, 1, 4])).unwrap();
        assert_eq!(back, ids([1, 2]), "the last is there already");
        assert_eq!(rig.ledger(), "-ve-v");
        rig.context.apply(Op::Recall(vec![0, 3])).unwrap();
        assert_eq!(rig.ledger(), "vvevv");
        assert_eq!(rig.context.visible().collect::<Vec<_>>(), ids(0..5));
        assert!(rig.context.weight() == edited && edited != before);
    }

    #[test]
    fn recalled_messages_leave_summary_for_the_rest() {
        let mut rig = rig();
        let into = vec![(Role::User, "summary".to_owned())];
        rig.context.apply(Op::Fold { range: ids(0..4), into, at: InsertAt::Head }).unwrap();
        rig.context.apply(Op::Recall(vec![0, 3])).unwrap();
        assert_eq!(texts(&rig), ["summary", "zero", "three", "four"]);
        assert_eq!(rig.ledger(), "vffvv");
        let summary = rig.context.stored().next().unwrap();
        rig.context.apply(Op::Evict(vec![summary])).unwrap();
        assert_eq!(rig.ledger(), "v--vv");
    }

    #[test]
    fn what_has_not_come_yet_cannot_come_back() {
        let mut rig = rig();
        let refused = rig.context.apply(Op::Recall(vec![0, 5]));
        assert_eq!(refused, Err(OpError::UnknownEntry(EntryId::message(5))));
    }

    #[test]
    fn a_copy_may_call_back_what_it_folds() {
        let mut rig = rig();
        rig.context.apply(Op::Evict(ids(0..3))).unwrap();
        let mut copy = rig.context.fork();
        copy.apply(Op::Recall(vec![0, 1, 2])).unwrap();
        let into = vec![(Role::User, "summary".to_owned())];
        copy.apply(Op::Fold { range: ids(0..3), into, at: InsertAt::Head }).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!((texts(&rig), rig.ledger()), (texts(&rig), "fffvv".to_owned()));
        assert_eq!(texts(&rig), ["summary", "three", "four"]);
    }

    #[test]
    fn each_message_that_comes_back_is_a_change() {
        let mut rig = rig();
        rig.context.apply(Op::Evict(ids(0..4))).unwrap();
        let before = rig.context.changes();
        rig.context.apply(Op::Recall(vec![0, 3])).unwrap();
        assert_eq!(rig.context.changes(), before + 2);
        rig.context.apply(Op::Recall(vec![0, 4])).unwrap();
        assert_eq!(rig.context.changes(), before + 2, "both are there already");
    }
}
