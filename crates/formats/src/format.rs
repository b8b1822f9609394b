//! What a format is, and what it is told by.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::LoadOptions;
use super::database::{self, Table, tables};
use super::draft::Draft;
use super::error::DatasetError;
use super::source::{Held, Source, is_cut, parse};
use recap_core::text::density::weight;
use recap_core::text::{counted, excerpt};

/// Most bytes that are read to detect the format of an input. A log may begin
/// with any number of records that are not messages (a Claude Code log with
/// thousands of summaries): if no format recognises the first mebibyte, this
/// many bytes are tried.
pub const MAX_HEAD: usize = 8 << 20;

/// What a text begins with whose lines are no records, even if one is JSON.
const MARKDOWN: char = '#';

/// The first bytes of an input, as the formats see them.
#[derive(Default)]
pub struct Head {
    /// The first bytes as text; invalid bytes are replaced.
    pub text: String,
    /// The lists and objects that are a line each; the document, where the input
    /// is one over several lines. Of a value that is longer than the first bytes,
    /// its outline.
    pub records: Vec<Json>,
    /// Offset of the last value, if it is not whole within the first bytes.
    pub(super) cut: Option<usize>,
    /// Whether the only record is the outline of that.
    pub(super) is_outline: bool,
    /// Whether the input is one JSON document over several lines.
    pub spread: bool,
    /// The tables, where the input is a SQLite database.
    tables: Option<Vec<Table>>,
}

impl Head {
    /// Looks at the first bytes of an input.
    pub fn new(bytes: &[u8]) -> Head {
        if let Some(tables) = database::tables(bytes) {
            // The texts in its cells are no records.
            return Head { tables: Some(tables), ..Head::default() };
        }
        let whole = String::from_utf8_lossy(bytes).into_owned();
        let text = whole.trim_start_matches('\u{feff}');
        let spread = text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_cut)
            && text.trim().contains('\n')
            && (is_cut(text) || serde_json::from_str::<IgnoredAny>(text).is_ok());
        let mut records: Vec<Json> = if text.trim_start().starts_with(MARKDOWN) {
            Vec::new()
        } else if spread {
            parse(text).into_iter().collect()
        } else {
            lines_of(text)
        };
        let starts = text.trim_start().starts_with(['{', '[']);
        let is_outline = records.is_empty() && starts;
        let cut = if is_outline {
            records.push(outline(text.as_bytes()).0);
            Some(whole.len() - text.len())
        } else if spread {
            None
        } else {
            torn_line(bytes)
        };
        Head { text: whole, records, cut, is_outline, spread, tables: None }
    }

    /// Takes its lines for records, as those of a log whose first one is broken.
    pub(super) fn into_lines(mut self) -> Head {
        self.records = lines_of(self.text.trim_start_matches('\u{feff}'));
        self
    }

    /// The tables of a SQLite database, as far as the first bytes show them.
    pub(super) fn tables(&self) -> Option<&[Table]> {
        self.tables.as_deref()
    }

    /// Adds the tables that the write-ahead log of a database defines.
    pub(super) fn add_tables(&mut self, log: &[u8]) {
        if let Some(tables) = &mut self.tables {
            tables.extend(database::defined(log));
        }
    }

    /// Whether the input is a database with such a table that has all of `columns`.
    pub(super) fn has_table(&self, name: &str, columns: &[&str]) -> bool {
        let mut tables = self.tables().into_iter().flatten();
        tables.any(|table| table.name == name && table.has(columns))
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.tables.is_none() && self.text.trim().is_empty()
    }

    /// Whether one of the records satisfies `test`.
    pub fn any(&self, test: impl Fn(&Json) -> bool) -> bool {
        self.records.iter().any(test)
    }

    /// The first character that is not white space.
    pub(super) fn first_char(&self) -> Option<char> {
        self.text.trim_start_matches('\u{feff}').trim_start().chars().next()
    }
}

/// The lists and objects that are a line each, as far as they take little memory.
fn lines_of(text: &str) -> Vec<Json> {
    let mut held = Held::default();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .take_while(|line| held.add(line.len() as u64, weight(line.as_bytes())).is_ok())
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|record: &Json| record.is_object() || record.is_array())
        .collect()
}

/// Offset of the last line, if it is cut off.
fn torn_line(bytes: &[u8]) -> Option<usize> {
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
    let line = &bytes[start..];
    let is_torn = !line.trim_ascii().is_empty() && std::str::from_utf8(line).map_or(true, is_cut);
    is_torn.then_some(start)
}

/// Takes the next session of an input.
pub(super) type Take<'a> = dyn FnMut(&Source<'_>, Draft) -> Result<(), DatasetError> + 'a;

/// Reads one kind of recording.
pub struct Format {
    /// Kebab-case name, as typed after `recap import`.
    pub name: &'static str,
    /// A description in one line.
    pub describe: &'static str,
    /// What its reader was tried on.
    pub tried: Tried,
    /// Whether the input looks like this format. Formats exclude each other.
    pub sniff: fn(&Head) -> bool,
    pub(super) read: Read,
    /// Files beside a session that belong to it.
    pub(super) beside: Option<Beside>,
}

/// What the reader of a format was tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is recap's own format.
    Own,
    /// On no recording: it was written from documentation.
    Documentation,
    /// On recordings of others.
    On {
        /// Number of real files.
        files: u32,
        /// What equals an independent count of them.
        compared: &'static str,
    },
}

/// Reads every session of one input, in order; the first record that the
/// format does not allow is an error with its line.
pub(super) enum Read {
    /// All at once; those without a message are dropped, and the last of the others
    /// is told that the input ends within a line.
    All(fn(&mut Source<'_>, &LoadOptions) -> Result<Vec<Draft>, DatasetError>),
    /// One after another, so that only the newest is in memory, where the format
    /// may have very many in a file.
    Each(fn(&mut Source<'_>, &LoadOptions, &mut Take<'_>) -> Result<(), DatasetError>),
}

/// Files beside a session that belong to it.
pub(super) struct Beside {
    /// Paths of the file of questions, relative to the session's folder; the
    /// first that exists is read.
    pub(super) questions: &'static [&'static str],
    /// Files that are read instead of a session in the same folder.
    pub(super) instead: &'static [&'static str],
    /// Reads the questions into the drafts of the session.
    pub(super) read: fn(&mut Source<'_>, &mut [Draft]) -> Result<(), DatasetError>,
}

impl Format {
    /// Reads every session of one input, in order.
    ///
    /// # Errors
    /// The first record that the format does not allow, with its line, and those
    /// of `take`.
    pub(super) fn read(
        &self,
        source: &mut Source<'_>,
        options: &LoadOptions,
        take: &mut Take<'_>,
    ) -> Result<(), DatasetError> {
        let (mut taken, mut silent) = (0, 0);
        let mut finished = |source: &Source<'_>, mut draft: Draft| {
            if draft.session.messages.is_empty() {
                silent += 1;
                return Ok(());
            }
            taken += 1;
            draft.finish();
            take(source, draft)
        };
        match self.read {
            Read::All(read) => {
                let mut drafts = read(source, options)?;
                let mut conversations =
                    drafts.iter_mut().filter(|one| !one.session.messages.is_empty());
                if let Some(last) = conversations.next_back() {
                    last.leave_out("torn last line", source.take_torn());
                }
                drafts.into_iter().try_for_each(|draft| finished(source, draft))?;
            }
            Read::Each(read) => read(source, options, &mut finished)?,
        }
        if taken > 0 && silent > 0 {
            source.warn(format!("left out: {} without a message", counted(silent, "session")));
        }
        Ok(())
    }
}

// The outline of a JSON value of any length, from which its format is told: its
// keys, the first elements of its lists, and the beginnings of its texts.

/// Most values of an outline.
const VALUES: usize = 1 << 16;

/// Most elements of a list.
const ELEMENTS: usize = 256;

/// Most bytes of a text.
const TEXT: usize = 256;

/// The outline of the first value that is read. Of one that is broken or cut off
/// it is what stands before that, with the error.
pub(super) fn outline(bytes: impl std::io::Read) -> (Json, serde_json::Result<()>) {
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

// Names an input of no known format by what it looks like, and how it could be
// converted.

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
    let what = if names.is_empty() {
        "a SQLite database".to_owned()
    } else {
        format!("a SQLite database with the tables {}", list(&names))
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
    let first = head.records.first().map(|record| record.get(0).unwrap_or(record));
    let fields = first.and_then(Json::as_object).into_iter().flatten();
    let keys: Vec<&str> = fields.map(|(key, _)| key.as_str()).collect();
    let kind = match (lines, is_list) {
        (true, _) => "JSON lines",
        (false, true) => "a JSON list",
        (false, false) => "a JSON object",
    };
    let what = if keys.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind} with the keys {}", list(&keys))
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
