//! Facts that are lost after a cut and that the strategy's own search finds. The
//! query contains the words near the fact, never the fact itself (how-it-works §45).

use std::collections::BTreeSet;

use super::segment::CutSegment;
use crate::session::ReplaySession;
use recap_core::model::{ReferenceOutcome, ReferenceState};
use recap_strategy::{Archived, ArchivedSession, Channel, RecoverySpec};

/// Searches for lost facts, request by request.
pub(super) struct Searcher<'a> {
    part: &'a CutSegment,
    channel: Option<&'static RecoverySpec>,
    /// Every message of the segment, as a search returns it; built at the first
    /// use.
    archive: Vec<Archived>,
    /// Number of outcomes that were handled so far.
    searched: usize,
    /// The facts that were found.
    pub(super) found: BTreeSet<u32>,
}

impl<'a> Searcher<'a> {
    pub(super) fn new(part: &'a CutSegment, channel: Option<&'static RecoverySpec>) -> Self {
        Searcher { part, channel, archive: Vec::new(), searched: 0, found: BTreeSet::new() }
    }

    /// Searches for the facts that are missing from the newest requests.
    pub(super) fn search(&mut self, session: &ReplaySession<'_>) {
        let new = &session.references[self.searched..];
        self.searched = session.references.len();
        let lost = |outcome: &&ReferenceOutcome| outcome.state == ReferenceState::Lost;
        let lost: Vec<u32> = new.iter().filter(lost).map(|outcome| outcome.reference).collect();
        let own = lost.iter().copied().filter(|&fact| self.brought_back(session, fact));
        let own: Vec<u32> = own.collect();
        self.found.extend(own);
        let Some(spec) = self.channel.filter(|_| !lost.is_empty()) else { return };
        if self.archive.is_empty() {
            self.archive = self.part.prepared.archived();
        }
        let closed = session.shared.closed_sessions();
        let sessions: Vec<ArchivedSession> =
            closed.iter().map(|closed| ArchivedSession::of(closed, 0)).collect();
        let past = &self.archive[..session.context().seen_count() as usize];
        let channel = Channel::new(spec, past).with_sessions(&sessions);
        let found = lost.into_iter().filter(|&fact| finds(self.part, &channel, fact));
        let found: Vec<u32> = found.collect();
        self.found.extend(found);
    }

    /// Whether a token saver's own tool brings back a text that contains the fact.
    fn brought_back(&self, session: &ReplaySession<'_>, fact: u32) -> bool {
        let prepared = &self.part.prepared;
        let sources = prepared.facts.exam.references[fact as usize].sources.iter();
        let texts = sources.flat_map(|&message| {
            session.stages.iter().filter_map(move |stage| stage.mechanism.recovered(message))
        });
        texts.into_iter().any(|text| prepared.survival.place_in(fact as usize, text).is_some())
    }
}

/// Whether a search for the words near a fact returns a text that contains it.
fn finds(part: &CutSegment, channel: &Channel<'_>, fact: u32) -> bool {
    let Some(tool) = channel.spec.tools.first() else { return false };
    let words = spelt(part, fact);
    let queries = if channel.spec.takes_questions { vec![words.join(" ")] } else { words };
    let survival = &part.prepared.survival;
    let holds = |hit: &&Archived| survival.place_in(fact as usize, &hit.content).is_some();
    queries.iter().any(|query| channel.call(tool.name, query).iter().any(&holds))
}

/// The words near a fact where it was last mentioned, in their original
/// spelling: searches distinguish upper and lower case.
fn spelt(part: &CutSegment, fact: u32) -> Vec<String> {
    let reference = &part.prepared.facts.exam.references[fact as usize];
    let source = part.prepared.recording.text(reference.last_seen);
    let words = || source.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let as_spelt = |lower: &String| {
        let is_it = |word: &&str| word.chars().flat_map(char::to_lowercase).eq(lower.chars());
        let found = words().find(is_it);
        found.unwrap_or(lower).to_owned()
    };
    reference.near.iter().map(as_spelt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::Role;
    use recap_strategy::ClosedSession;

    #[test]
    fn closed_session_is_summary_at_its_first_message() {
        let closed = |spans: &[(u32, u32)]| {
            let spans = spans.to_vec();
            let closed = ClosedSession { number: 2, summary: "So far.".into(), spans };
            ArchivedSession::of(&closed, 0)
        };
        let found = closed(&[(3, 5), (7, 9)]);
        let Archived { message, role, source, content, .. } = &found.summary;
        assert_eq!((*message, *role, &**content), (3, Role::User, "So far."));
        assert_eq!(source.as_deref(), Some("summary of session 2"));
        assert_eq!(found.spans, [(3, 5), (7, 9)]);
        assert_eq!(closed(&[]).summary.message, 0);
    }
}
