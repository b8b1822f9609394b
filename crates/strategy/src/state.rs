//! State that the stages of one strategy share.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::context::EntryId;
use recap_core::model::MessageIndex;

/// State that the stages of one strategy share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrategyState {
    /// Last entry whose tool output has been considered for pruning.
    pub pruned_through: Option<EntryId>,
    /// Tool results whose text was replaced, and when.
    pub pruned: BTreeMap<MessageIndex, Timestamp>,
    /// Last recorded message that a summary covers.
    pub boundary: Option<MessageIndex>,
    /// Lines of the daily memory files by day (`YYYY-MM-DD`): `###` headers
    /// that say when, and the memories below them.
    pub memories: BTreeMap<String, Vec<String>>,
    /// Closed sessions, oldest first.
    pub sessions: Vec<PastSession>,
    /// The order of the sessions, where a strategy keeps it.
    pub chain: Chain,
    /// Results that were replaced, and whose originals a later summary will be
    /// written from.
    pub originals: BTreeSet<MessageIndex>,
}

/// A part of the conversation that a strategy closed (Lis: a session is "a
/// self-contained segment of a chat with its own summary"; GSV: what a reset
/// archives).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastSession {
    /// The session's number, from 1.
    pub number: u32,
    /// Its first recorded message.
    pub from: MessageIndex,
    /// The recorded message after its last one.
    pub to: MessageIndex,
    /// The summary of the session, if one was written.
    pub summary: Option<String>,
    /// When it was closed.
    pub closed: Timestamp,
}

impl StrategyState {
    /// Takes over the changes between two states, and keeps its own values of
    /// everything else. If another session was opened meanwhile, work that
    /// began in the one before no longer applies: returns `false`, and takes
    /// only its summaries of closed sessions.
    pub fn adopt(&mut self, before: &Self, after: Self) -> bool {
        let Self { pruned_through, pruned, boundary, memories, sessions, chain, originals } = after;
        if self.chain.open != before.chain.open {
            fill_in(&mut self.sessions, sessions);
            return false;
        }
        take_change(&mut self.pruned, &before.pruned, pruned);
        take_change(&mut self.pruned_through, &before.pruned_through, pruned_through);
        take_change(&mut self.boundary, &before.boundary, boundary);
        take_change(&mut self.memories, &before.memories, memories);
        if sessions != before.sessions {
            let own = std::mem::replace(&mut self.sessions, sessions);
            fill_in(&mut self.sessions, own);
        }
        take_change(&mut self.chain, &before.chain, chain);
        take_change(&mut self.originals, &before.originals, originals);
        true
    }
}

fn take_change<T: PartialEq>(own: &mut T, before: &T, after: T) {
    if after != *before {
        *own = after;
    }
}

impl StrategyState {
    /// Opens a new session with the messages that another one leaves to it, and
    /// returns its number.
    pub(crate) fn start_session(&mut self, parent: Option<u32>, rest: Rest, now: Timestamp) -> u32 {
        let number = self.chain.known.len() as u32 + 1;
        let Rest { spans, from } = rest;
        let facts = ChainLink { parent, opened: now, spans, summary: None };
        self.chain.known.insert(number, facts);
        self.chain.open = Some(OpenSession { number, from });
        number
    }

    /// Closes the open session before a message, and returns its number and
    /// what it leaves to the next one: of its own messages those from there on,
    /// never those of another session in between (Lis: `UPDATE message SET
    /// session_id = newSession.Id WHERE session_id = oldSession.Id AND id >
    /// splitMessageId`).
    pub(crate) fn close_session(
        &mut self,
        to: MessageIndex,
        summary: Option<String>,
        now: Timestamp,
    ) -> (Option<u32>, Rest) {
        let nothing = || (None, Rest::from(to));
        let Some(OpenSession { number, from }) = self.chain.open.take() else { return nothing() };
        let Some(facts) = self.chain.known.get_mut(&number) else { return nothing() };
        if from < to {
            facts.spans.push((from, to));
        }
        let own = std::mem::take(&mut facts.spans).into_iter();
        let cut = own.map(|(start, end)| [(start, end.min(to)), (start.max(to), end)]);
        let (kept, rest): (Vec<_>, Vec<_>) = cut.map(|[kept, rest]| (kept, rest)).unzip();
        let filled = |spans: Spans| spans.into_iter().filter(|(from, to)| from < to).collect();
        facts.spans = filled(kept);
        let first = facts.spans.first().map_or(to, |span| span.0);
        let past = PastSession { number, from: first, to, summary, closed: now };
        self.sessions.push(past);
        (Some(number), Rest { spans: filled(rest), from: from.max(to) })
    }

    /// Reopens a closed session from a message on.
    pub(crate) fn reopen_session(&mut self, number: u32, from: MessageIndex) {
        let summary = self.session_summary(number).map(str::to_owned);
        if let Some(facts) = self.chain.known.get_mut(&number) {
            facts.summary = summary;
        }
        self.sessions.retain(|session| session.number != number);
        self.chain.open = Some(OpenSession { number, from });
    }

    /// A closed session by its number.
    pub(crate) fn past_session(&self, number: u32) -> Option<&PastSession> {
        self.sessions.iter().find(|session| session.number == number)
    }

    /// The last summary of a session.
    pub(crate) fn session_summary(&self, number: u32) -> Option<&str> {
        let past = self.past_session(number).and_then(|past| past.summary.as_deref());
        past.or_else(|| self.chain.known.get(&number)?.summary.as_deref())
    }

    /// The messages of a session; for the open one, up to a message.
    pub(crate) fn session_messages(&self, number: u32, seen: MessageIndex) -> Vec<MessageIndex> {
        let spans = self.chain.known.get(&number).map_or(&[][..], |facts| &facts.spans);
        let open = self.chain.open.filter(|open| open.number == number).map(|o| (o.from, seen));
        spans.iter().copied().chain(open).flat_map(|(from, to)| from..to).collect()
    }

    /// The sessions that can be searched, oldest first.
    pub fn closed_sessions(&self) -> Vec<ClosedSession> {
        let closed = self.sessions.iter().filter_map(|session| {
            let PastSession { number, summary, .. } = session;
            let spans = self.chain.known.get(number)?.spans.clone();
            Some(ClosedSession { number: *number, summary: summary.clone()?, spans })
        });
        closed.collect()
    }
}

/// Copies summaries that one list of sessions has and the other lacks, where
/// they cover the same messages.
fn fill_in(sessions: &mut [PastSession], from: Vec<PastSession>) {
    for written in from {
        let same = sessions
            .iter_mut()
            .find(|session| session.number == written.number && session.to == written.to);
        if let Some(session) = same.filter(|session| session.summary.is_none()) {
            session.summary = written.summary;
        }
    }
}

// The consecutive sessions of one conversation (Lis: "Sessions — not merged
// summaries").
//
// Invariant: every recorded message belongs to at most one session; the open
// session takes each new message.

/// Ranges of recorded messages: the first, and the one after the last.
pub(super) type Spans = Vec<(MessageIndex, MessageIndex)>;

/// The sessions of a system that keeps them, besides the summaries of the
/// closed ones ([`StrategyState::sessions`](crate::StrategyState::sessions)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The open session; `None` where none is kept.
    pub open: Option<OpenSession>,
    /// Every session by its number, from 1.
    pub known: BTreeMap<u32, ChainLink>,
}

/// The session that takes new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSession {
    /// The session's number, from 1.
    pub number: u32,
    /// The first message that it has taken in since it was opened (again).
    pub from: MessageIndex,
}

/// The facts about a session, open or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// The session that it continues.
    pub parent: Option<u32>,
    /// The time at which it was first opened.
    pub opened: Timestamp,
    /// Its messages, without those that it takes while it is open: a session
    /// that was reopened has several ranges.
    pub spans: Spans,
    /// The summary that was written before it was reopened.
    pub summary: Option<String>,
}

/// What a session leaves to the one that is opened after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Messages that move to it.
    pub spans: Spans,
    /// The first message that it takes while it is open.
    pub from: MessageIndex,
}

impl Rest {
    /// Nothing but the messages from this one on.
    pub(crate) fn from(from: MessageIndex) -> Rest {
        Rest { spans: Spans::new(), from }
    }
}

/// A session that can be searched: closed, and with a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosedSession {
    /// The session's number, from 1.
    pub number: u32,
    /// The summary of the session.
    pub summary: String,
    /// The ranges of its messages.
    pub spans: Spans,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn past(number: u32, to: MessageIndex, summary: Option<&str>) -> PastSession {
        let summary = summary.map(str::to_owned);
        PastSession { number, from: 0, to, summary, closed: at(0) }
    }

    /// A state with a value of its own in every field but the open session.
    fn full() -> StrategyState {
        let mut state = StrategyState {
            pruned_through: Some(EntryId::message(2)),
            pruned: BTreeMap::from([(2, at(1))]),
            boundary: Some(3),
            memories: BTreeMap::from([("2026-01-18".to_owned(), vec!["- a".to_owned()])]),
            sessions: vec![past(1, 5, Some("one"))],
            originals: BTreeSet::from([2]),
            ..StrategyState::default()
        };
        let facts = ChainLink { parent: None, opened: at(0), spans: vec![(0, 5)], summary: None };
        state.chain.known.insert(1, facts);
        state
    }

    #[test]
    fn adopt_takes_background_changes_and_keeps_the_rest() {
        let mut own = StrategyState::default();
        assert!(own.adopt(&StrategyState::default(), full()));
        assert_eq!(own, full(), "all of it was changed");
        assert!(own.adopt(&StrategyState::default(), StrategyState::default()));
        assert_eq!(own, full(), "nothing was changed");
        let after = StrategyState { boundary: Some(9), ..StrategyState::default() };
        assert!(own.adopt(&StrategyState::default(), after));
        assert_eq!(own, StrategyState { boundary: Some(9), ..full() });
    }

    #[test]
    fn summaries_written_meanwhile_stay_with_their_sessions() {
        let before = StrategyState { sessions: vec![past(1, 5, None)], ..StrategyState::default() };
        let own = || StrategyState { sessions: vec![past(1, 5, Some("own"))], ..before.clone() };
        let after = |first: PastSession| StrategyState {
            sessions: vec![first, past(2, 9, Some("two"))],
            ..before.clone()
        };
        let summaries = |state: &StrategyState| -> Vec<Option<String>> {
            state.sessions.iter().map(|session| session.summary.clone()).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        for (first, expected) in [
            (past(1, 5, None), some("own")),
            (past(1, 5, Some("late")), some("late")),
            (past(1, 4, None), None),
            (past(3, 5, None), None),
        ] {
            let mut state = own();
            assert!(state.adopt(&before, after(first)));
            assert_eq!(summaries(&state), [expected, some("two")]);
        }
        // Another session was opened meanwhile: only summaries of those it knows.
        let mut state = before.clone();
        state.start_session(None, Rest::from(5), at(1));
        let kept = state.chain.clone();
        assert!(!state.adopt(&before, after(past(1, 5, Some("late")))));
        assert_eq!((summaries(&state), state.chain), (vec![some("late")], kept));
    }

    #[test]
    fn session_takes_leftover_messages_and_reopens_with_them() {
        let mut state = StrategyState::default();
        assert_eq!(state.close_session(3, None, at(0)), (None, Rest::from(3)), "none was open");
        assert_eq!(state.start_session(None, Rest::from(0), at(0)), 1);
        let (closed, rest) = state.close_session(5, Some("one".to_owned()), at(1));
        assert_eq!((closed, &rest), (Some(1), &Rest::from(5)));
        assert_eq!(state.start_session(closed, rest, at(2)), 2);
        assert_eq!((state.chain.known[&2].parent, state.chain.known[&2].opened), (Some(1), at(2)));
        let past = state.past_session(1).unwrap();
        assert_eq!((past.from, past.to, past.closed), (0, 5, at(1)));
        assert_eq!(state.session_messages(2, 7), [5, 6]);
        let closed = state.closed_sessions();
        let (summary, spans) = ("one".to_owned(), vec![(0, 5)]);
        assert_eq!(closed, [ClosedSession { number: 1, summary, spans }]);
        state.close_session(7, None, at(3));
        state.reopen_session(1, 9);
        assert_eq!(state.past_session(1), None);
        assert_eq!(state.session_summary(1), Some("one"), "as it was written before");
        assert_eq!((state.session_summary(2), state.session_summary(3)), (None, None));
        assert_eq!(state.session_messages(1, 11), [0, 1, 2, 3, 4, 9, 10]);
        assert!(state.closed_sessions().is_empty(), "one is open, the other has no summary");
        // Its end moves back into what it had: the rest is left to the next one.
        let (closed, rest) = state.close_session(3, None, at(4));
        assert_eq!((closed, rest), (Some(1), Rest { spans: vec![(3, 5)], from: 9 }));
        assert_eq!(state.chain.known[&1].spans, [(0, 3)]);
    }
}
