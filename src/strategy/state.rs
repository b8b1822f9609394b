//! State that the stages of one preset share.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::chain::{Chain, ClosedSession, OpenSession, Rest, SessionFacts, Spans};
use super::context::EntryId;
use crate::model::MessageIndex;

/// State that the stages of one preset share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetState {
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastSession {
    /// The session's id, unique within a cell.
    pub id: String,
    /// Its first recorded message.
    pub from: MessageIndex,
    /// The recorded message after its last one.
    pub to: MessageIndex,
    /// The summary of the session, if one was written.
    pub summary: Option<String>,
    /// When it was closed.
    pub closed: Timestamp,
}

impl PresetState {
    /// Takes over the changes between two states, and keeps its own values of
    /// everything else. If another session was opened meanwhile, work that
    /// began in the one before no longer applies: returns `false`, and takes
    /// only its summaries of closed sessions.
    pub(crate) fn adopt(&mut self, before: &Self, after: Self) -> bool {
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

impl PresetState {
    /// Opens a new session with the messages that another one leaves to it, and
    /// returns its number.
    pub(crate) fn start_session(&mut self, parent: Option<u32>, rest: Rest, now: Timestamp) -> u32 {
        let number = self.chain.known.len() as u32 + 1;
        let Rest { spans, from } = rest;
        let facts = SessionFacts { parent, opened: now, spans, summary: None };
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
        let past = PastSession { id: number.to_string(), from: first, to, summary, closed: now };
        self.sessions.push(past);
        (Some(number), Rest { spans: filled(rest), from: from.max(to) })
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
fn fill_in(sessions: &mut [PastSession], from: Vec<PastSession>) {
    for written in from {
        let same = sessions
            .iter_mut()
            .find(|session| session.id == written.id && session.to == written.to);
        if let Some(session) = same.filter(|session| session.summary.is_none()) {
            session.summary = written.summary;
        }
    }
}
