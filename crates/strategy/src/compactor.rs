//! The compactor's role from the side of mechanisms: typed tasks, typed
//! replies.
//!
//! It is defined with the strategies and implemented by the roles, so that a
//! mechanism can reach neither answerer nor judge nor question.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::context::SentText;
use recap_core::model::{ReplyFacts, Role, Unusable};
use recap_core::tokens::Counter;

/// A message as the compactor is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskMessage {
    /// Whom the message is attributed to.
    pub role: Role,
    /// Its text as sent.
    pub text: Arc<SentText>,
    /// Images, which have no text.
    pub images: u32,
    /// The size of the text in tokens.
    pub tokens: u64,
}

/// Placeholder for the messages in a rendered prompt. A prompt without it comes
/// after the messages. Templates cannot contain it, so that no value that was
/// filled in is mistaken for it.
pub const MESSAGES: &str = "\u{0}messages\u{0}";

/// The live conversation that a prompt is appended to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Its tokens, preamble and notes included.
    pub tokens: u64,
    /// Preamble and notes as sent; empty where the compactor does not read it.
    pub system: String,
    /// The other messages that are sent, in order; empty where the compactor
    /// does not read them.
    pub messages: Vec<TaskMessage>,
}

/// Arachne's compressed conversation state ("SessionState Schema"). All four
/// fields are always present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionState {
    /// Hard facts, decisions, technical context.
    pub logos: Vec<String>,
    /// Tone, metaphors, communication style.
    pub pathos: Vec<String>,
    /// Shared frameworks and concepts that need no explanation.
    #[serde(rename = "abstract")]
    pub abstract_: Vec<String>,
    /// Narrative of 2–3 sentences.
    pub conversation_summary: String,
}

/// GSV's two sections of a summarisation reply ("Three-Tier Summarization").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// The text of the `<summary>` section.
    pub summary: String,
    /// The items of the `<memories>` section, one durable fact each.
    pub memories: Vec<String>,
}

/// A task of the compactor.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The prompt with its values filled in.
    pub prompt: String,
    /// The messages to fold, or those of a chunk, oldest first.
    pub messages: Vec<TaskMessage>,
    /// Largest size of the reply, in tokens.
    pub max_tokens: u64,
    /// What the reply is.
    pub asked: Asked,
}

/// What a task asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A SessionState of the messages, merged into the previous one.
    SessionState {
        /// The state before this task.
        previous: Option<SessionState>,
    },
    /// A prompt for continuing the conversation, under these headings.
    Continuation {
        /// The headings that the reply must have.
        headings: Vec<String>,
        /// The live conversation that the prompt is appended to, so that the
        /// call reads its cache; `None`: a fresh request with the messages
        /// alone (how-it-works §26).
        live: Option<Live>,
    },
    /// A summary of one chunk, and the memories worth keeping.
    Digest {
        /// The summary of the chunks before.
        rolling: Option<String>,
        /// Memories that are recorded already.
        known: Vec<String>,
    },
}

impl Task {
    /// Whether the call is appended to the live conversation (how-it-works §26).
    pub fn is_live(&self) -> bool {
        matches!(self.asked, Asked::Continuation { live: Some(_), .. })
    }
}

/// The compactor's result, in the shape that the task asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Produced {
    /// The result of [`Asked::SessionState`].
    SessionState(SessionState),
    /// The result of [`Asked::Continuation`].
    Continuation(String),
    /// The result of [`Asked::Digest`].
    Digest(Digest),
}

impl Produced {
    /// Whether it contains no text.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Produced::SessionState(state) => *state == SessionState::default(),
            Produced::Continuation(text) => text.trim().is_empty(),
            Produced::Digest(Digest { summary, memories }) => {
                summary.trim().is_empty() && memories.is_empty()
            }
        }
    }
}

/// Tokens of one call to the compactor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallUsage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
}

/// A reply with its usage and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The result in the shape that the task asks for.
    pub produced: Produced,
    /// The tokens of the call; if the task was sent twice, those of both replies.
    pub usage: CallUsage,
    /// Tokens of the text, by the compactor's counter. The usage may include
    /// reasoning, and a rejected first reply.
    pub written: u64,
    /// Whether it was cut off and its beginning is used.
    pub cut: bool,
    /// Duration of the call in milliseconds; `None` where no model was called.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
}

impl Reply {
    /// A complete reply without a call to a model; `written` is the size of its
    /// text.
    pub fn unmodelled(produced: Produced, usage: CallUsage, written: u64) -> Self {
        Self { produced, usage, written, cut: false, latency_ms: None, recorded: false }
    }
}

/// Why the compactor returned nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactorError {
    /// No model can be called in this run (a wrong key, a spent budget, a server
    /// that is gone). That says nothing about a strategy: the cell fails.
    #[error("no model can be asked: {0}")]
    Unavailable(String),
    /// This one call brought no reply, whatever was attempted (rate limits, faults of
    /// the server, timeouts): what a design's own fallback is for.
    #[error("{0}")]
    NoReply(String),
    /// The model declined, or its provider rejected the request or withheld the
    /// reply.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The task is larger than the compactor's own context.
    #[error("the task is too large for the compactor: {0}")]
    TooLarge(String),
    /// The reply is empty.
    #[error("the reply is empty: {0}")]
    Empty(String),
    /// The reply is incomplete, and its beginning cannot be used.
    #[error("the reply is not whole: {0}")]
    CutOff(String),
    /// The reply does not have the requested shape.
    #[error("the reply has not the asked shape: {0}")]
    Malformed(String),
}

impl CompactorError {
    /// Why the reply is unusable; `None` where no model was called. A task that is
    /// too large for the model counts as refused.
    fn unusable(&self) -> Option<Unusable> {
        match self {
            CompactorError::Unavailable(_) => None,
            CompactorError::NoReply(_) => Some(Unusable::NoReply),
            CompactorError::Refused(_) | CompactorError::TooLarge(_) => Some(Unusable::Refused),
            CompactorError::Empty(_) => Some(Unusable::Empty),
            CompactorError::CutOff(_) => Some(Unusable::CutOff),
            CompactorError::Malformed(_) => Some(Unusable::WrongShape),
        }
    }
}

/// A call without a usable result, with its usage.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedCall {
    /// Why there is no usable result.
    pub error: CompactorError,
    /// Tokens of the replies; zero where there was none.
    pub usage: CallUsage,
    /// Duration of the call in milliseconds, its attempts included; `None` where no
    /// model was called.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
}

/// A failure without usage: no reply came.
impl From<CompactorError> for FailedCall {
    fn from(error: CompactorError) -> Self {
        Self { error, usage: CallUsage::default(), latency_ms: None, recorded: false }
    }
}

/// A compactor: the offline one, or a model.
#[async_trait]
pub trait Compactor: Send + Sync {
    /// Does one task. The reply is never longer than the task's bound, by the
    /// compactor's own count of tokens; a model that has room for reasoning may
    /// use it for the reply too.
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall>;

    /// The compactor's name: `offline`, or `provider/model`.
    fn name(&self) -> &str;

    /// Whether it reads the texts of [`Live`]: they are long, and are not
    /// copied for a compactor that does not.
    fn reads_live(&self) -> bool {
        false
    }

    /// The compactor for a repetition of the compaction, from 0; `None` where
    /// repetitions cannot differ.
    fn repeated(&self, _replicate: u32) -> Option<Arc<dyn Compactor>> {
        None
    }

    /// The compactor for a session with this counter; `None` where it does
    /// not count by itself, as a model does not.
    fn counting(&self, _counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        None
    }
}

/// Tasks of one kind. A reply of another kind is a failure of the compactor, not of the strategy.
impl dyn Compactor + '_ {
    pub(crate) async fn text(&self, task: &Task) -> Result<String, CompactorError> {
        match self.produced(task).await? {
            Produced::Continuation(text) => Ok(text),
            _ => Err(CompactorError::Malformed("a summary was asked for".to_owned())),
        }
    }

    pub(crate) async fn digest(&self, task: &Task) -> Result<Digest, CompactorError> {
        match self.produced(task).await? {
            Produced::Digest(digest) => Ok(digest),
            _ => Err(CompactorError::Malformed("a digest was asked for".to_owned())),
        }
    }

    pub(crate) async fn state(&self, task: &Task) -> Result<SessionState, CompactorError> {
        match self.produced(task).await? {
            Produced::SessionState(state) => Ok(state),
            _ => Err(CompactorError::Malformed("a SessionState was asked for".to_owned())),
        }
    }

    async fn produced(&self, task: &Task) -> Result<Produced, CompactorError> {
        self.run(task).await.map(|reply| reply.produced).map_err(|failed| failed.error)
    }
}

// Records the calls to a compactor: the usage of each, and facts about its
// reply.

/// One call as the meter saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelCall {
    /// Its tokens; zero where no reply came.
    pub usage: CallUsage,
    /// Duration of the call in milliseconds.
    pub latency_ms: Option<f64>,
    /// Whether that time was measured when the call was recorded.
    pub recorded: bool,
    /// Whether it was appended to the live conversation, whose cache it reads.
    pub live: bool,
    /// Facts about the reply; `None` where no model could be called, and for
    /// calls that bypassed the compactor's role.
    pub reply: Option<ReplyFacts>,
}

impl ModelCall {
    fn of(task: &Task, outcome: &Result<Reply, FailedCall>) -> Self {
        let (usage, latency_ms, recorded) = match outcome {
            Ok(reply) => (reply.usage, reply.latency_ms, reply.recorded),
            Err(failed) => (failed.usage, failed.latency_ms, failed.recorded),
        };
        Self { usage, latency_ms, recorded, live: task.is_live(), reply: facts(task, outcome) }
    }
}

/// Facts about a reply by itself; `None` where no model was called.
fn facts(task: &Task, outcome: &Result<Reply, FailedCall>) -> Option<ReplyFacts> {
    let none = ReplyFacts {
        input: task_hash(task),
        text: None,
        replaced: task.messages.iter().map(|message| message.tokens).sum(),
        written: 0,
        bound: task.max_tokens,
        unusable: None,
    };
    Some(match outcome {
        Err(FailedCall { error, .. }) => ReplyFacts { unusable: Some(error.unusable()?), ..none },
        Ok(reply) if reply.produced.is_empty() => {
            ReplyFacts { unusable: Some(Unusable::Empty), ..none }
        }
        Ok(reply) => {
            let text = Some(reply_hash(&reply.produced));
            let taken = ReplyFacts { text, written: reply.written, ..none };
            let short = taken.is_too_short().then_some(Unusable::TooShort);
            ReplyFacts { unusable: reply.cut.then_some(Unusable::CutOff).or(short), ..taken }
        }
    })
}

/// Passes tasks on and records the calls.
pub struct Metered<'a> {
    inner: &'a dyn Compactor,
    calls: Mutex<Vec<ModelCall>>,
    failed: Mutex<Vec<CompactorError>>,
}

impl<'a> Metered<'a> {
    /// A new meter around a compactor.
    pub fn new(inner: &'a dyn Compactor) -> Self {
        Self { inner, calls: Mutex::default(), failed: Mutex::default() }
    }

    /// The calls since the last time.
    pub fn take(&self) -> Vec<ModelCall> {
        std::mem::take(&mut *self.calls.lock().expect("no call panics while metering"))
    }

    /// The reason of the first call that could not be made, if there is one.
    /// What the strategy did then says nothing about the strategy.
    pub fn unavailable(&self) -> Option<String> {
        self.first(|error| match error {
            CompactorError::Unavailable(why) => Some(why.clone()),
            _ => None,
        })
    }

    /// Why the first call without a reply got none, if there is one: a strategy
    /// whose design does not say what follows cannot go on.
    pub fn unanswered(&self) -> Option<String> {
        self.first(|error| match error {
            CompactorError::NoReply(why) => Some(why.clone()),
            _ => None,
        })
    }

    fn first(&self, why: impl Fn(&CompactorError) -> Option<String>) -> Option<String> {
        let failed = self.failed.lock().expect("no call panics while metering");
        failed.iter().find_map(why)
    }
}

#[async_trait]
impl Compactor for Metered<'_> {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let outcome = self.inner.run(task).await;
        let call = ModelCall::of(task, &outcome);
        self.calls.lock().expect("no call panics while metering").push(call);
        if let Err(failed) = &outcome {
            let mut all = self.failed.lock().expect("no call panics while metering");
            all.push(failed.error.clone());
        }
        outcome
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads_live(&self) -> bool {
        self.inner.reads_live()
    }
}

/// Hash of a task: the prompt, the earlier summary, and the messages, whose texts are hashed once
/// for all tasks that hold them. A live conversation contains the messages, so that it need not be
/// hashed.
fn task_hash(task: &Task) -> u64 {
    let mut hash = TextHash::default();
    hash.add(&task.prompt);
    match &task.asked {
        Asked::SessionState { previous } => {
            hash.add(&previous.as_ref().map_or_else(String::new, state_text));
        }
        Asked::Continuation { .. } => {}
        Asked::Digest { rolling, known } => {
            hash.add(rolling.as_deref().unwrap_or_default());
            known.iter().for_each(|memory| hash.add(memory));
        }
    }
    for message in &task.messages {
        hash.add(message.role.as_str());
        hash.0.update(message.text.hash());
    }
    hash.end()
}

/// Hash of the text of a reply.
fn reply_hash(produced: &Produced) -> u64 {
    let mut hash = TextHash::default();
    match produced {
        Produced::SessionState(state) => hash.add(&state_text(state)),
        Produced::Continuation(text) => hash.add(text),
        Produced::Digest(Digest { summary, memories }) => {
            hash.add(summary);
            memories.iter().for_each(|memory| hash.add(memory));
        }
    }
    hash.end()
}

fn state_text(state: &SessionState) -> String {
    serde_json::to_string(state).expect("a state of texts serialises")
}

/// The first eight bytes of the BLAKE3 of a list of texts.
#[derive(Default)]
struct TextHash(blake3::Hasher);

impl TextHash {
    /// Adds a text with its length, so that the boundaries between texts count.
    fn add(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn end(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.0.finalize().as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testkit::{OffShape, Scripted, free};

    fn digested(summary: &str, memories: &[&str]) -> Produced {
        let memories = memories.iter().map(|&memory| memory.to_owned()).collect();
        Produced::Digest(Digest { summary: summary.to_owned(), memories })
    }

    /// A task of each kind.
    fn tasks() -> [Task; 3] {
        let kinds = [
            Asked::SessionState { previous: None },
            Asked::Continuation { headings: Vec::new(), live: Some(Live::default()) },
            Asked::Digest { rolling: None, known: Vec::new() },
        ];
        kinds.map(|asked| Task { asked, ..digest("", None) })
    }

    #[test]
    fn only_task_with_live_conversation_is_live() {
        assert_eq!(tasks().each_ref().map(Task::is_live), [false, true, false]);
    }

    #[test]
    fn a_reply_without_any_text_is_empty() {
        assert!(Produced::SessionState(SessionState::default()).is_empty());
        let state = SessionState { pathos: vec!["calm".to_owned()], ..SessionState::default() };
        assert!(!Produced::SessionState(state).is_empty());
        assert!(Produced::Continuation(" \n".to_owned()).is_empty());
        assert!(!Produced::Continuation("on".to_owned()).is_empty());
        let empty = [digested(" ", &[]), digested("a", &[]), digested("", &["b"])];
        assert_eq!(empty.map(|digest| digest.is_empty()), [true, false, false]);
    }

    #[test]
    fn failure_after_reply_states_what_is_wrong() {
        let why = || "why".to_owned();
        for (error, unusable, actual) in [
            (CompactorError::Unavailable(why()), None, "no model can be asked: why"),
            (CompactorError::NoReply(why()), Some(Unusable::NoReply), "why"),
            (CompactorError::Refused(why()), Some(Unusable::Refused), "the model refused: why"),
            (
                CompactorError::TooLarge(why()),
                Some(Unusable::Refused),
                "the task is too large for the compactor: why",
            ),
            (CompactorError::Empty(why()), Some(Unusable::Empty), "the reply is empty: why"),
            (CompactorError::CutOff(why()), Some(Unusable::CutOff), "the reply is not whole: why"),
            (
                CompactorError::Malformed(why()),
                Some(Unusable::WrongShape),
                "the reply has not the asked shape: why",
            ),
        ] {
            assert_eq!((error.unusable(), &*error.to_string()), (unusable, actual));
            let failed = FailedCall::from(error.clone());
            assert_eq!((failed.error, failed.usage), (error, CallUsage::default()));
        }
    }

    #[test]
    fn default_compactor_is_shared_and_ignores_live_texts() {
        let compactor = OffShape;
        assert!(!compactor.reads_live() && compactor.repeated(1).is_none());
        assert!(compactor.counting(&Arc::new(Counter::default())).is_none());
        // A meter stands for the compactor in it.
        let reading = Scripted::reading();
        let meter = Metered::new(&*reading);
        assert_eq!((meter.name(), meter.reads_live()), ("scripted", true));
        assert!(!Metered::new(&OffShape).reads_live());
    }

    /// No call can be made.
    struct Gone;

    #[async_trait]
    impl Compactor for Gone {
        async fn run(&self, _: &Task) -> Result<Reply, FailedCall> {
            Err(CompactorError::Unavailable("the key is wrong".to_owned()).into())
        }

        fn name(&self) -> &str {
            "gone"
        }
    }

    fn message(text: &str, tokens: u64) -> TaskMessage {
        TaskMessage { role: Role::User, text: SentText::new(text), images: 0, tokens }
    }

    fn digest(prompt: &str, rolling: Option<&str>) -> Task {
        let messages = vec![message("hello", 300), message("there", 200)];
        let asked = Asked::Digest { rolling: rolling.map(str::to_owned), known: Vec::new() };
        Task { prompt: prompt.to_owned(), messages, max_tokens: 90, asked }
    }

    fn continuation(text: &str, live: Option<Live>) -> Task {
        let messages = vec![message(text, 10_000)];
        let prompt = "Go on.".to_owned();
        let asked = Asked::Continuation { headings: Vec::new(), live };
        Task { prompt, messages, max_tokens: 500, asked }
    }

    /// What is known of the reply to a task.
    fn known(task: &Task, outcome: Result<Reply, CompactorError>) -> ReplyFacts {
        facts(task, &outcome.map_err(FailedCall::from)).unwrap()
    }

    fn said_of(text: &str) -> Reply {
        free(Produced::Continuation(text.to_owned()))
    }

    #[tokio::test]
    async fn a_meter_remembers_first_call_without_reply() {
        let task = || digest("", None);
        let compactor = Scripted::failing_at([1, 3]);
        let meter = Metered::new(&*compactor);
        assert!(meter.run(&task()).await.is_ok());
        assert_eq!(meter.unanswered(), None);
        for _ in 0..3 {
            let _ = meter.run(&task()).await;
        }
        assert_eq!(meter.unanswered().as_deref(), Some("no reply: call 1 fails"));
        let unusable: Vec<Option<Unusable>> =
            meter.take().iter().map(|call| call.reply.unwrap().unusable).collect();
        let none = Some(Unusable::NoReply);
        assert_eq!(unusable, [None, none, None, none]);
        assert!(meter.unanswered().is_some(), "whatever became of the calls");
        assert_eq!(meter.unavailable(), None);
    }

    #[tokio::test]
    async fn a_call_that_cannot_be_made_has_no_reply_facts() {
        let meter = Metered::new(&Gone);
        assert!(meter.run(&digest("", None)).await.is_err());
        assert_eq!(meter.unavailable().as_deref(), Some("the key is wrong"));
        assert_eq!((meter.unanswered(), meter.take()[0].reply), (None, None));
    }

    #[test]
    fn a_sound_reply_leaves_its_sizes_and_hashes() {
        let task = digest("Sum up.", None);
        let produced = digested("x", &[]);
        let reply = known(&task, Ok(free(produced.clone())));
        assert_eq!((reply.replaced, reply.written, reply.bound), (500, 100, 90));
        assert_eq!((reply.text, reply.unusable), (Some(reply_hash(&produced)), None));
        assert_eq!(reply.input, task_hash(&task));
    }

    #[tokio::test]
    async fn reply_without_error_may_still_be_unusable() {
        let task = continuation("hello", None);
        for (reply, unusable) in [
            (said_of(" \n"), Some(Unusable::Empty)),
            (Reply { cut: true, ..said_of("We ac") }, Some(Unusable::CutOff)),
            (Reply { written: 49, ..said_of("We talked.") }, Some(Unusable::TooShort)),
            (Reply { written: 50, ..said_of("We talked.") }, None),
        ] {
            assert_eq!(known(&task, Ok(reply)).unusable, unusable);
        }
    }

    #[test]
    fn inputs_differ_by_prompt_messages_and_previous_summary() {
        let tasks = [
            digest("a", None),
            digest("b", None),
            digest("a", Some("They met.")),
            continuation("hello", None),
            continuation("bye", None),
        ];
        let inputs: BTreeSet<u64> = tasks.iter().map(task_hash).collect();
        assert_eq!(inputs.len(), tasks.len());
        let live = Live { tokens: 9, system: "S".to_owned(), messages: Vec::new() };
        assert_eq!(task_hash(&continuation("hello", Some(live))), task_hash(&tasks[3]));
        // Stable from run to run: it is in run folders.
        assert_eq!(task_hash(&tasks[3]), 12_293_272_209_178_499_266);
    }

    #[test]
    fn call_records_tokens_time_and_whether_live() {
        let usage = CallUsage { input: 3, output: 7 };
        let reply = Reply { usage, latency_ms: Some(5.0), recorded: true, ..said_of("We talked.") };
        let live = Live { tokens: 9, system: "S".to_owned(), messages: Vec::new() };
        let call = ModelCall::of(&continuation("hello", Some(live)), &Ok(reply.clone()));
        assert_eq!((call.usage, call.latency_ms, call.recorded), (usage, Some(5.0), true));
        assert!(call.live && !ModelCall::of(&digest("", None), &Ok(reply)).live);
        let error = CompactorError::Empty(String::new());
        let failed = FailedCall { error, usage, latency_ms: Some(2.0), recorded: true };
        let call = ModelCall::of(&digest("", None), &Err(failed));
        assert_eq!((call.usage, call.latency_ms, call.recorded), (usage, Some(2.0), true));
    }

    #[test]
    fn replies_differ_in_every_part_of_their_text() {
        let logos = SessionState { logos: vec!["fact".to_owned()], ..SessionState::default() };
        let replies = [
            Produced::Continuation("a".to_owned()),
            Produced::Continuation("b".to_owned()),
            digested("b", &["c"]),
            digested("b", &["d"]),
            digested("bc", &[]),
            Produced::SessionState(SessionState::default()),
            Produced::SessionState(logos),
        ];
        let hashes: BTreeSet<u64> = replies.iter().map(reply_hash).collect();
        assert_eq!(hashes.len(), replies.len());
    }
}
