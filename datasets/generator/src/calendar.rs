//! When things happen in a session: work days with breaks.

use jiff::civil::{Date, DateTime, Weekday, date, time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::random::Stream;

/// Hour from which nothing new is begun.
const EVENING: i8 = 18;

/// A clock that only goes forward, through office hours (UTC).
#[derive(Clone, Debug)]
pub struct Calendar {
    now: DateTime,
    lunch: Option<Date>,
}

impl Calendar {
    /// A morning of some work day of 2025 or the first half of 2026.
    pub fn new(random: &mut Stream) -> Calendar {
        let days = random.number(0..=540) as i64;
        let day = date(2025, 1, 6).checked_add(days.days()).expect("within two years");
        let mut calendar = Calendar { now: day.to_datetime(time(8, 0, 0, 0)), lunch: None };
        calendar.skip_weekend();
        calendar.pass(random.number(20 * 60..=150 * 60));
        calendar
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        let zoned = self.now.to_zoned(TimeZone::UTC).expect("UTC has every civil time once");
        zoned.timestamp()
    }

    /// The day.
    pub fn today(&self) -> Date {
        self.now.date()
    }

    /// Lets `seconds` go by.
    pub fn pass(&mut self, seconds: u64) {
        let span = SignedDuration::from_secs(seconds as i64);
        self.now = self.now.checked_add(span).expect("sessions last days");
    }

    /// The user reads, thinks and types; or goes to lunch, or home.
    pub fn wait_for_user(&mut self, random: &mut Stream) {
        self.pass(random.number(25..=420));
        let at_noon = (12..14).contains(&self.now.hour());
        if self.now.hour() >= EVENING {
            self.next_morning(random);
        } else if at_noon && self.lunch != Some(self.now.date()) {
            self.lunch = Some(self.now.date());
            self.pass(random.number(35 * 60..=70 * 60));
        } else if random.chance(15) {
            self.pass(random.number(10 * 60..=95 * 60));
        }
    }

    /// Everybody goes home; the next work day begins.
    pub fn next_morning(&mut self, random: &mut Stream) {
        let tomorrow = self.now.date().tomorrow().expect("sessions last days");
        self.now = tomorrow.to_datetime(time(8, 0, 0, 0));
        self.skip_weekend();
        self.pass(random.number(10 * 60..=100 * 60));
    }

    fn skip_weekend(&mut self) {
        while matches!(self.now.date().weekday(), Weekday::Saturday | Weekday::Sunday) {
            self.now = self.now.checked_add(1.day()).expect("sessions last days");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_write_in_workday_hours_as_time_advances() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, "calendar");
            let mut calendar = Calendar::new(&mut random);
            let mut before = calendar.now();
            for _ in 0..200 {
                calendar.wait_for_user(&mut random);
                let (now, hour) = (calendar.now(), calendar.now.hour());
                assert!(now > before);
                before = now;
                assert!((8..20).contains(&hour), "{hour}");
                let weekday = calendar.now.date().weekday();
                assert!(!matches!(weekday, Weekday::Saturday | Weekday::Sunday));
            }
        }
    }
}
