//! Replies of models, with their usage.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use recap_core::model::Usage;

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The model finished its answer.
    Done,
    /// It was cut off: at [`max_tokens`](super::Request::max_tokens), or at the
    /// end of the model's window.
    Length,
    /// The model declined; the text is its reason, if it gave one.
    Refused,
    /// The provider withheld the reply, or the rest of it.
    Filtered,
    /// Another reason, in the provider's word: the text is not a complete answer.
    Other(String),
}

/// The tokens of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The tokens in disjoint buckets, which add up to the provider's total.
    pub usage: Usage,
    /// Tokens of `usage.output` that were reasoning, where the provider reports them.
    pub reasoning: Option<u64>,
}

/// Why the tokens of a reply are not known.
///
/// The reply is used all the same: it was paid for, and asking again would cost
/// again. Only its cost is unknown, which is better than a wrong cost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoUsage {
    /// The provider reported none.
    #[error("the provider reported no usage")]
    Missing,
    /// The figures contradict each other, or are not counts of tokens.
    #[error("the provider's usage cannot be right: {0}")]
    Contradictory(String),
}

/// A model's reply with its usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text without the model's reasoning; may be empty.
    pub text: String,
    /// Why the model stopped writing.
    pub finish: Finish,
    /// The tokens of the request, or why they are not known.
    pub usage: Result<Tokens, NoUsage>,
    /// The model that answered, as the provider names it: often a dated
    /// version of the one asked for.
    pub model: Option<String>,
}

/// Tokens that a provider may add to a prompt by itself, for tools and schemas:
/// a few hundred where it is documented, with a margin for the others.
const ADDED: u64 = 4_096;
/// Tokens of reasoning that a server may count beyond the limit of a reply.
const THOUGHT: u64 = 65_536;

impl Reply {
    /// Rejects usage that is impossible for a request of `bytes` bytes and a
    /// reply of at most `max_tokens` tokens: a token takes a byte at least.
    pub(super) fn with_checked_usage(mut self, bytes: usize, max_tokens: u64) -> Self {
        let Ok(Tokens { usage, .. }) = &self.usage else { return self };
        let (prompt, most_prompt) = (usage.prompt(), ADDED.saturating_add(bytes as u64));
        let (output, most) = (usage.output, max_tokens.saturating_mul(2).saturating_add(THOUGHT));
        let why = if prompt > most_prompt {
            format!("{prompt} tokens of a request of {bytes} bytes")
        } else if output > most {
            format!("{output} tokens of a reply that may have {max_tokens}")
        } else {
            return self;
        };
        self.usage = Err(NoUsage::Contradictory(why));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(usage: Usage) -> Result<Tokens, NoUsage> {
        let usage = Ok(Tokens { usage, reasoning: None });
        let reply = Reply { text: String::new(), finish: Finish::Done, usage, model: None };
        reply.with_checked_usage(2_000, 500).usage
    }

    #[test]
    fn impossible_usage_is_refused_with_the_reason() {
        // 2,000 bytes and 4,096 tokens of the provider's; twice 500 and 65,536.
        let most = Usage { input: 96, cache_read: 6_000, output: 66_536, ..Usage::default() };
        assert!(checked(most).is_ok());
        let why = |usage| checked(usage).unwrap_err().to_string();
        assert_eq!(
            why(Usage { input: 97, ..most }),
            "the provider's usage cannot be right: 6097 tokens of a request of 2000 bytes"
        );
        assert_eq!(
            why(Usage { output: 66_537, ..most }),
            "the provider's usage cannot be right: 66537 tokens of a reply that may have 500"
        );
        assert!(checked(Usage { cache_write_1h: u64::MAX, ..most }).is_err());
    }
}
