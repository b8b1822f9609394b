//! The log is a tree: this finds the conversation in it (how-it-works §3).
//!
//! Rewinding adds a branch, and so does every response with parallel calls,
//! whose lines and results become branches. Records that are written late
//! (progress of hooks, slash commands) hang on an earlier record, and the next
//! message hangs on them: that is no rewind, and `branch.rs` tells them apart.
//!
//! Claude Code appends a record once it is complete, after the one that it
//! names as its parent: the record written last is the newest, whatever its
//! `timestamp` says. In 15 recordings of thirteen versions no record precedes
//! its parent, and in nine of them timestamps run backwards.

use super::branch::Branch;
use super::wire::{Body, Record};
use crate::formats::prelude::*;

/// Parents resolved to positions among the records.
pub(super) struct Tree {
    pub(super) parents: Vec<Option<usize>>,
    dangling: Vec<bool>,
    /// For a record behind a copy, the record whose copy it names.
    pub(super) copied: FxHashMap<usize, usize>,
    /// For a compaction, the first record that it kept.
    pub(super) kept: FxHashMap<usize, usize>,
}

impl Tree {
    /// Links `records`. A parent that is not in the file (a boundary's, or a
    /// record that the recorder dropped) is replaced by the preceding record
    /// of the conversation, else everything before it would be lost.
    pub(super) fn new(records: &[Record]) -> Tree {
        let mut by_uuid: FxHashMap<&str, usize> = FxHashMap::default();
        for (at, record) in records.iter().enumerate() {
            if let Some(uuid) = &record.header.uuid {
                by_uuid.entry(uuid).or_insert(at);
            }
        }
        let mut tree = Tree {
            parents: Vec::with_capacity(records.len()),
            dangling: vec![false; records.len()],
            copied: FxHashMap::default(),
            kept: FxHashMap::default(),
        };
        let mut preceding = None;
        for (at, record) in records.iter().enumerate() {
            let mut parent = match record.parent() {
                None => None,
                Some(uuid) => by_uuid.get(uuid).copied().or_else(|| {
                    tree.dangling[at] = true;
                    // A sidechain whose root is missing cannot be attached anywhere.
                    preceding.filter(|_| !record.is_sidechain())
                }),
            };
            if record.behind_copy && !record.is_sidechain() {
                tree.copied.extend(parent.map(|copied| (at, copied)));
                parent = preceding.or(parent);
            }
            if let Body::Compaction(metadata) = &record.body {
                let kept = metadata.kept().filter_map(|uuid| by_uuid.get(uuid));
                tree.kept.extend(kept.min().map(|&first| (at, first)));
            }
            // A record without a uuid is no node; one that names itself is a root.
            tree.parents.push(parent.filter(|&p| p != at));
            if record.is_conversation() && !record.is_sidechain() {
                preceding = Some(at);
            }
        }
        tree
    }

    /// Whether more records precede their parents than follow them: the file
    /// was sorted with the newest record first.
    pub(super) fn is_newest_first(&self) -> bool {
        let links = self.parents.iter().enumerate().filter_map(|(at, up)| Some((at, (*up)?)));
        let (before, behind): (Vec<_>, Vec<_>) = links.partition(|(at, parent)| at < parent);
        before.len() > behind.len()
    }

    /// Whether a record names a parent that is not in the file.
    pub(super) fn is_dangling(&self, at: usize) -> bool {
        self.dangling[at]
    }

    /// Records, boundaries apart, whose parent is not in the file.
    pub(super) fn lost_parents(&self, records: &[Record]) -> usize {
        let boundary = |r: &Record| matches!(r.body, Body::Compaction(_));
        let lost = records.iter().zip(&self.dangling);
        lost.filter(|(r, dangling)| **dangling && !boundary(r)).count()
    }

    /// The conversation among `members`, in order: what was sent until the
    /// message that was written last. That of a sidechain begins with its own
    /// `root`, so that the records above it are not visited again for each
    /// sidechain. Timestamps are not used.
    pub(super) fn main_chain(
        &mut self,
        records: &[Record],
        members: &[usize],
        root: Option<usize>,
    ) -> Result<Vec<usize>, Problem> {
        let sent = Branch::follow(self, records, members, root);
        // A leaf is a message without messages below it.
        let up_from = |at: usize| self.parents[at].filter(|_| Some(at) != root);
        let mut above = FxHashSet::default();
        for &at in members.iter().filter(|&&m| records[m].is_conversation()) {
            let mut up = up_from(at);
            while let Some(parent) = up.filter(|&p| above.insert(p)) {
                up = if records[parent].is_conversation() { None } else { up_from(parent) };
            }
        }
        let leaves = members.iter().copied();
        let leaves = leaves.filter(|at| records[*at].is_conversation() && !above.contains(at));
        let newest = leaves.max();
        match newest {
            Some(leaf) if sent.contains(&leaf) => Ok(sent),
            _ => self.path_to(newest, root, records),
        }
    }

    fn path_to(
        &self,
        leaf: Option<usize>,
        root: Option<usize>,
        records: &[Record],
    ) -> Result<Vec<usize>, Problem> {
        let mut path = Vec::new();
        let mut up = leaf;
        while let Some(at) = up {
            if path.len() == records.len() {
                return Err(cycle());
            }
            path.push(at);
            up = self.parents[at].filter(|_| Some(at) != root);
        }
        path.reverse();
        Ok(path)
    }

    /// The outermost sidechain record above (or at) a sidechain record. `known`
    /// holds the roots that were found, and takes those of the records between.
    pub(super) fn sidechain_root(
        &self,
        records: &[Record],
        from: usize,
        known: &mut FxHashMap<usize, usize>,
    ) -> Result<usize, Problem> {
        // Parents mostly stand before their children, so one step is enough.
        let mut way = vec![from];
        let mut at = from;
        let root = loop {
            if let Some(&root) = known.get(&at) {
                break root;
            }
            match self.parents[at].filter(|&p| records[p].is_sidechain()) {
                Some(_) if way.len() > records.len() => return Err(cycle()),
                Some(parent) => at = parent,
                None => break at,
            }
            way.push(at);
        };
        known.extend(way.into_iter().map(|at| (at, root)));
        Ok(root)
    }
}

fn cycle() -> Problem {
    Problem::Inconsistent("the records' parents run in a circle".to_owned())
}
