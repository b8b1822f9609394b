//! `reference_recall_*`: reference recall by the distance since the reference
//! was last seen (measures §4).

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, Measure, Reference, Support, TranscriptFacts, catalogue};

/// References that were last seen at least `FROM` and less than `TO` tokens
/// before.
struct Band<const FROM: u64, const TO: u64>;

impl<const FROM: u64, const TO: u64> Band<FROM, TO> {
    const fn spec(measure: &'static Measure) -> Spec {
        Spec::of_cell(measure, Pool::Mean, Basis::References(Self::support), Self::compute)
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
        Parts::one(mean(shares), Absent::NoReferencesThere)
    }
}

/// References from 4,000 to below 8,000 tokens back.
pub(super) const BAND_4K: Spec = Band::<4_000, 8_000>::spec(catalogue::REFERENCE_RECALL_4K_8K);
/// References from 8,000 to below 16,000 tokens back.
pub(super) const BAND_8K: Spec = Band::<8_000, 16_000>::spec(catalogue::REFERENCE_RECALL_8K_16K);
/// References from 16,000 to below 32,000 tokens back.
pub(super) const BAND_16K: Spec = Band::<16_000, 32_000>::spec(catalogue::REFERENCE_RECALL_16K_32K);
/// References from 32,000 to below 64,000 tokens back.
pub(super) const BAND_32K: Spec = Band::<32_000, 64_000>::spec(catalogue::REFERENCE_RECALL_32K_64K);
/// References 64,000 tokens back and more.
pub(super) const BAND_64K: Spec =
    Band::<64_000, { u64::MAX }>::spec(catalogue::REFERENCE_RECALL_64K);
