//! When something happened, also where it is told from another day: `the
//! Friday before 16 March 2024`.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use super::numbers;
use crate::text::{PartialDate, dates};

/// A date, or the days between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum When {
    On(PartialDate),
    /// Both ends are within.
    Within(Date, Date),
}

/// A time and the bytes of the text that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub when: When,
    pub span: Range<usize>,
}

impl When {
    /// Whether it says at least what `gold` says: the same parts of a date,
    /// or days that all lie within.
    pub(super) fn answers(self, gold: When) -> bool {
        match (self, gold) {
            (When::On(date), When::On(gold)) => date.covers(gold),
            (When::On(date), When::Within(from, to)) => {
                date.civil().is_some_and(|day| from <= day && day <= to)
            }
            (When::Within(from, to), When::On(gold)) => {
                [from, to].map(PartialDate::from).into_iter().all(|day| day.covers(gold))
            }
            (When::Within(from, to), When::Within(first, last)) => first <= from && to <= last,
        }
    }

    /// The same without the year, where `known` holds it already.
    pub(super) fn beyond(self, known: &[Told]) -> When {
        let When::On(date) = self else { return self };
        let told = |year: i16| {
            known.iter().any(|told| matches!(told.when, When::On(d) if d.year == Some(year)))
        };
        match date.year {
            Some(year) if date.month.is_some() && told(year) => {
                When::On(PartialDate { year: None, ..date })
            }
            _ => self,
        }
    }
}

impl Display for When {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            When::Within(from, to) => write!(f, "{from} to {to}"),
            When::On(date) => {
                let year = date.year.map_or("?".to_owned(), |year| year.to_string());
                let part = |part: i8| format!("-{part:02}");
                let open = || if date.year.is_none() { "-?".to_owned() } else { String::new() };
                let month = date.month.map_or_else(open, part);
                write!(f, "{year}{month}{}", date.day.map_or(String::new(), part))
            }
        }
    }
}

/// The times that a text names, in order.
pub(super) fn times(text: &str) -> Vec<Told> {
    let found = dates(text);
    let mut told: Vec<Told> = Vec::with_capacity(found.len());
    for (at, one) in found.iter().enumerate() {
        let mut told_from = None;
        if let Some(day) = one.date.civil() {
            let start = at.checked_sub(1).map_or(0, |before| found[before].span.end);
            let before = text.get(start.min(one.span.start)..one.span.start).unwrap_or("");
            told_from = relative(before, day);
        }
        let (when, length) = told_from.unwrap_or((When::On(one.date), 0));
        let span = one.span.start - length..one.span.end;
        told.push(Told { when, span });
    }
    between(text, told)
}

/// `between April 10 and 15, 2024`: the days between, not two days.
fn between(text: &str, told: Vec<Told>) -> Vec<Told> {
    let mut merged: Vec<Told> = Vec::with_capacity(told.len());
    for last in told {
        let ends = merged.last().and_then(|first| range(text, first, &last));
        match (ends, merged.last_mut()) {
            (Some((from, to)), Some(first)) => {
                *first =
                    Told { when: When::Within(from, to), span: first.span.start..last.span.end };
            }
            _ => merged.push(last),
        }
    }
    merged
}

/// The first and the last day, where two dates are the ends of a stretch.
fn range(text: &str, first: &Told, last: &Told) -> Option<(Date, Date)> {
    let (When::On(from), When::On(to)) = (first.when, last.when) else { return None };
    let gap = text.get(first.span.end..last.span.start).unwrap_or("").trim();
    let lead = text.get(..first.span.start)?.trim_end();
    let joined = first.span == last.span || gap == "and";
    let led = lead.ends_with("between") || lead.ends_with("Between");
    from.civil().zip(to.civil()).filter(|(from, to)| joined && led && from < to)
}

/// What the words right before a day make of it, and their length in bytes.
fn relative(before: &str, day: Date) -> Option<(When, usize)> {
    let tail: String = {
        let start = before.char_indices().rev().nth(59).map_or(0, |(at, _)| at);
        before[start..].to_lowercase()
    };
    let mut words = tail.split_whitespace().rev().peekable();
    words.next_if(|word| *word == "the");
    let relation = words.next()?;
    let mut unit = words.next()?.trim_matches(|c: char| !c.is_alphanumeric());
    if relation == "to" && unit == "prior" {
        unit = words.next()?;
    }
    let told = words.next().and_then(|word| {
        let vague = matches!(word, "few" | "couple" | "several").then_some(0);
        let count = numbers::small(word).or_else(|| word.parse().ok()).or(vague);
        count.map(|count| (count, word))
    });
    let count = told.map(|(count, _)| count);
    let is_before = matches!(relation, "before" | "preceding" | "to");
    let is_after = matches!(relation, "after" | "following");
    let is_of = matches!(relation, "of" | "containing" | "on");
    let (from, to) = match (weekday(unit), unit.trim_end_matches('s')) {
        (Some(weekday), _) if is_before => both(day.nth_weekday(-1, weekday).ok()?),
        (Some(weekday), _) if is_after => both(day.nth_weekday(1, weekday).ok()?),
        (_, "day") if is_before => back(day, count.unwrap_or(1), 1, 7)?,
        (_, "day") if is_after => {
            let n = count.unwrap_or(1);
            if n == 0 { (shift(day, 1)?, shift(day, 7)?) } else { both(shift(day, days(n)?)?) }
        }
        (_, "week") => week(day, count.unwrap_or(1), is_before, is_after, is_of)?,
        (_, "weekend") => weekend(day, count.unwrap_or(1), is_before, is_after, is_of)?,
        _ => return None,
    };
    let start = tail.rfind(unit)?;
    let start = told.and_then(|(_, word)| tail[..start].rfind(word)).unwrap_or(start);
    let taken = tail.len() - start;
    // Lower case may be longer than the text: the span then begins at the date.
    let length = before.len().checked_sub(taken).filter(|at| before.is_char_boundary(*at));
    Some((When::Within(from, to), length.map_or(0, |_| taken)))
}

fn both(day: Date) -> (Date, Date) {
    (day, day)
}

fn days(count: u64) -> Option<i64> {
    i64::try_from(count).ok().filter(|count| *count < 10_000)
}

fn shift(day: Date, by: i64) -> Option<Date> {
    let by: Span = by.days();
    day.checked_add(by).ok()
}

/// So many units of `length` days before; up to `few` where the count is vague.
fn back(day: Date, count: u64, length: i64, few: i64) -> Option<(Date, Date)> {
    match days(count)? {
        0 => Some((shift(day, -few)?, shift(day, -1)?)),
        count => shift(day, -count * length).map(both),
    }
}

/// The calendar week around a day that lies so many weeks off; for the week
/// before, also the seven days before the day: people mean either.
fn week(
    day: Date,
    count: u64,
    is_before: bool,
    is_after: bool,
    is_of: bool,
) -> Option<(Date, Date)> {
    let monday = shift(day, -i64::from(day.weekday().to_monday_zero_offset()))?;
    let off = 7 * days(count.max(1))?;
    match (is_before, is_after, is_of) {
        (true, ..) if count > 1 => Some((shift(monday, -off)?, shift(monday, 6 - off)?)),
        (true, ..) => Some((shift(monday, -7)?, shift(day, -1)?)),
        (_, true, _) => Some((shift(day, 1)?, shift(monday, 13)?)),
        (.., true) => Some((monday.min(day), shift(monday, 6)?)),
        _ => None,
    }
}

/// Saturday and Sunday, and the Friday on whose evening it begins.
fn weekend(
    day: Date,
    count: u64,
    is_before: bool,
    is_after: bool,
    is_of: bool,
) -> Option<(Date, Date)> {
    let saturday = if is_after {
        day.nth_weekday(1, Weekday::Saturday).ok()?
    } else if is_before {
        // On a Sunday the weekend before is the one that is over.
        let start = if day.weekday() == Weekday::Sunday { shift(day, -1)? } else { day };
        start.nth_weekday(-i32::try_from(count.max(1)).ok()?, Weekday::Saturday).ok()?
    } else if is_of {
        let monday = shift(day, -i64::from(day.weekday().to_monday_zero_offset()))?;
        shift(monday, 5)?
    } else {
        return None;
    };
    Some((shift(saturday, -1)?, shift(saturday, 1)?))
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}
