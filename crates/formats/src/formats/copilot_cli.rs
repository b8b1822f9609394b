//! Sessions of GitHub Copilot CLI: a log of events, one a line
//! (`~/.copilot/session-state/*/events.jsonl`). Read from the generated types of
//! the agent's public SDK (github/copilot-sdk, `session-events.ts`), without
//! recordings at hand.
//!
//! The log has no prompt size of single responses: only totals when a session
//! ends, or is left to be resumed, and what each compaction used. The totals are
//! the usage of a response where it is the only one of its model.

use std::collections::BTreeMap;

use super::content::usage_of;
use super::prelude::*;
use crate::source::KEPT;

/// The format of Copilot CLI's event logs.
pub(super) const FORMAT: Format = Format {
    name: "copilot-cli",
    describe: "Copilot CLI session (JSON lines, ~/.copilot/session-state/*/events.jsonl)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_event = |record: &Json| {
        let kind = record.get("type").and_then(Json::as_str);
        let known = ["session.start", "system.message", "user.message", "assistant.message"];
        kind.is_some_and(|kind| known.contains(&kind))
            && record.get("data").is_some_and(Json::is_object)
            && record.get("id").is_some_and(Json::is_string)
    };
    head.any(is_event)
}

fn read(source: &mut Source<'_>, options: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    // Every log has the same name, in a folder that is named after its session.
    let stem = source.stem().to_owned();
    let id = source.folder().filter(|_| stem == "events").map_or(stem.clone(), str::to_owned);
    let mut main = Reader::new(&id);
    let mut agents: Vec<Reader> = Vec::new();
    let mut by_agent: FxHashMap<String, usize> = FxHashMap::default();
    let mut aside = 0;
    source.keeps_of_each(0);
    while let Some((line, event)) = source.next_record(parse::<Event>)? {
        let reader = match event.agent_of() {
            None => &mut main,
            Some(_) if !options.sidechains => {
                aside += 1;
                continue;
            }
            Some(agent) => {
                let at = *by_agent.entry(agent).or_insert(agents.len());
                if at == agents.len() {
                    source.keep(size_of::<Reader>() as u64 + KEPT)?;
                    agents.push(Reader::new(&format!("{id}{SIDECHAIN}{}", at + 1)));
                }
                &mut agents[at]
            }
        };
        let read = reader.event(line, event).and_then(|()| reader.recorder.draft.check_memory());
        if let Err(problem) = read {
            source.set_aside(line, problem)?;
        }
    }
    main.close();
    main.totals();
    let mut main = main.finish();
    main.leave_out("sidechain record", aside);
    main.leave_out("torn last line", source.take_torn());
    let project = main.session.project.clone();
    let agents = agents.into_iter().map(|agent| {
        let mut draft = agent.finish();
        draft.session.project.clone_from(&project);
        draft
    });
    Ok([main].into_iter().chain(agents).collect())
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    /// The response that may go on, with the id of its call.
    open: Option<(Option<String>, Turn)>,
    model: Option<String>,
    /// Number of messages when the running compaction began: it works in the
    /// background, and what came since is kept.
    began: Option<u32>,
    /// The totals that the log states, by model, and how many are of a run each.
    totals: BTreeMap<String, SessionTotal>,
    runs: u64,
}

impl Reader {
    fn new(id: &str) -> Reader {
        Reader { recorder: Recorder::new(id), ..Reader::default() }
    }

    fn event(&mut self, line: u64, event: Event) -> Result<(), Problem> {
        let Event { kind, id, timestamp: at, data, .. } = event;
        match kind.as_str() {
            "assistant.message" => return self.answer(id, at, line, from_json(data)?),
            "session.start" | "session.resume" => self.session(from_json(data)?),
            "session.model_change" => {
                self.model = data.get("newModel").and_then(Json::as_str).map(str::to_owned);
            }
            "system.message" => self.prompt(from_json(data)?),
            "user.message" => {
                self.close();
                let message: WireMessage = from_json(data)?;
                let mut turn = Turn { id, at, line: Some(line), ..Turn::new(Role::User) };
                turn.text(message.transformed_content.unwrap_or(message.content));
                for attached in message.attachments.into_iter().flatten() {
                    match (attached.image().map(str::to_owned), attached.kind) {
                        (Some(kind), _) => {
                            turn.blocks.push(Block::Image { media_type: Some(kind) });
                        }
                        (None, kind) => {
                            let kind = kind.unwrap_or_else(|| "unknown".to_owned());
                            self.recorder.draft.leave_out(format!("{kind} attachment"), 1);
                        }
                    }
                }
                self.recorder.turn(turn);
            }
            "tool.execution_complete" => self.result(id, at, line, from_json(data)?),
            "system.notification" => {
                self.close();
                let message: WireMessage = from_json(data)?;
                let mut turn = Turn { id, at, line: Some(line), ..Turn::new(Role::System) };
                turn.text(message.content);
                self.recorder.turn(turn);
            }
            "session.shutdown" => {
                let ended: Ended = from_json(data)?;
                self.runs += u64::from(ended.model_metrics.is_some());
                for (model, total) in ended.model_metrics.into_iter().flatten() {
                    let sum = self.totals.entry(model.clone()).or_default();
                    sum.model = Some(model);
                    sum.add(total.requests.count, &total.usage.call().usage, None);
                }
            }
            "session.compaction_start" => {
                self.close();
                self.began = Some(self.recorder.count());
            }
            "session.compaction_complete" => self.compaction(at, from_json(data)?)?,
            _ => self.recorder.draft.leave_out(format!("{kind} event"), 1),
        }
        Ok(())
    }

    fn session(&mut self, wire: WireSession) {
        self.model = wire.selected_model.or(self.model.take());
        let mut known: Vec<String> = wire.session_id.into_iter().collect();
        if let Some(workspace) = wire.context {
            let folder = workspace.git_root.or_else(|| workspace.cwd.clone());
            self.recorder.session().project = folder.as_deref().and_then(project_of);
            workspace.cwd.into_iter().for_each(|cwd| self.recorder.draft.worked_in(cwd));
            known.extend([folder, workspace.repository, workspace.branch].into_iter().flatten());
        }
        self.recorder.draft.metadata.extend(known);
    }

    fn prompt(&mut self, message: WireMessage) {
        self.close();
        self.recorder.draft.system_prompt(vec![message.content]);
    }

    fn answer(
        &mut self,
        id: Option<String>,
        at: Option<Timestamp>,
        line: u64,
        answer: Answer,
    ) -> Result<(), Problem> {
        let Answer { content, model, api_call_id, .. } = answer;
        let goes_on =
            |(open, _): &mut (Option<String>, Turn)| api_call_id.is_some() && *open == api_call_id;
        let mut turn = match self.open.take_if(goes_on) {
            Some((_, turn)) => turn,
            None => {
                self.close();
                let chosen = self.model.clone().filter(|model| model != "auto");
                let model = model.or(chosen);
                Turn { id, at, line: Some(line), model, ..Turn::new(Role::Assistant) }
            }
        };
        match (answer.reasoning_text, answer.reasoning_opaque) {
            (Some(text), _) => turn.reasoning(text),
            (None, Some(_)) => turn.blocks.push(Block::Reasoning { text: String::new() }),
            (None, None) => {}
        }
        turn.text(content);
        for call in answer.tool_requests.into_iter().flatten() {
            turn.blocks.push(self.recorder.call(call.tool_call_id, call.name, call.arguments));
        }
        if answer.output_tokens.is_some_and(|tokens| tokens > 0) && turn.blocks.is_empty() {
            // What it wrote was not shown.
            turn.blocks.push(Block::Reasoning { text: String::new() });
        }
        if answer.output_tokens.is_some() {
            let reason = "output tokens of a response whose prompt tokens are not recorded";
            self.recorder.draft.leave_out(reason, 1);
        }
        self.open = Some((api_call_id, turn));
        Ok(())
    }

    /// Ends the response that was open.
    fn close(&mut self) {
        if let Some((_, turn)) = self.open.take() {
            self.recorder.turn(turn);
        }
    }

    fn result(&mut self, id: Option<String>, at: Option<Timestamp>, line: u64, done: Done) {
        self.close();
        let returned = done.result.as_ref();
        let pictures = returned.and_then(|returned| returned.binary_results_for_llm.as_ref());
        let images = pictures.into_iter().flatten().filter(|one| one.image().is_some()).count();
        let text = match (done.result, done.error) {
            (Some(returned), _) => returned.content,
            (None, Some(failure)) => failure.message,
            (None, None) => String::new(),
        };
        let text = ResultText { text, images: images as u32 };
        let outcome = Outcome { id, is_error: !done.success, at, line: Some(line) };
        self.recorder.result(&done.tool_call_id, text, outcome);
    }

    fn compaction(&mut self, at: Option<Timestamp>, done: Compaction) -> Result<(), Problem> {
        self.close();
        let after = self.recorder.count();
        let kept_from = self.began.take().unwrap_or(after);
        if done.success == Some(false) {
            self.recorder.draft.leave_out("failed compaction", 1);
            return Ok(());
        }
        let summary = done.summary_content.filter(|text| !text.is_empty());
        let unreadable = summary.is_none().then(|| "the log does not hold the summary".to_owned());
        self.recorder.draft.compact(RecordedCompaction {
            after,
            kept_from,
            summary,
            unreadable,
            trigger: match done.trigger.as_deref() {
                Some("manual") => RecordedTrigger::Manual,
                Some("threshold" | "context_limit_retry") => RecordedTrigger::Auto,
                _ => RecordedTrigger::Unknown,
            },
            tokens_before: done.pre_compaction_tokens,
            call: done.compaction_tokens_used.map(Spent::call),
            at,
            ..RecordedCompaction::default()
        })
    }

    /// Gives the totals of a model to its only response, and keeps them.
    fn totals(&mut self) {
        for (model, mut total) in std::mem::take(&mut self.totals) {
            let mut own = self.recorder.responses_of(&model);
            if let ([only], 1, 1) = (&mut own[..], self.runs, total.requests) {
                only.usage = Some(total.usage);
            }
            let made = self.recorder.session().compactions.iter_mut();
            let calls = made.filter_map(|made| made.call.as_mut());
            let calls = calls.filter(|call| call.model.as_deref().is_none_or(|own| own == model));
            tell_writes(calls, &total.usage);
            // A log that was cut off may know fewer of them.
            total.requests = total.requests.max(1);
            self.recorder.session().totals.push(total);
        }
    }

    fn finish(mut self) -> Draft {
        self.close();
        self.recorder.draft.drop_unused_prompt();
        self.recorder.finish()
    }
}

// Events of Copilot CLI on disk.

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    timestamp: Option<Timestamp>,
    agent_id: Option<String>,
    #[serde(default)]
    data: Json,
}

impl Event {
    /// The subagent that it belongs to: older versions name the call that started it.
    fn agent_of(&self) -> Option<String> {
        let parent = || self.data.get("parentToolCallId")?.as_str().map(str::to_owned);
        let own = self.agent_id.clone().or_else(parent);
        own.filter(|_| !self.kind.starts_with("subagent."))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSession {
    session_id: Option<String>,
    selected_model: Option<String>,
    context: Option<Workspace>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Workspace {
    cwd: Option<String>,
    git_root: Option<String>,
    repository: Option<String>,
    branch: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage {
    #[serde(default)]
    content: String,
    /// The text as the model was sent it.
    transformed_content: Option<String>,
    attachments: Option<Vec<Attached>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    #[serde(rename = "type")]
    kind: Option<String>,
    mime_type: Option<String>,
}

impl Attached {
    fn image(&self) -> Option<&str> {
        self.mime_type.as_deref().filter(|kind| kind.starts_with("image/"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    content: String,
    model: Option<String>,
    reasoning_text: Option<String>,
    reasoning_opaque: Option<String>,
    tool_requests: Option<Vec<Request>>,
    output_tokens: Option<u64>,
    /// The same for all messages that one response was split into.
    api_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    tool_call_id: String,
    name: String,
    #[serde(default)]
    arguments: Json,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    tool_call_id: String,
    #[serde(default)]
    success: bool,
    result: Option<Returned>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Returned {
    #[serde(default)]
    content: String,
    binary_results_for_llm: Option<Vec<Attached>>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compaction {
    success: Option<bool>,
    summary_content: Option<String>,
    pre_compaction_tokens: Option<u64>,
    compaction_tokens_used: Option<Spent>,
    trigger: Option<String>,
}

/// The end of a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    model_metrics: Option<BTreeMap<String, Total>>,
}

/// What a model was asked and used until then.
#[derive(Deserialize)]
struct Total {
    #[serde(default)]
    requests: Count,
    #[serde(default)]
    usage: Spent,
}

#[derive(Default, Deserialize)]
struct Count {
    #[serde(default)]
    count: u64,
}

/// Cached tokens are part of the input, as the totals of a session bear out.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spent {
    model: Option<String>,
    #[serde(default, alias = "input")]
    input_tokens: u64,
    #[serde(default, alias = "output")]
    output_tokens: u64,
    #[serde(default, alias = "cachedInput")]
    cache_read_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    duration: Option<f64>,
}

/// Older versions do not say what a compaction wrote to the cache: what is more than all of
/// its session had besides the cache.
fn tell_writes<'a>(calls: impl Iterator<Item = &'a mut RecordedCall>, all: &Usage) {
    let mut plain = all.input;
    for RecordedCall { usage, .. } in calls.filter(|call| call.usage.written() == 0) {
        usage.cache_write_5m = usage.input.saturating_sub(plain).min(all.cache_write_5m);
        usage.input -= usage.cache_write_5m;
        plain = plain.saturating_sub(usage.input);
    }
}

impl Spent {
    fn call(self) -> RecordedCall {
        let cached = [self.cache_read_tokens, self.cache_write_tokens];
        let usage = usage_of(self.input_tokens, cached, self.output_tokens);
        RecordedCall { model: self.model, usage, latency_ms: self.duration }
    }
}
