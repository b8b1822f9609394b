//! How and when a request was served, where that changes its price: a mark after the model's name,
//! such as `claude-opus-5[fast,us]`, and hours with lower prices. The list says by how much.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value as Json;

use super::model::{Rate, read_field};

/// The marks that can change a price, in the order in which a name has them, each
/// with the ending of prices that it has of its own.
const MARKS: [(&str, Option<&str>); 6] = [
    ("batch", Some("_batches")),
    ("eu", None),
    ("fast", None),
    ("flex", Some("_flex")),
    ("priority", Some("_priority")),
    ("us", None),
];
/// The list's field of factors on every price of a request, by mark.
const FACTORS: &str = "provider_specific_entry";
/// Without a listed factor this one has no known price. A place of inference, or a
/// tier, that the list does not mention costs what any other does.
const FAST: &str = "fast";

/// USD per token, by rate and prompt length above which it holds.
pub(super) type ByTier = BTreeMap<(Rate, u64), f64>;

/// A set of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    /// Number of sets.
    pub(super) const SETS: usize = 1 << MARKS.len();

    /// Those in a name. Others may stand there too: `[1m]`.
    pub(super) fn of(name: &str) -> Self {
        let inside = name.split_once('[').and_then(|(_, rest)| rest.trim_end().strip_suffix(']'));
        let named = inside.into_iter().flat_map(|all| all.split(','));
        let known = |mark: &str| MARKS.iter().position(|(known, _)| mark.trim() == *known);
        Self(named.filter_map(known).fold(0, |set, at| set | 1 << at))
    }

    /// Its number; 0 is the empty set.
    pub(super) fn number(self) -> usize {
        usize::from(self.0)
    }

    fn all(self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        (0..MARKS.len()).filter(move |at| self.0 >> at & 1 == 1).map(|at| MARKS[at])
    }

    /// The name of a model that was asked so.
    pub(super) fn marked(self, id: &str) -> String {
        let names: Vec<&str> = self.all().map(|(name, _)| name).collect();
        format!("{id}[{}]", names.join(","))
    }
}

/// The prices of a request that was served so. `None` where they are not known.
///
/// A rate that has no price of its own in a tier changes as the input's does.
pub(super) fn served(entry: &Json, mut prices: ByTier, marks: Marks) -> Option<ByTier> {
    for (mark, end) in marks.all() {
        if let Some(end) = end {
            prices = tier(entry, prices, end);
        }
        match entry.get(FACTORS).and_then(|factors| factors.get(mark)).and_then(Json::as_f64) {
            Some(factor) if factor > 0.0 => prices.values_mut().for_each(|usd| *usd *= factor),
            _ if mark == FAST => return None,
            _ => {}
        }
    }
    Some(prices)
}

fn tier(entry: &Json, prices: ByTier, end: &str) -> ByTier {
    let fields = entry.as_object().into_iter().flatten();
    let own = fields.filter_map(|(field, value)| {
        Some((read_field(field.strip_suffix(end)?)?, value.as_f64().filter(|usd| *usd >= 0.0)?))
    });
    let own: ByTier = own.collect();
    let input = |prices: &ByTier| prices.get(&(Rate::Input, 0)).copied();
    let share = match (input(&own), input(&prices)) {
        (Some(own), Some(usual)) if usual > 0.0 => own / usual,
        _ => 1.0,
    };
    let served = |(key, usd)| (key, own.get(&key).copied().unwrap_or(usd * share));
    prices.into_iter().map(served).collect()
}

// Hours at which a model has lower prices.

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
    use crate::pricing::{Moment, PriceList, Rates};

    fn rates(name: &str) -> Option<Rates> {
        let moment = Moment { prompt_tokens: 1_000, at: jiff::Timestamp::UNIX_EPOCH };
        Some(PriceList::bundled().priced(name)?.rates(&moment))
    }

    /// claude-opus-5: $5, $0.50, $6.25, $10 and $25; fast × 2, us × 1.1, batches at half.
    #[test]
    fn marks_change_every_rate_as_listed() {
        let per_million = |name: &str| {
            let rates = rates(name).unwrap();
            let all = [rates.input, rates.cache_read, rates.cache_write];
            let all = all.into_iter().chain([rates.cache_write_1h, rates.output]);
            all.map(|usd| (usd.unwrap() * 1e9).round() / 1e3).collect::<Vec<_>>()
        };
        assert_eq!(per_million("claude-opus-5"), [5.0, 0.5, 6.25, 10.0, 25.0]);
        assert_eq!(per_million("claude-opus-5[1m]"), [5.0, 0.5, 6.25, 10.0, 25.0]);
        assert_eq!(per_million("claude-opus-5[fast]"), [10.0, 1.0, 12.5, 20.0, 50.0]);
        assert_eq!(per_million("anthropic/claude-opus-5[us]"), [5.5, 0.55, 6.875, 11.0, 27.5]);
        assert_eq!(per_million("claude-opus-5[us,fast]"), [11.0, 1.1, 13.75, 22.0, 55.0]);
        assert_eq!(per_million("claude-opus-5[batch]"), [2.5, 0.25, 3.125, 5.0, 12.5]);
        // The list has no such prices: the provider asks its usual ones.
        assert_eq!(per_million("claude-opus-5[priority]"), per_million("claude-opus-5"));
        assert_eq!(per_million("claude-opus-5[mars]"), per_million("claude-opus-5"));
    }

    #[test]
    fn fast_without_a_listed_factor_has_no_price() {
        assert!(rates("claude-haiku-4-5").is_some());
        assert_eq!(rates("claude-haiku-4-5[fast]"), None);
    }

    /// A run's manifest has the entries under the names that were used.
    #[test]
    fn marked_name_leads_to_its_entry_and_to_itself() {
        let list = PriceList::bundled();
        let id = &list.find("anthropic/claude-opus-5[fast,1m]").unwrap().id;
        assert_eq!(id, "claude-opus-5[fast]");
        assert_eq!(list.entry(id), list.entry("claude-opus-5"));
        assert_eq!(list.find(id).unwrap().id, *id);
    }

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
