//! The prices and limits of one model.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::off_peak::OffPeak;
use super::rates::{Rate, Rates, read_field};
use super::service::{self, Marks};
use super::storage;

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
        let own = object.get(storage::FIELD).map(|value| price(storage::FIELD, value));
        let storage = own.transpose()?.flatten().or_else(|| storage::listed(id));
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
        Self { id: marks.behind(&self.id), prices, ..self.clone() }
    }

    /// Whether input and output have a price.
    pub fn is_priced(&self) -> bool {
        let has = |rate| self.prices.keys().any(|(other, _)| *other == rate);
        has(Rate::Input) && has(Rate::Output)
    }

    /// Whether reading its cache has a price.
    pub fn reads_cache(&self) -> bool {
        self.prices.keys().any(|(rate, _)| *rate == Rate::CacheRead)
    }

    /// The rates of a request.
    pub fn rates(&self, moment: &Moment) -> Rates {
        let rate = |rate| self.rate(rate, moment);
        Rates {
            input: rate(Rate::Input),
            cache_read: rate(Rate::CacheRead),
            cache_write: rate(Rate::CacheWrite),
            cache_write_1h: rate(Rate::CacheWrite1h),
            output: rate(Rate::Output),
        }
    }

    /// The tier is the highest one that the prompt exceeds, and the whole
    /// request is billed at it (Anthropic's and Google's long-context prices;
    /// litellm). A rate without a price for that tier keeps the one below.
    fn rate(&self, rate: Rate, moment: &Moment) -> Option<f64> {
        let cheaper = self.off_peak.as_ref().and_then(|hours| hours.rate(rate, moment.at));
        cheaper.or_else(|| {
            let tiers = self.prices.range((rate, 0)..=(rate, u64::MAX));
            let mut reached =
                tiers.filter(|((_, above), _)| *above == 0 || moment.prompt_tokens > *above);
            reached.next_back().map(|(_, price)| *price)
        })
    }

    /// Prompt lengths above which other rates hold, ascending.
    pub fn tiers(&self) -> Vec<u64> {
        let mut tiers: Vec<u64> =
            self.prices.keys().map(|(_, above)| *above).filter(|above| *above > 0).collect();
        tiers.sort_unstable();
        tiers.dedup();
        tiers
    }

    /// Whether longer prompts have other rates.
    pub fn depends_on_size(&self) -> bool {
        self.prices.keys().any(|(_, above)| *above > 0)
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

/// A price in USD per token; absent where the list writes null.
fn price(field: &str, value: &Json) -> Result<Option<f64>, EntryError> {
    match value.as_f64() {
        Some(price) if price >= 0.0 => Ok(Some(price)),
        None if value.is_null() => Ok(None),
        _ => Err(EntryError::Price(field.to_owned(), value.clone())),
    }
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
        assert_eq!(haiku.tiers(), [100_000]);
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
}
