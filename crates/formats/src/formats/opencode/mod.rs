//! Sessions of OpenCode: the JSON document that `opencode export` writes, or the
//! store of OpenCode and Kilo, whose rows are its parts.
//!
//! What was sent follows OpenCode's own conversion of a session into model
//! messages (anomalyco/opencode, `packages/opencode/src/session/message-v2.ts`).

mod compaction;
mod entry;
mod store;
mod wire;

use std::collections::BTreeMap;

use self::wire::{Export, Info, Item, Part, State, Tokens, WireMessage, WireSession};
use super::prelude::*;

/// The text that OpenCode sends for a call that did not finish.
const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// The text that OpenCode sends for a command that a subagent ran.
const SUBTASK: &str = "The following tool was executed by the user";

/// The format of sessions exported by OpenCode.
pub(super) const FORMAT: Format = Format {
    name: "opencode",
    describe: "OpenCode session (JSON of `opencode export`, or opencode.db, also of OpenCode 2; kilo.db of Kilo)",
    tried: Tried::On {
        files: 5,
        compared: "messages, requests, calls with results, largest prompt, compactions; no store",
    },
    sniff,
    read: Read::Each(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    // A scrubber may have replaced the ids.
    let is_export = |record: &Json| {
        let id = record.pointer("/info/id").and_then(Json::as_str);
        let is_own = |id: &str| {
            id.starts_with("ses_")
                || record.pointer("/messages/0/info/role").is_some()
                || record.pointer("/info/projectID").is_some()
        };
        id.is_some_and(is_own) && record.get("messages").is_some_and(Json::is_array)
    };
    head.any(is_export) || store::is_store(head)
}

fn read(
    source: &mut Source<'_>,
    options: &LoadOptions,
    take: &mut Take<'_>,
) -> Result<(), DatasetError> {
    if source.is_database()? {
        return store::read(source, options, take);
    }
    let export: Export = source.document()?;
    let items = export.messages.into_iter().map(|one| Item::Message(Box::new(one))).collect();
    let draft = source.whole(Reader::read(source.stem(), export.info, items))?;
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
    fn read(id: &str, own: WireSession, items: Vec<Item>) -> Result<Draft, Problem> {
        let mut reader = Reader { draft: Draft::named(id), ..Reader::default() };
        reader.session(own);
        let last = items.len().saturating_sub(1);
        for (at, item) in items.into_iter().enumerate() {
            let id = item.id().to_owned();
            let read = match item {
                Item::Message(message) => reader.message(*message, at == last),
                Item::Entry(entry) => reader.entry(entry, at == last),
            };
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
        self.wrote(&info);
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

    fn wrote(&mut self, info: &Info) {
        if let Some(model) = &info.model {
            self.draft.models.add(model, &info.id);
            self.draft.metadata.insert(model.clone());
        }
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
        let finished = tokens.is_some() || info.time.completed.is_some();
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
