//! Analyses what a question states, denies and asks for, and which values of an
//! answer it therefore calls former: `It used to be X, now it is Y`.

use rustc_hash::FxHashSet;

use super::reading::{Term, denies, read};
use crate::calendar::relative::{TimeMention, When, times};
use recap_core::text::language::{is_in, is_stop};

/// Words by which a question asks for a former value.
const BEFORE: &str = "ago before earlier earliest first former formerly initial initially original \
    originally past previous previously prior till until";
/// Verbs that put a question in the past tense.
const WAS: &str = "did had was were";

/// The words and values that the question itself contains.
#[derive(Debug, Default)]
pub(super) struct ParsedQuestion {
    pub stems: FxHashSet<String>,
    pub is_denied: bool,
    /// Texts with a negation in curly quotes, as stems: an answer that repeats
    /// one goes on with it, and does not deny what follows.
    pub quoted_denials: Vec<Vec<String>>,
    /// Whether it asks for a former value.
    pub asks_for_past: bool,
}

impl ParsedQuestion {
    pub fn new(text: &str) -> ParsedQuestion {
        let (terms, times) = (read(text), times(text));
        let content = terms.iter().filter(|term| !is_stop(&term.word) && !term.is_number);
        ParsedQuestion {
            stems: content.map(|term| term.text.clone()).collect(),
            is_denied: terms.iter().any(|term| term.is_denied),
            quoted_denials: quoted_denials(text),
            asks_for_past: past(&terms, &times),
        }
    }
}

fn quoted_denials(question: &str) -> Vec<Vec<String>> {
    let quoted = question.split('“').skip(1).filter_map(|rest| Some(read(rest.split_once('”')?.0)));
    quoted
        .filter(|terms| terms.iter().any(denies))
        .map(|terms| terms.into_iter().map(|term| term.text).collect())
        .collect()
}

/// Whether a question asks for a former value: it contains a word for it
/// (`first`, `former`, `used to`, `before`), or is in the past tense with a
/// year.
fn past(terms: &[Term], times: &[TimeMention]) -> bool {
    let has = |words: &str| terms.iter().any(|term| is_in(words, &term.word));
    let dated = times.iter().any(|mention| match mention.when {
        When::On(date) => date.year.is_some(),
        When::Within(..) => true,
    });
    let use_to = |two: &[Term]| is_in("use used", &two[0].word) && two[1].word == "to";
    has(BEFORE) || terms.windows(2).any(use_to) || dated && has(WAS)
}

/// Words for what holds now.
const NOW: &str = "current currently now nowadays presently today";

/// Marks the terms that a text calls former, if the text also names what holds
/// now: from `used to` or `formerly` to the end of the sentence or to a word
/// like `now`, and the terms before `no longer`. Nothing is marked if the
/// question asks for the past: then the former value is right.
pub(super) fn mark_former(terms: &mut [Term], question: &ParsedQuestion) {
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
