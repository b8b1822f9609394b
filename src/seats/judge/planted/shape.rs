//! The shape of a value, and whether two values can be distinguished.

use std::collections::BTreeSet;

use crate::model::{Expectation, LabelledQuestion};
use crate::text::{Normal, dates};

/// The shape of a value. A wrong answer of the same shape is wrong by its
/// content alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// The value is yes or no.
    YesNo,
    /// The value contains a date.
    Date,
    /// A number, perhaps with a unit.
    Number,
    /// A path, an id or a key: one sequence of characters that is not a word.
    Token,
    /// Capitalised words, as in names of people, places and works.
    Name,
    /// One to three words.
    Words,
    /// More than three words.
    Phrase,
    /// The nuggets of a rubric.
    Nuggets,
}

/// Largest number of words of a number with its unit, of a name, and of
/// [`Shape::Words`].
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
        let capital = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
        match words.len() {
            n if n <= FEW + 1 && words.iter().all(|word| capital(word)) => Shape::Name,
            n if n <= FEW => Shape::Words,
            _ => Shape::Phrase,
        }
    }
}

fn starts_with_digit(value: &str) -> bool {
    value
        .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '$' | '€' | '£' | '~'))
}

/// The numbers among the words, in one spelling.
fn numbers(normal: &Normal) -> BTreeSet<&str> {
    let numbers = normal.as_str().split(' ').filter(|w| w.contains(|c: char| c.is_ascii_digit()));
    numbers.map(|word| word.trim_start_matches('0')).collect()
}

/// Words that two different values may have in common.
const LITTLE: &[&str] = &[
    "and", "are", "but", "for", "from", "had", "has", "her", "his", "its", "not", "off", "our",
    "out", "she", "that", "their", "them", "then", "they", "this", "was", "were", "will", "with",
    "you", "your",
];

/// The words that identify a value.
fn content(normal: &Normal) -> BTreeSet<&str> {
    let long = |word: &&str| word.chars().count() > 2 && !LITTLE.contains(word);
    normal.as_str().split(' ').filter(long).collect()
}

/// Whether a text contains all words of `value`, in any order.
pub(super) fn holds(text: &Normal, value: &Normal) -> bool {
    let words: BTreeSet<&str> = text.as_str().split(' ').collect();
    !value.is_empty() && value.as_str().split(' ').all(|word| words.contains(word))
}

/// A value in which each sequence of digits, capitals or small letters is
/// replaced by one character: `A-0` for `QD-3319`.
pub(super) fn look(value: &str) -> String {
    let classes = value.trim().chars().map(|c| match c {
        c if c.is_numeric() => '0',
        c if c.is_uppercase() => 'A',
        c if c.is_alphabetic() => 'a',
        c => c,
    });
    let mut look = String::new();
    for class in classes {
        if !look.ends_with(class) {
            look.push(class);
        }
    }
    look
}

/// The right and the stale values of a question, to distinguish other values
/// from them.
pub(super) struct Right {
    question: Normal,
    stale: Vec<Normal>,
    expected: Vec<Normal>,
    is_rubric: bool,
}

impl Right {
    pub fn new(asked: &LabelledQuestion) -> Right {
        let normal = |values: &[String]| values.iter().map(|value| Normal::new(value)).collect();
        let expected = match &asked.expect {
            Expectation::AnyOf(values) | Expectation::Rubric(values) => normal(values),
            Expectation::Unanswerable => Vec::new(),
        };
        Right {
            question: Normal::new(&asked.question),
            stale: normal(&asked.stale),
            expected,
            is_rubric: matches!(asked.expect, Expectation::Rubric(_)),
        }
    }

    /// Whether `value` is certainly not an answer: no expected or stale value
    /// contains it or is contained in it, and neither is the question; it
    /// shares no word with an expected value, or if both have numbers, neither
    /// has all numbers of the other. Nuggets may share words: they are
    /// sentences.
    pub(super) fn is_apart_from(&self, value: &str) -> bool {
        let value = Normal::new(value);
        let within = |other: &Normal| value.contains(other) || other.contains(&value);
        if value.is_empty() || self.question.contains(&value) || self.stale.iter().any(within) {
            return false;
        }
        let (numbers_said, said) = (numbers(&value), content(&value));
        self.expected.iter().all(|right| {
            let numbers = numbers(right);
            let differ = if numbers_said.is_empty() || numbers.is_empty() {
                self.is_rubric || said.is_disjoint(&content(right))
            } else {
                !numbers_said.is_subset(&numbers) && !numbers.is_subset(&numbers_said)
            };
            differ && !within(right)
        })
    }
}

/// Whether a value already contains a negation, so that denying it has no clear
/// meaning.
pub(super) fn is_negative(value: &str) -> bool {
    let first = value.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or("");
    let first = first.to_lowercase();
    matches!(first.as_str(), "no" | "not" | "never" | "none" | "nothing" | "nobody" | "neither")
        || first.ends_with("n't")
}
