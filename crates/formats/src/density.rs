//! How much memory the parsed records of an input, and what is kept of them, may
//! take together.

use serde_json::Value as Json;

use super::error::Problem;
use recap_core::text::density::{LIST, NAME, OBJECT, VALUE, allowance, weight};

/// Records of at most this weight a byte, or of fewer bytes, are not counted
/// together: what readers keep of them is little, and sessions have any number.
const USUAL: (u64, u64) = (16, 1024);

/// Bytes that a message or a record takes besides its text while a session is put
/// together: 550 to 720 of formats with one a line.
pub(super) const KEPT: u64 = 640;

/// Bytes that a session takes in the list of all of them, where it is handed on.
const LISTED: u64 = 800;

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
        if sum.weight > allowance(sum.text) {
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
