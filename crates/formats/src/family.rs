//! Sessions of subagents in files of their own: they belong to the session whose
//! agent started them (how-it-works §3), wherever in the folder that stands.
//!
//! Files are read once to see whose they are. Those of subagents are read again
//! when all parents are known.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::draft::Draft;
use super::gathered::{Aside, Entry};
use super::once::{Histories, line};
use recap_core::model::SIDECHAIN;

/// A session that others may name as the one that started them.
struct Member {
    /// Its place among the sessions.
    at: usize,
    /// Number of its subagents so far.
    children: usize,
}

/// The sessions of a folder by the ids that their files give them.
#[derive(Default)]
pub(super) struct Families {
    members: FxHashMap<String, Member>,
    /// The files of subagents, each with the id of who started it.
    children: BTreeMap<String, String>,
    /// Who started a subagent's session, by its id.
    parents: FxHashMap<String, String>,
    /// What each session counts: a subagent's log may begin with a copy of its parent's.
    pub(super) histories: Histories,
    /// Whether more parents may come, so that subagents have to wait.
    pub(super) open: bool,
}

impl Families {
    /// Whether a session is left for later, since it is a subagent's.
    pub(super) fn defers(&mut self, file: &str, draft: &Draft) -> bool {
        self.histories.relate(draft);
        let Some(parent) = draft.parent.as_ref().filter(|_| self.open) else { return false };
        self.children.insert(file.to_owned(), parent.clone());
        self.parents.extend(draft.recorded_id.clone().map(|id| (id, parent.clone())));
        true
    }

    /// Whether a file was left for later.
    pub(super) fn has_deferred(&self, file: &str) -> bool {
        self.open && self.children.contains_key(file)
    }

    /// The files that were left for later, subagents of subagents last.
    pub(super) fn close(&mut self) -> Vec<String> {
        self.open = false;
        self.histories.know_all();
        let children = std::mem::take(&mut self.children);
        let depth = |parent: &String| line(&self.parents, parent).count();
        let mut files: Vec<(usize, String)> =
            children.into_iter().map(|(file, parent)| (depth(&parent), file)).collect();
        files.sort();
        files.into_iter().map(|(_, file)| file).collect()
    }

    /// Notes the session at `at`, which others may name or copy.
    pub(super) fn note(&mut self, at: usize, file: &str, draft: &Draft, is_recording: bool) {
        if let Some(id) = &draft.recorded_id {
            self.members.insert(id.clone(), Member { at, children: 0 });
        }
        self.histories.add(file, draft, is_recording);
    }

    /// Forgets sessions that are not kept.
    pub(super) fn truncate(&mut self, count: usize) {
        self.members.retain(|_, member| member.at < count);
        self.histories.truncate(count);
    }

    /// Puts a subagent's session where it belongs: as requests of the session
    /// that started it, or as a session of its own that is named after that
    /// one (`apart`). Returns it where its parent was not read.
    pub(super) fn place(&mut self, mut draft: Draft, apart: bool, sessions: &[Entry]) -> Placement {
        let root = draft.parent.as_ref().and_then(|parent| {
            line(&self.parents, parent).find(|id| self.members.contains_key(*id)).cloned()
        });
        let Some(parent) = root.and_then(|root| self.members.get_mut(&root)) else {
            return Placement::Orphan(draft);
        };
        if apart {
            parent.children += 1;
            let id = sessions.get(parent.at).map_or("", |entry| entry.id.as_str());
            draft.session.id = format!("{id}{SIDECHAIN}{}", parent.children);
            return Placement::Apart(draft);
        }
        let own = self.histories.add_to(parent.at, &draft);
        Placement::Folded(parent.at, Aside::of(&draft.session, own))
    }
}

/// What became of a subagent's session.
pub(super) enum Placement {
    /// Its requests belong to those of the session at this place, which started it.
    Folded(usize, Aside),
    /// It is a session of its own.
    Apart(Draft),
    /// The session that started it was not read.
    Orphan(Draft),
}
