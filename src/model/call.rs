//! Calls of real models: what each one took.

use serde::{Deserialize, Serialize};

use super::{LatencySource, Usage};

/// Who asks a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seat {
    /// Writes summaries.
    Compactor,
    /// Answers probes.
    Answerer,
    /// Grades answers.
    Judge,
    /// Embeds texts that are searched by meaning.
    Embedder,
}

impl Seat {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Seat::Compactor => "compactor",
            Seat::Answerer => "answerer",
            Seat::Judge => "judge",
            Seat::Embedder => "embedder",
        }
    }
}

/// Where the time of a call went. Only `total_ms` is the model's latency: the
/// harness's own waiting stands apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Waiting before the last attempt was sent, in milliseconds: for a turn,
    /// for a rate limit, between attempts, and the attempts that failed.
    pub queue_ms: f64,
    /// Of the last attempt, from sending until the response's head was there.
    pub first_byte_ms: f64,
    /// Of the last attempt, from sending until the last byte was there.
    pub total_ms: f64,
    /// Requests sent, the failed ones included.
    pub attempts: u32,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOutcome {
    /// With a whole reply.
    Replied,
    /// With a reply that was cut off.
    Truncated,
    /// The model declined.
    Refused,
    /// The provider withheld prompt or reply.
    Filtered,
    /// The provider turned the request down for good.
    Rejected,
    /// The response could not be read.
    Malformed,
    /// The provider could not be reached, or kept failing.
    Unavailable,
}

impl CallOutcome {
    /// The kebab-case name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            CallOutcome::Replied => "replied",
            CallOutcome::Truncated => "truncated",
            CallOutcome::Refused => "refused",
            CallOutcome::Filtered => "filtered",
            CallOutcome::Rejected => "rejected",
            CallOutcome::Malformed => "malformed",
            CallOutcome::Unavailable => "unavailable",
        }
    }
}

/// One call that was made, or read from a recording. The same request is
/// called once in a run, however many cells ask it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRow {
    /// Who asked.
    pub seat: Seat,
    /// `provider/model`.
    pub model: String,
    /// What was asked: BLAKE3 of provider, model, parameters, messages, schema
    /// and repetition, hex.
    pub key: String,
    /// Repetition, from 0.
    pub replicate: u32,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Its tokens, where the provider told them.
    pub usage: Option<Usage>,
    /// Those of the output that were reasoning, where the provider tells.
    pub reasoning: Option<u64>,
    /// Its price in USD at the standard rates; absent where the model has no
    /// price or the tokens are not known.
    pub usd: Option<f64>,
    /// Where its time went.
    pub timing: Timing,
    /// Whether the time was measured now or when it was recorded.
    pub source: LatencySource,
}
