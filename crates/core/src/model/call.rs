//! Calls of real models, with their outcome, tokens and time.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Usage;

/// How a time was obtained. Times of different sources are never mixed in one
/// mean (reference §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum LatencySource {
    /// Measured in this run while a model answered.
    Live,
    /// Measured when the call was recorded, and read from that recording.
    Recorded,
    /// Computed from a [`super::TimeProfile`].
    Modelled,
}

impl LatencySource {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The role in which a run asks a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ModelRole {
    /// Writes the summaries of compactions.
    Compactor,
    /// Answers the questions from a context.
    Answerer,
    /// Grades the answers to questions.
    Judge,
    /// Embeds texts that are searched by meaning.
    Embedder,
    /// Writes questions about a session.
    Author,
}

impl ModelRole {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Where the time of a call went. Only `total_ms` is the model's latency; the
/// harness's own waiting is kept apart from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Waiting before the last attempt was sent, in milliseconds: for a turn,
    /// for a rate limit, between attempts, and the attempts that failed.
    pub queue_ms: f64,
    /// Time of the last attempt from sending to the response's headers, in milliseconds.
    pub first_byte_ms: f64,
    /// Time of the last attempt from sending to the last byte, in milliseconds.
    pub total_ms: f64,
    /// Number of requests sent, the failed ones included.
    pub attempts: u32,
}

impl Timing {
    /// The order by which one of several equal calls is chosen: the quickest
    /// first.
    pub fn quickest(&self, other: &Self) -> Ordering {
        (self.total_ms.total_cmp(&other.total_ms))
            .then(self.first_byte_ms.total_cmp(&other.first_byte_ms))
            .then(self.queue_ms.total_cmp(&other.queue_ms))
            .then(self.attempts.cmp(&other.attempts))
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum CallOutcome {
    /// The reply is complete.
    Replied,
    /// A reply that was cut off.
    Truncated,
    /// The model declined to answer.
    Refused,
    /// The provider withheld the prompt or the reply.
    Filtered,
    /// The provider rejected the request for a lasting reason.
    Rejected,
    /// The response could not be read.
    Malformed,
    /// The provider could not be reached, or kept failing.
    Unavailable,
}

impl CallOutcome {
    /// The kebab-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One call that was made, or read from a recording. The same request is
/// called once in a run, however many cells ask it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRow {
    /// The role that made the call.
    pub role: ModelRole,
    /// The model, as `provider/model`.
    pub model: String,
    /// Hash of the request: BLAKE3 of provider, model, parameters, messages,
    /// schema and repetition, hex.
    pub key: String,
    /// Number of the repetition, from 0.
    pub replicate: u32,
    /// Whether the call brought a reply, and of which kind.
    pub outcome: CallOutcome,
    /// The tokens of the call, where the provider reported them.
    pub usage: Option<Usage>,
    /// Output tokens that were reasoning, where the provider reports them.
    pub reasoning: Option<u64>,
    /// Its price in USD at the standard rates; absent where the model has no
    /// price or the tokens are not known.
    pub usd: Option<f64>,
    /// The time of the call, by phase.
    pub timing: Timing,
    /// Whether the time was measured now or when it was recorded.
    pub source: LatencySource,
}
