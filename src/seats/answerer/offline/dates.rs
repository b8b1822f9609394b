//! Dates in texts: calendar dates as they are named, and what expressions
//! such as "last Friday" mean when they are said on a day.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use regex::Regex;

use crate::text::PartialDate;
use crate::text::calendar::{MONTHS, month};

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    let numbers = NUMBERS.join("|");
    let weekdays =
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|sat|sun";
    let months = MONTHS.join("|").to_lowercase();
    Regex::new(&format!(
        r"(?i)\b(?:(?P<fixed>day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)|tomorrow|the other day|a few (?:days|weeks|months|years) ago|recently|just now)|(?P<which>last|past|this past|this|next|coming|upcoming) (?P<unit>week-?end|week|month|year|summer|winter|spring|fall|autumn|{weekdays}|{months})|(?P<n>\d{{1,2}}|an?|couple of|couple|{numbers}) (?P<ago>day|week|weekend|month|year)s? (?P<dir>ago|before|earlier|from now|later)|(?P<in>in) (?P<inn>\d{{1,2}}|an?|{numbers}) (?P<inunit>day|week|month|year)s?|(?P<on>on|this) (?P<weekday>{weekdays})|(?P<since>\d{{1,2}}|{numbers}) (?P<sinceunit>years?)(?: now| already)?|on the (?P<nth>\d{{1,2}})(?:st|nd|rd|th))\b"
    ))
    .expect("the pattern is valid")
});

/// Whether a date, as far as it is named, is this day.
pub(super) fn holds(named: PartialDate, day: Date) -> bool {
    PartialDate::from(day).covers(named)
}

/// A relative expression with what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// As calendar dates.
    pub means: String,
    /// The day, or one near it.
    pub day: Option<Date>,
}

/// A date as `7 May 2023`.
pub(super) fn written(date: Date) -> String {
    format!("{} {} {}", date.day(), MONTHS[date.month() as usize - 1], date.year())
}

/// A month as `May 2023`.
fn month_of(date: Date) -> String {
    format!("{} {}", MONTHS[date.month() as usize - 1], date.year())
}

/// Relative expressions of a text that is said on a day.
pub(super) fn relative(text: &str, said: Date) -> Vec<Resolved> {
    let mut out = Vec::new();
    for found in RELATIVE.captures_iter(text) {
        let part = |name: &str| found.name(name).map(|part| part.as_str().to_lowercase());
        let told = if let Some(fixed) = part("fixed") {
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
        if let Some((means, day)) = told {
            out.push(Resolved { means, day });
        }
    }
    out
}

/// What an expression means, and the day where it is one or nearly so.
type Told = (String, Option<Date>);

fn exact(day: Date) -> Told {
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
        _ => {
            n.parse().ok().or_else(|| Some(NUMBERS.iter().position(|name| *name == n)? as i32 + 1))
        }
    }
}

fn fixed_day(fixed: &str, said: Date) -> Option<Told> {
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

fn weekday(name: &str) -> Option<Weekday> {
    let at = WEEKDAYS
        .iter()
        .position(|day| day[..3].eq_ignore_ascii_case(name.get(..3).unwrap_or("")))?;
    Weekday::from_monday_zero_offset(at as i8).ok()
}

fn which_unit(which: &str, unit: &str, said: Date) -> Option<Told> {
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

fn shifted(n: i32, unit: &str, back: bool, said: Date) -> Option<Told> {
    let sign = if back { -n } else { n };
    let side = if back { "before" } else { "after" };
    let words = usize::try_from(n - 1)
        .ok()
        .and_then(|at| NUMBERS.get(at))
        .map_or_else(|| n.to_string(), |name| (*name).to_owned());
    let plural = if n == 1 { "" } else { "s" };
    let told = format!("{words} {unit}{plural} {side} {}", written(said));
    match unit {
        "day" => said.checked_add(sign.days()).ok().map(exact),
        "week" => {
            let day = said.checked_add(sign.weeks()).ok()?;
            Some((format!("{}, {told}", written(day)), Some(day)))
        }
        "month" => {
            let day = said.checked_add(sign.months()).ok()?;
            Some((format!("{}, {told}", month_of(day)), Some(day)))
        }
        "year" => Some(((i32::from(said.year()) + sign).to_string(), None)),
        _ => Some((told, None)),
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
