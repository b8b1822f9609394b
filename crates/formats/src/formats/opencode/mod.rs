//! Sessions of OpenCode: the JSON document that `opencode export` writes, or the
//! store of OpenCode and Kilo, whose rows are its parts.
//!
//! What was sent follows OpenCode's own conversion of a session into model
//! messages (anomalyco/opencode, `packages/opencode/src/session/message-v2.ts`).

mod compaction;
mod wire;

use std::collections::BTreeMap;

use self::wire::{Export, Info, Part, State, Tokens, WireMessage, WireSession};
use super::prelude::*;
use super::store::{Listed, UNTRIED, read_sessions};
use crate::database::{Row, Rows, Wanted};
use recap_core::text::counted;

/// The text that OpenCode sends for a call that did not finish.
const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// The text that OpenCode sends for a command that a subagent ran.
const SUBTASK: &str = "The following tool was executed by the user";

/// The format of sessions exported by OpenCode.
pub(super) const FORMAT: Format = Format {
    name: "opencode",
    describe: "OpenCode session (JSON of `opencode export`, or opencode.db; kilo.db of Kilo)",
    tried: Tried::On {
        files: 5,
        compared: "messages, requests, calls with results, largest prompt, compactions; no store",
    },
    sniff,
    read: Read::Each(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_export = |record: &Json| {
        let id = record.pointer("/info/id").and_then(Json::as_str);
        id.is_some_and(|id| id.starts_with("ses_"))
            && record.get("messages").is_some_and(Json::is_array)
    };
    head.any(is_export) || is_store(head)
}

fn read(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    if source.is_database()? {
        return read_store(source, options, take);
    }
    let export: Export = source.document()?;
    let draft = source.whole(Reader::read(source.stem(), export.info, export.messages))?;
    take(source, draft)
}

fn lacks(kind: &str, field: &str) -> Problem {
    Problem::lacks("parts", kind, field)
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// Index of the first message at or after each of the export's messages.
    index_of: FxHashMap<String, u32>,
    /// Ids of messages and results, and those of calls: a scrubber may have made
    /// several equal, so that they are told apart by their order.
    ids: Ids,
    calls: Ids,
    /// Number of calls.
    called: u64,
    /// Questions for a summary that have no answer yet.
    summary_requests: FxHashMap<String, compaction::SummaryRequest>,
    /// Calls whose output was pruned, by the time of the pruning.
    pruned: BTreeMap<Timestamp, Vec<String>>,
    /// The start time of each message.
    begun: Vec<Option<Timestamp>>,
    /// The last reported prompt that is not empty, in tokens.
    last_prompt: Option<u64>,
}

impl Reader {
    fn read(id: &str, own: WireSession, messages: Vec<WireMessage>) -> Result<Draft, Problem> {
        let mut reader = Reader { draft: Draft::named(id), ..Reader::default() };
        reader.session(own);
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.into_iter().enumerate() {
            let id = message.info.id.clone();
            let read = reader.message(message, at == last);
            read.map_err(|problem| problem.within(format_args!("{id}.")))?;
        }
        reader.prune();
        Ok(reader.draft)
    }

    fn session(&mut self, session: WireSession) {
        let WireSession { id, slug, project_id, parent_id, directory, version } = session;
        let own = [Some(id), slug, project_id, parent_id, version];
        self.draft.metadata.extend(own.into_iter().flatten().filter(|value| !value.is_empty()));
        self.draft.session.project = directory.as_deref().and_then(project_of);
        self.folder(directory);
    }

    fn folder(&mut self, folder: Option<String>) {
        // A session outside a repository has the root as its worktree.
        let folder = folder.filter(|folder| folder.len() > 1);
        folder.into_iter().for_each(|folder| self.draft.worked_in(folder));
    }

    fn message(&mut self, message: WireMessage, is_last: bool) -> Result<(), Problem> {
        let WireMessage { mut info, parts } = message;
        let index = self.draft.next_index();
        self.index_of.entry(info.id.clone()).or_insert(index);
        info.id = self.ids.free(info.id);
        match info.role.as_str() {
            "user" => self.user(&info, parts)?,
            "assistant" if info.is_summary() && self.is_finished(&info) => {
                self.summary(&info, parts)?;
            }
            "assistant" => self.assistant(info, parts, is_last)?,
            _ => return Err(Problem::UnknownRole { role: info.role }),
        }
        let begun = self.draft.next_index() as usize;
        self.begun.resize(begun, None);
        Ok(())
    }

    fn push(&mut self, message: Message, begun: Option<Timestamp>) {
        self.begun.push(begun);
        let prompt = message.usage.map(|usage| usage.prompt()).filter(|&prompt| prompt > 0);
        self.last_prompt = prompt.or(self.last_prompt);
        self.draft.push(message, None);
    }

    /// The user's message. A question for a summary waits for its answer.
    fn user(&mut self, info: &Info, parts: Vec<Part>) -> Result<(), Problem> {
        let mut blocks = Vec::new();
        if let Some(part) = parts.iter().find(|part| part.kind == "compaction") {
            self.request_summary(info, part);
            self.draft.leave_out("part beside a question for a summary", parts.len() as u64 - 1);
            return Ok(());
        }
        for part in parts {
            match part.kind.as_str() {
                "text" if part.ignored => self.draft.leave_out("text that was not sent", 1),
                "text" => {
                    let text = part.text.ok_or_else(|| lacks("text", "text"))?;
                    blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
                }
                "file" => self.file(part.mime.unwrap_or_default(), &mut blocks),
                "subtask" => blocks.push(Block::Text { text: SUBTASK.to_owned() }),
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        if blocks.is_empty() {
            self.draft.leave_out("empty message", 1);
        } else {
            let created = info.time.created;
            self.push(Message::new(info.id.clone(), Role::User, created, blocks), created);
        }
        Ok(())
    }

    /// Texts and folders become text parts of their own.
    fn file(&mut self, mime: String, blocks: &mut Vec<Block>) {
        match mime.as_str() {
            "text/plain" | "application/x-directory" => {}
            mime if mime.starts_with("image/") => {
                blocks.push(Block::Image { media_type: Some(mime.to_owned()) });
            }
            _ => self.draft.leave_out("file part without text", 1),
        }
    }

    /// A response of one or more steps, each a request of its own.
    fn assistant(&mut self, info: Info, parts: Vec<Part>, is_last: bool) -> Result<(), Problem> {
        let is_output = |part: &Part| part.kind != "step-start" && part.kind != "reasoning";
        if let Some(error) = &info.error {
            // A failed response is not sent again, unless it was interrupted.
            if !(error.name == "MessageAbortedError" && parts.iter().any(is_output)) {
                self.draft.leave_out("response that failed", 1);
                return Ok(());
            }
        }
        self.unanswered(info.parent_id.as_deref());
        if let Some(model) = &info.model {
            self.draft.models.add(model, &info.id);
            self.draft.metadata.insert(model.clone());
        }
        if let Some(path) = &info.path {
            self.folder(path.cwd.clone());
            self.folder(path.root.clone());
        }
        self.draft.system_prompt(info.system());
        let mut steps = steps(parts);
        let only = steps.len() == 1;
        for (number, step) in steps.drain(..).enumerate() {
            let id = match number {
                0 => info.id.clone(),
                _ => format!("{}#{}", info.id, number + 1),
            };
            let whole = info.tokens.as_ref().filter(|_| only && info.error.is_none());
            self.step(id, &info, step, whole, is_last)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        id: String,
        info: &Info,
        parts: Vec<Part>,
        whole: Option<&Tokens>,
        is_last: bool,
    ) -> Result<(), Problem> {
        let (mut blocks, mut results) = (Vec::new(), Vec::new());
        let mut tokens = None;
        for part in parts {
            match part.kind.as_str() {
                "text" => {
                    let text = part.text.ok_or_else(|| lacks("text", "text"))?;
                    blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
                }
                "reasoning" => {
                    blocks.push(Block::Reasoning { text: part.text.unwrap_or_default() });
                }
                "tool" => {
                    let (call, result) = self.tool(part, is_last)?;
                    blocks.push(call);
                    results.extend(result);
                }
                "step-start" => {}
                "step-finish" => tokens = part.tokens,
                other => self.draft.leave_out(format!("{other} part"), 1),
            }
        }
        let finished = tokens.is_some();
        let usage = self.usage(tokens.as_ref().or(whole), finished);
        let created = info.time.created;
        if blocks.is_empty() && usage.is_none() {
            self.draft.leave_out("empty message", 1);
            return Ok(());
        }
        let at = info.time.completed.or(created);
        let message = Message { usage, ..Message::new(id, Role::Assistant, at, blocks) };
        self.push(message, created);
        for result in results {
            self.push(result, created);
        }
        Ok(())
    }

    /// A call, with its result where there is one.
    fn tool(&mut self, part: Part, is_last: bool) -> Result<(Block, Option<Message>), Problem> {
        let name = part.tool.ok_or_else(|| lacks("tool", "tool"))?;
        let state = part.state.ok_or_else(|| lacks("tool", "state"))?;
        let call = part.call_id.ok_or_else(|| lacks("tool", "callID"))?;
        self.called += 1;
        let own = part.id.unwrap_or_else(|| format!("result-{}", self.called));
        let own = self.ids.free(own);
        // Some providers number the calls of each response from the beginning.
        let is_known = self.calls.newest(&call).is_some();
        let call = self.calls.free(if is_known { own.clone() } else { call });
        let arguments = state.input.clone().unwrap_or_else(|| serde_json::json!({}));
        let block = Block::ToolCall { id: call.clone(), name, arguments };
        if let Some(at) = state.time.compacted {
            self.pruned.entry(at).or_default().push(call.clone());
        }
        let at = state.time.end;
        let result = self.result(state, is_last)?;
        let message = |(text, failed)| result_message(own, call, text, failed, at);
        Ok((block, result.map(message)))
    }

    /// The result, and whether the tool failed. A call that is still running
    /// has no result.
    fn result(
        &mut self,
        state: State,
        is_last: bool,
    ) -> Result<Option<(ResultText, bool)>, Problem> {
        let text = |text: String, images: u32| ResultText { text, images };
        Ok(match state.status.as_str() {
            "completed" => {
                let output = state.output.ok_or_else(|| lacks("tool", "output"))?;
                let pictures = state.attachments.iter().filter(|a| a.mime.starts_with("image/"));
                let pictures = pictures.count();
                let others = state.attachments.len() - pictures;
                self.draft.leave_out("file part without text", others as u64);
                Some((text(output, pictures as u32), false))
            }
            "error" => {
                let cut = state.metadata.get("interrupted") == Some(&Json::Bool(true));
                let partial = state.metadata.get("output").and_then(Json::as_str);
                let text_or_error = partial.filter(|_| cut).map(str::to_owned).or(state.error);
                Some((text(text_or_error.ok_or_else(|| lacks("tool", "error"))?, 0), true))
            }
            "pending" | "running" if is_last => None,
            "pending" | "running" => Some((text(INTERRUPTED.to_owned(), 0), true)),
            other => {
                let message = format!("unknown status `{other}` of a tool call");
                return Err(Problem::shape("parts", message));
            }
        })
    }

    fn usage(&mut self, tokens: Option<&Tokens>, finished: bool) -> Option<Usage> {
        let counts = tokens?.counts();
        self.draft.leave_out("token counts that are none", u64::from(counts.is_none()));
        let [input, cache_read, cache_write_5m, output] = counts?;
        let usage = disjoint(input, cache_read, cache_write_5m, output);
        let usage = Usage { output_final: finished, ..usage };
        (usage.prompt() > 0 || output > 0).then_some(usage)
    }
}

/// The parts of each step. Parts before the first step belong to it.
fn steps(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut steps: Vec<Vec<Part>> = vec![Vec::new()];
    let mut begun = false;
    for part in parts {
        if part.kind == "step-start" && std::mem::replace(&mut begun, true) {
            // There may be very many of one part each, and room was made for four.
            steps.last_mut().expect("there is always one").shrink_to_fit();
            steps.push(Vec::new());
        }
        steps.last_mut().expect("there is always one").push(part);
    }
    steps
}

// The store of OpenCode (`opencode.db`) and Kilo (`kilo.db`): the parts of an
// export as rows, with the ids in columns of their own (anomalyco/opencode,
// `packages/opencode/src/session/session.sql.ts`). No store was at hand.

const SESSIONS: Wanted = Wanted {
    table: "session",
    key: None,
    columns: &["id", "time_created"],
    optional: &["parent_id", "slug", "project_id", "directory", "version"],
    order: &["time_created", "id"],
};

const MESSAGES: Wanted = Wanted {
    table: "message",
    key: Some("session_id"),
    columns: &["id", "time_created", "data"],
    optional: &[],
    order: &["time_created", "id"],
};

const PARTS: Wanted = Wanted {
    table: "part",
    key: Some("session_id"),
    columns: &["id", "message_id", "data"],
    optional: &[],
    order: &["message_id", "id"],
};

/// Whether the input is such a store.
fn is_store(head: &Head) -> bool {
    head.has_table(SESSIONS.table, &["id"])
        && head.has_table(MESSAGES.table, &["session_id", "data"])
        && head.has_table(PARTS.table, &["message_id", "data"])
}

/// Reads every session of the store.
fn read_store(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    let database = source.database()?;
    let mut listed = Vec::new();
    let rows = database.rows(&SESSIONS).and_then(|mut rows| {
        rows.each(None, |row| {
            let id = row.needed("id")?;
            let parent = row.text("parent_id")?;
            let facts = WireSession {
                id: id.clone(),
                slug: row.text("slug")?,
                project_id: row.text("project_id")?,
                parent_id: parent.clone(),
                directory: row.text("directory")?,
                version: row.text("version")?,
            };
            listed.push(Listed { id, parent, facts });
            Ok(())
        })?;
        Ok((database.rows(&MESSAGES)?, database.rows(&PARTS)?))
    });
    let (mut messages, mut parts) = source.whole(rows)?;
    let mut read = 0;
    read_sessions(source, listed, options, take, |session| {
        one(session, &mut messages, &mut parts, &mut read)
    })?;
    let all = database.count(&MESSAGES).and_then(|n| Ok(n + database.count(&PARTS)?));
    let unread = source.whole(all)?.saturating_sub(read);
    if unread > 0 {
        source.warn(format!("left out: {} of no listed session", counted(unread, "row")));
    }
    source.warn(UNTRIED);
    Ok(())
}

fn one(
    session: &Listed<WireSession>,
    messages: &mut Rows<'_>,
    parts: &mut Rows<'_>,
    read: &mut usize,
) -> Result<Draft, Problem> {
    let mut of_message: FxHashMap<String, Vec<Part>> = FxHashMap::default();
    parts.each(Some(&session.id), |row| {
        *read += 1;
        let part = with_id(row)?;
        of_message.entry(row.needed("message_id")?).or_default().push(part);
        Ok(())
    })?;
    let mut all = Vec::new();
    messages.each(Some(&session.id), |row| {
        *read += 1;
        let info: Info = with_id(row)?;
        let parts = of_message.remove(&info.id).unwrap_or_default();
        all.push(WireMessage { info, parts });
        Ok(())
    })?;
    let mut draft = Reader::read(&session.id, session.facts.clone(), all)?;
    let orphans = of_message.values().map(|parts| parts.len() as u64).sum();
    draft.leave_out("part without its message", orphans);
    Ok(draft)
}

/// The JSON of a row, in which its own id is a column.
fn with_id<T: serde::de::DeserializeOwned>(row: &Row<'_>) -> Result<T, Problem> {
    let mut data: Json = row.json("data")?;
    if let Json::Object(fields) = &mut data {
        fields.insert("id".to_owned(), Json::String(row.needed("id")?));
    }
    from_json(data).map_err(|problem| row.problem("data", problem))
}
