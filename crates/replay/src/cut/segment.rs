//! The segment of a session that a cut examines: the messages that may be
//! compacted (the material) and the requests after them. Every strategy and depth
//! uses the same segment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::PreparedSession;
use crate::asked::{extend, keep};
use recap_core::model::{
    CLEARED, Cut, Exam, Fact, MessageIndex, QuestionFacts, RecordedCompaction, Reference,
    RequestFacts, SessionFacts, Snapshot, SnapshotPart,
};
use recap_exam::facts::{CutPlace, Survival};
use recap_strategy::Recording;

/// The segment of a session that a cut examines.
#[derive(Debug)]
pub struct CutSegment {
    /// The messages of the segment as a session, with the facts as
    /// its references.
    pub prepared: PreparedSession,
    /// Number of messages of the material, which are the first of the segment.
    pub(super) material: MessageIndex,
    /// Ordinal, within the segment, of the first request after the cut.
    pub(super) first: u32,
    /// Position of each message in the whole session.
    messages: Vec<MessageIndex>,
    /// Whether each message was cleared, by position within the segment.
    cleared: Vec<bool>,
    /// Position of each question in the whole session.
    questions: Vec<u32>,
    /// Ordinal, within the whole session, of the first request after the cut.
    request: u32,
}

impl CutSegment {
    /// Takes the segment out of a session. `facts` are the facts,
    /// with positions in the whole session; `questions` are the positions of
    /// the questions that are asked at this cut.
    pub fn new(
        whole: &PreparedSession,
        place: &CutPlace,
        facts: &[Reference],
        questions: &[u32],
    ) -> Self {
        let kept = place.material.iter().map(|kept| (kept.message, kept.cleared));
        let taken: Vec<(MessageIndex, bool)> =
            kept.chain((place.from..=place.last).map(|message| (message, false))).collect();
        let messages: Vec<MessageIndex> = taken.iter().map(|(message, _)| *message).collect();
        let cleared: Vec<bool> = taken.iter().map(|(_, cleared)| *cleared).collect();
        let numbers = Numbers(&messages);
        let material = place.material.len() as MessageIndex;
        let mut recording = recorded_part(&whole.recording, place, &taken, &numbers);
        let copied = whole.recording.session.copied.range(place.from..=place.last);
        let copied: BTreeSet<MessageIndex> = copied.map(|&at| numbers.before(at)).collect();
        // What was copied before the cut is passed like any other request.
        let responses = numbers.requests(&whole.responses);
        let own = responses.iter().filter(|one| !copied.contains(&one.message)).copied();
        let requests: Vec<RequestFacts> = own.collect();
        if !copied.is_empty() {
            Arc::make_mut(&mut recording.session).copied = copied;
        }
        let first = requests.partition_point(|request| request.message < material) as u32;
        let exam = Exam {
            references: facts.iter().map(|f| numbers.reference(f, first, place.request)).collect(),
            did_without: 0,
        };
        let part = &recording.session;
        let last = whole.last_components.part(&exam.references, &part.messages, &taken);
        let survival = Survival::new(part, &exam, &last);
        let asked = questions.iter().filter_map(|&at| whole.facts.question(at));
        let facts = SessionFacts {
            messages: messages.iter().map(|&m| whole.facts.messages[m as usize].clone()).collect(),
            requests,
            exam,
            questions: asked.map(|question| numbers.question(question, first)).collect(),
            dataset: whole.facts.dataset.clone(),
            session: whole.facts.session.clone(),
            cluster: whole.facts.cluster.clone(),
            preamble_tokens: recording.sizes.preamble_tokens(),
            hidden_tokens: recording.sizes.hidden_tokens,
            recorded_compactions: recording.session.compactions.len() as u32,
            model: whole.facts.model.clone(),
            other_models: whole.facts.other_models.clone(),
            tokens_source: whole.facts.tokens_source,
            calibration: whole.facts.calibration.clone(),
            clock_modelled: whole.facts.clock_modelled,
            ..SessionFacts::default()
        };
        let prepared = PreparedSession {
            used_again: vec![None; recording.session.compactions.len()],
            timeline: Arc::new(whole.timeline.part(messages.iter().copied())),
            recording,
            survival,
            last_components: Arc::default(),
            facts: Arc::new(facts),
            texts: Arc::default(),
            cuts: Arc::default(),
            responses: Arc::new(responses),
        };
        let questions = questions.to_vec();
        CutSegment {
            prepared,
            material,
            first,
            messages,
            cleared,
            questions,
            request: place.request,
        }
    }

    /// The part of the result that is the same for every strategy.
    pub fn cut(&self, place: &CutPlace, facts: &[Reference]) -> Cut {
        let sizes = &self.prepared.recording.sizes;
        let first = self.first_message();
        let of_material = &sizes.messages[..self.material as usize];
        let preamble = sizes.preamble_tokens();
        let all: u64 = sizes.messages[..first as usize].iter().map(|weight| weight.tokens).sum();
        // What it had lost by then was not sent.
        let lost = sizes.shrinks.iter().filter(|shrink| shrink.before <= first);
        let lost: u64 = lost.map(|shrink| shrink.tokens).sum();
        Cut {
            dataset: self.prepared.facts.dataset.clone(),
            session: self.prepared.facts.session.clone(),
            request: place.request,
            recorded: place.recorded.is_some(),
            requests: place.requests,
            left: Some(place.left),
            messages: self.material,
            tokens_before: preamble + all.saturating_sub(lost),
            preamble_tokens: preamble,
            facts: facts.iter().map(|fact| self.fact(fact, of_material)).collect(),
            rows: Vec::new(),
        }
    }

    fn fact(&self, fact: &Reference, material: &[recap_core::tokens::Weight]) -> Fact {
        let from = self.messages.partition_point(|&message| message < fact.last_seen);
        Fact {
            request: fact.request,
            text: fact.text.clone(),
            class: fact.class,
            last_seen: fact.last_seen,
            newest_tokens: material[from..].iter().map(|weight| weight.tokens).sum(),
            refetch: fact.refetch,
            reread: fact.reread,
        }
    }

    /// The ordinal, within the whole session, of a request of the segment.
    pub(super) fn request_of(&self, request: u32) -> u32 {
        self.request + request - self.first
    }

    /// The assistant message that the first request after the cut produced.
    pub(super) fn first_message(&self) -> MessageIndex {
        self.prepared.facts.requests[self.first as usize].message
    }

    /// Number of messages in the segment.
    pub(super) fn length(&self) -> MessageIndex {
        self.messages.len() as MessageIndex
    }

    /// The position of a question in the whole session.
    pub(super) fn question(&self, number: u32) -> u32 {
        self.questions[number as usize]
    }

    /// Converts a snapshot to positions in the whole session. Cleared
    /// results become edited messages; their text is added to `texts`.
    pub(super) fn whole(
        &self,
        snapshot: Snapshot,
        texts: &mut BTreeMap<String, String>,
    ) -> Snapshot {
        let mut parts: Vec<SnapshotPart> = Vec::new();
        for part in snapshot.parts {
            match part {
                SnapshotPart::Messages { from, to } => {
                    for at in from..to {
                        self.message(at, &mut parts, texts);
                    }
                }
                SnapshotPart::Edited { message, text } => {
                    let message = self.messages[message as usize];
                    parts.push(SnapshotPart::Edited { message, text });
                }
                written @ SnapshotPart::Written { .. } => parts.push(written),
            }
        }
        Snapshot { request: self.request, parts, ..snapshot }
    }

    fn message(
        &self,
        at: MessageIndex,
        parts: &mut Vec<SnapshotPart>,
        texts: &mut BTreeMap<String, String>,
    ) {
        let message = self.messages[at as usize];
        if self.cleared[at as usize] {
            let text = self.prepared.recording.text(at).to_string();
            return parts.push(SnapshotPart::Edited { message, text: keep(text, texts) });
        }
        extend(parts, message);
    }
}

/// The messages of a segment, each with whether it was cleared, as a recording.
fn recorded_part(
    whole: &Recording,
    place: &CutPlace,
    taken: &[(MessageIndex, bool)],
    numbers: &Numbers<'_>,
) -> Recording {
    let texts: Vec<(MessageIndex, Option<&str>)> =
        taken.iter().map(|&(at, cleared)| (at, cleared.then_some(CLEARED))).collect();
    let (all, material) = (&whole.session.compactions, place.material.len() as MessageIndex);
    let compactions = place.recorded.map(|at| (at, numbers.compaction(&all[at], material)));
    let mut part = whole.part(&texts, compactions.into_iter().collect());
    let before = place.recorded.unwrap_or_else(|| all.partition_point(|c| c.after <= place.from));
    let standing = (0..before).rfind(|&at| all[at].folds());
    // What an earlier compaction left, of which the provider reported the size, stays in front of
    // the segment; the segment's own compaction left so much less.
    if let Some(tokens) = standing.and_then(|at| whole.sizes.put_back[at]) {
        let sizes = Arc::make_mut(&mut part.sizes);
        sizes.hidden_tokens += tokens;
        let later = sizes.put_back.iter_mut().flatten();
        later.for_each(|left| *left = left.saturating_sub(tokens));
    }
    part
}

/// Converts positions in the session to positions in the segment.
struct Numbers<'a>(&'a [MessageIndex]);

impl Numbers<'_> {
    /// Number of messages of the segment before a message of the session.
    fn before(&self, message: MessageIndex) -> MessageIndex {
        self.0.partition_point(|&other| other < message) as MessageIndex
    }

    fn has(&self, message: MessageIndex) -> bool {
        self.0.binary_search(&message).is_ok()
    }

    fn all(&self, messages: &[MessageIndex]) -> Vec<MessageIndex> {
        messages.iter().filter(|&&m| self.has(m)).map(|&m| self.before(m)).collect()
    }

    fn requests(&self, whole: &[RequestFacts]) -> Vec<RequestFacts> {
        let kept = whole.iter().filter(|request| self.has(request.message));
        kept.map(|request| RequestFacts { message: self.before(request.message), ..*request })
            .collect()
    }

    /// Converts a fact whose request is after the cut.
    fn reference(&self, fact: &Reference, first: u32, request: u32) -> Reference {
        Reference {
            request: first + fact.request - request,
            last_seen: self.before(fact.last_seen),
            sources: self.all(&fact.sources),
            refetch: fact.refetch.map(|at| self.before(at)),
            ..fact.clone()
        }
    }

    fn question(&self, question: &QuestionFacts, first: u32) -> QuestionFacts {
        QuestionFacts { request: first, evidence: self.all(&question.evidence), ..question.clone() }
    }

    /// Converts a recorded compaction after the material.
    fn compaction(
        &self,
        compaction: &RecordedCompaction,
        material: MessageIndex,
    ) -> RecordedCompaction {
        use recap_core::model::Piece;
        let pieces = compaction.pieces.iter().filter_map(|piece| match piece {
            Piece::Message(at) => self.has(*at).then(|| Piece::Message(self.before(*at))),
            text @ Piece::Text { .. } => Some(text.clone()),
        });
        RecordedCompaction {
            after: material,
            kept_from: self.before(compaction.kept_from),
            pieces: pieces.collect(),
            ..compaction.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{IdentifierClass, Piece};

    #[test]
    fn positions_count_within_segment_and_omit_others() {
        let numbers = Numbers(&[3, 5, 8]);
        assert_eq!(numbers.all(&[2, 3, 4, 8, 9]), [0, 2]);
        let recorded = RecordedCompaction {
            after: 9,
            kept_from: 5,
            pieces: [4, 5, 8].map(Piece::Message).to_vec(),
            ..RecordedCompaction::default()
        };
        let own = numbers.compaction(&recorded, 2);
        assert_eq!((own.after, own.kept_from), (2, 1));
        assert_eq!(own.pieces, [1, 2].map(Piece::Message));
    }

    #[test]
    fn fact_names_segment_messages_that_state_it() {
        let numbers = Numbers(&[3, 5, 8, 9]);
        let fact = Reference {
            text: "a.rs".to_owned(),
            class: IdentifierClass::Path,
            request: 7,
            last_seen: 8,
            distance_tokens: 40,
            sources: vec![1, 3, 8],
            refetch: Some(5),
            reread: false,
            near: Vec::new(),
        };
        let own = numbers.reference(&fact, 2, 6);
        assert_eq!((own.request, own.last_seen, own.refetch), (3, 2, Some(1)));
        assert_eq!(own.sources, [0, 2]);
    }
}
