//! Which provider's rules hold for a model.

use jiff::Timestamp;

use super::prompt::Prompt;
use super::{
    Anthropic, DeepSeek, GeminiExplicit, GeminiImplicit, OpenAiMarked, OpenAiSteps, PromptCache,
};
use crate::model::Buckets;
use crate::pricing::ModelPrices;

/// Shortest prefix that Anthropic's models cache unless the list says otherwise.
const ANTHROPIC_MINIMUM: u64 = 1_024;
/// The same of Gemini's (ai.google.dev: 1,024 to 4,096 by model).
const GEMINI_MINIMUM: u64 = 4_096;

/// A provider's cache rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// [`Anthropic`], with the model's minimum.
    Anthropic(u64),
    /// [`OpenAiSteps`].
    OpenAiSteps,
    /// [`OpenAiMarked`].
    OpenAiMarked,
    /// [`GeminiImplicit`], with the model's minimum.
    GeminiImplicit(u64),
    /// [`GeminiExplicit`], with the model's minimum.
    GeminiExplicit(u64),
    /// [`DeepSeek`].
    DeepSeek,
    /// [`NoCache`]: the list has no price for reading one.
    None,
}

impl Rules {
    /// The rules of a model. `explicit`: content is cached explicitly where
    /// the provider offers that (Gemini).
    ///
    /// By the family that the name gives away, so that a model keeps its rules
    /// behind a reseller (Bedrock, Vertex, Azure); else OpenAI's older rules,
    /// which automatic caches resemble (Mistral, xAI).
    pub fn of(model: &ModelPrices, explicit: bool) -> Self {
        let id = model.id.to_lowercase();
        let minimum = |default| model.cache_min_tokens.unwrap_or(default);
        if !model.reads_cache() {
            Rules::None
        } else if id.contains("claude") {
            Rules::Anthropic(minimum(ANTHROPIC_MINIMUM))
        } else if id.contains("gemini") && explicit {
            Rules::GeminiExplicit(minimum(GEMINI_MINIMUM))
        } else if id.contains("gemini") {
            Rules::GeminiImplicit(minimum(GEMINI_MINIMUM))
        } else if id.contains("deepseek") {
            Rules::DeepSeek
        } else if model.cache_breakpoints {
            Rules::OpenAiMarked
        } else {
            Rules::OpenAiSteps
        }
    }

    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Rules::Anthropic(_) => "anthropic",
            Rules::OpenAiSteps => "openai-steps",
            Rules::OpenAiMarked => "openai-marked",
            Rules::GeminiImplicit(_) => "gemini-implicit",
            Rules::GeminiExplicit(_) => "gemini-explicit",
            Rules::DeepSeek => "deepseek",
            Rules::None => "none",
        }
    }

    /// An empty cache under these rules.
    pub fn cache(self) -> Box<dyn PromptCache> {
        match self {
            Rules::Anthropic(minimum) => Box::new(Anthropic::new(minimum)),
            Rules::OpenAiSteps => Box::new(OpenAiSteps::default()),
            Rules::OpenAiMarked => Box::new(OpenAiMarked::default()),
            Rules::GeminiImplicit(minimum) => Box::new(GeminiImplicit::new(minimum)),
            Rules::GeminiExplicit(minimum) => Box::new(GeminiExplicit::new(minimum)),
            Rules::DeepSeek => Box::new(DeepSeek::default()),
            Rules::None => Box::new(NoCache),
        }
    }
}

/// No cache at all: everything is billed in full.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl PromptCache for NoCache {
    fn request(&mut self, prompt: &Prompt, _at: Timestamp) -> Buckets {
        Buckets::up_to(prompt.tokens(), 0, 0, 0)
    }

    fn is_warm(&self, _at: Timestamp) -> bool {
        false
    }

    fn reset(&mut self, _prompt: &Prompt, _kept: usize, _at: Timestamp) {}

    fn renew(&mut self, _at: Timestamp) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::PriceList;

    #[test]
    fn a_model_keeps_its_familys_rules_wherever_it_is_served() {
        let list = PriceList::bundled();
        let rules = |name: &str, explicit| Rules::of(list.find(name).unwrap(), explicit);
        assert_eq!(rules("claude-opus-4-6", false), Rules::Anthropic(4_096));
        assert_eq!(rules("claude-opus-5-5", true), Rules::Anthropic(512));
        assert_eq!(rules("gpt-5.4", false), Rules::OpenAiSteps);
        assert_eq!(rules("gpt-6.1-sol", false), Rules::OpenAiMarked);
        assert_eq!(rules("gemini-3.8-flash", false), Rules::GeminiImplicit(4_096));
        assert_eq!(rules("gemini-3.8-flash", true), Rules::GeminiExplicit(4_096));
        assert_eq!(rules("deepseek-v4-pro", false), Rules::DeepSeek);
        let bedrock = list.search("bedrock claude-opus-4-6").find(|m| m.is_priced());
        if let Some(model) = bedrock {
            assert!(matches!(Rules::of(model, false), Rules::Anthropic(_)), "{}", model.id);
        }
    }
}
