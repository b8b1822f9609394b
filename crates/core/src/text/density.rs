//! How much memory JSON takes once it is parsed, estimated from its text.
//!
//! A value takes some hundred bytes and may be written with two, so that a few
//! megabytes of tiny ones could fill any memory.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::json_error;

/// Bytes that a parsed object takes before it has a member; the same of a list,
/// of each further value, and of a name.
pub const OBJECT: u64 = 400;
pub const LIST: u64 = 300;
pub const VALUE: u64 = 110;
pub const NAME: u64 = 56;

/// Bytes that parsed values may take besides the length of their text, which stands
/// in memory twice while they are read: with the program this stays below three
/// times the text and 100 MB.
const FREE: u64 = 50 << 20;

/// Texts that are shorter than this are never too dense.
const SHORT: usize = (FREE / (OBJECT + VALUE)) as usize;

/// Bytes that the parsed values of a JSON text take, without their texts.
pub fn weight(json: &[u8]) -> u64 {
    let mut rest = json;
    let mut sum = 0;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        sum += match first {
            b'"' => {
                rest = behind_string(rest);
                0
            }
            b'{' => OBJECT,
            // An empty list takes no more than its place.
            b'[' if rest.trim_ascii_start().first() == Some(&b']') => 0,
            b'[' => LIST,
            b',' => VALUE,
            b':' => NAME,
            _ => 0,
        };
    }
    sum
}

/// What follows a string, of which the opening quote was read.
fn behind_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let is_end = rest[at] == b'"';
        rest = rest.get(at + if is_end { 1 } else { 2 }..).unwrap_or_default();
        if is_end {
            return rest;
        }
    }
    &[]
}

/// Bytes that the parsed values of so many bytes of text may take.
pub fn allowance(text: u64) -> u64 {
    text.saturating_add(FREE)
}

/// Whether the values of a JSON text would take more memory than they may.
pub fn is_dense(json: &[u8]) -> bool {
    json.len() > SHORT && weight(json) > allowance(json.len() as u64)
}

/// Parses JSON that a program wrote; the error says what is wrong with it.
///
/// # Errors
///
/// It is no JSON, or its values would take more memory than they may.
pub fn parsed(json: &[u8]) -> Result<Json, String> {
    if is_dense(json) {
        let bytes = json.len();
        return Err(format!("holds too many small values in {bytes} bytes of JSON"));
    }
    serde_json::from_slice(json).map_err(|e| format!("is not JSON: {}", json_error(&e.to_string())))
}

/// The fields of a JSON object without the field `name`, which is skipped; `None` where the text is
/// not an object, or its values would take more memory than [`parsed`] allows.
pub fn object_without(json: &str, name: &str) -> Option<Json> {
    if is_dense(json.as_bytes()) {
        return None;
    }
    let mut json = serde_json::Deserializer::from_str(json);
    let fields = json.deserialize_map(Without(name)).ok()?;
    json.end().ok().map(|()| Json::Object(fields))
}

/// Reads an object without its field of this name.
struct Without<'a>(&'a str);

impl<'de> Visitor<'de> for Without<'_> {
    type Value = Map<String, Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == self.0 {
                map.next_value::<IgnoredAny>()?;
            } else {
                fields.insert(name, map.next_value()?);
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_weight_and_string_contents_none() {
        assert_eq!(
            weight(br#"{"a": [1, 2], "b": "[{,:\"{[,:"}"#),
            OBJECT + LIST + 2 * VALUE + 2 * NAME
        );
        assert_eq!(weight(b""), 0);
        assert_eq!(weight(b"[[ ], {}]"), LIST + VALUE + OBJECT);
        assert_eq!(weight(b"\"\\"), 0);
        assert_eq!(weight(b"\"\\\\\",["), VALUE + LIST);
    }

    /// A list grows by doubling: its last place may be the only one that is used.
    #[test]
    fn a_value_takes_no_more_than_is_reckoned() {
        let value = size_of::<Json>() as u64;
        assert!(value <= VALUE && 4 * value <= LIST, "{value}");
        assert!(4 * (value + size_of::<String>() as u64 + 8) <= OBJECT + NAME, "{value}");
    }

    #[test]
    fn only_long_texts_of_tiny_values_are_dense() {
        let dense = |json: String| is_dense(json.as_bytes());
        let objects = |n: usize| format!("[{}1]", "{\"a\":1},".repeat(n));
        assert!(!dense(objects(50_000)));
        assert!(dense(objects(1_000_000)));
        assert!(dense(format!("[{}1]", "[],".repeat(1_000_000))));
        assert!(dense(format!("[{}1]", "1,".repeat(4_000_000))));
        let message = format!("{{\"role\":\"user\",\"content\":\"{}\"}},", "word ".repeat(100));
        assert!(!dense(format!("[{}1]", message.repeat(100_000))));
        assert!(!dense(format!("\"{}\"", "[],".repeat(1_000_000))));
    }

    #[test]
    fn what_a_program_wrote_is_parsed_or_described() {
        assert_eq!(parsed(b"[1]"), Ok(serde_json::json!([1])));
        assert!(parsed(b"[1").unwrap_err().starts_with("is not JSON: "));
        let said = parsed(format!("[{}1]", "{},".repeat(1_000_000)).as_bytes()).unwrap_err();
        assert_eq!(said, "holds too many small values in 3000003 bytes of JSON");
    }

    #[test]
    fn one_field_is_left_out_at_the_top_alone() {
        let without = |json: &str| object_without(json, "b").map(|fields| fields.to_string());
        let text = r#"{"a":{"b":1},"b":{"c":["\"b\":"]},"c":"\"b\":2"}"#;
        assert_eq!(without(text).unwrap(), r#"{"a":{"b":1},"c":"\"b\":2"}"#);
        for other in ["[1]", r#"{"a":1"#, "{} {}", r#"{"b":[}"#] {
            assert_eq!(without(other), None, "{other}");
        }
        assert_eq!(without(&format!("{{\"b\":[{}1]}}", "{},".repeat(1_000_000))), None);
    }
}
