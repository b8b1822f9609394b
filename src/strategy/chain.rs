//! The consecutive sessions of one conversation (Lis: "Sessions — not merged
//! summaries").
//!
//! Invariant: every recorded message belongs to at most one session; the open
//! session takes each new message.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::host::{PastSession, PresetState};
use crate::model::MessageIndex;

/// Ranges of recorded messages: the first, and the one after the last.
type Spans = Vec<(MessageIndex, MessageIndex)>;

/// The sessions of a system that keeps them, besides the summaries of the
/// closed ones ([`PresetState::sessions`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The open session; `None` where none is kept.
    pub open: Option<OpenSession>,
    /// Every session by its number, from 1.
    pub known: BTreeMap<u32, SessionFacts>,
}

/// The session that takes new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// The session's number, from 1.
    pub number: u32,
    /// The first message that it has taken in since it was opened (again).
    pub from: MessageIndex,
}

/// The facts about a session, open or closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFacts {
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

/// A session that can be searched: closed, and with a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosedSession {
    /// The session's id, unique within a cell.
    pub id: String,
    /// The summary of the session.
    pub summary: String,
    /// The ranges of its messages.
    pub spans: Spans,
}

impl PresetState {
    /// Opens a new session from a message on and returns its number.
    pub(crate) fn start_session(
        &mut self,
        parent: Option<u32>,
        from: MessageIndex,
        now: Timestamp,
    ) -> u32 {
        let number = self.chain.known.len() as u32 + 1;
        let facts = SessionFacts { parent, opened: now, spans: Vec::new(), summary: None };
        self.chain.known.insert(number, facts);
        self.chain.open = Some(OpenSession { number, from });
        number
    }

    /// Closes the open session before a message and returns its number.
    pub(crate) fn close_session(
        &mut self,
        to: MessageIndex,
        summary: Option<String>,
        now: Timestamp,
    ) -> Option<u32> {
        let OpenSession { number, from } = self.chain.open.take()?;
        let facts = self.chain.known.get_mut(&number)?;
        facts.spans.push((from, to));
        let from = facts.spans[0].0;
        self.sessions.push(PastSession { id: number.to_string(), from, to, summary, closed: now });
        Some(number)
    }

    /// Reopens a closed session from a message on.
    pub(crate) fn reopen_session(&mut self, number: u32, from: MessageIndex) {
        let summary = self.session_summary(number).map(str::to_owned);
        if let Some(facts) = self.chain.known.get_mut(&number) {
            facts.summary = summary;
        }
        self.sessions.retain(|session| session.id != number.to_string());
        self.chain.open = Some(OpenSession { number, from });
    }

    /// A closed session by its number.
    pub(crate) fn past_session(&self, number: u32) -> Option<&PastSession> {
        self.sessions.iter().find(|session| session.id == number.to_string())
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
    pub(crate) fn closed_sessions(&self) -> Vec<ClosedSession> {
        let searched = |session: &PastSession| {
            let known =
                session.id.parse().ok().and_then(|number: u32| self.chain.known.get(&number));
            let spans = known.map(|facts| facts.spans.clone());
            Some(ClosedSession {
                id: session.id.clone(),
                summary: session.summary.clone()?,
                spans: spans.unwrap_or_else(|| vec![(session.from, session.to)]),
            })
        };
        self.sessions.iter().filter_map(searched).collect()
    }
}

/// Copies summaries that one list of sessions has and the other lacks, where
/// they cover the same messages.
pub(super) fn fill_in(sessions: &mut [PastSession], from: Vec<PastSession>) {
    for written in from {
        let same = sessions
            .iter_mut()
            .find(|session| session.id == written.id && session.to == written.to);
        if let Some(session) = same.filter(|session| session.summary.is_none()) {
            session.summary = written.summary;
        }
    }
}
