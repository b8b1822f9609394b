//! How much memory JSON takes once it is parsed, estimated from its text.
//!
//! A value takes some hundred bytes and may be written with two, so that a few
//! megabytes of tiny ones could fill any memory.

use serde_json::Value as Json;

use super::error::Problem;

/// Bytes that a parsed object takes before it has a member; the same of a list,
/// of each further value, and of a name.
const OBJECT: u64 = 400;
const LIST: u64 = 300;
const VALUE: u64 = 110;
const NAME: u64 = 56;

/// Parsed values may take this many times the bytes of their text, which stands in
/// memory twice while they are read …
const TIMES: u64 = 1;
/// … and so many bytes besides: with the program this stays below three times the
/// text and 100 MB.
const FREE: u64 = 52 << 20;

/// Records of at most this weight a byte, or of fewer bytes, are not counted
/// together: what readers keep of them is little, and sessions have any number.
const USUAL: (u64, u64) = (16, 1024);

/// Bytes that a message or a record takes besides its text while a session is put
/// together: 550 to 720 of formats with one a line.
pub(super) const KEPT: u64 = 640;

/// Bytes that a session takes in the list of all of them, where it is handed on.
const LISTED: u64 = 800;

/// Texts that are shorter than this are never too dense.
const SHORT: usize = (FREE / (OBJECT + VALUE)) as usize;

/// Bytes that the parsed values of a JSON text take, without their texts.
pub(super) fn weight(json: &[u8]) -> u64 {
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

/// Whether the values of a JSON text would take more memory than they may.
pub(super) fn is_dense(json: &str) -> bool {
    json.len() > SHORT && Held::default().add(json.len() as u64, weight(json.as_bytes())).is_err()
}

/// What is held of several JSON values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    text: u64,
    weight: u64,
}

/// More memory than the text allows.
#[derive(Debug)]
pub(super) struct TooDense {
    bytes: u64,
}

impl From<TooDense> for Problem {
    fn from(TooDense { bytes }: TooDense) -> Problem {
        Problem::TooDense { bytes }
    }
}

impl Held {
    /// Adds a value with so many bytes of text that takes so many.
    ///
    /// # Errors
    /// All take more than they may; then it is not added.
    pub(super) fn add(&mut self, text: u64, weight: u64) -> Result<(), TooDense> {
        let sum = Held {
            text: self.text.saturating_add(text),
            weight: self.weight.saturating_add(weight),
        };
        if sum.weight > TIMES.saturating_mul(sum.text).saturating_add(FREE) {
            return Err(TooDense { bytes: sum.text });
        }
        *self = sum;
        Ok(())
    }

    /// Adds the text of a record.
    ///
    /// # Errors
    /// As [`Held::add`].
    pub(super) fn add_record(&mut self, json: &[u8]) -> Result<(), TooDense> {
        let (text, weight) = (json.len() as u64, weight(json));
        let is_usual = weight <= USUAL.0 * text || text < USUAL.1;
        self.add(text, if is_usual { 0 } else { weight })
    }

    /// Adds a session that was handed on: its text is not held, so that all three
    /// times its bytes may be taken.
    ///
    /// # Errors
    /// As [`Held::add`].
    pub(super) fn add_listed(&mut self, text: usize) -> Result<(), TooDense> {
        self.add(3 * text as u64, LISTED)
    }

    /// Adds a parsed value.
    ///
    /// # Errors
    /// As [`Held::add`].
    pub(super) fn add_value(&mut self, value: &Json) -> Result<(), TooDense> {
        let mut own = Held::default();
        own.measure(value);
        self.add(own.text, own.weight)
    }

    fn measure(&mut self, value: &Json) {
        match value {
            Json::String(text) => self.text += text.len() as u64 + 2,
            Json::Array(items) => {
                let own = if items.is_empty() { 0 } else { LIST };
                (self.text, self.weight) = (self.text + 2, self.weight + own);
                items.iter().for_each(|item| self.member(item));
            }
            Json::Object(fields) => {
                (self.text, self.weight) = (self.text + 2, self.weight + OBJECT);
                for (name, value) in fields {
                    (self.text, self.weight) =
                        (self.text + name.len() as u64 + 3, self.weight + NAME);
                    self.member(value);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => self.text += 4,
        }
    }

    fn member(&mut self, value: &Json) {
        (self.text, self.weight) = (self.text + 1, self.weight + VALUE);
        self.measure(value);
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
        let objects = |n: usize| format!("[{}1]", "{\"a\":1},".repeat(n));
        assert!(!is_dense(&objects(50_000)));
        assert!(is_dense(&objects(1_000_000)));
        assert!(is_dense(&format!("[{}1]", "[],".repeat(1_000_000))));
        assert!(is_dense(&format!("[{}1]", "1,".repeat(4_000_000))));
        let message = format!("{{\"role\":\"user\",\"content\":\"{}\"}},", "word ".repeat(100));
        assert!(!is_dense(&format!("[{}1]", message.repeat(100_000))));
        assert!(!is_dense(&format!("\"{}\"", "[],".repeat(1_000_000))));
    }

    #[test]
    fn usual_records_are_unlimited_and_dense_ones_refused() {
        let (usual, dense) = (br#"{"role":"user","content":"go"}"#, b"[1],".repeat(1 << 10));
        let mut held = Held::default();
        assert!((0..1_000_000).all(|_| held.add_record(usual).is_ok()));
        let mut held = Held::default();
        assert!((0..1_000).any(|_| held.add_record(&dense).is_err()));
    }

    #[test]
    fn parsed_values_are_weighed_together() {
        let mut held = Held::default();
        let value: Json = serde_json::from_str(&format!("[{}1]", "[],".repeat(40_000))).unwrap();
        let taken = (0..100).take_while(|_| held.add_value(&value).is_ok()).count();
        // 40,000 further values and a list, less their text, go 12 times into the free bytes.
        assert_eq!(taken, 12);
        assert!(held.add_value(&Json::String("x".repeat(1 << 20))).is_ok());
    }
}
