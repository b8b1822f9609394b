//! Hashes of a session, by which two runs recognise the same session.

use serde::{Deserialize, Serialize};

use recap_core::model::{Expectation, Fingerprint, SessionFacts};

/// A session with hashes of everything that results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFingerprint {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Project or developer of the session, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Hash of its messages, requests and references.
    pub content: String,
    /// Hash of its probes without their text.
    pub probes: String,
    /// Hash of the text of its probes; `None` if the run did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// How its tokens are counted.
    pub tokens: String,
}

/// The fingerprint of a session in a run.
pub fn fingerprint_of(facts: &SessionFacts) -> SessionFingerprint {
    SessionFingerprint {
        dataset: facts.dataset.clone(),
        session: facts.session.clone(),
        cluster: facts.cluster.clone(),
        content: facts.fingerprint(),
        probes: probes(facts),
        words: words(facts),
        tokens: format!("{} {:.6}", facts.tokens_source.as_str(), facts.factor()),
    }
}

fn probes(facts: &SessionFacts) -> String {
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

fn words(facts: &SessionFacts) -> Option<String> {
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
