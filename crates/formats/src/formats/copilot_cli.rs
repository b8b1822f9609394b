//! Sessions of GitHub Copilot CLI: a log of events, one a line
//! (`~/.copilot/session-state/*/events.jsonl`). Read from the generated types of
//! the agent's public SDK (github/copilot-sdk, `session-events.ts`), without
//! recordings at hand.
//!
//! The log has no prompt size of single responses: only totals when a session
//! ends, or is left to be resumed, and what each compaction used. The totals are
//! the usage of a response where it is the only one of its model.

use std::collections::BTreeMap;

use super::content::Part;
use super::prelude::*;
use crate::source::KEPT;

/// The format of Copilot CLI's event logs.
pub(super) const FORMAT: Format = Format {
    name: "copilot-cli",
    describe: "Copilot CLI session (JSON lines, ~/.copilot/session-state/*/events.jsonl)",
    tried: Tried::Documentation,
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let kinds = "/type=session.start|system.message|user.message|assistant.message /data /id";
    head.has(&[kinds])
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    // Every log has the same name, in a folder that is named after its session.
    let stem = source.stem().to_owned();
    let id = source.folder().filter(|_| stem == "events").map_or(stem.clone(), str::to_owned);
    let mut main = Reader::new(&id);
    let mut agents: Vec<Reader> = Vec::new();
    let mut by_agent: FxHashMap<String, usize> = FxHashMap::default();
    let mut aside = 0;
    source.keeps_of_each(0);
    while let Some((line, event)) = source.next_record(parse::<Json>)? {
        let event = Fields(event);
        let reader = match agent_of(&event) {
            None => &mut main,
            Some(_) if !source.options.sidechains => {
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
        let read = reader.event(event).and_then(|()| reader.draft.check_memory());
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
    take(source, main)?;
    for agent in agents {
        let mut draft = agent.finish();
        draft.session.project.clone_from(&project);
        take(source, draft)?;
    }
    Ok(())
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// The response that may go on, with the id of its call.
    open: Option<(Option<String>, Turn)>,
    model: Option<String>,
    /// Number of messages when the running compaction began: it works in the
    /// background, and what came since is kept.
    began: Option<u32>,
    /// The model that was in use when a run ended.
    last: Option<String>,
    /// The totals that the log states, by model, and how many are of a run each.
    totals: BTreeMap<String, SessionTotal>,
    runs: u64,
}

impl Reader {
    fn new(id: &str) -> Reader {
        Reader { draft: Draft::named(id), ..Reader::default() }
    }

    fn event(&mut self, mut event: Fields) -> Result<(), Problem> {
        let (kind, id): (String, Option<String>) = (event.need("/type")?, event.take("/id")?);
        let at: Option<Timestamp> = event.take("/timestamp")?;
        let mut data = Fields(event.take("/data")?.unwrap_or_default());
        let turn = |role| Turn { id: id.clone(), at, ..Turn::new(role) };
        match kind.as_str() {
            "assistant.message" => return self.answer(turn(Role::Assistant), data),
            "session.start" | "session.resume" => return self.session(data),
            "session.model_change" => self.model = data.take("/newModel")?,
            "system.message" => {
                let prompt = data.take("/content")?.unwrap_or_default();
                self.close();
                self.draft.system_prompt(vec![prompt]);
            }
            "user.message" => return self.said(turn(Role::User), data),
            "tool.execution_complete" => {
                return self.result(turn(Role::Tool), data);
            }
            "system.notification" => {
                let mut turn = turn(Role::System);
                turn.text(data.take::<String>("/content")?.unwrap_or_default());
                self.close();
                self.draft.turn(turn);
            }
            "session.shutdown" => return self.ended(data),
            "session.compaction_start" => {
                self.close();
                self.began = Some(self.draft.next_index());
            }
            "session.compaction_complete" => return self.compaction(at, data),
            _ => self.draft.leave_out(format!("{kind} event"), 1),
        }
        Ok(())
    }

    fn session(&mut self, mut data: Fields) -> Result<(), Problem> {
        self.model = data.take("/selectedModel")?.or(self.model.take());
        let cwd: Option<String> = data.take("/context/cwd")?;
        let folder = data.take("/context/gitRoot")?.or_else(|| cwd.clone());
        if let Some(folder) = &folder {
            self.draft.session.project = project_of(folder);
        }
        let (repository, branch) =
            (data.take("/context/repository")?, data.take("/context/branch")?);
        let known = [data.take("/sessionId")?, folder, repository, branch];
        self.draft.metadata.extend(known.into_iter().flatten());
        cwd.into_iter().for_each(|cwd| self.draft.worked_in(cwd));
        Ok(())
    }

    /// What the user said.
    fn said(&mut self, mut turn: Turn, mut data: Fields) -> Result<(), Problem> {
        let content: Option<String> = data.take("/content")?;
        // The text as the model was sent it.
        let sent = data.take("/transformedContent")?.or(content);
        let attached: Option<Vec<Json>> = data.take("/attachments")?;
        self.close();
        turn.text(sent.unwrap_or_default());
        for attached in attached.into_iter().flatten() {
            if let Some(kind) = image(&attached) {
                turn.blocks.push(Block::Image { media_type: Some(kind.to_owned()) });
            } else {
                let kind = attached.get("type").and_then(Json::as_str).unwrap_or("unknown");
                self.draft.leave_out(format!("{kind} attachment"), 1);
            }
        }
        self.draft.turn(turn);
        Ok(())
    }

    /// What each model was asked and used until the end of a run.
    fn ended(&mut self, mut data: Fields) -> Result<(), Problem> {
        self.last = data.take("/currentModel")?;
        let models: Option<BTreeMap<String, Json>> = data.take("/modelMetrics")?;
        self.runs += u64::from(models.is_some());
        for (model, total) in models.into_iter().flatten() {
            let mut total = Fields(total);
            let read = total
                .take("/requests/count")
                .and_then(|requests| Ok((requests.unwrap_or(0), spent(total.take("/usage")?)?)));
            let place = |problem| below(&format!("/modelMetrics/{model}"), problem);
            let (requests, spent) = read.map_err(place)?;
            let spent = spent.map(|spent| spent.usage).unwrap_or_default();
            let sum = self.totals.entry(model.clone()).or_default();
            sum.model = Some(model);
            sum.add(requests, &spent, None);
        }
        Ok(())
    }

    fn answer(&mut self, begun: Turn, mut data: Fields) -> Result<(), Problem> {
        let content: Option<String> = data.take("/content")?;
        let model: Option<String> = data.take("/model")?;
        // The same for all messages that one response was split into.
        let response: Option<String> = data.take("/apiCallId")?;
        let reasoning: Option<String> = data.take("/reasoningText")?;
        let hidden: Option<String> = data.take("/reasoningOpaque")?;
        let calls: Vec<Part> = data.calls("/toolRequests")?;
        let written: Option<u64> = data.take("/outputTokens")?;
        let goes_on =
            |(open, _): &mut (Option<String>, Turn)| response.is_some() && *open == response;
        let mut turn = match self.open.take_if(goes_on) {
            Some((_, turn)) => turn,
            None => {
                self.close();
                let chosen = self.model.clone().filter(|model| model != "auto");
                Turn { model: model.or(chosen), ..begun }
            }
        };
        match (reasoning, hidden) {
            (Some(text), _) => turn.reasoning(text),
            (None, Some(_)) => turn.blocks.push(Block::Reasoning { text: String::new() }),
            (None, None) => {}
        }
        turn.text(content.unwrap_or_default());
        turn.blocks.extend(self.draft.blocks(calls));
        if written.is_some_and(|tokens| tokens > 0) && turn.blocks.is_empty() {
            // What it wrote was not shown.
            turn.blocks.push(Block::Reasoning { text: String::new() });
        }
        let reason = "output tokens of a response whose prompt tokens are not recorded";
        self.draft.leave_out(reason, written.is_some().into());
        self.open = Some((response, turn));
        Ok(())
    }

    /// Ends the response that was open.
    fn close(&mut self) {
        if let Some((_, turn)) = self.open.take() {
            self.draft.turn(turn);
        }
    }

    fn result(&mut self, turn: Turn, mut data: Fields) -> Result<(), Problem> {
        let call: String = data.need("/toolCallId")?;
        let success = data.take("/success")?.unwrap_or(false);
        let returned: Option<String> = data.take("/result/content")?;
        let text = returned.or(data.take("/error/message")?).unwrap_or_default();
        let pictures: Option<Vec<Json>> = data.take("/result/binaryResultsForLlm")?;
        let images = pictures.iter().flatten().filter(|one| image(one).is_some()).count();
        self.close();
        let result = ResultText { is_error: !success, ..ResultText::new(text, images as u32) };
        self.draft.result(&call, result, turn);
        Ok(())
    }

    fn compaction(&mut self, at: Option<Timestamp>, mut data: Fields) -> Result<(), Problem> {
        let success: Option<bool> = data.take("/success")?;
        let summary: Option<String> = data.take("/summaryContent")?;
        let tokens_before = data.take("/preCompactionTokens")?;
        let call = spent(data.take("/compactionTokensUsed")?)?;
        let trigger: Option<String> = data.take("/trigger")?;
        self.close();
        let began = self.began.take();
        if success == Some(false) {
            self.draft.leave_out("failed compaction", 1);
            return Ok(());
        }
        let summary = summary.filter(|text| !text.is_empty());
        let unreadable = summary.is_none().then(|| "the log does not hold the summary".to_owned());
        let compaction = self.draft.compaction();
        self.draft.compact(RecordedCompaction {
            kept_from: began.unwrap_or(compaction.after),
            summary,
            unreadable,
            trigger: trigger_of(trigger.as_deref()),
            tokens_before,
            call,
            at,
            ..compaction
        })
    }

    /// The model of responses that name none, where nobody chose one: the only one that
    /// worked, or the one that was in use at the end.
    fn name_silent(&mut self) {
        let mut worked = self.totals.keys();
        let only = worked.next().filter(|_| worked.next().is_none()).cloned();
        let unchosen = self.model.is_none();
        let last = self.last.take().filter(|last| unchosen && self.totals.contains_key(last));
        let Some(model) = only.or(last) else { return };
        for at in 0..self.draft.next_index() {
            let message = &self.draft.session.messages[at as usize];
            if message.role == Role::Assistant && self.draft.models.of(&message.id).is_none() {
                self.draft.wrote(at, &model);
            }
        }
    }

    /// Gives the totals of a model to its only response, and keeps them.
    fn totals(&mut self) {
        self.name_silent();
        for (model, mut total) in std::mem::take(&mut self.totals) {
            let mut own = self.draft.responses_of(&model);
            if let ([only], 1, 1) = (&mut own[..], self.runs, total.requests) {
                only.usage = Some(total.usage);
            }
            let made = self.draft.session.compactions.iter_mut();
            let calls = made.filter_map(|made| made.call.as_mut());
            let calls = calls.filter(|call| call.model.as_deref().is_none_or(|own| own == model));
            tell_writes(calls, &total.usage);
            // A log that was cut off may know fewer of them.
            total.requests = total.requests.max(1);
            self.draft.session.totals.push(total);
        }
    }

    fn finish(mut self) -> Draft {
        self.close();
        self.draft.drop_unused_prompt();
        self.draft.leading_system_to_preamble();
        self.draft
    }
}

/// The subagent that an event belongs to: older versions name the call that started it.
fn agent_of(event: &Fields) -> Option<String> {
    let own = event.text("/agentId").or_else(|| event.text("/data/parentToolCallId"));
    let is_its = !event.text("/type").is_some_and(|kind| kind.starts_with("subagent."));
    own.filter(|_| is_its).map(str::to_owned)
}

/// The MIME type of an image.
fn image(attached: &Json) -> Option<&str> {
    let kind = attached.get("mimeType").and_then(Json::as_str);
    kind.filter(|kind| kind.starts_with("image/"))
}

/// What calls of a model used. Cached tokens are part of the input, as the totals of a
/// session bear out.
fn spent(spent: Option<Json>) -> Result<Option<RecordedCall>, Problem> {
    let Some(spent) = spent else { return Ok(None) };
    let mut spent = Fields(spent);
    let usage = spent.usage_within([
        "/inputTokens /input",
        "/cacheReadTokens /cachedInput",
        "/cacheWriteTokens",
        "/outputTokens /output",
    ])?;
    let (model, latency_ms) = (spent.take("/model")?, spent.take("/duration")?);
    Ok(Some(RecordedCall { model, usage, latency_ms }))
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
