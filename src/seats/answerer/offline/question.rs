//! What a question asks for.

use super::sought::{Forms, Value, sought, values};
use super::words::{Term, Word, is_function_word, term, words};
use crate::text::{PartialDate, dates};

/// What kind of thing would answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    When,
    HowLong,
    Number,
    Who,
    Where,
    Several,
    Other,
}

/// A question taken apart.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub ask: Ask,
    /// Forms that its answer may have.
    pub sought: Forms,
    /// Values that it names itself.
    values: Vec<u64>,
    /// Whether it asks about what was.
    pub past: bool,
    /// Whether it asks for what came first.
    pub first: bool,
    /// Terms in the order of the question, each once.
    pub terms: Vec<Term>,
    /// Its neighbouring terms.
    pub pairs: Vec<Term>,
    /// Speakers that it names.
    pub speakers: Vec<usize>,
    /// Dates that it names.
    pub dates: Vec<PartialDate>,
    /// Whether it asks for what holds now.
    pub now: bool,
    /// Whether it is in the present tense.
    pub present: bool,
    /// Whether it speaks of the user.
    pub of_user: bool,
    /// Whether it speaks to the assistant.
    pub of_assistant: bool,
}

/// Words that name what is asked for rather than what it is asked of.
const ASKING: &str = "when date day days month months year years time long many much week weeks \
    hour hours minutes often old name names number passed ago since currently current now latest \
    newest still present";

impl Question {
    /// Takes a question apart; the speakers are those of the context.
    pub(super) fn new(text: &str, speakers: &[String]) -> Self {
        let found = words(text);
        let lower: Vec<&str> = found.iter().map(|word| word.lower.as_str()).collect();
        let ask = ask(&lower);
        let dates = dates(text);
        let named_speakers = speakers.iter().enumerate().filter(|(_, name)| {
            let name = words(name);
            !name.is_empty() && name.iter().all(|part| lower.contains(&part.lower.as_str()))
        });
        let named_speakers: Vec<usize> = named_speakers.map(|(at, _)| at).collect();
        let names: Vec<Word> = named_speakers.iter().flat_map(|&at| words(&speakers[at])).collect();
        let mut terms = Vec::new();
        for word in &found {
            let dated = dates
                .iter()
                .map(|d| &d.span)
                .any(|place| place.start <= word.place.start && word.place.end <= place.end);
            let named = names.iter().any(|name| name.lower == word.lower);
            let asking = ASKING.split_whitespace().any(|asking| asking == word.lower);
            if dated || named || asking || is_function_word(&word.lower) {
                continue;
            }
            let term = term(&word.lower);
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        if terms.is_empty() {
            terms.extend(names.iter().map(|name| term(&name.lower)));
        }
        let any = |list: &[&str]| lower.iter().any(|word| list.contains(word));
        Self {
            ask,
            sought: sought(&lower),
            values: values(text).iter().map(|value| value.spelt).collect(),
            first: any(&["first", "earliest"]),
            past: any(&[
                "was",
                "were",
                "did",
                "had",
                "first",
                "before",
                "previous",
                "previously",
                "earlier",
                "originally",
                "old",
                "ago",
            ]),
            pairs: super::words::pairs(&terms),
            terms,
            speakers: named_speakers,
            dates: dates.into_iter().map(|d| d.date).collect(),
            now: any(&[
                "current",
                "currently",
                "now",
                "latest",
                "newest",
                "still",
                "present",
                "recent",
                "updated",
            ]),
            present: present(&lower),
            of_user: any(&["i", "me", "my", "mine", "we", "us", "our"])
                || lower.windows(2).any(|w| w == ["the", "user"]),
            of_assistant: any(&["you", "your", "assistant"]),
        }
    }

    /// Whether of several values only the newest answers.
    pub(super) fn wants_newest(&self) -> bool {
        self.now || self.present && self.ask == Ask::Number
    }

    /// Whether a value has the form that is asked for and is not the question's own.
    pub(super) fn seeks(&self, value: &Value) -> bool {
        value.forms & self.sought != 0 && !self.values.contains(&value.spelt)
    }

    /// Share of its neighbouring terms that are neighbours in a sentence.
    pub(super) fn shared_pairs(&self, ordered: &[Term]) -> f64 {
        let shared = self.pairs.iter().filter(|pair| ordered.binary_search(pair).is_ok()).count();
        shared as f64 / self.pairs.len().max(1) as f64
    }
}

fn ask(lower: &[&str]) -> Ask {
    let has = |list: &[&str]| lower.iter().any(|word| list.contains(word));
    let pair = |first: &[&str], second: &[&str]| {
        lower.windows(2).any(|pair| first.contains(&pair[0]) && second.contains(&pair[1]))
    };
    let units = ["days", "weeks", "months", "years", "hours", "minutes"];
    if has(&["when"])
        && lower.first().is_none_or(|first| {
            *first == "when" || !has(&["what", "which", "who", "where", "how", "why"])
        })
        || pair(&["what", "which"], &["date", "day", "month", "year", "time", "week", "weekend"])
    {
        Ask::When
    } else if pair(&["how"], &["long"])
        || lower.windows(3).any(|w| w[..2] == ["how", "many"] && units.contains(&w[2]))
    {
        Ask::HowLong
    } else if pair(
        &["how"],
        &["many", "much", "often", "old", "far", "big", "large", "high", "tall"],
    ) || has(&["percentage", "balance", "port", "version", "price", "cost", "budget"])
    {
        Ask::Number
    } else if has(&["who", "whom", "whose"]) {
        Ask::Who
    } else if has(&["where"])
        || pair(&["what", "which"], &["city", "country", "state", "place", "town"])
    {
        Ask::Where
    } else if several(lower) {
        Ask::Several
    } else {
        Ask::Other
    }
}

/// Whether the thing asked for is in the plural: "what books", "which of the
/// cities", "what are the names".
fn several(lower: &[&str]) -> bool {
    let plural = |word: &&&str| {
        word.len() > 3
            && word.ends_with('s')
            && !word.ends_with("ss")
            && !word.ends_with("us")
            && !matches!(**word, "does" | "this" | "was")
    };
    let Some(at) = lower.iter().position(|word| matches!(*word, "what" | "which")) else {
        return false;
    };
    let head = lower[at + 1..].iter().take_while(|word| {
        !matches!(
            **word,
            "did"
                | "does"
                | "do"
                | "has"
                | "have"
                | "is"
                | "was"
                | "will"
                | "would"
                | "can"
                | "could"
        )
    });
    let head: Vec<&&str> = head.take(4).collect();
    head.first() == Some(&&"are") || head.iter().any(plural)
}

/// Whether the first auxiliary verb is in the present tense.
fn present(lower: &[&str]) -> bool {
    let past = ["did", "was", "were", "had", "would", "could"];
    let now = ["is", "are", "do", "does", "has", "have", "am", "can"];
    lower
        .iter()
        .find(|word| past.contains(word) || now.contains(word))
        .is_some_and(|word| now.contains(word))
}
