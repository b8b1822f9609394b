//! Threads of Amp, one JSON document each (`~/.local/share/amp/threads/T-*.json`).
//! Versions since the spring of 2026 keep threads on a server. Read from the
//! description of the format in the crate txcript (`docs/formats/amp.md`),
//! without recordings at hand.

use super::anthropic::{Part, add_message, role_of};
use super::prelude::*;

/// The format of Amp's threads.
pub(super) const FORMAT: Format = Format {
    name: "amp",
    describe: "Amp thread (JSON, ~/.local/share/amp/threads/T-*.json)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.any(is_thread)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let thread: Thread = source.document()?;
    let draft = session(thread, source.stem());
    let draft = draft.map_err(|problem| source.error(None, problem))?;
    Ok(vec![draft])
}

/// Whether a record can only be a thread: others have messages, too.
pub(super) fn is_thread(record: &Json) -> bool {
    record.get("id").and_then(Json::as_str).is_some_and(|id| id.starts_with("T-"))
        && record.get("v").is_some_and(Json::is_number)
        && record.get("messages").is_some_and(Json::is_array)
}

#[derive(Deserialize)]
struct Thread {
    id: String,
    messages: Vec<Message>,
    env: Option<Environment>,
}

#[derive(Deserialize)]
struct Environment {
    initial: Option<Initial>,
}

#[derive(Deserialize)]
struct Initial {
    #[serde(default)]
    trees: Vec<Tree>,
}

#[derive(Deserialize)]
struct Tree {
    uri: Option<String>,
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    #[serde(rename = "ref")]
    branch: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    message_id: Option<u64>,
    #[serde(default)]
    content: Content<Part>,
    meta: Option<Meta>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    sent_at: Option<i64>,
}

/// Amp's usage: cached tokens are counted beside the input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    model: Option<String>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    timestamp: Option<Timestamp>,
}

impl Tokens {
    fn usage(&self) -> Option<Usage> {
        Some(Usage {
            input: self.input_tokens?,
            cache_read: self.cache_read_input_tokens.unwrap_or(0),
            cache_write_5m: self.cache_creation_input_tokens.unwrap_or(0),
            output: self.output_tokens.unwrap_or(0),
            output_final: self.output_tokens.is_some(),
            ..Usage::default()
        })
    }
}

fn session(thread: Thread, stem: &str) -> Result<Draft, Problem> {
    let mut recorder = Recorder::new(stem);
    let transcript = recorder.transcript();
    transcript.metadata.push(thread.id);
    let trees = thread.env.and_then(|env| env.initial).map_or_else(Vec::new, |first| first.trees);
    for tree in trees {
        let folder = tree.uri.map(|uri| uri.trim_start_matches("file://").to_owned());
        let project = folder.as_deref().and_then(project_of);
        transcript.project = transcript.project.take().or(project);
        transcript.metadata.extend(folder.as_deref().and_then(home_of));
        transcript.metadata.extend(folder);
        let repository = tree.repository.map(|repository| [repository.branch, repository.url]);
        transcript.metadata.extend(repository.into_iter().flatten().flatten());
    }
    transcript.metadata.sort();
    transcript.metadata.dedup();
    for message in thread.messages {
        add(&mut recorder, message)?;
    }
    Ok(recorder.finish())
}

fn add(recorder: &mut Recorder, message: Message) -> Result<(), Problem> {
    let Message { role, message_id, content, meta, usage } = message;
    // Notes to the user, and threads that this one came from.
    if !matches!(role.as_str(), "system" | "user" | "assistant") {
        recorder.draft.leave_out(format!("{role} message"), 1);
        return Ok(());
    }
    let mut turn = Turn::new(role_of(role)?);
    turn.id = message_id.map(|id| format!("message-{id}"));
    let sent = meta.and_then(|meta| Timestamp::from_millisecond(meta.sent_at?).ok());
    turn.at = sent.or_else(|| usage.as_ref().and_then(|usage| usage.timestamp));
    if let Some(tokens) = usage.filter(|_| turn.role == Role::Assistant) {
        turn.usage = tokens.usage();
        turn.model = tokens.model;
    }
    add_message(recorder, turn, content)
}
