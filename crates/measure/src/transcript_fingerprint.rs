//! Hashes of a transcript, by which two runs recognise the same transcript.

use serde::{Deserialize, Serialize};

use recap_core::model::{Expectation, Fingerprint, TranscriptFacts};

/// A transcript with hashes of everything that results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranscriptFingerprint {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the transcript.
    pub transcript: String,
    /// Project or developer of the transcript, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Hash of its messages, requests and references.
    pub session: String,
    /// Hash of its probes without their text.
    pub probes: String,
    /// Hash of the text of its probes; `None` if the run did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// How its tokens are counted.
    pub tokens: String,
}

/// The fingerprint of a transcript in a run.
pub fn fingerprint_of(facts: &TranscriptFacts) -> TranscriptFingerprint {
    TranscriptFingerprint {
        dataset: facts.dataset.clone(),
        transcript: facts.transcript.clone(),
        cluster: facts.cluster.clone(),
        session: facts.fingerprint(),
        probes: probes(facts),
        words: words(facts),
        tokens: format!("{} {:.6}", facts.tokens_source.as_str(), facts.factor()),
    }
}

fn probes(facts: &TranscriptFacts) -> String {
    let mut hash = Fingerprint::default();
    for asked in facts.questions() {
        let probe = &asked.probe;
        hash.add(&probe.id);
        hash.add(probe.kind.as_str());
        hash.add(&probe.asked_at.to_string());
        hash.add(&probe.evidence.len().to_string());
        probe.evidence.iter().for_each(|id| hash.add(id));
    }
    hash.short()
}

fn words(facts: &TranscriptFacts) -> Option<String> {
    let mut hash = Fingerprint::default();
    let mut has_words = false;
    for probe in facts.questions().map(|asked| &asked.probe) {
        has_words |= !probe.question.is_empty();
        hash.add(&probe.question);
        let (kind, values): (&str, &[String]) = match &probe.expect {
            Expectation::AnyOf(values) => ("any of", values),
            Expectation::Rubric(values) => ("rubric", values),
            Expectation::Unanswerable => ("unanswerable", &[]),
        };
        hash.add(kind);
        values.iter().chain(&probe.stale).for_each(|value| hash.add(value));
    }
    has_words.then(|| hash.short())
}
