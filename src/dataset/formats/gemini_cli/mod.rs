//! Sessions of Gemini CLI: one JSON document, or (since 2026) a log of events,
//! one a line.

mod log;
mod turn;
mod wire;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use self::log::{ABANDONED, Boundary, Log, Slot};
pub(super) use self::turn::response_text;
use self::turn::{Call, Outcome, Turn};
use self::wire::read_record;
pub(super) use self::wire::{Part, Record, Session, Tokens, WireMessage};
use super::content::{Models, home_of, result_message, warn_of_branches};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source};
use crate::model::{Block, Message, Piece, RecordedCompaction, RecordedTrigger, Role};

/// The format of Gemini CLI's session files.
pub struct GeminiCli;

impl Format for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn describe(&self) -> &'static str {
        "Gemini CLI session (JSON or JSON lines, ~/.gemini/tmp/*/chats/session-*)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let of_session = |record: &Json| {
            let has = |key: &str| record.get(key).is_some_and(Json::is_string);
            has("sessionId") && has("projectHash")
        };
        let long = head.records.is_empty()
            && head.first_char() == Some('{')
            && head.mentions(&["sessionId", "projectHash", "messages"]);
        head.any(of_session) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut log = Log::default();
        if Head::new(source.head(HEAD)?).spread {
            log.record(Record::Session(source.document::<Session>()?));
        } else {
            while let Some((_, record)) = source.next_record(read_record)? {
                log.record(record);
            }
        }
        let mut draft = Reader::new(source.stem()).read(log).map_err(|p| source.error(None, p))?;
        warn_of_branches(source, &draft, ABANDONED);
        draft.leave_out("torn last line", source.torn());
        let empty = draft.transcript.messages.is_empty();
        Ok(if empty { vec![] } else { vec![draft] })
    }
}

/// The session that these records make.
///
/// # Errors
/// Compactions that keep more than can be held.
pub(super) fn session_of(
    stem: &str,
    records: impl IntoIterator<Item = Record>,
) -> Result<Draft, Problem> {
    let mut log = Log::default();
    records.into_iter().for_each(|record| log.record(record));
    Reader::new(stem).read(log)
}

struct Reader {
    draft: Draft,
    models: Models,
    metadata: BTreeSet<String>,
    /// How often each id of a call was used: a model may give one twice.
    calls: FxHashMap<String, u64>,
    /// Index of the first message of each turn, and the ids of its calls.
    turns: Vec<(u32, Vec<String>)>,
    /// The prompt that was reported last, by the number of turns.
    reported: Vec<Option<u64>>,
}

impl Reader {
    fn new(stem: &str) -> Reader {
        let mut draft = Draft::default();
        draft.transcript.id = stem.to_owned();
        Reader {
            draft,
            models: Models::default(),
            metadata: BTreeSet::new(),
            calls: FxHashMap::default(),
            turns: Vec::new(),
            reported: vec![None],
        }
    }

    fn read(mut self, log: Log) -> Result<Draft, Problem> {
        let Log { session, turns, boundaries, left_out, .. } = log;
        for (reason, count) in left_out {
            self.draft.leave_out(reason, count);
        }
        self.session(session);
        for turn in turns {
            self.turn(turn);
        }
        self.turns.push((self.draft.next_index(), Vec::new()));
        for boundary in boundaries {
            self.boundary(boundary)?;
        }
        self.models.name_models(&mut self.draft.transcript);
        self.draft.transcript.metadata = self.metadata.into_iter().collect();
        Ok(self.draft)
    }

    fn session(&mut self, session: Session) {
        // Sessions of one folder share the hash of its path.
        let project = session.project_hash.as_deref().map(|hash| hash.chars().take(12).collect());
        self.draft.transcript.project = project.filter(|hash: &String| !hash.is_empty());
        self.metadata.extend(session.session_id);
        self.metadata.extend(session.project_hash);
        for folder in session.directories.into_iter().flatten() {
            self.metadata.extend(home_of(&folder));
            self.metadata.insert(folder);
        }
    }

    fn turn(&mut self, turn: Turn) {
        let id = turn.id.unwrap_or_else(|| format!("message-{}", self.turns.len() + 1));
        let first = self.draft.next_index();
        for reason in turn.left_out {
            self.draft.leave_out(reason, 1);
        }
        let reasoning = turn.thoughts.into_iter().map(|text| Block::Reasoning { text });
        let mut blocks: Vec<Block> = reasoning.chain(turn.said).collect();
        let (mut results, mut ids) = (Vec::new(), Vec::new());
        for call in turn.calls {
            let Call { id, name, arguments, outcome } = call;
            let id = self.free(id);
            blocks.push(Block::ToolCall { id: id.clone(), name, arguments });
            results.extend(outcome.map(|outcome| (id.clone(), outcome)));
            ids.push(id);
        }
        self.turns.push((first, ids));
        let prompt = turn.usage.map(|usage| usage.prompt()).filter(|&prompt| prompt > 0);
        self.reported.push(prompt.or(self.reported.last().copied().flatten()));
        if let Some(model) = &turn.model {
            self.models.add(model, &id);
            self.metadata.insert(model.clone());
        }
        if blocks.is_empty() && turn.usage.is_none() {
            self.draft.leave_out("empty message", 1);
            return;
        }
        // The agent's own words, such as its answer to a summary.
        let synthetic =
            turn.role == Role::Assistant && turn.usage.is_none() && turn.model.is_none();
        self.draft.push(
            Message {
                id,
                role: turn.role,
                at: turn.at,
                blocks,
                usage: turn.usage.filter(|_| turn.role == Role::Assistant),
                synthetic,
                broadcast: false,
            },
            None,
        );
        for (call, Outcome { text, is_error, at }) in results {
            let id = format!("result-{call}");
            self.draft.push(result_message(id, call, text, is_error, at), None);
        }
    }

    /// An id that no earlier call has.
    fn free(&mut self, id: String) -> String {
        let uses = self.calls.entry(id.clone()).or_default();
        *uses += 1;
        if *uses == 1 { id } else { format!("{id}#{uses}") }
    }

    fn boundary(&mut self, boundary: Boundary) -> Result<(), Problem> {
        let mut pieces = Vec::new();
        for slot in boundary.front.iter() {
            match slot {
                Slot::Said(turn) => {
                    let messages = self.turns[*turn].0..self.turns[turn + 1].0;
                    pieces.extend(messages.map(Piece::Message));
                }
                Slot::Put(turn) if turn.text().is_empty() => {
                    self.draft.leave_out("message without text in a summary", 1);
                }
                Slot::Put(turn) => pieces.push(Piece::Text { role: turn.role, text: turn.text() }),
            }
        }
        let clears = !boundary.cleared.is_empty();
        let call = |&(turn, call): &(usize, usize)| self.turns[turn].1[call].clone();
        self.draft.compact(RecordedCompaction {
            after: self.turns[boundary.after].0,
            kept_from: self.turns[boundary.run].0,
            summary: boundary.folded.filter(|text| !text.is_empty()),
            cleared: boundary.cleared.iter().map(call).collect(),
            pieces: if clears { Vec::new() } else { pieces },
            // The file does not say whether the user asked for a summary.
            trigger: if clears { RecordedTrigger::Auto } else { RecordedTrigger::Unknown },
            tokens_before: self.reported[boundary.after],
            at: boundary.at,
            ..RecordedCompaction::default()
        })
    }
}
