//! The kinds of prices, by their names in the list.

use std::fmt;

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

/// How urgently a request is served.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// Served immediately, at the standard price.
    #[default]
    Standard,
    /// Within a day, at a discount.
    Batch,
    /// Served when there is capacity, at a discount.
    Flex,
    /// Served before others, at a surcharge.
    Priority,
}

impl Class {
    /// Every class, the standard one first.
    pub const ALL: [Class; 4] = [Class::Standard, Class::Batch, Class::Flex, Class::Priority];

    /// The name used in commands and files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The suffix that the list adds to a field.
    fn suffix(self) -> &'static str {
        match self {
            Class::Standard => "",
            Class::Batch => "_batches",
            Class::Flex => "_flex",
            Class::Priority => "_priority",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Parses a field of the list: its rate, the prompt length from which it
/// applies, its class. `None` for other fields.
pub(super) fn read_field(field: &str) -> Option<(Rate, u64, Class)> {
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
            (thousands.parse::<u64>().ok()? * 1_000, rest)
        }
    };
    let class = Class::ALL.into_iter().find(|class| class.suffix() == rest)?;
    Some((rate, above, class))
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
    fn fields_are_read_with_tier_and_class() {
        let read = |field: &str| read_field(field);
        assert_eq!(read("input_cost_per_token"), Some((Rate::Input, 0, Class::Standard)));
        assert_eq!(
            read("cache_creation_input_token_cost_above_1hr_above_100k_tokens"),
            Some((Rate::CacheWrite1h, 100_000, Class::Standard))
        );
        assert_eq!(
            read("output_cost_per_token_above_272k_tokens_flex"),
            Some((Rate::Output, 272_000, Class::Flex))
        );
        assert_eq!(
            read("cache_read_input_token_cost_batches"),
            Some((Rate::CacheRead, 0, Class::Batch))
        );
    }

    #[test]
    fn fields_that_are_no_price_of_ours_are_left_alone() {
        for field in [
            "max_input_tokens",
            "output_cost_per_reasoning_token",
            "input_cost_per_token_cache_hit",
            "input_cost_per_token_ultrafast",
            "cache_creation_input_token_cost_above_12hr",
            "input_cost_per_token_above_xk_tokens",
            "",
        ] {
            assert_eq!(read_field(field), None, "{field}");
        }
    }
}
