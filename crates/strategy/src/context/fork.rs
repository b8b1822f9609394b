//! Background work: changes of a copy are applied to the original later, as far
//! as they still apply (how-it-works §25).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Context;
use super::op::{EntryId, InsertAt, Op};

/// An operation on the copy, with the entries that it created there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    pub(super) op: Op,
    pub(super) made: Vec<EntryId>,
}

impl Context {
    /// A copy that logs its changes.
    pub fn fork(&self) -> Self {
        Self { log: Some(Vec::new()), ..self.clone() }
    }

    /// How many entries were written into the context so far.
    pub fn written_count(&self) -> usize {
        self.synthetic.len()
    }

    /// The stored entries that were written into the context behind so many.
    pub fn written_since(&self, count: usize) -> Vec<EntryId> {
        self.stored().filter(|id| id.ordinal().is_some_and(|at| at >= count)).collect()
    }

    /// The logged changes of a copy.
    pub fn into_log(self) -> Vec<Applied> {
        self.log.unwrap_or_default()
    }

    /// Applies the changes of a copy. Those about entries that were removed
    /// meanwhile are dropped.
    pub fn apply_log(&mut self, log: Vec<Applied>) {
        let mut here: BTreeMap<EntryId, EntryId> = BTreeMap::new();
        for Applied { op, made } in log {
            let Some(op) = self.applicable(op, &here) else { continue };
            // An operation that is refused now is about entries that were
            // removed meanwhile.
            if let Ok(now) = self.perform(op) {
                here.extend(made.into_iter().zip(now));
            }
        }
    }

    /// The part of an operation that still applies, with the ids that its
    /// entries have here.
    fn applicable(&self, op: Op, here: &BTreeMap<EntryId, EntryId>) -> Option<Op> {
        let named = |id: EntryId| here.get(&id).copied().unwrap_or(id);
        let left = |ids: Vec<EntryId>| {
            let left: Vec<EntryId> =
                ids.into_iter().map(named).filter(|&id| self.contains(id)).collect();
            (!left.is_empty()).then_some(left)
        };
        Some(match op {
            Op::Evict(ids) => Op::Evict(left(ids)?),
            Op::Fold { range, into, at: InsertAt::Behind(id) } => {
                let anchor = Some(named(id)).filter(|&id| self.contains(id));
                let at = anchor.map_or(InsertAt::InPlace, InsertAt::Behind);
                Op::Fold { range: left(range)?, into, at }
            }
            Op::Fold { range, into, at } => Op::Fold { range: left(range)?, into, at },
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Rig, Scripted, Talk};
    use recap_core::model::{CallId, Role};
    use std::sync::Arc;

    fn rig() -> Rig {
        let talk = Talk::new("sys")
            .user("one")
            .calls(&[("c1", "read", serde_json::json!({}))])
            .result("c1", "two")
            .user("three")
            .assistant("four");
        let mut rig = Rig::new("full", &[], 100_000, talk, Arc::new(Scripted::default()));
        rig.feed(4);
        rig
    }

    fn id(index: u32) -> EntryId {
        EntryId::message(index)
    }

    fn fold(ids: &[u32], text: &str) -> Op {
        let range = ids.iter().map(|&i| id(i)).collect();
        Op::Fold { range, into: vec![(Role::User, text.to_owned())], at: InsertAt::Head }
    }

    #[test]
    fn copy_changes_apply_later_and_newer_messages_stay() {
        let mut rig = rig();
        let mut copy = rig.context.fork();
        copy.apply(fold(&[0, 1, 2], "sum")).unwrap();
        rig.feed(1);
        assert_eq!(rig.ledger(), "vvvvv", "nothing is done yet");
        rig.context.apply_log(copy.into_log());
        assert_eq!(rig.ledger(), "fffvv");
        let texts: Vec<String> = rig.sent().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["sum", "three", "four"]);
    }

    #[test]
    fn fold_omits_removed_entries_and_empty_is_dropped() {
        let mut rig = rig();
        let mut copy = rig.context.fork();
        copy.apply(fold(&[0, 3], "sum")).unwrap();
        copy.apply(fold(&[1, 2], "calls")).unwrap();
        rig.context.apply(Op::Evict(vec![id(1), id(2), id(3)])).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!(rig.ledger(), "f---");
        assert_eq!(rig.sent().len(), 1);
    }

    #[test]
    fn edit_of_a_result_removed_meanwhile_is_dropped() {
        let mut rig = rig();
        let mut copy = rig.context.fork();
        copy.apply(Op::EditResult(CallId(0), "short".to_owned())).unwrap();
        rig.context.apply(Op::RemoveCall(CallId(0))).unwrap();
        rig.context.apply_log(copy.into_log());
        assert_eq!(rig.ledger(), "v--v");
    }

    #[test]
    fn entries_made_in_copy_are_renamed_on_applying() {
        let mut rig = rig();
        let mut copy = rig.context.fork();
        let made = copy.apply(fold(&[0], "first")).unwrap();
        copy.apply(Op::Fold {
            range: vec![made[0], id(3)],
            into: vec![(Role::User, "second".to_owned())],
            at: InsertAt::Head,
        })
        .unwrap();
        rig.context.apply(fold(&[1, 2], "meanwhile")).unwrap();
        rig.context.apply_log(copy.into_log());
        let texts: Vec<String> = rig.sent().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["meanwhile", "second"]);
        assert_eq!(rig.ledger(), "ffff");
    }
}
