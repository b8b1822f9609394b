//! The prices that a run stored in its manifest, so that its cost can be
//! computed again without the list.

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use super::bill::Tariff;
use super::list::PriceList;
use super::model::ModelPrices;
use recap_core::model::{Buckets, Prices};

impl From<&Prices> for PriceList {
    /// The models in the manifest, found by the names that the run gave them: the
    /// part of a list cannot tell what a name is in the whole. An entry that cannot be read (the manifest may have been
    /// edited) has no price.
    fn from(prices: &Prices) -> Self {
        let sound = prices.models.iter().filter(|(id, entry)| ModelPrices::read(id, entry).is_ok());
        let entries: Map<String, Json> = sound.map(|(id, e)| (id.clone(), e.clone())).collect();
        let text = Json::Object(entries).to_string();
        let mut list = PriceList::parse(&prices.name, &text).expect("every entry was read before");
        list.hash.clone_from(&prices.hash);
        list.date.clone_from(&prices.date);
        list.by_listed_names()
    }
}

impl Tariff<'_> {
    /// One request in USD, its answer included. `None` where a rate is unknown.
    pub fn request_usd(&mut self, prompt: &Buckets, output: u64, at: Timestamp) -> Option<f64> {
        let answer = self.output_usd(prompt.prompt(), output, at)?;
        Some(self.prompt_usd(prompt, at)? + answer)
    }
}

impl ModelPrices {
    /// This model's prices for many requests.
    pub fn standard(&self) -> Tariff<'_> {
        Tariff::new(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn run_prices_are_found_and_invalid_entries_refused() {
        let entry = json!({"input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5});
        let broken = json!({"input_cost_per_token": "2", "output_cost_per_token": 1e-5});
        let models = [("m".to_owned(), entry), ("broken".to_owned(), broken)].into();
        let prices = Prices { name: "mine".into(), models, ..Prices::default() };
        let list = PriceList::from(&prices);
        assert!(list.find("broken").is_err());
        let prompt = Buckets { uncached: 1_000, ..Buckets::default() };
        // 1,000 × $2 and 100 × $10 per million.
        let usd = list.find("provider/m").unwrap().standard().request_usd(
            &prompt,
            100,
            Timestamp::UNIX_EPOCH,
        );
        assert!((usd.unwrap() - 0.003).abs() < 1e-12, "{usd:?}");
    }
}
