//! What an error of a store means.

use std::error::Error as StdError;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use super::{DestinationError, Why};
use crate::text::one_line;

/// What was asked of the store when the error came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To be set up.
    Connect,
    /// Which objects there are: it answers that there are none, unless the
    /// bucket does not exist.
    List,
    /// For an object, or for its size.
    Read,
    /// To write an object.
    Write,
}

/// Servers of a cloud that give its own machines their keys.
const KEY_SERVERS: [&str; 3] = ["169.254.169.254", "169.254.170.2", "metadata.google.internal"];

/// The error as recap says it.
pub(super) fn told(at: String, asked: Asked, error: &Error) -> DestinationError {
    let why = why(asked, error);
    let detail = match why {
        // What the machine's own server of keys said helps nobody.
        Why::NoKey | Why::PlainHttp => String::new(),
        _ => detail(error),
    };
    DestinationError::Store { at, why, detail }
}

fn why(asked: Asked, error: &Error) -> Why {
    let all = chain(error).map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let transport = transport(error);
    if KEY_SERVERS.iter().any(|server| all.contains(server)) {
        return Why::NoKey;
    }
    match (error, asked, transport) {
        (Error::NotFound { .. }, Asked::List | Asked::Write, _) => Why::NoBucket,
        (Error::NotFound { .. }, ..) => Why::Gone,
        (Error::Unauthenticated { .. } | Error::PermissionDenied { .. }, ..) => Why::Denied,
        (Error::NotImplemented { .. } | Error::NotSupported { .. }, Asked::Write, _) => {
            Why::NoCondition
        }
        (_, Asked::Connect, _) => Why::Settings,
        // The scheme of an address is looked at before anything is sent.
        (_, _, Some(_)) if all.contains("URL scheme is not allowed") => Why::PlainHttp,
        (_, _, Some(_)) => Why::Unreachable,
        _ => match status(&all) {
            Some(401 | 403) => Why::Denied,
            Some(404) if asked == Asked::Read => Why::Gone,
            Some(404) => Why::NoBucket,
            Some(408 | 429 | 500 | 502..=599) => Why::Unreachable,
            Some(501) if asked == Asked::Write => Why::NoCondition,
            _ => Why::Other,
        },
    }
}

/// Whether the connection was lost after the request was sent, so that nobody
/// knows what became of it.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(transport(error), Some(HttpErrorKind::Interrupted | HttpErrorKind::Timeout))
}

/// An error with those that caused it.
fn chain<'a>(error: &'a Error) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let next = |error: &&'a (dyn StdError + 'static)| (*error).source();
    std::iter::successors(Some(error as &(dyn StdError + 'static)), next)
}

/// What was wrong with the connection, if that was what was wrong.
fn transport(error: &Error) -> Option<HttpErrorKind> {
    chain(error).find_map(|error| error.downcast_ref::<HttpError>()).map(HttpError::kind)
}

/// The status of a server's answer, as `object_store` writes it.
fn status(all: &str) -> Option<u16> {
    let (_, rest) = all.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// The shortest text that says what happened: the code and the message of an
/// answer, as S3, Google and Azure write them, else the first cause.
fn detail(error: &Error) -> String {
    let cause = chain(error).last().map_or_else(String::new, ToString::to_string);
    let element = |name: &str| {
        let (_, rest) = cause.split_once(&format!("<{name}>"))?;
        rest.split_once("</").map(|(text, _)| text.trim().to_owned())
    };
    let (code, message) = (element("Code"), element("Message"));
    let said = match (code, message.filter(|message| !message.is_empty())) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code,
        (None, _) => cause,
    };
    let words: Vec<&str> = said.split_whitespace().collect();
    one_line(&words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error whose text this is, with this cause.
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Says(String, #[source] Option<HttpError>);

    fn generic(text: &str, cause: Option<HttpErrorKind>) -> Error {
        let cause = cause.map(|kind| {
            HttpError::new(kind, std::io::Error::other("connection refused by the network"))
        });
        Error::Generic { store: "S3", source: Box::new(Says(text.to_owned(), cause)) }
    }

    fn answered(status: &str, body: &str) -> Error {
        generic(&format!("Server returned non-2xx status code: {status}: {body}"), None)
    }

    fn missing() -> Error {
        Error::NotFound { path: "a".to_owned(), source: "404".into() }
    }

    fn unknown() -> Error {
        Error::NotImplemented { operation: "put".to_owned(), implementer: "S3".to_owned() }
    }

    #[test]
    fn the_kind_of_a_problem_follows_from_the_answer_and_the_connection() {
        let connect = Some(HttpErrorKind::Connect);
        let lost = Some(HttpErrorKind::Interrupted);
        let keys = "Error performing PUT http://169.254.169.254/latest/api/token in 1s";
        for (asked, error, expected) in [
            (Asked::List, answered("403 Forbidden", ""), Why::Denied),
            (Asked::Read, answered("401 Unauthorized", ""), Why::Denied),
            (Asked::List, answered("404 Not Found", ""), Why::NoBucket),
            (Asked::List, missing(), Why::NoBucket),
            (Asked::Read, missing(), Why::Gone),
            (Asked::Write, missing(), Why::NoBucket),
            (Asked::Write, answered("503 Slow Down", ""), Why::Unreachable),
            (Asked::Write, answered("501 Not Implemented", ""), Why::NoCondition),
            (Asked::Write, unknown(), Why::NoCondition),
            (Asked::Write, answered("400 Bad Request", ""), Why::Other),
            (Asked::List, generic(keys, connect), Why::NoKey),
            (Asked::List, answered("403 Forbidden", keys), Why::NoKey),
            (Asked::List, generic("GET http://127.0.0.1/", connect), Why::Unreachable),
            (Asked::Write, generic("PUT http://127.0.0.1/", lost), Why::Unreachable),
            (Asked::Connect, generic("failed to parse", None), Why::Settings),
            (Asked::Read, generic("who knows", None), Why::Other),
        ] {
            assert_eq!(why(asked, &error), expected, "{asked:?}: {error}");
        }
        assert!(is_lost(&generic("", lost)) && !is_lost(&generic("", connect)));
    }

    #[test]
    fn a_problem_is_told_in_one_line_with_the_words_of_the_server() {
        let told = |error: &Error| told("s3://b/a".to_owned(), Asked::List, error).to_string();
        let xml = "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message> No\nentry \
                   </Message><RequestId>7</RequestId></Error>";
        let denied = told(&answered("403 Forbidden", xml));
        assert_eq!(denied, "s3://b/a: access is denied (AccessDenied: No entry)");
        let refused = told(&generic("GET", Some(HttpErrorKind::Connect)));
        assert_eq!(
            refused,
            "s3://b/a: the server does not answer, or was gone in the middle (connection refused \
             by the network)"
        );
    }
}
