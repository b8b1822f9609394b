//! Events of OpenHands: the lines of an evaluation's output, each a run with
//! its `history`, or the list of events of one session; of V1 (`v1.rs`) such a
//! list, or lines.
//!
//! What was sent follows OpenHands' own conversion of events into messages
//! (OpenHands/OpenHands, `openhands/memory/conversation_memory.py`). Outputs
//! are imported whole; the agent cuts very long ones in their middle.

mod v1;

use std::collections::{BTreeMap, VecDeque};

use jiff::civil::DateTime;

use super::content::{Part, chat_usage, each};
use super::otel::message_of;
use super::prelude::*;
use crate::source::{HEAD, KEPT};

/// The format of OpenHands' events.
pub(super) const FORMAT: Format = Format {
    name: "openhands",
    describe: "OpenHands events (JSON lines of an evaluation with history, or a JSON list of events; V1 also as lines)",
    tried: Tried::On {
        files: 1,
        compared: "messages, calls with results, requests, sum of prompts; 2 runs, none of V1",
    },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&[
        "/0/source /0/action",
        "/0/source /0/observation",
        "/history/0/source /history/0/action",
        "/history/0/source /history/0/observation",
    ]) || v1::is_it(head)
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let (head, _) = source.read_head(HEAD)?;
    if v1::is_it(&head) {
        return newer(source, &head, take);
    }
    let stem = source.stem().to_owned();
    if head.first_char() == Some('[') || head.spread {
        let run = match source.document()? {
            history @ Json::Array(_) => serde_json::json!({ "history": history }),
            run => run,
        };
        let draft = source.whole(run_of(run, &stem))?;
        return take(source, draft);
    }
    source.keeps_of_each(2 * size_of::<Draft>() as u64 + KEPT);
    let (mut read, mut number) = (Vec::new(), 0);
    while let Some((line, run)) = source.next_record(parse::<Json>)? {
        number += 1;
        match run_of(run, &format!("{stem}-{number}")) {
            Ok(draft) => read.push(draft),
            Err(problem) => source.set_aside(line, problem)?,
        }
    }
    if let ([only], 1) = (&mut read[..], number)
        && only.session.id == format!("{stem}-1")
    {
        only.session.id = stem;
    }
    read.into_iter().try_for_each(|draft| take(source, draft))
}

/// The events of one session of V1.
fn newer(source: &mut Source<'_>, head: &Head, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut reader = v1::Reader::named(source.stem());
    if head.first_char() == Some('[') {
        for event in source.document::<Vec<Json>>()? {
            reader.take(event);
        }
    } else {
        source.keeps_of_each(0);
        while let Some((_, event)) = source.next_record(parse::<Json>)? {
            let kept = reader.take(event);
            source.keep(kept)?;
        }
    }
    let draft = source.whole(reader.read())?;
    take(source, draft)
}

/// A run: one line of an evaluation's output. Without an id it is named as given.
fn run_of(run: Json, name: &str) -> Result<Draft, Problem> {
    let mut run = Fields(run);
    let instance: Option<String> = run.take("/instance_id")?;
    let draft = Draft::named(instance.as_deref().unwrap_or(name));
    let mut reader = Reader { draft, ..Reader::default() };
    reader.draft.metadata.extend(instance);
    for used in run.take::<Vec<Json>>("/metrics/token_usages")?.unwrap_or_default() {
        let id = used.get("response_id").and_then(Json::as_str).filter(|id| !id.is_empty());
        if let Some(id) = id.map(str::to_owned) {
            reader.usage.entry(id).or_default().push_back(usage(used)?);
        }
    }
    each(run.need("/history")?, "/history", |_, event| reader.event(event))?;
    Ok(reader.draft)
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// What each response used, by its id. Several may have the same.
    usage: FxHashMap<String, VecDeque<Usage>>,
    /// Message of the newest response with an id, and those of its calls that
    /// no action has carried out yet.
    responses: FxHashMap<String, (u32, FxHashSet<String>)>,
    /// Id of the call of each action without one of its own.
    actions: FxHashMap<i64, String>,
    /// Tokens of all responses so far.
    accumulated: Usage,
    view: View,
}

impl Reader {
    fn event(&mut self, mut own: Fields) -> Result<(), Problem> {
        let (id, at) = (own.take("/id")?, time(own.take("/timestamp")?)?);
        let action: Option<String> = own.take("/action")?;
        let observation: Option<String> = own.take("/observation")?;
        let event = Event { id, at, own };
        match (action, observation) {
            (Some(kind), _) => self.action(event, kind),
            (None, Some(kind)) => self.observation(event, &kind),
            (None, None) => {
                self.draft.leave_out("unknown event", 1);
                Ok(())
            }
        }
    }

    fn action(&mut self, mut event: Event, kind: String) -> Result<(), Problem> {
        let used = self.used(&mut event)?;
        let source: String = event.own.take("/source")?.unwrap_or_default();
        let metadata: Option<Json> = event.own.take("/tool_call_metadata")?;
        match (kind.as_str(), source.as_str()) {
            ("system", _) => self.system(event),
            ("message", "user") => self.message_event(event, Role::User, None),
            ("message", _) if metadata.is_none() => {
                self.message_event(event, Role::Assistant, used)
            }
            ("condensation", _) => self.view.condense(event, &mut self.draft),
            ("condensation_request", _) => {
                self.view.is_requested = source == "user";
                Ok(())
            }
            ("recall" | "change_agent_state" | "null" | "start" | "pause" | "resume", _) => {
                self.draft.leave_out(format!("{kind} action"), 1);
                Ok(())
            }
            (_, "user") => {
                self.draft.leave_out("action of the user", 1);
                Ok(())
            }
            _ => match metadata {
                Some(metadata) => self.call(event, kind, Fields(metadata), used),
                None => self.bare_call(event, kind, used),
            },
        }
    }

    /// Tokens that were added to those of the session since the last action.
    fn used(&mut self, event: &mut Event) -> Result<Option<Usage>, Problem> {
        let Some(all) = event.own.take("/llm_metrics/accumulated_token_usage")? else {
            return Ok(None);
        };
        let all = usage(all)?;
        let before = std::mem::replace(&mut self.accumulated, all);
        Ok(since(all, before))
    }

    fn system(&mut self, mut event: Event) -> Result<(), Problem> {
        let content: Option<String> = event.own.take("/args/content")?;
        let tools: Option<Vec<Json>> = event.own.take("/args/tools")?;
        let preamble = &mut self.draft.session.preamble;
        if preamble.system.is_empty() {
            preamble.system.extend(content);
            preamble.tools = tool_definitions(tools.iter().flatten());
        } else {
            self.draft.leave_out("later system prompt", 1);
        }
        Ok(())
    }

    /// A message without a call.
    fn message_event(
        &mut self,
        mut event: Event,
        role: Role,
        used: Option<Usage>,
    ) -> Result<(), Problem> {
        let text = event.own.take("/args/content")?.unwrap_or_default();
        let mut blocks = vec![Block::Text { text }];
        let pictures = event.pictures("/args/image_urls")?;
        blocks.extend((0..pictures).map(|_| Block::Image { media_type: None }));
        self.push(&event, role, blocks, used);
        Ok(())
    }

    /// An action of an agent that calls no tools.
    fn bare_call(
        &mut self,
        mut event: Event,
        kind: String,
        used: Option<Usage>,
    ) -> Result<(), Problem> {
        let id = format!("action-{}", event.id.unwrap_or(-1));
        let thought: Option<String> = event.own.take("/args/thought")?;
        let thought = thought.filter(|text| !text.is_empty());
        let mut blocks: Vec<Block> = thought.map(|text| Block::Text { text }).into_iter().collect();
        blocks.push(self.draft.call(id.clone(), kind, event.arguments()?));
        let made = self.draft.newest_call(&id).unwrap_or(&id).to_owned();
        self.actions.extend(event.id.map(|event| (event, made)));
        self.push(&event, Role::Assistant, blocks, used);
        Ok(())
    }

    /// An action of the agent, by the call that it carries out and the response that made
    /// it, in the notation of OpenAI. All calls of one response are one message.
    fn call(
        &mut self,
        mut event: Event,
        kind: String,
        mut metadata: Fields,
        used: Option<Usage>,
    ) -> Result<(), Problem> {
        let call: String = metadata.need("/tool_call_id")?;
        let name: Option<String> = metadata.take("/function_name")?;
        let mut response = Fields(metadata.take("/model_response")?.unwrap_or_default());
        let response_id: Option<String> = response.take("/id")?;
        let before = response_id.as_ref().and_then(|id| self.responses.get_mut(id));
        if let Some((message, open)) = before
            && open.remove(&call)
        {
            self.view.add(event.id, *message);
            return Ok(());
        }
        let own = response_id.as_ref().and_then(|id| self.usage.get_mut(id)?.pop_front());
        let reported = response.take("/usage")?.and_then(|usage| chat_usage(&usage));
        let choices: Vec<Json> = response.take("/choices")?.unwrap_or_default();
        let others = choices.len().saturating_sub(1);
        self.draft.leave_out("further choice of a response", others as u64);
        let answer = choices.first().and_then(|choice| choice.get("message"));
        let parts = answer.map(message_of).transpose()?.map_or_else(Vec::new, |own| own.parts);
        let (mut open, mut blocks, mut made) = (FxHashSet::default(), Vec::new(), false);
        for part in parts {
            match part {
                Part::Text(text) | Part::Reasoning(text) if text.is_empty() => {}
                Part::Call { id, name, arguments } => {
                    let id = id.unwrap_or_else(|| format!("{call}-{}", open.len() + 1));
                    made |= id == call;
                    open.insert(id.clone());
                    blocks.push(self.draft.call(id, name, arguments));
                }
                other => blocks.extend(self.draft.block(other)),
            }
        }
        open.remove(&call);
        self.responses.extend(response_id.map(|id| (id, (self.draft.next_index(), open))));
        if !made {
            blocks.push(self.draft.call(call, name.unwrap_or(kind), event.arguments()?));
        }
        if let Some(model) = response.take::<String>("/model")? {
            self.draft.written_by(model, &event.name(self.draft.next_index()));
        }
        self.push(&event, Role::Assistant, blocks, own.or(reported).or(used));
        Ok(())
    }

    fn observation(&mut self, mut event: Event, kind: &str) -> Result<(), Problem> {
        let listed: Option<String> = event.own.take("/tool_call_metadata/tool_call_id")?;
        let listed = listed.and_then(|call| self.draft.newest_call(&call).map(str::to_owned));
        let cause: Option<i64> = event.own.take("/cause")?;
        let call = listed.or_else(|| self.actions.get(&cause?).cloned());
        let mut text: String = event.own.take("/content")?.unwrap_or_default();
        let mut failed = kind == "error";
        if let Some(command) = event.own.take("/extras/metadata")? {
            let (around, code) = around(&text, Fields(command))?;
            (text, failed) = (around, failed || code > 0);
        }
        match kind {
            "error" => text.push_str("\n[Error occurred in processing last action]"),
            "user_rejected" => {
                text.push_str("\n[Last action has been rejected by the user]");
            }
            _ => {}
        }
        let images = event.pictures("/extras/image_urls")? as u32;
        match call {
            Some(call) => {
                let id = event.name(self.draft.next_index());
                let result = ResultText { is_error: failed, ..ResultText::new(text, images) };
                let message = self.draft.result_message(id, call, result, event.at);
                self.view.add(event.id, self.draft.next_index());
                self.draft.push(message);
            }
            None if matches!(kind, "error" | "user_rejected") => {
                self.push(&event, Role::User, vec![Block::Text { text }], None);
            }
            None => self.draft.leave_out(format!("{kind} observation without a call"), 1),
        }
        Ok(())
    }

    fn push(&mut self, event: &Event, role: Role, blocks: Vec<Block>, usage: Option<Usage>) {
        let at = self.draft.next_index();
        self.view.add(event.id, at);
        let message = Message::new(event.name(at), role, event.at, blocks);
        self.draft.push(Message { usage, ..message });
    }
}

/// An action or an observation.
struct Event {
    id: Option<i64>,
    at: Option<Timestamp>,
    own: Fields,
}

/// What among the arguments of an action is the agent's own.
const OF_AGENT: &str = "thought image_urls forgotten_event_ids forgotten_events_start_id \
    forgotten_events_end_id";

impl Event {
    /// The id of its message at this place.
    fn name(&self, index: u32) -> String {
        self.id.map_or_else(|| format!("message-{}", index + 1), |id| format!("event-{id}"))
    }

    fn pictures(&mut self, pointer: &str) -> Result<usize, Problem> {
        Ok(self.own.take::<Vec<Json>>(pointer)?.map_or(0, |urls| urls.len()))
    }

    /// The arguments of an action that is a call. Those that are not known may say
    /// something, too.
    fn arguments(&mut self) -> Result<Json, Problem> {
        let mut arguments: serde_json::Map<String, Json> =
            self.own.take("/args")?.unwrap_or_default();
        arguments.retain(|key, _| OF_AGENT.split(' ').all(|own| own != key));
        Ok(Json::Object(arguments))
    }
}

// What OpenHands' condensers remove from the events that are sent.

/// The events that are still sent, by id, each with its message.
#[derive(Default)]
struct View {
    sent: BTreeMap<i64, MessageIndex>,
    /// The first message that was removed, where the summary stands.
    first_removed: Option<MessageIndex>,
    /// Whether the user asked for the next condensation.
    is_requested: bool,
}

impl View {
    /// Adds the message of an event.
    fn add(&mut self, event: Option<i64>, message: MessageIndex) {
        self.sent.extend(event.map(|id| (id, message)));
    }

    /// A condensation: events are forgotten, and a summary may stand for them.
    fn condense(&mut self, mut event: Event, draft: &mut Draft) -> Result<(), Problem> {
        let own = &mut event.own;
        let ids: Option<Vec<i64>> = own.take("/args/forgotten_event_ids")?;
        let first: Option<i64> = own.take("/args/forgotten_events_start_id")?;
        let range = first.zip(own.take("/args/forgotten_events_end_id")?);
        let summary: Option<String> = own.take("/args/summary")?;
        let mut gone = self.forget(ids.unwrap_or_default());
        if let Some((first, last)) = range.filter(|(first, last)| first <= last) {
            let within = self.sent.range(first..=last).map(|(id, _)| *id).collect();
            gone.extend(self.forget(within));
        }
        let is_requested = std::mem::take(&mut self.is_requested);
        let Some(first) = gone.iter().min() else {
            draft.leave_out("condensation that removed no message", 1);
            return Ok(());
        };
        let first = self.first_removed.map_or(*first, |known| known.min(*first));
        self.first_removed = Some(first);
        let summary = summary.filter(|text| !text.is_empty());
        // Ids ascend, except in logs that were put together.
        let mut sent: Vec<MessageIndex> = self.sent.values().copied().collect();
        sent.sort_unstable();
        sent.dedup();
        let place = sent.partition_point(|&message| message < first);
        let mut pieces: Vec<Piece> = sent.into_iter().map(Piece::Message).collect();
        let text = summary.clone().map(|text| Piece::Text { role: Role::User, text });
        pieces.splice(place..place, text);
        draft.compact(RecordedCompaction {
            summary,
            trigger: if is_requested { RecordedTrigger::Manual } else { RecordedTrigger::Auto },
            tokens_before: draft.last_prompt,
            at: event.at,
            ..draft.compaction_to(pieces)
        })
    }

    /// Removes events; returns their messages.
    fn forget(&mut self, ids: Vec<i64>) -> Vec<MessageIndex> {
        ids.iter().filter_map(|id| self.sent.remove(id)).collect()
    }
}

/// Tokens of one response, or of all so far: the prompt includes what was cached.
fn usage(used: Json) -> Result<Usage, Problem> {
    let names =
        ["/prompt_tokens", "/cache_read_tokens", "/cache_write_tokens", "/completion_tokens"];
    Fields(used).usage_within(names)
}

/// What was used between two sums; nothing where that is no more than before.
fn since(now: Usage, before: Usage) -> Option<Usage> {
    let used = Usage {
        input: now.input.checked_sub(before.input)?,
        cache_read: now.cache_read.checked_sub(before.cache_read)?,
        cache_write_5m: now.cache_write_5m.checked_sub(before.cache_write_5m)?,
        output: now.output.checked_sub(before.output)?,
        ..now
    };
    (used.prompt() > 0).then_some(used)
}

/// The exit code of a command that has not ended.
const RUNNING: i64 = -1;

/// A command's output as the model is sent it, with its exit code (OpenHands,
/// `openhands/events/observation/commands.py`).
fn around(output: &str, mut command: Fields) -> Result<(String, i64), Problem> {
    let code = command.take("/exit_code")?.unwrap_or(RUNNING);
    let mut given: [String; 4] = Default::default();
    let names = ["/prefix", "/suffix", "/working_dir", "/py_interpreter_path"];
    for (given, name) in given.iter_mut().zip(names) {
        *given = command.take(name)?.unwrap_or_default();
    }
    let [prefix, suffix, folder, python] = given;
    let mut text = format!("{prefix}{output}{suffix}");
    if !folder.is_empty() {
        text.push_str(&format!("\n[Current working directory: {folder}]"));
    }
    if !python.is_empty() {
        text.push_str(&format!("\n[Python interpreter: {python}]"));
    }
    if code != RUNNING {
        text.push_str(&format!("\n[Command finished with exit code {code}]"));
    }
    Ok((text, code))
}

/// Times have no zone; they are taken for UTC.
fn time(text: Option<String>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let civil = || text.parse().ok().and_then(|civil: DateTime| in_utc(civil));
    let at = text.parse().ok().or_else(civil);
    at.map(Some).ok_or_else(|| Problem::shape("timestamp", "it is no time"))
}
