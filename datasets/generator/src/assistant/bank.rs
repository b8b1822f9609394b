//! The texts that a session is made of, and the values that fill them.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use recap_core::model::QuestionKind;
use serde::Deserialize;

use crate::Stream;

/// What kind of value a text waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Two letters and four digits.
    Code,
    /// An amount with cents.
    Money,
    /// A time of day in steps of five minutes.
    Time,
    /// A day in the coming weeks, as people write it.
    Day,
    /// A telephone extension of four digits.
    Line,
    /// Six digits.
    Pin,
    /// A letter and three digits.
    Room,
    /// A number of things.
    Count,
}

/// Letters that make no words.
const CONSONANTS: &[u8] = b"BCDFGHJKLMNPQRSTVWXZ";

impl Shape {
    /// A value that this session has not had yet.
    pub fn draw(self, random: &mut Stream, today: Date) -> String {
        random.fresh(|r| match self {
            Shape::Code => {
                let letter = |r: &mut Stream| char::from(*r.pick(CONSONANTS));
                format!("{}{}-{}", letter(r), letter(r), r.number(1100..=9890))
            }
            Shape::Money => money(cents(r, 43, 970)),
            Shape::Time => format!("{:02}:{:02}", r.number(8..=18), 5 * r.number(0..=11)),
            Shape::Day => day(ahead(r, today, 9, 75)),
            Shape::Line => r.number(2100..=8990).to_string(),
            Shape::Pin => r.number(210_400..=989_600).to_string(),
            Shape::Room => format!("{}{}", *r.pick(b"BCDEFGH") as char, r.number(104..=489)),
            Shape::Count => r.number(13..=96).to_string(),
        })
    }
}

/// An amount between whole units, in cents, that ends in 0 or 5.
pub fn cents(random: &mut Stream, least: u64, most: u64) -> u64 {
    random.number(least..=most) * 100 + 5 * random.number(1..=19)
}

/// An amount as people write it.
pub fn money(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A work day `least` to `most` days after `today`.
pub fn ahead(random: &mut Stream, today: Date, least: i64, most: i64) -> Date {
    let days = random.number(least as u64..=most as u64) as i64;
    let date = today.checked_add(days.days()).expect("within the calendar");
    match date.weekday() {
        Weekday::Saturday => date.checked_add(2.days()).expect("within the calendar"),
        Weekday::Sunday => date.checked_add(1.days()).expect("within the calendar"),
        _ => date,
    }
}

/// A day as people write it: `12 June`.
pub fn day(date: Date) -> String {
    date.strftime("%-d %B").to_string()
}

/// The name of the day of the week.
pub fn weekday(date: Date) -> &'static str {
    match date.weekday() {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// Something that a text tells, in several wordings, and how to ask for it.
/// `{v}` is the value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// What fills it.
    pub value: Shape,
    /// What is asked while it was said once.
    pub kind: QuestionKind,
    /// Says it.
    pub says: Vec<String>,
    /// Says that it has changed; empty where it never does.
    #[serde(default)]
    pub changes: Vec<String>,
    /// Asks for it.
    pub asks: Vec<String>,
}

impl Told {
    /// The questions in any order. Of what may change some ask for how it is
    /// "now", as people do.
    pub fn questions(&self, random: &mut Stream) -> Vec<String> {
        let mut asks = self.asks.clone();
        random.shuffle(&mut asks);
        if !self.changes.is_empty() {
            for ask in &mut asks {
                if random.chance(65) {
                    *ask = format!("{} now?", ask.trim_end_matches('?'));
                }
            }
        }
        asks
    }
}

/// A mail or a page: paragraphs in which `{0}`, `{1}` … stand for what it tells.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Letter {
    /// Who writes, or whose page it is.
    pub org: String,
    /// What the writer is there; empty for a page.
    #[serde(default)]
    pub role: String,
    /// Its title.
    pub subject: String,
    /// What the user calls it.
    pub about: String,
    /// Its text.
    pub body: String,
    /// What the user has the assistant answer; empty where nothing is answered.
    #[serde(default)]
    pub reply: String,
    /// What it tells.
    pub told: Vec<Told>,
}

/// An appointment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisitText {
    /// What the user calls it.
    pub what: String,
    /// With whom.
    pub role: String,
    /// Their house.
    pub org: String,
    /// How long it takes.
    pub minutes: i64,
    /// Why it is moved.
    pub moves: Vec<String>,
}

/// Something that is chosen and ordered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyText {
    /// What the user calls it.
    pub what: String,
    /// What is typed into the search.
    pub query: String,
    /// What the user says of the occasion.
    pub occasion: String,
    /// The most it may cost, in whole units.
    pub price: u64,
    /// What there is: name, properties, what speaks against it.
    pub items: Vec<[String; 3]>,
}

/// A list with numbers of things.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListText {
    /// Its title, which is what the user calls it.
    pub title: String,
    /// What is counted.
    pub items: Vec<String>,
}

/// A journey.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TripText {
    /// What for.
    pub purpose: String,
    /// Why a later train is needed after all.
    pub later: Vec<String>,
}

/// A payment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpendText {
    /// Part of the budget.
    pub category: String,
    /// To whom and what for.
    pub things: Vec<[String; 2]>,
}

/// Everything that can come up.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errands {
    /// Appointments.
    pub visit: Vec<VisitText>,
    /// Purchases.
    pub buy: Vec<BuyText>,
    /// Lists.
    pub list: Vec<ListText>,
    /// Journeys.
    pub trip: Vec<TripText>,
    /// Payments.
    pub spend: Vec<SpendText>,
    /// Destinations.
    pub cities: Vec<String>,
    /// Houses to stay in.
    pub houses: Vec<String>,
    /// What speaks for and against them.
    pub house_notes: Vec<[String; 2]>,
    /// Weekly entries of a diary.
    pub weekly: Vec<String>,
    /// Entries that stand there once.
    pub once: Vec<String>,
    /// What the user may be.
    pub jobs: Vec<String>,
    /// First names.
    pub first: Vec<String>,
    /// Family names.
    pub last: Vec<String>,
    /// Streets.
    pub streets: Vec<String>,
    /// Subjects of mails that nobody asked for.
    pub noise: Vec<[String; 3]>,
}

#[derive(Deserialize)]
struct Letters {
    letter: Vec<Letter>,
}

/// A rule or liking: who wants what it forbids gets the substitute `{v}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remarks {
    /// Facts that the user mentions by the way.
    pub fact: Vec<Told>,
    /// Rules; `changes` replaces or lifts them.
    pub rule: Vec<Told>,
    /// Likings.
    pub liking: Vec<Told>,
    /// Things to do later.
    pub plan: Vec<Told>,
    /// What a word means between these two.
    pub concept: Vec<Told>,
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("the bundled texts are well-formed")
}

/// The texts of this kind.
pub struct Bank {
    /// Errands.
    pub errands: Errands,
    /// Mails.
    pub mails: Vec<Letter>,
    /// Pages.
    pub pages: Vec<Letter>,
    /// Remarks.
    pub remarks: Remarks,
}

impl Bank {
    /// Reads the bundled texts.
    pub fn new() -> Bank {
        Bank {
            errands: parse(include_str!("errands.toml")),
            mails: parse::<Letters>(include_str!("mails.toml")).letter,
            pages: parse::<Letters>(include_str!("pages.toml")).letter,
            remarks: parse(include_str!("remarks.toml")),
        }
    }
}
