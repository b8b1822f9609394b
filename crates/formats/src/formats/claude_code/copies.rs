//! What a log writes again.
//!
//! A compaction writes earlier records once more, with their ids and times or
//! with new ids, and the next record names the last of them as its parent
//! (anthropics/claude-code 92089). The copies are no turns, and what follows
//! them follows what was written before them.

use super::wire::{Body, Record};
use crate::formats::prelude::*;

/// The records so far, by what tells a copy.
#[derive(Default)]
pub(super) struct Copies {
    uuids: FxHashSet<String>,
    /// The first record of each time and role.
    first: FxHashMap<(Timestamp, bool), usize>,
    /// The record whose copy has another id.
    originals: FxHashMap<String, String>,
    /// The copies since the last record that is none, and the newest of them.
    run: FxHashSet<String>,
    newest: Option<String>,
    /// Copies behind which other records follow.
    ends: FxHashSet<String>,
}

impl Copies {
    /// Whether a record repeats an earlier one. One that is new is told whether
    /// it hangs on the end of a copy.
    pub(super) fn is_copy(&mut self, records: &[Record], record: &mut Record) -> bool {
        for parent in [&mut record.header.parent_uuid, &mut record.header.logical_parent_uuid] {
            if let Some(original) = parent.as_ref().and_then(|uuid| self.originals.get(uuid)) {
                *parent = Some(original.clone());
            }
        }
        let Some(uuid) = record.header.uuid.clone() else { return false };
        let original = match self.uuids.contains(&uuid) {
            true => Some(uuid.clone()),
            false => self.same_words(records, record),
        };
        if let Some(original) = original {
            if original != uuid {
                self.originals.insert(uuid, original.clone());
            }
            self.run.insert(original.clone());
            self.newest = Some(original);
            return true;
        }
        self.uuids.insert(uuid);
        if let Some(key) = time_and_role(record) {
            self.first.entry(key).or_insert(records.len());
        }
        let parent = record.parent();
        self.ends.extend(self.newest.take());
        self.ends.extend(parent.filter(|uuid| self.run.contains(*uuid)).map(str::to_owned));
        self.run.clear();
        record.behind_copy = parent.is_some_and(|uuid| self.ends.contains(uuid));
        false
    }

    /// The id of an earlier record of the same time, role and content. Two
    /// blocks of one response may be equal: the second hangs on the first.
    fn same_words(&self, records: &[Record], record: &Record) -> Option<String> {
        let first = records.get(*self.first.get(&time_and_role(record)?)?)?;
        let same = match (&first.body, &record.body) {
            (Body::User(one), Body::User(other)) => one == other,
            (Body::Assistant(one), Body::Assistant(other)) => {
                one.id == other.id && one.content == other.content
            }
            _ => false,
        };
        let is_next = record.header.parent_uuid == first.header.uuid;
        first.header.uuid.clone().filter(|_| same && !is_next)
    }
}

/// The time of a message, and whether it is the user's. Subagents may be given
/// the same words at the same time.
fn time_and_role(record: &Record) -> Option<(Timestamp, bool)> {
    let is_own = record.is_conversation() && !record.is_sidechain();
    let time = record.header.timestamp.filter(|_| is_own)?;
    Some((time, matches!(record.body, Body::User(_))))
}
