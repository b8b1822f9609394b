//! One search: where a text says a value.

use super::page::{Page, Search, Share, key};
use super::periods::When;
use super::question::Question;
use super::reading::{REACH, Term};
use super::sought::{Form, Item, asked};
use crate::text::PartialDate;

/// How many terms one value may be spread over in a long text, at least; three
/// for each of its words.
const WINDOW: usize = 12;
/// How far from a bare number in a long text the question's words may stand.
const BESIDE: usize = 8;
/// How many terms may stand from a number to what it counts.
const COUNTED: usize = 3;

/// One search for one form.
pub(super) struct Looking<'a> {
    pub page: &'a Page,
    pub form: &'a Form,
    pub question: &'a Question,
    pub share: Share,
}

impl Looking<'_> {
    /// Whether a place asserts what stands there.
    fn counts(&self, place: usize) -> bool {
        let term = &self.page.terms[place];
        let asserts = !term.is_denied() || self.form.denials > 0 || self.restates(place);
        asserts && !term.is_former
    }

    /// Whether the denial of a place is the question's own: `She did not visit
    /// Paris` to `Which city did she not visit?`. `It is not Paris` denies the
    /// value itself.
    fn restates(&self, place: usize) -> bool {
        const COPULAS: &[&str] = &[
            "are", "be", "is", "it", "s", "that", "these", "they", "this", "those", "was", "were",
        ];
        if !self.question.is_denied {
            return false;
        }
        let terms = &self.page.terms[..place];
        let denied = terms.iter().rev().take(2 * REACH).take_while(|term| term.is_denied());
        let run = denied.clone().count();
        // Before the run stands the negation, and before that its verb.
        let verb = (place - run).checked_sub(2).map(|at| &terms[at]);
        let negation = (place - run).checked_sub(1).map(|at| &terms[at]);
        let is_verbal = verb.zip(negation).is_some_and(|(verb, negation)| {
            verb.clause == negation.clause && !COPULAS.contains(&verb.word.as_str())
        });
        is_verbal || denied.into_iter().any(|term| self.question.denied.contains(&term.text))
    }

    fn places<'b>(&'b self, list: Option<&'b Vec<u32>>) -> impl Iterator<Item = usize> + 'b {
        let list = list.map_or(&[] as &[u32], Vec::as_slice);
        list.iter().map(|place| *place as usize).filter(|place| self.counts(*place))
    }

    /// Where all characters of an unspaced value count; nowhere in particular
    /// where its terms stand in another order than in the text.
    pub fn characters(&self) -> Option<Vec<usize>> {
        let terms = &self.page.terms;
        let value = &self.form.sequence;
        let starts = value.first().and_then(|first| self.page.places.get(first));
        let starts = starts.into_iter().flatten().map(|start| *start as usize);
        let stands = |start: &usize| {
            let said = terms[*start..].iter().map(|term| key(term.is_number, &term.text));
            said.take(value.len()).eq(value.iter().cloned())
        };
        let mut places = starts.filter(stands).map(|start| start..start + value.len()).peekable();
        if places.peek().is_none() {
            return Some(Vec::new());
        }
        places.find(|range| range.clone().all(|at| self.counts(at))).map(Vec::from_iter)
    }

    /// Where a word stands, or one that differs by an ending or one letter.
    fn word(&self, word: &str) -> Vec<usize> {
        let mut found: Vec<usize> = self.places(self.page.places.get(word)).collect();
        found.extend(self.places(self.page.joined.get(word)));
        if found.is_empty() && self.share == Share::Main && word.len() >= 5 {
            let near = |term: &Term| !term.is_number && is_near(word, &term.text);
            let all = self.page.terms.iter().enumerate();
            let all = all.filter(|(at, term)| self.counts(*at) && near(term));
            found.extend(all.map(|(at, _)| at));
        }
        found.sort_unstable();
        found
    }

    /// The last word of a name with the first, or its initial, right before.
    pub fn name(&self) -> Option<Vec<usize>> {
        let name = self.form.name.as_ref()?;
        let (first, last) = (name.first()?, name.last()?);
        let terms = &self.page.terms;
        let initial = |text: &str| first.chars().next().is_some_and(|c| text.starts_with(c));
        let opens = |term: &Term| {
            // `M.`, `M.S.`, `Dave` for `David`.
            let is_short = term.text.len() <= 2 || first.len() == 1;
            let alike = term.text.get(..2).is_some_and(|two| first.starts_with(two));
            let fits = term.is_capital && (alike || is_short && initial(&term.text));
            !term.is_number && (term.text == *first || fits)
        };
        let found = self.places(self.page.places.get(last)).find_map(|at| {
            let before = at.saturating_sub(3)..at;
            before.clone().find(|place| opens(&terms[*place])).map(|place| vec![place, at])
        });
        // A surname alone, as the whole answer.
        let alone = || {
            let all = terms.len() <= 2 && terms.iter().all(|term| name.contains(&term.text));
            (all && self.share == Share::Main && terms.iter().any(|term| term.text == *last))
                .then(|| (0..terms.len()).collect())
        };
        found.or_else(alone)
    }

    /// Whether the question has a word, perhaps with another ending.
    fn is_asked(&self, word: &str) -> bool {
        let stems = &self.question.stems;
        stems.contains(word) || stems.iter().any(|stem| is_near(stem, word))
    }

    pub fn joined(&self) -> Option<Vec<usize>> {
        let joined = self.form.joined.as_ref()?;
        let mut all = self.places(self.page.places.get(joined));
        let one = all.next().map(|at| vec![at]);
        // Also where one is a code: `us-de` for `US-DE`.
        one.or_else(|| {
            let two = |at: &usize| self.counts(at + 1);
            self.places(self.page.joined.get(joined)).find(two).map(|at| vec![at, at + 1])
        })
    }

    /// Every time of the value, each told by one of the text.
    pub fn times(&self) -> Search {
        let mut places = Vec::new();
        for wanted in asked(&self.form.times, &self.question.times) {
            let answer = self.page.times.iter().find(|one| {
                one.when.answers(wanted) && self.page.within(one).all(|place| self.counts(place))
            });
            let Some(answer) = answer else {
                if let Some(place) = self.year(wanted) {
                    places.push(place);
                    continue;
                }
                return Err(format!("the date {wanted}"));
            };
            places.extend(self.page.within(answer));
        }
        Ok(places)
    }

    /// A year that is told by a number alone: the end of `1961–62`.
    fn year(&self, wanted: When) -> Option<usize> {
        match wanted {
            When::On(PartialDate { year: Some(year), month: None, .. }) => {
                self.places(self.page.places.get(&key(true, &year.to_string()))).next()
            }
            _ => None,
        }
    }

    /// The parts of a value: both of two, two thirds of more.
    pub fn items(&self) -> Search {
        let items = &self.form.items;
        let new = |word: &&String| !self.question.stems.contains(*word);
        let is_new = |item: &&Item| !item.numbers.is_empty() || item.words.iter().any(|w| new(&w));
        let asked: Vec<&Item> = items.iter().filter(is_new).collect();
        if asked.is_empty() {
            // The question says it all: the answer has to say it all again.
            let all: Vec<&String> = items.iter().flat_map(|item| &item.words).collect();
            let needed = if self.form.times.is_empty() { all.len() } else { 0 };
            return self.together(&all, needed);
        }
        let may_miss = asked.len() / 3;
        let (mut places, mut missing) = (Vec::new(), Vec::new());
        for item in asked {
            match self.item(item) {
                Ok(found) => places.extend(found),
                Err(why) => missing.push(why),
            }
        }
        if missing.len() > may_miss { Err(missing.join(", ")) } else { Ok(places) }
    }

    fn item(&self, item: &Item) -> Search {
        let new = |word: &&String| !self.question.stems.contains(*word);
        let words: Vec<&String> = item.words.iter().filter(new).collect();
        let needed = match (self.share, words.len()) {
            (_, few @ 0..=2) | (Share::Most, few @ 3..=4) => few,
            (Share::Main, many) => many / 2 + 1,
            (Share::Most, many) => (many * 4).div_ceil(5),
        };
        let mut places = self.numbers(item, words.is_empty())?;
        let found = self.together(&words, needed)?;
        // A surname is what a name is known by.
        if let (Some(_), Some(last)) = (&self.form.name, words.last())
            && !self.word(last).iter().any(|place| found.contains(place))
        {
            return Err(quoted(&[last.as_str()]));
        }
        places.extend(found);
        Ok(places)
    }

    /// Every number of an item, before what it counts.
    fn numbers(&self, item: &Item, is_bare: bool) -> Search {
        let mut places = Vec::new();
        let offers = item.numbers.len() > 1;
        for number in &item.numbers {
            let counted = number.counted.as_ref().filter(|w| !self.question.stems.contains(*w));
            let terms = &self.page.terms;
            let counts = |at: &usize| {
                let near =
                    |from: usize, to: usize| &terms[from.min(terms.len())..to.min(terms.len())];
                let is_counted = counted.is_none_or(|word| {
                    let is_it = |term: &Term| term.text == *word || is_near(word, &term.text);
                    let before = at.checked_sub(1).map(|before| &terms[before]);
                    near(at + 1, at + 1 + COUNTED).iter().any(is_it)
                        || before.is_some_and(|b| is_it(b) && b.clause == terms[*at].clause)
                });
                // In a long text a bare number may count anything.
                let is_beside = !is_bare
                    || !self.page.is_long()
                    || self.question.stems.is_empty()
                    || near(at.saturating_sub(BESIDE), at + BESIDE + 1)
                        .iter()
                        .any(|term| self.is_asked(&term.text));
                is_counted && is_beside && (offers || !self.is_choice(*at))
            };
            let all = self.page.places.get(&key(true, &number.value));
            let Some(place) = self.places(all).find(counts) else {
                let of = counted.map_or(String::new(), |word| format!(" {word}"));
                return Err(format!("the number {}{of}", number.value));
            };
            places.push(place);
        }
        Ok(places)
    }

    /// Whether a number is one of two that are offered: `once or twice`.
    fn is_choice(&self, at: usize) -> bool {
        let terms = &self.page.terms;
        let is_number =
            |at: Option<usize>| at.and_then(|at| terms.get(at)).is_some_and(|t| t.is_number);
        let is_or =
            |at: Option<usize>| at.and_then(|at| terms.get(at)).is_some_and(|t| t.word == "or");
        is_or(Some(at + 1)) && is_number(Some(at + 2))
            || is_or(at.checked_sub(1)) && is_number(at.checked_sub(2))
    }

    /// The stretch of the text with the most of these words, if it has enough.
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
        let width = if self.page.is_long() { WINDOW.max(3 * words.len()) } else { usize::MAX };
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

/// Whether two stems differ by an ending (`canada`, `canadian`) or by one
/// letter of six or more.
fn is_near(a: &str, b: &str) -> bool {
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let (short, long) = (x.len().min(y.len()), x.len().max(y.len()));
    if short < 5 || x[0] != y[0] || !a.is_ascii() || !b.is_ascii() {
        return false;
    }
    let same = x.iter().zip(y).take_while(|(x, y)| x == y).count();
    if same >= 5 && same + 1 >= short && long - same <= 4 {
        return true;
    }
    let (x, y) = (&x[same..], &y[same..]);
    let one = match x.len().abs_diff(y.len()) {
        0 => !x.is_empty() && x[1..] == y[1..],
        1 if x.len() > y.len() => x[1..] == *y,
        1 => *x == y[1..],
        _ => false,
    };
    a.len() >= 6 && one
}
