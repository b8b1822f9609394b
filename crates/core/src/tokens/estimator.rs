//! How an agent estimates the size of its own context when it decides whether to compact.

use serde::{Deserialize, Serialize};

use super::Weight;

/// The last usage that a provider would have reported to this strategy
/// (how-it-works §13), adjusted by the changes of stages since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// Prompt tokens that the strategy sent at its previous request.
    pub input: u64,
    /// Output that the recording made there.
    pub output: u64,
}

/// How a strategy estimates the size of its context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Estimator {
    /// A tokeniser: the exact count (Arachne).
    #[default]
    Exact,
    /// Characters / 4, until a response has reported usage; then its input,
    /// cache reads, output and reasoning (GenCode).
    #[serde(rename = "chars/4")]
    #[strum(serialize = "chars/4")]
    CharsOverFour,
    /// Only the input tokens that the provider reported for the previous
    /// response, never an estimate (Lis).
    Reported,
    /// Reported input tokens; before the first response JSON length / 4 × 1.2 (GSV).
    ReportedOrJson,
}

impl Estimator {
    /// The name used in strategies.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Estimated size of the whole context; `None` while it waits for the
    /// provider's first figure.
    pub fn total(self, context: Weight, reported: Option<Reported>) -> Option<u64> {
        match (self, reported) {
            (Estimator::CharsOverFour, Some(usage)) => Some(usage.input + usage.output),
            (Estimator::Reported | Estimator::ReportedOrJson, Some(usage)) => Some(usage.input),
            (Estimator::Reported, None) => None,
            _ => Some(self.fallback(context)),
        }
    }

    /// Size of a piece of text, in the unit that the strategy adds and removes
    /// with after a stage acted.
    pub fn fallback(self, piece: Weight) -> u64 {
        match self {
            Estimator::Exact | Estimator::Reported => piece.tokens,
            // "4:1 char-to-token ratio"; a part of a token is a token.
            Estimator::CharsOverFour => piece.units.div_ceil(4),
            // JSON.stringify(message).length / 4 * 1.2.
            Estimator::ReportedOrJson => (piece.json_units * 3).div_ceil(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Weight =
        Weight { tokens: 90, units: 401, json_units: 500, tool_tokens: 0, messages: 1 };
    const USAGE: Reported = Reported { input: 700, output: 50 };

    #[test]
    fn gencode_counts_four_characters_per_token_before_usage() {
        assert_eq!(Estimator::CharsOverFour.total(CONTEXT, None), Some(101));
        assert_eq!(Estimator::CharsOverFour.total(CONTEXT, Some(USAGE)), Some(750));
        assert_eq!(Estimator::CharsOverFour.total(Weight::default(), None), Some(0), "no text");
    }

    #[test]
    fn lis_never_estimates() {
        assert_eq!(Estimator::Reported.total(CONTEXT, None), None);
        assert_eq!(Estimator::Reported.total(CONTEXT, Some(USAGE)), Some(700));
    }

    #[test]
    fn gsv_falls_back_to_json_length_with_margin() {
        // 500 / 4 * 1.2 = 150.
        assert_eq!(Estimator::ReportedOrJson.total(CONTEXT, None), Some(150));
        assert_eq!(Estimator::ReportedOrJson.total(CONTEXT, Some(USAGE)), Some(700));
    }

    #[test]
    fn arachne_counts_exactly() {
        assert_eq!(Estimator::Exact.total(CONTEXT, Some(USAGE)), Some(90));
    }
}
