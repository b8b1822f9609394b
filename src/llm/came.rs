//! What came of one attempt.

use std::time::Duration;

use jiff::Timestamp;

use super::http::{Lost, Response, Taken};
use super::retry::RetryAfter;
use super::{Endpoint, Fault, FaultKind, Reply, WireError};

/// What came of one attempt. No text of it tells a secret of the endpoint,
/// whatever the server repeats.
#[derive(Debug)]
pub(super) enum Came {
    /// A reply.
    Reply(Reply, Taken),
    /// A fault, with the wait that the server asks for.
    Fault(Fault, Option<Duration>),
    /// A success that holds no reply.
    Unreadable {
        /// What is wrong with it.
        error: WireError,
        /// Whether it is no JSON, such as the page of a proxy.
        page: bool,
    },
    /// No whole response.
    Lost {
        /// What happened.
        why: String,
        /// Whether the request had been written.
        sent: bool,
    },
}

impl Came {
    pub(super) fn of(
        response: Result<Response, Lost>,
        endpoint: &Endpoint,
        clock: fn() -> Timestamp,
    ) -> Self {
        let response = match response {
            Ok(response) => response,
            Err(Lost { why, sent }) => {
                let why = endpoint.scrub(&format!("{}: {why}", endpoint.origin()));
                return Came::Lost { why, sent };
            }
        };
        match response.status {
            200..300 if response.too_long => {
                let why = format!("it has more than {} bytes", response.body.len());
                let error = WireError::NotJson { why, excerpt: "not shown".to_owned() };
                Came::Unreadable { error, page: false }
            }
            300..400 => Came::Fault(redirected(&response, endpoint), None),
            _ => decoded(response, endpoint, clock),
        }
    }
}

fn decoded(response: Response, endpoint: &Endpoint, clock: fn() -> Timestamp) -> Came {
    let provider = endpoint.provider();
    let error = match provider.decode(response.status, &response.body) {
        Ok(reply) => return Came::Reply(reply, response.taken),
        Err(error) => error,
    };
    // Scrubbed before it is read once more: a message that is cut short could
    // keep half a key, which no search for a whole one finds.
    let clean = endpoint.scrub(&String::from_utf8_lossy(&response.body));
    let error = provider.decode(response.status, clean.as_bytes()).err().unwrap_or(error);
    match error {
        WireError::Fault(fault) => {
            let wait = RetryAfter {
                ms: response.retry_after_ms.as_deref(),
                after: response.retry_after.as_deref(),
                date: response.date.as_deref(),
                body: &response.body,
            };
            let message = endpoint.scrub(&fault.message);
            Came::Fault(Fault { message, ..fault }, wait.wait(clock))
        }
        WireError::NotJson { why, excerpt } => {
            let error = WireError::NotJson { why, excerpt: endpoint.scrub(&excerpt) };
            Came::Unreadable { error, page: true }
        }
        error @ WireError::Lacks(_) => Came::Unreadable { error, page: false },
    }
}

/// A redirect is not followed: it would carry the key, and the text, to a
/// server that nobody named. It says that the address is wrong.
fn redirected(response: &Response, endpoint: &Endpoint) -> Fault {
    let to = response.redirects_to.as_deref().unwrap_or("another address");
    let message = format!("{} redirects to {to}: name that server instead", endpoint.origin());
    Fault { kind: FaultKind::NotFound, status: response.status, message: endpoint.scrub(&message) }
}
