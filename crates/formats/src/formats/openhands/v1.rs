//! Events of OpenHands V1, told apart by `kind`.
//!
//! Read from OpenHands/software-agent-sdk (`openhands/sdk/event`, with its
//! conversion of events into messages, `openhands/sdk/llm/message.py` and
//! `openhands/sdk/conversation/event_store.py`), without recordings at hand.
//! What a response used stands in the updates of the state (`stats`), by its id
//! or as a sum so far.

use super::{TokenUsage, since, time};
use crate::formats::content::branch_to_last;
use crate::formats::prelude::*;

/// Parent of an event that begins a conversation anew.
const ROOT: &str = "__root__";
/// What stands before the result of a call that failed.
const FAILED: &str = "[An error occurred during execution.]\n";

/// Whether the input is such events, as a list or as lines.
pub(super) fn is_it(head: &Head) -> bool {
    let is_event = |event: &Json| {
        let text = |key: &str| event.get(key).and_then(Json::as_str);
        text("kind").is_some_and(|kind| kind.ends_with("Event") || kind.starts_with("Condensation"))
            && [text("id"), text("source"), text("timestamp")].iter().all(Option::is_some)
    };
    head.any(|record| is_event(record.get(0).unwrap_or(record)))
}

#[derive(Deserialize)]
pub(super) struct Event {
    kind: String,
    id: Option<String>,
    parent_id: Option<String>,
    #[serde(default, deserialize_with = "time")]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    source: String,
    system_prompt: Option<Part>,
    dynamic_context: Option<Part>,
    tools: Option<Vec<Json>>,
    llm_message: Option<Message>,
    llm_response_id: Option<String>,
    extended_content: Option<Vec<Part>>,
    /// What was said with a call, and thought before.
    #[serde(flatten)]
    thoughts: Thoughts,
    thought: Option<Vec<Part>>,
    tool_call: Option<ToolCall>,
    tool_call_id: Option<String>,
    observation: Option<Observation>,
    rejection_reason: Option<String>,
    error: Option<Json>,
    forgotten_event_ids: Option<Vec<String>>,
    summary: Option<String>,
    summary_offset: Option<usize>,
    /// The new state, or one of its values by its key.
    #[serde(default)]
    value: Json,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    image_urls: Option<Vec<Json>>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Vec<Part>,
    #[serde(flatten)]
    thoughts: Thoughts,
}

/// The same thoughts, as the provider of the model gave them.
#[derive(Deserialize)]
struct Thoughts {
    reasoning_content: Option<String>,
    thinking_blocks: Option<Vec<Thinking>>,
    responses_reasoning_item: Option<Reasoning>,
}

#[derive(Deserialize)]
struct Thinking {
    thinking: Option<String>,
}

#[derive(Deserialize)]
struct Reasoning {
    #[serde(default)]
    summary: Vec<String>,
}

#[derive(Deserialize)]
struct Observation {
    #[serde(default)]
    content: Vec<Part>,
    #[serde(default)]
    is_error: bool,
}

impl Thoughts {
    fn text(self) -> String {
        let blocks = self.thinking_blocks.into_iter().flatten();
        let thinking: Vec<String> = blocks.filter_map(|block| block.thinking).collect();
        let summary = self.responses_reasoning_item.map_or_else(Vec::new, |item| item.summary);
        let own = self.reasoning_content.unwrap_or_default();
        let all = [own, thinking.join("\n"), summary.join("\n")];
        all.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    }
}

/// Something that is still sent: an event of a message, or a summary.
enum Sent {
    /// The system prompt is in no message.
    System,
    Event(String, MessageIndex),
    /// Its id and text.
    Summary(String, String),
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    sent: Vec<Sent>,
    /// First message behind all that were removed.
    removed_to: MessageIndex,
    /// The answer whose calls are being read, with the events of them.
    open: Option<(Turn, Vec<String>)>,
    response: Option<String>,
    is_requested: bool,
    /// Message of each response, by its id.
    responses: Vec<(String, MessageIndex)>,
    /// What each response used, and its model.
    used: FxHashMap<String, (Usage, Option<String>)>,
    /// What all used so far.
    accumulated: Usage,
}

/// Reads the events of a session, each with its line.
pub(super) fn read(id: &str, events: Vec<(Option<u64>, Event)>) -> Result<Draft, Problem> {
    let mut reader = Reader { recorder: Recorder::new(id), ..Reader::default() };
    let mut before = None;
    let parents = events.iter().map(|(_, event)| {
        let own = event.id.as_deref();
        // Events that were written before there were branches have no parent.
        let parent = match event.parent_id.as_deref() {
            Some(ROOT) => None,
            Some(parent) => Some(parent),
            None => before,
        };
        before = own.or(before);
        (own, parent)
    });
    let on = branch_to_last(parents)?;
    for ((line, event), on) in events.into_iter().zip(on) {
        if !on {
            reader.recorder.draft.leave_out("event on an abandoned branch", 1);
            continue;
        }
        match reader.event(line, event) {
            Err(problem) if problem.is_of_one_record() => {
                reader.recorder.draft.leave_out("event that cannot be read", 1);
            }
            read => read?,
        }
    }
    reader.close();
    reader.assign();
    Ok(reader.recorder.finish())
}

impl Reader {
    fn event(&mut self, line: Option<u64>, event: Event) -> Result<(), Problem> {
        let same = event.llm_response_id.is_some() && event.llm_response_id == self.response;
        if event.kind != "ActionEvent" || !same {
            self.close();
        }
        match event.kind.as_str() {
            "SystemPromptEvent" => self.system(event),
            "MessageEvent" => return self.message(line, event),
            "ActionEvent" => self.action(line, event),
            "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation" => {
                self.result(line, event);
            }
            "Condensation" => return self.condense(event),
            "ConversationStateUpdateEvent" => self.stats(&event.value),
            "CondensationRequest" => self.is_requested = event.source == "user",
            kind => self.recorder.draft.leave_out(kind.to_owned(), 1),
        }
        Ok(())
    }

    /// What was used so far, by purpose: of single responses, or in sum.
    fn stats(&mut self, value: &Json) {
        let stats = value.get("stats").unwrap_or(value);
        let all = stats.get("usage_to_metrics").and_then(Json::as_object);
        let Some(all) = all else {
            return self.recorder.draft.leave_out("ConversationStateUpdateEvent", 1);
        };
        let read = |value: &Json| TokenUsage::deserialize(value).ok();
        let single = all.values().filter_map(|own| own.get("token_usages")?.as_array()).flatten();
        for own in single.filter_map(read) {
            if let Some(id) = own.response_id.clone().filter(|id| !id.is_empty()) {
                self.used.insert(id, (own.usage(), own.model));
            }
        }
        // The condenser has a sum of its own.
        let sum = all.get("agent").or_else(|| all.get("default")).or_else(|| all.values().next());
        let sum = sum.and_then(|own| own.get("accumulated_token_usage")).and_then(read);
        let Some(now) = sum.map(|own| own.usage()) else { return };
        let before = std::mem::replace(&mut self.accumulated, now);
        let last = self.recorder.session().messages.iter_mut().rev();
        let last = last.take_while(|message| message.role != Role::User);
        let answer = last.into_iter().find(|message| message.role == Role::Assistant);
        if let (Some(answer), Some(used)) = (answer, since(now, before)) {
            answer.usage.get_or_insert(used);
        }
    }

    /// Gives the responses what they used by their ids.
    fn assign(&mut self) {
        for (id, at) in std::mem::take(&mut self.responses) {
            let Some((usage, model)) = self.used.remove(&id) else { continue };
            if let Some(message) = self.recorder.session().messages.get_mut(at as usize) {
                message.usage = Some(usage);
            }
            if let Some(model) = model {
                self.recorder.wrote(at, &model);
            }
        }
    }

    fn system(&mut self, event: Event) {
        let preamble = &mut self.recorder.session().preamble;
        if !preamble.system.is_empty() {
            return self.recorder.draft.leave_out("later system prompt", 1);
        }
        let parts = [event.system_prompt, event.dynamic_context].into_iter().flatten();
        preamble.system = parts.filter_map(|part| part.text).collect();
        preamble.tools = tool_definitions(event.tools.iter().flatten());
        self.sent.push(Sent::System);
    }

    fn message(&mut self, line: Option<u64>, event: Event) -> Result<(), Problem> {
        let Some(Message { role, content, thoughts }) = event.llm_message else {
            self.recorder.draft.leave_out("message without content", 1);
            return Ok(());
        };
        let role = role_of(role)?;
        let response = event.llm_response_id.filter(|_| role == Role::Assistant);
        self.responses.extend(response.map(|id| (id, self.recorder.count())));
        let mut turn = Turn { id: event.id.clone(), at: event.timestamp, line, ..Turn::new(role) };
        turn.reasoning(thoughts.text());
        let parts = content.into_iter().chain(event.extended_content.into_iter().flatten());
        blocks(&mut turn, parts, &mut self.recorder.draft);
        self.push(turn, event.id.into_iter().collect());
        Ok(())
    }

    /// A call. All calls of one response are one message.
    fn action(&mut self, line: Option<u64>, event: Event) {
        let Some(ToolCall { id, name, arguments }) = event.tool_call else {
            return self.recorder.draft.leave_out("action without a call", 1);
        };
        let (mut turn, mut events) = self.open.take().unwrap_or_else(|| {
            let (id, at) = (event.id.clone(), event.timestamp);
            (Turn { id, at, line, ..Turn::new(Role::Assistant) }, Vec::new())
        });
        if turn.blocks.is_empty() {
            turn.reasoning(event.thoughts.text());
            let thought = event.thought.into_iter().flatten();
            blocks(&mut turn, thought, &mut self.recorder.draft);
        }
        turn.blocks.push(self.recorder.call(id, name, arguments));
        events.extend(event.id);
        self.response = event.llm_response_id;
        self.open = Some((turn, events));
    }

    fn close(&mut self) {
        let response = self.response.take();
        if let Some((turn, events)) = self.open.take() {
            self.responses.extend(response.map(|id| (id, self.recorder.count())));
            self.push(turn, events);
        }
    }

    fn push(&mut self, turn: Turn, events: Vec<String>) {
        let at = self.recorder.count();
        self.recorder.turn(turn);
        self.add(at, events);
    }

    /// Adds the events of a message, if that was not left out.
    fn add(&mut self, at: MessageIndex, events: Vec<String>) {
        if self.recorder.count() > at {
            self.sent.extend(events.into_iter().map(|id| Sent::Event(id, at)));
        }
    }

    fn result(&mut self, line: Option<u64>, event: Event) {
        let mut turn = Turn::new(Role::Tool);
        let (mut is_error, mut head) = (true, "");
        if let Some(observation) = event.observation {
            is_error = observation.is_error;
            head = if is_error { FAILED } else { "" };
            blocks(&mut turn, observation.content.into_iter(), &mut self.recorder.draft);
        } else if let Some(reason) = event.rejection_reason {
            turn.text(format!("Action rejected: {reason}"));
        } else {
            turn.text(event.error.as_ref().map(text_of).unwrap_or_default());
        }
        let more = event.extended_content.into_iter().flatten();
        blocks(&mut turn, more, &mut self.recorder.draft);
        let texts = turn.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let text = format!("{head}{}", texts.collect::<Vec<_>>().join("\n"));
        let pictures = turn.blocks.iter().filter(|block| matches!(block, Block::Image { .. }));
        let result = ResultText { text, images: pictures.count() as u32 };
        let at = self.recorder.count();
        let outcome = Outcome { id: event.id.clone(), is_error, at: event.timestamp, line };
        self.recorder.result(&event.tool_call_id.unwrap_or_default(), result, outcome);
        self.add(at, event.id.into_iter().collect());
    }

    /// Events are forgotten, and a summary stands at a place among the others.
    fn condense(&mut self, event: Event) -> Result<(), Problem> {
        let forgotten: FxHashSet<String> =
            event.forgotten_event_ids.into_iter().flatten().collect();
        let before = self.sent.len();
        let removed_to = &mut self.removed_to;
        self.sent.retain(|sent| match sent {
            Sent::Event(id, at) if forgotten.contains(id) => {
                *removed_to = (*removed_to).max(at + 1);
                false
            }
            Sent::Summary(id, _) => !forgotten.contains(id),
            _ => true,
        });
        let is_requested = std::mem::take(&mut self.is_requested);
        if self.sent.len() == before {
            self.recorder.draft.leave_out("condensation that removed no message", 1);
            return Ok(());
        }
        let id = format!("{}-summary", event.id.unwrap_or_default());
        let summary = event.summary.filter(|text| !text.is_empty());
        if let Some((text, at)) = summary.clone().zip(event.summary_offset) {
            self.sent.insert(at.min(self.sent.len()), Sent::Summary(id, text));
        }
        let is_lost = summary.is_some() && event.summary_offset.is_none();
        self.recorder.draft.leave_out("summary that was not sent", u64::from(is_lost));
        let (kept_from, pieces) = self.pieces();
        let after = self.recorder.count();
        self.recorder.draft.compact(RecordedCompaction {
            after,
            kept_from,
            pieces,
            summary: summary.filter(|_| event.summary_offset.is_some()),
            trigger: if is_requested { RecordedTrigger::Manual } else { RecordedTrigger::Auto },
            at: event.timestamp,
            ..RecordedCompaction::default()
        })
    }

    /// What is sent in front of the messages that follow without a gap or a
    /// summary between them, and the first of those.
    fn pieces(&self) -> (MessageIndex, Vec<Piece>) {
        let last = self.sent.iter().rposition(|sent| matches!(sent, Sent::Summary(..)));
        let front = self.sent.iter().take(last.map_or(0, |last| last + 1));
        let highest = front.filter_map(|sent| match sent {
            Sent::Event(_, at) => Some(at + 1),
            _ => None,
        });
        let kept_from = self.removed_to.max(highest.max().unwrap_or(0));
        let mut before = None;
        let pieces = self.sent.iter().filter_map(|sent| match sent {
            Sent::Summary(_, text) => Some(Piece::Text { role: Role::User, text: text.clone() }),
            Sent::Event(_, at) if *at < kept_from && before.replace(*at) != Some(*at) => {
                Some(Piece::Message(*at))
            }
            _ => None,
        });
        (kept_from, pieces.collect())
    }
}

fn blocks(turn: &mut Turn, parts: impl Iterator<Item = Part>, draft: &mut Draft) {
    for part in parts {
        let is_known = part.text.is_some() || part.image_urls.is_some();
        draft.leave_out("part without text or picture", u64::from(!is_known));
        turn.text(part.text.unwrap_or_default());
        let pictures = part.image_urls.into_iter().flatten();
        turn.blocks.extend(pictures.map(|_| Block::Image { media_type: None }));
    }
}
