//! The user's calendar.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Time, Weekday};
use serde_json::{Value as Json, json};

use super::bank::Errands;
use crate::Stream;

/// Weeks that are filled in beforehand.
const WEEKS: i64 = 22;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// What it is.
    pub title: String,
    /// When it begins.
    pub start: DateTime,
    /// How long it takes.
    pub minutes: i64,
    /// Where.
    pub place: String,
}

impl Event {
    fn end(&self) -> DateTime {
        self.start.checked_add(self.minutes.minutes()).expect("within the calendar")
    }

    /// As the calendar shows it.
    pub fn shown(&self) -> Json {
        let clock = |at: DateTime| at.strftime("%H:%M").to_string();
        json!({
            "id": self.id, "date": self.start.date().to_string(), "start": clock(self.start),
            "end": clock(self.end()), "title": self.title, "where": self.place,
        })
    }
}

/// All entries.
#[derive(Clone, Debug, Default)]
pub struct Diary {
    /// In no order.
    pub events: Vec<Event>,
}

/// The Monday of a day's week.
pub fn monday(date: Date) -> Date {
    let back = i64::from(date.weekday().to_monday_zero_offset());
    date.checked_sub(back.days()).expect("within the calendar")
}

/// A time of day that was written as `HH:MM`.
pub fn clock(text: &str) -> Time {
    let (hour, minute) = text.split_once(':').expect("times are written HH:MM");
    let number = |part: &str| part.parse::<i8>().expect("times are numbers");
    Time::new(number(hour), number(minute), 0, 0).expect("times of a day")
}

impl Diary {
    /// What stands there before the session begins: weekly entries, and some
    /// that come once.
    pub fn new(errands: &Errands, random: &mut Stream, today: Date) -> Diary {
        let mut diary = Diary::default();
        let first = monday(today);
        for title in random.sample(&errands.weekly, 5) {
            let day = random.number(0..=4) as i64;
            let time = format!("{:02}:{:02}", random.number(8..=18), 15 * random.number(0..=3));
            let minutes = 15 * random.number(2..=5) as i64;
            let place = place(random);
            for week in 0..WEEKS {
                // Now and then it does not take place.
                if random.chance(88) {
                    let date = first.checked_add((week * 7 + day).days()).expect("in a calendar");
                    diary.add(&title, date, &time, minutes, &place, random);
                }
            }
        }
        let mut once = errands.once.clone();
        random.shuffle(&mut once);
        for week in 0..WEEKS {
            for _ in 0..random.number(1..=3) {
                let Some(title) = once.pop() else { break };
                let day = week * 7 + random.number(0..=4) as i64;
                let date = first.checked_add(day.days()).expect("in a calendar");
                let time = format!("{:02}:{:02}", random.number(9..=17), 10 * random.number(0..=5));
                let place = place(random);
                diary.add(&title, date, &time, 15 * random.number(2..=6) as i64, &place, random);
            }
        }
        diary
    }

    /// Enters something; gives its index.
    pub fn add(
        &mut self,
        title: &str,
        date: Date,
        time: &str,
        minutes: i64,
        place: &str,
        random: &mut Stream,
    ) -> usize {
        let id = random.fresh(|r| format!("ev-{}", r.hex(5)));
        let (title, place) = (title.to_owned(), place.to_owned());
        let start = date.to_datetime(clock(time));
        self.events.push(Event { id, title, start, minutes, place });
        self.events.len() - 1
    }

    /// Moves an entry.
    pub fn shift(&mut self, at: usize, date: Date, time: &str) {
        self.events[at].start = date.to_datetime(clock(time));
    }

    /// Whether nothing but `own` stands there then.
    pub fn is_free(&self, date: Date, time: &str, minutes: i64, own: Option<usize>) -> bool {
        let start = date.to_datetime(clock(time));
        let end = start.checked_add(minutes.minutes()).expect("within the calendar");
        self.events
            .iter()
            .enumerate()
            .all(|(at, event)| Some(at) == own || event.end() <= start || event.start >= end)
    }

    /// Entries of the week of `date`, in order.
    pub fn week(&self, date: Date) -> Vec<&Event> {
        let first = monday(date);
        let mut week: Vec<&Event> =
            self.events.iter().filter(|event| monday(event.start.date()) == first).collect();
        week.sort_by_key(|event| (event.start, &event.id));
        week
    }

    /// What the calendar answers for the week of `date`.
    pub fn shown(&self, date: Date) -> String {
        let events: Vec<Json> = self.week(date).into_iter().map(Event::shown).collect();
        json!({"week_of": monday(date).to_string(), "events": events}).to_string()
    }
}

fn place(random: &mut Stream) -> String {
    match random.number(0..=3) {
        0 => "online".to_owned(),
        1 => "office, small room".to_owned(),
        2 => format!("room {}", random.number(104..=489)),
        _ => String::new(),
    }
}

/// Whether people work on that day.
pub fn is_work_day(date: Date) -> bool {
    !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday)
}
