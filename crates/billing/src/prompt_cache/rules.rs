//! The cache rules of a model.

use jiff::{SignedDuration, Timestamp};

use super::automatic::Automatic;
use super::gemini::{self, GeminiExplicit};
use super::openai::{self, OpenAiMarked};
use super::prompt::Prompt;
use super::{Anthropic, PromptCache};
use crate::pricing::ModelPrices;
use recap_core::model::{Buckets, CacheRules};

/// Shortest prefix that Anthropic's models cache unless the price list gives
/// another number.
const ANTHROPIC_MINIMUM: u64 = 1_024;
/// Shortest prefix that Gemini's models cache unless the price list gives
/// another number (ai.google.dev: 1,024 to 4,096 by model).
const GEMINI_MINIMUM: u64 = 4_096;

/// A provider's cache rules for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which they are, as bills name them.
    pub named: CacheRules,
    /// Shortest prefix in tokens that the model caches, where that differs from model to model.
    pub minimum: u64,
}

impl Rules {
    /// No cache: the price list has no price for reading one.
    pub const NONE: Self = Self { named: CacheRules::None, minimum: 0 };

    /// The rules of a model. `explicit`: content is cached explicitly if the
    /// provider offers that (Gemini).
    ///
    /// The rules follow from the family in the model's name, so that a reseller
    /// (Bedrock, Vertex, Azure) does not change them. Unknown families get
    /// OpenAI's older rules, which other automatic caches resemble (Mistral,
    /// xAI).
    pub fn of(model: &ModelPrices, explicit: bool) -> Self {
        if !model.reads_cache() {
            return Self::NONE;
        }
        let named = of_family(&model.id, model.cache_breakpoints, explicit);
        Self { minimum: model.cache_min_tokens.unwrap_or(minimum(named)), named }
    }

    /// The rules of a model without a price, whose provider reported that it read a cache.
    /// `written`: and that it wrote one.
    pub fn of_unpriced(name: &str, written: bool) -> Self {
        let named = match of_family(name, written, false) {
            // Whoever charges for writing has breakpoints, as Anthropic's resellers and likes do.
            CacheRules::OpenaiMarked => CacheRules::Anthropic,
            named => named,
        };
        Self { named, minimum: minimum(named) }
    }

    /// A short description of the rules.
    pub fn about(self) -> &'static str {
        match self.named {
            CacheRules::Anthropic => {
                "entries at up to 4 breakpoints, found within 20 blocks, for 5 minutes or an hour \
                 after their last use; writing is charged"
            }
            CacheRules::OpenaiSteps => {
                "automatic from 1,024 tokens on in steps of 128; taken to live for 10 idle \
                 minutes; writing is free"
            }
            CacheRules::OpenaiWideSteps => {
                "automatic from 1,408 tokens on in steps of 512; taken to live for 10 idle \
                 minutes; writing is free"
            }
            CacheRules::OpenaiMarked => {
                "entries at the newest message and up to 3 breakpoints, for 30 minutes; writing \
                 is charged"
            }
            CacheRules::GeminiImplicit => "automatic, without a promise; taken to live for an hour",
            CacheRules::GeminiExplicit => "explicit content, for an hour; storage is charged",
            CacheRules::Deepseek => {
                "automatic, on disk; taken to live for 4 hours; writing is free"
            }
            CacheRules::None => "none: the list has no price for reading one",
        }
    }

    /// For how long what is not used stays in the cache; `None` where a request chooses, and
    /// without a cache.
    pub fn life(self) -> Option<SignedDuration> {
        match self.named {
            CacheRules::OpenaiSteps | CacheRules::OpenaiWideSteps => Some(Automatic::openai().life),
            CacheRules::OpenaiMarked => Some(openai::LIFE),
            CacheRules::GeminiImplicit => Some(Automatic::gemini(self.minimum).life),
            CacheRules::GeminiExplicit => Some(gemini::LIFE),
            CacheRules::Deepseek => Some(Automatic::deepseek().life),
            CacheRules::Anthropic | CacheRules::None => None,
        }
    }

    /// An empty cache under these rules.
    pub fn cache(self) -> Box<dyn PromptCache> {
        match self.named {
            CacheRules::Anthropic => Box::new(Anthropic::new(self.minimum)),
            CacheRules::OpenaiSteps => Box::new(Automatic::openai()),
            CacheRules::OpenaiWideSteps => Box::new(Automatic::openai_wide()),
            CacheRules::OpenaiMarked => Box::new(OpenAiMarked::default()),
            CacheRules::GeminiImplicit => Box::new(Automatic::gemini(self.minimum)),
            CacheRules::GeminiExplicit => Box::new(GeminiExplicit::new(self.minimum)),
            CacheRules::Deepseek => Box::new(Automatic::deepseek()),
            CacheRules::None => Box::new(NoCache),
        }
    }
}

fn of_family(name: &str, marked: bool, explicit: bool) -> CacheRules {
    let id = name.to_lowercase();
    if id.contains("claude") {
        CacheRules::Anthropic
    } else if id.contains("gemini") && explicit {
        CacheRules::GeminiExplicit
    } else if id.contains("gemini") {
        CacheRules::GeminiImplicit
    } else if id.contains("deepseek") {
        CacheRules::Deepseek
    } else if marked {
        CacheRules::OpenaiMarked
    } else if reads_in_wide_steps(&id) {
        CacheRules::OpenaiWideSteps
    } else {
        CacheRules::OpenaiSteps
    }
}

/// The shortest prefix unless the price list gives another number.
fn minimum(named: CacheRules) -> u64 {
    match named {
        CacheRules::Anthropic => ANTHROPIC_MINIMUM,
        CacheRules::GeminiImplicit | CacheRules::GeminiExplicit => GEMINI_MINIMUM,
        _ => 0,
    }
}

/// Whether a model of that name reads its cache in steps of 512 tokens: GPT-5.5
/// (1,152 of 1,152 reads of seven recordings of Codex are 384 above such a step).
pub fn reads_in_wide_steps(model: &str) -> bool {
    model.contains("gpt-5.5") || model.contains("gpt-5-5")
}

/// No cache: every token is billed in full.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl PromptCache for NoCache {
    fn request(&mut self, prompt: &Prompt, _at: Timestamp) -> Buckets {
        Buckets::up_to(prompt.tokens(), 0, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Life;
    use super::super::testkit::{marked, minutes};
    use super::*;
    use crate::pricing::PriceList;

    /// Caches that may lose their content at any time.
    const PERISHABLE: [Rules; 6] = [
        rules(CacheRules::Anthropic),
        rules(CacheRules::OpenaiSteps),
        rules(CacheRules::OpenaiWideSteps),
        rules(CacheRules::OpenaiMarked),
        rules(CacheRules::GeminiImplicit),
        rules(CacheRules::Deepseek),
    ];
    const EXPLICIT: Rules = rules(CacheRules::GeminiExplicit);

    const fn rules(named: CacheRules) -> Rules {
        Rules { named, minimum: 0 }
    }

    /// Blocks of 1,000 tokens with breakpoints after the second and the last.
    fn prompt(letters: &str) -> Prompt {
        marked(letters, &[(1, Life::Minutes5), (letters.len() - 1, Life::Minutes5)])
    }

    #[test]
    fn unpriced_model_has_rules_of_its_family_or_by_its_writes() {
        let of = |name, written| Rules::of_unpriced(name, written).named;
        assert_eq!(of("my-claude", true), CacheRules::Anthropic);
        assert_eq!(of("my-claude", false), CacheRules::Anthropic);
        assert_eq!(of("local-gemini", false), CacheRules::GeminiImplicit);
        assert_eq!(of("local", false), CacheRules::OpenaiSteps);
        assert_eq!(of("local", true), CacheRules::Anthropic);
    }

    #[test]
    fn lost_cache_keeps_read_tokens_and_shared_minimum() {
        for rules in PERISHABLE {
            let mut cache = rules.cache();
            cache.request(&prompt("pqab"), minutes(0));
            // To the token, wherever blocks end.
            cache.lose(1_700, 2_000);
            assert_eq!(cache.request(&prompt("pqabc"), minutes(2)).read, 1_700, "{rules:?}");
            cache.lose(0, 2_000);
            assert_eq!(cache.request(&prompt("pqabc"), minutes(3)).read, 0, "{rules:?}");
            // The bound is for one request.
            assert!(cache.request(&prompt("pqabc"), minutes(4)).read > 4_000, "{rules:?}");
            // A prompt that the cache does not know has what others sent of it.
            cache.lose(3_500, 2_000);
            assert_eq!(cache.request(&prompt("xyz"), minutes(5)).read, 2_000, "{rules:?}");
            cache.lose(9_000, 9_000);
            assert_eq!(cache.request(&prompt("uvw"), minutes(6)).read, 3_000, "{rules:?}");
        }
    }

    #[test]
    fn shared_prefix_is_read_and_reduces_nothing() {
        for rules in PERISHABLE {
            let mut cache = rules.cache();
            cache.share(1_500);
            assert_eq!(cache.request(&prompt("pqab"), minutes(0)).read, 1_500, "{rules:?}");
            cache.share(1_500);
            assert!(cache.request(&prompt("pqab"), minutes(1)).read > 3_400, "{rules:?}");
        }
    }

    #[test]
    fn unrecorded_request_renews_prefix_beyond_its_lifetime() {
        let hours = |hours: i64| minutes(60 * hours);
        for rules in PERISHABLE {
            let read = |renewed: bool| {
                let mut cache = rules.cache();
                cache.request(&prompt("pqab"), hours(0));
                if renewed {
                    cache.renew(hours(5));
                }
                cache.request(&prompt("pqabc"), hours(5)).read
            };
            assert_eq!(read(false), 0, "{rules:?}");
            assert!(read(true) >= 3_968, "{rules:?}");
        }
    }

    #[test]
    fn explicit_content_survives_restarts_but_use_extends_nothing() {
        let mut cache = EXPLICIT.cache();
        let preamble = marked("pqab", &[(1, Life::Minutes5)]);
        assert_eq!(cache.request(&preamble, minutes(0)).read, 0);
        cache.lose(0, 0);
        assert_eq!(cache.request(&preamble, minutes(1)).read, 2_000);
        cache.renew(minutes(59));
        assert_eq!(cache.request(&preamble, minutes(60)).read, 0);
    }

    #[test]
    fn every_rule_is_parsed_from_its_name() {
        for rules in PERISHABLE.into_iter().chain([EXPLICIT, Rules::NONE]) {
            let rules = rules.named;
            let written = serde_json::json!(rules);
            assert_eq!(written, rules.as_str());
            assert_eq!(serde_json::from_value::<CacheRules>(written).unwrap(), rules);
        }
        assert_eq!(CacheRules::GeminiImplicit.as_str(), "gemini-implicit");
        assert!(serde_json::from_value::<CacheRules>("lru".into()).is_err());
    }

    #[test]
    fn model_follows_its_family_rules_at_any_provider() {
        let list = PriceList::bundled();
        let found = |name: &str, explicit| Rules::of(list.find(name).unwrap(), explicit);
        let rules = |name: &str, explicit| found(name, explicit).named;
        let minimum = |name: &str, explicit| found(name, explicit).minimum;
        assert_eq!(rules("claude-opus-4-6", false), CacheRules::Anthropic);
        assert_eq!(minimum("claude-opus-4-6", false), 4_096);
        assert_eq!(rules("claude-opus-5-5", true), CacheRules::Anthropic);
        assert_eq!(minimum("claude-opus-5-5", true), 512);
        assert_eq!(rules("gpt-5.4", false), CacheRules::OpenaiSteps);
        assert_eq!(rules("gpt-5.5", false), CacheRules::OpenaiWideSteps);
        assert_eq!(rules("gpt-6.1-sol", false), CacheRules::OpenaiMarked);
        assert_eq!(rules("gemini-3.8-flash", false), CacheRules::GeminiImplicit);
        assert_eq!(minimum("gemini-3.8-flash", false), 4_096);
        assert_eq!(rules("gemini-3.8-flash", true), CacheRules::GeminiExplicit);
        assert_eq!(minimum("gemini-3.8-flash", true), 4_096);
        assert_eq!(rules("deepseek-v4-pro", false), CacheRules::Deepseek);
        let bedrock = list.search("bedrock claude-opus-4-6").find(|m| m.is_priced());
        if let Some(model) = bedrock {
            assert_eq!(Rules::of(model, false).named, CacheRules::Anthropic, "{}", model.id);
        }
    }

    #[test]
    fn unused_cache_is_cold_even_after_renewal() {
        for rules in PERISHABLE.into_iter().chain([EXPLICIT, Rules::NONE]) {
            let mut cache = rules.cache();
            cache.renew(minutes(0));
            assert_eq!(cache.request(&prompt("pqab"), minutes(0)).read, 0, "{rules:?}");
        }
    }

    #[test]
    fn uncached_requests_are_billed_in_full() {
        let mut cache = Rules::NONE.cache();
        for at in [0, 1] {
            let billed = cache.request(&prompt("pq"), minutes(at));
            assert_eq!(billed, Buckets { uncached: 2_000, ..Buckets::default() });
        }
    }

    #[test]
    fn rule_descriptions_state_their_figures_and_charges() {
        let all = PERISHABLE.into_iter().chain([EXPLICIT, Rules::NONE]);
        let actual: Vec<&str> = all.map(Rules::about).collect();
        let words: [&[&str]; 8] = [
            &["4 breakpoints", "20 blocks", "5 minutes or an hour", "writing is charged"],
            &["1,024 tokens", "steps of 128", "10 idle minutes", "writing is free"],
            &["1,408 tokens", "steps of 512", "10 idle minutes", "writing is free"],
            &["newest message", "3 breakpoints", "30 minutes", "writing is charged"],
            &["automatic", "an hour"],
            &["automatic", "4 hours", "writing is free"],
            &["explicit", "an hour", "storage is charged"],
            &["no price"],
        ];
        for (actual, words) in actual.into_iter().zip(words) {
            words.iter().for_each(|word| assert!(actual.contains(word), "{word}: {actual}"));
        }
    }
}
