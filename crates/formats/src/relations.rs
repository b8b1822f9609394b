//! How the sessions of an input are related (how-it-works §3): which agent started a subagent's
//! session, and which sessions begin with a copy of another one's history.
//!
//! In: each session as it is read, with the ids that its file gives. Out: the session that a
//! subagent belongs to, wherever in the folder it stands, and what each session has that a longer
//! one counts ([`Copies`]).
//!
//! Files are read once to see whose they are. Those of subagents are read again
//! when all parents are known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::Draft;
use super::gathered::{Aside, NAMED, first_of};
use recap_core::model::{MessageIndex, RecordedCompaction, Session, Usage};
use recap_core::text::counted;

/// A session that others may name as the one that started them.
pub(super) struct Member {
    /// Its place among the sessions.
    pub(super) at: usize,
    /// Number of its subagents so far.
    pub(super) children: usize,
}

/// The sessions of an input: which started which, by the ids that their files give them, and what
/// each counts.
#[derive(Default)]
pub(super) struct Relations {
    members: FxHashMap<String, Member>,
    /// The files of subagents, each with the id of who started it.
    children: BTreeMap<String, String>,
    /// Who started a subagent's session, by its id.
    parents: FxHashMap<String, String>,
    /// Whether more parents may come, so that subagents have to wait.
    pub(super) open: bool,
    /// What each session counts: a subagent's log may begin with a copy of its parent's.
    histories: Vec<History>,
    /// Number of inputs so far: in each of them files have names of their own.
    pub(super) inputs: usize,
    /// The conversation that one begins with a copy of.
    origins: FxHashMap<String, String>,
    /// The conversations that others copied.
    copied: FxHashSet<String>,
    /// What was counted when the files of subagents are read, and what is of these.
    known: FxHashSet<Key>,
}

impl Relations {
    /// Whether a session is left for later, since it is a subagent's.
    pub(super) fn defers(&mut self, file: &str, draft: &Draft) -> bool {
        if let (Some(own), Some(other)) = (&draft.recorded_id, &draft.copy_of) {
            self.origins.insert(own.clone(), other.clone());
            self.copied.insert(other.clone());
        }
        let Some(parent) = draft.parent.as_ref().filter(|_| self.open) else { return false };
        self.children.insert(file.to_owned(), parent.clone());
        self.parents.extend(draft.recorded_id.clone().map(|id| (id, parent.clone())));
        true
    }

    /// Whether a file was left for later.
    pub(super) fn has_deferred(&self, file: &str) -> bool {
        self.open && self.children.contains_key(file)
    }

    /// The files that were left for later, subagents of subagents last. Everything before
    /// them is counted.
    pub(super) fn close(&mut self) -> Vec<String> {
        self.open = false;
        let keys = self.histories.iter().flat_map(|own| self.keys(own));
        let keys: Vec<Key> = keys.map(|(_, key)| key).collect();
        self.known.extend(keys);
        let children = std::mem::take(&mut self.children);
        let depth = |parent: &String| line(&self.parents, parent).count();
        let mut files: Vec<(usize, String)> =
            children.into_iter().map(|(file, parent)| (depth(&parent), file)).collect();
        files.sort();
        files.into_iter().map(|(_, file)| file).collect()
    }

    /// Notes the session at `at`, which others may name or copy. One of a data set was counted
    /// when that was written.
    pub(super) fn note(&mut self, at: usize, file: &str, draft: &Draft, is_recording: bool) {
        if let Some(id) = &draft.recorded_id {
            self.members.insert(id.clone(), Member { at, children: 0 });
        }
        let mut own = History { file: hash(&(self.inputs, file)), ..History::of(draft) };
        own.items.retain(|_| is_recording);
        self.histories.push(own);
    }

    /// Forgets sessions that are not kept.
    pub(super) fn truncate(&mut self, count: usize) {
        self.members.retain(|_, member| member.at < count);
        self.histories.truncate(count);
    }

    /// The session that started a subagent's, where that was read.
    pub(super) fn starter(&mut self, draft: &Draft) -> Option<&mut Member> {
        let mut above = line(&self.parents, draft.parent.as_ref()?);
        let id = above.find(|id| self.members.contains_key(*id))?;
        self.members.get_mut(id)
    }

    /// Adds a subagent's requests to the session at `at`, which started it. What it copied of
    /// others is not its own.
    pub(super) fn fold(&mut self, at: usize, draft: &Draft) -> Aside {
        if let Some(session) = self.histories.get_mut(at) {
            session.has_subagents = true;
        }
        let keys: Vec<(What, Key)> = self.keys(&History::of(draft)).collect();
        let copied = keys.into_iter().filter_map(|(what, key)| match what {
            What::Response(message) if !self.known.insert(key) => Some(message + 1),
            _ => None,
        });
        Aside::of(&draft.session, copied.last().unwrap_or(0))
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
        let mut order: Vec<usize> = (0..self.histories.len()).collect();
        order.sort_by_key(|&at| {
            (self.histories[at].is_sidechain, Reverse(self.histories[at].length))
        });
        let mut owners: FxHashMap<Key, usize> = FxHashMap::default();
        let mut all = vec![Copies::default(); self.histories.len()];
        // The longest session that each shares something with.
        let mut heads: Vec<usize> = (0..self.histories.len()).collect();
        for at in order {
            for (what, key) in self.keys(&self.histories[at]) {
                let owner = *owners.entry(key).or_insert(at);
                if self.histories[owner].file != self.histories[at].file {
                    heads[at] = heads[owner];
                    all[at].items.insert(what);
                }
            }
            all[at].complete(&self.histories[at]);
        }
        for at in (0..all.len()).filter(|&at| heads[at] != at) {
            let head = heads[at];
            let family = format!("{:016x}", hash(&(self.histories[head].file, head)));
            all[head].family = Some(family.clone());
            all[at].family = Some(family);
        }
        let warning = warning(&all, &heads, name);
        (all, warning)
    }
}

// What counts once over all files of an input: forks and resumed sessions begin with a copy
// of the history that they continue (how-it-works §3).
//
// A response is recognised by its id and that of its request; without them by its time, usage and
// text. Codex writes a copy with new times: there a response is recognised by the conversation that
// the copies come from, its usage and its text. The longest session that it stands in counts
// it.

/// Hash of what identifies a response, a compaction or a subagent's request.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// What of a session another one counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    items: BTreeSet<What>,
    /// The sessions that share history with it, itself included.
    family: Option<String>,
    /// Whether the session has nothing of its own.
    pub(super) is_whole: bool,
}

impl Copies {
    /// Marks what was copied. What a subagent asked fills no context: a copy of it goes.
    pub(super) fn mark(&self, session: &mut Session) {
        session.copied.extend(self.responses());
        // One that was written down stays.
        session.family = self.family.clone().or(session.family.take());
        for item in &self.items {
            if let What::Compaction(at, _) = item {
                session.compactions[*at].copied = true;
            }
        }
        let mut positions = 0..;
        let mut is_own =
            || positions.next().is_none_or(|at| !self.items.contains(&What::Sidechain(at)));
        session.sidechains.retain(|_| is_own());
    }

    fn responses(&self) -> impl DoubleEndedIterator<Item = MessageIndex> {
        self.items.iter().filter_map(|item| match item {
            What::Response(message) => Some(*message),
            _ => None,
        })
    }

    /// What stands before a copied response and cannot be recognised is copied, too, and so is
    /// every compaction there.
    fn complete(&mut self, session: &History) {
        let Some(last) = self.responses().next_back() else { return };
        let is_copied = |item: &&Item| match item.what {
            What::Response(message) => {
                message < last && item.id.is_none() && item.content.is_none()
            }
            What::Compaction(_, next) => next <= last,
            What::Sidechain(_) => false,
        };
        self.items.extend(session.items.iter().filter(is_copied).map(|item| item.what));
        let is_own = |item: &Item| {
            !matches!(item.what, What::Compaction(..)) && !self.items.contains(&item.what)
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
fn line<'a>(
    of: &'a FxHashMap<String, String>,
    from: &'a String,
) -> impl Iterator<Item = &'a String> {
    // A circle has no more steps than there are sessions.
    std::iter::successors(Some(from), |own| of.get(*own)).take(of.len() + 1)
}

/// The warning about sessions that share history.
fn warning(all: &[Copies], heads: &[usize], name: impl Fn(usize) -> String) -> Option<String> {
    let sharing = (0..all.len()).filter(|&at| heads[at] != at);
    let families: BTreeSet<usize> = sharing.clone().map(|at| heads[at]).collect();
    let files = sharing.count() + families.len();
    let responses: usize = all.iter().map(|copies| copies.responses().count()).sum();
    let whole: Vec<String> = (0..all.len()).filter(|&at| all[at].is_whole).map(name).collect();
    let left_out = match first_of(&whole, NAMED) {
        none if none.is_empty() => none,
        names => format!("; left out, since a longer one has all of it: {names}"),
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
