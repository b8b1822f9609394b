//! Events of OpenHands V1, told apart by `kind`.
//!
//! Read from OpenHands/software-agent-sdk (`openhands/sdk/event`, with its
//! conversion of events into messages, `openhands/sdk/llm/message.py` and
//! `openhands/sdk/conversation/event_store.py`), without recordings at hand.
//! What a response used stands in the updates of the state (`stats`), by its id
//! or as a sum so far.

use super::{since, time, usage};
use crate::format::has_all;
use crate::formats::content::{Part, branch_to_last};
use crate::formats::prelude::*;
use crate::source::KEPT;

/// Parent of an event that begins a conversation anew.
const ROOT: &str = "__root__";
/// What stands before the result of a call that failed.
const FAILED: &str = "[An error occurred during execution.]\n";

/// Whether the input is such events, as a list or as lines.
pub(super) fn is_it(head: &Head) -> bool {
    let is_event = |event: &Json| {
        let kind = event.get("kind").and_then(Json::as_str).unwrap_or_default();
        (kind.ends_with("Event") || kind.starts_with("Condensation"))
            && has_all(event, "/id /source /timestamp")
    };
    head.any(|record| is_event(record.get(0).unwrap_or(record)))
}

struct Event {
    id: Option<String>,
    at: Option<Timestamp>,
    response: Option<String>,
    own: Fields,
}

/// The kinds that are read.
const READ: &str = "SystemPromptEvent MessageEvent ActionEvent ObservationEvent AgentErrorEvent \
    UserRejectObservation Condensation ConversationStateUpdateEvent CondensationRequest";

/// Bytes that an event of another kind takes, of which only its place is kept.
const PLACE: u64 = 200;

/// An event that waits until its branch is known: its id and parent, and all of it where its kind
/// is read.
type Waiting = ([Option<Box<str>>; 2], Option<Json>);

/// Something that is still sent: an event of a message, or a summary.
enum Sent {
    /// The system prompt is in no message.
    System,
    Event(String, MessageIndex),
    /// Its id and text.
    Summary(String, String),
}

#[derive(Default)]
pub(super) struct Reader {
    draft: Draft,
    waiting: Vec<Waiting>,
    sent: Vec<Sent>,
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
    /// The model that the newest sum names.
    model: Option<String>,
    /// What the last request used whose response is still to come.
    coming: Option<SidechainRequest>,
    /// What requests used whose responses are no events, such as that of a title.
    beside: Vec<SidechainRequest>,
}

impl Reader {
    /// Reads a session with this name unless it has one of its own.
    pub(super) fn named(id: &str) -> Self {
        Self { draft: Draft::named(id), ..Self::default() }
    }

    /// Takes the next event. Returns the bytes that are kept of it besides its
    /// text.
    pub(super) fn take(&mut self, event: Json) -> u64 {
        let place = ["id", "parent_id"].map(|key| event.get(key)?.as_str().map(Box::from));
        let kind = event.get("kind").and_then(Json::as_str).unwrap_or("event that cannot be read");
        let is_read = READ.split(' ').any(|read| read == kind);
        self.draft.leave_out(kind, u64::from(!is_read));
        self.waiting.push((place, is_read.then_some(event)));
        if is_read { KEPT } else { PLACE }
    }

    /// The session, once all its events were taken.
    ///
    /// # Errors
    /// Parents that run in a circle, and what concerns more than one event.
    pub(super) fn read(mut self) -> Result<Draft, Problem> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut before = None;
        let parents = waiting.iter().map(|(place, _)| {
            let [id, parent] = place.each_ref().map(Option::as_deref);
            // Events that were written before there were branches have no parent.
            let parent = match parent {
                Some(ROOT) => None,
                Some(parent) => Some(parent),
                None => before,
            };
            before = id.or(before);
            (id, parent)
        });
        let on = branch_to_last(parents)?;
        for ((_, event), on) in waiting.into_iter().zip(on) {
            match event {
                None if on => self.close(),
                None => {}
                Some(_) if !on => self.draft.leave_out("event on an abandoned branch", 1),
                Some(event) => match self.event(Fields(event)) {
                    Err(problem) if problem.kind().is_some() => {
                        self.draft.leave_out("event that cannot be read", 1);
                    }
                    read => read?,
                },
            }
        }
        self.close();
        self.assign();
        self.draft.leading_system_to_preamble();
        Ok(self.draft)
    }

    fn event(&mut self, mut own: Fields) -> Result<(), Problem> {
        let kind: String = own.need("/kind")?;
        let (id, at) = (own.take("/id")?, time(own.take("/timestamp")?)?);
        let response: Option<String> = own.take("/llm_response_id")?;
        let event = Event { id, at, response, own };
        let same = event.response.is_some() && event.response == self.response;
        if kind != "ActionEvent" || !same {
            self.close();
        }
        match kind.as_str() {
            "SystemPromptEvent" => self.system(event)?,
            "MessageEvent" => self.message(event)?,
            "ActionEvent" => self.action(event)?,
            "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation" => {
                self.result(event)?;
            }
            "Condensation" => self.condense(event)?,
            // The new state, or one of its values by its key.
            "ConversationStateUpdateEvent" => self.stats(event.at, &event.own.0["value"]),
            // A request of a condensation, the last of `READ`.
            _ => self.is_requested = event.own.text("/source") == Some("user"),
        }
        Ok(())
    }

    /// What was used so far, by purpose: of single responses, or in sum. A sum is told when a
    /// response arrives, before that becomes an event: what it grew by is the next event's. It
    /// may be written late, behind an event that is younger.
    fn stats(&mut self, at: Option<Timestamp>, value: &Json) {
        let stats = value.get("stats").unwrap_or(value);
        let all = stats.get("usage_to_metrics").and_then(Json::as_object);
        let Some(all) = all else {
            return self.draft.leave_out("ConversationStateUpdateEvent", 1);
        };
        let read = |value: &Json| usage(value.clone()).ok();
        let text = |of: &Json, key: &str| of.get(key).and_then(Json::as_str).map(str::to_owned);
        let single = all.values().filter_map(|own| own.get("token_usages")?.as_array()).flatten();
        for own in single {
            let id = text(own, "response_id").filter(|id| !id.is_empty());
            self.used.extend(id.zip(read(own)).map(|(id, used)| (id, (used, text(own, "model")))));
        }
        // The condenser has a sum of its own.
        let main = all.get("agent").or_else(|| all.get("default")).or_else(|| all.values().next());
        self.model = main.and_then(|own| text(own, "model_name")).or(self.model.take());
        let sum = main.and_then(|own| own.get("accumulated_token_usage"));
        let model = sum.and_then(|own| text(own, "model")).or_else(|| self.model.clone());
        let Some(now) = sum.and_then(read) else { return };
        let before = std::mem::replace(&mut self.accumulated, now);
        let Some(usage) = since(now, before) else { return };
        let last = self.draft.session.messages.iter_mut().enumerate().rev();
        let last = last.take_while(|(_, message)| message.role != Role::User);
        let answer = last.into_iter().find(|(_, message)| message.role == Role::Assistant);
        let is_younger = |other: Option<Timestamp>| other.zip(at).is_none_or(|(one, at)| one >= at);
        if let Some((place, answer)) = answer.filter(|(_, answer)| is_younger(answer.at)) {
            answer.usage.get_or_insert(usage);
            model.into_iter().for_each(|model| self.draft.wrote(place as u32, &model));
        } else {
            self.beside.extend(self.coming.replace(SidechainRequest { at, model, usage }));
        }
    }

    /// Gives the responses what they used by their ids.
    fn assign(&mut self) {
        self.beside.extend(self.coming.take());
        // Those that are told one by one tell nothing of the others.
        if self.used.is_empty() {
            self.draft.session.sidechains.append(&mut self.beside);
        }
        for (id, at) in std::mem::take(&mut self.responses) {
            let Some((usage, model)) = self.used.remove(&id) else { continue };
            if let Some(message) = self.draft.session.messages.get_mut(at as usize) {
                message.usage = Some(usage);
            }
            if let Some(model) = model {
                self.draft.wrote(at, &model);
            }
        }
    }

    fn system(&mut self, mut event: Event) -> Result<(), Problem> {
        let texts: [Option<String>; 2] =
            [event.own.take("/system_prompt/text")?, event.own.take("/dynamic_context/text")?];
        let tools: Option<Vec<Json>> = event.own.take("/tools")?;
        let preamble = &mut self.draft.session.preamble;
        if !preamble.system.is_empty() {
            self.draft.leave_out("later system prompt", 1);
            return Ok(());
        }
        preamble.system = texts.into_iter().flatten().collect();
        preamble.tools = tool_definitions(tools.iter().flatten());
        self.sent.push(Sent::System);
        Ok(())
    }

    fn message(&mut self, mut event: Event) -> Result<(), Problem> {
        let Some(message) = event.own.take("/llm_message")? else {
            self.draft.leave_out("message without content", 1);
            return Ok(());
        };
        let mut message = Fields(message);
        let role = role_of(message.need("/role")?)?;
        let mut turn = event.turn(role);
        turn.reasoning(thoughts(&mut message)?);
        self.parts(&mut turn, message.take("/content")?)?;
        self.parts(&mut turn, event.own.take("/extended_content")?)?;
        let response = event.response.filter(|_| role == Role::Assistant);
        self.responses.extend(response.map(|id| (id, self.draft.next_index())));
        self.push(turn, event.id.into_iter().collect());
        Ok(())
    }

    /// A call. All calls of one response are one message.
    fn action(&mut self, mut event: Event) -> Result<(), Problem> {
        let Some(Part::Call { id, name, arguments }) = event.own.calls("/tool_call")?.pop() else {
            self.draft.leave_out("action without a call", 1);
            return Ok(());
        };
        let new = || (event.turn(Role::Assistant), Vec::new());
        let (mut turn, mut events) = self.open.take().unwrap_or_else(new);
        // What was said with a call, and thought before.
        if turn.blocks.is_empty() {
            turn.reasoning(thoughts(&mut event.own)?);
            self.parts(&mut turn, event.own.take("/thought")?)?;
        }
        turn.blocks.push(self.draft.call(id.unwrap_or_default(), name, arguments));
        events.extend(event.id);
        self.response = event.response;
        self.open = Some((turn, events));
        Ok(())
    }

    fn close(&mut self) {
        let response = self.response.take();
        if let Some((turn, events)) = self.open.take() {
            self.responses.extend(response.map(|id| (id, self.draft.next_index())));
            self.push(turn, events);
        }
    }

    fn push(&mut self, mut turn: Turn, events: Vec<String>) {
        let at = self.draft.next_index();
        if turn.role == Role::Assistant {
            let used = self.coming.take();
            turn.model = used.as_ref().and_then(|used| used.model.clone()).or(self.model.clone());
            turn.usage = used.map(|used| used.usage);
        }
        self.draft.turn(turn);
        self.add(at, events);
    }

    /// Adds the events of a message, if that was not left out.
    fn add(&mut self, at: MessageIndex, events: Vec<String>) {
        if self.draft.next_index() > at {
            self.sent.extend(events.into_iter().map(|id| Sent::Event(id, at)));
        }
    }

    fn result(&mut self, mut event: Event) -> Result<(), Problem> {
        let mut turn = Turn::new(Role::Tool);
        let (mut is_error, mut head) = (true, "");
        let observation: Option<Json> = event.own.take("/observation")?;
        let rejected: Option<String> = event.own.take("/rejection_reason")?;
        if let Some(mut observation) = observation.map(Fields) {
            is_error = observation.take("/is_error")?.unwrap_or(false);
            head = if is_error { FAILED } else { "" };
            self.parts(&mut turn, observation.take("/content")?)?;
        } else if let Some(reason) = rejected {
            turn.text(format!("Action rejected: {reason}"));
        } else {
            turn.text(event.own.0.get("error").map(text_of).unwrap_or_default());
        }
        self.parts(&mut turn, event.own.take("/extended_content")?)?;
        let text = format!("{head}{}", recap_core::model::sent(&turn.blocks));
        let pictures = turn.blocks.iter().filter(|block| matches!(block, Block::Image { .. }));
        let result = ResultText { is_error, ..ResultText::new(text, pictures.count() as u32) };
        let call: String = event.own.take("/tool_call_id")?.unwrap_or_default();
        let at = self.draft.next_index();
        self.draft.result(&call, result, event.turn(Role::Tool));
        self.add(at, event.id.into_iter().collect());
        Ok(())
    }

    /// Adds parts, which have a text or pictures.
    fn parts(&mut self, turn: &mut Turn, parts: Option<Vec<Json>>) -> Result<(), Problem> {
        for part in parts.into_iter().flatten() {
            let mut part = Fields(part);
            let text: Option<String> = part.take("/text")?;
            let pictures: Option<Vec<Json>> = part.take("/image_urls")?;
            let is_known = text.is_some() || pictures.is_some();
            self.draft.leave_out("part without text or picture", u64::from(!is_known));
            turn.text(text.unwrap_or_default());
            let pictures = pictures.into_iter().flatten();
            turn.blocks.extend(pictures.map(|_| Block::Image { media_type: None }));
        }
        Ok(())
    }

    /// Events are forgotten, and a summary stands at a place among the others.
    fn condense(&mut self, mut event: Event) -> Result<(), Problem> {
        let forgotten: Option<Vec<String>> = event.own.take("/forgotten_event_ids")?;
        let forgotten: FxHashSet<String> = forgotten.into_iter().flatten().collect();
        let summary: Option<String> = event.own.take("/summary")?;
        let offset: Option<usize> = event.own.take("/summary_offset")?;
        let before = self.sent.len();
        self.sent.retain(|sent| match sent {
            Sent::Event(id, _) | Sent::Summary(id, _) => !forgotten.contains(id),
            Sent::System => true,
        });
        let is_requested = std::mem::take(&mut self.is_requested);
        if self.sent.len() == before {
            self.draft.leave_out("condensation that removed no message", 1);
            return Ok(());
        }
        let id = format!("{}-summary", event.id.unwrap_or_default());
        let summary = summary.filter(|text| !text.is_empty());
        if let Some((text, at)) = summary.clone().zip(offset) {
            self.sent.insert(at.min(self.sent.len()), Sent::Summary(id, text));
        }
        let is_lost = summary.is_some() && offset.is_none();
        self.draft.leave_out("summary that was not sent", u64::from(is_lost));
        let mut pieces: Vec<Piece> = Vec::new();
        for sent in &self.sent {
            match sent {
                Sent::System => {}
                Sent::Summary(_, text) => {
                    pieces.push(Piece::Text { role: Role::User, text: text.clone() });
                }
                // All calls of one response are events of one message.
                Sent::Event(_, at) if pieces.last() == Some(&Piece::Message(*at)) => {}
                Sent::Event(_, at) => pieces.push(Piece::Message(*at)),
            }
        }
        self.draft.compact(RecordedCompaction {
            summary: summary.filter(|_| offset.is_some()),
            trigger: if is_requested { RecordedTrigger::Manual } else { RecordedTrigger::Auto },
            at: event.at,
            ..self.draft.compaction_to(pieces)
        })
    }
}

impl Event {
    fn turn(&self, role: Role) -> Turn {
        Turn { id: self.id.clone(), at: self.at, ..Turn::new(role) }
    }
}

/// What the model thought: the same, as its provider gave it.
fn thoughts(of: &mut Fields) -> Result<String, Problem> {
    let own: Option<String> = of.take("/reasoning_content")?;
    let blocks: Option<Vec<Json>> = of.take("/thinking_blocks")?;
    let thinking = blocks.iter().flatten().filter_map(|block| block.get("thinking")?.as_str());
    let thinking = thinking.collect::<Vec<_>>().join("\n");
    let summary: Option<Vec<String>> = of.take("/responses_reasoning_item/summary")?;
    let summary = summary.unwrap_or_default().join("\n");
    let all = [own.unwrap_or_default(), thinking, summary];
    Ok(all.into_iter().find(|text| !text.is_empty()).unwrap_or_default())
}
