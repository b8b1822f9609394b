//! The outline of a JSON value of any length, from which its format is told: its
//! keys, the first elements of its lists, and the beginnings of its texts.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Most values of an outline.
const VALUES: usize = 1 << 16;

/// Most elements of a list.
const ELEMENTS: usize = 256;

/// Most bytes of a text.
const TEXT: usize = 256;

/// The outline of the first value that is read. Of one that is broken or cut off
/// it is what stands before that, with the error.
pub(super) fn outline(bytes: impl Read) -> (Json, serde_json::Result<()>) {
    let mut found = Json::Null;
    let mut reader = serde_json::Deserializer::from_reader(bytes);
    let read = Slot { into: &mut found, most: VALUES }.deserialize(&mut reader);
    (found, read.map(drop))
}

/// Where the outline of a value goes, which may have so many values. What it
/// makes is the number that it has.
struct Slot<'a> {
    into: &'a mut Json,
    most: usize,
}

impl Slot<'_> {
    fn fill(self, value: impl Into<Json>) -> usize {
        *self.into = value.into();
        1
    }
}

impl<'de> DeserializeSeed<'de> for Slot<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<usize, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Slot<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<usize, E> {
        Ok(self.fill(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<usize, E> {
        Ok(self.fill(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<usize, E> {
        Ok(self.fill(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<usize, E> {
        Ok(self.fill(value))
    }

    fn visit_unit<E: Error>(self) -> Result<usize, E> {
        Ok(self.fill(()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        Ok(self.fill(&text[..text.floor_char_boundary(TEXT)]))
    }

    // No value gets more than half of what is left: none hides those after it.

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<usize, A::Error> {
        *self.into = Json::Array(Vec::new());
        let Json::Array(list) = self.into else { return Ok(1) };
        let mut left = self.most - 1;
        while left > 0 && list.len() < ELEMENTS {
            list.push(Json::Null);
            let into = list.last_mut().expect("pushed above");
            let Some(used) = items.next_element_seed(Slot { into, most: left.div_ceil(2) })? else {
                list.pop();
                break;
            };
            left -= used;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.most - left)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<usize, A::Error> {
        *self.into = Json::Object(Map::new());
        let Json::Object(map) = self.into else { return Ok(1) };
        let mut left = self.most - 1;
        while left > 0 {
            let Some(key) = fields.next_key::<String>()? else { break };
            let into = map.entry(key).or_insert(Json::Null);
            left -= fields.next_value_seed(Slot { into, most: left.div_ceil(2) })?;
        }
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.most - left)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole(text: &str) -> Json {
        let (found, read) = outline(text.as_bytes());
        read.unwrap();
        found
    }

    #[test]
    fn a_short_value_is_its_own_outline() {
        let value = json!({"a": [1, -2, 0.5, null, true, "x"], "b": {"c": [], "d": {}}});
        assert_eq!(whole(&value.to_string()), value);
    }

    #[test]
    fn long_texts_and_lists_shrink_without_hiding_successors() {
        let wide: Vec<Json> = (0..40_000).map(|n| json!({"a": n, "b": [n, n]})).collect();
        let value =
            json!({"text": "\u{e9}".repeat(1 << 20), "wide": wide, "deep": [wide], "z": {"y": 1}});
        let found = whole(&value.to_string());
        assert_eq!(found["text"].as_str().map(str::len), Some(TEXT));
        assert_eq!(found["wide"].as_array().map(Vec::len), Some(ELEMENTS));
        assert_eq!(found["z"], json!({"y": 1}));
    }

    #[test]
    fn outline_values_stay_within_the_bound() {
        fn count(value: &Json) -> usize {
            match value {
                Json::Array(list) => 1 + list.iter().map(count).sum::<usize>(),
                Json::Object(map) => 1 + map.values().map(count).sum::<usize>(),
                _ => 1,
            }
        }
        let mut value = json!(1);
        for _ in 0..3 {
            value = Json::Array(vec![value; 100]);
        }
        let found = count(&whole(&value.to_string()));
        assert!((1 << 12..=VALUES).contains(&found), "{found}");
        let keys: Map<String, Json> =
            (0..2 * VALUES).map(|n| (n.to_string(), json!([n]))).collect();
        assert!(count(&whole(&Json::Object(keys).to_string())) <= VALUES);
    }

    #[test]
    fn what_stands_before_a_break_is_kept() {
        for (text, expected) in [
            (
                r#"{"eval": {"a": 1}, "status": "ok", "n": NaN, "z": 1}"#,
                r#"{"eval": {"a": 1}, "status": "ok", "n": null}"#,
            ),
            (r#"[{"role": "user", "content": "po"#, r#"[{"role": "user", "content": null}]"#),
            ("{", "{}"),
            ("", "null"),
        ] {
            let (found, read) = outline(text.as_bytes());
            assert!(read.is_err(), "{text}");
            assert_eq!(found, serde_json::from_str::<Json>(expected).unwrap(), "{text}");
        }
        let (_, read) = outline("[".repeat(1 << 20).as_bytes());
        assert!(read.is_err());
    }
}
