//! A transcript as another run knows it again: hashes of what presets and
//! probes were put to.

use serde::{Deserialize, Serialize};

use crate::model::{Expectation, TranscriptFacts};

/// A transcript, such that another run can tell whether it is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sat {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the transcript.
    pub transcript: String,
    /// Project or developer, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Hash of its messages, requests and references.
    pub session: String,
    /// Hash of its probes, their words apart.
    pub probes: String,
    /// Hash of their words; `None` where the run kept none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// How its tokens are counted.
    pub tokens: String,
}

/// The transcript of a run.
pub fn sat(facts: &TranscriptFacts) -> Sat {
    Sat {
        dataset: facts.dataset.clone(),
        transcript: facts.transcript.clone(),
        cluster: facts.cluster.clone(),
        session: session(facts),
        probes: probes(facts),
        words: words(facts),
        tokens: format!("{} {:.6}", facts.tokens_source.as_str(), facts.factor()),
    }
}

/// Hash of parts, none of which can run into the next.
struct Hash(blake3::Hasher);

/// Characters of a hash: enough to tell two sessions apart.
const HASH: usize = 16;

impl Hash {
    fn new() -> Self {
        Hash(blake3::Hasher::new())
    }

    fn add(&mut self, part: &str) {
        self.0.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }

    fn short(&self) -> String {
        self.0.finalize().to_hex()[..HASH].to_owned()
    }
}

fn session(facts: &TranscriptFacts) -> String {
    let mut hash = Hash::new();
    for message in &facts.messages {
        [message.id.as_str(), message.role.as_str(), &message.text]
            .into_iter()
            .for_each(|part| hash.add(part));
    }
    facts.requests.iter().for_each(|request| hash.add(&request.message.to_string()));
    for reference in &facts.exam.references {
        hash.add(&reference.request.to_string());
        hash.add(&reference.text);
    }
    hash.short()
}

fn probes(facts: &TranscriptFacts) -> String {
    let mut hash = Hash::new();
    for asked in &facts.probes {
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
    let mut hash = Hash::new();
    let mut told = false;
    for probe in facts.probes.iter().map(|asked| &asked.probe) {
        told |= !probe.question.is_empty();
        hash.add(&probe.question);
        let (kind, values): (&str, &[String]) = match &probe.expect {
            Expectation::AnyOf(values) => ("any of", values),
            Expectation::Rubric(values) => ("rubric", values),
            Expectation::Unanswerable => ("unanswerable", &[]),
        };
        hash.add(kind);
        values.iter().chain(&probe.stale).for_each(|value| hash.add(value));
    }
    told.then(|| hash.short())
}
