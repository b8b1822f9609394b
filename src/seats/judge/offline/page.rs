//! Looking for values in a text.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::former;
use super::lexicon::stem;
use super::looking::Looking;
use super::periods::{Told, times};
use super::question::Question;
use super::reading::{Term, denies_next, read};
use super::sought::{Form, Sought};
use super::symbols::{is_symbol, without_selectors};
use crate::text::Normal;
use crate::text::normal::is_unspaced;

/// Above so many terms the words of a value have to stand together.
const LONG: usize = 40;

/// How much of a value has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All of up to two words, more than half of more: other words may say the
    /// rest.
    Main,
    /// All of up to four words, four fifths of more.
    Most,
}

/// A text, read once.
#[derive(Debug)]
pub(super) struct Page {
    pub terms: Vec<Term>,
    pub places: FxHashMap<String, Vec<u32>>,
    /// Two neighbouring words written as one.
    pub joined: FxHashMap<String, Vec<u32>>,
    pub times: Vec<Told>,
    unspaced: Option<Normal>,
    /// The text, where it has a symbol.
    symbols: Option<String>,
}

/// Where a value was found: indices of terms; or what is missing.
pub(super) type Search = Result<Vec<usize>, String>;

impl Page {
    pub fn new(text: &str) -> Page {
        let text = &*without_selectors(text);
        let terms = read(text);
        let mut places: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        let mut joined: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (at, term) in terms.iter().enumerate() {
            let place = u32::try_from(at).unwrap_or(u32::MAX);
            places.entry(key(term.is_number, &term.text)).or_default().push(place);
            if let Some(next) = terms.get(at + 1)
                && !term.is_number
                && !next.is_number
                && term.clause == next.clause
                && term.word.len() + next.word.len() <= 24
            {
                let both = stem(&format!("{}{}", term.word, next.word).to_lowercase());
                joined.entry(both).or_default().push(place);
            }
        }
        let unspaced = text.contains(is_unspaced).then(|| Normal::new(text));
        let symbols = text.contains(is_symbol).then(|| text.to_owned());
        let mut page = Page { terms, places, joined, times: times(text), unspaced, symbols };
        for told in 0..page.times.len() {
            let date = page.within(&page.times[told]);
            page.deny_all(date);
        }
        page
    }

    /// Denies the whole of each value that stands in the text with its first
    /// word denied, also past a comma or a full stop: `not Cannes, France`.
    pub fn deny_whole(&mut self, values: &[String]) {
        for value in values {
            let value = read(value);
            let Some(first) = value.first() else { continue };
            let starts = self.places.get(&key(first.is_number, &first.text));
            let starts: Vec<usize> =
                starts.into_iter().flatten().map(|start| *start as usize).collect();
            for start in starts {
                let stands = self.terms[start..].iter().map(|term| &term.text);
                let before = start.checked_sub(1).map(|before| &self.terms[before]);
                let sentence = self.terms[start].sentence;
                let after_not = before.is_some_and(|b| b.word == "not" && b.sentence == sentence);
                if (after_not || self.terms[start].is_denied())
                    && stands.take(value.len()).eq(value.iter().map(|term| &term.text))
                {
                    self.terms[start].denials = self.terms[start].denials.max(1);
                    self.deny_all(start..start + value.len());
                }
            }
        }
    }

    /// Denies all of some terms if the first is denied.
    fn deny_all(&mut self, range: Range<usize>) {
        let is_denied = self.terms.get(range.start).is_some_and(Term::is_denied);
        if is_denied && !range.is_empty() {
            self.terms[range].iter_mut().for_each(|term| term.denials = term.denials.max(1));
        }
    }

    /// Marks what the text tells as former, where `question` asks for what is.
    pub fn mark_former(&mut self, question: &Question) {
        former::mark(&mut self.terms, question);
    }

    /// The terms that a time is told by.
    pub fn within(&self, told: &Told) -> Range<usize> {
        let first = self.terms.partition_point(|term| term.span.start < told.span.start);
        let last = self.terms.partition_point(|term| term.span.start < told.span.end);
        first..last
    }

    pub fn is_long(&self) -> bool {
        self.terms.len() > LONG
    }

    /// Looks for a value; else what is missing.
    pub fn find(&self, sought: &Sought, question: &Question, share: Share) -> Search {
        if let Some(symbol) = &sought.symbol {
            let missing = || format!("`{symbol}`");
            return self.symbol(symbol).then(Vec::new).ok_or_else(missing);
        }
        let Some(form) = &sought.form else { return Err("a word to look for".to_owned()) };
        let places = self.find_form(form, question, share)?;
        let most = places.iter().map(|place| self.terms[*place].denials).max();
        // `Not “Rebel Without a Cause”` denies more than the value does.
        if form.denials > 0 && !question.is_denied && most.is_some_and(|most| most > form.denials) {
            return Err("it without a denial".to_owned());
        }
        Ok(places)
    }

    fn find_form(&self, form: &Form, question: &Question, share: Share) -> Search {
        let search = Looking { page: self, form, question, share };
        if let Some(value) = &form.unspaced {
            let holds = self.unspaced.as_ref().is_some_and(|text| text.contains(value));
            let found = search.characters().filter(|_| holds);
            return found.ok_or_else(|| format!("`{}`", value.as_str()));
        }
        if let Some(places) = search.name().or_else(|| search.joined()) {
            return Ok(places);
        }
        let mut places = search.times()?;
        places.extend(search.items()?);
        let says_no = |place: &usize| self.terms[*place].is_denied();
        if form.denials > 0 && !question.is_denied && !places.iter().any(says_no) {
            return Err("its negation".to_owned());
        }
        Ok(places)
    }

    /// Whether a symbol stands in the text, and is not denied right there.
    fn symbol(&self, symbol: &str) -> bool {
        let text = self.symbols.as_deref().unwrap_or_default();
        text.match_indices(symbol).any(|(at, _)| {
            let next = self.terms.partition_point(|term| term.span.end <= at);
            let Some(last) = next.checked_sub(1) else { return true };
            let is_apart = text[self.terms[last].span.end..at].contains(|c| ".,;:!?\n".contains(c));
            is_apart || !denies_next(&self.terms, last) && !self.terms[last].is_former
        })
    }
}

pub(super) fn key(is_number: bool, text: &str) -> String {
    if is_number { format!("#{text}") } else { text.to_owned() }
}
