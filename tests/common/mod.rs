//! What several suites need: sessions by hand and by chance, and a replay
//! that is watched request by request.

pub mod recordings;
pub mod talk;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::Strategy as Arbitrary;
use proptest::prelude::*;
use recap_core::model::{
    Block, LedgerState, Message, RecordedCompaction, RecordedTrigger, Role, Session,
};
use recap_core::tokens::Counter;
use recap_exam::roles::compactor::Offline;
use recap_replay::{Plan, PreparedSession, ReplaySession};
use recap_strategy::{
    Asked, CallUsage, Compactor, CompactorError, Digest, FailedCall, Produced, Reply, SessionState,
    Strategy, Task,
};
use serde_json::json;

pub use recordings::shared;

/// A text of exactly so many o200k tokens: "a a a …".
pub fn words(tokens: usize) -> String {
    vec!["a"; tokens].join(" ")
}

pub fn message(id: usize, role: Role, blocks: Vec<Block>) -> Message {
    Message::new(format!("m{id}"), role, None, blocks)
}

pub fn text(tokens: usize) -> Block {
    Block::Text { text: words(tokens) }
}

pub fn call(id: &str, path: &str) -> Block {
    Block::ToolCall { id: id.into(), name: "read".into(), arguments: json!({ "path": path }) }
}

pub fn result(call: &str, tokens: usize) -> Block {
    Block::ToolResult { call: call.into(), text: words(tokens), images: 0, is_error: false }
}

/// Eleven messages in three exchanges, five requests, three results:
///
/// ```text
/// 0 user 10 · 1 calls A(x) · 2 result A 100 · 3 assistant 10
/// 4 user 10 · 5 calls B(y), C(x) · 6 result B 100 · 7 result C 100 · 8 assistant 10
/// 9 user 10 · 10 assistant 10
/// ```
pub fn small() -> Session {
    let parts = [
        (Role::User, vec![text(10)]),
        (Role::Assistant, vec![call("A", "x")]),
        (Role::Tool, vec![result("A", 100)]),
        (Role::Assistant, vec![text(10)]),
        (Role::User, vec![text(10)]),
        (Role::Assistant, vec![call("B", "y"), call("C", "x")]),
        (Role::Tool, vec![result("B", 100)]),
        (Role::Tool, vec![result("C", 100)]),
        (Role::Assistant, vec![text(10)]),
        (Role::User, vec![text(10)]),
        (Role::Assistant, vec![text(10)]),
    ];
    let messages = parts.into_iter().enumerate().map(|(i, (role, b))| message(i, role, b));
    Session { id: "small".into(), messages: messages.collect(), ..Session::default() }
}

pub fn prepared(session: Session) -> PreparedSession {
    PreparedSession::new("test", session, Arc::new(Counter::default()))
}

pub fn offline() -> Offline {
    Offline::new(Arc::new(Counter::default()))
}

/// Writes `summary 0`, `summary 1` and so on, and of a digest `memory 0`, `memory 1`. It takes its
/// time, fails where it is told to, and keeps what it was asked.
#[derive(Default)]
pub struct Scribe {
    pub latency_ms: f64,
    pub too_large: BTreeSet<usize>,
    /// What it writes as the memory of each call instead.
    pub memory: Option<&'static str>,
    pub tasks: Mutex<Vec<Task>>,
}

impl Scribe {
    /// One that takes so many seconds.
    pub fn taking(seconds: f64) -> Self {
        Self { latency_ms: seconds * 1e3, ..Self::default() }
    }

    /// One that fails at these calls.
    pub fn failing_at(mut self, calls: &[usize]) -> Self {
        self.too_large.extend(calls);
        self
    }

    /// The messages of each task.
    pub fn asked(&self) -> Vec<Vec<String>> {
        let texts = |task: &Task| task.messages.iter().map(|m| m.text.to_string()).collect();
        self.tasks.lock().unwrap().iter().map(texts).collect()
    }
}

#[async_trait::async_trait]
impl Compactor for Scribe {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let mut tasks = self.tasks.lock().unwrap();
        let call = tasks.len();
        tasks.push(task.clone());
        assert!(!task.is_live(), "a request of its own");
        if self.too_large.contains(&call) {
            return Err(CompactorError::TooLarge("over the window".into()).into());
        }
        let summary = format!("summary {call}");
        let memory = self.memory.map_or_else(|| format!("memory {call}"), str::to_owned);
        let produced = match task.asked {
            Asked::Continuation { .. } => Produced::Continuation(summary),
            Asked::Digest { .. } => Produced::Digest(Digest { summary, memories: vec![memory] }),
            Asked::SessionState { .. } => Produced::SessionState(SessionState {
                conversation_summary: summary,
                ..SessionState::default()
            }),
        };
        let (usage, latency_ms) = (CallUsage { input: 10, output: 2 }, Some(self.latency_ms));
        Ok(Reply { produced, usage, written: 2, cut: false, latency_ms, recorded: true })
    }

    fn name(&self) -> &str {
        "scribe"
    }
}

pub fn strategy(toml: &str) -> Strategy {
    let head = "version = 1\nname = \"test\"\nsummary = \"\"\nsource = \"\"\n";
    Strategy::parse(None, "test.toml", &format!("{head}{toml}"), &[], &|_| {
        Some("Summarise.".into())
    })
    .unwrap()
}

pub fn plan(strategy: Strategy, window: u64) -> Plan {
    Plan::new(("test", "small"), Arc::new(strategy), (&window.to_string(), window))
}

/// One letter per message: Verbatim, Edited, Folded, or `.` for gone.
pub fn ledger(session: &ReplaySession<'_>) -> String {
    let context = session.context();
    (0..context.seen_count())
        .map(|m| match context.state(m) {
            LedgerState::Verbatim => 'V',
            LedgerState::Edited => 'E',
            LedgerState::Folded => 'F',
            LedgerState::Gone => '.',
        })
        .collect()
}

/// The ledger at each request.
pub fn replayed(session: Session, plan: &Plan, compactor: &dyn Compactor) -> Vec<String> {
    let prepared = prepared(session);
    block_on(async {
        let mut rows = Vec::new();
        for request in 0..prepared.facts.requests.len() as u32 {
            let mut replay = ReplaySession::open(&prepared, plan, compactor).unwrap();
            assert!(replay.run_to_request(request).await.unwrap());
            rows.push(ledger(&replay));
        }
        rows
    })
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// What the model would be sent, in words, so that two contexts can be compared.
pub fn sent(session: &ReplaySession<'_>) -> Vec<(String, String)> {
    let context = session.context();
    let notes = context.notes().map(|(key, text)| (key.to_owned(), text.to_owned()));
    let entries = context.visible().filter_map(|id| {
        let entry = context.entry(id)?;
        Some((format!("{id:?} {}", entry.role.as_str()), entry.text.to_owned()))
    });
    notes.chain(entries).collect()
}

#[derive(Clone, Debug)]
enum Turn {
    User(String),
    Text(String),
    Calls(Vec<(u8, u8, String)>, bool),
    Synthetic,
    Thought,
}

fn prose() -> impl Arbitrary<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-z]{1,8}( [a-z]{1,8}){0,40}",
        Just("We decided to use JWT because sessions expired. See src/auth/token.rs.".to_owned()),
        Just("Please never touch config/prod.yaml; the port is 48211.".to_owned()),
        Just("{\"state\": [1, 2, 3], \"ok\": true}\n".repeat(20)),
        Just("日本語のテキスト 😀 \u{0} <script>alert(1)</script>".to_owned()),
        (1usize..400).prop_map(words),
    ]
}

/// What users of some systems type, and what looks like it.
fn command() -> impl Arbitrary<Value = &'static str> {
    prop::sample::select(vec![
        "/new",
        "/clear",
        "/compact",
        "/prune",
        "/resume",
        "/resume 1",
        "/resume 99",
        "/reset",
        "/reset now",
        "/status",
        "say /new",
    ])
}

fn turn() -> impl Arbitrary<Value = Turn> {
    prop_oneof![
        3 => prose().prop_map(Turn::User),
        1 => command().prop_map(|said| Turn::User(said.to_owned())),
        3 => prose().prop_map(Turn::Text),
        5 => (prop::collection::vec((0u8..4, 0u8..3, prose()), 1..4), prop::bool::weighted(0.95))
            .prop_map(|(calls, answered)| Turn::Calls(calls, answered)),
        1 => Just(Turn::Synthetic),
        1 => Just(Turn::Thought),
    ]
}

/// A session by chance: parallel calls, interrupted calls, empty texts,
/// harness messages, reasoning, images, commands, a recorded compaction, and
/// times from seconds to days apart, or none.
pub fn any_session() -> impl Arbitrary<Value = Session> {
    let pauses = prop::sample::select(vec![0, 1, 30, 5_000, 40_000, 100_000]);
    let clock = prop::option::of(prop::collection::vec(pauses, 60));
    let turns = prop::collection::vec(turn(), 1..60);
    (turns, any::<prop::sample::Index>(), any::<bool>(), clock).prop_map(
        |(turns, cut, compacted, clock)| {
            let mut messages = build(&turns);
            if let Some(pauses) = clock {
                let mut now = jiff::Timestamp::UNIX_EPOCH;
                for (message, pause) in messages.iter_mut().zip(pauses.iter().cycle()) {
                    now += jiff::SignedDuration::from_secs(*pause);
                    message.at = Some(now);
                }
            }
            let after = cut.index(messages.len()) as u32;
            let compactions = if compacted && after > 0 {
                vec![RecordedCompaction {
                    after,
                    kept_from: after,
                    summary: Some("They talked about things.".into()),
                    cleared: Vec::new(),
                    trigger: RecordedTrigger::Auto,
                    ..RecordedCompaction::default()
                }]
            } else {
                Vec::new()
            };
            Session { id: "any".into(), messages, compactions, ..Session::default() }
        },
    )
}

fn build(turns: &[Turn]) -> Vec<Message> {
    let tools = ["read", "edit", "get_ship", "run"];
    let mut messages: Vec<Message> = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        let next = messages.len();
        match turn {
            Turn::User(words) => {
                let mut blocks = vec![Block::Text { text: words.clone() }];
                if number % 7 == 3 {
                    blocks.push(Block::Image { media_type: Some("image/png".into()) });
                }
                messages.push(message(next, Role::User, blocks));
            }
            Turn::Text(words) => {
                messages.push(message(
                    next,
                    Role::Assistant,
                    vec![Block::Text { text: words.clone() }],
                ));
            }
            Turn::Calls(calls, answered) => {
                let id = |at: usize| format!("c{number}-{at}");
                let blocks =
                    calls.iter().enumerate().map(|(at, (tool, path, _))| Block::ToolCall {
                        id: id(at),
                        name: tools[*tool as usize].into(),
                        arguments: json!({"path": format!("src/file{path}.rs")}),
                    });
                messages.push(message(next, Role::Assistant, blocks.collect()));
                for (at, (_, _, output)) in calls.iter().enumerate().filter(|_| *answered) {
                    let block = Block::ToolResult {
                        call: id(at),
                        text: output.clone(),
                        images: u32::from(at == 1),
                        is_error: false,
                    };
                    messages.push(message(messages.len(), Role::Tool, vec![block]));
                }
            }
            Turn::Synthetic => {
                let mut made = message(next, Role::Assistant, vec![text(3)]);
                made.synthetic = true;
                messages.push(made);
            }
            Turn::Thought => {
                let thought = Block::Reasoning { text: "Let me think.".into() };
                messages.push(message(next, Role::Assistant, vec![thought, text(2)]));
            }
        }
    }
    messages
}
