//! Gemini's explicit cached content.
//!
//! Source: ai.google.dev, context caching; minimum lengths from the price list.

use jiff::{SignedDuration, Timestamp};

use super::PromptCache;
use super::prompt::Prompt;
use recap_core::model::Buckets;

/// Default lifetime.
pub(super) const LIFE: SignedDuration = SignedDuration::from_hours(1);

/// Content that is cached explicitly: created at the last breakpoint of a
/// request, at the full input price, and paid for by the hour until it expires;
/// every prompt that begins with it reads it. It is created again when it has
/// expired or the prompt begins differently. Until then it is guaranteed: no restart of
/// the agent and no eviction removes it, and no use extends its lifetime.
#[derive(Clone, Debug)]
pub struct GeminiExplicit {
    minimum: u64,
    content: Option<Content>,
}

#[derive(Clone, Copy, Debug)]
struct Content {
    prefix: u64,
    block: usize,
    expires: Timestamp,
}

impl GeminiExplicit {
    /// An empty cache of a model with this minimum in tokens.
    pub fn new(minimum: u64) -> Self {
        Self { minimum, content: None }
    }
}

impl PromptCache for GeminiExplicit {
    fn request(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        let marked = prompt.marks().last().map(|(block, _)| *block);
        let marked = marked.filter(|&block| prompt.end(block + 1) >= self.minimum);
        let fits = |content: &Content| {
            at < content.expires && prompt.prefix(content.block + 1) == content.prefix
        };
        let tokens = prompt.tokens();
        match (self.content.filter(fits), marked) {
            (Some(content), _) => {
                let read = prompt.end(content.block + 1);
                Buckets::up_to(tokens, read, read, read)
            }
            (None, Some(block)) => {
                let (prefix, size) = (prompt.prefix(block + 1), prompt.end(block + 1));
                self.content = Some(Content {
                    prefix,
                    block,
                    expires: at.checked_add(LIFE).unwrap_or(Timestamp::MAX),
                });
                let stored_token_seconds = size * LIFE.as_secs().unsigned_abs();
                Buckets { stored_token_seconds, ..Buckets::up_to(tokens, 0, 0, 0) }
            }
            (None, None) => Buckets::up_to(tokens, 0, 0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Life;
    use super::super::testkit::{marked, minutes, prompt};
    use super::*;

    #[test]
    fn ten_requests_of_explicit_content_by_hand() {
        let mut cache = GeminiExplicit::new(2_048);
        // Preamble `pqr`, marked after `r`; history at full price.
        let mut sent = |blocks: &str, at| {
            let b = cache.request(&marked(blocks, &[(2, Life::Hour)]), minutes(at));
            assert_eq!(b.write + b.write_1h, 0);
            (b.uncached, b.read, b.stored_token_seconds)
        };
        let hour = 3_000 * 3_600;
        assert_eq!(sent("pqra", 0), (4_000, 0, hour), "created at the full price");
        assert_eq!(sent("pqrab", 1), (2_000, 3_000, 0));
        assert_eq!(sent("pqrabc", 2), (3_000, 3_000, 0));
        assert_eq!(sent("pqrX", 3), (1_000, 3_000, 0), "an edited history costs nothing more");
        assert_eq!(sent("pqrXY", 59), (2_000, 3_000, 0));
        assert_eq!(sent("pqrXY", 60), (5_000, 0, hour), "expired, however often it was read");
        assert_eq!(sent("pqrXYZ", 61), (3_000, 3_000, 0));
        assert_eq!(sent("PqrX", 62), (4_000, 0, hour), "another preamble");
        assert_eq!(sent("PqrX", 63), (1_000, 3_000, 0));
        assert_eq!(sent("PqrXa", 64), (2_000, 3_000, 0));
    }

    #[test]
    fn content_below_the_minimum_is_not_created() {
        let mut cache = GeminiExplicit::new(4_096);
        let buckets = cache.request(&marked("pqrs", &[(3, Life::Hour)]), minutes(0));
        assert_eq!((buckets.uncached, buckets.stored_token_seconds), (4_000, 0));
    }

    #[test]
    fn content_of_exactly_the_minimum_is_created() {
        use super::super::{Unit, testkit::prompt_of};
        let of = |tokens| prompt_of(&[(1, tokens, Unit::Input)]);
        let stored = |tokens| {
            let mut prompt = of(tokens);
            prompt.mark(0, Life::Hour);
            GeminiExplicit::new(4_096).request(&prompt, minutes(0)).stored_token_seconds
        };
        assert_eq!((stored(4_095), stored(4_096)), (0, 4_096 * 3_600));
    }

    #[test]
    fn content_lasts_one_hour_unread_by_shorter_prompts() {
        let mut cache = GeminiExplicit::new(0);
        cache.request(&marked("pqr", &[(2, Life::Hour)]), minutes(0));
        assert_eq!(cache.request(&prompt("pq"), minutes(1)).read, 0);
        assert_eq!(cache.request(&prompt("pqr"), minutes(59)).read, 3_000);
        assert_eq!(cache.request(&prompt("pqr"), minutes(60)).read, 0);
    }
}
