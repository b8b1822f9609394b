//! Whether a context does not tell what is asked.

use super::rank::Ranked;
use super::signs::score_whoever_spoke;

/// Doubt from which the answer is that it is not known.
///
/// Doubt is a logistic regression of "cannot be answered" on signs of the best
/// sentences, fitted on the same half of the conversations as the ranking. The
/// bound is the lowest, in steps of 0.05, from which recall on that half no
/// longer falls by more than 0.01 against the reader before its ablation
/// (`docs/ablation.md`): wrong silence costs recall, which is what the reader is
/// for.
const BOUND: f64 = 0.35;

/// Gap between speakers beyond which more says nothing.
const GAP: f64 = 3.0;

/// Whether the best sentences give no reason to answer.
pub(super) fn is_unknown(ranked: &[Ranked]) -> bool {
    doubt(ranked).is_none_or(|doubt| doubt > BOUND)
}

fn doubt(ranked: &[Ranked]) -> Option<f64> {
    let best = ranked.first()?;
    let signs = &best.signs;
    let other = f64::from(u8::from(signs.other));
    Some(
        1.997 - 0.460 * signs.own - 0.857 * signs.block + 1.722 * other + 0.801 * gap(ranked)
            - 1.101 * signs.asked
            - 0.1813 * best.score,
    )
}

/// How much better the best sentence of others fits than the best one of the
/// speaker who is asked about: then the question may name the wrong person.
fn gap(ranked: &[Ranked]) -> f64 {
    let best = |of: fn(&Ranked) -> bool| {
        let scores = ranked.iter().filter(|one| of(one)).map(|one| score_whoever_spoke(&one.signs));
        scores.fold(f64::NEG_INFINITY, f64::max)
    };
    let (named, others) = (best(|one| one.signs.speaker), best(|one| one.signs.other));
    if named == others { 0.0 } else { (others - named).clamp(-GAP, GAP) }
}
