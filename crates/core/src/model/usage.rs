//! Tokens that providers reported.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Tokens that a provider reported for one response, in disjoint buckets.
///
/// The size of the prompt is `input + cache_read + cache_write_5m +
/// cache_write_1h`. Importers normalise: OpenAI counts cached tokens inside
/// its prompt figure, Anthropic beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Prompt tokens billed at the full rate.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Prompt tokens written to the cache for its shorter lifetime: five minutes at Anthropic.
    #[serde(default)]
    pub cache_write_5m: u64,
    /// Prompt tokens written to the cache for one hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// Tokens that the model wrote, reasoning included.
    #[serde(default)]
    pub output: u64,
    /// Whether `output` is the final figure. Claude Code logs a streaming
    /// placeholder until `stop_reason` is set, low by 4–144×.
    #[serde(default)]
    pub output_final: bool,
    /// Whether the recording does not say how much was read from a cache, only
    /// the size of the prompt.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub cache_unknown: bool,
    /// Why the provider says that it did not read what it had cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_miss: Option<CacheMiss>,
}

/// Where a prompt differs from the one before it, as the provider compared them
/// (`cache_miss_reason` of Anthropic's API).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMiss {
    /// Another model was asked.
    ModelChanged,
    /// The system prompt is another.
    SystemChanged,
    /// The tools are others.
    ToolsChanged,
    /// An earlier message is another.
    MessagesChanged,
    /// The provider does not have the request before any more.
    PreviousMessageNotFound,
    /// It did not compare them.
    Unavailable,
}

/// Largest figure that is accepted as a count of tokens: the longest context
/// window sold (ten million, Llama 4 Scout, 2025-04-05).
pub const MOST_TOKENS: u64 = 10_000_000;

impl Usage {
    /// Whether every figure is below that limit.
    pub fn is_believable(&self) -> bool {
        self.prompt() <= MOST_TOKENS && self.output <= MOST_TOKENS
    }

    /// Prompt tokens written to the cache, for either lifetime.
    pub fn written(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Prompt tokens that the cache holds behind the request.
    pub fn cached(&self) -> u64 {
        self.cache_read.saturating_add(self.written())
    }

    /// Tokens of the whole prompt, however they were billed; absurd figures stop
    /// at the largest number.
    pub fn prompt(&self) -> u64 {
        let cached = [self.cache_read, self.cache_write_5m, self.cache_write_1h];
        // A log may claim anything: an absurd sum must not end the program.
        cached.into_iter().fold(self.input, u64::saturating_add)
    }

    /// The tokens of both.
    fn plus(&self, other: &Usage) -> Usage {
        Usage {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_add(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            output: self.output.saturating_add(other.output),
            output_final: true,
            cache_unknown: self.cache_unknown || other.cache_unknown,
            cache_miss: None,
        }
    }
}

/// What a recording says that one model used in a session, in all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTotal {
    /// The model, where it is named. Each has one total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many requests it sums up; those that report their own usage are among them.
    #[serde(default)]
    pub requests: u64,
    /// Their tokens; none where only dollars are recorded.
    #[serde(default)]
    pub usage: Usage,
    /// USD that the agent or its provider wrote down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl SessionTotal {
    /// Adds what was used besides.
    pub fn add(&mut self, requests: u64, usage: &Usage, usd: Option<f64>) {
        self.requests = self.requests.saturating_add(requests);
        self.usage = self.usage.plus(usage);
        self.usd = self.usd.map(|sum| sum + usd.unwrap_or(0.0)).or(usd);
    }

    /// Whether so many requests can have used that.
    pub fn is_believable(&self) -> bool {
        let most = MOST_TOKENS.saturating_mul(self.requests.max(1));
        let dollars = self.usd.is_none_or(|usd| usd.is_finite() && usd >= 0.0);
        self.usage.prompt() <= most && self.usage.output <= most && dollars
    }
}

/// A request that a subagent made on a conversation of its own: what it cost
/// is part of the session, what it said is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SidechainRequest {
    /// When its response was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Model that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the provider reported; not all zero.
    pub usage: Usage,
}

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

/// One call that was made, or read from a recording. The same request is
/// called once in a run, however many cells ask it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
