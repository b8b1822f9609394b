//! Yes and no, and which of two values is said to hold now.

use super::lexicon::is_stop;
use super::page::Page;
use super::question::Question;

/// Words that keep an answer from being a yes or a no.
const HEDGES: &[&str] =
    &["depends", "maybe", "might", "perhaps", "possibly", "uncertain", "unclear", "unsure"];

/// Whether an answer says yes (`true`) or no; none where it says neither. It
/// either begins with it, or says again, or denies, what the question asks; in
/// a long text both, since any turn of a conversation may begin with `Yes`.
pub(super) fn says(page: &Page, question: &Question) -> Option<bool> {
    let content = |at: usize| {
        let term = &page.terms[at];
        !is_stop(&term.word) && question.stems.contains(&term.text)
    };
    let sentences = page.terms.last().map_or(0, |term| term.sentence + 1);
    let needed = question.stems.len().div_ceil(2).max(1);
    let restating = (0..sentences).find_map(|sentence| {
        let first = page.terms.partition_point(|term| term.sentence < sentence);
        let last = page.terms.partition_point(|term| term.sentence <= sentence);
        let mut met: Vec<&str> = (first..last)
            .filter(|at| content(*at))
            .map(|at| page.terms[at].text.as_str())
            .collect();
        met.sort_unstable();
        met.dedup();
        (met.len() >= needed).then_some(first..last)
    });
    if let Some(lead) = lead(page) {
        return (!page.is_long() || restating.is_some()).then_some(lead);
    }
    let range = restating?;
    let terms = &page.terms[range];
    let hedged = terms.iter().any(|term| HEDGES.contains(&term.word.as_str()));
    let denied = terms.iter().any(|term| term.is_denied() || term.word == "unlikely");
    (!hedged).then_some(denied == question.is_denied)
}

/// The yes or no that an answer begins with.
fn lead(page: &Page) -> Option<bool> {
    let fillers = ["well", "oh", "hmm", "likely", "probably", "most", "very", "so"];
    let mut words = page.terms.iter().map(|term| term.word.as_str());
    match words.find(|word| !fillers.contains(word))? {
        "yes" | "yeah" | "yep" | "yup" | "sure" | "definitely" | "absolutely" | "indeed"
        | "correct" | "true" | "certainly" => Some(true),
        "no" | "nope" | "nah" | "false" | "not" | "unlikely" | "incorrect" => Some(false),
        _ => None,
    }
}

/// When a text says that a value holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tense {
    Past,
    Now,
}

/// How far before a value its cue may stand, in terms; two after it.
const CUE: usize = 5;

fn cue(word: &str) -> Option<Tense> {
    match word {
        "was" | "were" | "used" | "previously" | "previous" | "former" | "formerly"
        | "originally" | "original" | "initially" | "initial" | "earlier" | "from" | "old"
        | "before" | "until" | "past" | "replaced" | "had" | "ago" => Some(Tense::Past),
        "now" | "currently" | "current" | "today" | "latest" | "newest" | "new" | "to" | "is"
        | "are" | "updated" | "nowadays" | "became" | "becomes" | "has" | "with" => {
            Some(Tense::Now)
        }
        _ => None,
    }
}

/// The nearest cue before the places of a value in its sentence, or right
/// after them in their clause: `it was X, now it is Y`, `moved from X to Y`, `X before`.
pub(super) fn tense(page: &Page, places: &[usize]) -> Option<Tense> {
    let (first, last) = (*places.iter().min()?, *places.iter().max()?);
    let sentence = page.terms[first].sentence;
    let same = |at: &usize| page.terms[*at].sentence == sentence;
    let read = |at: usize| cue(&page.terms[at].word);
    let before = (first.saturating_sub(CUE)..first).rev().filter(same).find_map(read);
    let near = last + 1..(last + 3).min(page.terms.len());
    let clause = page.terms[last].clause;
    let after = || near.filter(|at| page.terms[*at].clause == clause).find_map(read);
    before.or_else(after)
}
