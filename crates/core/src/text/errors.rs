//! What is wrong with JSON, in words for those who wrote it.

use std::io::{Error, ErrorKind};
use std::sync::LazyLock;

use regex::Regex;
use serde::de::DeserializeOwned;

/// What a parser says, and what it means: it names types of this program and words of its own.
static WORDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let words = [
        (r" at line \d+ column \d+$", ""),
        (r"data did not match any variant of untagged enum \w+", "it has none of the known shapes"),
        (
            r"expected (?:struct variant|struct) [\w:<>]+(?: with \d+ elements?)?",
            "expected an object",
        ),
        (r"expected (?:internally tagged |adjacently tagged )enum [\w:<>]+", "expected an object"),
        (r"expected (?:enum|newtype struct|unit struct) [\w:<>]+", "expected another value"),
        (
            r"expected (?:tuple struct|tuple variant) [\w:<>]+(?: with \d+ elements?)?",
            "expected a list",
        ),
        (r"expected a map\b", "expected an object"),
        (r"expected a sequence\b|expected a tuple of size \d+", "expected a list"),
        (r"expected u(?:8|16|32|64|128|size)\b", "expected a whole number from 0"),
        (r"expected i(?:8|16|32|64|128|size)\b", "expected a whole number"),
        (r"expected f(?:32|64)\b", "expected a number"),
        (r"^invalid type: map\b", "invalid type: object"),
        (r"^invalid type: sequence\b", "invalid type: list"),
        (r"^invalid type: unit value\b", "invalid type: null"),
    ];
    let compiled = words.map(|(form, meant)| (Regex::new(form).expect("it is valid"), meant));
    compiled.into()
});

/// What a parser of JSON found wrong, without a position and without names of types of this
/// program. Whoever shows it says where it is.
pub fn json_error(message: &str) -> String {
    WORDS.iter().fold(message.to_owned(), |text, (form, meant)| {
        form.replace_all(&text, *meant).into_owned()
    })
}

/// Reads a JSON text as `T`. An error is its place, as of [`json_place`], and its problem.
///
/// # Errors
/// The text is no JSON, or has another shape.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, (String, String)> {
    serde_json::from_str(text)
        .map_err(|error| (json_place(&error, text), json_error(&error.to_string())))
}

/// The keys and indices of the value at which a parser stopped in a text of JSON, such as
/// `message.content[0].type`; `.` is the whole document.
pub fn json_place(error: &serde_json::Error, text: &str) -> String {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    path_at(&text.as_bytes()[..text.len().min(before + error.column())])
}

/// The keys and indices of the value in which a text of JSON stops.
fn path_at(text: &[u8]) -> String {
    /// An object with the key, or a list with the index, of the value that is read.
    enum Open {
        Object(Option<String>),
        List(usize),
    }
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let from = at;
        at += 1;
        match byte {
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::List(0)),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Open::Object(key)) => *key = None,
                Some(Open::List(index)) => *index += 1,
                None => {}
            },
            b'"' => {
                while text.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if let Some(Open::Object(key @ None)) = open.last_mut() {
                    *key = text.get(from..at).and_then(|key| serde_json::from_slice(key).ok());
                }
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for part in &open {
        match part {
            Open::Object(Some(key)) if path.is_empty() => path.push_str(key),
            Open::Object(Some(key)) => path.extend([".", key]),
            Open::Object(None) => {}
            Open::List(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

/// What to do about an error of reading or writing, by its kind; `otherwise`
/// where the kind says nothing.
pub fn io_remedy(error: &Error, otherwise: &'static str) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room on that disk and give the same command again; `bench` with --out and \
             --resume goes on with what is finished"
        }
        ErrorKind::FileTooLarge => {
            "this system limits the size of files (`ulimit -f`): raise the limit or write elsewhere"
        }
        ErrorKind::PermissionDenied => "give a place that you may read and write",
        ErrorKind::ReadOnlyFilesystem => "that disk is read-only: give another place",
        ErrorKind::NotADirectory => "a part of that path is a file: give the path of a folder",
        ErrorKind::IsADirectory => "that is a folder: give the path of a file",
        _ => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only errors are read")]
    struct Wire {
        count: u64,
        share: Option<f64>,
        list: Option<Vec<u8>>,
        either: Option<Either>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only errors are read")]
    enum Either {
        Number(u64),
        Flag(bool),
    }

    #[test]
    fn no_type_and_no_position_is_named() {
        for (text, expected) in [
            ("[1", "EOF while parsing a list"),
            ("5", "invalid type: integer `5`, expected an object"),
            ("{}", "missing field `count`"),
            (r#"{"count": -1}"#, "invalid value: integer `-1`, expected a whole number from 0"),
            (r#"{"count": {}}"#, "invalid type: object, expected a whole number from 0"),
            (r#"{"count": 1, "share": "x"}"#, "invalid type: string \"x\", expected a number"),
            (r#"{"count": 1, "list": {}}"#, "invalid type: object, expected a list"),
            (r#"{"count": 1, "either": "x"}"#, "it has none of the known shapes"),
        ] {
            let error = serde_json::from_str::<Wire>(text).unwrap_err();
            assert_eq!(json_error(&error.to_string()), expected, "{text}");
        }
    }
}

#[cfg(test)]
mod io_remedy_tests {
    use super::*;

    #[test]
    fn remedy_fits_the_cause() {
        for (kind, remedy) in [
            (ErrorKind::StorageFull, "make room"),
            (ErrorKind::FileTooLarge, "ulimit"),
            (ErrorKind::PermissionDenied, "may read and write"),
            (ErrorKind::ReadOnlyFilesystem, "read-only"),
            (ErrorKind::NotADirectory, "is a file"),
            (ErrorKind::NotFound, "otherwise"),
        ] {
            let found = io_remedy(&Error::from(kind), "otherwise");
            assert!(found.contains(remedy), "{kind}: {found}");
        }
    }
}
