//! Whether a context does not tell what is asked.

use super::rank::Ranked;
use super::signs::score_whoever_spoke;

/// Doubt from which the answer is that it is not known.
///
/// A logistic regression of "cannot be answered" on five signs of the best
/// sentences, fitted on the same half of the conversations as the ranking. On
/// the half held out: bound, seen among the questions without an answer, recall
/// over those with one, silent on these:
///
/// | 1.0 | 0.6 | 0.25 | 0.0 | −0.3 | −0.6 |
/// |---|---|---|---|---|---|
/// | 0.33 | 0.43 | 0.48 | 0.54 | 0.62 | 0.67 |
/// | 0.608 | 0.605 | 0.600 | 0.592 | 0.582 | 0.564 |
/// | 0.01 | 0.02 | 0.03 | 0.04 | 0.08 | 0.11 |
///
/// Wrong silence costs recall, which is what the reader is for, so the bound is
/// where silence is nearly free.
const BOUND: f64 = 0.25;

/// Gap between speakers beyond which more says nothing.
const GAP: f64 = 3.0;

/// Share of the question, by rarity, that an agent's session has to hold around
/// the best sentence.
const HELD: f64 = 0.22;

/// Whether the best sentences give no reason to answer.
pub(super) fn is_unknown(ranked: &[Ranked]) -> bool {
    let apart = |one: &Ranked| one.signs.agent && one.signs.held_wide.max(one.signs.nearby) < HELD;
    ranked.first().is_some_and(apart) || doubt(ranked).is_none_or(|doubt| doubt > BOUND)
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
