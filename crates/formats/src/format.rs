//! What a format is, how it is recognised, and how an input of no known format is described.
//!
//! In: the first bytes of an input ([`Head`]). Out: the [`Format`] that recognises them, whose reader
//! makes a [`Draft`] of each session.

use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::database::{self, Table, tables};
use super::draft::Draft;
use super::error::DatasetError;
use super::gathered::first_of;
use super::source::{Source, is_cut, read_json};
use recap_core::text::density::{allowance, is_dense, weight};
use recap_core::text::{counted, excerpt};

/// Most bytes that are read to detect the format of an input. A log may begin
/// with any number of records that are not messages (a Claude Code log with
/// thousands of summaries): if no format recognises the first mebibyte, this
/// many bytes are tried.
pub const MAX_HEAD: usize = 8 << 20;

/// Bytes of a document that are parsed to detect its format where the whole would take too much
/// memory.
const DENSE_HEAD: usize = 64 << 10;

/// What a text begins with whose lines are no records, even if one is JSON.
const MARKDOWN: char = '#';

/// The first bytes of an input, as the formats see them.
#[derive(Default)]
pub struct Head {
    /// The first bytes as text; invalid bytes are replaced.
    pub text: String,
    /// The lists and objects that are a line each; the document, where the input
    /// is one over several lines, as far as it is whole.
    pub records: Vec<Json>,
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
        let spread = is_spread(text);
        let mut records = Vec::new();
        if !spread && !text.trim_start().starts_with(MARKDOWN) {
            records = lines_of(text);
        }
        // Of a broken document its reader tells where that is.
        if records.is_empty() && text.trim_start().starts_with(['{', '[']) {
            records.extend(document(text));
        }
        Head { text: whole, records, spread, tables: None }
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

    /// Whether one of the records has all that one of these names, each a few places. A place is
    /// a JSON pointer, perhaps with the texts that may stand there: `/type=user|system`.
    pub(super) fn has(&self, kinds: &[&str]) -> bool {
        self.any(|record| has_any(record, kinds))
    }

    /// The first character that is not white space.
    pub(super) fn first_char(&self) -> Option<char> {
        self.text.trim_start_matches('\u{feff}').trim_start().chars().next()
    }
}

/// Whether a text is one JSON document over several lines, or the beginning of one.
pub(super) fn is_spread(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(is_cut)
        && text.trim().contains('\n')
        && (is_cut(text) || serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// The lists and objects that are a line each, as far as they take little memory: three quarters
/// of what reading may take, since the input's own buffers stand beside them.
fn lines_of(text: &str) -> Vec<Json> {
    let mut left = allowance(text.len() as u64) / 4 * 3;
    let mut bears = |line: &&str| {
        let rest = left.checked_sub(weight(line.as_bytes()));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .take_while(&mut bears)
        .filter_map(|line| read_json(line).ok())
        .filter(|record: &Json| record.is_object() || record.is_array())
        .collect()
}

/// A document; of one that is broken, cut off or too dense to be held, its beginning.
fn document(text: &str) -> Option<Json> {
    let dense = is_dense(text.as_bytes());
    let text = if dense { &text[..text.floor_char_boundary(DENSE_HEAD)] } else { text };
    let error = match read_json(text) {
        Ok(document) => return Some(document),
        Err(error) => error,
    };
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let line = error.line().checked_sub(2).map_or(Some(0), |before| ends.nth(before));
    let end = text.floor_char_boundary(line? + error.column());
    read_json(&closed(&text[..end])).ok()
}

/// The beginning of a JSON text up to the last value that is whole, with what closes it.
fn closed(text: &str) -> String {
    let (mut open, mut whole) = (String::new(), (0, 0));
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => {
                open.push(if c == '{' { '}' } else { ']' });
                whole = (at + 1, open.len());
            }
            '}' | ']' => {
                open.pop();
                whole = (at + 1, open.len());
            }
            ',' => whole = (at, open.len()),
            _ => {}
        }
    }
    let (end, depth) = whole;
    text[..end].chars().chain(open[..depth].chars().rev()).collect()
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
    /// Reads every session of one input, in order, one after another, so that only the newest is
    /// in memory where the format may have very many in a file; those without a message are
    /// dropped. The first record that the format does not allow is an error with its line.
    pub(super) read: fn(&mut Source<'_>, &mut Take<'_>) -> Result<(), DatasetError>,
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

impl Format {
    /// Reads every session of one input, in order. A torn last line of the input is counted in
    /// the last of them.
    ///
    /// # Errors
    /// The first record that the format does not allow, with its line, and those
    /// of `take`.
    pub(super) fn read(
        &self,
        source: &mut Source<'_>,
        take: &mut Take<'_>,
    ) -> Result<(), DatasetError> {
        let (mut last, mut silent) = (None::<Draft>, 0);
        let mut finished = |source: &Source<'_>, mut draft: Draft| {
            draft.finish();
            take(source, draft)
        };
        let mut next = |source: &Source<'_>, draft: Draft| {
            if draft.session.messages.is_empty() {
                silent += 1;
                return Ok(());
            }
            last.replace(draft).map_or(Ok(()), |before| finished(source, before))
        };
        (self.read)(source, &mut next)?;
        let Some(mut last) = last else { return Ok(()) };
        last.leave_out("torn last line", source.take_torn());
        finished(source, last)?;
        if silent > 0 {
            source.warn(format!("left out: {} without a message", counted(silent, "session")));
        }
        Ok(())
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

/// What a record of an agent has whose sessions are not read ([`Head::has`]).
const AGENTS: [(&str, &str); 10] = [
    ("Qwen Code", "/sessionId /uuid /message/parts"),
    ("Amp", "/v /messages/0/messageId"),
    ("Goose", "/working_dir /conversation"),
    ("Factory Droid", "/type=session_start /version /cwd"),
    ("Continue", "/sessionId /workspaceDirectory /history"),
    ("GitHub Copilot Chat", "/requesterUsername /requests"),
    ("ChatGPT", "/mapping /current_node"),
    ("Claude.ai", "/uuid /chat_messages"),
    (KIMI_CLI, "/role=_checkpoint"),
    (KIMI_CLI, "/timestamp /message/type=TurnBegin"),
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
              OpenTelemetry spans, or write the native format, as `recap import` does"
        }
    };
    let what = format!("a session of {name}, whose format is not read");
    Description { what, advice: Some(advice.to_owned()), is_text }
}

/// Whether a record has all of some places ([`Head::has`]).
pub(super) fn has_all(record: &Json, places: &str) -> bool {
    places.split(' ').all(|place| {
        let (pointer, texts) = place.split_once('=').unwrap_or((place, ""));
        let found = record.pointer(pointer).filter(|value| !value.is_null());
        found.is_some_and(|value| {
            let mut texts = texts.split('|');
            texts.any(|text| text.is_empty() || value.as_str() == Some(text))
        })
    })
}

/// Whether a record has all of the places of one of these.
pub(super) fn has_any(record: &Json, kinds: &[&str]) -> bool {
    kinds.iter().any(|places| has_all(record, places))
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

/// A database is recognised by its tables.
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
    let is_of = |(_, places): &&(&str, &str)| {
        head.any(|record| has_all(record.get(0).unwrap_or(record), places))
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
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", excerpt(name))).collect();
    first_of(&quoted, NAMED)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_document_is_known_up_to_where_it_breaks() {
        for (text, expected) in [
            (r#"{"a": [1, {"b": "x"}]}"#, r#"{"a": [1, {"b": "x"}]}"#),
            (
                r#"{"eval": {"a": 1}, "status": "ok", "n": NaN, "z": 1}"#,
                r#"{"eval": {"a": 1}, "status": "ok"}"#,
            ),
            (r#"[{"role": "user", "content": "po"#, r#"[{"role": "user"}]"#),
            ("{\n \"a\": \"\\\",{\",\n \"b\": [[1], [2", r#"{"a": "\",{", "b": [[1], []]}"#),
            ("{", "{}"),
        ] {
            let expected: Json = serde_json::from_str(expected).unwrap();
            assert_eq!(document(text), Some(expected), "{text}");
        }
        let dense = format!("{{\"a\":1,\"b\":[{}1]}}", "[],".repeat(1 << 20));
        assert_eq!(document(&dense).unwrap()["a"], 1);
        for text in ["", "x", "}", &"[".repeat(1 << 20)] {
            assert_eq!(document(text), None, "{}", text.len());
        }
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
