//! What a question says, denies and asks for.

use rustc_hash::FxHashSet;

use super::lexicon::is_stop;
use super::periods::{Told, When, times};
use super::reading::{Term, read};

/// Words by which a question asks for a value that held before.
const BEFORE: &[&str] = &[
    "ago",
    "before",
    "earlier",
    "earliest",
    "first",
    "former",
    "formerly",
    "initial",
    "initially",
    "original",
    "originally",
    "past",
    "previous",
    "previously",
    "prior",
    "till",
    "until",
];
/// Verbs that put a question into the past, or into the present.
const WAS: &[&str] = &["did", "had", "was", "were"];
const IS: &[&str] = &["are", "can", "do", "does", "has", "have", "is", "s", "should"];

/// What the question says already.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub stems: FxHashSet<String>,
    /// Those that it denies: `visit` of `Which city did she not visit?`.
    pub denied: FxHashSet<String>,
    pub times: Vec<Told>,
    pub is_denied: bool,
    /// Whether it asks for a value that held before.
    pub asks_for_past: bool,
    /// Whether it asks for what holds now, by its verb.
    pub is_present: bool,
}

impl Question {
    pub fn new(text: &str) -> Question {
        let (terms, times) = (read(text), times(text));
        let has = |words: &[&str]| terms.iter().any(|term| words.contains(&term.word.as_str()));
        let content = || terms.iter().filter(|term| !is_stop(&term.word) && !term.is_number);
        let stems = |of: fn(&&Term) -> bool| content().filter(of).map(|t| t.text.clone()).collect();
        let mut all: FxHashSet<String> = stems(|_| true);
        if !text.contains(char::is_uppercase) {
            // In small letters a code is not to be told from a word: both are asked.
            let codes = content().filter(|term| term.word.len() == 2);
            all.extend(codes.map(|term| term.word.to_uppercase()));
        }
        Question {
            stems: all,
            denied: stems(|term| term.is_denied()),
            is_denied: terms.iter().any(Term::is_denied),
            asks_for_past: past(&terms, &times),
            is_present: has(IS) && !has(WAS),
            times,
        }
    }
}

/// Whether a question asks for a value that held before: it says so (`first`,
/// `former`, `used to`, `before`), or is in the past with a year.
pub(in crate::seats::judge) fn asks_for_past(question: &str) -> bool {
    past(&read(question), &times(question))
}

fn past(terms: &[Term], times: &[Told]) -> bool {
    let has = |words: &[&str]| terms.iter().any(|term| words.contains(&term.word.as_str()));
    let dated = times.iter().any(|told| match told.when {
        When::On(date) => date.year.is_some(),
        When::Within(..) => true,
    });
    let use_to =
        |two: &[Term]| matches!(two[0].word.as_str(), "use" | "used") && two[1].word == "to";
    has(BEFORE) || terms.windows(2).any(use_to) || dated && has(WAS)
}
