//! Values that a text tells as former, beside another that holds now: `It
//! used to be X, now it is Y`.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::lexicon::{is_participle, is_stop};
use super::question::Question;
use super::reading::Term;

/// Words that say by themselves that a value no longer holds.
const FORMERLY: &[&str] = &["formerly", "previously", "till", "until"];
/// Words that may also just tell of something past.
const WAS: &[&str] = &["before", "earlier", "initially", "originally", "was", "were"];
const NOW: &[&str] = &["current", "currently", "now", "nowadays", "presently", "today"];
/// Words that begin another part of a sentence.
const BREAKS: &[&str] =
    &["although", "and", "but", "however", "then", "though", "whereas", "while"];

/// In the order of what they tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Time {
    /// The value no longer holds.
    Former,
    Now,
    /// It may be past.
    Was,
}

/// A stretch of a sentence that is told of one time.
#[derive(Debug)]
struct Stretch {
    range: Range<usize>,
    /// None where nothing says it.
    time: Option<Time>,
    /// The first cue.
    cue: Option<Range<usize>>,
}

/// Marks what `terms` tell as former: in a stretch that does (`used to be`,
/// `formerly`, `until …`, `no longer`, or `was` where the question asks for
/// what is), right beside one that asserts something else of now. A question
/// that asks for the past leaves all unmarked: there the former value is right.
pub(super) fn mark(terms: &mut [Term], question: &Question) {
    if question.asks_for_past {
        return;
    }
    let stretches = stretches(terms, question);
    let mut former = Vec::new();
    for pair in stretches.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        let near = terms[other.range.start].sentence - terms[one.range.end - 1].sentence <= 1;
        let case = |old, new| Change { terms, question, old, new };
        match (one.time, other.time) {
            _ if !near => {}
            (Some(Time::Former), Some(Time::Now)) => former.extend(case(one, other).former()),
            (Some(Time::Now), Some(Time::Former)) => former.extend(case(other, one).former()),
            (Some(Time::Was), Some(Time::Now)) => former.extend(case(one, other).was()),
            _ => {}
        }
    }
    for at in former.into_iter().flatten() {
        terms[at].is_former = true;
    }
}

/// The text in stretches. What no cue times goes on in the time before it,
/// within its sentence.
fn stretches(terms: &[Term], question: &Question) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut part = Stretch { range: 0..0, time: None, cue: None };
    for at in 0..terms.len() {
        let found = cue(terms, at, question);
        let turns = found.is_some_and(|(time, _)| time == Time::Now)
            && matches!(part.time, Some(Time::Former | Time::Was));
        let breaks = BREAKS.contains(&terms[at].word.as_str());
        let begins = at > 0 && terms[at].clause != terms[at - 1].clause;
        if (turns || breaks || begins) && !part.range.is_empty() {
            add(&mut stretches, part, terms);
            part = Stretch { range: at..at, time: None, cue: None };
        }
        part.range.end = at + 1;
        if let Some((time, length)) = found {
            // What says more of the time counts: `it was X until May`.
            part.time = Some(part.time.map_or(time, |other| other.min(time)));
            part.cue.get_or_insert(at..at + length);
        }
    }
    if !part.range.is_empty() {
        add(&mut stretches, part, terms);
    }
    stretches
}

fn add(stretches: &mut Vec<Stretch>, part: Stretch, terms: &[Term]) {
    match stretches.last_mut() {
        Some(last)
            if terms[last.range.start].sentence == terms[part.range.start].sentence
                && (part.time.is_none() || part.time == last.time) =>
        {
            last.range.end = part.range.end;
        }
        _ => stretches.push(part),
    }
}

/// The cue that begins at a term, and its length in terms.
fn cue(terms: &[Term], at: usize, question: &Question) -> Option<(Time, usize)> {
    let next = terms.get(at + 1).filter(|next| next.clause == terms[at].clause);
    let next_is = |word: &str| next.is_some_and(|next| next.word == word);
    match terms[at].word.as_str() {
        "used" if next_is("to") => Some((Time::Former, 2)),
        "no" if next_is("longer") => Some((Time::Former, 2)),
        "these" if next_is("days") => Some((Time::Now, 2)),
        "since" if next_is("then") => Some((Time::Now, 2)),
        // `Since 2019`, `it has been Y since`.
        "since" if next.is_none_or(|next| next.is_number) => Some((Time::Now, 1)),
        // `The former port`; a former safety is a person.
        "former" | "previous" => next
            .is_some_and(|next| question.stems.contains(&next.text))
            .then_some((Time::Former, 1)),
        word if FORMERLY.contains(&word) => Some((Time::Former, 1)),
        word if NOW.contains(&word) => Some((Time::Now, 1)),
        word if WAS.contains(&word) => Some((Time::Was, 1)),
        _ => None,
    }
}

/// A stretch of the past beside one of now.
struct Change<'a> {
    terms: &'a [Term],
    question: &'a Question,
    old: &'a Stretch,
    new: &'a Stretch,
}

impl Change<'_> {
    /// What a clear cue tells as former: what follows it, up to when it held;
    /// where that is in the question already, what comes before it.
    fn former(&self) -> Option<Range<usize>> {
        self.asserted()?;
        let cue = self.old.cue.clone()?;
        let until = |at: &usize| matches!(self.terms[*at].word.as_str(), "till" | "until");
        let end = (cue.start..self.old.range.end).find(until).unwrap_or(self.old.range.end);
        let after = cue.end.min(end)..end;
        let says = |at: usize| self.says(&self.terms[at]) && !self.terms[at].is_number;
        let is_subject = self.terms[cue.start].word == "no" || !after.clone().any(says);
        let has_number = after.clone().any(|at| self.terms[at].is_number);
        Some(if is_subject && !has_number { self.old.range.start..end } else { after })
    }

    /// What `was` tells as former: a value of the same kind as the one of now.
    /// `It was built by X` tells of an event, which no change undoes.
    fn was(&self) -> Option<Range<usize>> {
        let new = self.asserted().filter(|_| self.question.is_present)?;
        // Not `owners may have changed since then`.
        let now = self.new.cue.as_ref()?.start;
        if self.terms[self.new.range.start..now].iter().any(|term| self.says(term)) {
            return None;
        }
        let after = self.old.cue.clone()?.end..self.old.range.end;
        let old = after.clone().map(|at| &self.terms[at]).find(|term| self.says(term))?;
        let is_event = is_participle(&old.word) || is_participle(&new.word);
        let alike =
            old.is_number == new.is_number && (old.is_number || old.is_capital == new.is_capital);
        (alike && !is_event).then_some(after)
    }

    /// What is said of now and not of the past.
    fn asserted(&self) -> Option<&Term> {
        let old: FxHashSet<&str> =
            self.terms[self.old.range.clone()].iter().map(|term| term.text.as_str()).collect();
        let new = self.new.range.clone().filter(|at| cue(self.terms, *at, self.question).is_none());
        let mut new = new.map(|at| &self.terms[at]);
        new.find(|term| self.says(term) && !old.contains(term.text.as_str()))
    }

    /// Whether a term may be a value, or a part of one.
    fn says(&self, term: &Term) -> bool {
        let word = term.word.as_str();
        let is_word = !is_stop(word) && !BREAKS.contains(&word);
        term.is_number || is_word && !self.question.stems.contains(&term.text)
    }
}
