//! Parts of dates, and the names of months and days.

use std::ops::Range;

use jiff::civil::{Date, Weekday};

/// A day, a month or a year as a text names it: parts that it leaves open are
/// absent. A year or a month is always there, and a day only with its month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartialDate {
    /// The year, if it is named.
    pub year: Option<i16>,
    /// The month, `1..=12`, if it is named.
    pub month: Option<i8>,
    /// The day, `1..=31`, if it is named.
    pub day: Option<i8>,
}

impl PartialDate {
    /// Whether it states everything that `other` states, and perhaps more.
    pub fn covers(self, other: PartialDate) -> bool {
        (other.year.is_none() || self.year == other.year)
            && (other.month.is_none() || self.month == other.month)
            && (other.day.is_none() || self.day == other.day)
    }

    /// The day of the calendar, where all parts are known.
    pub fn civil(self) -> Option<Date> {
        Date::new(self.year?, self.month?, self.day?).ok()
    }

    /// Whether the calendar has it; 29 February stands where the year is open.
    pub(super) fn exists(self) -> bool {
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        Date::new(self.year.unwrap_or(2000), month, day).is_ok()
    }
}

impl From<Date> for PartialDate {
    fn from(date: Date) -> PartialDate {
        PartialDate { year: Some(date.year()), month: Some(date.month()), day: Some(date.day()) }
    }
}

/// A date and the bytes of the text that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateSpan {
    /// The date that is named.
    pub date: PartialDate,
    /// The position in the text, in bytes.
    pub span: Range<usize>,
}

/// The month that a word names in full or shortened, `1..=12`.
pub fn month(word: &str) -> Option<i8> {
    // No two months begin with the same three letters, and most words with those of none.
    let month = match word.as_bytes().first_chunk::<3>()?.map(|byte| byte | 0x20) {
        [b'j', b'a', b'n'] => 1,
        [b'f', b'e', b'b'] => 2,
        [b'm', b'a', b'r'] => 3,
        [b'a', b'p', b'r'] => 4,
        [b'm', b'a', b'y'] => 5,
        [b'j', b'u', b'n'] => 6,
        [b'j', b'u', b'l'] => 7,
        [b'a', b'u', b'g'] => 8,
        [b's', b'e', b'p'] => 9,
        [b'o', b'c', b't'] => 10,
        [b'n', b'o', b'v'] => 11,
        [b'd', b'e', b'c'] => 12,
        _ => return None,
    };
    let names = word.len() == 3
        || MONTHS[month as usize - 1].eq_ignore_ascii_case(word)
        || month == 9 && word.eq_ignore_ascii_case("sept");
    names.then_some(month)
}

/// Lengths of the names of months and days: in full `September` and `Wednesday`
/// are the longest.
const SHORTEST: usize = 3;
const LONGEST: usize = 9;

/// The weekday that a word names in full or shortened: `tue`, `thurs`.
pub fn weekday(word: &str) -> Option<Weekday> {
    if !(SHORTEST..=LONGEST).contains(&word.len()) {
        return None;
    }
    let fits = |name: &&str| name.get(..word.len()).is_some_and(|n| n.eq_ignore_ascii_case(word));
    // A look at the first letter spares most words the comparison with seven names.
    let begins = |name: &&str| name.as_bytes()[0] == word.as_bytes()[0].to_ascii_uppercase();
    let at = WEEKDAYS.iter().position(|name| begins(name) && fits(name))?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// The English weekdays, Monday first.
pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The English months, January first.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
