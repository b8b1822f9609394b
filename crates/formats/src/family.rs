//! Sessions of subagents in files of their own: they belong to the session whose
//! agent started them (how-it-works §3), wherever in the folder that stands.
//!
//! Files are read once to see whose they are. Those of subagents are read again
//! when all parents are known.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::draft::Draft;
use super::gathered::{Aside, Entry, settle};
use recap_core::model::{Message, SIDECHAIN};

/// A session that others may name as the one that started them.
struct Member {
    /// Its place among the sessions.
    at: usize,
    /// Its messages: a subagent's log may begin with a copy of them.
    messages: FxHashSet<u64>,
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
    /// Whether more parents may come, so that subagents have to wait.
    pub(super) open: bool,
}

impl Families {
    /// Whether a session is left for later, since it is a subagent's.
    pub(super) fn defers(&mut self, file: &str, draft: &Draft) -> bool {
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
        let children = std::mem::take(&mut self.children);
        let depth = |parent: &String| self.line(parent).count();
        let mut files: Vec<(usize, String)> =
            children.into_iter().map(|(file, parent)| (depth(&parent), file)).collect();
        files.sort();
        files.into_iter().map(|(_, file)| file).collect()
    }

    /// A session and who started it, and so on.
    fn line<'a>(&'a self, session: &'a String) -> impl Iterator<Item = &'a String> {
        // A circle has no more steps than there are sessions.
        let all = std::iter::successors(Some(session), |own| self.parents.get(*own));
        all.take(self.parents.len() + 1)
    }

    /// Notes the session at `at`, if others may name it.
    pub(super) fn note(&mut self, at: usize, draft: &Draft) {
        if let Some(id) = &draft.recorded_id {
            let messages = draft.session.messages.iter().map(print).collect();
            self.members.insert(id.clone(), Member { at, messages, children: 0 });
        }
    }

    /// Forgets sessions that are not kept.
    pub(super) fn truncate(&mut self, count: usize) {
        self.members.retain(|_, member| member.at < count);
    }

    /// Puts a subagent's session where it belongs: as requests of the session
    /// that started it, or as a session of its own that is named after that
    /// one (`apart`). Returns it where its parent was not read.
    pub(super) fn place(&mut self, mut draft: Draft, apart: bool, sessions: &[Entry]) -> Placement {
        let root = draft.parent.as_ref().and_then(|parent| {
            self.line(parent).find(|parent| self.members.contains_key(*parent)).cloned()
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
        settle(&mut draft.session);
        let is_own = |message: &Message| !parent.messages.contains(&print(message));
        Placement::Folded(parent.at, Aside::of(&draft.session, is_own))
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

/// What a message says and used, in short.
fn print(message: &Message) -> u64 {
    let mut hasher = FxHasher::default();
    message.role.hash(&mut hasher);
    message.sent().hash(&mut hasher);
    let usage = message.usage.map(|usage| (usage.prompt(), usage.cache_read, usage.output));
    usage.hash(&mut hasher);
    hasher.finish()
}
