//! Sessions of Goose: the store `sessions.db`, or a log of JSON lines as Goose
//! wrote until 2025. Read from its public source (block/goose,
//! `crates/goose/src/session/session_manager.rs`, `conversation/message.rs`,
//! `context_mgmt/mod.rs`), without recordings at hand. Tokens are known of the
//! last request of a session only, so that no request has usage.

mod wire;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use self::wire::{Called, Facts, Item, Line, Metadata, Recorded, config_model};
use super::content::{ResultText, home_of, project_of, result_text};
use super::recorder::{Outcome, Recorder, Turn};
use super::store::{Listed, read_sessions};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::database::{Rows, Wanted};
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head, Take};
use crate::dataset::source::{Source, parse};
use crate::model::{Block, Piece, RecordedCompaction, RecordedTrigger, Role};

/// The format of Goose's sessions.
pub struct Goose;

const SESSIONS: Wanted = Wanted {
    table: "sessions",
    key: None,
    columns: &["id", "working_dir"],
    optional: &["created_at", "model_config_json"],
    order: &["rowid"],
};

const MESSAGES: Wanted = Wanted {
    table: "messages",
    key: Some("session_id"),
    columns: &["id", "role", "content_json", "created_timestamp"],
    optional: &["metadata_json"],
    order: &["id"],
};

impl Format for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn describe(&self) -> &'static str {
        "Goose sessions (SQLite, sessions.db, or JSON lines; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let is_header = |record: &Json| {
            record.get("working_dir").is_some()
                && record.get("message_count").is_some()
                && record.get("role").is_none()
        };
        head.has_table(MESSAGES.table, &["session_id", "content_json"])
            || head.records.first().is_some_and(is_header)
    }

    fn read_each(
        &self,
        source: &mut Source<'_>,
        options: &LoadOptions,
        take: &mut Take<'_>,
    ) -> Result<(), DatasetError> {
        if !source.is_database()? {
            return log(source)?.into_iter().try_for_each(|draft| take(source, draft));
        }
        let database = source.database()?;
        let mut listed = Vec::new();
        let messages = database.rows(&SESSIONS).and_then(|mut rows| {
            rows.each(None, |row| {
                let model = row.text("model_config_json")?.as_deref().and_then(config_model);
                let facts = Facts { folder: row.text("working_dir")?, model };
                listed.push(Listed { id: row.needed("id")?, parent: None, facts });
                Ok(())
            })?;
            database.rows(&MESSAGES)
        });
        let mut messages = messages.map_err(|problem| source.error(None, problem))?;
        read_sessions(source, listed, options, take, |session| stored(session, &mut messages))
    }
}

/// A session of the store.
fn stored(session: &Listed<Facts>, messages: &mut Rows<'_>) -> Result<Draft, Problem> {
    let mut all = Vec::new();
    messages.each(Some(&session.id), |row| {
        let metadata = match row.text("metadata_json")? {
            Some(_) => row.json("metadata_json")?,
            None => Metadata::default(),
        };
        all.push(Recorded {
            id: format!("message-{}", row.needed("id")?),
            role: role(&row.needed("role")?)?,
            at: row.time("created_timestamp"),
            content: row.json("content_json")?,
            metadata,
            line: None,
        });
        Ok(())
    })?;
    session_of(&session.id, &session.facts, all)
}

/// A log: a line about the session, then a message a line.
fn log(source: &mut Source<'_>) -> Result<Vec<Draft>, DatasetError> {
    let (mut facts, mut all) = (Facts::default(), Vec::new());
    while let Some((line, record)) = source.next_record(parse::<Line>)? {
        let Line { working_dir, role: named, created, content, metadata } = record;
        let Some(named) = named else {
            facts.folder = working_dir.or(facts.folder);
            continue;
        };
        let role = role(&named).map_err(|problem| source.error(Some(line), problem))?;
        let id = format!("line-{line}");
        let at = created.and_then(|at| jiff::Timestamp::from_second(at).ok());
        all.push(Recorded { id, role, at, content, metadata, line: Some(line) });
    }
    let draft = session_of(source.stem(), &facts, all);
    let mut draft = draft.map_err(|problem| source.error(None, problem))?;
    draft.leave_out("torn last line", source.torn());
    Ok(if draft.transcript.messages.is_empty() { vec![] } else { vec![draft] })
}

fn role(name: &str) -> Result<Role, Problem> {
    match name {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        _ => Err(Problem::UnknownRole { role: name.to_owned() }),
    }
}

fn session_of(id: &str, facts: &Facts, all: Vec<Recorded>) -> Result<Draft, Problem> {
    let mut recorder = Recorder::new(id);
    let transcript = recorder.transcript();
    transcript.metadata = vec![id.to_owned()];
    if let Some(folder) = &facts.folder {
        transcript.project = project_of(folder);
        transcript.metadata.extend(home_of(folder));
        transcript.metadata.push(folder.clone());
    }
    transcript.metadata.sort();
    let mut reader = Reader { recorder, model: facts.model.clone(), said: FxHashMap::default() };
    let mut rest = all.into_iter().peekable();
    let mut folded = false;
    while let Some(recorded) = rest.next() {
        let after_fold = std::mem::take(&mut folded);
        // A summary and the harness's own words behind it are hidden from the user.
        let is_summary = recorded.is_hidden(Role::User)
            && rest.peek().is_some_and(|next| next.is_hidden(Role::Assistant));
        if let (true, Some(words)) = (is_summary, rest.next_if(|_| is_summary)) {
            reader.compaction(recorded, words)?;
            folded = true;
        } else if !(after_fold && reader.is_repeated(&recorded)) {
            reader.message(recorded, &mut rest);
        }
    }
    Ok(reader.recorder.finish())
}

struct Reader {
    recorder: Recorder,
    model: Option<String>,
    /// The newest message of the user with each text.
    said: FxHashMap<String, u32>,
}

impl Reader {
    /// A message; a response may be written in several, one behind the other.
    fn message(
        &mut self,
        recorded: Recorded,
        rest: &mut std::iter::Peekable<std::vec::IntoIter<Recorded>>,
    ) {
        let mut turn = Turn::new(recorded.role);
        turn.id = Some(recorded.id.clone());
        (turn.at, turn.line) = (recorded.at, recorded.line);
        turn.model.clone_from(&self.model);
        let text = recorded.text();
        let mut results = Vec::new();
        self.items(recorded.content, &mut turn, &mut results);
        while turn.role == Role::Assistant
            && let Some(next) = rest
                .next_if(|next| next.role == Role::Assistant && !next.is_hidden(Role::Assistant))
        {
            self.items(next.content, &mut turn, &mut results);
        }
        let (at, line) = (turn.at, turn.line);
        for (call, result, is_error) in results {
            self.recorder.result(&call, result, Outcome { id: None, is_error, at, line });
        }
        let is_users = turn.role == Role::User && !text.is_empty();
        let index = self.recorder.count();
        if !turn.blocks.is_empty() {
            self.recorder.turn(turn);
            if is_users {
                self.said.insert(text, index);
            }
        }
    }

    fn items(
        &mut self,
        items: Vec<Item>,
        turn: &mut Turn,
        results: &mut Vec<(String, ResultText, bool)>,
    ) {
        for item in items {
            match item.kind.as_str() {
                "text" => turn.text(item.text),
                "thinking" => turn.reasoning(item.thinking),
                "reasoning" => turn.reasoning(item.text),
                "image" => turn.blocks.push(Block::Image { media_type: item.mime_type }),
                "toolRequest" | "frontendToolRequest" if turn.role == Role::Assistant => {
                    match item.tool_call.and_then(|call| call.value) {
                        Some(Called { name, arguments }) => {
                            turn.blocks.push(self.recorder.call(item.id, name, arguments));
                        }
                        None => self.recorder.draft.leave_out("tool call that was not valid", 1),
                    }
                }
                "toolResponse" => {
                    let Some(outcome) = item.tool_result else { continue };
                    let (content, is_error) = outcome.content();
                    let draft = &mut self.recorder.draft;
                    let text = result_text(content, wire::part, "image", draft);
                    results.push((item.id, text, is_error));
                }
                other => self.recorder.draft.leave_out(format!("{other} part"), 1),
            }
        }
    }

    /// A summary and the words behind it, which took the place of everything.
    fn compaction(&mut self, summary: Recorded, words: Recorded) -> Result<(), Problem> {
        let after = self.recorder.count();
        let (text, said) = (summary.text(), words.text());
        let trigger = match said.contains("at the user's request") {
            true => RecordedTrigger::Manual,
            false => RecordedTrigger::Unknown,
        };
        let piece = |role, text: &str| Piece::Text { role, text: text.to_owned() };
        let pieces = vec![piece(Role::User, &text), piece(Role::Assistant, &said)];
        self.recorder.draft.compact(RecordedCompaction {
            after,
            kept_from: after,
            summary: Some(text),
            pieces,
            trigger,
            at: summary.at,
            ..RecordedCompaction::default()
        })
    }

    /// Goose writes the user's newest message once more behind a summary: what
    /// was sent is the message that is there already.
    fn is_repeated(&mut self, recorded: &Recorded) -> bool {
        let original = self.said.get(&recorded.text()).filter(|_| recorded.role == Role::User);
        let compaction = self.recorder.draft.transcript.compactions.last_mut();
        let (Some(&original), Some(compaction)) = (original, compaction) else {
            return false;
        };
        if original >= compaction.kept_from {
            return false;
        }
        compaction.pieces.push(Piece::Message(original));
        self.recorder.draft.leave_out("user message repeated after a compaction", 1);
        true
    }
}
