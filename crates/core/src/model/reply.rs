//! Facts about a compactor's replies, and when a reply is unusable.

use serde::{Deserialize, Serialize};

/// Why a compactor's reply is unusable: it says nothing about the strategy (how-it-works
/// §47).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Unusable {
    /// None came, at any attempt.
    NoReply,
    /// The reply holds no text.
    Empty,
    /// The model declined, or its provider rejected the request or withheld the
    /// reply.
    Refused,
    /// It ended before it was complete, whether or not its beginning was used.
    CutOff,
    /// Neither it nor the second reply had the requested shape.
    WrongShape,
    /// It is far shorter than a summary of what it replaces could be.
    TooShort,
    /// The same text came back for several different inputs.
    Repeated,
}

impl Unusable {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The words after a count of such replies.
    pub fn words(self) -> &'static str {
        match self {
            Unusable::NoReply => "that never came",
            Unusable::Empty => "empty",
            Unusable::Refused => "refused",
            Unusable::CutOff => "cut off",
            Unusable::WrongShape => "of the wrong shape",
            Unusable::TooShort => "too short for what they replace",
            Unusable::Repeated => "the same text for different inputs",
        }
    }
}

/// Facts about one reply of a compactor: enough to tell whether it is unusable,
/// without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyFacts {
    /// Hash of the input: prompt, messages, and the earlier summary.
    pub input: u64,
    /// Hash of the text that was used; absent where none could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u64>,
    /// Tokens of the messages that it is to replace.
    pub replaced: u64,
    /// Tokens of the text, without the model's reasoning; 0 where none was used.
    pub written: u64,
    /// Tokens that it was allowed to have.
    pub bound: u64,
    /// Why it is unusable, as far as this reply alone shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<Unusable>,
}

impl ReplyFacts {
    /// Tokens from which a reply is never too short (how-it-works §47).
    const SHORT: u64 = 50;
    /// Divisor of the size of what is replaced: a reply of at least that share
    /// is never too short either (how-it-works §47: 1 %).
    const PART: u64 = 100;

    /// Whether the reply is too short for what it replaces: under 1 % of it and
    /// under 50 tokens, though its bound allowed for twice as many.
    pub fn is_too_short(&self) -> bool {
        let short =
            |tokens: u64| tokens < Self::SHORT && tokens.saturating_mul(Self::PART) < self.replaced;
        short(self.written) && self.bound >= 2 * Self::SHORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(written: u64, replaced: u64, bound: u64) -> ReplyFacts {
        ReplyFacts { input: 1, text: Some(2), replaced, written, bound, unusable: None }
    }

    #[test]
    fn reply_below_1_percent_and_50_tokens_fails() {
        assert!(reply(49, 4_901, 1_000).is_too_short());
        assert!(!reply(49, 4_900, 1_000).is_too_short(), "exactly one per cent");
        assert!(!reply(50, 1_000_000, 1_000).is_too_short(), "fifty tokens");
        assert!(reply(5, 501, 1_000).is_too_short());
        assert!(!reply(5, 500, 1_000).is_too_short());
    }

    #[test]
    fn bound_below_100_tokens_allows_short_reply() {
        assert!(!reply(5, 100_000, 99).is_too_short());
        assert!(reply(5, 100_000, 100).is_too_short());
    }

    #[test]
    fn names_are_those_that_are_written() {
        let all = [
            Unusable::NoReply,
            Unusable::Empty,
            Unusable::Refused,
            Unusable::CutOff,
            Unusable::WrongShape,
            Unusable::TooShort,
            Unusable::Repeated,
        ];
        for unusable in all {
            let written = serde_json::to_value(unusable).unwrap();
            assert_eq!(written, unusable.as_str());
        }
    }
}
