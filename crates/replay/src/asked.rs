//! The context at a question point, with the states of the evidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::session::{CellResult, ReplaySession};
use crate::prepared::{PreparedSession, text_hash};
use crate::session::Plan;
use recap_core::model::{CellRows, LedgerState, MessageIndex, Role, Snapshot, SnapshotPart};
use recap_exam::questions::beside;
use recap_strategy::ClosedSession;

/// A question that still has to be asked, with the states of its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingQuestion {
    /// Position of the question in [`SessionFacts::questions`](recap_core::model::SessionFacts).
    pub question: u32,
    /// Position of its context in [`CellRows::snapshots`].
    pub snapshot: u32,
    /// Worst state of the messages that answer the question; absent without
    /// evidence.
    pub evidence: Option<LedgerState>,
    /// Number of compactions since the evidence was last mentioned; absent
    /// without evidence.
    pub age_compactions: Option<u32>,
    /// The sessions that the strategy had closed by then, with a summary.
    pub sessions: Arc<[ClosedSession]>,
}

impl ReplaySession<'_> {
    /// Stores the context of this request if a question is asked there.
    pub(super) fn snapshot(&mut self, request: u32, overflow: bool) {
        let facts = &self.prepared.facts;
        let asked: Vec<u32> = (0..)
            .zip(&facts.questions)
            .filter(|(_, p)| p.request == request)
            .map(|(i, _)| i)
            .collect();
        if asked.is_empty() {
            return;
        }
        let sessions: Arc<[ClosedSession]> = self.shared.closed_sessions().into();
        for &question in &asked {
            let evidence = &facts.questions[question as usize].evidence;
            let states = evidence.iter().map(|&message| self.context.state(message));
            let since = |&last: &MessageIndex| {
                let after = self.compactions.iter().filter(|(_, c)| c.messages_seen > last);
                after.count() as u32
            };
            self.asked.push(PendingQuestion {
                question,
                snapshot: self.snapshots.len() as u32,
                evidence: states.max(),
                age_compactions: evidence.last().map(since),
                sessions: Arc::clone(&sessions),
            });
        }
        let parts = self.parts();
        self.snapshots.push(Snapshot {
            request,
            tokens: self.context.weight().tokens,
            overflow,
            compactions: self.compactions.len() as u32,
            parts,
        });
    }

    /// The parts of what is sent now, in order; texts that are not recorded
    /// messages are stored.
    fn parts(&mut self) -> Vec<SnapshotPart> {
        let mut parts = Vec::new();
        parts.extend(self.preamble());
        let notes = self.context.notes().map(|(_, text)| text.to_owned());
        for text in notes.filter(|text| !text.is_empty()) {
            parts.push(written(Role::System, text, &mut self.texts));
        }
        for id in self.context.visible() {
            // A message as recorded is known by its number, without its text.
            if let Some(message) = id.index().filter(|_| !self.context.is_edited(id)) {
                extend(&mut parts, message);
                continue;
            }
            let Some(entry) = self.context.entry(id) else { continue };
            match id.index() {
                Some(message) => {
                    let text = keep(entry.text.to_owned(), &mut self.texts);
                    parts.push(SnapshotPart::Edited { message, text });
                }
                None => {
                    parts.push(written(entry.role, entry.text.to_owned(), &mut self.texts));
                }
            }
        }
        parts
    }

    /// The recorded preamble, whose text is stored once for each of its changes.
    fn preamble(&mut self) -> Option<SnapshotPart> {
        let recording = &self.prepared.recording;
        let change = recording.session.preamble_change(self.context.seen_count());
        if self.preamble.as_ref().is_none_or(|(known, _)| *known != change) {
            let text = Some(recording.preamble(change)).filter(|text| !text.is_empty());
            let part = text.map(|text| written(Role::System, text.to_string(), &mut self.texts));
            self.preamble = Some((change, part));
        }
        self.preamble.as_ref().and_then(|(_, part)| part.clone())
    }
}

/// The control `evidence`: each question is asked with the messages that answer it
/// and their neighbours. No requests are replayed; for a question without evidence
/// only the preamble is sent.
pub(super) fn evidence_alone(prepared: &PreparedSession, plan: &Plan) -> CellResult {
    let facts = &prepared.facts;
    let mut texts = BTreeMap::new();
    let mut snapshots = Vec::new();
    let mut asked = Vec::new();
    // The preamble since each of its changes.
    let mut preambles: BTreeMap<Option<usize>, Option<SnapshotPart>> = BTreeMap::new();
    for (number, question) in (0u32..).zip(&facts.questions) {
        let mut parts = Vec::new();
        let recording = &prepared.recording;
        let change = recording.session.preamble_change(question.question.asked_at + 1);
        let sent = preambles.entry(change).or_insert_with(|| {
            let text = recording.preamble(change);
            (!text.is_empty()).then(|| written(Role::System, text.to_string(), &mut texts))
        });
        parts.extend(sent.clone());
        let shown = beside(&question.evidence, question.question.asked_at + 1);
        let sizes = &prepared.recording.sizes.messages;
        let tokens = shown.iter().map(|&m| sizes[m as usize].tokens).sum::<u64>();
        shown.into_iter().for_each(|message| extend(&mut parts, message));
        asked.push(PendingQuestion {
            question: number,
            snapshot: number,
            evidence: (!question.evidence.is_empty()).then_some(LedgerState::Verbatim),
            age_compactions: (!question.evidence.is_empty()).then_some(0),
            sessions: Arc::default(),
        });
        snapshots.push(Snapshot {
            request: question.request,
            tokens: tokens + facts.preamble_tokens,
            overflow: false,
            compactions: 0,
            parts,
        });
    }
    let rows = CellRows { snapshots, window: plan.window, ..CellRows::default() };
    (rows, texts, asked)
}

/// Adds a recorded message: to the last part if it continues it, else as a new part.
pub(super) fn extend(parts: &mut Vec<SnapshotPart>, message: MessageIndex) {
    match parts.last_mut() {
        Some(SnapshotPart::Messages { to, .. }) if *to == message => *to += 1,
        _ => parts.push(SnapshotPart::Messages { from: message, to: message + 1 }),
    }
}

fn written(role: Role, text: String, texts: &mut BTreeMap<String, String>) -> SnapshotPart {
    SnapshotPart::Written { role, text: keep(text, texts) }
}

/// Stores a text under its hash.
pub(super) fn keep(text: String, texts: &mut BTreeMap<String, String>) -> String {
    let hash = text_hash(&text);
    texts.insert(hash.clone(), text);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_consecutive_messages_share_a_part() {
        let mut texts = BTreeMap::new();
        let mut parts = Vec::new();
        [3, 4, 6].into_iter().for_each(|message| extend(&mut parts, message));
        let note = written(Role::System, "a note".to_owned(), &mut texts);
        parts.push(note.clone());
        extend(&mut parts, 7);
        let run = |from, to| SnapshotPart::Messages { from, to };
        assert_eq!(parts, [run(3, 5), run(6, 7), note.clone(), run(7, 8)]);
        let hash = text_hash("a note");
        assert_eq!(note, SnapshotPart::Written { role: Role::System, text: hash.clone() });
        assert_eq!(texts, BTreeMap::from([(hash, "a note".to_owned())]));
    }
}
