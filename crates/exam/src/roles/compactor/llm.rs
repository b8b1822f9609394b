//! A model as compactor: it gets the strategy's own prompt.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use crate::roles::ask::{self, ModelClient, NoReply, ReplyText};
use recap_core::model::{ModelRole, Role};
use recap_core::tokens::Counter;
use recap_llm as llm;
use recap_llm::{Answered, CallError, FaultKind, Message, ModelRequest, Schema, Speaker};
use recap_strategy::{
    CallUsage, Compactor, CompactorError, Digest, FailedCall, Live, MESSAGES, Produced, Reply,
    SessionState, Task, TaskMessage,
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
    fn usage(&self, question: &ModelRequest, answered: &Answered) -> CallUsage {
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
        let seen = |question: &ModelRequest, answered: &Answered| {
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
    match task {
        _ if reply.text.is_empty() => Err(EMPTY.to_owned()),
        Task::SessionState { .. } => {
            let state: SessionState = ask::object(reply.text)?;
            if state == SessionState::default() {
                return Err(NO_ENTRY.to_owned());
            }
            Ok(Produced::SessionState(state))
        }
        Task::Continuation { .. } => Ok(Produced::Continuation(reply.text.to_owned())),
        Task::Digest { .. } => read_digest(reply).map(Produced::Digest),
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
        NoReply::Misshapen(why) if [EMPTY, NO_ENTRY].contains(&&*why) => CompactorError::Empty(why),
        NoReply::Misshapen(why) => CompactorError::Malformed(why),
    }
}

// Builds the request for a task.

/// Text before a live conversation that the assistant began: providers require
/// a user's message first.
const OPENING: &str = "[The conversation begins.]";

/// The request that is sent to a model for a task.
pub(crate) fn question(task: &Task) -> ModelRequest {
    let (prompt, live, schema) = match task {
        Task::SessionState { prompt, .. } => (prompt, None, Some(state_schema())),
        Task::Continuation { prompt, live, .. } => (prompt, live.as_ref(), None),
        Task::Digest { prompt, .. } => (prompt, None, None),
    };
    let question = match live {
        Some(live) => ModelRequest {
            system: live.system.clone(),
            messages: turns(live, prompt),
            max_tokens: task.max_tokens(),
            ..ModelRequest::default()
        },
        None => ModelRequest::of("", filled(prompt, task.messages()), task.max_tokens()),
    };
    ModelRequest { schema, ..question }
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
        0 => return message.text.clone(),
        1 => "[1 image]".to_owned(),
        images => format!("[{images} images]"),
    };
    match message.text.as_str() {
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
mod tests {
    use super::*;
    use crate::roles::testkit::{Scripted, down, ended, rejected, said, uncounted};
    use recap_core::model::{Role, Unusable};
    use recap_llm::{Finish, Message, Speaker};
    use recap_strategy::{Live, MESSAGES, Metered, ModelCall, TaskMessage};

    fn digest(text: &str) -> Result<(String, Vec<String>), String> {
        read_digest(ReplyText { text, cut: false }).map(|digest| (digest.summary, digest.memories))
    }

    fn of(summary: &str, memories: &[&str]) -> Result<(String, Vec<String>), String> {
        Ok((summary.to_owned(), memories.iter().map(|m| (*m).to_owned()).collect()))
    }

    #[test]
    fn sections_are_parsed_despite_tag_case_and_ending() {
        for text in [
            "<summary>\nThey talked.\n</summary>\n\n<memories>\n- Likes tea.\n- Uses pnpm.\n</memories>",
            "Here it is.\n<Summary>They talked.</SUMMARY><MEMORIES>* Likes tea.\n* Uses pnpm.",
            "<summary>They talked.\n<memories>1. Likes tea.\n2) Uses pnpm.</memories>",
            "<memories>Likes tea.\nUses pnpm.</memories><summary>They talked.</summary> Bye!",
        ] {
            assert_eq!(digest(text), of("They talked.", &["Likes tea.", "Uses pnpm."]), "{text}");
        }
    }

    #[test]
    fn summary_is_required_and_memories_are_optional() {
        assert_eq!(digest("<summary>They talked.</summary>"), of("They talked.", &[]));
        for nothing in ["", "- None.", "(none)", "- "] {
            let text = format!("<summary>x</summary><memories>\n{nothing}\n</memories>");
            assert_eq!(digest(&text), of("x", &[]), "{nothing}");
        }
        for text in ["They talked.", "<summary> </summary>", "<memories>- x</memories>", ""] {
            let wrong = "its <summary> section is missing or empty";
            assert_eq!(digest(text), Err(wrong.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_line_without_a_bullet_continues_its_memory() {
        let text = "<summary>x</summary><memories>- Born in 1990\n  in Bern.\n- -5 degrees\n-7 is no bullet";
        assert_eq!(digest(text), of("x", &["Born in 1990 in Bern.", "-5 degrees -7 is no bullet"]));
        let text = "<summary>x</summary><memories>1990 in Bern.\n3.5 kg</memories>";
        assert_eq!(digest(text), of("x", &["1990 in Bern.", "3.5 kg"]));
    }

    #[test]
    fn a_memory_that_was_cut_off_is_removed() {
        let cut = |text| read_digest(ReplyText { text, cut: true }).map(|digest| digest.memories);
        let memories = |list: &[&str]| Ok(list.iter().map(|m| (*m).to_owned()).collect());
        assert_eq!(
            cut("<summary>x</summary><memories>- Likes tea.\n- The"),
            memories(&["Likes tea."])
        );
        assert_eq!(cut("<summary>They tal"), memories(&[]));
        assert_eq!(cut("<summary>x</summary><memories>- a\n</memories> I ho"), memories(&["a"]));
    }

    #[test]
    fn non_ascii_letters_do_not_shift_the_tags() {
        assert_eq!(digest("İÄß <SUMMARY>Straße İ</SUMMARY>"), of("Straße İ", &[]));
    }

    const STATE: &str = r#"{"logos": ["Port 8080."], "pathos": [], "abstract": ["REST"],
    "conversation_summary": "They set up a server. It runs."}"#;

    fn state() -> SessionState {
        SessionState {
            logos: vec!["Port 8080.".to_owned()],
            pathos: Vec::new(),
            abstract_: vec!["REST".to_owned()],
            conversation_summary: "They set up a server. It runs.".to_owned(),
        }
    }

    fn counter() -> Arc<Counter> {
        Arc::new(Counter::default())
    }

    fn message(role: Role, text: &str) -> TaskMessage {
        TaskMessage { role, text: text.to_owned(), images: 0, tokens: 0 }
    }

    fn talk() -> Vec<TaskMessage> {
        vec![
            TaskMessage { images: 2, ..message(Role::User, "Which port?") },
            message(Role::Assistant, "8080."),
            message(Role::Tool, "ok"),
        ]
    }

    fn state_task(prompt: &str) -> Task {
        let (prompt, messages) = (prompt.to_owned(), talk());
        Task::SessionState { prompt, messages, previous: None, max_tokens: 500 }
    }

    fn digest_task() -> Task {
        Task::Digest {
            prompt: "Summarize.".to_owned(),
            messages: talk(),
            rolling: None,
            known: Vec::new(),
            max_tokens: 500,
        }
    }

    fn continuation_task(live: Option<Live>) -> Task {
        Task::Continuation {
            prompt: "Go on.".to_owned(),
            messages: talk(),
            headings: Vec::new(),
            live,
            max_tokens: 1_500,
        }
    }

    fn role(llm: &Arc<Scripted>) -> Llm {
        Llm::new(Arc::clone(llm) as Arc<dyn llm::Llm>, counter())
    }

    async fn run(
        task: &Task,
        replies: impl IntoIterator<Item = Result<llm::Reply, CallError>>,
    ) -> (Result<Reply, CompactorError>, Arc<Scripted>) {
        let llm = Arc::new(Scripted::new(replies));
        (role(&llm).run(task).await.map_err(|failed| failed.error), llm)
    }

    /// The compactor's usage of one call.
    async fn metered(
        task: &Task,
        replies: impl IntoIterator<Item = Result<llm::Reply, CallError>>,
    ) -> ModelCall {
        let llm = Arc::new(Scripted::new(replies));
        let role = role(&llm);
        let meter = Metered::new(&role);
        let _ = meter.run(task).await;
        meter.take()[0]
    }

    fn turn(speaker: Speaker, text: &str) -> Message {
        Message { speaker, text: text.to_owned() }
    }

    #[test]
    fn messages_fill_their_placeholder_or_precede_the_prompt() {
        let shown = "[user]\nWhich port?\n[2 images]\n\n[assistant]\n8080.\n\n[tool]\nok";
        let place = |prompt: &str| question(&state_task(prompt));
        let asked = place(&format!("<a>{MESSAGES}</a> {{{{messages}}}}"));
        assert_eq!(asked.system, "");
        assert_eq!(
            asked.messages,
            [turn(Speaker::User, &format!("<a>{shown}</a> {{{{messages}}}}"))],
            "what a value says is no placeholder"
        );
        assert_eq!(place("Compile.").messages[0].text, format!("{shown}\n\nCompile."));
        assert_eq!((asked.max_tokens, asked.shared_system), (500, false));
    }

    #[test]
    fn only_state_task_has_schema_with_four_fields() {
        let schema = question(&state_task("")).schema.unwrap();
        let names: Vec<&String> = schema.json["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["logos", "pathos", "abstract", "conversation_summary"]);
        assert_eq!(schema.json["required"].as_array().unwrap().len(), 4);
        assert_eq!(question(&digest_task()).schema, None);
        assert_eq!(question(&continuation_task(None)).schema, None);
    }

    #[test]
    fn live_conversation_continues_as_turns_with_prompt_last() {
        let messages = vec![
            message(Role::System, "[Earlier conversation - 4 messages summarized]"),
            message(Role::User, "Which port?"),
            message(Role::Assistant, "I look."),
            message(Role::Assistant, "{\"name\":\"Read\"}"),
            message(Role::Tool, "8080"),
            message(Role::User, ""),
            TaskMessage { images: 1, ..message(Role::User, "") },
        ];
        let live = Live { tokens: 9, system: "S".to_owned(), messages };
        let asked = question(&continuation_task(Some(live)));
        assert_eq!(asked.system, "S");
        assert_eq!(
            asked.messages,
            [
                turn(
                    Speaker::User,
                    "[system]\n[Earlier conversation - 4 messages summarized]\n\nWhich port?"
                ),
                turn(Speaker::Assistant, "I look.\n\n{\"name\":\"Read\"}"),
                turn(Speaker::User, "[tool]\n8080\n\n[1 image]\n\nGo on."),
            ]
        );
    }

    #[test]
    fn assistant_first_live_conversation_gets_user_message() {
        let live = Live { messages: vec![message(Role::Assistant, "Hello.")], ..Live::default() };
        let asked = question(&continuation_task(Some(live)));
        let speakers: Vec<Speaker> = asked.messages.iter().map(|turn| turn.speaker).collect();
        assert_eq!(speakers, [Speaker::User, Speaker::Assistant, Speaker::User]);
        let asked = question(&continuation_task(Some(Live::default())));
        assert_eq!(asked.messages, [turn(Speaker::User, "Go on.")]);
    }

    #[tokio::test]
    async fn each_task_returns_its_shape_tokens_and_latency() {
        let digest = recap_strategy::Digest {
            summary: "They talked.".to_owned(),
            memories: vec!["Port 8080.".to_owned()],
        };
        let sections = "<summary>They talked.</summary><memories>- Port 8080.</memories>";
        for (task, reply, produced) in [
            (state_task(""), STATE, Produced::SessionState(state())),
            (
                continuation_task(None),
                " Go on so.\n",
                Produced::Continuation("Go on so.".to_owned()),
            ),
            (digest_task(), sections, Produced::Digest(digest)),
        ] {
            let written = counter().count(reply.trim());
            let (reply, llm) = run(&task, [said(reply)]).await;
            // 30 tokens uncached, 60 read from the cache, 10 written to it.
            let usage = CallUsage { input: 100, output: 7 };
            let (latency_ms, recorded, cut) = (Some(40.0), false, false);
            assert_eq!(reply, Ok(Reply { produced, usage, written, cut, latency_ms, recorded }));
            assert_eq!(llm.calls()[0].request.max_tokens, task.max_tokens());
            assert_eq!((llm.calls()[0].role, llm.calls()[0].replicate), (ModelRole::Compactor, 0));
        }
    }

    #[tokio::test]
    async fn wrong_shape_is_retried_once_and_both_paid() {
        let extra = STATE.replace("\"pathos\"", "\"ethos\": [], \"pathos\"");
        let empty = r#"{"logos": [], "pathos": [], "abstract": [], "conversation_summary": ""}"#;
        for (wrong, why) in [
            ("Port 8080.", "it holds no whole JSON object"),
            (r#"{"logos": []}"#, "it lacks the field `pathos`"),
            (&extra, "a field is unknown or of another type"),
            (r#"{"logos": "Port 8080."}"#, "a field is unknown or of another type"),
            (empty, "every field is empty"),
            ("", "it is empty"),
        ] {
            let task = state_task("");
            let (reply, llm) = run(&task, [said(wrong), said(STATE)]).await;
            let reply = reply.unwrap();
            assert_eq!(reply.produced, Produced::SessionState(state()));
            assert_eq!(reply.usage, CallUsage { input: 200, output: 14 });
            assert_eq!(reply.latency_ms, Some(80.0));
            let repair = llm.calls()[1].request.messages.last().unwrap().text.clone();
            assert!(repair.contains(&format!("Your reply cannot be used: {why}.")), "{repair}");
            let (reply, _) = run(&task, [said(wrong), said(wrong)]).await;
            let why = why.to_owned();
            let failed = if why.contains("empty") {
                CompactorError::Empty
            } else {
                CompactorError::Malformed
            };
            assert_eq!(reply, Err(failed(why)));
        }
    }

    #[tokio::test]
    async fn empty_text_or_missing_summary_is_sent_back() {
        let (reply, llm) = run(&continuation_task(None), [said("\n"), said("Go on so.")]).await;
        assert!(reply.is_ok());
        assert!(llm.calls()[1].request.messages[0].text.contains("it is empty"));
        let (reply, llm) =
            run(&digest_task(), [said("They talked."), said("<summary>x</summary>")]).await;
        assert!(reply.is_ok());
        assert!(llm.calls()[1].request.messages[2].text.contains("<summary> section is missing"));
        let (reply, _) = run(&digest_task(), [said("They talked."), said("They talked.")]).await;
        assert!(matches!(reply, Err(CompactorError::Malformed(_))));
    }

    #[tokio::test]
    async fn truncated_state_is_refused_and_truncated_text_kept() {
        let cut = |text| ended(text, Finish::Length);
        let torn = |bound: u64| Err(CompactorError::CutOff(format!("cut off at {bound} tokens")));
        let (reply, llm) = run(&state_task(""), [cut(STATE)]).await;
        assert_eq!((reply, llm.calls().len()), (torn(500), 1));
        let (reply, _) = run(&continuation_task(None), [cut("1. We ac")]).await;
        let reply = reply.unwrap();
        assert_eq!(reply.produced, Produced::Continuation("1. We ac".to_owned()));
        assert!(reply.cut);
        let (reply, _) = run(&digest_task(), [cut("<summary>They ta")]).await;
        let Produced::Digest(digest) = reply.unwrap().produced else { panic!("a digest") };
        assert_eq!((digest.summary.as_str(), digest.memories.len()), ("They ta", 0));
        for (task, text) in [(continuation_task(None), ""), (digest_task(), "They talked about")] {
            let bound = task.max_tokens();
            let (reply, llm) = run(&task, [cut(text)]).await;
            assert_eq!((reply, llm.calls().len()), (torn(bound), 1));
        }
    }

    #[tokio::test]
    async fn error_kind_decides_whether_strategy_may_fall_back() {
        use FaultKind::{Auth, BadRequest, ContextTooLong, Filtered, NotFound};
        let error = |reply| async { run(&digest_task(), [reply]).await.0.unwrap_err() };
        for reply in [
            ended("I would rather not.", Finish::Refused),
            ended("", Finish::Filtered),
            rejected(Filtered),
            rejected(BadRequest),
        ] {
            assert!(matches!(error(reply).await, CompactorError::Refused(_)));
        }
        let too_large = error(rejected(ContextTooLong)).await;
        assert!(matches!(too_large, CompactorError::TooLarge(_)));
        let early = ended("x", Finish::Other("pause".to_owned()));
        assert!(matches!(error(early).await, CompactorError::CutOff(_)));
        let halted = Err(CallError::Halted("the key is wrong".to_owned()));
        for reply in [halted, rejected(Auth), rejected(NotFound)] {
            assert!(matches!(error(reply).await, CompactorError::Unavailable(_)));
        }
        let nobody = "no reply after 5 attempts: connection refused".to_owned();
        assert_eq!(error(down()).await, CompactorError::NoReply(nobody));
    }

    #[tokio::test]
    async fn tokens_that_nobody_told_are_counted() {
        let counter = counter();
        let (reply, _) = run(&continuation_task(None), [uncounted("Go on so.")]).await;
        let asked = &question(&continuation_task(None)).messages[0].text;
        let usage = CallUsage { input: counter.count(asked), output: counter.count("Go on so.") };
        assert_eq!(reply.unwrap().usage, usage);
    }

    #[tokio::test]
    async fn a_repetition_says_so_in_its_calls() {
        let llm = Arc::new(Scripted::saying(["", "Go on so."]));
        let repeated = role(&llm).repeated(2).unwrap().counting(&counter()).unwrap();
        assert!(repeated.run(&continuation_task(None)).await.is_ok());
        let replicates: Vec<u32> = llm.calls().iter().map(|call| call.replicate).collect();
        assert_eq!(replicates, [2, 2]);
        assert_eq!(repeated.name(), "test/scripted");
        assert!(repeated.reads_live());
    }

    #[tokio::test]
    async fn unusable_reply_states_reason_and_is_paid() {
        use FaultKind::{BadRequest, ContextTooLong};
        let (one, two, none) = ((100, 7), (200, 14), (0, 0));
        let cut = |text| ended(text, Finish::Length);
        for (task, replies, unusable, paid) in [
            (continuation_task(None), vec![said(""), said(" \n")], Unusable::Empty, two),
            (continuation_task(None), vec![ended("No.", Finish::Refused)], Unusable::Refused, one),
            (continuation_task(None), vec![cut("1. We ac")], Unusable::CutOff, one),
            (continuation_task(None), vec![cut("")], Unusable::CutOff, one),
            (continuation_task(None), vec![rejected(ContextTooLong)], Unusable::Refused, none),
            (continuation_task(None), vec![rejected(BadRequest)], Unusable::Refused, none),
            (
                digest_task(),
                vec![said("They talked."), said("They talked.")],
                Unusable::WrongShape,
                two,
            ),
            (digest_task(), vec![said("They talked."), said("")], Unusable::Empty, two),
            (digest_task(), vec![cut("<summary>They ta")], Unusable::CutOff, one),
            (state_task(""), vec![cut(STATE)], Unusable::CutOff, one),
            (state_task(""), vec![said("{}"), ended("", Finish::Filtered)], Unusable::Refused, two),
        ] {
            let replied = paid != none;
            let call = metered(&task, replies).await;
            assert_eq!(call.reply.unwrap().unusable, Some(unusable), "{task:?}");
            assert_eq!((call.usage.input, call.usage.output), paid, "{unusable:?}");
            assert_eq!(call.latency_ms.is_some(), replied, "{unusable:?}");
        }
    }

    #[tokio::test]
    async fn short_reply_is_unusable_however_long_the_reasoning() {
        let large = TaskMessage { tokens: 5_000, ..message(Role::User, "Which port?") };
        let task = |max_tokens| Task::Continuation {
            prompt: "Go on.".to_owned(),
            messages: vec![large.clone()],
            headings: Vec::new(),
            live: None,
            max_tokens,
        };
        // The reasoning does not count among the five words.
        let text = format!("<think>{}</think>We talked about a port", "hm ".repeat(400));
        let call = metered(&task(1_500), [said(&text)]).await;
        let reply = call.reply.unwrap();
        assert_eq!((reply.replaced, reply.written, reply.bound), (5_000, 5, 1_500));
        assert_eq!(reply.unusable, Some(Unusable::TooShort));
        let asked_for_little = metered(&task(40), [said(&text)]).await;
        assert_eq!(asked_for_little.reply.unwrap().unusable, None);
    }

    #[tokio::test]
    async fn call_without_reply_is_unusable_and_took_its_attempts() {
        let call = metered(&digest_task(), [down()]).await;
        assert_eq!(call.reply.unwrap().unusable, Some(Unusable::NoReply));
        assert_eq!(call.usage, CallUsage::default());
        assert_eq!((call.latency_ms, call.recorded), (Some(8_000.0), false));
    }
}
