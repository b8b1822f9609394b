//! Sessions of Factory's droid, JSON lines (`~/.factory/sessions/**/*.jsonl`).
//! The agent is closed. Read from what public readers of its logs agree on (the
//! crate franken-agent-detection, `factory.rs`, for sessions and messages; the
//! types of `DroidCompactionState` in public repositories for compactions),
//! without recordings at hand. The log has no usage.

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use super::anthropic::{Part, add_message, role_of};
use super::content::{Content, branch_to_last, home_of, project_of, warn_of_branches};
use super::recorder::{Recorder, Turn};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{Source, parse};
use crate::model::RecordedCompaction;

/// The format of droid's session logs.
pub struct Droid;

impl Format for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn describe(&self) -> &'static str {
        "droid (Factory) session (JSON lines, ~/.factory/sessions/**/*.jsonl; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.any(|record| match record.get("type").and_then(Json::as_str) {
            Some("session_start") => record.get("id").is_some_and(Json::is_string),
            Some("compaction_state") => record.get("summaryText").is_some(),
            _ => false,
        })
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut records = Vec::new();
        while let Some((line, record)) = source.next_record(parse::<Record>)? {
            records.push((line, record));
        }
        let said = records.iter().map(|(_, record)| {
            let is_message = record.kind == "message";
            (record.id.as_deref().filter(|_| is_message), record.parent_id.as_deref())
        });
        let on = branch_to_last(said).map_err(|problem| source.error(None, problem))?;
        let mut reader = Reader { recorder: Recorder::new(source.stem()), ..Reader::default() };
        for ((line, record), on) in records.into_iter().zip(on) {
            if !on && record.kind == "message" {
                reader.recorder.draft.leave_out(ABANDONED, 1);
                continue;
            }
            let read = reader.record(line, record);
            read.map_err(|problem| source.error(Some(line), problem))?;
        }
        let mut draft = reader.recorder.finish();
        warn_of_branches(source, &draft, ABANDONED);
        draft.leave_out("torn last line", source.torn());
        Ok(if draft.transcript.messages.is_empty() { vec![] } else { vec![draft] })
    }
}

/// Why a message is not in the transcript.
const ABANDONED: &str = "message on an abandoned branch";

/// A line; which fields there are depends on its type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    parent_id: Option<String>,
    timestamp: Option<Timestamp>,
    cwd: Option<String>,
    message: Option<Message>,
    summary_text: Option<String>,
    anchor_message: Option<Anchor>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Content<Part>,
    model: Option<String>,
}

/// The last message that a compaction removed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Anchor {
    Id(String),
    Message { id: String },
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    /// Number of messages when each record had been read.
    behind: FxHashMap<String, u32>,
}

impl Reader {
    fn record(&mut self, line: u64, record: Record) -> Result<(), Problem> {
        match (record.kind.as_str(), record.message) {
            ("session_start", _) => {
                let transcript = self.recorder.transcript();
                transcript.project = record.cwd.as_deref().and_then(project_of);
                let home = record.cwd.as_deref().and_then(home_of);
                transcript.metadata.extend([record.id, home, record.cwd].into_iter().flatten());
                transcript.metadata.sort();
            }
            ("message", Some(message)) => {
                let mut turn = Turn::new(role_of(message.role)?);
                (turn.id, turn.at) = (record.id.clone(), record.timestamp);
                (turn.model, turn.line) = (message.model, Some(line));
                add_message(&mut self.recorder, turn, message.content)?;
                let count = self.recorder.count();
                self.behind.extend(record.id.map(|id| (id, count)));
            }
            ("message", None) => {
                let message = "lacks `message`".to_owned();
                return Err(Problem::Shape { at: "message".to_owned(), message });
            }
            ("compaction_state", _) => {
                let after = self.recorder.count();
                let kept = record.anchor_message.and_then(|anchor| match anchor {
                    Anchor::Id(id) | Anchor::Message { id } => self.behind.get(&id).copied(),
                });
                let summary = record.summary_text.filter(|text| !text.is_empty());
                let missing = "the log does not hold the summary".to_owned();
                self.recorder.draft.compact(RecordedCompaction {
                    after,
                    kept_from: kept.unwrap_or(after),
                    unreadable: summary.is_none().then_some(missing),
                    summary,
                    at: record.timestamp,
                    ..RecordedCompaction::default()
                })?;
            }
            (kind, _) => self.recorder.draft.leave_out(format!("{kind} record"), 1),
        }
        Ok(())
    }
}
