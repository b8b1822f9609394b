//! The reader of times that are told from another day: `last Friday`, said on a
//! day, and `the Friday before 16 March 2024`.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};
use regex::Regex;

use super::date::{MONTHS, PartialDate, WEEKDAYS, month, weekday};
use super::dates;
use recap_core::text::language::cardinal;

/// A date, or the days between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    On(PartialDate),
    /// Both ends are within.
    Within(Date, Date),
}

/// A time and the bytes of the text that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeMention {
    pub when: When,
    pub span: Range<usize>,
}

impl When {
    /// Whether it says at least what `gold` says: the same parts of a date,
    /// or days that all lie within.
    pub fn answers(self, gold: When) -> bool {
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
pub fn times(text: &str) -> Vec<TimeMention> {
    let found = dates(text);
    let mut mentions: Vec<TimeMention> = Vec::with_capacity(found.len());
    for (at, one) in found.iter().enumerate() {
        let mut told_from = None;
        if let Some(day) = one.date.civil() {
            let start = at.checked_sub(1).map_or(0, |before| found[before].span.end);
            let before = text.get(start.min(one.span.start)..one.span.start).unwrap_or("");
            told_from = anchored(before, day);
        }
        let (when, length) = told_from.unwrap_or((When::On(one.date), 0));
        let span = one.span.start - length..one.span.end;
        mentions.push(TimeMention { when, span });
    }
    mentions
}

/// What the words right before a day make of it, and their length in bytes.
fn anchored(before: &str, day: Date) -> Option<(When, usize)> {
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
    let number = words.next().and_then(|word| {
        let vague = matches!(word, "few" | "couple" | "several").then_some(0);
        let count = cardinal(word).or_else(|| word.parse().ok()).or(vague);
        count.map(|count| (count, word))
    });
    let count = number.map(|(count, _)| count);
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
    let start = number.and_then(|(_, word)| tail[..start].rfind(word)).unwrap_or(start);
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

/// Counts that are told in words.
const COUNTS: &str = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve";

static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    let numbers = COUNTS;
    let weekdays =
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|sat|sun";
    let months = MONTHS.join("|").to_lowercase();
    Regex::new(&format!(
        r"(?i)\b(?:(?P<fixed>day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)|tomorrow|the other day|a few (?:days|weeks|months|years) ago|recently|just now)|(?P<which>last|past|this past|this|next|coming|upcoming) (?P<unit>week-?end|week|month|year|summer|winter|spring|fall|autumn|{weekdays}|{months})|(?P<n>\d{{1,2}}|an?|couple of|couple|{numbers}) (?P<ago>day|week|weekend|month|year)s? (?P<dir>ago|before|earlier|from now|later)|(?P<in>in) (?P<inn>\d{{1,2}}|an?|{numbers}) (?P<inunit>day|week|month|year)s?|(?P<on>on|this) (?P<weekday>{weekdays})|(?P<since>\d{{1,2}}|{numbers}) (?P<sinceunit>years?)(?: now| already)?|on the (?P<nth>\d{{1,2}})(?:st|nd|rd|th))\b"
    ))
    .expect("the pattern is valid")
});

/// Whether a date, as far as it is named, is this day.
pub fn holds(named: PartialDate, day: Date) -> bool {
    PartialDate::from(day).covers(named)
}

/// A relative expression with what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// As calendar dates.
    pub means: String,
    /// The day, or one near it.
    pub day: Option<Date>,
}

/// A date as `7 May 2023`.
pub fn written(date: Date) -> String {
    format!("{} {} {}", date.day(), MONTHS[date.month() as usize - 1], date.year())
}

/// A month as `May 2023`.
fn month_of(date: Date) -> String {
    format!("{} {}", MONTHS[date.month() as usize - 1], date.year())
}

/// Whether a text has an expression that is relative to the day on which it is
/// said; some of them mean no day.
pub fn is_relative(text: &str) -> bool {
    RELATIVE.is_match(text)
}

/// Relative expressions of a text that is said on a day.
pub fn relative(text: &str, said: Date) -> Vec<Resolved> {
    let mut out = Vec::new();
    for found in RELATIVE.captures_iter(text) {
        let part = |name: &str| found.name(name).map(|part| part.as_str().to_lowercase());
        let resolved = if let Some(fixed) = part("fixed") {
            fixed_day(&fixed, said)
        } else if let (Some(which), Some(unit)) = (part("which"), part("unit")) {
            which_unit(&which, &unit, said)
        } else if let (Some(n), Some(unit)) = (part("n"), part("ago")) {
            let back = !matches!(part("dir").as_deref(), Some("from now" | "later"));
            count(&n).and_then(|n| shifted(n, &unit, back, said))
        } else if let (Some(n), Some(unit)) = (part("inn"), part("inunit")) {
            count(&n).and_then(|n| shifted(n, &unit, false, said))
        } else if let Some(day) = part("weekday") {
            let ahead = part("on").as_deref() == Some("this");
            weekday(&day).map(|day| exact(near(day, said, ahead)))
        } else if let (Some(n), Some(_)) = (part("since"), part("sinceunit")) {
            count(&n).map(|n| (format!("since {}", i32::from(said.year()) - n), None))
        } else if let Some(day) = part("nth").and_then(|day| day.parse().ok()) {
            nth(day, said).map(exact)
        } else {
            None
        };
        if let Some((means, day)) = resolved {
            out.push(Resolved { means, day });
        }
    }
    out
}

/// What an expression means, and the day where it is one or nearly so.
type Meaning = (String, Option<Date>);

fn exact(day: Date) -> Meaning {
    (written(day), Some(day))
}

fn near(day: Weekday, said: Date, ahead: bool) -> Date {
    said.nth_weekday(if ahead { 1 } else { -1 }, day).unwrap_or(said)
}

/// The day of that number before the day on which it is said, or on it.
fn nth(day: i8, said: Date) -> Option<Date> {
    let this = Date::new(said.year(), said.month(), day).ok().filter(|day| *day <= said);
    this.or_else(|| {
        let month = said.first_of_month().yesterday().ok()?;
        Date::new(month.year(), month.month(), day).ok()
    })
}

fn count(n: &str) -> Option<i32> {
    match n {
        "a" | "an" => Some(1),
        "couple" | "couple of" => Some(2),
        _ => n.parse().ok().or_else(|| i32::try_from(cardinal(n)?).ok()),
    }
}

fn fixed_day(fixed: &str, said: Date) -> Option<Meaning> {
    let day = |days: i32| said.checked_add(days.days()).ok().map(exact);
    match fixed {
        "yesterday" | "last night" => day(-1),
        "day before yesterday" => day(-2),
        "tomorrow" => day(1),
        "the other day" => Some((format!("a few days before {}", written(said)), Some(said))),
        "recently" | "just now" => None,
        few if few.starts_with("a few") => {
            let unit = few.split(' ').nth(2)?;
            Some((format!("a few {unit} before {}", written(said)), None))
        }
        _ => day(0),
    }
}

fn which_unit(which: &str, unit: &str, said: Date) -> Option<Meaning> {
    let step = match which {
        "last" | "past" | "this past" => -1,
        "this" => 0,
        _ => 1,
    };
    let side = if step < 0 { "before" } else { "after" };
    match unit.replace('-', "").as_str() {
        "week" | "weekend" => {
            let day = said.checked_add((step * 7).days()).ok()?;
            let side = if step == 0 { "of" } else { side };
            Some((format!("the {} {side} {}", unit.replace('-', ""), written(said)), Some(day)))
        }
        "month" => {
            let day = said.checked_add(step.months()).ok()?;
            Some((month_of(day), Some(day)))
        }
        "year" => Some(((said.year() + step as i16).to_string(), None)),
        season @ ("summer" | "winter" | "spring" | "fall" | "autumn") => {
            let starts = match season {
                "spring" => 3,
                "summer" => 6,
                "winter" => 12,
                _ => 9,
            };
            // The last one is this year's once it has passed.
            let year = match step {
                -1 if said.month() > starts + 2 => said.year(),
                1 if said.month() < starts => said.year(),
                step => said.year() + step as i16,
            };
            Some((format!("{season} {year}"), None))
        }
        name => {
            if let Some(day) = weekday(name)
                .filter(|_| name.ends_with("day") || name.len() <= 5 && month(name).is_none())
            {
                let date = near(day, said, step >= 0);
                let name = WEEKDAYS[day.to_monday_zero_offset() as usize];
                return Some((
                    format!("{}, the {name} {side} {}", written(date), written(said)),
                    Some(date),
                ));
            }
            let month = month(name)?;
            let year = match step {
                -1 if month >= said.month() => said.year() - 1,
                1 if month <= said.month() => said.year() + 1,
                _ => said.year(),
            };
            Some((format!("{} {year}", MONTHS[month as usize - 1]), None))
        }
    }
}

fn shifted(n: i32, unit: &str, back: bool, said: Date) -> Option<Meaning> {
    let sign = if back { -n } else { n };
    let side = if back { "before" } else { "after" };
    let name = usize::try_from(n - 1).ok().and_then(|at| COUNTS.split('|').nth(at));
    let words = name.map_or_else(|| n.to_string(), str::to_owned);
    let plural = if n == 1 { "" } else { "s" };
    let phrase = format!("{words} {unit}{plural} {side} {}", written(said));
    match unit {
        "day" => said.checked_add(sign.days()).ok().map(exact),
        "week" => {
            let day = said.checked_add(sign.weeks()).ok()?;
            Some((format!("{}, {phrase}", written(day)), Some(day)))
        }
        "month" => {
            let day = said.checked_add(sign.months()).ok()?;
            Some((format!("{}, {phrase}", month_of(day)), Some(day)))
        }
        "year" => Some(((i32::from(said.year()) + sign).to_string(), None)),
        _ => Some((phrase, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(text: &str) -> Vec<String> {
        // A Saturday.
        let said = Date::new(2023, 7, 15).unwrap();
        relative(text, said).into_iter().map(|one| one.means).collect()
    }

    #[test]
    fn days_are_exact() {
        assert_eq!(
            means("I met her Yesterday, she leaves tomorrow"),
            ["14 July 2023", "16 July 2023"]
        );
        assert_eq!(means("three days ago"), ["12 July 2023"]);
        assert_eq!(means("last Friday"), ["14 July 2023, the Friday before 15 July 2023"]);
        assert_eq!(means("next tues"), ["18 July 2023, the Tuesday after 15 July 2023"]);
        assert_eq!(means("we met on the 3rd"), ["3 July 2023"]);
        assert_eq!(means("we met on the 28th"), ["28 June 2023"]);
    }

    #[test]
    fn longer_units_name_what_they_are_counted_from() {
        assert_eq!(means("last week"), ["the week before 15 July 2023"]);
        assert_eq!(means("this weekend"), ["the weekend of 15 July 2023"]);
        assert_eq!(means("2 weeks ago"), ["1 July 2023, two weeks before 15 July 2023"]);
        assert_eq!(means("next month and last year"), ["August 2023", "2022"]);
        assert_eq!(means("last summer, next March"), ["summer 2022", "March 2024"]);
        assert_eq!(means("ten years ago; seven years now"), ["2013", "since 2016"]);
    }

    #[test]
    fn nothing_is_made_of_what_tells_no_time() {
        for text in ["recently", "the last one", "a week", "on the 45th", "", "0 weeks hence"] {
            assert_eq!(means(text), [""; 0], "{text}");
        }
        assert_eq!(means("0 days ago"), ["15 July 2023"]);
        means("0 weeks ago, 99 years ago, 0 months ago");
    }
}
