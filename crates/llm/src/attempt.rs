//! The outcome of one attempt at a call.

use std::time::Duration;

use jiff::Timestamp;

use super::http::{Response, ResponseTiming, TransportError};
use super::{Endpoint, Fault, FaultKind, Reply, WireError};

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
    NoResponse {
        /// The error, in words.
        why: String,
        /// Whether the request had been written to the connection.
        sent: bool,
    },
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
                return Attempt::NoResponse { why, sent };
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
            let wait = response.retry_after.wait(&response.body, clock);
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;
    use crate::Key;
    use crate::providers::OpenAiChat;
    use crate::retry::RetryAfter;

    fn outcome(status: u16, body: &str) -> Attempt {
        let key = Key::new("sk-canary-0123456789").unwrap();
        let base = "http://host/v1?token=query-canary";
        let endpoint = Endpoint::new(&OpenAiChat::OPENAI, base, Some(key), None).unwrap();
        let taken = ResponseTiming { sent: Instant::now(), first_byte_ms: 1.0, total_ms: 1.0 };
        let response = Response {
            status,
            retry_after: RetryAfter { after: Some("2".to_owned()), ..RetryAfter::default() },
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
        let Attempt::NoResponse { why, sent: true } = lost else { panic!("{lost:?}") };
        assert_eq!(why, "http://host:1: gone");
    }
}
