//! A model as compactor: it gets the strategy's own prompt.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use crate::roles::ask::{self, ModelClient, NoReply, ReplyText};
use recap_core::model::{ModelRole, Role};
use recap_core::tokens::Counter;
use recap_llm as llm;
use recap_llm::{Answered, CallError, FaultKind, Message, Request, Schema, Speaker};
use recap_strategy::{
    Asked, CallUsage, Compactor, CompactorError, Digest, FailedCall, Live, MESSAGES, Produced,
    Reply, SessionState, Task, TaskMessage,
};

/// A model in the compactor's role.
///
/// A reply in a wrong format is sent back once; the usage of both calls is
/// added up. A state that is cut off cannot be used, and fails. A continuation
/// or a summary that is cut off is used as it is: the published designs limit
/// the reply and use what arrives, without checking how it ended (001, "Layer
/// 2"; 004, "Three-Tier Summarization").
pub struct Llm {
    llm: Arc<dyn llm::Llm>,
    name: String,
    counter: Arc<Counter>,
    replicate: u32,
}

impl Llm {
    /// A compactor that calls the model behind `llm`. If the provider reports
    /// no usage, `counter` counts the tokens: close to the billed number, and
    /// never zero.
    pub fn new(llm: Arc<dyn llm::Llm>, counter: Arc<Counter>) -> Self {
        let name = llm.model().id();
        Self { llm, name, counter, replicate: 0 }
    }

    fn with(&self, counter: &Arc<Counter>, replicate: u32) -> Self {
        let (llm, name) = (Arc::clone(&self.llm), self.name.clone());
        Self { llm, name, counter: Arc::clone(counter), replicate }
    }

    /// The tokens of one call: the whole prompt, including its cached part.
    fn usage(&self, question: &Request, answered: &Answered) -> CallUsage {
        match &answered.reply.usage {
            Ok(tokens) => CallUsage { input: tokens.usage.prompt(), output: tokens.usage.output },
            Err(_) => {
                let messages = question.messages.iter().map(|message| &message.text);
                let texts = messages.chain([&question.system]);
                let input = texts.map(|text| self.counter.count(text)).sum();
                CallUsage { input, output: self.counter.count(&answered.reply.text) }
            }
        }
    }
}

#[async_trait]
impl Compactor for Llm {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let client =
            ModelClient { llm: &*self.llm, role: ModelRole::Compactor, replicate: self.replicate };
        let (mut usage, mut latency_ms, mut recorded) = (CallUsage::default(), None, true);
        let seen = |question: &Request, answered: &Answered| {
            let call = self.usage(question, answered);
            usage.input += call.input;
            usage.output += call.output;
            *latency_ms.get_or_insert(0.0) += answered.timing.total_ms;
            recorded &= answered.recorded;
        };
        let read = |reply: ReplyText<'_>| {
            Ok((read(task, reply)?, self.counter.count(reply.text), reply.cut))
        };
        let taken = client.ask(question(task), read, seen).await;
        recorded &= latency_ms.is_some();
        match taken {
            Ok((produced, written, cut)) => {
                Ok(Reply { produced, usage, written, cut, latency_ms, recorded })
            }
            Err(why) => {
                if let NoReply::Call(CallError::Unavailable { took, .. }) = &why {
                    *latency_ms.get_or_insert(0.0) += took.as_secs_f64() * 1e3;
                    recorded = false;
                }
                Err(FailedCall { error: error(why), usage, latency_ms, recorded })
            }
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn reads_live(&self) -> bool {
        true
    }

    fn repeated(&self, replicate: u32) -> Option<Arc<dyn Compactor>> {
        Some(Arc::new(self.with(&self.counter, replicate)))
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        Some(Arc::new(self.with(counter, self.replicate)))
    }
}

/// The error in a reply without text.
const EMPTY: &str = "it is empty";
/// The error in a state without an entry.
const NO_ENTRY: &str = "every field is empty";

/// Parses a reply into the format that the task asks for.
fn read(task: &Task, reply: ReplyText<'_>) -> Result<Produced, String> {
    match task.asked {
        _ if reply.text.is_empty() => Err(EMPTY.to_owned()),
        Asked::SessionState { .. } => {
            let state: SessionState = ask::object(reply.text)?;
            if state == SessionState::default() {
                return Err(NO_ENTRY.to_owned());
            }
            Ok(Produced::SessionState(state))
        }
        Asked::Continuation { .. } => Ok(Produced::Continuation(reply.text.to_owned())),
        Asked::Digest { .. } => read_digest(reply).map(Produced::Digest),
    }
}

fn error(failure: NoReply) -> CompactorError {
    let why = failure.to_string();
    if matches!(failure, NoReply::Call(CallError::Unavailable { .. })) {
        return CompactorError::NoReply(why);
    }
    if failure.is_systemic() {
        return CompactorError::Unavailable(why);
    }
    match failure {
        NoReply::Call(CallError::Rejected(fault)) if fault.kind == FaultKind::ContextTooLong => {
            CompactorError::TooLarge(why)
        }
        NoReply::Call(CallError::Rejected(_)) | NoReply::Refused | NoReply::Filtered => {
            CompactorError::Refused(why)
        }
        NoReply::Call(_) => CompactorError::Malformed(why),
        NoReply::CutOff(bound) => CompactorError::CutOff(format!("cut off at {bound} tokens")),
        NoReply::Ended(_) => CompactorError::CutOff(why),
        NoReply::Empty => CompactorError::Empty(why),
        NoReply::Misshapen(why) if [EMPTY, NO_ENTRY].contains(&&*why) => CompactorError::Empty(why),
        NoReply::Misshapen(why) => CompactorError::Malformed(why),
    }
}

// Builds the request for a task.

/// Text before a live conversation that the assistant began: providers require
/// a user's message first.
const OPENING: &str = "[The conversation begins.]";

/// The request that is sent to a model for a task.
pub(crate) fn question(task: &Task) -> Request {
    let Task { prompt, messages, max_tokens, asked } = task;
    let schema = matches!(asked, Asked::SessionState { .. }).then(state_schema);
    let question = match asked {
        Asked::Continuation { live: Some(live), .. } => Request {
            system: live.system.clone(),
            messages: turns(live, prompt),
            max_tokens: *max_tokens,
            ..Request::default()
        },
        _ => Request::of("", filled(prompt, messages), *max_tokens),
    };
    Request { schema, ..question }
}

/// The four fields of SessionState in its published design (000, "SessionState
/// Schema").
fn state_schema() -> Schema {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let json = json!({
        "type": "object",
        "properties": {
            "logos": list,
            "pathos": list,
            "abstract": list,
            "conversation_summary": {"type": "string"},
        },
        "required": ["logos", "pathos", "abstract", "conversation_summary"],
        "additionalProperties": false,
    });
    Schema { name: "session_state".to_owned(), json }
}

/// The prompt with the messages at their placeholder, or in front of it.
fn filled(prompt: &str, messages: &[TaskMessage]) -> String {
    let label = |message: &TaskMessage| format!("[{}]\n{}", message.role.as_str(), shown(message));
    let session = messages.iter().map(label).collect::<Vec<_>>().join("\n\n");
    if prompt.contains(MESSAGES) {
        prompt.replace(MESSAGES, &session)
    } else {
        format!("{session}\n\n{prompt}")
    }
}

/// The live conversation as turns, with the prompt as the last one. A message
/// of another role than user or assistant becomes a user's message that names
/// its role. User and assistant alternate, since many chat templates require
/// it.
fn turns(live: &Live, prompt: &str) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::new();
    for message in &live.messages {
        let text = shown(message);
        if text.is_empty() {
            continue;
        }
        match message.role {
            Role::Assistant => push(&mut turns, Speaker::Assistant, text),
            Role::User => push(&mut turns, Speaker::User, text),
            role @ (Role::System | Role::Tool) => {
                push(&mut turns, Speaker::User, format!("[{}]\n{text}", role.as_str()));
            }
        }
    }
    if turns.first().is_some_and(|turn| turn.speaker == Speaker::Assistant) {
        turns.insert(0, Message { speaker: Speaker::User, text: OPENING.to_owned() });
    }
    push(&mut turns, Speaker::User, prompt.replace(MESSAGES, ""));
    turns
}

fn push(turns: &mut Vec<Message>, speaker: Speaker, text: String) {
    match turns.last_mut() {
        Some(last) if last.speaker == speaker => last.text.extend(["\n\n", &text]),
        _ => turns.push(Message { speaker, text }),
    }
}

/// The text of a message, in which images are named.
fn shown(message: &TaskMessage) -> String {
    let images = match message.images {
        0 => return message.text.to_string(),
        1 => "[1 image]".to_owned(),
        images => format!("[{images} images]"),
    };
    match &**message.text {
        "" => images,
        text => format!("{text}\n{images}"),
    }
}

// Parses GSV's two sections ("Three-Tier Summarization").

/// What models write if there is no memory to store.
const NOTHING: [&str; 4] = ["none", "none.", "(none)", "n/a"];

/// The sections of a reply. The summary is required; memories may be missing. A
/// section without an end tag ends at the next section, or at the end of the
/// reply. A memory that was cut off is removed, because half a fact would be
/// stored permanently.
fn read_digest(reply: ReplyText<'_>) -> Result<Digest, String> {
    let summary = section(reply.text, "summary").unwrap_or_default().text.trim();
    if summary.is_empty() {
        return Err("its <summary> section is missing or empty".to_owned());
    }
    let listed = section(reply.text, "memories").unwrap_or_default();
    let mut memories = lines(listed.text);
    if reply.cut && !listed.closed {
        memories.pop();
    }
    memories.retain(|memory| !NOTHING.contains(&memory.to_ascii_lowercase().as_str()));
    Ok(Digest { summary: summary.to_owned(), memories })
}

#[derive(Clone, Copy, Default)]
struct Section<'a> {
    text: &'a str,
    /// Whether the section has an end tag.
    closed: bool,
}

/// The first section with a name. The case of tags does not matter.
fn section<'a>(text: &'a str, name: &str) -> Option<Section<'a>> {
    // The lower-case text has the same length in bytes.
    let lower = text.to_ascii_lowercase();
    let open = format!("<{name}>");
    let start = lower.find(&open)? + open.len();
    if let Some(end) = lower[start..].find(&format!("</{name}>")) {
        return Some(Section { text: &text[start..start + end], closed: true });
    }
    let next = ["<summary>", "<memories>"].into_iter().filter_map(|tag| lower[start..].find(tag));
    let end = next.min().map_or(text.len(), |next| start + next);
    Some(Section { text: &text[start..end], closed: false })
}

/// The entries of a list. If any line has a bullet, a line without one
/// continues the entry above it; otherwise each line is an entry.
fn lines(text: &str) -> Vec<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let bulleted = lines().any(|line| entry(line).is_some());
    let mut entries: Vec<String> = Vec::new();
    for line in lines() {
        match (entry(line), entries.last_mut()) {
            (Some(text), _) => entries.push(text.to_owned()),
            (None, Some(last)) if bulleted => last.extend([" ", line]),
            (None, _) => entries.push(line.to_owned()),
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// The text of a line after its bullet or number.
fn entry(line: &str) -> Option<&str> {
    let marked = ["-", "*", "•"].into_iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')']);
        rest.filter(|_| line.starts_with(|c: char| c.is_ascii_digit()))
    };
    let text = marked.or_else(numbered)?;
    (text.is_empty() || text.starts_with(' ')).then(|| text.trim())
}

#[cfg(test)]
#[path = "llm_tests.rs"]
mod tests;
