//! `reference_recall_*`: reference recall by the distance over which the agent
//! had to remember (measures §4).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Support, Unit, mean};
use crate::model::{Reference, TranscriptFacts};

/// Tokens from `FROM` to below `TO` since the reference was last seen.
struct Band<const FROM: u64, const TO: u64>;

impl<const FROM: u64, const TO: u64> Band<FROM, TO> {
    const fn spec(id: &'static str, summary: &'static str) -> Spec {
        Spec {
            id,
            unit: Unit::Share,
            direction: Direction::Higher,
            summary,
            pool: Pool::Mean,
            basis: Basis::References(Self::support),
            compute: Self::compute,
        }
    }

    fn holds(reference: &Reference) -> bool {
        (FROM..TO).contains(&reference.distance_tokens)
    }

    fn support(facts: &TranscriptFacts) -> Support {
        Support::of(facts.exam.references.iter().filter(|r| Self::holds(r)))
    }

    fn compute(sample: &Sample<'_>) -> Parts {
        let asked = sample.asked(Self::holds);
        let shares = asked.iter().map(|asked| asked.share_kept());
        Parts::one(mean(shares), "no references at this distance")
    }
}

/// 4,000 to below 8,000 tokens.
pub const BAND_4K: Spec = Band::<4_000, 8_000>::spec(
    "reference_recall_4k_8k",
    "reference recall of what was last seen 4–8k tokens ago",
);
/// 8,000 to below 16,000 tokens.
pub const BAND_8K: Spec = Band::<8_000, 16_000>::spec(
    "reference_recall_8k_16k",
    "reference recall of what was last seen 8–16k tokens ago",
);
/// 16,000 to below 32,000 tokens.
pub const BAND_16K: Spec = Band::<16_000, 32_000>::spec(
    "reference_recall_16k_32k",
    "reference recall of what was last seen 16–32k tokens ago",
);
/// 32,000 to below 64,000 tokens.
pub const BAND_32K: Spec = Band::<32_000, 64_000>::spec(
    "reference_recall_32k_64k",
    "reference recall of what was last seen 32–64k tokens ago",
);
/// 64,000 tokens and more.
pub const BAND_64K: Spec = Band::<64_000, { u64::MAX }>::spec(
    "reference_recall_64k",
    "reference recall of what was last seen 64k tokens ago or more",
);
