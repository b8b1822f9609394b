//! Decides whether a context lacks the answer to a question.

use super::rank::Ranked;
use super::signs::score_whoever_spoke;

/// Doubt from which the reader answers that it does not know.
///
/// Doubt is a logistic regression of "cannot be answered" on features of the
/// best sentences, fitted on the same half of the conversations as the ranking.
/// The bound is the lowest, in steps of 0.05, at which recall on that half is
/// at most 0.01 below that of the reader with more rules: a wrong "I don't know"
/// lowers recall, which is what the reader must keep high.
const BOUND: f64 = 0.35;

/// Gap between speakers at which its influence is capped.
const GAP: f64 = 3.0;

/// Whether the best sentence gives no reason to answer, given all of them.
pub(super) fn is_unknown(best: &Ranked, ranked: &[Ranked]) -> bool {
    let signs = &best.signs;
    let other = f64::from(u8::from(signs.other));
    let doubt =
        1.997 - 0.460 * signs.own - 0.857 * signs.block + 1.722 * other + 0.801 * gap(ranked)
            - 1.101 * signs.asked
            - 0.1813 * best.score;
    doubt > BOUND
}

/// How much better the best sentence of other speakers fits than the best
/// sentence of the speaker in the question. A large gap means that the question
/// may name the wrong person.
fn gap(ranked: &[Ranked]) -> f64 {
    let best = |of: fn(&Ranked) -> bool| {
        let scores = ranked.iter().filter(|one| of(one)).map(|one| score_whoever_spoke(&one.signs));
        scores.fold(f64::NEG_INFINITY, f64::max)
    };
    let (named, others) = (best(|one| one.signs.speaker), best(|one| one.signs.other));
    if named == others { 0.0 } else { (others - named).clamp(-GAP, GAP) }
}
