//! When a failed attempt is retried, and after which wait.
//!
//! Sources: RFC 9110 §10.2.3 (`Retry-After`) and §5.6.7 (dates); OpenAI's
//! `retry-after-ms`, which its own client libraries prefer; Google's
//! `google/rpc/error_details.proto`; M. Brooker, "Exponential Backoff and
//! Jitter", AWS Architecture Blog, 2015 (full jitter).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// Longest wait that is believed: daily quotas are the longest that providers
/// have. A longer one is taken for a mistake.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The number of attempts of a call, and the waits between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Largest number of attempts of one call.
    pub attempts: u32,
    /// Longest wait before the second attempt; it doubles with each further
    /// one.
    pub first_wait: Duration,
    /// The bound of the wait, at which it stops doubling.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// Five attempts, with waits of at most 0.5, 1, 2 and 4 s between them. The
    /// OpenAI and Anthropic libraries begin at 0.5 s too, and make three.
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// The wait after `attempts` attempts: any time up to the bound (full
    /// jitter), so that calls that failed together do not return together. It
    /// is drawn with the seed `chance`: equal bytes, equal wait.
    pub(super) fn backoff(&self, attempts: u32, chance: &[u8]) -> Duration {
        let doubled = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        let bound = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
        let mut hasher = blake3::Hasher::new();
        hasher.update(chance).update(&attempts.to_le_bytes());
        let drawn: [u8; 4] = hasher.finalize().as_bytes()[..4].try_into().expect("four bytes");
        bound.mul_f64(f64::from(u32::from_le_bytes(drawn)) / f64::from(u32::MAX))
    }
}

/// The headers of a response that say when to come back, where they are text.
#[derive(Clone, Debug, Default)]
pub(super) struct RetryAfter {
    /// The `retry-after-ms` header.
    pub(super) ms: Option<String>,
    /// The `retry-after` header.
    pub(super) after: Option<String>,
    /// The `date` header: a date to come back at refers to the server's own clock.
    pub(super) date: Option<String>,
}

impl RetryAfter {
    /// The wait that they, or the body as Google's does, ask for; `None` if it
    /// makes no sense: neither a number nor a date, negative, past, or beyond a
    /// week.
    pub(super) fn wait(&self, body: &[u8], clock: fn() -> Timestamp) -> Option<Duration> {
        let sane = |wait: &Duration| *wait <= LONGEST;
        let ms = self.ms.as_deref().and_then(|text| seconds(text, 1e-3)).filter(sane);
        let after = || {
            let text = self.after.as_deref()?;
            seconds(text, 1.0).or_else(|| self.until(text, clock)).filter(sane)
        };
        ms.or_else(after).or_else(|| retry_info(body).filter(sane))
    }

    fn until(&self, text: &str, clock: fn() -> Timestamp) -> Option<Duration> {
        let then = date(text)?;
        let now = self.date.as_deref().and_then(date).unwrap_or_else(clock);
        Duration::try_from(then.duration_since(now)).ok()
    }
}

/// `retryDelay` of a `google.rpc.RetryInfo` among the details of an error: a
/// duration in seconds (`34.5s`).
fn retry_info(body: &[u8]) -> Option<Duration> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let mut details = body["error"]["details"].as_array()?.iter();
    let delay = details.find_map(|detail| detail["retryDelay"].as_str())?;
    seconds(delay.strip_suffix('s')?, 1.0)
}

/// A number of units as a duration.
fn seconds(text: &str, unit: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse::<f64>().ok()? * unit).ok()
}

fn date(text: &str) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(text.trim()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> Timestamp {
        "1994-11-06T12:00:00Z".parse().unwrap()
    }

    fn wait(ms: Option<&str>, after: Option<&str>, date: Option<&str>) -> Option<Duration> {
        let [ms, after, date] = [ms, after, date].map(|text| text.map(str::to_owned));
        RetryAfter { ms, after, date }.wait(b"", noon)
    }

    #[test]
    fn seconds_may_be_decimal_and_milliseconds_take_precedence() {
        let secs = |secs| Some(Duration::from_secs_f64(secs));
        assert_eq!(wait(None, Some("3"), None), secs(3.0));
        assert_eq!(wait(None, Some(" 0.25 "), None), secs(0.25));
        assert_eq!(wait(None, Some("0"), None), secs(0.0));
        assert_eq!(wait(Some("250"), Some("3"), None), secs(0.25));
        assert_eq!(wait(Some("soon"), Some("3"), None), secs(3.0));
        assert_eq!(wait(None, None, None), None);
    }

    #[test]
    fn http_dates_in_any_form_use_servers_clock() {
        let minute = Some(Duration::from_secs(60));
        for date in [
            "Sun, 06 Nov 1994 08:50:37 GMT",
            "Sunday, 06-Nov-94 08:50:37 GMT",
            "Sun Nov  6 08:50:37 1994",
        ] {
            assert_eq!(wait(None, Some(date), Some("Sun, 06 Nov 1994 08:49:37 GMT")), minute);
        }
        // Without one, by the clock that was passed.
        assert_eq!(wait(None, Some("Sun, 06 Nov 1994 12:01:00 GMT"), None), minute);
    }

    #[test]
    fn google_tells_the_wait_in_the_body() {
        let body = br#"{"error":{"code":429,"details":[{"@type":"a"},{"retryDelay":"34.5s"}]}}"#;
        let none = RetryAfter::default();
        assert_eq!(none.wait(body, noon), Some(Duration::from_secs_f64(34.5)));
        let after = RetryAfter { after: Some("3".to_owned()), ..none };
        assert_eq!(after.wait(body, noon), Some(Duration::from_secs(3)));
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        for text in
            ["-1", "-0.5", "NaN", "inf", "1e300", "604801", "tomorrow", "", "Sun, 06 Nov 1994"]
        {
            assert_eq!(wait(None, Some(text), None), None, "{text}");
            assert_eq!(wait(Some("-1"), Some(text), None), None, "{text}");
        }
        let past = "Sun, 06 Nov 1994 11:59:59 GMT";
        assert_eq!(wait(None, Some(past), None), None);
        assert_eq!(wait(None, Some("604800"), None), Some(LONGEST));
    }

    #[test]
    fn backoff_is_random_up_to_a_doubling_bound() {
        let patience = RetryPolicy {
            attempts: 9,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(10),
        };
        for (attempts, bound) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (200, 10)] {
            let bound = Duration::from_secs(bound);
            let waits: Vec<_> =
                (0..400_u32).map(|i| patience.backoff(attempts, &i.to_le_bytes())).collect();
            assert!(waits.iter().all(|wait| *wait <= bound));
            let mean = waits.iter().sum::<Duration>() / 400;
            // Uniform: half the bound, ± 4 standard errors of 0.289 / 20.
            let share = mean.as_secs_f64() / bound.as_secs_f64();
            assert!((share - 0.5).abs() < 0.058, "{attempts}: {share}");
        }
    }

    #[test]
    fn equal_chances_wait_equally_long() {
        let patience = RetryPolicy::default();
        assert_eq!(patience.backoff(2, b"a"), patience.backoff(2, b"a"));
        assert_ne!(patience.backoff(2, b"a"), patience.backoff(2, b"b"));
        assert_ne!(patience.backoff(2, b"a"), patience.backoff(3, b"a"));
    }
}
