//! Analyses what a question asks for.

use super::anchors::{self, Name};
use super::sought::{DEFINED, Forms, Value, sought, values};
use super::words::{Term, term, words};
use crate::calendar::{PartialDate, dates};
use recap_core::text::language::{is_in, is_stop};

/// The kind of answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    When,
    HowLong,
    Number,
    Who,
    Other,
}

/// A question with its terms and what it asks for.
#[derive(Clone, Debug)]
pub(super) struct ParsedQuestion {
    pub ask: Ask,
    /// Forms that the answer may have.
    pub sought: Forms,
    /// Hashes of the values in the question itself.
    values: Vec<u64>,
    /// Whether it asks about the past.
    pub past: bool,
    /// Whether it asks for the first of several things.
    pub first: bool,
    /// Terms in the order of the question, without duplicates.
    pub terms: Vec<Term>,
    /// Numbers of the speakers in the question.
    pub speakers: Vec<usize>,
    /// Dates in the question.
    pub dates: Vec<PartialDate>,
    /// The names that it quotes.
    pub names: Vec<Name>,
    /// Whether it asks for the current state.
    pub now: bool,
    /// Whether its first auxiliary verb is in the present tense.
    present: bool,
    /// Whether it asks for the last of several things.
    pub last: bool,
    /// Whether it asks for the value or the state of something, or quotes a
    /// text: only a sentence with what it quotes answers it.
    pub of_name: bool,
    /// Whether it is about the user.
    pub of_user: bool,
    /// Whether it addresses the assistant.
    pub of_assistant: bool,
}

/// Words that name the kind of answer and not the subject of the question.
const ASKING: &str = "when date day days month months year years time long many much week weeks \
    hour hours minutes often old name names number passed ago since currently current now latest \
    newest still present";
const UNITS: &str = "days weeks months years hours minutes";
const PAST: &str = "was were did had first before previous previously earlier originally old ago";
const NOW: &str = "current currently now latest newest still present recent updated";

impl ParsedQuestion {
    /// Analyses a question; `speakers` are those of the context.
    pub(super) fn new(text: &str, speakers: &[String]) -> Self {
        let found = words(text);
        let lower: Vec<&str> = found.iter().map(|word| word.lower.as_str()).collect();
        let dates = dates(text);
        let names = |name: &String| {
            let name = words(name);
            !name.is_empty() && name.iter().all(|part| lower.contains(&part.lower.as_str()))
        };
        let named: Vec<usize> = (0..speakers.len()).filter(|&at| names(&speakers[at])).collect();
        let names: Vec<Term> = named
            .iter()
            .flat_map(|&at| words(&speakers[at]))
            .map(|name| term(&name.lower))
            .collect();
        let mut terms = Vec::new();
        for word in &found {
            let dated = dates
                .iter()
                .any(|d| d.span.start <= word.place.start && word.place.end <= d.span.end);
            let term = term(&word.lower);
            let says = !dated && !is_in(ASKING, &word.lower) && !is_stop(&word.lower);
            if says && !terms.contains(&term) && !names.contains(&term) {
                terms.push(term);
            }
        }
        if terms.is_empty() {
            terms = names;
        }
        let any = |list: &str| lower.iter().any(|word| is_in(list, word));
        Self {
            ask: ask(&lower),
            sought: sought(&lower),
            values: values(text).iter().map(|value| value.spelt).collect(),
            first: any("first earliest"),
            past: any(PAST),
            terms,
            speakers: named,
            dates: dates.into_iter().map(|d| d.date).collect(),
            names: anchors::names(text),
            now: any(NOW),
            last: any("last") || any(NOW),
            of_name: any("value state status") || text.contains('“'),
            present: present(&lower),
            of_user: any("i me my mine we us our")
                || lower.windows(2).any(|w| w == ["the", "user"]),
            of_assistant: any("you your assistant"),
        }
    }

    /// Whether only the newest of several values is an answer.
    pub(super) fn wants_newest(&self) -> bool {
        self.now || self.present && self.ask == Ask::Number
    }

    /// Whether a value is a name that is defined, as the question asks for.
    pub(super) fn seeks_definition(&self, value: &Value) -> bool {
        value.forms & self.sought & DEFINED != 0 && self.seeks(value)
    }

    /// Whether a value has a requested form and is not part of the question.
    pub(super) fn seeks(&self, value: &Value) -> bool {
        value.forms & self.sought != 0 && !self.values.contains(&value.spelt)
    }
}

fn ask(lower: &[&str]) -> Ask {
    let has = |list: &str| lower.iter().any(|word| is_in(list, word));
    let pair = |first: &str, second: &str| {
        lower.windows(2).any(|pair| is_in(first, pair[0]) && is_in(second, pair[1]))
    };
    let leads = lower.first() == Some(&"when") || !has("what which who where how why");
    if has("when") && leads || pair("what which", "date day month year time week weekend") {
        Ask::When
    } else if pair("how", "long")
        || lower.windows(3).any(|w| w[..2] == ["how", "many"] && is_in(UNITS, w[2]))
    {
        Ask::HowLong
    } else if pair("how", "many much often old far big large high tall")
        || has("percentage balance port version price cost budget")
    {
        Ask::Number
    } else if has("who whom whose") {
        Ask::Who
    } else {
        Ask::Other
    }
}

/// Whether the first auxiliary verb is in the present tense.
fn present(lower: &[&str]) -> bool {
    let now = |word: &str| is_in("is are do does has have am can", word);
    let verb = lower.iter().find(|word| now(word) || is_in("did was were had would could", word));
    verb.is_some_and(|word| now(word))
}
