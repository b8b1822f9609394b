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
