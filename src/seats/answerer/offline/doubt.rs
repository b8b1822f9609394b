//! Whether a context does not tell what is asked.

use super::rank::Ranked;
use super::signs::score_whoever_spoke;

/// Doubt from which the answer is that it is not known.
///
/// A logistic regression of "cannot be answered" on five signs of the best
/// sentences, fitted on the same half of the conversations as the ranking. On
/// the half held out a bound of 0.25 gives up 3 % of the questions that have
/// an answer and sees 44 % of those that have none; 0.0 gives up 5 % and sees
/// 50 %; −0.6 gives up 15 % and sees 64 %. Wrong silence costs recall, which
/// is what the reader is for, so the bound is where silence is nearly free.
const BOUND: f64 = 0.25;

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
