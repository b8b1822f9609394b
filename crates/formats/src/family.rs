//! Sessions of subagents in files of their own: they belong to the session whose
//! agent started them (how-it-works §3), wherever in the folder that stands.
//!
//! Files are read once to see whose they are. Those of subagents are read again
//! when all parents are known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::Draft;
use super::gathered::{Aside, Entry};
use recap_core::model::{MessageIndex, RecordedCompaction, SIDECHAIN, Session, Usage};
use recap_core::text::counted;

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

// What counts once over all files of an input: forks and resumed sessions begin with a copy
// of the history that they continue (how-it-works §3).
//
// A response is told by its id and that of its request; without them by its time, usage and
// text. Codex writes a copy with new times: there a response is told by the conversation that
// the copies come from, its usage and its text. The longest session that it stands in counts
// it.

/// Hash of what tells a response, a compaction or a subagent's request.
type Key = u64;

/// Something of a session that is counted.
struct Item {
    what: What,
    /// Its id, where the recording has one.
    id: Option<Key>,
    at: Option<Timestamp>,
    /// What it says and used; absent where that tells nothing.
    content: Option<Key>,
}

#[derive(Clone, Copy)]
enum What {
    Response(MessageIndex),
    /// Its position, and that of the message behind it.
    Compaction(usize, MessageIndex),
    Sidechain(usize),
}

/// What a session counts unless a longer one has it, too.
struct History {
    /// Hash of the name of its file. Sessions of one file are no copies of each other.
    file: u64,
    /// The id of the conversation in its recording.
    thread: Option<String>,
    items: Vec<Item>,
    /// Number of its responses.
    length: usize,
    is_sidechain: bool,
    /// Whether requests of subagents in other files were added to it.
    has_subagents: bool,
}

/// The histories of all sessions of an input.
#[derive(Default)]
pub(super) struct Histories {
    sessions: Vec<History>,
    /// Number of inputs so far: in each of them files have names of their own.
    pub(super) inputs: usize,
    /// The conversation that one begins with a copy of.
    origins: FxHashMap<String, String>,
    /// The conversations that others copied.
    copied: FxHashSet<String>,
    /// What was counted when the files of subagents are read, and what is of these.
    known: FxHashSet<Key>,
}

/// What of a session another one counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    responses: BTreeSet<MessageIndex>,
    compactions: BTreeSet<usize>,
    sidechains: BTreeSet<usize>,
    /// The sessions that share history with it, itself included.
    family: Option<String>,
    /// Whether the session has nothing of its own.
    pub(super) is_whole: bool,
}

impl Histories {
    /// Notes whose history a session begins with.
    pub(super) fn relate(&mut self, draft: &Draft) {
        if let (Some(own), Some(other)) = (&draft.recorded_id, &draft.copy_of) {
            self.origins.insert(own.clone(), other.clone());
            self.copied.insert(other.clone());
        }
    }

    /// Adds the next session. One of a data set was counted when that was written.
    pub(super) fn add(&mut self, file: &str, draft: &Draft, is_recording: bool) {
        let mut own = History { file: hash(&(self.inputs, file)), ..History::of(draft) };
        own.items.retain(|_| is_recording);
        self.sessions.push(own);
    }

    /// Forgets sessions that are not kept.
    pub(super) fn truncate(&mut self, count: usize) {
        self.sessions.truncate(count);
    }

    /// Takes everything so far for counted, before sessions of subagents are added to it.
    pub(super) fn know_all(&mut self) {
        let keys = self.sessions.iter().flat_map(|own| self.keys(own));
        let keys: Vec<Key> = keys.map(|(_, key)| key).collect();
        self.known.extend(keys);
    }

    /// Adds a subagent's session to the one at `at`. Returns the first message behind those
    /// that it copied.
    pub(super) fn add_to(&mut self, at: usize, draft: &Draft) -> MessageIndex {
        if let Some(session) = self.sessions.get_mut(at) {
            session.has_subagents = true;
        }
        let keys: Vec<(What, Key)> = self.keys(&History::of(draft)).collect();
        let copied = keys.into_iter().filter_map(|(what, key)| match what {
            What::Response(message) if !self.known.insert(key) => Some(message + 1),
            _ => None,
        });
        copied.last().unwrap_or(0)
    }

    /// What tells each item of a session.
    fn keys<'a>(&'a self, session: &'a History) -> impl Iterator<Item = (What, Key)> + 'a {
        let thread = session.thread.as_ref();
        let thread = thread.filter(|&id| self.origins.contains_key(id) || self.copied.contains(id));
        let origin = thread.and_then(|thread| line(&self.origins, thread).last());
        session.items.iter().filter_map(move |item| {
            let key = match (item.id, origin) {
                (Some(id), _) => id,
                (None, Some(origin)) => hash(&(origin, item.content?)),
                (None, None) => hash(&(item.at?, item.content?)),
            };
            Some((item.what, key))
        })
    }

    /// What each session has that a longer one counts; and a sentence about it, in which
    /// sessions are named by `name`.
    pub(super) fn copies(&self, name: impl Fn(usize) -> String) -> (Vec<Copies>, Option<String>) {
        let mut order: Vec<usize> = (0..self.sessions.len()).collect();
        order
            .sort_by_key(|&at| (self.sessions[at].is_sidechain, Reverse(self.sessions[at].length)));
        let mut owners: FxHashMap<Key, usize> = FxHashMap::default();
        let mut all = vec![Copies::default(); self.sessions.len()];
        // The longest session that each shares something with.
        let mut heads: Vec<usize> = (0..self.sessions.len()).collect();
        for at in order {
            for (what, key) in self.keys(&self.sessions[at]) {
                let owner = *owners.entry(key).or_insert(at);
                if self.sessions[owner].file != self.sessions[at].file {
                    heads[at] = heads[owner];
                    all[at].add(what);
                }
            }
            all[at].complete(&self.sessions[at]);
        }
        for at in (0..all.len()).filter(|&at| heads[at] != at) {
            let head = heads[at];
            let family = format!("{:016x}", hash(&(self.sessions[head].file, head)));
            all[head].family = Some(family.clone());
            all[at].family = Some(family);
        }
        let warning = warning(&all, &heads, name);
        (all, warning)
    }
}

impl Copies {
    /// Whether there is nothing to mark.
    pub(super) fn is_empty(&self) -> bool {
        // Whoever has a copy of something has a family.
        self.family.is_none()
    }

    /// Marks what was copied. What a subagent asked fills no context: a copy of it goes.
    pub(super) fn mark(&self, session: &mut Session) {
        session.copied.extend(&self.responses);
        // One that was written down stays.
        session.family = self.family.clone().or(session.family.take());
        for (at, made) in session.compactions.iter_mut().enumerate() {
            made.copied |= self.compactions.contains(&at);
        }
        let mut positions = 0..;
        let mut is_own = || positions.next().is_none_or(|at| !self.sidechains.contains(&at));
        session.sidechains.retain(|_| is_own());
    }

    fn add(&mut self, what: What) {
        match what {
            What::Response(message) => self.responses.insert(message),
            What::Compaction(at, _) => self.compactions.insert(at),
            What::Sidechain(at) => self.sidechains.insert(at),
        };
    }

    /// What stands before a copied response and cannot be told is copied, too, and so is
    /// every compaction there.
    fn complete(&mut self, session: &History) {
        let Some(&last) = self.responses.last() else { return };
        let is_copied = |item: &Item| match item.what {
            What::Response(message) => message < last && item.is_anonymous(),
            What::Compaction(_, next) => next <= last,
            What::Sidechain(_) => false,
        };
        let more = session.items.iter().filter(|item| is_copied(item));
        more.for_each(|item| self.add(item.what));
        let is_own = |item: &Item| match item.what {
            What::Response(message) => !self.responses.contains(&message),
            What::Compaction(..) => false,
            What::Sidechain(at) => !self.sidechains.contains(&at),
        };
        self.is_whole = !session.has_subagents && !session.items.iter().any(is_own);
    }
}

impl History {
    fn of(draft: &Draft) -> History {
        let session = &draft.session;
        let responses = session.responses().map(|index| {
            let message = &session.messages[index as usize];
            let content = message.usage.map(|usage| hash(&(tokens_of(&usage), message.sent())));
            let id = draft.response_ids.get(&message.id).copied();
            Item { what: What::Response(index), id, at: message.at, content }
        });
        let compactions = session.compactions.iter().enumerate().map(|(at, made)| {
            let content = Some(content_of(made));
            Item { what: What::Compaction(at, made.after), id: None, at: made.at, content }
        });
        let sidechains = session.sidechains.iter().enumerate().map(|(at, request)| {
            let content = Some(hash(&(&request.model, tokens_of(&request.usage))));
            Item { what: What::Sidechain(at), id: None, at: request.at, content }
        });
        History {
            file: 0,
            thread: draft.recorded_id.clone(),
            items: responses.chain(compactions).chain(sidechains).collect(),
            length: session.responses().count(),
            is_sidechain: session.is_sidechain(),
            has_subagents: false,
        }
    }
}

impl Item {
    fn is_anonymous(&self) -> bool {
        self.id.is_none() && self.content.is_none()
    }
}

/// What a compaction left.
fn content_of(made: &RecordedCompaction) -> Key {
    let texts: Vec<_> = made.texts().map(|(_, text)| text).collect();
    hash(&(made.tokens_before, &made.summary, texts, &made.cleared))
}

/// The tokens that tell a response; which of them were written to a cache some logs omit.
fn tokens_of(usage: &Usage) -> [u64; 3] {
    [usage.prompt(), usage.cache_read, usage.output]
}

/// A hash that is the same in every run.
pub(super) fn hash(content: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// A session, the one that it comes from, and so on.
pub(super) fn line<'a>(
    of: &'a FxHashMap<String, String>,
    from: &'a String,
) -> impl Iterator<Item = &'a String> {
    // A circle has no more steps than there are sessions.
    std::iter::successors(Some(from), |own| of.get(*own)).take(of.len() + 1)
}

/// Most names in the warning, before it says "and more".
const NAMED: usize = 3;

/// What is told of sessions that share history.
fn warning(all: &[Copies], heads: &[usize], name: impl Fn(usize) -> String) -> Option<String> {
    let sharing = (0..all.len()).filter(|&at| heads[at] != at);
    let families: BTreeSet<usize> = sharing.clone().map(|at| heads[at]).collect();
    let files = sharing.count() + families.len();
    let responses: usize = all.iter().map(|copies| copies.responses.len()).sum();
    let whole: Vec<String> = (0..all.len()).filter(|&at| all[at].is_whole).map(name).collect();
    let left_out = match whole.len() {
        0 => String::new(),
        n => format!(
            "; left out, since a longer one has all of it: {}{}",
            whole[..n.min(NAMED)].join(", "),
            if n > NAMED { format!(" and {} more", n - NAMED) } else { String::new() }
        ),
    };
    (!families.is_empty()).then(|| {
        format!(
            "{} of {} share history: {} counted once, in the longest{left_out}",
            counted(files, "session"),
            counted(families.len(), "family"),
            counted(responses, "copied response"),
        )
    })
}
