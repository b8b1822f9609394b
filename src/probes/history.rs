//! The messages that the recorded agent had in its context at a request.

use rustc_hash::FxHashMap;

use crate::model::{MessageIndex, RecordedCompaction, Transcript};

/// The recorded boundaries of a transcript, indexed for queries about requests.
pub(super) struct History<'a> {
    compactions: &'a [RecordedCompaction],
    /// For each result that was ever cleared, when (messages recorded by then).
    cleared: FxHashMap<MessageIndex, MessageIndex>,
}

impl<'a> History<'a> {
    pub(super) fn new(transcript: &'a Transcript) -> History<'a> {
        let results = transcript.results();
        let mut cleared = FxHashMap::default();
        for compaction in &transcript.compactions {
            for id in &compaction.cleared {
                if let Some(&result) = results.get(id) {
                    cleared.entry(result).or_insert(compaction.after);
                }
            }
        }
        History { compactions: &transcript.compactions, cleared }
    }

    /// The last boundary before `request` that removed messages; one that only
    /// cleared results does not.
    pub(super) fn boundary(&self, request: MessageIndex) -> Option<&'a RecordedCompaction> {
        self.compactions.iter().rfind(|c| c.after <= request && c.folds())
    }

    /// Whether the recorded agent still had `message`, which comes before
    /// `request`, at it.
    pub(super) fn held(&self, message: MessageIndex, request: MessageIndex) -> bool {
        let kept = self.boundary(request).is_none_or(|boundary| boundary.keeps(message));
        let gone = self.cleared.get(&message).is_some_and(|&at| at <= request);
        kept && !gone
    }
}
