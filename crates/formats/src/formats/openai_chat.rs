//! Conversations as OpenAI chat messages: a list of messages, an object with
//! `messages` (and `tools`), one such object a line, or a list of runs as
//! tau-bench writes them (`task_id`, `trial`, `traj`). Where a `response` stands
//! beside the messages, as in the logs of LiteLLM, they are requests: each
//! repeats the messages of the one before and adds some.

use super::anthropic::is_request;
use super::content::{ChatMessage, Part, body_of, chat_usage, each, response_of};
use super::exchange::{Calls, Request, Requests};
use super::otel::message_of;
use super::prelude::*;
use super::{responses, swe_agent};
use crate::format::has_any;

/// The format of OpenAI chat messages.
pub(super) const FORMAT: Format = Format {
    name: "openai-chat",
    describe: "OpenAI chat messages (JSON list, object with messages, JSON lines, tau-bench runs)",
    tried: Tried::On { files: 1, compared: "messages, calls with results; 100 runs of tau-bench" },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let chats =
        ["/messages/0/role", "/traj/0/role", "/0/messages/0/role", "/0/traj/0/role", "/0/role"];
    let native = ["/messages/0/blocks", "/0/messages/0/blocks"];
    let is_chat = |record: &Json| has_any(record, &chats) && !has_any(record, &native);
    // The same roles, but parts of another kind.
    let is_other = |record: &Json| {
        swe_agent::is_mini(record)
            || is_request(record)
            || record.get(0).is_some_and(is_request)
            || responses::is_items(record)
    };
    head.any(|record| (is_chat(record) || is_exchange(record)) && !is_other(record))
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let mut reader = Reader::default();
    let mut requests = Requests::default();
    if source.is_document()? {
        let conversations = match source.document()? {
            Json::Array(items) if items.first().is_none_or(|one| one.get("role").is_none()) => {
                items
            }
            one => vec![one],
        };
        let single = conversations.len() == 1;
        for (n, conversation) in (1..).zip(conversations) {
            if is_exchange(&conversation) {
                requests.add(source.whole(request(conversation))?);
                continue;
            }
            let id = name(&conversation, source.stem(), (!single).then_some(n));
            let draft = source.whole(reader.conversation(id, conversation))?;
            take(source, draft)?;
        }
    } else {
        let mut n = 0;
        // Conversations are handed on one after another.
        source.keeps_of_each(0);
        while let Some((line, conversation)) = source.next_record(parse::<Json>)? {
            if is_exchange(&conversation) {
                source.keep(REQUEST)?;
                match request(conversation) {
                    Ok(request) => requests.add(request),
                    Err(problem) => source.set_aside(line, problem)?,
                }
                continue;
            }
            source.list()?;
            n += 1;
            let id = name(&conversation, source.stem(), Some(n));
            match reader.conversation(id, conversation) {
                Ok(draft) => take(source, draft)?,
                Err(problem) => source.set_aside(line, problem)?,
            }
        }
    }
    for draft in requests.sessions(source)? {
        take(source, draft)?;
    }
    if reader.renamed > 0 {
        let n = reader.renamed;
        source.warn(format!("calls that repeat an id: {n}; `#2` and so on was added to it"));
    }
    Ok(())
}

// Logs of requests, each beside its response.

/// Bytes that a request is kept with besides its text.
const REQUEST: u64 = 1_200;

/// Whether a record is a request beside its response.
fn is_exchange(record: &Json) -> bool {
    let response = response_of(record);
    body_of(record).get("messages").is_some_and(Json::is_array)
        && response.is_some_and(|own| choices(own).any(|choice| choice.get("message").is_some()))
}

fn choices(response: &Json) -> impl Iterator<Item = &Json> {
    response.get("choices").and_then(Json::as_array).into_iter().flatten()
}

/// A request of a log with its response, model, usage and time.
fn request(record: Json) -> Result<Request, Problem> {
    let body = body_of(&record);
    let response = response_of(&record).unwrap_or(&Json::Null);
    let messages = body.get("messages").and_then(Json::as_array);
    let messages: Result<Vec<ChatMessage>, Problem> =
        messages.into_iter().flatten().map(message_of).collect();
    let first = choices(response).find_map(|choice| choice.get("message"));
    let mut answer = message_of(first.unwrap_or(&Json::Null))?;
    answer.role = Role::Assistant;
    let others = choices(response).count().saturating_sub(1);
    answer.parts.extend((0..others).map(|_| Part::Other("further choice of a response".into())));
    let text = |place: &Json, key: &str| place.get(key).and_then(Json::as_str).map(str::to_owned);
    let tools = body.get("tools").or_else(|| body.pointer("/optional_params/tools"));
    let usage = response.get("usage").unwrap_or(&Json::Null);
    // LiteLLM writes it beside the response, OpenRouter into it.
    let cost = record.get("response_cost").or_else(|| usage.get("cost"));
    let times = ["timestamp", "startTime", "start_time"].map(|key| record.get(key));
    let made = response.get("created");
    Ok(Request {
        session: text(&record, "session_id"),
        preamble: Preamble {
            tools: tool_definitions(tools.and_then(Json::as_array).into_iter().flatten()),
            ..Preamble::default()
        },
        messages: messages?,
        answer: vec![answer],
        usage: chat_usage(usage).map(Calls::from),
        usd: cost.and_then(Json::as_f64),
        model: text(response, "model").or_else(|| text(body, "model")),
        at: times.into_iter().chain([made]).flatten().find_map(time),
        ..Request::default()
    })
}

/// A time as text, or in seconds since 1970.
pub(super) fn time(value: &Json) -> Option<Timestamp> {
    match value {
        Json::String(text) => text.parse().ok(),
        other => Timestamp::from_microsecond((other.as_f64()? * 1e6) as i64).ok(),
    }
}

/// Its own id; that of a tau-bench run; else the file's name, with a number where the file
/// holds several.
fn name(conversation: &Json, stem: &str, number: Option<usize>) -> String {
    let own = |key: &str| conversation.get(key).filter(|value| !value.is_null()).map(bare);
    match (own("id"), own("task_id"), own("trial"), number) {
        (Some(id), ..) => id,
        (_, Some(task), Some(trial), _) => format!("task-{task}-trial-{trial}"),
        (.., Some(number)) => format!("{stem}-{number}"),
        (.., None) => stem.to_owned(),
    }
}

/// A string without quotes; anything else as JSON.
fn bare(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads one conversation after another.
#[derive(Default)]
struct Reader {
    draft: Draft,
    /// Newest call of each function, for results that name only that.
    by_name: FxHashMap<String, String>,
    /// Calls of all conversations whose id was used before in the same one.
    renamed: u64,
}

impl Reader {
    /// A conversation: a list of messages, or an object with one.
    fn conversation(&mut self, id: String, conversation: Json) -> Result<Draft, Problem> {
        let renamed = self.renamed;
        *self = Reader { draft: Draft::named(id), renamed, ..Reader::default() };
        let mut own = Fields(conversation);
        let places: &[&str] = if own.0.is_array() { &[""] } else { &["/messages", "/traj"] };
        let messages: Option<Vec<Json>> = own.first(places)?;
        let messages = messages.ok_or_else(|| Problem::shape(".", "lacks `messages`"))?;
        let session = &mut self.draft.session;
        session.model = own.take("/model")?;
        // Trials of one task are not independent sessions.
        let task: Option<Json> = own.take("/task_id")?;
        session.project = task.map(|task| format!("task-{}", bare(&task)));
        session.preamble.tools =
            tool_definitions(&own.take::<Vec<Json>>("/tools")?.unwrap_or_default());
        each(messages, "/messages", |at, message| {
            let message = self.message(format!("m{}", at + 1), message)?;
            self.draft.push(message);
            Ok(())
        })?;
        self.draft.leading_system_to_preamble();
        Ok(std::mem::take(&mut self.draft))
    }

    fn message(&mut self, id: String, mut message: Fields) -> Result<Message, Problem> {
        let role: String = message.need("/role")?;
        let role = match role.as_str() {
            // The name that newer models have for it.
            "developer" => Role::System,
            "tool" | "function" => {
                let call =
                    self.answered_by(message.take("/tool_call_id")?, message.take("/name")?)?;
                let result = message.result("/content")?;
                return Ok(self.draft.result_message(id, call, result, None));
            }
            _ => role_of(role)?,
        };
        let mut turn = Turn::new(role);
        turn.reasoning(message.take::<String>("/reasoning_content")?.unwrap_or_default());
        turn.blocks.extend(self.draft.blocks(message.parts("/content")?));
        let refusal: Option<String> = message.take("/refusal")?;
        turn.blocks.extend(refusal.map(|text| Block::Text { text }));
        let calls = [message.calls("/tool_calls")?, message.calls("/function_call")?].concat();
        for (n, call) in (1..).zip(calls) {
            let Part::Call { id: own, name, arguments } = call else { continue };
            let own = own.unwrap_or_else(|| format!("{id}-call-{n}"));
            // Some servers use an id twice.
            self.renamed += u64::from(self.draft.newest_call(&own).is_some());
            turn.blocks.push(self.draft.call(own.clone(), name.clone(), arguments));
            let newest = self.draft.newest_call(&own).unwrap_or(&own).to_owned();
            self.by_name.insert(name, newest);
        }
        let usage = message.take("/usage")?.and_then(|usage| chat_usage(&usage));
        Ok(Message { usage, ..Message::new(id, role, None, turn.blocks) })
    }

    /// The newest call that a result can belong to.
    fn answered_by(&self, id: Option<String>, name: Option<String>) -> Result<String, Problem> {
        match (id, name) {
            (Some(id), _) => Ok(self.draft.newest_call(&id).unwrap_or(&id).to_owned()),
            (None, Some(name)) => Ok(self.by_name.get(&name).cloned().unwrap_or(name)),
            (None, None) => Err(Problem::shape(".", "a tool result lacks `tool_call_id`")),
        }
    }
}
