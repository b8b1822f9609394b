//! What a value looks like, and whether two values can be told apart.

use std::collections::BTreeSet;

use crate::model::{Expectation, LabelledQuestion};
use crate::text::{Normal, dates};

/// What a value looks like. A wrong answer of the same look is wrong by its
/// content alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// Yes or no.
    YesNo,
    /// It names a date.
    Date,
    /// A number, perhaps with its unit.
    Number,
    /// A path, an id, a key: one run of characters that is no word.
    Token,
    /// Words in capitals, as of people, places and works.
    Name,
    /// One to three words.
    Words,
    /// More words.
    Phrase,
    /// The nuggets of a rubric.
    Nuggets,
}

/// Most words of a number with its unit, of a name, of [`Shape::Words`].
const FEW: usize = 3;

impl Shape {
    pub const ALL: [Shape; 8] = [
        Shape::YesNo,
        Shape::Date,
        Shape::Number,
        Shape::Token,
        Shape::Name,
        Shape::Words,
        Shape::Phrase,
        Shape::Nuggets,
    ];

    pub fn of(value: &str) -> Shape {
        let value = value.trim();
        if matches!(Normal::new(value).as_str(), "yes" | "no") {
            return Shape::YesNo;
        }
        let words: Vec<&str> = value.split_whitespace().collect();
        let digits = value.contains(|c: char| c.is_ascii_digit());
        let token = |c: char| matches!(c, '/' | '_' | '\\' | '@' | '#' | '=');
        if words.len() == 1 && (value.contains(token) || digits && !starts_with_digit(value)) {
            return Shape::Token;
        }
        if words.len() <= 2 * FEW && digits && !dates(value).is_empty() {
            return Shape::Date;
        }
        if words.len() <= FEW && !numbers(&Normal::new(value)).is_empty() {
            return Shape::Number;
        }
        let capital = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
        match words.len() {
            n if n <= FEW + 1 && words.iter().all(|word| capital(&word)) => Shape::Name,
            n if n <= FEW => Shape::Words,
            _ => Shape::Phrase,
        }
    }
}

fn starts_with_digit(value: &str) -> bool {
    value
        .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '$' | '€' | '£' | '~'))
}

/// The words that are numbers, spelled alike.
fn numbers(normal: &Normal) -> BTreeSet<&str> {
    let numbers = normal.as_str().split(' ').filter(|w| w.contains(|c: char| c.is_ascii_digit()));
    numbers.map(|word| word.trim_start_matches('0')).collect()
}

/// Words that two different values may share.
const LITTLE: &[&str] = &[
    "and", "are", "but", "for", "from", "had", "has", "her", "his", "its", "not", "off", "our",
    "out", "she", "that", "their", "them", "then", "they", "this", "was", "were", "will", "with",
    "you", "your",
];

/// The words that a value is known by.
fn content(normal: &Normal) -> BTreeSet<&str> {
    let long = |word: &&str| word.chars().count() > 2 && !LITTLE.contains(word);
    normal.as_str().split(' ').filter(long).collect()
}

/// Whether `value` is surely no answer to `asked`: no expected or stale value
/// holds it or is held by it, nor does the question; with an expected value it
/// shares no word, or where both have numbers, neither has all of the other's.
pub(super) fn told_apart(value: &str, asked: &LabelledQuestion) -> bool {
    let value = Normal::new(value);
    if value.is_empty() || Normal::new(&asked.question).contains(&value) {
        return false;
    }
    let within = |other: &Normal| value.contains(other) || other.contains(&value);
    if asked.stale.iter().any(|stale| within(&Normal::new(stale))) {
        return false;
    }
    let expected = match &asked.expect {
        Expectation::AnyOf(values) | Expectation::Rubric(values) => values.as_slice(),
        Expectation::Unanswerable => &[],
    };
    expected.iter().map(|right| Normal::new(right)).all(|right| {
        let (own, other) = (numbers(&value), numbers(&right));
        let differ = if own.is_empty() || other.is_empty() {
            let rubric = matches!(asked.expect, Expectation::Rubric(_));
            rubric || content(&value).is_disjoint(&content(&right))
        } else {
            !own.is_subset(&other) && !other.is_subset(&own)
        };
        differ && !within(&right)
    })
}

/// Whether a value denies something already, so that denying it says nothing.
pub(super) fn is_negative(value: &str) -> bool {
    let first = value.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or("");
    let first = first.to_lowercase();
    matches!(first.as_str(), "no" | "not" | "never" | "none" | "nothing" | "nobody" | "neither")
        || first.ends_with("n't")
}
