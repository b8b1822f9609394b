//! Converts tokens by bucket to dollars.

use jiff::Timestamp;

use super::model::{ModelPrices, Moment, Rates};
use recap_core::model::Buckets;

/// Seconds for which storage is priced.
const HOUR: f64 = 3_600.0;

impl Rates {
    /// USD for a token written to the cache: the input rate where that is free.
    pub fn written(&self) -> Option<f64> {
        self.cache_write.filter(|rate| *rate > 0.0).or(self.input)
    }
}

impl ModelPrices {
    /// The input side of one request in USD: prompt and storage. `None` where
    /// a rate is unknown.
    ///
    /// A provider without a price for reading or writing its cache bills such
    /// tokens like any others: writing is free of a surcharge then.
    pub fn prompt_usd(&self, buckets: &Buckets, at: Timestamp) -> Option<f64> {
        let rates = self.rates(&Moment { prompt_tokens: buckets.prompt(), at });
        let input = rates.input?;
        let write = rates.written()?;
        let tokens = buckets.uncached as f64 * input
            + buckets.read as f64 * rates.cache_read.unwrap_or(input)
            + buckets.write as f64 * write
            + buckets.write_1h as f64 * rates.cache_write_1h.unwrap_or(write);
        match buckets.stored_token_seconds {
            0 => Some(tokens),
            stored => Some(tokens + stored as f64 / HOUR * self.storage?),
        }
    }

    /// Whether something is stored whose storage has no known price.
    pub fn lacks_storage(&self, buckets: &Buckets) -> bool {
        buckets.stored_token_seconds > 0 && self.storage.is_none()
    }

    /// One request in USD, its answer included. `None` where a rate is unknown.
    pub fn request_usd(&self, prompt: &Buckets, output: u64, at: Timestamp) -> Option<f64> {
        let rates = self.rates(&Moment { prompt_tokens: prompt.prompt(), at });
        Some(self.prompt_usd(prompt, at)? + output as f64 * rates.output?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::PriceList;

    fn usd(model: &str, buckets: Buckets) -> Option<f64> {
        let list = PriceList::bundled();
        // A Friday at a peak hour of DeepSeek's.
        let at = "2026-11-20T02:00:00Z".parse().unwrap();
        list.find(model).unwrap().prompt_usd(&buckets, at)
    }

    #[track_caller]
    fn close(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}, expected {expected}");
    }

    #[test]
    fn every_bucket_has_its_rate() {
        // claude-opus-5-5, USD per million: 4, read 0.20, write 5, write 1 h 8.
        let buckets = Buckets {
            uncached: 1_000,
            read: 100_000,
            write: 2_000,
            write_1h: 3_000,
            stored_token_seconds: 0,
        };
        close(usd("claude-opus-5-5", buckets), 0.004 + 0.02 + 0.01 + 0.024);
    }

    #[test]
    fn whole_prompt_including_cached_parts_selects_price_tier() {
        // claude-haiku-5-5 reads at 0.01, above 100k tokens at 0.05 per million.
        let read = |read| usd("claude-haiku-5-5", Buckets { read, ..Buckets::default() });
        close(read(100_000), 0.001);
        close(read(100_001), 100_001.0 * 5e-8);
    }

    #[test]
    fn a_free_write_costs_what_any_input_costs() {
        let write = Buckets { write: 1_000, ..Buckets::default() };
        close(usd("gpt-5.4", write), 0.0025);
        close(usd("deepseek-v4-pro", write), 0.00132);
    }

    #[test]
    fn stored_tokens_without_storage_price_leave_bill_unpriced() {
        // A million tokens for an hour.
        let stored = Buckets { stored_token_seconds: 3_600_000_000, ..Buckets::default() };
        close(usd("gemini-3.8-flash", stored), 0.5);
        close(usd("gemini-2.5-pro", stored), 4.5);
        assert_eq!(usd("gemini/gemini-4-argon", stored), None);
        let list = PriceList::bundled();
        let lacks = |model: &str, buckets| list.find(model).unwrap().lacks_storage(&buckets);
        assert!(lacks("gemini/gemini-4-argon", stored) && !lacks("gemini-2.5-pro", stored));
        assert!(!lacks("gemini/gemini-4-argon", Buckets { uncached: 9, ..Buckets::default() }));
    }

    #[test]
    fn a_list_with_a_storage_price_has_the_last_word() {
        let list = |storage: &str| {
            let prices = r#""input_cost_per_token": 0, "output_cost_per_token": 0"#;
            let field = format!(r#""cache_storage_cost_per_token_per_hour": {storage}"#);
            PriceList::parse("mine", &format!(r#"{{"gemini-2.5-pro": {{{prices}, {field}}}}}"#))
        };
        let stored = Buckets { stored_token_seconds: 7_200_000, ..Buckets::default() };
        let at = Timestamp::UNIX_EPOCH;
        let usd = |list: PriceList| list.find("gemini-2.5-pro").unwrap().prompt_usd(&stored, at);
        // 2,000 tokens for an hour, at $3 and at the table's $4.50 per million.
        close(usd(list("3e-6").unwrap()), 0.006);
        close(usd(list("null").unwrap()), 0.009);
        let error = list("-1").unwrap_err().to_string();
        assert!(error.contains("`cache_storage_cost_per_token_per_hour` is -1"), "{error}");
    }
}
