//! A value to search for: the terms that a text must contain to state it.

use super::reading::{Term, read};
use crate::calendar::relative::{TimeMention, times};
use recap_core::text::Normal;
use recap_core::text::language::{is_in, is_stop, is_unspaced, stem};

/// Largest number of words in a part of a list: longer parts are clauses of one
/// statement.
const MOST_WORDS: usize = 4;
/// Lower-case words within a person's name.
const PARTICLES: &str = "de da del der la van von";

/// A parsed value, which can be searched for in several texts.
#[derive(Clone, Debug)]
pub struct Sought {
    value: String,
    /// `None` if the value has nothing to search for.
    pub(super) form: Option<Form>,
    is_yes_no: bool,
}

/// A value without the text in parentheses.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub times: Vec<TimeMention>,
    pub words: Vec<String>,
    pub numbers: Vec<String>,
    /// Whether the value itself contains a negation.
    pub is_denied: bool,
    /// The words joined to one, in lower case: `cornmill`.
    pub joined: Option<String>,
    /// For scripts without spaces: the normalised text and all terms in order.
    pub unspaced: Option<(Normal, Vec<String>)>,
    /// Stems of a person's name, from first to last.
    pub name: Option<Vec<String>>,
    /// The text itself, if the value has no letter or digit.
    pub symbol: Option<String>,
}

impl Sought {
    /// Parses `value` for searches.
    pub fn new(value: &str) -> Sought {
        let short = without_parentheses(value);
        let form = Form::new(short.as_deref().unwrap_or(value));
        let form = (!form.is_empty()).then_some(form);
        Sought { value: value.to_owned(), form, is_yes_no: polarity(value).is_some() }
    }

    /// Whether the value is only yes or no, which no text states.
    pub fn is_yes_no(&self) -> bool {
        self.is_yes_no
    }

    /// The values to search for one by one: the parts of a list, or the value
    /// as a whole.
    pub fn parts(&self) -> Vec<Sought> {
        let marks = [", and ", ", ", "; ", " & ", " and ", "\n"];
        let marked = marks.iter().fold(self.value.clone(), |text, mark| text.replace(mark, "\0"));
        let parts: Vec<Sought> =
            marked.split('\0').map(Sought::new).filter(|part| !part.is_empty()).collect();
        let is_short =
            |part: &Sought| part.form.as_ref().is_none_or(|f| f.words.len() <= MOST_WORDS);
        let is_timed = self.form.as_ref().is_some_and(|form| !form.times.is_empty());
        if parts.len() > 1 && !is_timed && parts.iter().all(is_short) {
            return parts;
        }
        vec![self.clone()]
    }

    /// The number of parts that must be stated: both of two, two thirds of
    /// more.
    pub fn needed(parts: usize) -> usize {
        if parts <= 2 { parts } else { (2 * parts).div_ceil(3) }
    }

    /// Whether there is nothing to search for: the value is punctuation.
    pub fn is_empty(&self) -> bool {
        self.form.is_none()
    }
}

impl Form {
    fn new(value: &str) -> Form {
        let terms = read(value);
        let mut times = times(value);
        let dated = |term: &&Term| {
            times.iter().any(|mention| {
                mention.span.start <= term.span.start && term.span.end <= mention.span.end
            })
        };
        let (numbers, words): (Vec<&Term>, Vec<&Term>) =
            terms.iter().filter(|term| !dated(term)).partition(|term| term.is_number);
        // The word `all` states the whole list itself.
        let is_bare =
            times.is_empty() && numbers.is_empty() && words.iter().all(|t| is_stop(&t.word));
        let words = once(words.iter().filter(|term| is_bare || !is_stop(&term.word)));
        let numbers = once(numbers.iter());
        let is_plain = terms.len() > 1 && terms.iter().all(|term| !term.is_number);
        let joined = || stem(&terms.iter().map(|term| term.word.as_str()).collect::<String>());
        let keys = || terms.iter().map(key).collect();
        times.dedup_by_key(|mention| mention.when);
        Form {
            times,
            words,
            numbers,
            is_denied: terms.iter().any(|term| term.is_denied),
            joined: is_plain.then(joined),
            unspaced: value.contains(is_unspaced).then(|| (Normal::new(value), keys())),
            name: name(value, &terms),
            symbol: terms.is_empty().then(|| sign(value)).flatten(),
        }
    }

    fn is_empty(&self) -> bool {
        self.times.is_empty()
            && self.words.is_empty()
            && self.numbers.is_empty()
            && self.symbol.is_none()
    }
}

/// The terms without duplicates: a repetition in a value requires nothing more,
/// and a search stays linear in the text.
fn once<'a>(terms: impl Iterator<Item = &'a &'a Term>) -> Vec<String> {
    let mut seen = rustc_hash::FxHashSet::default();
    terms.map(|term| term.text.clone()).filter(|text| seen.insert(text.clone())).collect()
}

/// The key of a term in an index of terms.
pub(super) fn key(term: &Term) -> String {
    if term.is_number { format!("#{}", term.text) } else { term.text.clone() }
}

/// A value without a letter or digit, if it is more than punctuation, without
/// the characters that only select how a sign is drawn.
pub(super) fn sign(value: &str) -> Option<String> {
    let is_sign = |c: char| !c.is_ascii() && !('\u{2000}'..='\u{206f}').contains(&c);
    let value = value.trim().replace('\u{fe0f}', "");
    let has_word = value.contains(char::is_alphanumeric);
    (!has_word && value.contains(is_sign)).then_some(value)
}

/// The value without text in parentheses, if a word is left.
fn without_parentheses(value: &str) -> Option<String> {
    let (before, rest) = value.split_once('(')?;
    let (_, after) = rest.split_once(')')?;
    let short = format!("{before} {after}");
    short.contains(char::is_alphanumeric).then_some(short)
}

/// The stems of a person's name: two to five capitalised words, none of them a
/// common word.
fn name(value: &str, terms: &[Term]) -> Option<Vec<String>> {
    let fits = |term: &Term| {
        !term.is_number && (term.is_capital && !is_stop(&term.word) || is_in(PARTICLES, &term.word))
    };
    let is_plain = !value.contains([',', ';', '&', '(', ':']) && (2..=5).contains(&terms.len());
    let mut stems: Vec<String> = terms.iter().map(|term| term.text.clone()).collect();
    if stems.len() > 2 && terms.last().is_some_and(|last| is_in("jr junior senior sr", &last.word))
    {
        stems.pop();
    }
    (is_plain && terms.iter().all(fits)).then_some(stems)
}

/// Whether a value means yes (`true`) or no, also with "likely" or an
/// explanation: `Likely no, since …`. `No Doubt` and `True Blood` mean neither.
pub(super) fn polarity(value: &str) -> Option<bool> {
    let terms = read(value);
    let lead = terms.iter().take_while(|term| is_in("likely probably most", &term.word)).count();
    let term = terms.get(lead)?;
    let says = match term.word.as_str() {
        "yes" | "true" => true,
        "no" | "false" => false,
        _ => return None,
    };
    let rest = value.get(term.span.end..).unwrap_or("").trim_start();
    let ends = rest.chars().next().is_none_or(|c| c.is_ascii_punctuation() || c == '–');
    (lead > 0 || ends).then_some(says)
}
