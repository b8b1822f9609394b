//! The prices and limits of one model, and the kinds of prices by their names in the list.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value as Json;

use super::service::{self, Marks, OffPeak};

/// The properties of a request that determine its rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Tokens of the whole prompt, cached ones included: they determine the tier.
    pub prompt_tokens: u64,
    /// Time of the request.
    pub at: Timestamp,
}

/// A model's prices and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPrices {
    /// Its name in the list.
    pub id: String,
    /// The company that serves it, as the list names it (`anthropic`, `vertex_ai`).
    pub provider: String,
    /// Largest prompt in tokens.
    pub max_input_tokens: Option<u64>,
    /// Largest output in tokens.
    pub max_output_tokens: Option<u64>,
    /// Shortest prefix that its cache keeps, in tokens.
    pub cache_min_tokens: Option<u64>,
    /// Whether it caches at breakpoints that the request marks.
    pub cache_breakpoints: bool,
    /// Date on which the provider retires it, as the list writes it.
    pub deprecation_date: Option<String>,
    /// Page that the prices were taken from.
    pub source: Option<String>,
    /// The list that had the model last, and its date, where it is retired.
    pub listed_until: Option<String>,
    /// USD per token and hour that explicit content is kept; `None` where no price is known.
    pub storage: Option<f64>,
    /// USD per token, by rate, by prompt length above which it holds.
    prices: service::ByTier,
    /// The rates by the prompt length above which they hold, ascending from 0.
    tiers: Vec<(u64, Rates)>,
    off_peak: Option<OffPeak>,
}

/// What is wrong with an entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A number or a depth that no reader of JSON takes.
    #[error("the entry cannot be read: {0}")]
    Unreadable(String),
    /// It is not an object.
    #[error("the entry is no object")]
    NoObject,
    /// The prices of long prompts are no list.
    #[error("`tiered_pricing` is no list")]
    Tiers,
    /// Nothing says for which prompts a price of long prompts holds.
    #[error("a tier of `tiered_pricing` has no `range`")]
    Range,
    /// A price that is no number, or negative: its field, and what stands there.
    #[error("`{0}` is {1}, which is no price in USD per token")]
    Price(String, Json),
    /// The cheaper hours cannot be read.
    #[error("{0}")]
    OffPeak(String),
}

impl ModelPrices {
    /// Reads an entry of the list. A price that is no number or is negative is
    /// an error with its field.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(id: &str, entry: &Json) -> Result<Self, EntryError> {
        let object = entry.as_object().ok_or(EntryError::NoObject)?;
        let mut prices = BTreeMap::new();
        for (field, value) in object {
            if let Some(key) = read_field(field)
                && let Some(price) = price(field, value)?
            {
                prices.insert(key, price);
            }
        }
        if let Some(tiers) = object.get("tiered_pricing") {
            read_tiers(tiers, &mut prices)?;
        }
        let own = object.get(FIELD).map(|value| price(FIELD, value));
        let storage = own.transpose()?.flatten().or_else(|| listed(id));
        let text = |field: &str| object.get(field).and_then(Json::as_str).map(str::to_owned);
        // Some limits are written as decimals.
        let count = |field: &str| object.get(field).and_then(Json::as_f64).map(|x| x as u64);
        let flag = |field: &str| object.get(field).and_then(Json::as_bool).unwrap_or(false);
        Ok(Self {
            id: id.to_owned(),
            provider: text("litellm_provider").unwrap_or_default(),
            max_input_tokens: count("max_input_tokens"),
            max_output_tokens: count("max_output_tokens"),
            cache_min_tokens: count("prompt_cache_min_tokens"),
            cache_breakpoints: flag("supports_prompt_cache_breakpoint"),
            deprecation_date: text("deprecation_date"),
            source: text("source"),
            listed_until: text("listed_until"),
            storage,
            tiers: tiers(&prices),
            prices,
            off_peak: object
                .get("off_peak_pricing")
                .map(OffPeak::read)
                .transpose()
                .map_err(EntryError::OffPeak)?,
        })
    }

    /// The same model where a request was served as `marks` say.
    pub(super) fn served(&self, entry: &Json, marks: Marks) -> Self {
        let prices = service::served(entry, self.prices.clone(), marks).unwrap_or_default();
        Self { id: marks.marked(&self.id), tiers: tiers(&prices), prices, ..self.clone() }
    }

    /// Whether input and output have a price.
    pub fn is_priced(&self) -> bool {
        self.tiers.iter().any(|(_, rates)| rates.input.is_some() && rates.output.is_some())
    }

    /// Whether reading its cache has a price.
    pub fn reads_cache(&self) -> bool {
        self.tiers.iter().any(|(_, rates)| rates.cache_read.is_some())
    }

    /// The rates of a request: those of the highest tier that the prompt exceeds, for the whole
    /// request (Anthropic's and Google's long-context prices; litellm), unless its hour is cheaper.
    pub fn rates(&self, moment: &Moment) -> Rates {
        let mut tiers = self.tiers.iter().rev();
        let reached = tiers.find(|(above, _)| *above == 0 || moment.prompt_tokens > *above);
        let rates = reached.map_or_else(Rates::default, |(_, rates)| *rates);
        let Some(hours) = &self.off_peak else { return rates };
        let rate = |rate, usual| hours.rate(rate, moment.at).or(usual);
        Rates {
            input: rate(Rate::Input, rates.input),
            cache_read: rate(Rate::CacheRead, rates.cache_read),
            cache_write: rate(Rate::CacheWrite, rates.cache_write),
            cache_write_1h: rate(Rate::CacheWrite1h, rates.cache_write_1h),
            output: rate(Rate::Output, rates.output),
        }
    }

    /// Prompt lengths above which other rates hold, ascending from 0.
    pub fn tiers(&self) -> impl Iterator<Item = u64> {
        self.tiers.iter().map(|(above, _)| *above)
    }

    /// Whether some hours are cheaper.
    pub fn has_off_peak(&self) -> bool {
        self.off_peak.is_some()
    }
}

/// A list of objects with `range` and the prices that apply within it.
fn read_tiers(tiers: &Json, prices: &mut BTreeMap<(Rate, u64), f64>) -> Result<(), EntryError> {
    for tier in tiers.as_array().ok_or(EntryError::Tiers)? {
        let from = tier.get("range").and_then(|range| range.get(0)).and_then(Json::as_f64);
        let from = from.ok_or(EntryError::Range)? as u64;
        for (field, value) in tier.as_object().into_iter().flatten() {
            if let Some((rate, 0)) = read_field(field)
                && let Some(price) = price(field, value)?
            {
                prices.insert((rate, from), price);
            }
        }
    }
    Ok(())
}

/// The rates of each tier. A rate without a price for a tier keeps the one below.
fn tiers(prices: &service::ByTier) -> Vec<(u64, Rates)> {
    let mut lengths: BTreeSet<u64> = prices.keys().map(|(_, above)| *above).collect();
    lengths.insert(0);
    let tier = |above: u64| {
        let rate = |rate| prices.range((rate, 0)..=(rate, above)).next_back().map(|(_, usd)| *usd);
        let rates = Rates {
            input: rate(Rate::Input),
            cache_read: rate(Rate::CacheRead),
            cache_write: rate(Rate::CacheWrite),
            cache_write_1h: rate(Rate::CacheWrite1h),
            output: rate(Rate::Output),
        };
        (above, rates)
    };
    lengths.into_iter().map(tier).collect()
}

/// A price in USD per token; absent where the list writes null.
fn price(field: &str, value: &Json) -> Result<Option<f64>, EntryError> {
    match value.as_f64() {
        Some(price) if price >= 0.0 => Ok(Some(price)),
        None if value.is_null() => Ok(None),
        _ => Err(EntryError::Price(field.to_owned(), value.clone())),
    }
}

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

// What keeping explicit content in Gemini's cache costs.
//
// Google's page "Gemini Developer API pricing" (ai.google.dev/gemini-api/docs/pricing) has it
// in the row "Context caching price", and litellm's list of our date does not. These are its
// figures as copies of the page show them that are dated 2026-09-20 to 2026-10-07, and for 3.7
// Flash the comments of genai-prices 0.2.3. From 2027 on 3.6 to 3.8 Flash cost twice as much;
// like the list, this table has the prices of its date.

/// litellm's field: USD per token and hour. A list that has it has the last word.
const FIELD: &str = "cache_storage_cost_per_token_per_hour";

/// USD per million tokens and hour, by the name of the model.
const STORAGE: &[(&str, f64)] = &[
    ("gemini-2.0-flash", 1.0),
    ("gemini-2.5-flash", 1.0),
    ("gemini-2.5-flash-lite", 1.0),
    ("gemini-2.5-pro", 4.5),
    ("gemini-3-flash", 1.0),
    ("gemini-3.1-flash-lite", 1.0),
    ("gemini-3.1-pro", 4.5),
    ("gemini-3.5-flash", 1.0),
    ("gemini-3.6-flash", 0.5),
    ("gemini-3.7-flash", 0.5),
    ("gemini-3.8-flash", 0.5),
];

/// USD per token and hour of a model, whoever sells it, or of a preview of it.
pub(super) fn listed(id: &str) -> Option<f64> {
    let name = id.rsplit('/').next().unwrap_or(id);
    let is = |model: &str| {
        let rest = name.strip_prefix(model);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("-preview"))
    };
    STORAGE.iter().find(|(model, _)| is(model)).map(|(_, usd)| usd / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::PriceList;

    fn model(id: &str) -> ModelPrices {
        PriceList::bundled().find(id).unwrap().clone()
    }

    fn moment(prompt_tokens: u64) -> Moment {
        // A Friday at a peak hour of DeepSeek's.
        Moment { prompt_tokens, at: "2026-11-20T02:00:00Z".parse().unwrap() }
    }

    #[test]
    fn tier_above_its_length_prices_whole_prompt() {
        // claude-haiku-5-5: 0.10 / 0.50 to 100k, five times that above.
        let haiku = model("claude-haiku-5-5");
        let below = haiku.rates(&moment(100_000));
        assert_eq!((below.input, below.output), (Some(1e-7), Some(5e-7)));
        assert_eq!((below.cache_write, below.cache_write_1h), (Some(1.25e-7), Some(2e-7)));
        let above = haiku.rates(&moment(100_001));
        assert_eq!((above.input, above.output), (Some(5e-7), Some(2.5e-6)));
        assert_eq!((above.cache_read, above.cache_write_1h), (Some(5e-8), Some(1e-6)));
        assert!(haiku.tiers().eq([0, 100_000]));
    }

    #[test]
    fn a_rate_without_a_price_is_unknown() {
        // gpt-5.4 writes its cache free of charge: the list has no such price.
        assert_eq!(model("gpt-5.4").rates(&moment(1_000)).cache_write, None);
    }

    #[test]
    fn off_peak_hours_are_cheaper() {
        let pro = model("deepseek-v4-pro");
        assert_eq!(pro.rates(&moment(1_000)).input, Some(1.32e-6));
        let night = Moment { at: "2026-11-20T05:00:00Z".parse().unwrap(), ..moment(1_000) };
        assert_eq!(pro.rates(&night).input, Some(6.6e-7));
        assert_eq!(pro.rates(&night).cache_read, Some(2.2e-8));
    }

    #[test]
    fn tiers_given_as_a_list_are_tiers() {
        let flash = model("dashscope/qwen-flash");
        assert_eq!(flash.rates(&moment(256_000)).input, Some(5e-8));
        assert_eq!(flash.rates(&moment(256_001)).input, Some(2.5e-7));
        assert!(flash.is_priced());
    }

    #[test]
    fn non_numeric_price_is_refused_with_its_field() {
        for bad in [serde_json::json!("free"), serde_json::json!(-1e-6), serde_json::json!([])] {
            let entry = serde_json::json!({"input_cost_per_token": bad});
            let error = ModelPrices::read("x", &entry).unwrap_err();
            assert!(error.to_string().starts_with("`input_cost_per_token` is "), "{error}");
        }
        let absent = serde_json::json!({"input_cost_per_token": null});
        assert!(!ModelPrices::read("x", &absent).unwrap().is_priced());
    }

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

    #[test]
    fn model_and_its_previews_have_one_price() {
        for (id, usd) in [
            ("gemini-2.5-pro", Some(4.5e-6)),
            ("gemini/gemini-2.5-pro-preview-06-05", Some(4.5e-6)),
            ("vertex_ai/gemini-3.1-pro-preview-customtools", Some(4.5e-6)),
            ("gemini-2.5-flash-lite-preview-09-2025", Some(1e-6)),
            ("gemini-3-flash-preview", Some(1e-6)),
            ("gemini-3.5-flash", Some(1e-6)),
            ("gemini-3.8-flash", Some(5e-7)),
            // Other models, at other prices.
            ("gemini-3.5-flash-lite", None),
            ("gemini-3.8-flash-cyber", None),
            ("gemini-4-argon", None),
            ("gpt-5.4", None),
        ] {
            assert_eq!(listed(id), usd, "{id}");
        }
    }
}
