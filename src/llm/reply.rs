//! What a model answered.

use thiserror::Error;

use crate::model::Usage;

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model had said what it had to say.
    Done,
    /// It was cut off: at [`max_tokens`](super::Request::max_tokens), or at the
    /// end of the model's window.
    Length,
    /// The model declined; the text is its reason, if it gave one.
    Refused,
    /// The provider withheld the reply, or what was left of it.
    Filtered,
    /// Another reason, in the provider's word: the text is no whole answer.
    Other(String),
}

/// The tokens of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// In disjoint buckets, which sum to the provider's total.
    pub usage: Usage,
    /// Those of `usage.output` that were reasoning, where the provider tells.
    pub reasoning: Option<u64>,
}

/// Why the tokens of a reply are not known.
///
/// The reply stands nevertheless: it was paid for, and asking again would be
/// paid again. Only its cost is unknown, which is better than a wrong one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoUsage {
    /// The provider reported none.
    #[error("the provider reported no usage")]
    Missing,
    /// The figures contradict each other, or are no counts of tokens.
    #[error("the provider's usage cannot be right: {0}")]
    Contradictory(String),
}

/// A model's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What it wrote, without its reasoning; may be empty.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// What it took.
    pub usage: Result<Tokens, NoUsage>,
    /// The model that answered, as the provider names it: often a dated
    /// version of the one asked for.
    pub model: Option<String>,
}

/// Tokens that a provider may add to a prompt by itself, for tools and schemas:
/// a few hundred where it is told, with room for those that tell nothing.
const ADDED: u64 = 4_096;
/// Tokens of thinking that a server may count beyond the bound of a reply.
const THOUGHT: u64 = 65_536;

impl Reply {
    /// Refuses usage that no model can have had for a request of so many bytes
    /// and a reply of at most so many tokens: a token takes a byte at least.
    pub(super) fn doubted(mut self, bytes: usize, max_tokens: u64) -> Self {
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

    fn doubted(usage: Usage) -> Result<Tokens, NoUsage> {
        let usage = Ok(Tokens { usage, reasoning: None });
        let reply = Reply { text: String::new(), finish: Finish::Done, usage, model: None };
        reply.doubted(2_000, 500).usage
    }

    #[test]
    fn usage_that_cannot_be_true_is_refused_with_the_reason() {
        // 2,000 bytes and 4,096 tokens of the provider's; twice 500 and 65,536.
        let most = Usage { input: 96, cache_read: 6_000, output: 66_536, ..Usage::default() };
        assert!(doubted(most).is_ok());
        let why = |usage| doubted(usage).unwrap_err().to_string();
        assert_eq!(
            why(Usage { input: 97, ..most }),
            "the provider's usage cannot be right: 6097 tokens of a request of 2000 bytes"
        );
        assert_eq!(
            why(Usage { output: 66_537, ..most }),
            "the provider's usage cannot be right: 66537 tokens of a reply that may have 500"
        );
        assert!(doubted(Usage { cache_write_1h: u64::MAX, ..most }).is_err());
    }
}
