//! How much time lies between two events.

use std::sync::LazyLock;

use jiff::Unit;
use jiff::civil::Date;
use regex::Regex;

use super::dates::{relative, written};
use super::index::Index;
use super::question::{Ask, Question};
use super::rank::rank;
use super::words::{is_function_word, words};
use crate::text::dates;

/// Sentences about an event that are looked at for its date.
const LOOKED_AT: usize = 4;

static ASKED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bhow (?:many (day|week|month|year)s?|long|much time)\b.*?\b(?:between|from) (.+?)[?.!\s]*$")
        .expect("the pattern is valid")
});

/// The time between the two events that a question names: `3 weeks, from
/// 7 May 2023 to 28 May 2023`.
pub(super) fn between(index: &Index, text: &str) -> Option<String> {
    let asked = ASKED.captures(text)?;
    let both = asked.get(2)?.as_str();
    let joint = [" and ", " to ", " until "].iter().find_map(|joint| both.split_once(joint));
    let (first, second) = joint?;
    let second = completed(first, second);
    let (a, from) = event(index, first)?;
    let (b, to) = event(index, &second)?;
    if a == b || from == to {
        return None;
    }
    let (from, to) = (from.min(to), from.max(to));
    let unit = asked.get(1).map(|unit| unit.as_str().to_lowercase());
    let length = length(from, to, unit.as_deref())?;
    Some(format!("{length}, from {} to {}", written(from), written(to)))
}

/// `Ann adopting Rex and Bella`: the second event is said in short, with the
/// verb of the first.
fn completed(first: &str, second: &str) -> String {
    let content = |text: &str| words(text).iter().filter(|w| !is_function_word(&w.lower)).count();
    if content(second) > 1 {
        return second.to_owned();
    }
    let without_last = first.rsplit_once(' ').map_or("", |(rest, _)| rest);
    format!("{without_last} {second}")
}

/// The sentence that tells of an event, and when it was.
fn event(index: &Index, text: &str) -> Option<(usize, Date)> {
    let mut question = Question::new(text, &index.speakers);
    question.ask = Ask::When;
    if question.terms.is_empty() {
        let date = dates(text).first()?.date.civil()?;
        return Some((usize::MAX, date));
    }
    let ranked = rank(index, &question);
    let near = &ranked[..ranked.len().min(LOOKED_AT)];
    let told = near.iter().find_map(|one| Some((one.sentence, when(index, one.sentence)?)));
    told.or_else(|| {
        near.iter().find_map(|one| Some((one.sentence, index.entry(one.sentence).date?)))
    })
}

/// The day that a sentence tells of: one that it names, or one that it tells
/// from its own day.
fn when(index: &Index, at: usize) -> Option<Date> {
    let said = index.entry(at).date;
    let named = dates(index.text(at)).into_iter().find_map(|found| {
        let date = found.date;
        Date::new(date.year.or(said.map(Date::year))?, date.month?, date.day?).ok()
    });
    let told = || relative(index.text(at), said?).into_iter().find_map(|told| told.day);
    named.or_else(told)
}

fn length(from: Date, to: Date, unit: Option<&str>) -> Option<String> {
    let days = from.until((Unit::Day, to)).ok()?.get_days();
    let months =
        (i32::from(to.year()) - i32::from(from.year())) * 12 + i32::from(to.month() - from.month());
    let (n, unit) = match unit {
        Some("day") => (days, "day"),
        Some("week") => ((days + 3) / 7, "week"),
        Some("month") => (months, "month"),
        Some("year") => ((months + 6) / 12, "year"),
        _ if days < 14 => (days, "day"),
        _ if days < 60 => ((days + 3) / 7, "week"),
        _ if months < 24 => (months, "month"),
        _ => ((months + 6) / 12, "year"),
    };
    let plural = if n == 1 { "" } else { "s" };
    Some(format!("{n} {unit}{plural}"))
}
