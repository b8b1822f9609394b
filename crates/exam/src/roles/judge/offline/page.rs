//! Searches a text for values.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::question::{ParsedQuestion, mark_former};
use super::reading::{Term, denies, read};
use super::sought::{Form, Sought, key};
use crate::calendar::relative::{TimeMention, times};
use recap_core::text::Normal;
use recap_core::text::language::{is_unspaced, stem_once};

/// Number of terms from which a text is long: then the words of a value must be
/// near each other, within at least this many terms and three for each word.
const LONG: usize = 40;
const WINDOW: usize = 12;
/// Largest distance in a long text between a bare number and a word of the
/// question.
const BESIDE: usize = 8;

/// The share of a value that a text must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All of up to two words, more than half of more: other words may express
    /// the rest.
    Main,
    /// All of up to four words, four fifths of more.
    Most,
}

/// A parsed text, with its terms by position.
#[derive(Debug)]
pub(super) struct Page {
    pub terms: Vec<Term>,
    places: FxHashMap<String, Vec<u32>>,
    /// Positions of two neighbouring words written as one.
    joined: FxHashMap<String, Vec<u32>>,
    times: Vec<TimeMention>,
    unspaced: Option<Normal>,
    /// The text itself, if it contains characters other than ASCII.
    signs: Option<String>,
}

/// The positions of the terms of a found value, or a description of the missing
/// part.
pub(super) type Search = Result<Vec<usize>, String>;

impl Page {
    pub fn new(text: &str) -> Page {
        let terms = read(text);
        let mut places: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        let mut joined: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        let mut both = String::new();
        for (at, term) in terms.iter().enumerate() {
            let place = u32::try_from(at).unwrap_or(u32::MAX);
            // Most words of a long text came before, and need no key of their own.
            match places.get_mut(&term.text).filter(|_| !term.is_number) {
                Some(places) => places.push(place),
                None => places.entry(key(term)).or_default().push(place),
            }
            if let Some(next) = terms.get(at + 1)
                && !term.is_number
                && !next.is_number
                && term.clause == next.clause
                && term.word.len() + next.word.len() <= 24
            {
                both.clear();
                both.extend([term.word.as_str(), next.word.as_str()]);
                joined.entry(stem_once(&both)).or_default().push(place);
            }
        }
        let unspaced = text.contains(is_unspaced).then(|| Normal::new(text));
        let signs = (!text.is_ascii()).then(|| text.to_owned());
        Page { terms, places, joined, times: times(text), unspaced, signs }
    }

    /// Takes the denial from what follows a text that the question quotes with
    /// its negation: who goes on from “Do not commit” with `secret files` states
    /// the secret files.
    pub(super) fn state_continuations(&mut self, question: &ParsedQuestion) {
        for quoted in &question.quoted_denials {
            let ends: Vec<usize> = (quoted.len()..self.terms.len())
                .filter(|end| {
                    let said = &self.terms[end - quoted.len()..*end];
                    said.iter().map(|term| &term.text).eq(quoted)
                })
                .collect();
            for end in ends {
                let clause = self.terms[end - 1].clause;
                let rest = self.terms[end..].iter_mut();
                rest.take_while(|term| term.clause == clause && !denies(term))
                    .for_each(|term| term.is_denied = false);
            }
        }
    }

    /// Marks the whole of each value whose first word is denied in the text,
    /// also beyond a comma or a full stop: `not Cannes, France`.
    pub(super) fn deny_whole(&mut self, values: &[String]) {
        for value in values {
            let value = read(value);
            let Some(first) = value.first() else { continue };
            for start in self.places.get(&key(first)).into_iter().flatten() {
                let start = *start as usize;
                let after_not =
                    start.checked_sub(1).map(|before| &self.terms[before]).is_some_and(|before| {
                        denies(before) && before.sentence == self.terms[start].sentence
                    });
                let stands = self.terms[start..].iter().map(|term| &term.text);
                if (after_not || self.terms[start].is_denied)
                    && stands.take(value.len()).eq(value.iter().map(|term| &term.text))
                {
                    let all = &mut self.terms[start..start + value.len()];
                    all.iter_mut().for_each(|term| term.is_denied = true);
                }
            }
        }
    }

    /// Marks former values in the text if `question` asks for the current one.
    pub(super) fn mark_former(&mut self, question: &ParsedQuestion) {
        mark_former(&mut self.terms, question);
    }

    /// The positions of the terms that express a time.
    fn within(&self, mention: &TimeMention) -> Range<usize> {
        let first = self.terms.partition_point(|term| term.span.start < mention.span.start);
        let last = self.terms.partition_point(|term| term.span.start < mention.span.end);
        first..last
    }

    /// The positions of a value, or a description of the missing part.
    pub fn find(&self, sought: &Sought, question: &ParsedQuestion, share: Share) -> Search {
        let Some(form) = &sought.form else { return Err("a word to look for".to_owned()) };
        if let Some(symbol) = &form.symbol {
            return if self.shows(symbol) { Ok(Vec::new()) } else { Err(format!("`{symbol}`")) };
        }
        let search = PageSearch { page: self, form, question, share };
        if let Some((value, sequence)) = &form.unspaced {
            let holds = self.unspaced.as_ref().is_some_and(|text| text.contains(value));
            let found = search.characters(sequence).filter(|_| holds);
            return found.ok_or_else(|| format!("`{}`", value.as_str()));
        }
        if let Some(places) = search.name().or_else(|| search.joined()) {
            return Ok(places);
        }
        let mut places = search.times()?;
        places.extend(search.numbers_and_words()?);
        let is_denied = |place: &usize| self.terms[*place].is_denied;
        if form.is_denied && !question.is_denied && !places.iter().any(is_denied) {
            return Err("its negation".to_owned());
        }
        Ok(places)
    }

    /// Whether the text contains a sign without a negation directly before it.
    fn shows(&self, symbol: &str) -> bool {
        let text = self.signs.as_deref().unwrap_or_default();
        text.match_indices(symbol).any(|(at, _)| {
            let last = self.terms.iter().take_while(|term| term.span.end <= at).last();
            last.is_none_or(|last| !last.is_denied && !denies(last) && !last.is_former)
        })
    }
}

/// A search for one form of a value.
struct PageSearch<'a> {
    page: &'a Page,
    form: &'a Form,
    question: &'a ParsedQuestion,
    share: Share,
}

impl PageSearch<'_> {
    /// Whether the text asserts the term at a position.
    fn counts(&self, place: usize) -> bool {
        let term = &self.page.terms[place];
        (!term.is_denied || self.form.is_denied) && !term.is_former
    }

    fn places<'b>(&'b self, list: Option<&'b Vec<u32>>) -> impl Iterator<Item = usize> + 'b {
        let list = list.map_or(&[] as &[u32], Vec::as_slice);
        list.iter().map(|place| *place as usize).filter(|place| self.counts(*place))
    }

    /// The positions of all characters of a value in a script without spaces;
    /// empty if the text contains its terms in another order.
    fn characters(&self, sequence: &[String]) -> Option<Vec<usize>> {
        let terms = &self.page.terms;
        let starts = sequence.first().and_then(|first| self.page.places.get(first));
        let starts = starts.into_iter().flatten().map(|start| *start as usize);
        let stands = |start: &usize| {
            terms[*start..].iter().map(key).take(sequence.len()).eq(sequence.iter().cloned())
        };
        let mut places =
            starts.filter(stands).map(|start| start..start + sequence.len()).peekable();
        if places.peek().is_none() {
            return Some(Vec::new());
        }
        places.find(|range| range.clone().all(|at| self.counts(at))).map(Vec::from_iter)
    }

    /// The positions of a word, or of one with another ending.
    fn word(&self, word: &str) -> Vec<usize> {
        let mut found: Vec<usize> = self.places(self.page.places.get(word)).collect();
        found.extend(self.places(self.page.joined.get(word)));
        if found.is_empty() && self.share == Share::Main && word.len() >= 5 {
            let near = |at: &usize| {
                let term = &self.page.terms[*at];
                !term.is_number && self.counts(*at) && is_near(word, &term.text)
            };
            found.extend((0..self.page.terms.len()).filter(near));
        }
        found
    }

    /// The positions of the last word of a name with the first word or its
    /// beginning right before it: `M. Lund`, `Dave Meyer` for `David Meyer`.
    fn name(&self) -> Option<Vec<usize>> {
        let name = self.form.name.as_ref()?;
        let (first, last) = (name.first()?, name.last()?);
        let opens = |term: &Term| {
            let alike = term.text.get(..2).unwrap_or(&term.text);
            let fits = term.is_capital && (first.starts_with(alike) || alike.starts_with(&**first));
            !term.is_number && (term.text == *first || fits)
        };
        self.places(self.page.places.get(last)).find_map(|at| {
            let mut before = at.saturating_sub(3)..at;
            before.find(|place| opens(&self.page.terms[*place])).map(|place| vec![place, at])
        })
    }

    /// The positions of the value's words written as one, or of one of its
    /// words written as two.
    fn joined(&self) -> Option<Vec<usize>> {
        let joined = self.form.joined.as_ref()?;
        let one = self.places(self.page.places.get(joined)).next().map(|at| vec![at]);
        one.or_else(|| {
            let two = |at: &usize| self.counts(at + 1);
            self.places(self.page.joined.get(joined)).find(two).map(|at| vec![at, at + 1])
        })
    }

    /// The positions of every time of the value.
    fn times(&self) -> Search {
        let mut places = Vec::new();
        for wanted in &self.form.times {
            let wanted = wanted.when;
            let answer = self.page.times.iter().find(|one| {
                one.when.answers(wanted) && self.page.within(one).all(|place| self.counts(place))
            });
            let answer = answer.ok_or_else(|| format!("the date {wanted}"))?;
            places.extend(self.page.within(answer));
        }
        Ok(places)
    }

    /// The positions of every number of the value and of enough of its words.
    /// Words of the question are not required, unless the question contains all
    /// words of the value.
    fn numbers_and_words(&self) -> Search {
        let mut places = Vec::new();
        for number in &self.form.numbers {
            let mut all = self.places(self.page.places.get(&format!("#{number}")));
            let place = all.find(|at| self.is_beside(*at));
            places.push(place.ok_or_else(|| format!("the number {number}"))?);
        }
        let new = |word: &&String| !self.question.stems.contains(*word);
        let mut words: Vec<&String> = self.form.words.iter().filter(new).collect();
        let says_nothing_new =
            words.is_empty() && self.form.numbers.is_empty() && self.form.times.is_empty();
        if says_nothing_new {
            words = self.form.words.iter().collect();
        }
        let needed = match (self.share, words.len()) {
            (_, many) if says_nothing_new => many,
            (_, few @ 0..=2) => few,
            (Share::Main, many) => many / 2 + 1,
            (Share::Most, many) => (many * 4).div_ceil(5),
        };
        places.extend(self.together(&words, needed)?);
        Ok(places)
    }

    /// Whether a number is near a word of the question: a lone number in a long
    /// text may count anything.
    fn is_beside(&self, at: usize) -> bool {
        let (terms, stems) = (&self.page.terms, &self.question.stems);
        let is_bare = self.form.words.iter().all(|word| stems.contains(word));
        let near = &terms[at.saturating_sub(BESIDE)..terms.len().min(at + BESIDE + 1)];
        !is_bare
            || terms.len() <= LONG
            || stems.is_empty()
            || near.iter().any(|term| stems.contains(&term.text))
    }

    /// The part of the text with the most of these words, if it has enough of
    /// them.
    fn together(&self, words: &[&String], needed: usize) -> Search {
        let mut spots: Vec<(usize, usize)> = Vec::new();
        let mut missing = Vec::new();
        for (which, word) in words.iter().enumerate() {
            let places = self.word(word);
            if places.is_empty() {
                missing.push(word.as_str());
                if words.len() - missing.len() < needed {
                    return Err(quoted(&missing));
                }
            }
            spots.extend(places.into_iter().map(|place| (place, which)));
        }
        spots.sort_unstable();
        let is_long = self.page.terms.len() > LONG;
        let width = if is_long { WINDOW.max(3 * words.len()) } else { usize::MAX };
        let mut held = vec![0_u32; words.len()];
        let (mut low, mut distinct, mut best) = (0, 0, (0, 0..0));
        for high in 0..spots.len() {
            let (place, which) = spots[high];
            distinct += usize::from(held[which] == 0);
            held[which] += 1;
            while place - spots[low].0 >= width {
                held[spots[low].1] -= 1;
                distinct -= usize::from(held[spots[low].1] == 0);
                low += 1;
            }
            if distinct > best.0 {
                best = (distinct, low..high + 1);
            }
        }
        let (most, range) = best;
        if most >= needed {
            return Ok(spots[range].iter().map(|(place, _)| *place).collect());
        }
        let all: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        Err(if missing.is_empty() {
            format!("{} together", quoted(&all))
        } else {
            quoted(&missing)
        })
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Whether two stems differ only by an ending: `canada`, `canadian`.
fn is_near(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    same >= 5 && same + 1 >= short && long - same <= 4
}
