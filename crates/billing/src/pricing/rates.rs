//! The kinds of prices, by their names in the list.

/// What is priced by the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rate {
    /// Prompt tokens that no cache holds.
    Input,
    /// Prompt tokens read from a cache.
    CacheRead,
    /// Prompt tokens written to a cache for its shorter lifetime.
    CacheWrite,
    /// Prompt tokens written to a cache for an hour.
    CacheWrite1h,
    /// Tokens that the model writes, reasoning included.
    Output,
}

impl Rate {
    /// Every rate, in the order of tables.
    pub const ALL: [Rate; 5] =
        [Rate::Input, Rate::CacheRead, Rate::CacheWrite, Rate::CacheWrite1h, Rate::Output];

    /// The list's field without tier and class.
    pub(super) fn field(self) -> &'static str {
        match self {
            Rate::Input => "input_cost_per_token",
            Rate::CacheRead => "cache_read_input_token_cost",
            Rate::CacheWrite => "cache_creation_input_token_cost",
            Rate::CacheWrite1h => "cache_creation_input_token_cost_above_1hr",
            Rate::Output => "output_cost_per_token",
        }
    }
}

/// Parses a field of the list: its rate, and the prompt length from which it
/// applies. `None` for other fields, such as prices of batches.
pub(super) fn read_field(field: &str) -> Option<(Rate, u64)> {
    // The longer names first: a write for an hour begins like any other write.
    let rate = Rate::ALL
        .into_iter()
        .filter(|rate| field.starts_with(rate.field()))
        .max_by_key(|rate| rate.field().len())?;
    let rest = &field[rate.field().len()..];
    let (above, rest) = match rest.strip_prefix("_above_") {
        None => (0, rest),
        Some(tier) => {
            let (thousands, rest) = tier.split_once("k_tokens")?;
            (thousands.parse::<u64>().ok()?.saturating_mul(1_000), rest)
        }
    };
    rest.is_empty().then_some((rate, above))
}

/// The rates of one request in USD per token. What the list does not price is
/// absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Rate of uncached prompt tokens.
    pub input: Option<f64>,
    /// Rate of prompt tokens read from a cache.
    pub cache_read: Option<f64>,
    /// Rate of prompt tokens written to a cache.
    pub cache_write: Option<f64>,
    /// Rate of prompt tokens written to a cache for an hour.
    pub cache_write_1h: Option<f64>,
    /// Rate of output tokens.
    pub output: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_their_tier() {
        assert_eq!(read_field("input_cost_per_token"), Some((Rate::Input, 0)));
        assert_eq!(
            read_field("cache_creation_input_token_cost_above_1hr_above_100k_tokens"),
            Some((Rate::CacheWrite1h, 100_000))
        );
        // No prompt is as long.
        assert_eq!(
            read_field("input_cost_per_token_above_551726630532284416k_tokens"),
            Some((Rate::Input, u64::MAX))
        );
    }

    #[test]
    fn unknown_price_fields_are_ignored() {
        for field in [
            "max_input_tokens",
            "output_cost_per_reasoning_token",
            "input_cost_per_token_cache_hit",
            "input_cost_per_token_priority",
            "output_cost_per_token_above_272k_tokens_flex",
            "cache_read_input_token_cost_batches",
            "cache_creation_input_token_cost_above_12hr",
            "input_cost_per_token_above_xk_tokens",
            "",
        ] {
            assert_eq!(read_field(field), None, "{field}");
        }
    }
}
