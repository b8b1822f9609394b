//! Sessions of Kimi Code, JSON lines
//! (`~/.kimi-code/sessions/*/session_*/agents/AGENT/wire.jsonl`): the records by which the
//! agent rebuilds its context, wire protocol 1.1 to 1.5 (MoonshotAI/kimi-code,
//! `packages/agent-core-v2/docs/wire-manifest.d.ts` and `src/agent/contextMemory`). No
//! recording was at hand as a whole.
//!
//! A response is a step: its parts and calls are events, and what is said meanwhile follows
//! its results. `usage.record` stands behind or before them, and the end of the step may
//! repeat it. A compaction keeps what the user said and ends with its summary; until
//! `keptUserMessageCount` was written, the summary stood in front of a kept tail.

use std::path::Path;

use super::content::{Part, parts};
use super::prelude::*;

/// The format of the records of Kimi Code.
pub(super) const FORMAT: Format = Format {
    name: "kimi-code",
    describe: "Kimi Code session (JSON lines, ~/.kimi-code/sessions/*/*/agents/*/wire.jsonl)",
    tried: Tried::Documentation,
    sniff,
    read,
};

/// Whether a record of this kind holds nothing which is sent, or what other records say.
fn is_beside(kind: &str) -> bool {
    let (subject, event) = kind.split_once('.').unwrap_or((kind, ""));
    match subject {
        "context" => event == "update_token_count",
        "full_compaction" => event == "complete",
        "turn" => ["cancel", "ended", "prompt", "steer"].contains(&event),
        "tools" => {
            event.ends_with("register_user_tool")
                || ["reset_active_tools", "set_active_tools", "update_store"].contains(&event)
        }
        _ => BESIDE.split(' ').any(|own| own == subject),
    }
}

/// The subjects of records of which no event is sent.
const BESIDE: &str = "cron forked goal interaction interruptionReminder mcp metadata permission \
                      plan plan_mode plugin prompt runtime staleGuard swarm_mode task \
                      token_counting tower_mode";

/// The result that the agent writes for a call without one.
const INTERRUPTED: &str = "Tool execution was interrupted before its result was recorded. \
    Do not assume the tool completed successfully.";

/// What the model reads before the result of a call that failed, and of one without output.
const FAILED: &str = "<system>ERROR: Tool execution failed.</system>";
const EMPTY: &str = "<system>Tool output is empty.</system>";

fn sniff(head: &Head) -> bool {
    head.has(&[
        "/type=metadata /protocol_version /created_at",
        "/type=context.append_message|context.append_loop_event|turn.prompt",
    ])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    // Every session has files of the same names, in folders of its own.
    let path = Path::new(source.name()).parent().unwrap_or(Path::new(""));
    let name = |path: Option<&Path>| Some(path?.file_name()?.to_str()?.to_owned());
    let agents = path.parent().filter(|_| name(path.parent()).as_deref() == Some("agents"));
    let session = agents.and_then(Path::parent);
    let agent = name(Some(path)).unwrap_or_default();
    let id = match name(session) {
        Some(session) if agent == "main" => session,
        Some(session) => format!("{session}-{agent}"),
        None => source.stem().to_owned(),
    };
    let main = agents.map(|agents| agents.join("main").display().to_string());
    // The folder of a project is named after it, with a hash.
    let project = name(session.and_then(Path::parent));
    let project = project.as_deref().and_then(|name| name.strip_prefix("wd_")?.rsplit_once('_'));
    let project = project.map(|(project, _)| project.to_owned());

    let mut reader = Reader { draft: Draft::named(id.clone()), id, ..Reader::default() };
    source.keeps_of_each(0);
    source.each_record(parse::<Json>, |_, record| {
        reader.record(record)?;
        reader.draft.check_memory()
    })?;
    let mut drafts = reader.finish();
    let is_main = agent == "main";
    for draft in &mut drafts {
        draft.session.project = draft.session.project.take().or_else(|| project.clone());
        draft.parent = main.clone().filter(|_| !is_main);
    }
    if let Some(last) = drafts.last_mut() {
        last.recorded_id = main.filter(|_| is_main);
    }
    drafts.into_iter().try_for_each(|draft| take(source, draft))
}

#[derive(Default)]
struct Reader {
    id: String,
    draft: Draft,
    /// Parts of the session that `/clear` ended.
    ended: Vec<Draft>,
    at: Option<Timestamp>,
    /// The model of the newest request, and whether that was a compaction's.
    model: Option<String>,
    compacts: bool,
    /// The response that is being written, and the place of the one before.
    open: Option<Turn>,
    answer: Option<u32>,
    /// Calls, those without a result, and what was said meanwhile.
    calls: Vec<String>,
    pending: FxHashSet<String>,
    deferred: Vec<(Turn, bool)>,
    /// The context as the agent has it: positions of messages, none for a summary, and whether
    /// the user typed it: an undone turn begins there, and compactions keep it.
    context: Vec<(Option<u32>, bool)>,
    /// Where in it the user spoke since the newest summary, and which message that is.
    turns: Vec<(usize, u32)>,
    /// Usage that came before its response.
    early: Option<Usage>,
    /// How the newest compaction began, and what it asked.
    begun: (RecordedTrigger, Option<Timestamp>),
    asked: Vec<SidechainRequest>,
}

impl Reader {
    fn record(&mut self, record: Json) -> Result<(), Problem> {
        let mut record = Fields(record);
        let kind: String = record.need("/type")?;
        let time = record.0.get("time").and_then(Json::as_i64);
        self.at = time.and_then(|time| Timestamp::from_millisecond(time).ok());
        match kind.as_str() {
            "context.append_message" => {
                let read = self.message(Fields(record.need("/message")?));
                read.map_err(|problem| below("/message", problem))?;
            }
            "context.append_loop_event" => {
                let read = self.event(Fields(record.need("/event")?));
                read.map_err(|problem| below("/event", problem))?;
            }
            "config.update" | "profile.bind" => self.configure(&record.0),
            "llm.tools_snapshot" => self.tools(&record.0["tools"]),
            "llm.request" => self.request(&record),
            "usage.record" => {
                let usage = usage(record.need("/usage")?)?;
                if self.model.is_none() {
                    self.model = record.text("/model").map(str::to_owned);
                    self.name_newest();
                }
                if self.compacts || record.text("/usageScope") == Some("session") {
                    self.asked.push(self.apart(usage));
                } else {
                    self.used(usage);
                }
            }
            "full_compaction.begin" => {
                self.begun = (trigger_of(record.text("/source")), self.at);
                self.bill_apart();
            }
            "full_compaction.cancel" => {
                self.draft.leave_out("compaction that did not end", 1);
                self.begun = Default::default();
                self.bill_apart();
            }
            "context.apply_compaction" => self.compaction(record)?,
            "context.clear" => self.clear(),
            "context.undo" => {
                let count = record.need("/count")?;
                self.undo(count);
            }
            other if is_beside(other) => {}
            other => self.draft.leave_out(format!("{other} record"), 1),
        }
        Ok(())
    }

    fn configure(&mut self, record: &Json) {
        let cwd = record.get("cwd").or_else(|| record.pointer("/environmentDisclosure/cwd"));
        if let Some(cwd) = cwd.and_then(Json::as_str) {
            let draft = &mut self.draft;
            draft.session.project = project_of(cwd);
            draft.worked_in(cwd.to_owned());
        }
        match record.get("systemPrompt") {
            Some(Json::String(prompt)) => {
                self.draft.system_prompt(vec![prompt.clone()]);
            }
            Some(Json::Null) | None => {}
            Some(_) => self.draft.leave_out("system prompt that is no text", 1),
        }
    }

    /// The tools that requests name from here on.
    fn tools(&mut self, tools: &Json) {
        let listed = tool_definitions(tools.as_array().into_iter().flatten());
        let draft = &mut self.draft;
        draft.leave_out("tool definitions that are no list", (!tools.is_array()).into());
        let before = std::mem::replace(&mut draft.session.preamble.tools, listed);
        let replaced = !before.is_empty() && before != draft.session.preamble.tools;
        draft.leave_out("list of tools that a later one replaced", replaced.into());
    }

    fn request(&mut self, record: &Fields) {
        self.model = record.text("/model").map(str::to_owned).or(self.model.take());
        self.compacts = record.text("/kind") == Some("compaction");
        // Recordings without the begin of a step are told apart by their requests.
        match &mut self.open {
            Some(turn) if turn.blocks.is_empty() => turn.model.clone_from(&self.model),
            _ => self.interrupt(),
        }
    }

    fn message(&mut self, mut message: Fields) -> Result<(), Problem> {
        let tools: Option<Vec<Json>> = message.take("/tools")?;
        let tools = tools.map_or(0, |tools| tools.len() as u64);
        self.draft.leave_out("definition of a tool within a message", tools);
        let role: String = message.need("/role")?;
        let role = match role.as_str() {
            "tool" => {
                let call: String = message.need("/toolCallId")?;
                return self.result(&call, message, "/content");
            }
            _ => role_of(role)?,
        };
        let (note, parts): (Option<String>, _) =
            (message.take("/note")?, message.parts("/content")?);
        let calls = message.calls("/toolCalls")?;
        let mut turn = self.turn(role);
        turn.text(note.unwrap_or_default());
        turn.blocks.extend(self.blocks(parts));
        if role == Role::Assistant {
            self.interrupt();
        }
        for call in calls {
            if let Part::Call { id, name, arguments } = call {
                turn.blocks.push(self.call(id.unwrap_or_default(), name, arguments));
            }
        }
        let typed = message.text("/origin/trigger") == Some("user-slash");
        let is_users = match message.text("/origin/kind") {
            None | Some("user") => role == Role::User,
            Some("skill_activation" | "plugin_command") => role == Role::User && typed,
            Some(_) => false,
        };
        if role == Role::Assistant || self.pending.is_empty() {
            self.close();
            self.push(turn, is_users);
        } else {
            self.deferred.push((turn, is_users));
        }
        Ok(())
    }

    fn event(&mut self, mut event: Fields) -> Result<(), Problem> {
        let kind = event.text("/type").unwrap_or_default().to_owned();
        match kind.as_str() {
            "step.begin" => {
                self.interrupt();
                self.open = Some(self.turn(Role::Assistant));
            }
            "content.part" => {
                let parts = event.parts("/part")?;
                let blocks = self.blocks(parts);
                self.opened().blocks.extend(blocks);
            }
            "tool.call" => {
                let (id, name) = (event.need("/toolCallId")?, event.need("/name")?);
                let call = self.call(id, name, event.take("/args")?.unwrap_or_default());
                self.opened().blocks.push(call);
            }
            "tool.result" => {
                let call: String = event.need("/toolCallId")?;
                self.result(&call, Fields(event.need("/result")?), "/output")?;
            }
            "step.end" => {
                let usage = event.take("/usage")?.map(usage).transpose()?;
                let is_reported =
                    self.early.is_some() || self.newest().is_some_and(|own| own.is_some());
                if let Some(usage) = usage.filter(|_| !is_reported) {
                    self.used(usage);
                }
                self.close();
            }
            _ => self.draft.leave_out(format!("{kind} event"), 1),
        }
        Ok(())
    }

    fn call(&mut self, id: String, name: String, arguments: Json) -> Block {
        self.calls.push(id.clone());
        self.pending.insert(id.clone());
        self.draft.call(id, name, arguments)
    }

    fn turn(&self, role: Role) -> Turn {
        let mut turn = Turn::new(role);
        turn.at = self.at;
        turn.model = self.model.clone().filter(|_| role == Role::Assistant);
        turn
    }

    /// The response that is being written.
    fn opened(&mut self) -> &mut Turn {
        let turn = self.turn(Role::Assistant);
        let open = self.open.get_or_insert(turn);
        // When it arrived, not when it was asked for.
        open.at = self.at.or(open.at);
        open
    }

    fn blocks(&mut self, parts: Vec<Part>) -> Vec<Block> {
        let mut blocks = self.draft.blocks(parts);
        blocks.retain(|one| !matches!(one, Block::Text { text } if text.is_empty()));
        blocks
    }

    /// Writes the response, and with it the usage that came before.
    fn close(&mut self) {
        let Some(mut turn) = self.open.take() else { return };
        if turn.blocks.is_empty() && turn.usage.is_none() {
            return;
        }
        turn.usage = turn.usage.or_else(|| self.early.take());
        self.push(turn, false);
    }

    fn push(&mut self, turn: Turn, is_users: bool) {
        let (at, says) = (self.draft.next_index(), !turn.blocks.is_empty());
        let is_answer = turn.role == Role::Assistant;
        self.draft.turn(turn);
        if self.draft.next_index() == at {
            return;
        }
        self.answer = if is_answer { Some(at) } else { self.answer };
        if says {
            self.turns.extend(is_users.then_some((self.context.len(), at)));
            self.context.push((Some(at), is_users));
        }
    }

    /// What a call gave back: content, whether it failed, and a note.
    fn result(&mut self, call: &str, mut own: Fields, content: &str) -> Result<(), Problem> {
        let mut result = own.result(content)?;
        result.is_error = own.take("/isError")?.unwrap_or(false);
        let note: Option<String> = own.take("/note")?;
        self.close();
        let status = match (result.is_error, result.text.trim().is_empty() && result.images == 0) {
            (true, _) => FAILED,
            (false, true) => EMPTY,
            _ => "",
        };
        let parts = [status, &result.text, note.as_deref().unwrap_or_default()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        result.text = parts.join("\n");
        self.answered(call, result);
        Ok(())
    }

    fn answered(&mut self, call: &str, result: ResultText) {
        let at = self.draft.next_index();
        self.draft.result(call, result, self.turn(Role::Tool));
        if self.draft.next_index() > at {
            self.context.push((Some(at), false));
        }
        self.pending.remove(call);
        self.release();
    }

    /// Writes what was said while calls had no results.
    fn release(&mut self) {
        if self.pending.is_empty() {
            self.calls.clear();
            for (turn, is_users) in std::mem::take(&mut self.deferred) {
                self.push(turn, is_users);
            }
        }
    }

    /// Ends the response, and calls of it that have no result.
    fn interrupt(&mut self) {
        self.close();
        for call in std::mem::take(&mut self.calls) {
            if !self.pending.contains(&call) {
                continue;
            }
            let failed = ResultText::new(format!("{FAILED}\n{INTERRUPTED}"), 0);
            self.answered(&call, ResultText { is_error: true, ..failed });
        }
    }

    /// The usage of the newest response, if there is one.
    fn newest(&mut self) -> Option<&mut Option<Usage>> {
        if let Some(turn) = &mut self.open {
            return Some(&mut turn.usage);
        }
        let at = self.answer? as usize;
        Some(&mut self.draft.session.messages.get_mut(at)?.usage)
    }

    fn used(&mut self, usage: Usage) {
        match self.newest() {
            Some(own) if own.is_none_or(|own| own == usage) => *own = Some(usage),
            _ => {
                let before = self.early.replace(usage).map(|usage| self.apart(usage));
                self.draft.session.sidechains.extend(before);
            }
        }
    }

    /// Names the model of a response that was written before a record named one.
    fn name_newest(&mut self) {
        let Some(model) = self.model.clone() else { return };
        if let Some(turn) = &mut self.open {
            turn.model = Some(model);
        } else if let Some(at) = self.answer {
            self.draft.wrote(at, &model);
        }
    }

    /// A request that no response of the session answers.
    fn apart(&self, usage: Usage) -> SidechainRequest {
        SidechainRequest { at: self.at, model: self.model.clone(), usage }
    }

    /// Bills what compactions asked that did not end, and a response that was not written.
    fn bill_apart(&mut self) {
        let asked = std::mem::take(&mut self.asked);
        self.draft.session.sidechains.extend(asked);
    }

    /// The context is what the compaction kept, and its summary.
    fn compaction(&mut self, mut record: Fields) -> Result<(), Problem> {
        self.interrupt();
        self.deferred.clear();
        // The summary may be a message.
        let given = ["/contextSummary", "/summary/content", "/summary"];
        let missing = || Problem::shape("contextSummary", "a compaction without its text");
        let summary = parts(record.first::<Json>(&given)?.ok_or_else(missing)?)?;
        let summary = recap_core::model::sent(&self.blocks(summary));
        let record = record.0;
        let number = |key: &str| record.get(key).and_then(Json::as_u64);
        let keeps = number("keptUserMessageCount").map(|count| count as usize);
        let is_tail = record.get("legacyTail").and_then(Json::as_bool).unwrap_or(keeps.is_none());
        let text = (None, false);
        let kept = match (is_tail, keeps) {
            (true, _) => {
                let from = number("compactedCount").or_else(|| number("count"));
                let from = from.map_or(self.context.len(), |from| from as usize);
                let tail = self.context.iter().skip(from).copied();
                [text].into_iter().chain(tail).collect()
            }
            (false, keeps) => {
                let users = self.context.iter().filter(|(_, is_users)| *is_users);
                let users: Vec<_> = users.copied().collect();
                let keeps = keeps.unwrap_or(users.len()).min(users.len());
                let head = number("keptHeadUserMessageCount").map_or(0, |head| head as usize);
                let head = head.min(keeps);
                let tail = &users[users.len() - (keeps - head)..];
                [&users[..head], tail, &[text]].concat()
            }
        };
        self.context = kept;
        // What stands behind the summary can still be undone.
        let after_summary = (0..).zip(&self.context).skip_while(|(_, (at, _))| at.is_some());
        let users = after_summary.filter(|(_, (_, is_users))| *is_users);
        self.turns = users.filter_map(|(place, (at, _))| Some((place, (*at)?))).collect();
        let piece = |(at, _): &(Option<u32>, bool)| match at {
            Some(at) => Piece::Message(*at),
            None => Piece::Text { role: Role::User, text: summary.clone() },
        };
        let (trigger, begun) = std::mem::take(&mut self.begun);
        let lasted =
            begun.zip(self.at).map(|(from, to)| to.duration_since(from).as_secs_f64() * 1e3);
        let call = self.asked.pop();
        self.bill_apart();
        self.draft.compact(RecordedCompaction {
            pieces: self.context.iter().map(piece).collect(),
            summary: Some(summary.clone()),
            trigger,
            tokens_before: number("tokensBefore"),
            tokens_after: number("tokensAfter"),
            duration_ms: lasted.filter(|ms| *ms >= 0.0),
            call: call.map(|SidechainRequest { model, usage, .. }| RecordedCall {
                model,
                usage,
                latency_ms: None,
            }),
            at: self.at,
            ..self.draft.compaction()
        })
    }

    /// What follows is a session of its own, with the same preamble.
    fn clear(&mut self) {
        self.interrupt();
        self.context.clear();
        self.turns.clear();
        self.answer = None;
        if self.draft.next_index() == 0 {
            return;
        }
        let id = format!("{}-{}", self.id, self.ended.len() + 2);
        let mut ended = std::mem::replace(&mut self.draft, Draft::named(id));
        let (session, before) = (&mut self.draft.session, &ended.session);
        session.preamble = before.preamble.clone();
        if let Some(change) = before.preamble_changes.last() {
            session.preamble.system.clone_from(&change.system);
        }
        session.project.clone_from(&before.project);
        ended.leading_system_to_preamble();
        self.ended.push(ended);
    }

    /// Takes back the last turns, where a compaction left as many.
    fn undo(&mut self, count: u64) {
        self.interrupt();
        let left = self.turns.len().checked_sub(usize::try_from(count).unwrap_or(usize::MAX));
        if let Some((place, at)) = left.and_then(|left| self.turns.get(left).copied()) {
            self.turns.truncate(left.unwrap_or_default());
            self.context.truncate(place);
            self.draft.take_back(at as usize);
            self.answer = self.answer.filter(|answer| *answer < at);
        }
    }

    fn finish(mut self) -> Vec<Draft> {
        self.close();
        self.pending.clear();
        self.release();
        let unanswered = self.early.take().map(|usage| self.apart(usage));
        self.asked.extend(unanswered);
        self.bill_apart();
        self.draft.leading_system_to_preamble();
        self.ended.push(self.draft);
        self.ended
    }
}

fn usage(counts: Json) -> Result<Usage, Problem> {
    let names = ["/inputOther", "/inputCacheRead", "/inputCacheCreation", "/output"];
    Fields(counts).usage_beside(names).map_err(|problem| below("/usage", problem))
}
