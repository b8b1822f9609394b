//! Texts and values of JSON as what a format expects.

use serde::de::DeserializeOwned;

use super::error::Problem;

/// Whether `text` is JSON that ends too early.
pub(crate) fn is_cut(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|e| e.is_eof())
}

/// Parses one line as `T`; the path of a value with the wrong type is
/// determined only if there is an error.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|_| {
        let reader = &mut serde_json::Deserializer::from_str(text);
        match serde_path_to_error::deserialize::<_, T>(reader) {
            Err(e) => problem_of(&e),
            Ok(_) => Problem::Syntax { message: "something follows the record".to_owned() },
        }
    })
}

/// Reads a part of a document as `T`.
pub(crate) fn from_json<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|e| problem_of(&e))
}

/// The problem that an error of the parser is.
pub(super) fn problem_of(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let inner = error.inner();
    let message = inner.to_string();
    if inner.is_data() {
        let at = error.path().to_string();
        Problem::Shape { at, message }
    } else {
        Problem::Syntax { message }
    }
}
