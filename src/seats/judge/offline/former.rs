//! Finds values that a text calls former beside a current one: `It used to be
//! X, now it is Y`.

use super::question::Question;
use super::reading::Term;
use crate::text::language::is_in;

const NOW: &str = "current currently now nowadays presently today";

/// Marks the terms that a text calls former, if the text also names what holds
/// now: from `used to` or `formerly` to the end of the sentence or to a word
/// like `now`, and the terms before `no longer`. Nothing is marked if the
/// question asks for the past: then the former value is right.
pub(super) fn mark(terms: &mut [Term], question: &Question) {
    let is_now = |term: &Term| is_in(NOW, &term.word);
    if question.asks_for_past || !terms.iter().any(is_now) {
        return;
    }
    for at in 0..terms.len() {
        let (clause, next) = (terms[at].clause, terms.get(at + 1).map(|next| next.word.as_str()));
        let former = match (terms[at].word.as_str(), next) {
            ("used", Some("to")) | ("formerly" | "previously", _) => {
                let sentence = terms[at].sentence;
                let rest = terms[at..].iter().take_while(|t| t.sentence == sentence && !is_now(t));
                at..at + rest.count()
            }
            ("no", Some("longer")) => {
                let before = terms[..at].iter().rev().take_while(|term| term.clause == clause);
                at - before.count()..at
            }
            _ => continue,
        };
        terms[former].iter_mut().for_each(|term| term.is_former = true);
    }
}
