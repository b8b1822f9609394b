//! The price list, and the names under which it knows models.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::model::{EntryError, ModelPrices};
use super::names::{Names, NoMatch};
use super::service::Marks;
use recap_core::model::{Prices, alike};
use recap_core::text::json_error;

/// The list that ships with the program.
const BUNDLED: &str = include_str!("litellm.json");
/// Models that it does not list any more, with the prices that they last had.
const RETIRED: &str = include_str!("retired.json");
/// The name of the bundled list.
const BUNDLED_NAME: &str = "litellm 1.109.1, trimmed";
/// The date on which the bundled list was fetched.
const BUNDLED_DATE: &str = "2026-11-21";

/// Entries of the untrimmed list that are not models.
const NO_MODELS: &[&str] = &["sample_spec", "fallback_generalizations"];

/// Least similarity of a suggested name, out of thousands.
const LIKE: f64 = 0.85;

/// Why a price list cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// It is not a JSON object.
    #[error("{0}")]
    Syntax(String),
    /// An entry cannot be read.
    #[error("model `{model}`: {problem}")]
    Entry {
        /// The name of the entry.
        model: String,
        /// The problem of the entry.
        problem: EntryError,
    },
}

/// A model that the list does not price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no price is known for `{model}`")]
pub struct Unpriced {
    /// The name that was asked for.
    pub model: String,
    /// Names of the list that resemble it, at most three.
    pub similar: Vec<String>,
    /// Whether these sell it, at different prices.
    pub sold_by_several: bool,
}

impl Unpriced {
    /// A question with the names that may have been meant; `None` where no name
    /// is similar.
    pub fn suggestion(&self) -> Option<String> {
        let similar = self.similar.join(", ");
        match (similar.is_empty(), self.sold_by_several) {
            (true, _) => None,
            (false, false) => Some(format!("did you mean {similar}?")),
            (false, true) => Some(format!("prices differ by seller: name one, such as {similar}")),
        }
    }
}

/// A price list, with models by name.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceList {
    /// The name of the list, for manifests.
    pub name: String,
    /// BLAKE3 of its bytes, hex.
    pub hash: String,
    /// The date on which it was fetched, where known: `YYYY-MM-DD`.
    pub date: Option<String>,
    models: BTreeMap<String, Listed>,
    /// The same models by what their names have in common with those of
    /// recordings; `None` where models are found by their listed names alone.
    names: Option<OnceLock<Names>>,
}

/// An entry of the list, kept as its text until it is needed: a run needs one of
/// thousands.
#[derive(Clone, Debug)]
struct Listed {
    entry: Box<RawValue>,
    prices: OnceLock<Box<ModelPrices>>,
    /// Its prices by how a request was served.
    served: OnceLock<Box<[OnceLock<ModelPrices>; Marks::SETS]>>,
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.entry.get() == other.entry.get()
    }
}

impl Listed {
    /// The entry as JSON. Its text was not looked at closely when the list was
    /// read: a number may be too large for any, and lists too deep.
    fn entry(&self) -> Result<Json, EntryError> {
        serde_json::from_str(self.entry.get())
            .map_err(|e| EntryError::Unreadable(json_error(&e.to_string())))
    }

    fn read(&self, id: &str) -> Result<ModelPrices, EntryError> {
        ModelPrices::read(id, &self.entry()?)
    }

    fn prices(&self, id: &str) -> &ModelPrices {
        let read = || self.read(id).expect("a list is read through, or tested to be sound");
        self.prices.get_or_init(|| Box::new(read()))
    }

    /// The prices of a request that was served so.
    fn served(&self, id: &str, marks: Marks) -> &ModelPrices {
        if marks == Marks::default() {
            return self.prices(id);
        }
        let all = self.served.get_or_init(|| Box::new([const { OnceLock::new() }; Marks::SETS]));
        let read = || self.prices(id).served(&self.entry().unwrap_or_default(), marks);
        all[marks.number()].get_or_init(read)
    }
}

impl PriceList {
    /// The list that ships with the program.
    pub fn bundled() -> Self {
        let unread = |text| Self::unread(BUNDLED_NAME, text).expect("the bundled list is tested");
        let (mut list, retired) = (unread(BUNDLED), unread(RETIRED));
        // What is listed today wins.
        for (id, listed) in retired.models {
            list.models.entry(id).or_insert(listed);
        }
        let hash = blake3::hash([BUNDLED, RETIRED].concat().as_bytes()).to_hex().to_string();
        Self { hash, date: Some(BUNDLED_DATE.to_owned()), ..list }
    }

    /// Reads a list in litellm's field names. Entries without any price of
    /// text tokens (images, embeddings) are kept but not priced.
    ///
    /// # Errors
    /// What is no JSON object, and a price that is no number.
    pub fn parse(name: &str, text: &str) -> Result<Self, PriceError> {
        let list = Self::unread(name, text)?;
        for (id, listed) in &list.models {
            let prices = listed.read(id);
            prices.map_err(|problem| PriceError::Entry { model: id.clone(), problem })?;
        }
        Ok(list)
    }

    /// A list whose entries are not parsed yet.
    fn unread(name: &str, text: &str) -> Result<Self, PriceError> {
        let entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)
            .map_err(|e| PriceError::Syntax(json_error(&e.to_string())))?;
        let models = entries.into_iter().filter(|(id, _)| !NO_MODELS.contains(&id.as_str()));
        let models = models.map(|(id, entry)| {
            (id, Listed { entry, prices: OnceLock::new(), served: OnceLock::new() })
        });
        Ok(Self {
            name: name.to_owned(),
            hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
            date: None,
            models: models.collect(),
            names: Some(OnceLock::new()),
        })
    }

    /// A model's entry as the list writes it, by its name there.
    pub fn entry(&self, id: &str) -> Option<Json> {
        self.models.get(id).or_else(|| self.models.get(bare(id)))?.entry().ok()
    }

    /// Every model, by name.
    pub fn models(&self) -> impl Iterator<Item = &ModelPrices> {
        self.models.iter().map(|(id, listed)| listed.prices(id))
    }

    /// The model of that name: as written, without a leading provider
    /// (`openai/gpt-5.4`) or a trailing marker of its context length
    /// (`claude-sonnet-4-5[1m]`), or the model that it is under another
    /// seller's name.
    ///
    /// # Errors
    /// A model that is not listed, or has no price for input and output.
    pub fn find(&self, name: &str) -> Result<&ModelPrices, Unpriced> {
        self.search_names(name).map_err(|problem| self.unpriced(name, problem))
    }

    /// The same, without suggestions for unknown names.
    pub fn priced(&self, name: &str) -> Option<&ModelPrices> {
        self.search_names(name).ok()
    }

    fn search_names(&self, name: &str) -> Result<&ModelPrices, NoMatch> {
        let written = [name, bare(name), unprefixed(name)];
        let marks = Marks::of(name);
        let served = |id: &str| Some(self.models.get(id)?.served(bare(id), marks));
        let listed = written.iter().find_map(|id| served(id));
        if let Some(model) = listed.filter(|model| model.is_priced()) {
            return Ok(model);
        }
        let names = self.names.as_ref().ok_or(NoMatch::Unlisted)?;
        let names = names.get_or_init(|| Names::of(self.models.keys()));
        let found = names.find(name, |id| self.models[id].prices(id))?;
        served(&found.id).filter(|model| model.is_priced()).ok_or(NoMatch::Unlisted)
    }

    /// Models whose name contains every word, in any order and case.
    pub fn search<'a>(&'a self, words: &'a str) -> impl Iterator<Item = &'a ModelPrices> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        self.models().filter(move |model| {
            let id = model.id.to_lowercase();
            words.iter().all(|word| id.contains(word))
        })
    }

    fn unpriced(&self, name: &str, problem: NoMatch) -> Unpriced {
        let (similar, sold_by_several) = match problem {
            NoMatch::Several(sellers) => (sellers.into_iter().take(3).collect(), true),
            NoMatch::Unlisted => {
                let priced = self.models().filter(|model| model.is_priced());
                let names = priced.map(|model| model.id.as_str());
                let similar = alike(unprefixed(name), names, LIKE);
                (similar.into_iter().map(str::to_owned).collect(), false)
            }
        };
        Unpriced { model: name.to_owned(), similar, sold_by_several }
    }
}

/// Without a marker of the context length.
fn bare(name: &str) -> &str {
    name.split_once('[').map_or(name, |(bare, _)| bare).trim()
}

/// Without a leading provider.
fn unprefixed(name: &str) -> &str {
    let bare = bare(name);
    bare.split_once('/').map_or(bare, |(_, model)| model)
}

/// The prices that a run stored in its manifest, so that its cost can be
/// computed again without the list.
impl From<&Prices> for PriceList {
    /// The models in the manifest, found by the names that the run gave them: the part of a list
    /// cannot tell what a name is in the whole. An entry that cannot be read (the manifest may have
    /// been edited) has no price.
    fn from(prices: &Prices) -> Self {
        let sound = prices.models.iter().filter(|(id, entry)| ModelPrices::read(id, entry).is_ok());
        let entries: Map<String, Json> = sound.map(|(id, e)| (id.clone(), e.clone())).collect();
        let text = Json::Object(entries).to_string();
        let list = PriceList::parse(&prices.name, &text).expect("every entry was read before");
        PriceList { hash: prices.hash.clone(), date: prices.date.clone(), names: None, ..list }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use jiff::Timestamp;
    use recap_core::model::Buckets;

    #[test]
    fn the_bundled_list_is_whole() {
        let list = PriceList::bundled();
        assert_eq!(list.models().count(), 3_418 + 107, "those of today, and retired ones");
        assert!(PriceList::parse(BUNDLED_NAME, BUNDLED).is_ok(), "every entry can be read");
        assert_eq!(list.date.as_deref(), Some("2026-11-21"));
        assert_eq!(list.hash.len(), 64);
    }

    #[test]
    fn model_is_found_with_provider_or_context_marker() {
        let list = PriceList::bundled();
        for name in ["claude-opus-4-5-20251101", "anthropic/claude-opus-4-5", "claude-opus-4-5[1m]"]
        {
            assert_eq!(list.find(name).unwrap().provider, "anthropic", "{name}");
        }
        assert_eq!(list.find("deepseek/deepseek-v4-pro").unwrap().id, "deepseek/deepseek-v4-pro");
    }

    #[test]
    fn unknown_model_is_refused_with_similar_names() {
        let list = PriceList::bundled();
        let unknown = list.find("claude-opus-4-55").unwrap_err();
        assert_eq!(unknown.to_string(), "no price is known for `claude-opus-4-55`");
        assert!(unknown.similar.contains(&"claude-opus-4-5".to_owned()), "{unknown:?}");
        assert!(list.find("").unwrap_err().similar.is_empty());
    }

    #[test]
    fn the_untrimmed_list_drops_in() {
        let text = r#"{"sample_spec": {"input_cost_per_token": "a number"},
            "dall-e": {"mode": "image_generation", "output_cost_per_image": 0.04},
            "m": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}"#;
        let list = PriceList::parse("mine", text).unwrap();
        assert!(list.find("m").is_ok());
        assert!(list.find("dall-e").is_err());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(matches!(PriceList::parse("x", "[]"), Err(PriceError::Syntax(_))));
        let error = PriceList::parse("x", r#"{"m": {"input_cost_per_token": "1"}}"#).unwrap_err();
        assert!(error.to_string().starts_with("model `m`: `input_cost_per_token`"), "{error}");
        let error = PriceList::parse("x", r#"{"m": 3}"#).unwrap_err();
        assert_eq!(error.to_string(), "model `m`: the entry is no object");
    }

    #[test]
    fn unreadable_numbers_and_depths_are_refused() {
        let listed = |value: &str| {
            let price = r#""input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6"#;
            PriceList::parse("mine", &format!(r#"{{"m": {{{price}, "more": {value}}}}}"#))
        };
        assert!(listed("1e308").is_ok());
        for value in ["1e999".to_owned(), "[".repeat(1_000) + &"]".repeat(1_000)] {
            let error = listed(&value).unwrap_err().to_string();
            assert!(error.starts_with("model `m`: the entry cannot be read: "), "{error}");
        }
    }

    #[test]
    fn a_search_takes_every_word() {
        let list = PriceList::bundled();
        let found: Vec<&str> = list.search("haiku CLAUDE-HAIKU-5").map(|m| m.id.as_str()).collect();
        assert!(found.contains(&"claude-haiku-5-5"));
        assert!(found.iter().all(|id| id.to_lowercase().contains("haiku-5")), "{found:?}");
    }

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
        let usd = list.find("provider/m").unwrap().request_usd(&prompt, 100, Timestamp::UNIX_EPOCH);
        assert!((usd.unwrap() - 0.003).abs() < 1e-12, "{usd:?}");
    }
}
