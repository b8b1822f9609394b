//! The scored units of a task; each part of a reply takes the best that fit its
//! budget.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::units::{Kind, Unit};
use recap_core::text::{IdentifierOptions, identifiers};
use recap_core::tokens::Counter;

/// Number of units that a part of a reply chooses from, the best first: enough
/// to fill every bound in use, and few enough that choosing stays linear in the
/// text.
const CHOICE: usize = 400;

/// Largest number of identifiers of one unit that add to its score.
const COUNTED: usize = 6;

/// Share of common words from which two units count as duplicates.
const SAME: f64 = 0.7;

/// Scored units, and the ones that were taken.
pub(super) struct Pool<'a> {
    pub units: Vec<Unit>,
    counter: &'a Counter,
    ids: Vec<Vec<u32>>,
    /// Weight of each identifier.
    weights: Vec<f64>,
    base: Vec<f64>,
    used: Vec<bool>,
    covered: FxHashSet<u32>,
    said: Vec<Words>,
}

impl<'a> Pool<'a> {
    /// Scores the units of a task with this number of messages.
    pub(super) fn new(units: Vec<Unit>, messages: usize, counter: &'a Counter) -> Self {
        let (ids, seen_in) = index(&units);
        let end = messages.max(1) as f64;
        // An identifier that was named often and recently is likely to be
        // needed again.
        let weights = seen_in
            .iter()
            .map(|&(last, count)| (1.0 + f64::from(count).ln()) * (0.5 + last as f64 / end))
            .collect();
        let base = units.iter().map(|unit| base(unit, end)).collect();
        let used = vec![false; units.len()];
        Self {
            units,
            counter,
            ids,
            weights,
            base,
            used,
            covered: FxHashSet::default(),
            said: Vec::new(),
        }
    }

    /// Takes the best units that pass a filter and whose lines fit the budget
    /// of tokens. Returns them in the order of the conversation, with their
    /// cost.
    pub(super) fn take(
        &mut self,
        budget: u64,
        wanted: impl Fn(&Unit) -> bool,
    ) -> (Vec<usize>, u64) {
        let free = |at: &usize| !self.used[*at] && wanted(&self.units[*at]);
        let free = (0..self.units.len()).filter(free);
        let mut choice: Vec<Valued> = free.map(|at| self.valued(at)).collect();
        choice.sort_by(|a, b| b.cmp(a));
        choice.truncate(CHOICE);
        let mut choice = BinaryHeap::from(choice);
        let (mut taken, mut spent) = (Vec::new(), 0);
        while let Some(best) = choice.pop() {
            // What was taken since may have said what it names: then it is worth
            // less than it was, and another one may be better.
            let now = self.valued(best.unit);
            if now < best {
                choice.push(now);
                continue;
            }
            let at = best.unit;
            let words = words(&self.units[at].text);
            if self.said.iter().any(|other| alike(&words, other)) {
                continue;
            }
            let cost = self.cost(&self.units[at].text);
            if spent + cost > budget {
                // Other units may be shorter; a small remainder is not worth
                // the search.
                if budget - spent < 12 {
                    break;
                }
                continue;
            }
            spent += cost;
            self.mark(at, words);
            taken.push(at);
        }
        taken.sort_unstable();
        (taken, spent)
    }

    /// Tokens of a unit as a line of a list.
    pub(super) fn cost(&self, text: &str) -> u64 {
        self.counter.count(&format!("- {text}\n"))
    }

    /// Records that a text is in the reply, so that it is not repeated.
    pub(super) fn say(&mut self, text: &str) {
        self.said.push(words(text));
    }

    fn mark(&mut self, at: usize, words: Words) {
        self.used[at] = true;
        self.said.push(words);
        let ids = &self.ids[at];
        self.covered.extend(ids.iter().copied());
    }

    fn valued(&self, unit: usize) -> Valued {
        Valued { value: self.value(unit), unit }
    }

    /// The gain of a unit for the reply, relative to its length.
    fn value(&self, at: usize) -> f64 {
        let fresh = |id: &u32| if self.covered.contains(id) { 0.1 } else { 1.0 };
        let named: f64 = (self.ids[at].iter().take(COUNTED))
            .map(|id| self.weights[*id as usize] * fresh(id))
            .sum();
        // Identifiers in calls and results count less than those in what was
        // said.
        let weight = match self.units[at].kind {
            Kind::Action => 0.3,
            Kind::Problem => 0.6,
            _ => 1.0,
        };
        (self.base[at] + weight * named) / (80.0 + self.units[at].text.len() as f64).sqrt()
    }
}

/// A unit by its value; of two equal ones the later is greater.
struct Valued {
    value: f64,
    unit: usize,
}

impl Ord for Valued {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.total_cmp(&other.value).then(self.unit.cmp(&other.unit))
    }
}

impl PartialOrd for Valued {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Valued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Valued {}

/// The identifiers of each unit; and for each identifier the last message that
/// names it, and the number of such messages.
fn index(units: &[Unit]) -> (Vec<Vec<u32>>, Vec<(usize, u32)>) {
    let mut names: FxHashMap<&str, u32> = FxHashMap::default();
    let mut seen_in: Vec<(usize, u32)> = Vec::new();
    let mut ids = Vec::with_capacity(units.len());
    for unit in units {
        let code = matches!(unit.kind, Kind::Change | Kind::Action);
        let mut own: Vec<u32> = Vec::new();
        for identifier in identifiers(&unit.text, IdentifierOptions { code }) {
            let next = names.len() as u32;
            let id = *names.entry(identifier.text).or_insert(next);
            if id == next {
                seen_in.push((usize::MAX, 0));
            }
            let (last, count) = &mut seen_in[id as usize];
            if *last != unit.message {
                (*last, *count) = (unit.message, *count + 1);
            }
            if !own.contains(&id) {
                own.push(id);
            }
        }
        ids.push(own);
    }
    (ids, seen_in)
}

fn base(unit: &Unit, messages: f64) -> f64 {
    let kind = match unit.kind {
        Kind::Decision => 3.0,
        Kind::Preference if unit.user => 3.0,
        Kind::Request => 2.0,
        Kind::Problem | Kind::Done | Kind::Change => 2.0,
        Kind::Plan | Kind::Definition | Kind::Preference => 1.5,
        Kind::Statement => 1.0,
        Kind::Action => 0.5,
    };
    let user = if unit.user { 2.0 } else { 0.0 };
    // A unit of an earlier summary was already chosen among many.
    let distilled = if unit.distilled { 2.0 } else { 0.0 };
    let number = if unit.text.bytes().any(|b| b.is_ascii_digit()) { 0.5 } else { 0.0 };
    kind + user + distilled + number + 2.0 * unit.message as f64 / messages
}

/// The words of a text, without case and punctuation: their hashes, ordered.
pub(super) type Words = Vec<u64>;

pub(super) fn words(text: &str) -> Words {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Words = words.map(|word| FxBuildHasher.hash_one(word.to_lowercase())).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Whether two texts have nearly the same words.
pub(super) fn alike(a: &Words, b: &Words) -> bool {
    let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    // Even if all words of the smaller text were common, there would be too
    // few.
    if (small.len() as f64) < SAME * large.len() as f64 {
        return false;
    }
    let mut rest = large.iter().peekable();
    let mut stands = |word: &u64| {
        while rest.next_if(|other| *other < word).is_some() {}
        rest.next_if_eq(&word).is_some()
    };
    let common = small.iter().filter(|word| stands(word)).count();
    common as f64 >= SAME * (a.len() + b.len() - common) as f64
}
