//! Trajectories of SWE-agent (`.traj`), one JSON document, whose `history` is
//! what the model was sent, and of mini-swe-agent (`.traj.json`), whose `messages`
//! keep the response beside each answer (SWE-agent/mini-swe-agent,
//! `agents/default.py` and `models`, versions 1 and 2).
//!
//! Older agents have no tool calls: an answer ends in a command in a fence, and
//! the next message of the user is its output. Both are imported as a call and
//! its result. Of the observations that a history processor hides from later
//! requests the file has no record.

use std::collections::BTreeMap;

use super::content::{ChatMessage, Part, chat_usage, each, joined, list};
use super::exchange::{Calls, Request, Requests};
use super::openai_chat::time;
use super::prelude::*;
use super::{otel, responses};

/// The format of SWE-agent's trajectories.
pub(super) const FORMAT: Format = Format {
    name: "swe-agent",
    describe: "SWE-agent or mini-swe-agent trajectory (JSON, *.traj)",
    tried: Tried::On { files: 4, compared: "messages, calls with results, requests" },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    head.has(&["/trajectory /history"]) || head.any(is_mini)
}

/// Whether a document is a trajectory of mini-swe-agent.
pub(super) fn is_mini(record: &Json) -> bool {
    let format = record.get("trajectory_format").and_then(Json::as_str);
    record.get("messages").is_some_and(Json::is_array)
        && (format.is_some_and(|format| format.starts_with("mini-swe-agent"))
            || record.pointer("/info/mini_version").is_some_and(Json::is_string))
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let document: Json = source.document()?;
    if is_mini(&document) {
        let drafts = Mini::read(source, document)?;
        return drafts.into_iter().try_for_each(|draft| take(source, draft));
    }
    let mut trajectory = Fields(document);
    let history = source.whole(trajectory.need::<Vec<Json>>("/history"))?;
    let mut reader = Reader { draft: Draft::named(source.stem()), command: None };
    // How the run was configured names the model, and nothing depends on it: an object, or
    // the same as a string.
    let config = trajectory.0.get("replay_config").cloned().unwrap_or_default();
    let config = match config {
        Json::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        config => config,
    };
    let model = config.pointer("/agent/model/name").and_then(Json::as_str);
    reader.draft.session.model = model.map(str::to_owned);
    let agent_of = |entry: &Json| entry.get("agent").cloned().unwrap_or_default();
    let agent = history.first().map(agent_of);
    source.whole(each(history, "/history", |at, entry| {
        if Some(agent_of(&entry.0)) != agent {
            reader.draft.leave_out("message of another agent", 1);
            return Ok(());
        }
        reader.entry(format!("m{}", at + 1), entry)
    }))?;
    let mut draft = reader.draft;
    let info = trajectory.0.get("info").unwrap_or(&Json::Null);
    draft.session.totals.extend(stated(info, draft.session.model.clone()));
    draft.leading_system_to_preamble();
    take(source, draft)
}

/// The name of the call that stands for a command in a fence.
const COMMAND: &str = "command";

struct Reader {
    draft: Draft,
    /// The command in a fence that has no output yet.
    command: Option<String>,
}

impl Reader {
    fn entry(&mut self, id: String, mut entry: Fields) -> Result<(), Problem> {
        let command = self.command.take();
        let is_demo = entry.take("/is_demo")?.unwrap_or(false);
        let role: String = entry.need("/role")?;
        match role.as_str() {
            "system" => self.text(id, Role::System, entry.result("/content")?),
            "user" => match command {
                Some(call) if !is_demo => self.result(id, call, entry.result("/content")?),
                _ => self.text(id, Role::User, entry.result("/content")?),
            },
            "assistant" => self.answer(id, entry, is_demo)?,
            "tool" => {
                let calls: Option<Vec<String>> = entry.take("/tool_call_ids")?;
                let call =
                    calls.into_iter().flatten().next().ok_or_else(|| {
                        Problem::shape(".", "a tool result lacks `tool_call_ids`")
                    })?;
                let call = self.draft.newest_call(&call).unwrap_or(&call).to_owned();
                self.result(id, call, entry.result("/content")?);
            }
            _ => return Err(Problem::UnknownRole(role)),
        }
        Ok(())
    }

    fn text(&mut self, id: String, role: Role, said: ResultText) {
        let ResultText { text, images, others, .. } = said;
        others.into_iter().for_each(|reason| self.draft.leave_out(reason, 1));
        let mut blocks = vec![Block::Text { text }];
        blocks.extend((0..images).map(|_| Block::Image { media_type: None }));
        self.draft.push(Message::new(id, role, None, blocks));
    }

    fn result(&mut self, id: String, call: String, result: ResultText) {
        let message = self.draft.result_message(id, call, result, None);
        self.draft.push(message);
    }

    /// A response: what it says, and its calls or the command in its fence.
    fn answer(&mut self, id: String, mut entry: Fields, is_demo: bool) -> Result<(), Problem> {
        let content = entry.result("/content")?;
        content.others.into_iter().for_each(|reason| self.draft.leave_out(reason, 1));
        let content = content.text;
        let thoughts: Option<Vec<Json>> = entry.take("/thinking_blocks")?;
        let thoughts = thoughts.into_iter().flatten();
        let mut blocks: Vec<Block> =
            thoughts.map(|block| Block::Reasoning { text: text_of(&block["thinking"]) }).collect();
        let action = entry.take("/action")?.filter(|action: &String| !action.trim().is_empty());
        let calls = entry.calls("/tool_calls")?;
        let command = action.filter(|_| calls.is_empty());
        let text = match (&command, entry.take::<String>("/thought")?) {
            (Some(action), Some(thought)) => {
                let rest = content.replacen(thought.trim(), "", 1).replacen(action.trim(), "", 1);
                let mut lines = rest.lines().map(str::trim);
                let more = lines.any(|line| !line.is_empty() && !line.starts_with("```"));
                self.draft.leave_out("text besides a thought and its command", more.into());
                thought.trim().to_owned()
            }
            (_, thought) => {
                let is_apart = thought.is_some_and(|text| !content.contains(text.trim()));
                self.draft.leave_out("thought that its answer does not repeat", is_apart.into());
                content
            }
        };
        blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
        blocks.extend(self.draft.blocks(calls));
        if let Some(action) = command {
            let made = format!("{id}-command");
            let arguments = serde_json::json!({COMMAND: action.trim_end()});
            blocks.push(self.draft.call(made.clone(), COMMAND.to_owned(), arguments));
            self.command = Some(self.draft.newest_call(&made).unwrap_or(&made).to_owned());
        }
        // A demonstration is no request of this run.
        let message = Message::new(id, Role::Assistant, None, blocks);
        self.draft.push(Message { synthetic: is_demo, ..message });
        Ok(())
    }
}

// mini-swe-agent: chat messages, or responses of OpenAI's Responses API, each with
// what the agent adds under `extra`.

/// Fences of a command, where a message has no list of them.
const FENCES: [&str; 2] = ["```bash\n", "```mswea_bash_command\n"];

#[derive(Default)]
struct Mini {
    requests: Requests,
    /// What was said since the last answer.
    said: Vec<ChatMessage>,
    /// How many outputs of commands are to come.
    outputs: usize,
    answers: usize,
    /// The model as configured, and calls whose answer the agent could not read.
    model: Option<String>,
    refused: BTreeMap<Option<String>, SessionTotal>,
    left_out: BTreeMap<&'static str, u64>,
}

impl Mini {
    fn read(source: &mut Source<'_>, mut document: Json) -> Result<Vec<Draft>, DatasetError> {
        let model = document.pointer("/info/config/model/model_name").and_then(Json::as_str);
        let mut mini = Mini { model: model.map(str::to_owned), ..Mini::default() };
        let messages = document.get_mut("messages").map(Json::take).unwrap_or_default();
        let read = each(list(messages), "/messages", |_, message| mini.message(&message.0));
        source.whole(read)?;
        let left = std::mem::take(&mut mini.said);
        mini.request(Request { messages: left, ..Request::default() });
        let mut drafts = mini.requests.sessions(source)?;
        if let Some(draft) = drafts.first_mut() {
            let session = &mut draft.session;
            if session.totals.is_empty() {
                session
                    .totals
                    .extend(stated(document.get("info").unwrap_or(&Json::Null), mini.model));
            }
            for (model, refused) in mini.refused {
                match session.totals.iter_mut().find(|total| total.model == model) {
                    Some(total) => total.add(refused.requests, &refused.usage, refused.usd),
                    None => session.totals.push(refused),
                }
            }
            mini.left_out.into_iter().for_each(|(reason, n)| draft.leave_out(reason, n));
        }
        Ok(drafts)
    }

    fn message(&mut self, message: &Json) -> Result<(), Problem> {
        let none = Json::Null;
        let extra = message.get("extra").unwrap_or(&none);
        let is_response = message.get("output").is_some_and(Json::is_array);
        let response = if is_response { Some(message) } else { extra.get("response") };
        let (usd, mut request) =
            (extra.get("cost").and_then(Json::as_f64), self.reported(response));
        (request.usd, request.at) = (usd, extra.get("timestamp").and_then(time));
        let role = message.get("role").and_then(Json::as_str);
        match role {
            Some("exit") => {
                *self.left_out.entry("message of the agent at its end").or_default() += 1
            }
            _ if is_response => {
                let items = message.get("output").and_then(Json::as_array).into_iter().flatten();
                self.outputs = 0;
                let items: Result<Vec<_>, _> = items.cloned().map(responses::message_of).collect();
                request.answer = items?;
                self.answer(request);
            }
            Some("assistant") => {
                let mut answer = otel::message_of(message)?;
                self.outputs = add_commands(&mut answer, message, extra);
                request.answer = vec![answer];
                self.answer(request);
            }
            _ => {
                if request.usd.is_some() || request.usage.is_some() {
                    self.refuse(request);
                }
                self.reply(message)?;
            }
        }
        Ok(())
    }

    /// What the response that is kept beside a message tells of its request.
    fn reported(&self, response: Option<&Json>) -> Request {
        let field = |key: &str| response.and_then(|response| response.get(key)).cloned();
        let usage = field("usage").unwrap_or_default();
        let usage =
            chat_usage(&usage).or_else(|| responses::usage(usage).ok().flatten()).map(Calls::from);
        let model = field("model").and_then(|model| model.as_str().map(str::to_owned));
        Request { usage, model: model.or_else(|| self.model.clone()), ..Request::default() }
    }

    fn answer(&mut self, request: Request) {
        let messages = std::mem::take(&mut self.said);
        self.request(Request { messages, ..request });
    }

    /// Every request goes on from the one before.
    fn request(&mut self, request: Request) {
        let previous = self.answers.checked_sub(1).map(|before| before.to_string());
        let response = Some(self.answers.to_string());
        self.answers += 1;
        self.requests.add(Request { previous, response, ..request });
    }

    /// The answer was billed, and is not there: the agent asked for another.
    fn refuse(&mut self, request: Request) {
        let total = self.refused.entry(request.model.clone()).or_default();
        total.model = request.model;
        let usage = request.usage.as_ref().and_then(Calls::last).unwrap_or_default();
        total.add(1, &usage, request.usd);
        *self.left_out.entry("answer that the agent could not read").or_default() += 1;
    }

    /// What follows a command of a fence is its output.
    fn reply(&mut self, message: &Json) -> Result<(), Problem> {
        let kind = message.get("type").and_then(Json::as_str);
        let mut own = match kind {
            Some("message" | "function_call_output") => responses::message_of(message.clone())?,
            _ => otel::message_of(message)?,
        };
        if own.role == Role::User && self.outputs > 0 {
            self.outputs -= 1;
            let text = joined(&own.parts);
            let images = own.parts.iter().filter(|part| matches!(part, Part::Image(_))).count();
            let result = ResultText::new(text, images as u32);
            let name = Some(COMMAND.to_owned());
            let result = Part::Result { call: None, name, result };
            own = ChatMessage::new(Role::Tool, vec![result]);
        }
        self.said.push(own);
        Ok(())
    }
}

/// Adds the commands of an answer that has no calls; returns how many these are.
fn add_commands(answer: &mut ChatMessage, message: &Json, extra: &Json) -> usize {
    if answer.parts.iter().any(|part| matches!(part, Part::Call { .. })) {
        return 0;
    }
    let text = message.get("content").and_then(Json::as_str).unwrap_or_default();
    let listed = extra.get("actions").and_then(Json::as_array);
    let commands: Vec<Json> = match listed {
        Some(actions) => actions.iter().filter_map(|one| one.get("command").cloned()).collect(),
        None => {
            let blocks = FENCES.iter().flat_map(|fence| text.split(fence).skip(1));
            let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0.trim().into()));
            // The agent runs nothing where there are several.
            let blocks: Vec<Json> = blocks.collect();
            if blocks.len() == 1 { blocks } else { Vec::new() }
        }
    };
    let call = |command: Json| Part::Call {
        id: None,
        name: COMMAND.to_owned(),
        arguments: serde_json::json!({COMMAND: command}),
    };
    let count = commands.len();
    answer.parts.extend(commands.into_iter().map(call));
    count
}

/// What the whole run used and cost, where no message tells. How much of it was read from a
/// cache is not said.
fn stated(info: &Json, model: Option<String>) -> Option<SessionTotal> {
    let stats = info.get("model_stats")?;
    let count = |key: &str| stats.get(key).and_then(Json::as_u64).unwrap_or_default();
    let usage = disjoint(count("tokens_sent"), 0, 0, count("tokens_received"));
    let usd = stats.get("instance_cost").and_then(Json::as_f64).filter(|usd| *usd > 0.0);
    let usage = Usage { cache_unknown: true, ..usage };
    let is_stated = usd.is_some() || usage.prompt() > 0 || usage.output > 0;
    is_stated.then_some(SessionTotal { model, requests: count("api_calls"), usage, usd })
}
