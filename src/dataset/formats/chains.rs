//! Which requests of a log belong to one conversation: each repeats the
//! messages of the one before and adds some.

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use crate::model::Usage;

/// A request of a conversation.
pub(super) struct Sent {
    /// Number of its messages.
    pub(super) length: usize,
    pub(super) usage: Option<Usage>,
    /// The model that answered it.
    pub(super) model: Option<String>,
    pub(super) at: Option<Timestamp>,
}

/// The requests of one conversation so far.
pub(super) struct Chain<B> {
    /// The newest request.
    pub(super) body: B,
    pub(super) requests: Vec<Sent>,
    /// Position of the newest request in the log.
    last: usize,
    /// How many requests it is made of, repeated ones included.
    taken: usize,
}

/// All conversations of a log.
pub(super) struct Chains<B> {
    chains: Vec<Chain<B>>,
    /// Each chain by the hash of its newest request's messages.
    by_end: FxHashMap<blake3::Hash, usize>,
    count: usize,
}

impl<B> Default for Chains<B> {
    fn default() -> Self {
        Chains { chains: Vec::new(), by_end: FxHashMap::default(), count: 0 }
    }
}

impl<B> Chains<B> {
    /// Adds the next request of the log; `ends` are the hashes of all its
    /// messages up to each. Returns the number of its conversation.
    pub(super) fn add(&mut self, ends: &[blake3::Hash], body: B, sent: Sent) -> usize {
        // The longest beginning that an earlier request ended with.
        let known = ends.iter().rev().find_map(|end| self.by_end.remove(end));
        let at = match known {
            Some(at) => {
                self.extend(at, sent, |own| *own = body);
                at
            }
            None => {
                let last = self.count;
                self.count += 1;
                self.chains.push(Chain { body, requests: vec![sent], last, taken: 1 });
                self.chains.len() - 1
            }
        };
        self.by_end.extend(ends.last().map(|end| (*end, at)));
        at
    }

    /// Adds a request to a known conversation.
    pub(super) fn extend(&mut self, at: usize, sent: Sent, change: impl FnOnce(&mut B)) {
        let Some(chain) = self.chains.get_mut(at) else { return };
        // A request that was repeated is one; what a later one undid is gone.
        while chain.requests.pop_if(|own| own.length >= sent.length).is_some() {}
        change(&mut chain.body);
        chain.requests.push(sent);
        chain.last = self.count;
        chain.taken += 1;
        self.count += 1;
    }

    /// The conversation that was extended last (without one, the last request)
    /// of all with the same name, in the order of their last requests, and the
    /// number of requests that are no part of it.
    pub(super) fn last_by<K: Ord>(self, name: impl Fn(&B) -> K) -> Vec<(Chain<B>, usize)> {
        let extended = |chain: &Chain<B>| (chain.requests.len() > 1, chain.last);
        let mut best: std::collections::BTreeMap<K, (Chain<B>, usize)> = Default::default();
        for chain in self.chains {
            let name = name(&chain.body);
            let own = chain.taken;
            match best.remove(&name) {
                Some((known, others)) if extended(&known) > extended(&chain) => {
                    best.insert(name, (known, others + own));
                }
                Some((known, others)) => {
                    let others = others + known.taken;
                    best.insert(name, (chain, others));
                }
                None => _ = best.insert(name, (chain, 0)),
            }
        }
        let mut found: Vec<_> = best.into_values().collect();
        found.sort_by_key(|(chain, _)| chain.last);
        found
    }

    /// The conversation that was extended last (without one, the last request),
    /// and the number of requests that are no part of it.
    pub(super) fn last(self) -> Option<(Chain<B>, usize)> {
        self.last_by(|_| ()).pop()
    }
}

/// The hash of all messages up to each; `write` writes what a message says.
pub(super) fn ends<T>(
    messages: &[T],
    mut write: impl FnMut(&T, &mut blake3::Hasher),
) -> Vec<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let end = |message: &T| {
        write(message, &mut hasher);
        hasher.finalize()
    };
    messages.iter().map(end).collect()
}
