//! Sessions of the pi coding agent: JSON lines, a list (version 1) or a tree
//! (versions 2 and 3) of entries.

use std::collections::BTreeMap;

use super::content::{Part, branch_to_last, warn_of_branches};
use super::prelude::*;
use crate::database::{Listed, UNTRIED, Wanted, plain, read_sessions, tell_of_unread};

/// The format of pi's session logs.
pub(super) const FORMAT: Format = Format {
    name: "pi",
    describe: "pi or OpenClaw session (JSON lines, ~/.pi/agent/sessions/*/*.jsonl; OpenClaw also SQLite)",
    tried: Tried::On {
        files: 1,
        compared: "messages, results, largest prompt, what its compactions kept; no store of OpenClaw",
    },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has_table(EVENTS.table, EVENTS.columns)
        || head.has(&[
            "/type=session /cwd /id",
            "/type=message /message/role=toolResult|bashExecution",
        ])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    if source.is_database()? {
        return read_store(source, take);
    }
    let mut entries = Vec::new();
    while let Some((line, entry)) = source.next_record(read_entry)? {
        entries.push(Entry { line, ..entry });
    }
    let (draft, aside) = source.whole(session(entries, source.stem()))?;
    for (line, problem) in aside {
        source.set_aside(line, problem)?;
    }
    warn_of_branches(source, &draft, ABANDONED);
    take(source, draft)
}

/// Reads the entries of one session; returns those that cannot be read, too, by line.
fn session(entries: Vec<Entry>, id: &str) -> Result<(Draft, Vec<(u64, Problem)>), Problem> {
    let mut reader = Reader { draft: Draft::named(id), ..Reader::default() };
    // The session's own entry is part of no branch.
    let on = branch_to_last(entries.iter().map(|entry| match entry.kind.as_str() {
        "session" => (None, None),
        _ => (entry.id.as_deref(), entry.parent.as_deref()),
    }))?;
    let ids = entries.iter().enumerate().filter_map(|(at, entry)| Some((entry.id.clone()?, at)));
    reader.by_id = ids.collect();
    let mut aside = Vec::new();
    for ((at, entry), on) in entries.into_iter().enumerate().zip(on) {
        let line = entry.line;
        if !on {
            reader.draft.leave_out(ABANDONED, 1);
        } else if let Err(problem) = reader.entry(at, entry) {
            aside.push((line, problem));
        }
    }
    Ok((reader.draft, aside))
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
    fn entry(&mut self, at: usize, mut entry: Entry) -> Result<(), Problem> {
        self.index_at.insert(at, self.draft.next_index());
        match entry.kind.as_str() {
            "session" => self.session(entry)?,
            "message" => {
                let read = self.message(&mut entry);
                read.map_err(|problem| below("/message", problem))?;
            }
            "compaction" => self.compaction(at, entry)?,
            "branch_summary" => {
                let (open, close) = BRANCH_SUMMARY;
                let summary: String = entry.own.need("/summary")?;
                self.said(&entry, vec![Part::Text(format!("{open}{summary}{close}"))]);
            }
            "custom_message" => {
                let parts = entry.own.parts("/content")?;
                self.said(&entry, parts);
            }
            kind => self.draft.leave_out(format!("{kind} entry"), 1),
        }
        Ok(())
    }

    fn session(&mut self, mut entry: Entry) -> Result<(), Problem> {
        let cwd: Option<String> = entry.own.take("/cwd")?;
        let from: Option<String> = entry.own.take("/branchedFrom")?;
        self.draft.metadata.extend(entry.id.into_iter().chain(from));
        cwd.into_iter().for_each(|cwd| self.draft.worked_in(cwd));
        Ok(())
    }

    fn message(&mut self, entry: &mut Entry) -> Result<(), Problem> {
        let mut message = Fields(entry.own.take("/message")?.unwrap_or_default());
        let role: String = message.need("/role")?;
        match role.as_str() {
            "user" | "custom" => self.said(entry, message.parts("/content")?),
            "assistant" => self.response(entry, message)?,
            "toolResult" => {
                let (call, result) = (message.need("/toolCallId")?, message.result("/content")?);
                let is_error = message.take("/isError")?.unwrap_or(false);
                let result = ResultText { is_error, ..result };
                let message = self.draft.result_message(entry.name(), call, result, entry.at);
                self.draft.push(message);
            }
            "bashExecution" if message.take("/excludeFromContext")? == Some(true) => {
                self.draft.leave_out("bash execution outside the context", 1);
            }
            "bashExecution" => self.said(entry, vec![Part::Text(bash_text(&mut message)?)]),
            _ => return Err(Problem::UnknownRole(role)),
        }
        Ok(())
    }

    fn response(&mut self, entry: &Entry, mut message: Fields) -> Result<(), Problem> {
        let model: Option<String> = message.take("/model")?;
        let stopped: Option<String> = message.take("/stopReason")?;
        let stopped = stopped.as_deref();
        // Where nothing is reported, the provider refused the request: there is no
        // response. One that broke off later was billed.
        let used = usage(message.take("/usage")?)?;
        let billed = used.is_some_and(|used| used.prompt() > 0 || used.output > 0);
        let failed = stopped == Some("error") && !billed;
        let output_final = !matches!(stopped, Some("error" | "aborted"));
        let blocks = self.blocks(message.parts("/content")?);
        if let (Some(model), false) = (model, failed) {
            self.draft.written_by(model, &entry.name());
        }
        let usage = used.filter(|_| !failed).map(|used| Usage { output_final, ..used });
        let message = Message::new(entry.name(), Role::Assistant, entry.at, blocks);
        self.draft.push(Message { usage, synthetic: failed, ..message });
        Ok(())
    }

    /// What is said in the user's name.
    fn said(&mut self, entry: &Entry, parts: Vec<Part>) {
        let blocks = self.blocks(parts);
        self.draft.push(Message::new(entry.name(), Role::User, entry.at, blocks));
    }

    fn compaction(&mut self, at: usize, mut entry: Entry) -> Result<(), Problem> {
        let summary: String = entry.own.need("/summary")?;
        let usage = usage(entry.own.take("/usage")?)?;
        let tokens_before = entry.own.take("/tokensBefore")?;
        let after = self.draft.next_index();
        let kept_from = match self.first_kept(&mut entry.own)? {
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
        let text = format!("{open}{summary}{close}");
        self.draft.session.compactions.push(RecordedCompaction {
            after,
            kept_from,
            summary: Some(summary),
            pieces: vec![Piece::Text { role: Role::User, text }],
            // pi does not say whether the user asked for it.
            trigger: RecordedTrigger::Unknown,
            tokens_before,
            // That of the call which wrote the summary, since 2026.
            call: usage.map(|usage| RecordedCall { model: None, usage, latency_ms: None }),
            at: entry.at,
            ..RecordedCompaction::default()
        });
        Ok(())
    }

    /// Position in the file of the first entry that a compaction kept.
    fn first_kept(&self, compaction: &mut Fields) -> Result<Option<usize>, Problem> {
        let index = compaction.take("/firstKeptEntryIndex")?;
        let id: Option<String> = compaction.take("/firstKeptEntryId")?;
        let (None, Some(id)) = (index, id) else { return Ok(index) };
        let missing =
            || Problem::Inconsistent(format!("first kept entry `{id}` is not in the file"));
        self.by_id.get(&id).copied().map(Some).ok_or_else(missing)
    }

    /// The blocks of parts, with the ids of calls as they are.
    fn blocks(&mut self, parts: Vec<Part>) -> Vec<Block> {
        let block = |part| match part {
            Part::Call { id: Some(id), name, arguments } => {
                Some(Block::ToolCall { id, name, arguments })
            }
            part => self.draft.block(part),
        };
        parts.into_iter().filter_map(block).collect()
    }
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
    let mut listed: Vec<Listed> = Vec::new();
    let mut known = FxHashSet::default();
    let missing = || plain(&format!("it has no table `{}`", EVENTS.table));
    let open =
        |wanted| source.whole(database.rows(wanted).and_then(|rows| rows.ok_or_else(missing)));
    let (mut sessions, mut events) = (open(&SESSIONS)?, open(&EVENTS)?);
    source.whole(sessions.each(None, |mut row| {
        let id: String = row.need("/session_id")?;
        if known.insert(id.clone()) {
            listed.push(Listed { id, parent: None, own: Json::Null });
        }
        Ok(())
    }))?;
    read_sessions(source, listed, take, |listed| {
        let mut entries = Vec::new();
        events.each(Some(&listed.id), |mut row| {
            let text: Option<String> = row.first(&["/event_json", "/event_zstd"])?;
            let entry = read_entry(&text.unwrap_or_default())?;
            let line = row.0["seq"].as_u64().unwrap_or_default();
            entries.push(Entry { line, ..entry });
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
    kind: String,
    id: Option<String>,
    parent: Option<String>,
    at: Option<Timestamp>,
    /// The other fields, which depend on the kind.
    own: Fields,
}

impl Entry {
    /// The id of its message.
    fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("line-{}", self.line))
    }
}

fn read_entry(text: &str) -> Result<Entry, Problem> {
    let mut own = Fields(parse(text)?);
    Ok(Entry {
        line: 0,
        kind: own.need("/type")?,
        id: own.take("/id")?,
        parent: own.take("/parentId")?,
        at: own.take("/timestamp")?,
        own,
    })
}

/// pi's usage: cached tokens are counted besides `input`, for every provider.
fn usage(counts: Option<Json>) -> Result<Option<Usage>, Problem> {
    let names = ["/input", "/cacheRead", "/cacheWrite", "/output"];
    let read = counts.map(|counts| Fields(counts).usage_beside(names)).transpose();
    read.map_err(|problem| below("/usage", problem))
}

/// A command that the user ran, in the form in which pi sends it to the model
/// (pi-mono, `packages/coding-agent/src/core/messages.ts`).
fn bash_text(message: &mut Fields) -> Result<String, Problem> {
    let command: String = message.need("/command")?;
    let output: String = message.take("/output")?.unwrap_or_default();
    let mut text = format!("Ran `{command}`\n");
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{output}\n```"));
    }
    let code: Option<i64> = message.take("/exitCode")?;
    if message.take("/cancelled")? == Some(true) {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = code.filter(|&code| code != 0) {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    let path: Option<String> = message.take("/fullOutputPath")?;
    if let (Some(true), Some(path)) = (message.take("/truncated")?, path) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    Ok(text)
}
