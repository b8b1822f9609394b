//! What a session is billed for: tokens by bucket, before any price.

use serde::{Deserialize, Serialize};

use super::Usage;

/// Where the tokens of one prompt are billed. Disjoint: they sum to the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    /// Tokens billed at the full rate.
    pub uncached: u64,
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written to the cache for its shorter lifetime.
    pub write: u64,
    /// Tokens written to the cache for an hour.
    pub write_1h: u64,
    /// Tokens newly stored, times the seconds for which that is paid
    /// (explicit caches with a fee for storage).
    pub stored_token_seconds: u64,
}

impl Buckets {
    /// A prompt of `tokens` tokens, of which the first `read` are read, those
    /// up to `hour` are written for an hour and those up to `written` for the
    /// shorter lifetime.
    ///
    /// # Panics
    /// If the bounds do not ascend to the prompt's size: then the provider's
    /// cache rules have a bug.
    pub fn up_to(tokens: u64, read: u64, hour: u64, written: u64) -> Self {
        assert!(
            read <= hour && hour <= written && written <= tokens,
            "buckets overlap: {read}, {hour}, {written} of {tokens}"
        );
        let buckets = Self {
            uncached: tokens - written,
            read,
            write: written - hour,
            write_1h: hour - read,
            stored_token_seconds: 0,
        };
        assert_eq!(buckets.prompt(), tokens, "buckets sum to the prompt");
        buckets
    }

    /// Tokens of the whole prompt.
    pub fn prompt(&self) -> u64 {
        // Recorded figures may be absurd: a sum must not end the program.
        [self.read, self.write, self.write_1h].into_iter().fold(self.uncached, u64::saturating_add)
    }

    /// Tokens written to the cache, for either lifetime.
    pub fn written(&self) -> u64 {
        self.write.saturating_add(self.write_1h)
    }

    /// The same where nothing is charged for writing: as any other input.
    #[must_use]
    pub fn unwritten(self) -> Self {
        let uncached = self.uncached.saturating_add(self.written());
        Self { uncached, write: 0, write_1h: 0, ..self }
    }
}

impl std::ops::AddAssign for Buckets {
    fn add_assign(&mut self, other: Self) {
        let pairs = [
            (&mut self.uncached, other.uncached),
            (&mut self.read, other.read),
            (&mut self.write, other.write),
            (&mut self.write_1h, other.write_1h),
            (&mut self.stored_token_seconds, other.stored_token_seconds),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}

impl From<&Usage> for Buckets {
    fn from(usage: &Usage) -> Self {
        Buckets {
            uncached: usage.input,
            read: usage.cache_read,
            write: usage.cache_write_5m,
            write_1h: usage.cache_write_1h,
            stored_token_seconds: 0,
        }
    }
}

/// One prompt as it is billed (reference §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBill {
    /// As billed: the provider's rules, and the cache events that the recording shows.
    pub billed: Buckets,
}

/// The bill of one request of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestBill {
    /// How the prompt of this request is billed.
    pub prompt: PromptBill,
    /// The model whose prices apply: 0 is [`Bill::model`], others are in
    /// [`Bill::other_models`], counted from 1.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub model: u32,
}

/// The bill of one call to the compactor's model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallBill {
    /// Position of its compaction among the cell's.
    pub compaction: u32,
    /// How the prompt of this call is billed.
    pub prompt: PromptBill,
    /// Tokens that it wrote.
    pub output: u64,
}

/// A provider's rules for its prompt cache (reference §2). A run folder holds
/// their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CacheRules {
    /// Anthropic's: entries at breakpoints.
    Anthropic,
    /// OpenAI's older ones: automatic, in steps of 128 tokens.
    OpenaiSteps,
    /// Those of GPT-5.5: automatic, in steps of 512 tokens.
    OpenaiWideSteps,
    /// OpenAI's newer ones: entries at the newest message and at breakpoints.
    OpenaiMarked,
    /// Gemini's automatic cache.
    GeminiImplicit,
    /// Gemini's explicit content, whose storage is charged.
    GeminiExplicit,
    /// DeepSeek's cache on disk.
    Deepseek,
    /// No cache.
    None,
}

/// A cell's bill under the cache rules of one model, in tokens; prices are applied later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// The billing model as asked for: a model's name, or [`RECORDED`].
    pub billed_as: String,
    /// The model of the price list whose rules and prices apply.
    pub model: String,
    /// Those cache rules.
    pub rules: CacheRules,
    /// The models of the other requests, where the session changed its model and
    /// is billed as recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_models: Vec<String>,
    /// The model of the price list that bills the compactor's calls; `None`:
    /// the same model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactor: Option<String>,
    /// One for each request of the session, in order; `None` for requests
    /// that the recording shows were not billed (aborted).
    pub requests: Vec<Option<RequestBill>>,
    /// Calls of the compactor's model, in order.
    pub calls: Vec<CallBill>,
}

impl Bill {
    /// The models whose prices apply to requests, in the order of
    /// [`RequestBill::model`].
    pub fn models(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.model).chain(&self.other_models).map(String::as_str)
    }

    /// The model whose prices apply to a request.
    pub fn model_of(&self, request: &RequestBill) -> &str {
        self.models().nth(request.model as usize).unwrap_or(&self.model)
    }

    /// The model whose prices apply to the compactor's calls.
    pub fn call_model(&self) -> &str {
        self.compactor.as_deref().unwrap_or(&self.model)
    }
}

/// [`Bill::billed_as`] where each session is billed as the model that it names; also the id of
/// the control that repeats what the recorded agent sent.
pub const RECORDED: &str = "recorded";

/// Id of the control that sends the whole conversation.
pub const FULL: &str = "full";
