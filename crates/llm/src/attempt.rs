//! The outcome of one attempt at a call, when a failed one is retried, and after which wait.
//!
//! Sources: RFC 9110 §10.2.3 (`Retry-After`) and §5.6.7 (dates); OpenAI's
//! `retry-after-ms`, which its own client libraries prefer; Google's
//! `google/rpc/error_details.proto`; M. Brooker, "Exponential Backoff and
//! Jitter", AWS Architecture Blog, 2015 (full jitter).

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::http::{Response, ResponseTiming, TransportError};
use crate::{Endpoint, Fault, FaultKind, Reply, WireError};

/// The outcome of one attempt. Its texts are scrubbed of the endpoint's
/// secrets, whatever the server repeats.
#[derive(Debug)]
pub(super) enum Attempt {
    /// A complete reply, with the time that it took.
    Reply(Reply, ResponseTiming),
    /// A fault reported by the provider, with the wait that the server asks for.
    Fault(Fault, Option<Duration>),
    /// A success response that holds no reply.
    Unreadable {
        /// Why no reply could be read from it.
        error: WireError,
        /// Whether its body is not JSON, such as the page of a proxy.
        page: bool,
    },
    /// No complete response arrived.
    NoResponse(TransportError),
}

impl Attempt {
    pub(super) fn of(
        response: Result<Response, TransportError>,
        endpoint: &Endpoint,
        clock: fn() -> Timestamp,
    ) -> Self {
        let response = match response {
            Ok(response) => response,
            Err(TransportError { why, sent }) => {
                let why = endpoint.scrub(&format!("{}: {why}", endpoint.origin()));
                return Attempt::NoResponse(TransportError { why, sent });
            }
        };
        match response.status {
            200..300 if response.too_long => {
                let why = format!("it has more than {} bytes", response.body.len());
                let error = WireError::NotJson { why, excerpt: "not shown".to_owned() };
                Attempt::Unreadable { error, page: false }
            }
            300..400 => Attempt::Fault(redirected(&response, endpoint), None),
            _ => decoded(response, endpoint, clock),
        }
    }
}

fn decoded(response: Response, endpoint: &Endpoint, clock: fn() -> Timestamp) -> Attempt {
    let provider = endpoint.provider();
    let error = match provider.decode(response.status, &response.body) {
        Ok(reply) => return Attempt::Reply(reply, response.taken),
        Err(error) => error,
    };
    // Scrub before decoding again: decoding shortens long messages, and could
    // keep half a key, which a search for the whole key would not find.
    let clean = endpoint.scrub(&String::from_utf8_lossy(&response.body));
    let error = provider.decode(response.status, clean.as_bytes()).err().unwrap_or(error);
    match error {
        WireError::Fault(fault) => {
            let wait = asked_wait(&response.headers, &response.body, clock);
            let message = endpoint.scrub(&fault.message);
            Attempt::Fault(Fault { message, ..fault }, wait)
        }
        WireError::NotJson { why, excerpt } => {
            let error = WireError::NotJson { why, excerpt: endpoint.scrub(&excerpt) };
            Attempt::Unreadable { error, page: true }
        }
        error @ WireError::Lacks(_) => Attempt::Unreadable { error, page: false },
    }
}

/// The fault of a redirect. Redirects are not followed, because that would send
/// the key and the text to a server that the user did not name. A redirect
/// means that the address is wrong.
fn redirected(response: &Response, endpoint: &Endpoint) -> Fault {
    let to = response.redirects_to.as_deref().unwrap_or("another address");
    let message = format!("{} redirects to {to}: name that server instead", endpoint.origin());
    Fault { kind: FaultKind::NotFound, status: response.status, message: endpoint.scrub(&message) }
}

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

/// The wait that a server asks for: in `retry-after-ms`, in `retry-after`, or in the body as
/// Google does. `None` if it makes no sense: neither a number nor a date, negative, past, or
/// beyond a week.
fn asked_wait(headers: &HeaderMap, body: &[u8], clock: fn() -> Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let sane = |wait: &Duration| *wait <= LONGEST;
    let ms = text("retry-after-ms").and_then(|text| seconds(text, 1e-3)).filter(sane);
    // A date refers to the server's own clock.
    let until = |then: Timestamp| {
        let now = text("date").and_then(date).unwrap_or_else(clock);
        Duration::try_from(then.duration_since(now)).ok()
    };
    let after = || {
        let text = text("retry-after")?;
        seconds(text, 1.0).or_else(|| date(text).and_then(until)).filter(sane)
    };
    ms.or_else(after).or_else(|| retry_info(body).filter(sane))
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
    use std::time::Instant;

    use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};
    use serde_json::json;

    use super::*;
    use crate::Key;
    use crate::providers::OpenAiChat;

    fn outcome(status: u16, body: &str) -> Attempt {
        let key = Key::new("sk-canary-0123456789").unwrap();
        let base = "http://host/v1?token=query-canary";
        let endpoint = Endpoint::new(&OpenAiChat::OPENAI, base, Some(key), None).unwrap();
        let taken = ResponseTiming { sent: Instant::now(), first_byte_ms: 1.0, total_ms: 1.0 };
        let response = Response {
            status,
            headers: HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("2"))]),
            redirects_to: None,
            body: body.as_bytes().to_vec(),
            too_long: false,
            taken,
        };
        Attempt::of(Ok(response), &endpoint, || Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn truncated_message_keeps_no_half_key() {
        // The key stands where a message of over 300 characters is cut.
        let message = format!("{}sk-canary-0123456789{}", "x".repeat(290), "y".repeat(90));
        let fault = json!({"error": {"message": message}}).to_string();
        for (status, body) in [(400, &fault), (200, &fault), (502, &message), (200, &message)] {
            let shown = format!("{:?}", outcome(status, body));
            assert!(shown.contains("xxx") && !shown.contains("sk-"), "{status}: {shown}");
        }
    }

    #[test]
    fn key_spelt_with_json_escapes_is_scrubbed() {
        let fault = r#"{"error": {"message": "\u0073k-canary-0123456789, query-\u0063anary"}}"#;
        let shown = format!("{:?}", outcome(401, fault));
        assert!(shown.contains("[key], [key]"), "{shown}");
    }

    #[test]
    fn outcomes_without_fault_tell_whether_retrying_may_help() {
        let page = |outcome| matches!(outcome, Attempt::Unreadable { page: true, .. });
        assert!(page(outcome(200, "<html>")));
        assert!(page(outcome(200, "")));
        assert!(!page(outcome(200, "{}")));
        let wait = Some(Duration::from_secs(2));
        assert!(matches!(outcome(503, "<html>"), Attempt::Fault(_, asked) if asked == wait));
        let lost = TransportError { why: "gone".to_owned(), sent: true };
        let endpoint = Endpoint::new(&OpenAiChat::OPENAI, "http://host:1/v1", None, None).unwrap();
        let lost = Attempt::of(Err(lost), &endpoint, || Timestamp::UNIX_EPOCH);
        let Attempt::NoResponse(TransportError { why, sent: true }) = lost else {
            panic!("{lost:?}")
        };
        assert_eq!(why, "http://host:1: gone");
    }

    #[test]
    fn wait_is_read_from_headers_or_body() {
        let noon = || "1994-11-06T12:00:00Z".parse().unwrap();
        let google = r#"{"error":{"code":429,"details":[{"@type":"a"},{"retryDelay":"34.5s"}]}}"#;
        let minute = "Sun, 06 Nov 1994 08:49:37 GMT";
        // `retry-after-ms`, `retry-after`, `date`, the body, and the seconds to wait.
        for (ms, after, date, body, expected) in [
            ("", "3", "", "", Some(3.0)),
            ("", " 0.25 ", "", "", Some(0.25)),
            ("", "0", "", "", Some(0.0)),
            ("250", "3", "", "", Some(0.25)),
            ("soon", "3", "", "", Some(3.0)),
            ("", "", "", "", None),
            // Dates in any form, by the server's clock, else by the one that was passed.
            ("", "Sun, 06 Nov 1994 08:50:37 GMT", minute, "", Some(60.0)),
            ("", "Sunday, 06-Nov-94 08:50:37 GMT", minute, "", Some(60.0)),
            ("", "Sun Nov  6 08:50:37 1994", minute, "", Some(60.0)),
            ("", "Sun, 06 Nov 1994 12:01:00 GMT", "", "", Some(60.0)),
            ("", "", "", google, Some(34.5)),
            ("", "3", "", google, Some(3.0)),
            // What makes no sense is ignored; a week is the longest.
            ("", "604800", "", "", Some(604_800.0)),
            ("", "604801", "", "", None),
            ("", "Sun, 06 Nov 1994 11:59:59 GMT", "", "", None),
            ("-1", "-1", "", "", None),
            ("", "-0.5", "", "", None),
            ("", "NaN", "", "", None),
            ("", "inf", "", "", None),
            ("", "1e300", "", "", None),
            ("", "tomorrow", "", "", None),
            ("", "Sun, 06 Nov 1994", "", "", None),
        ] {
            let names = [("retry-after-ms", ms), ("retry-after", after), ("date", date)];
            let given = names.into_iter().filter(|(_, value)| !value.is_empty());
            let given = given.map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            let wait = asked_wait(&given.collect(), body.as_bytes(), noon);
            assert_eq!(wait.map(|wait| wait.as_secs_f64()), expected, "{ms} {after} {date} {body}");
        }
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
