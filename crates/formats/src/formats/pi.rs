//! Sessions of the pi coding agent: JSON lines, a list (version 1) or a tree
//! (versions 2 and 3) of entries.

use std::collections::BTreeMap;

use super::content::{branch_to_last, warn_of_branches};
use super::prelude::*;
use crate::database::{Listed, UNTRIED, Wanted, read_sessions, tell_of_unread};

/// The format of pi's session logs.
pub(super) const FORMAT: Format = Format {
    name: "pi",
    describe: "pi or OpenClaw session (JSON lines, ~/.pi/agent/sessions/*/*.jsonl; OpenClaw also SQLite)",
    tried: Tried::On {
        files: 1,
        compared: "messages, results, largest prompt, what its compactions kept; no store of OpenClaw",
    },
    sniff,
    read: Read::Each(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.has_table(EVENTS.table, EVENTS.columns)
        || head.any(|record| match record.get("type").and_then(Json::as_str) {
            Some("session") => record.get("cwd").is_some() && record.get("id").is_some(),
            Some("message") => {
                let role = record.pointer("/message/role").and_then(Json::as_str);
                matches!(role, Some("toolResult" | "bashExecution"))
            }
            _ => false,
        })
}

fn read(source: &mut Source<'_>, _: &LoadOptions, take: &mut Take<'_>) -> Result<(), DatasetError> {
    if source.is_database()? {
        return read_store(source, take);
    }
    let mut entries = Vec::new();
    while let Some((line, (header, body))) = source.next_record(read_entry)? {
        entries.push(Entry { line, header, body });
    }
    let (mut draft, aside) = source.whole(session(entries, source.stem()))?;
    for (line, problem) in aside {
        source.set_aside(line, problem)?;
    }
    warn_of_branches(source, &draft, ABANDONED);
    draft.leave_out("torn last line", source.take_torn());
    take(source, draft)
}

/// A session with the entries that cannot be read, by line.
type ReadSession = (Draft, Vec<(u64, Problem)>);

/// Reads the entries of one session.
fn session(entries: Vec<Entry>, id: &str) -> Result<ReadSession, Problem> {
    let mut reader = Reader { draft: Draft::named(id), ..Reader::default() };
    // The session's own entry is part of no branch.
    let on = branch_to_last(entries.iter().map(|entry| match entry.body {
        Body::Session(_) => (None, None),
        _ => (entry.header.id.as_deref(), entry.header.parent_id.as_deref()),
    }))?;
    let mut aside = Vec::new();
    let off = on.iter().filter(|on| !**on).count();
    let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    reader.index_ids(&entries);
    for (at, _) in on.into_iter().enumerate().filter(|(_, on)| *on) {
        let entry = entries[at].take().expect("each is taken once");
        let line = entry.line;
        if let Err(problem) = reader.entry(at, entry) {
            aside.push((line, problem));
        }
    }
    let mut draft = reader.draft;
    draft.leave_out(ABANDONED, off as u64);
    Ok((draft, aside))
}

/// Why an entry is not in the session.
const ABANDONED: &str = "entry on an abandoned branch";

/// The text that pi puts around the summary of a compaction, in the user's name
/// (pi-mono, `packages/coding-agent/src/core/messages.ts`).
const COMPACTION_SUMMARY: (&str, &str) = (
    "The conversation history before this point was compacted into the following summary:\n\n\
     <summary>\n",
    "\n</summary>",
);

/// The text that pi puts around the summary of an abandoned branch (pi-mono,
/// `packages/coding-agent/src/core/messages.ts`).
const BRANCH_SUMMARY: (&str, &str) = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
);

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// Index of the first message at or after each entry, by its position in
    /// the file: `firstKeptEntryIndex` counts the session entry as 0.
    index_at: BTreeMap<usize, u32>,
    by_id: FxHashMap<String, usize>,
}

impl Reader {
    fn index_ids(&mut self, entries: &[Option<Entry>]) {
        let ids = entries.iter().enumerate().filter_map(|(at, entry)| {
            let id = entry.as_ref()?.header.id.clone()?;
            Some((id, at))
        });
        self.by_id = ids.collect();
    }

    fn entry(&mut self, at: usize, entry: Entry) -> Result<(), Problem> {
        self.index_at.insert(at, self.draft.next_index());
        let Entry { line, header, body } = entry;
        match body {
            Body::Session(session) => self.session(&header, session),
            Body::Message(message) => self.message(&header, line, message)?,
            Body::Compaction(compaction) => self.compaction(at, &header, compaction)?,
            Body::BranchSummary(summary) => {
                let (open, close) = BRANCH_SUMMARY;
                let text = format!("{open}{summary}{close}");
                self.push(&header, line, Role::User, vec![Block::Text { text }]);
            }
            Body::Custom(content) => {
                let blocks = self.blocks(content)?;
                self.push(&header, line, Role::User, blocks);
            }
            Body::Other => self.draft.leave_out(format!("{} entry", header.kind), 1),
        }
        Ok(())
    }

    fn session(&mut self, header: &Header, session: WireSession) {
        self.draft.metadata.extend(header.id.clone().into_iter().chain(session.branched_from));
        if let Some(cwd) = session.cwd {
            self.draft.session.project = project_of(&cwd);
            self.draft.worked_in(cwd);
        }
    }

    fn message(
        &mut self,
        header: &Header,
        line: u64,
        mut message: WireMessage,
    ) -> Result<(), Problem> {
        match message.role.as_str() {
            "user" | "custom" => {
                let blocks = self.blocks(message.content)?;
                self.push(header, line, Role::User, blocks);
            }
            "assistant" => self.response(header, line, message)?,
            "toolResult" => {
                let call = message.tool_call_id.ok_or_else(|| lacks("toolCallId"))?;
                let read = |part: Part| (part.kind, part.text);
                let text = result_text(message.content, read, "image", &mut self.draft);
                let is_error = message.is_error == Some(true);
                let id = entry_id(header, line);
                let message = result_message(id, call, text, is_error, header.timestamp);
                self.draft.push(message, line);
            }
            "bashExecution" if message.exclude_from_context == Some(true) => {
                self.draft.leave_out("bash execution outside the context", 1);
            }
            "bashExecution" => {
                let text = bash_text(&mut message)?;
                self.push(header, line, Role::User, vec![Block::Text { text }]);
            }
            _ => return Err(Problem::UnknownRole { role: message.role }),
        }
        Ok(())
    }

    fn response(
        &mut self,
        header: &Header,
        line: u64,
        message: WireMessage,
    ) -> Result<(), Problem> {
        let stopped = message.stop_reason.as_deref();
        // Where nothing is reported, the provider refused the request: there is no
        // response. One that broke off later was billed.
        let used = message.usage.as_ref().map(|usage| usage.usage(true));
        let billed = used.is_some_and(|used| used.prompt() > 0 || used.output > 0);
        let failed = stopped == Some("error") && !billed;
        let whole = !matches!(stopped, Some("error" | "aborted"));
        if let (Some(model), false) = (&message.model, failed) {
            self.draft.models.add(model, &entry_id(header, line));
            self.draft.metadata.insert(model.clone());
        }
        let usage = message.usage.filter(|_| !failed).map(|usage| usage.usage(whole));
        let blocks = self.blocks(message.content)?;
        let message =
            Message::new(entry_id(header, line), Role::Assistant, header.timestamp, blocks);
        self.draft.push(Message { usage, synthetic: failed, ..message }, line);
        Ok(())
    }

    fn push(&mut self, header: &Header, line: u64, role: Role, blocks: Vec<Block>) {
        let message = Message::new(entry_id(header, line), role, header.timestamp, blocks);
        self.draft.push(message, line);
    }

    fn compaction(
        &mut self,
        at: usize,
        header: &Header,
        compaction: Compaction,
    ) -> Result<(), Problem> {
        let after = self.draft.next_index();
        let kept_from = match self.first_kept(&compaction)? {
            None => after,
            Some(first) if first > at => {
                return Err(Problem::Inconsistent(format!(
                    "first kept entry {first} comes after the compaction (entry {at})"
                )));
            }
            // The entry itself may be on an abandoned branch.
            Some(first) => {
                self.index_at.range(first..=at).next().map_or(after, |(_, &index)| index)
            }
        };
        let (open, close) = COMPACTION_SUMMARY;
        let text = format!("{open}{}{close}", compaction.summary);
        self.draft.session.compactions.push(RecordedCompaction {
            after,
            kept_from,
            summary: Some(compaction.summary),
            pieces: vec![Piece::Text { role: Role::User, text }],
            // pi does not say whether the user asked for it.
            trigger: RecordedTrigger::Unknown,
            tokens_before: compaction.tokens_before,
            call: compaction.usage.map(|usage| RecordedCall {
                model: None,
                usage: usage.usage(true),
                latency_ms: None,
            }),
            at: header.timestamp,
            ..RecordedCompaction::default()
        });
        Ok(())
    }

    /// Position in the file of the first entry that a compaction kept.
    fn first_kept(&self, compaction: &Compaction) -> Result<Option<usize>, Problem> {
        let id = match (compaction.first_kept_entry_index, &compaction.first_kept_entry_id) {
            (Some(index), _) => return Ok(Some(index)),
            (None, None) => return Ok(None),
            (None, Some(id)) => id,
        };
        let at = self.by_id.get(id).copied();
        at.map(Some).ok_or_else(|| {
            Problem::Inconsistent(format!("first kept entry `{id}` is not in the file"))
        })
    }

    fn blocks(&mut self, content: Content<Part>) -> Result<Vec<Block>, Problem> {
        content.blocks(|part| {
            Ok(Some(match part.kind.as_str() {
                "text" => Block::Text { text: part.text.ok_or_else(|| lacks("text"))? },
                "thinking" => Block::Reasoning { text: part.thinking.unwrap_or_default() },
                "toolCall" => Block::ToolCall {
                    id: part.id.ok_or_else(|| lacks("id"))?,
                    name: part.name.ok_or_else(|| lacks("name"))?,
                    arguments: part.arguments.unwrap_or_else(|| serde_json::json!({})),
                },
                "image" => Block::Image { media_type: part.mime_type },
                other => {
                    self.draft.leave_out(format!("{other} part"), 1);
                    return Ok(None);
                }
            }))
        })
    }
}

fn entry_id(header: &Header, line: u64) -> String {
    let id = header.id.clone();
    id.unwrap_or_else(|| format!("line-{line}"))
}

// The store of OpenClaw since 2026 (`openclaw-agent.sqlite`): an entry of pi's
// log a row, large ones packed with zstd. The schema is known from the notes of
// another reader (`franken-agent-detection`, `connectors/openclaw.rs`); no store
// was at hand.

/// The entries of all sessions.
const EVENTS: Wanted = Wanted {
    table: "transcript_events",
    key: Some("session_id"),
    columns: &["seq", "event_json"],
    optional: &["event_zstd"],
    order: &["seq"],
};

/// The sessions, in the order of their first entries.
const SESSIONS: Wanted = Wanted {
    table: "transcript_events",
    key: None,
    columns: &["session_id"],
    optional: &[],
    order: &["rowid"],
};

/// Reads every session of the store.
fn read_store(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let database = source.database()?;
    let mut listed: Vec<Listed<()>> = Vec::new();
    let mut known = FxHashSet::default();
    let events = database.rows(&SESSIONS).and_then(|mut rows| {
        rows.each(None, |row| {
            let id = row.needed("session_id")?;
            if known.insert(id.clone()) {
                listed.push(Listed { id, parent: None, facts: () });
            }
            Ok(())
        })?;
        database.rows(&EVENTS)
    });
    let mut events = source.whole(events)?;
    read_sessions(source, listed, &LoadOptions::default(), take, |listed| {
        let mut entries = Vec::new();
        events.each(Some(&listed.id), |row| {
            let text = match row.text("event_json")? {
                Some(text) => text,
                None => database
                    .unpack(row.bytes("event_zstd")?)
                    .map_err(|problem| row.problem("event_zstd", problem))?,
            };
            let read = read_entry(&text);
            let (header, body) = read.map_err(|problem| row.problem("event_json", problem))?;
            let line = u64::try_from(row.integer("seq").unwrap_or_default()).unwrap_or_default();
            entries.push(Entry { line, header, body });
            Ok(())
        })?;
        let (draft, aside) = session(entries, &listed.id)?;
        match aside.into_iter().next() {
            Some((_, problem)) => Err(problem),
            None => Ok(draft),
        }
    })?;
    tell_of_unread(source, &database, &[EVENTS.table], &known)?;
    source.warn(UNTRIED);
    Ok(())
}

// Entries of a pi session in their format on disk, versions 1 to 3.

struct Entry {
    line: u64,
    header: Header,
    body: Body,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    parent_id: Option<String>,
    timestamp: Option<Timestamp>,
}

enum Body {
    Session(WireSession),
    Message(WireMessage),
    Compaction(Compaction),
    BranchSummary(String),
    Custom(Content<Part>),
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSession {
    cwd: Option<String>,
    branched_from: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compaction {
    summary: String,
    first_kept_entry_index: Option<usize>,
    first_kept_entry_id: Option<String>,
    tokens_before: Option<u64>,
    /// Usage of the call that wrote the summary, since 2026.
    usage: Option<WireUsage>,
}

/// The fields depend on `role`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Content<Part>,
    model: Option<String>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
    tool_call_id: Option<String>,
    is_error: Option<bool>,
    command: Option<String>,
    output: Option<String>,
    exit_code: Option<i64>,
    cancelled: Option<bool>,
    truncated: Option<bool>,
    full_output_path: Option<String>,
    exclude_from_context: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Json>,
    mime_type: Option<String>,
}

/// pi's usage: cached tokens are counted besides `input`, for every provider.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    input: u64,
    output: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

impl WireUsage {
    /// The usage in disjoint buckets.
    fn usage(&self, output_final: bool) -> Usage {
        let usage = disjoint(self.input, self.cache_read, self.cache_write, self.output);
        Usage { output_final, ..usage }
    }
}

fn read_entry(text: &str) -> Result<(Header, Body), Problem> {
    let header: Header = parse(text)?;
    let body = match header.kind.as_str() {
        "session" => Body::Session(parse(text)?),
        "message" => Body::Message(Fields(parse(text)?).need("/message")?),
        "compaction" => Body::Compaction(parse(text)?),
        "branch_summary" => Body::BranchSummary(Fields(parse(text)?).need("/summary")?),
        "custom_message" => {
            Body::Custom(Fields(parse(text)?).take("/content")?.unwrap_or_default())
        }
        _ => Body::Other,
    };
    Ok((header, body))
}

fn lacks(field: &str) -> Problem {
    Problem::shape("message", format!("lacks `{field}`"))
}

/// A command that the user ran, in the form in which pi sends it to the model
/// (pi-mono, `packages/coding-agent/src/core/messages.ts`).
fn bash_text(message: &mut WireMessage) -> Result<String, Problem> {
    let command = message.command.take().ok_or_else(|| lacks("command"))?;
    let output = message.output.take().unwrap_or_default();
    let mut text = format!("Ran `{command}`\n");
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{output}\n```"));
    }
    if message.cancelled == Some(true) {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = message.exit_code.filter(|&code| code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if let (Some(true), Some(path)) = (message.truncated, &message.full_output_path) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    Ok(text)
}
