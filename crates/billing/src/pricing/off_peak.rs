//! Hours at which a model has lower prices.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value as Json;

use super::rates::{Rate, read_field};

/// Rates that apply within windows of the week, in UTC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OffPeak {
    rates: Vec<(Rate, f64)>,
    windows: Vec<Window>,
}

/// Periods of the day on some days of the week.
#[derive(Clone, Debug, PartialEq)]
struct Window {
    /// Minutes from midnight: the first, and the first after the period.
    minutes: Vec<(u32, u32)>,
    /// Days, Monday is 1; all days where the list names none.
    days: Vec<i64>,
}

const DAY: u32 = 24 * 60;

impl OffPeak {
    /// Reads `off_peak_pricing`; a malformed value is an error that quotes it.
    pub(super) fn read(json: &Json) -> Result<Self, String> {
        let object = json.as_object().ok_or("`off_peak_pricing` is no object")?;
        let rates = object.iter().filter_map(|(field, value)| {
            let (rate, 0) = read_field(field)? else { return None };
            Some((rate, value.as_f64()?))
        });
        let windows = object.get("windows").and_then(Json::as_array);
        let windows = windows.ok_or("`off_peak_pricing` has no `windows`")?;
        let windows = windows.iter().map(Window::read).collect::<Result<_, _>>()?;
        Ok(Self { rates: rates.collect(), windows })
    }

    /// The rate at a time, if it is off peak and has a rate of its own.
    pub(super) fn rate(&self, rate: Rate, at: Timestamp) -> Option<f64> {
        let now = at.to_zoned(TimeZone::UTC);
        let minute = now.hour() as u32 * 60 + now.minute() as u32;
        let day = i64::from(now.weekday().to_monday_one_offset());
        let is_off_peak = self.windows.iter().any(|window| window.contains(day, minute));
        let found = self.rates.iter().find(|(other, _)| *other == rate).filter(|_| is_off_peak);
        found.map(|(_, price)| *price)
    }
}

impl Window {
    fn read(json: &Json) -> Result<Self, String> {
        let hours = json.get("hours_utc").ok_or("an off-peak window has no `hours_utc`")?;
        let hours: Vec<&str> = match hours {
            Json::String(one) => vec![one],
            Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
            _ => return Err("`hours_utc` is neither a text nor a list".to_owned()),
        };
        let minutes = hours.into_iter().map(stretch).collect::<Result<_, _>>()?;
        let days = json.get("weekdays").and_then(Json::as_array);
        let days =
            days.map_or_else(Vec::new, |days| days.iter().filter_map(Json::as_i64).collect());
        Ok(Self { minutes, days })
    }

    fn contains(&self, day: i64, minute: u32) -> bool {
        (self.days.is_empty() || self.days.contains(&day))
            && self.minutes.iter().any(|&(from, to)| from <= minute && minute < to)
    }
}

/// `10:00-00:00`: midnight at the end is the end of the day.
fn stretch(text: &str) -> Result<(u32, u32), String> {
    let minutes = |clock: &str| {
        let (hour, minute) = clock.trim().split_once(':')?;
        let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
        (hour < 24 && minute < 60).then_some(hour * 60 + minute)
    };
    let bounds = text.split_once('-').and_then(|(from, to)| minutes(from).zip(minutes(to)));
    match bounds {
        Some((from, 0)) => Ok((from, DAY)),
        Some((from, to)) if from < to => Ok((from, to)),
        _ => Err(format!("`{text}` are no hours such as 04:00-06:00")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off_peak() -> OffPeak {
        OffPeak::read(&serde_json::json!({
            "input_cost_per_token": 6.6e-7,
            "windows": [
                {"hours_utc": ["00:00-01:00", "04:00-06:00", "10:00-00:00"], "weekdays": [1, 2, 3, 4, 5]},
                {"hours_utc": "00:00-00:00", "weekdays": [6, 7]}
            ]
        }))
        .unwrap()
    }

    fn at(time: &str) -> Option<f64> {
        off_peak().rate(Rate::Input, time.parse().unwrap())
    }

    #[test]
    fn hour_end_is_exclusive_and_midnight_ends_day() {
        // 2026-11-20 was a Friday, 2026-11-21 a Saturday.
        assert_eq!(at("2026-11-20T00:59:59Z"), Some(6.6e-7));
        assert_eq!(at("2026-11-20T01:00:00Z"), None);
        assert_eq!(at("2026-11-20T05:59:00Z"), Some(6.6e-7));
        assert_eq!(at("2026-11-20T09:59:00Z"), None);
        assert_eq!(at("2026-11-20T23:59:59Z"), Some(6.6e-7));
        assert_eq!(at("2026-11-21T02:00:00Z"), Some(6.6e-7));
    }

    #[test]
    fn unlisted_rate_stays_unchanged() {
        assert_eq!(off_peak().rate(Rate::Output, "2026-11-21T02:00:00Z".parse().unwrap()), None);
    }

    #[test]
    fn malformed_hours_are_errors_with_their_words() {
        for hours in ["25:00-26:00", "6-7", "06:00", "07:00-06:00", "", "aa:bb-cc:dd"] {
            let json = serde_json::json!({"windows": [{"hours_utc": hours}]});
            let error = OffPeak::read(&json).unwrap_err();
            assert!(error.contains("are no hours"), "{error}");
        }
    }
}
