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
    /// Hash of its questions without their text.
    pub questions: String,
    /// Hash of the text of its questions; `None` if the run did not keep it.
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
        questions: questions(facts),
        words: words(facts),
        tokens: format!("{} {:.6}", facts.tokens_source.as_str(), facts.factor()),
    }
}

fn questions(facts: &SessionFacts) -> String {
    let mut hash = Fingerprint::default();
    for asked in facts.all_questions() {
        let question = &asked.question;
        hash.add(&question.id);
        hash.add(question.kind.as_str());
        hash.add(&question.asked_at.to_string());
        hash.add(&question.evidence.len().to_string());
        question.evidence.iter().for_each(|id| hash.add(id));
    }
    hash.short()
}

fn words(facts: &SessionFacts) -> Option<String> {
    let mut hash = Fingerprint::default();
    let mut has_words = false;
    for question in facts.all_questions().map(|asked| &asked.question) {
        has_words |= !question.question.is_empty();
        hash.add(&question.question);
        let (kind, values): (&str, &[String]) = match &question.expect {
            Expectation::AnyOf(values) => ("any of", values),
            Expectation::Rubric(values) => ("rubric", values),
            Expectation::Unanswerable => ("unanswerable", &[]),
        };
        hash.add(kind);
        values.iter().chain(&question.stale).for_each(|value| hash.add(value));
    }
    has_words.then(|| hash.short())
}
