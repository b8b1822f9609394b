//! Names an input of no known format by what it looks like, and how it could be
//! converted.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

use super::database::{Table, tables};
use super::format::Head;
use recap_core::text::excerpt;

/// An input that no format recognises.
#[derive(Debug, PartialEq)]
pub(super) struct Description {
    /// What it is, as far as its first bytes tell.
    pub what: String,
    /// The nearest format and the conversion into it, where there is one.
    pub advice: Option<String>,
    /// Whether it is text.
    pub is_text: bool,
}

/// Most names in one sentence.
const NAMED: usize = 6;

/// Deepest list of messages that is looked for.
const DEPTH: usize = 4;

/// First bytes of kinds of files that are no text.
const SIGNATURES: [(&[u8], &str); 7] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"BZh", "a file that is packed with bzip2"),
    (b"\xfd7zXZ\0", "a file that is packed with xz"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
];

/// What a record of an agent has whose sessions are not read: JSON pointers, some with the
/// text that stands there.
const AGENTS: [(&str, &[&str]); 10] = [
    ("Qwen Code", &["/sessionId", "/uuid", "/message/parts"]),
    ("Amp", &["/v", "/messages/0/messageId"]),
    ("Goose", &["/working_dir", "/conversation"]),
    ("Factory Droid", &["/type=session_start", "/version", "/cwd"]),
    ("Continue", &["/sessionId", "/workspaceDirectory", "/history"]),
    ("GitHub Copilot Chat", &["/requesterUsername", "/requests"]),
    ("ChatGPT", &["/mapping", "/current_node"]),
    ("Claude.ai", &["/uuid", "/chat_messages"]),
    (KIMI_CLI, &["/role=_checkpoint"]),
    (KIMI_CLI, &["/timestamp", "/message/type=TurnBegin"]),
];

/// What a store of such an agent has: its tables.
const STORES: [(&str, &[&str]); 5] = [
    ("Goose", &["messages", "schema_version", "sessions"]),
    ("Crush", &["files", "goose_db_version", "messages", "sessions"]),
    ("Cursor", &["ItemTable", "cursorDiskKV"]),
    ("Cursor CLI", &["blobs", "meta"]),
    ("Zed", &["threads"]),
];

const KIMI_CLI: &str = "Kimi CLI";

/// An agent that is known and whose sessions are not read.
fn known_agent(name: &str, is_text: bool) -> Description {
    let advice = match name {
        KIMI_CLI => {
            "Kimi Code replaced it and takes its sessions over: start that once, and give \
                     ~/.kimi-code/sessions"
        }
        _ => {
            "log its requests through a proxy (LiteLLM's logs are read as openai-chat) or as \
              OpenTelemetry spans, or write the native format: datasets/session.schema.json"
        }
    };
    let what = format!("a session of {name}, whose format is not read");
    Description { what, advice: Some(advice.to_owned()), is_text }
}

/// Whether a record has what a pointer names.
fn has(record: &Json, pointer: &str) -> bool {
    match pointer.split_once('=') {
        Some((pointer, text)) => record.pointer(pointer).and_then(Json::as_str) == Some(text),
        None => record.pointer(pointer).is_some(),
    }
}

/// Describes an input by its first bytes. `None`: nothing is known of it.
pub(super) fn describe(bytes: &[u8]) -> Option<Description> {
    if let Some(tables) = tables(bytes) {
        return Some(database(&tables));
    }
    if let Some((_, what)) = SIGNATURES.iter().find(|(first, _)| bytes.starts_with(first)) {
        let advice = (bytes.starts_with(b"BZh") || bytes.starts_with(b"\xfd7zXZ"))
            .then(|| "unpack it first: gzip and zstd alone are unpacked here".to_owned());
        return Some(Description { what: (*what).to_owned(), advice, is_text: false });
    }
    let head = Head::new(bytes);
    match head.first_char()? {
        '{' | '[' => Some(json(&head)),
        '<' => {
            let what = "an XML or HTML document".to_owned();
            Some(Description { what, advice: None, is_text: true })
        }
        _ => None,
    }
}

/// A database is told by its tables.
fn database(tables: &[Table]) -> Description {
    let mut names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let is_of = |own: &&(&str, &[&str])| own.1.iter().all(|table| names.contains(table));
    if let Some((agent, _)) = STORES.iter().find(is_of) {
        return known_agent(agent, false);
    }
    let what = match names.is_empty() {
        true => "a SQLite database".to_owned(),
        false => format!("a SQLite database with the tables {}", list(&names)),
    };
    let advice = "the stores of OpenCode, Kilo and OpenClaw are read: if it is another \
                  agent's, let that agent export its sessions";
    Description { what, advice: Some(advice.to_owned()), is_text: false }
}

fn json(head: &Head) -> Description {
    let is_of = |own: &&(&str, &[&str])| {
        head.any(|record| {
            let first = record.get(0).unwrap_or(record);
            own.1.iter().all(|pointer| has(first, pointer))
        })
    };
    if let Some((agent, _)) = AGENTS.iter().find(is_of) {
        return known_agent(agent, true);
    }
    let lines = head.records.len() > 1 && !head.spread;
    let is_list = head.first_char() == Some('[');
    let keys = keys(head.text.trim_start_matches('\u{feff}').trim_start());
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let kind = match (lines, is_list) {
        (true, _) => "JSON lines",
        (false, true) => "a JSON list",
        (false, false) => "a JSON object",
    };
    let what = match keys.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind} with the keys {}", list(&keys)),
    };
    let record = head.records.first();
    let path = record.and_then(|record| messages(record, String::new(), DEPTH));
    let advice = path.map(|path| {
        let path = if path.is_empty() { ".".to_owned() } else { path };
        let command = match (lines || path.contains("[]"), path.as_str()) {
            (false, path) => format!("jq '{path}' FILE"),
            (true, path) => format!("jq -c '{{messages: {}}}' FILE", path.replacen(".[]", "", 1)),
        };
        format!("the nearest format is openai-chat: try `{command} > messages.json`")
    });
    Description { what, advice, is_text: true }
}

/// The path, in the notation of jq, of a list of messages that openai-chat reads as they
/// are, with the results of their calls.
fn messages(value: &Json, path: String, depth: usize) -> Option<String> {
    match value {
        Json::Array(items) if is_chat(items) => Some(path),
        Json::Object(fields) if depth > 0 => fields.iter().find_map(|(key, value)| {
            let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            is_plain.then(|| messages(value, format!("{path}.{key}"), depth - 1))?
        }),
        _ => None,
    }
}

fn is_chat(items: &[Json]) -> bool {
    let text = |of: &Json, key: &str| of.get(key).and_then(Json::as_str).map(str::to_owned);
    let is_part = |part: &Json| matches!(text(part, "type").as_deref(), Some("text" | "image_url"));
    let is_message = |item: &Json| {
        let is_read = match item.get("content") {
            Some(Json::Array(parts)) => parts.iter().all(is_part),
            content => content.is_some_and(|content| content.is_string() || content.is_null()),
        };
        text(item, "role").is_some() && is_read
    };
    let calls = |item: &Json| item.get("tool_calls").is_some_and(|calls| !calls.is_null());
    let has_results = items.iter().any(|item| text(item, "role").as_deref() == Some("tool"));
    !items.is_empty() && items.iter().all(is_message) && (has_results || !items.iter().any(calls))
}

fn list(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<String> =
        names.iter().take(NAMED).map(|name| format!("`{}`", excerpt(name))).collect();
    match more {
        0 => shown.join(", "),
        n => format!("{} and {n} more", shown.join(", ")),
    }
}

/// The keys of the first object of a text, which may be cut off.
fn keys(text: &str) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches(['[', ' ', '\n']));
    // Where the text is cut off, those before are known.
    drop(Keys(&found).deserialize(&mut reader));
    found.into_inner()
}

struct Keys<'a>(&'a RefCell<Vec<String>>);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            self.0.borrow_mut().push(key);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(bytes: &[u8]) -> (String, Option<String>) {
        let Description { what, advice, .. } = describe(bytes).unwrap();
        (what, advice)
    }

    #[test]
    fn binary_files_are_described_by_first_bytes() {
        let tables = b"SQLite format 3\0...CREATE TABLE `session` (...)CREATE TABLE message \
                       (...)CREATE TABLE IF NOT EXISTS \"part\"(...)";
        let (what, advice) = described(tables);
        assert_eq!(what, "a SQLite database with the tables `message`, `part`, `session`");
        assert!(advice.unwrap().contains("let that agent export"));
        assert_eq!(described(b"SQLite format 3\0\x01").0, "a SQLite database");
        assert_eq!(described(b"PAR1\x15").0, "a Parquet file");
        assert!(described(b"BZh91").1.unwrap().contains("unpack it first"));
        assert_eq!(describe(b"name,age\n"), None);
        assert_eq!(describe(b""), None);
    }

    #[test]
    fn agents_whose_sessions_are_not_read_are_named() {
        let qwen = br#"{"uuid":"a","sessionId":"s","message":{"role":"user","parts":[]}}"#;
        let amp = br#"{"v":3,"id":"T-1","messages":[{"role":"user","messageId":0,"content":[]}]}"#;
        let kimi = b"{\"role\":\"_checkpoint\",\"id\":0}\n{\"role\":\"user\",\"content\":\"x\"}\n";
        let wire = br#"{"timestamp":1,"message":{"type":"TurnBegin","payload":{}}}"#;
        let crush = b"SQLite format 3\0CREATE TABLE goose_db_version(x)CREATE TABLE sessions(x)\
                      CREATE TABLE files(x)CREATE TABLE messages(x)";
        for (bytes, name, remedy) in [
            (&qwen[..], "Qwen Code", "LiteLLM"),
            (&amp[..], "Amp", "LiteLLM"),
            (br#"[{"mapping": {}, "current_node": "n"}]"#, "ChatGPT", "OpenTelemetry"),
            (&kimi[..], "Kimi CLI", "~/.kimi-code/sessions"),
            (&wire[..], "Kimi CLI", "takes its sessions over"),
            (&crush[..], "Crush", "native format"),
        ] {
            let (what, advice) = described(bytes);
            assert_eq!(what, format!("a session of {name}, whose format is not read"));
            assert!(advice.unwrap().contains(remedy), "{name}");
        }
    }

    #[test]
    fn no_conversion_that_loses_results_is_proposed() {
        let go = r#"{"role": "user", "content": "go"}"#;
        let call = r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]}"#;
        let result = r#"{"role": "tool", "tool_call_id": "c", "content": "r"}"#;
        let part = r#"{"role": "user", "content": [{"type": "tool_result", "content": "r"}]}"#;
        for (messages, is_proposed) in [
            (vec![go], true),
            (vec![go, call, result], true),
            (vec![go, call], false),
            (vec![go, part], false),
            (vec![go, r#"{"role": "user", "content": {"text": "x"}}"#], false),
            (vec![go, r#"{"text": "x"}"#], false),
            (vec![], false),
        ] {
            let document = format!(r#"{{"run": {{"log": [{}]}}}}"#, messages.join(","));
            let (_, advice) = described(document.as_bytes());
            assert_eq!(advice.is_some(), is_proposed, "{messages:?}");
        }
    }

    #[test]
    fn documents_are_described_by_keys_and_contained_messages() {
        let talk = r#"{"role": "user", "content": "go"}"#;
        let (what, advice) =
            described(format!(r#"{{"x": 1, "run": {{"log": [{talk}]}}}}"#).as_bytes());
        assert_eq!(what, "a JSON object with the keys `x`, `run`");
        assert!(advice.unwrap().contains("`jq '.run.log' FILE > messages.json`"));
        let line = format!("{{\"chat\": [{talk}]}}\n");
        let (what, advice) = described(line.repeat(2).as_bytes());
        assert_eq!(what, "JSON lines with the keys `chat`");
        assert!(advice.unwrap().contains("`jq -c '{messages: .chat}' FILE"));
        assert_eq!(described(br#"[{"a": 1}]"#), ("a JSON list with the keys `a`".to_owned(), None));
        assert_eq!(described(br#"{"a": 1, "b": {"c"#).0, "a JSON object with the keys `a`, `b`");
        let many: Vec<String> = (0..9).map(|n| format!("\"k{n}\": {n}")).collect();
        let (what, _) = described(format!("{{{}}}", many.join(",")).as_bytes());
        assert!(what.ends_with("`k5` and 3 more"), "{what}");
        for hostile in ["[".repeat(1 << 16), "{\"a\":".repeat(1 << 16), "{".repeat(9)] {
            assert!(describe(hostile.as_bytes()).is_some());
        }
    }
}
