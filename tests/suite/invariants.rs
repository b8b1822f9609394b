//! What holds for every built-in strategy, told from what is sent and from the
//! recording alone: calls stand with their results, sizes over the window are
//! counted, each message is in one state, and no word comes from nowhere.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Mutex;

use async_trait::async_trait;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use recap_core::model::{Block, LedgerState, Session};
use recap_core::tokens::Counter;
use recap_exam::roles::compactor::Offline;
use recap_replay::{Plan, PreparedSession, ReplaySession, WindowSpec};
use recap_strategy::{
    Compactor, Digest, EntryId, FailedCall, Produced, Reply, Strategy, Task, builtin, builtin_names,
};

use crate::common::{any_session, block_on, ledger, offline, plan, prepared};

/// The words that mechanisms write around what they take from elsewhere.
const FRAMES: &[&str] = &[
    // Arachne's pair.
    "<session_state>{\"logos\":[],\"pathos\":[],\"abstract\":[],\"conversation_summary\":\"\"}\
     </session_state>",
    "Understood.",
    // What opencode puts in the place of an output.
    "[Old tool output removed]",
    // GenCode's summary message.
    "[Earlier conversation - N messages summarized]",
    // Lis's summaries.
    "[Summary of the previous session]",
    "[Summary of this session]",
    // GSV's summary, its fallbacks and its memories.
    "[Conversation summary from automatic context compaction]",
    "[Context contained N messages that were compacted. Summary unavailable due to size limits.]",
    "[Messages skipped as too large to summarize: N.]",
    "[Images in the compacted messages: N. What they showed is gone.]",
    "## Memory of",
    "### Extracted from context compaction",
];

/// Every strategy but the control that is asked and never replayed.
fn strategies() -> impl Iterator<Item = Strategy> {
    let names = builtin_names().filter(|name| *name != "evidence");
    names.map(|name| builtin(name, &[]).unwrap().unwrap())
}

/// Whether a strategy declares that it may part a call from its result.
fn parts_pairs(strategy: &Strategy) -> bool {
    strategy.stages.iter().any(|stage| stage.breaks_pairs)
}

/// The offline compactor, and all that it wrote.
struct Scribe {
    offline: Offline,
    written: Mutex<String>,
}

#[async_trait]
impl Compactor for Scribe {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let reply = self.offline.run(task).await?;
        let text = match &reply.produced {
            Produced::Continuation(text) => text.clone(),
            Produced::SessionState(state) => serde_json::to_string(state).unwrap(),
            Produced::Digest(Digest { summary, memories }) => {
                format!("{summary}\n{}", memories.join("\n"))
            }
        };
        let mut written = self.written.lock().unwrap();
        written.push_str(&text);
        written.push('\n');
        Ok(reply)
    }

    fn name(&self) -> &str {
        "scribe"
    }
}

/// The texts that words may come from.
struct Sources {
    /// What was recorded.
    recording: String,
    /// The strategy's file and its prompts, and the frames.
    strategy: String,
    /// Words that were found in one of them.
    known: HashSet<String>,
}

impl Sources {
    fn new(session: &Session, strategy: &str) -> Sources {
        let mut recording = vec![session.preamble.sent()];
        for message in &session.messages {
            recording.push(message.sent());
            // As it is shown to a compactor: text, not JSON.
            recording.extend(message.blocks.iter().map(|block| match block {
                Block::Text { text } | Block::ToolResult { text, .. } => text.clone(),
                _ => String::new(),
            }));
        }
        recording.extend(session.compactions.iter().filter_map(|c| c.summary.clone()));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("strategies");
        let file = std::fs::read_to_string(folder.join(format!("{strategy}.toml"))).unwrap();
        let prompts = file.lines().filter_map(|line| {
            let path = line.split_once("prompts/")?.1.split('"').next()?;
            Some(std::fs::read_to_string(folder.join("prompts").join(path)).unwrap())
        });
        let frames = FRAMES.iter().map(|frame| (*frame).to_owned());
        let texts: Vec<String> = prompts.chain(frames).collect();
        let strategy = format!("{file}\n{}", texts.join("\n"));
        Sources { recording: recording.join("\n"), strategy, known: HashSet::new() }
    }

    /// The words of a text that none of the sources has, numbers apart.
    fn foreign<'t>(&mut self, text: &'t str, written: &Mutex<String>) -> Vec<&'t str> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut found = Vec::new();
        for word in words.filter(|word| !word.bytes().all(|b| b.is_ascii_digit())) {
            if self.known.contains(word) {
                continue;
            }
            let has = self.recording.contains(word)
                || self.strategy.contains(word)
                || written.lock().unwrap().contains(word);
            if has {
                self.known.insert(word.to_owned())
            } else {
                found.push(word);
                true
            };
        }
        found
    }
}

/// Calls without their results, and results without their calls, of what is
/// sent: a call whose result was never recorded, or is still to come, is whole.
fn parted(replay: &ReplaySession<'_>, session: &Session) -> BTreeSet<String> {
    let context = replay.context();
    let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
    let ids = |blocks: &[Block], calls: &mut BTreeSet<String>, results: &mut BTreeSet<String>| {
        for block in blocks {
            match block {
                Block::ToolCall { id, .. } => drop(calls.insert(id.clone())),
                Block::ToolResult { call, .. } => drop(results.insert(call.clone())),
                _ => {}
            }
        }
    };
    for at in context.visible().filter_map(EntryId::index) {
        ids(&context.blocks(at), &mut calls, &mut results);
    }
    let (mut all_calls, mut arrived) = (BTreeSet::new(), BTreeSet::new());
    for message in &session.messages[..context.seen_count() as usize] {
        ids(&message.blocks, &mut all_calls, &mut arrived);
    }
    let awaited: BTreeSet<String> = all_calls.difference(&arrived).cloned().collect();
    let parted = calls.symmetric_difference(&results).cloned().collect::<BTreeSet<_>>();
    parted.difference(&awaited).cloned().collect()
}

/// Each message that arrived is sent once, or not, and its state says so.
fn states_hold(replay: &ReplaySession<'_>, session: &Session) -> Result<(), String> {
    let context = replay.context();
    let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
    for at in context.visible().filter_map(EntryId::index) {
        *sent.entry(at).or_default() += 1;
    }
    let stands_in = context.visible().any(|id| id.index().is_none()) || context.notes().count() > 0;
    for at in 0..context.seen_count() {
        let state = context.state(at);
        let same = || context.blocks(at) == session.messages[at as usize].blocks;
        let holds = match sent.remove(&at) {
            None => state == LedgerState::Gone || state == LedgerState::Folded && stands_in,
            Some(1) if same() => state == LedgerState::Verbatim,
            Some(1) => state == LedgerState::Edited,
            Some(_) => false,
        };
        if !holds {
            return Err(format!("m{at} is {state:?} in {}", ledger(replay)));
        }
    }
    if sent.is_empty() { Ok(()) } else { Err(format!("{sent:?} never arrived")) }
}

/// Replays a session, and looks at what would be sent behind every so many messages.
fn invariants_hold(prepared: &PreparedSession, plan: &Plan, every: u32) {
    let name = &plan.strategy.name;
    let session = &prepared.recording.session;
    let scribe = Scribe { offline: offline(), written: Mutex::default() };
    let mut sources = Sources::new(session, name);
    block_on(async {
        let mut replay = ReplaySession::open(prepared, plan, &scribe).unwrap();
        let last = session.messages.len() as u32;
        while replay.step().await.unwrap_or_else(|e| panic!("{name}: {e}")) {
            let context = replay.context();
            if !context.seen_count().is_multiple_of(every) && context.seen_count() != last {
                continue;
            }
            if !parts_pairs(&plan.strategy) {
                assert_eq!(
                    parted(&replay, session),
                    BTreeSet::new(),
                    "{name}: {}",
                    ledger(&replay)
                );
            }
            states_hold(&replay, session).unwrap_or_else(|e| panic!("{name}: {e}"));
            let notes = context.notes().map(|(_, text)| text.to_owned());
            let entries = context.visible().map(|id| context.entry(id).unwrap().text.to_owned());
            for text in notes.chain(entries) {
                let foreign = sources.foreign(&text, &scribe.written);
                assert_eq!(foreign, [""; 0], "{name} says: {text}");
            }
        }
    });
}

/// What is over the window, or would be with the response, is counted as an
/// overflow and nothing else is. Sizes are counted from the texts.
fn overflows_are_counted(prepared: &PreparedSession, plan: &Plan, requests: &[u32]) {
    let name = &plan.strategy.name;
    let compactor = offline();
    let counter = Counter::default();
    for &request in requests {
        let mut session = ReplaySession::open(prepared, plan, &compactor).unwrap();
        assert!(block_on(session.run_to_request(request)).unwrap());
        let context = session.context();
        let texts = context.visible().map(|id| counter.count(context.entry(id).unwrap().text));
        let sent = counter.count(&context.head()) + texts.sum::<u64>();
        let row = session.last_request().unwrap();
        // Pieces that are counted by themselves may merge: one token for each.
        let slack = context.notes().count() as u64 + 2;
        assert!(sent.abs_diff(row.tokens_sent) <= slack, "{name}: {sent}, {row:?}");
        let output = prepared.facts.requests[request as usize].output;
        assert_eq!(row.overflow, row.tokens_sent + output > plan.window, "{name}: {row:?}");
    }
}

fn at_share(prepared: &PreparedSession, strategy: Strategy, share: &str) -> Plan {
    let window: WindowSpec = share.parse().unwrap();
    plan(strategy, window.tokens(&prepared.recording.sizes, 0).unwrap())
}

/// The beginnings of a coding, an assistant's and a game session of the bundled data.
fn bundled() -> Vec<PreparedSession> {
    let dataset = recap_formats::bundled("quickstart").unwrap().unwrap();
    let sessions = dataset.sessions.into_iter().step_by(2);
    let begin = |mut session: Session| {
        session.messages.truncate(60);
        prepared(session)
    };
    sessions.map(begin).collect()
}

#[test]
fn bundled_sessions_keep_the_invariants_under_every_strategy() {
    for prepared in bundled() {
        for strategy in strategies() {
            invariants_hold(&prepared, &at_share(&prepared, strategy, "25%"), 12);
        }
    }
}

#[test]
fn sizes_over_window_are_counted_under_every_strategy() {
    for prepared in bundled() {
        let last = prepared.facts.requests.len() as u32 - 1;
        for strategy in strategies() {
            let plan = at_share(&prepared, strategy, "25%");
            overflows_are_counted(&prepared, &plan, &[last / 2, last]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        rng_seed: RngSeed::Fixed(23),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_sessions_keep_invariants_under_every_strategy(session in any_session()) {
        let prepared = prepared(session);
        for strategy in strategies() {
            invariants_hold(&prepared, &at_share(&prepared, strategy, "30%"), 5);
        }
    }
}
