//! A value that is looked for: what a text has to say to say it.

use rustc_hash::FxHashSet;

use super::lexicon::{is_stop, stem};
use super::page::key;
use super::periods::{Told, When, times};
use super::reading::{Term, read};
use super::symbols::symbol;
use crate::text::Normal;
use crate::text::normal::is_unspaced;

/// The most words of a part of a list.
const MOST_WORDS: usize = 4;

/// A value, read once: several texts can be asked whether they state it.
#[derive(Clone, Debug)]
pub struct Sought {
    /// None where nothing can be looked for.
    pub(super) form: Option<Form>,
    /// What is looked for in place of words where the value has none.
    pub(super) symbol: Option<String>,
    is_yes_no: bool,
}

/// A value without what it adds in parentheses.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub times: Vec<Told>,
    /// The parts of a list, each looked for on its own; one for what is none.
    pub items: Vec<Item>,
    /// The most negations that deny a word of it.
    pub denials: u8,
    /// The words as one, in lower case: `cornmill`.
    pub joined: Option<String>,
    /// What scripts without spaces are compared by.
    pub unspaced: Option<Normal>,
    /// Where it has such a script: all its terms, in order.
    pub sequence: Vec<String>,
    /// Stems of a name, from first to last.
    pub name: Option<Vec<String>>,
}

/// A part of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub words: Vec<String>,
    pub numbers: Vec<Count>,
}

/// A number, with the word that it counts where one follows.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub value: String,
    pub counted: Option<String>,
}

impl Sought {
    /// What a text has to say to say `value`.
    pub fn new(value: &str) -> Sought {
        let short = without_parentheses(value);
        let form = Form::new(short.as_deref().unwrap_or(value));
        let form = (!form.is_empty()).then_some(form);
        Sought { form, symbol: symbol(value), is_yes_no: polarity(value).is_some() }
    }

    /// Whether it says no more than yes or no: a text states it nowhere.
    pub fn is_yes_no(&self) -> bool {
        self.is_yes_no
    }

    /// What can be looked for text by text: the parts of a list, each by
    /// itself, or the value as a whole.
    pub fn parts(&self) -> Vec<Sought> {
        match &self.form {
            Some(form) if form.items.len() > 1 && form.times.is_empty() => {
                let part = |item: &Item| Form {
                    items: vec![item.clone()],
                    times: Vec::new(),
                    denials: form.denials,
                    joined: None,
                    unspaced: None,
                    sequence: Vec::new(),
                    name: None,
                };
                let parts = form.items.iter().map(part);
                let sought = |form| Sought { form: Some(form), symbol: None, is_yes_no: false };
                parts.map(sought).collect()
            }
            _ => vec![self.clone()],
        }
    }

    /// How many of so many parts have to be said: both of two, two thirds of
    /// more, as an answer has to.
    pub fn needed(parts: usize) -> usize {
        if parts <= 2 { parts } else { (2 * parts).div_ceil(3) }
    }

    /// Whether nothing can be looked for: the value is punctuation.
    pub fn is_empty(&self) -> bool {
        self.form.is_none() && self.symbol.is_none()
    }
}

impl Form {
    fn new(value: &str) -> Form {
        let terms = read(value);
        let mut times = times(value);
        let dated = |term: &Term| {
            let before = times.partition_point(|told| told.span.start <= term.span.start);
            before > 0 && term.span.end <= times[before - 1].span.end
        };
        let rest: Vec<&Term> = terms.iter().filter(|term| !dated(term)).collect();
        let denials = terms.iter().map(|term| term.denials).max().unwrap_or(0);
        let words: Vec<&str> = terms.iter().map(|term| term.word.as_str()).collect();
        let joined = (words.len() > 1 && terms.iter().all(|t| !t.is_number))
            .then(|| stem(&words.concat().to_lowercase()));
        let unspaced = value.chars().any(is_unspaced).then(|| Normal::new(value));
        let keys = terms.iter().filter(|_| unspaced.is_some());
        let sequence = keys.map(|term| key(term.is_number, &term.text)).collect();
        let name = name(value, &terms);
        let mut items = items(value, &rest, times.is_empty());
        // Long parts are clauses of one statement.
        if items.iter().any(|item| item.words.len() > MOST_WORDS) {
            items = vec![joined_up(items)];
        }
        times_once(&mut times);
        Form { times, items, denials, joined, unspaced, sequence, name }
    }

    fn is_empty(&self) -> bool {
        self.times.is_empty()
            && self.unspaced.is_none()
            && self.items.iter().all(|item| item.words.is_empty() && item.numbers.is_empty())
    }
}

/// The value without what stands in parentheses, if that leaves a word.
fn without_parentheses(value: &str) -> Option<String> {
    let (before, rest) = value.split_once('(')?;
    let (_, after) = rest.split_once(')')?;
    let short = format!("{before} {after}");
    short.contains(char::is_alphanumeric).then_some(short)
}

/// Leaves each word and number of a value once: a value that repeats itself
/// asks for no more, and a search stays linear in the text.
fn said_once(items: &mut [Item]) {
    for item in items {
        let mut seen = FxHashSet::default();
        item.words.retain(|word| seen.insert(word.clone()));
        let mut seen = FxHashSet::default();
        item.numbers.retain(|number| seen.insert((number.value.clone(), number.counted.clone())));
    }
}

fn times_once(times: &mut Vec<Told>) {
    let mut seen = FxHashSet::default();
    times.retain(|told| seen.insert(told.when));
}

/// One part of all.
fn joined_up(items: Vec<Item>) -> Item {
    let mut all = [Item::default()];
    for item in items {
        all[0].words.extend(item.words);
        all[0].numbers.extend(item.numbers);
    }
    said_once(&mut all);
    let [all] = all;
    all
}

/// The parts between commas, `and` and semicolons.
fn items(value: &str, terms: &[&Term], is_list: bool) -> Vec<Item> {
    let mut items = vec![Item::default()];
    let last = terms.len().saturating_sub(1);
    let only_stops = is_list && terms.iter().all(|term| !term.is_number && is_stop(&term.word));
    for (at, term) in terms.iter().enumerate() {
        let gap = at
            .checked_sub(1)
            .map_or("", |before| value.get(terms[before].span.end..term.span.start).unwrap_or(""));
        let parts = gap.contains([',', ';', '&', '\n']) || term.word == "and";
        let has_any = items.last().is_some_and(|i| !i.words.is_empty() || !i.numbers.is_empty());
        if is_list && parts && has_any {
            items.push(Item::default());
        }
        let item = items.last_mut().expect("it begins with one");
        // A lone `one` counts; elsewhere it is as often a pronoun.
        if term.is_number && !(term.word == "one" && last > 0) {
            let next = terms.get(at + 1).filter(|n| !n.is_number && !is_stop(&n.word));
            // `9363.csv` counts nothing.
            let gap = next.and_then(|next| value.get(term.span.end..next.span.start));
            let next = next.filter(|n| n.clause == term.clause && gap != Some("."));
            let counted = next.map(|next| next.text.clone());
            item.numbers.push(Count { value: term.text.clone(), counted });
        } else if !term.is_number && (only_stops || !is_stop(&term.word)) {
            item.words.push(term.text.clone());
        }
    }
    items.retain(|item| !item.words.is_empty() || !item.numbers.is_empty());
    said_once(&mut items);
    items
}

/// The stems of a person's name: two to five words in capitals, none of them
/// a common word.
fn name(value: &str, terms: &[Term]) -> Option<Vec<String>> {
    const PARTICLES: &[&str] = &["de", "da", "del", "der", "la", "van", "von"];
    let fits = |term: &Term| {
        !term.is_number
            && (term.is_capital && !is_stop(&term.word) || PARTICLES.contains(&term.word.as_str()))
    };
    let plain = !value.contains([',', ';', '&', '(', ':']) && (2..=5).contains(&terms.len());
    let mut stems: Vec<String> = terms.iter().map(|term| term.text.clone()).collect();
    if stems.len() > 2 && matches!(stems.last().map(String::as_str), Some("junior" | "senior")) {
        stems.pop();
    }
    (plain && terms.iter().all(fits)).then_some(stems)
}

/// Whether a value is yes (`true`) or no, perhaps likely, perhaps explained:
/// `Likely no, since …`. `No Doubt` and `True Blood` are neither.
pub(super) fn polarity(value: &str) -> Option<bool> {
    let terms = read(value);
    let softens = |term: &&Term| matches!(term.word.as_str(), "likely" | "probably" | "most");
    let lead = terms.iter().take_while(softens).count();
    let term = terms.get(lead)?;
    let says = match term.word.as_str() {
        "yes" | "true" => true,
        "no" | "false" => false,
        _ => return None,
    };
    let rest = value.get(term.span.end..).unwrap_or("").trim_start();
    let explains = ["since ", "because ", "as ", "but "].iter().any(|word| rest.starts_with(word));
    let ends = rest.chars().next().is_none_or(|c| c.is_ascii_punctuation() || c == '–');
    (lead > 0 || explains || ends).then_some(says)
}

/// Times that `gold` asks for beyond what the question says.
pub(super) fn asked(gold: &[Told], question: &[Told]) -> Vec<When> {
    gold.iter().map(|told| told.when.beyond(question)).collect()
}
