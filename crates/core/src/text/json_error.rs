//! What is wrong with JSON, in words for those who wrote it.

use std::sync::LazyLock;

use regex::Regex;

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
