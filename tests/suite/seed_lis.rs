//! Seed 002 (Lis), the whole system: sessions, compaction in the background,
//! notices, commands. `seed_lis_prune` has its first stage by itself.
//! Each test names its sentence.
//!
//! Where strategies depart from it:
//!
//! - `prune-once`: sizes of single results are exact counts: a recording seldom holds the
//!   provider's figure for each message. The size of the context is the simulated report, never
//!   an estimate.
//! - `prune-once`: looked at after each response of the model; in the design once the tool loop
//!   is over. Sessions of agents are mostly one long loop.
//! - `prune-once`: `keep-none` says what is pruned, `when` still says whether: with `when =
//!   "always"` everything goes at once.
//! - `prune-once`: a result of a `summarize` tool becomes a one-liner like any other; its
//!   original is shown to a later compaction of `lis`.
//! - `lis`: after pruning the reported size is taken to be smaller by what was pruned, so that
//!   a compaction which pruning made needless is not started; in the design the figure of the
//!   last response stands until the next.
//! - `lis`: the newest message is kept even where it alone is over `keep_recent`, and a call is
//!   kept with its result.
//! - `lis`: the prompt, the bound of 3,200 tokens for a summary and the lines above summaries
//!   are ours; a summary stands as a user's message.
//! - `lis`: the message that gives a command opens the next session: a recording goes on with a
//!   response, which needs a message to answer.
//! - `lis`: `/resume` alone means the session closed last, `/resume 2` the second; the session
//!   that is left is closed and summarised as by `/new`.
//! - `lis`: where another session is opened while a compaction is in flight, that compaction
//!   comes to nothing and has cost what it cost.
//! - `lis`: `closed_at` of a compacted session is when its compaction began: what came since is
//!   the next session's.
//! - `lis`: figures of notices are counted exactly, when the work begins, but for the size
//!   before a compaction, which is the reported one. "System" holds what a recording hides of
//!   its preamble, "calls" the whole messages that call tools and their results, the 12.4k of a
//!   pruning notice the output behind the last boundary.
//! - `lis`: a session's embedding is made when sessions are first searched, not when one is
//!   closed, and only with `--embedder`; else sessions are ranked by words. It is the run's
//!   spend, not the session's: the design says neither what embeds nor what it costs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::talk::{Talk, even, real, unscaled};
use crate::common::{Scribe, block_on, ledger, prepared};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use recap_billing::pricing::{BillingModel, PriceList};
use recap_core::model::{
    CellOutcome, CellRows, Expectation, Question, QuestionKind, Role, Session,
};
use recap_replay::{Plan, PreparedSession, ReplaySession, replay};
use recap_strategy::{Asked, Breakpoint, EntryId, Task, builtin};
use serde_json::{Value as Json, json};

/// A budget of 10,000: compaction above 8,000, keeping 500.
fn lis(overrides: &[(&str, &str)]) -> Plan {
    let overrides = [&[("keep_recent", "500")], overrides].concat();
    unscaled(real("lis", 10_000, &overrides))
}

/// Requests of 1,000, 5,000 and 9,000 tokens. The response to the last one,
/// message 5, sets off a compaction that keeps it alone.
fn long() -> Talk {
    Talk::new("sys").user(1_000).says(3_000).user(1_000).says(3_000).user(1_000).says(100)
}

/// What was said in the end is followed by a user 75 seconds later.
fn longer() -> Talk {
    long().user(10).says(20)
}

/// A second compaction: the response 13 follows a request of 8,100 tokens and
/// a few, and 12 and 13 are kept.
fn twice() -> Talk {
    longer().user(1_000).says(3_000).user(1_000).says(3_000).user(10).says(10)
}

/// Looks at the session as soon as so many messages have arrived and what is
/// done by then has taken effect.
fn after<T>(
    talk: Talk,
    plan: &Plan,
    scribe: &Scribe,
    messages: u32,
    look: impl FnOnce(&ReplaySession<'_>) -> T,
) -> T {
    let prepared = prepared(talk.end());
    block_on(async {
        let mut session = ReplaySession::open(&prepared, plan, scribe).unwrap();
        while session.context().seen_count() < messages {
            assert!(session.step().await.unwrap(), "the recording ends before");
        }
        look(&session)
    })
}

fn rows(session: Session, plan: &Plan, scribe: &Scribe) -> CellRows {
    match block_on(replay(&prepared(session), plan, scribe)).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

/// What is sent: role and text, long texts as the number of their tokens.
fn sent(session: &ReplaySession<'_>) -> Vec<(Role, String)> {
    let context = session.context();
    let entry = |id| {
        let entry = context.entry(id).unwrap();
        let text = match entry.text.len() {
            ..100 => entry.text.to_owned(),
            _ => entry.weight.tokens.to_string(),
        };
        (entry.role, text)
    };
    context.visible().map(entry).collect()
}

fn texts(session: &ReplaySession<'_>) -> Vec<String> {
    sent(session).into_iter().map(|(_, text)| text).collect()
}

const PARENT: &str = "[Summary of the previous session]\n\nsummary";
const OWN: &str = "[Summary of this session]\n\nsummary";

/// The session files by path.
fn files(session: &ReplaySession<'_>) -> BTreeMap<String, Json> {
    let read = |content: Vec<u8>| serde_json::from_slice(&content).unwrap();
    session.stored().into_iter().map(|file| (file.path, read(file.content))).collect()
}

fn ids(from: u32, to: u32) -> Json {
    (from..to).map(|n| format!("m{n}")).collect()
}

/// Seed 002: full compaction always creates a new session: finalize, reassign kept messages,
/// set CurrentSessionId
#[test]
fn compaction_closes_session_with_summary_and_opens_another() {
    after(longer(), &lis(&[]), &Scribe::taking(1.0), 8, |session| {
        let expected = [
            (Role::User, format!("{PARENT} 0")),
            (Role::Assistant, "100".to_owned()),
            (Role::User, even(10)),
            (Role::Assistant, even(20)),
        ];
        assert_eq!(sent(session), expected);
        let files = files(session);
        assert_eq!(files["chat.json"], json!({"current_session_id": 2}));
        let (first, second) = (&files["sessions/1.json"], &files["sessions/2.json"]);
        assert_eq!((&first["summary"], &first["message_ids"]), (&json!("summary 0"), &ids(0, 5)));
        assert_eq!(first["parent_session_id"], Json::Null);
        assert_eq!(first["message_tokens"], 9_000);
        assert_eq!((&second["summary"], &second["closed_at"]), (&Json::Null, &Json::Null));
        assert_eq!((&second["parent_session_id"], &second["message_ids"]), (&json!(1), &ids(5, 8)));
    });
}

/// Seed 002: summaries are never merged into each other
#[test]
fn summaries_never_merge_and_only_parent_is_injected() {
    let scribe = Scribe::taking(1.0);
    after(twice().user(1).says(1), &lis(&[]), &scribe, 16, |session| {
        assert_eq!(texts(session)[0], format!("{PARENT} 1"));
        assert!(!texts(session).iter().any(|text| text.contains("summary 0")));
    });
    let asked = scribe.asked();
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [5, 7]);
    assert!(!asked[1].iter().any(|text| text.contains("summary")), "{:?}", asked[1]);
}

/// Seed 002: the parent session's summary is injected (what is older is gone)
#[test]
fn the_grandparents_facts_are_gone_after_two_compactions() {
    let (plan, scribe) = (lis(&[]), Scribe::taking(1.0));
    let after_one = after(twice(), &plan, &scribe, 14, ledger);
    assert_eq!(after_one, "FFFFFVVVVVVVVV");
    let after_two = after(twice().user(1).says(1), &plan, &scribe, 16, ledger);
    assert_eq!(after_two, ".....FFFFFFFVVVV");
}

/// Seed 002: triggered when input_tokens from the last response exceeds 80 % of the budget
#[test]
fn trigger_is_last_reported_input_above_80_percent() {
    // The system prompt `sys` is one token: requests of 8,000 and of 8,001.
    let started = |tokens| {
        let talk = Talk::new("sys").user(tokens).says(5_000).user(1).end();
        let rows = rows(talk, &lis(&[]), &Scribe::taking(1.0));
        rows.compactions.len()
    };
    assert_eq!((started(7_999), started(8_000)), (0, 1));
}

/// Seed 002: LIS_KEEP_RECENT_TOKENS 4000, budget 150k
#[test]
fn default_keeps_4000_tokens_above_120000_of_budget() {
    let plan = real("lis", 150_000, &[]);
    let talk = |tokens| Talk::new("").user(tokens).says(500).user(2_000).says(1_500).user(1);
    let scribe = Scribe::taking(1.0);
    assert_eq!(after(talk(117_500), &plan, &scribe, 5, ledger), "VVVVV", "120,000 at the last");
    // The request before message 3 had 120,001; 3, 2 and 1 are 4,000.
    assert_eq!(after(talk(117_501), &plan, &scribe, 5, ledger), "FVVVV");
}

/// Seed 002: calls with their results (ours)
#[test]
fn calls_and_results_stay_together_at_the_split() {
    let talk = long().calls(&[("a", "read")]).result("a", 10);
    // The request before the call has 9,100 tokens: nothing runs yet, and the
    // compaction that message 5 set off is still being written.
    let scribe = Scribe::taking(3.5);
    let plan = lis(&[("keep_recent", "5")]);
    let landed = after(talk.says(1).user(1), &plan, &scribe, 10, |session| {
        recap_strategy::pairs_are_whole(session.context()).unwrap();
        ledger(session)
    });
    assert_eq!(landed, "FFFFFVVVVV");
    // A call whose result is still awaited is kept with everything behind it.
    let talk = Talk::new("").user(8_500).calls(&[("a", "read")]).result("a", 10).says(1).user(1);
    let plan = lis(&[("keep_recent", "1")]);
    assert_eq!(after(talk, &plan, &Scribe::taking(0.1), 4, ledger), "FVVV");
}

/// Seed 002: older messages are summarized while the conversation continues uninterrupted
#[test]
fn the_conversation_goes_on_while_it_is_summarised() {
    let (plan, scribe) = (lis(&[]), Scribe::taking(100.0));
    // A user comes after 75 seconds and is answered from the old context.
    assert_eq!(after(longer(), &plan, &scribe, 8, ledger), "VVVVVVVV");
    let rows = rows(longer().user(1).says(1).end(), &plan, &scribe);
    assert_eq!(rows.compactions.len(), 1, "one at a time");
    let row = &rows.compactions[0];
    assert!(row.background && row.error.is_none());
    // It begins behind the third request and takes effect before the fifth.
    assert_eq!((row.begun, row.request, row.latency_ms), (3, 4, Some(100_000.0)));
}

/// A session file: a user's message of 8,500 tokens is answered by a call after so many seconds,
/// and from then on a request is sent every two seconds, half a second after the response before.
fn every_two_seconds(answered: f64) -> Session {
    let mut seconds = vec![0.0, answered];
    let mut talk = Talk::new("").user(8_500);
    for turn in 0..10 {
        talk = talk.uses("read", &[10]);
        seconds.extend([0.5, 2.0].map(|more| answered + 2.0 * f64::from(turn) + more));
    }
    let at = |second: &f64| jiff::Timestamp::from_millisecond((second * 1e3) as i64).unwrap();
    let messages = talk.says(1).end().messages;
    let messages = messages.into_iter().zip(&seconds);
    let messages: Vec<Json> = messages
        .map(|(message, second)| {
            json!(recap_core::model::Message { at: Some(at(second)), ..message })
        })
        .collect();
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("talk.jsonl");
    let line = json!({"id": "talk", "system": [], "tools": [], "messages": messages});
    std::fs::write(&file, format!("{line}\n")).unwrap();
    let dataset = recap_formats::load(&file, &recap_formats::LoadOptions::default()).unwrap();
    dataset.sessions.into_iter().next().unwrap()
}

/// Seed 002: rolling *async* compaction, from the response that triggers it: "Extract TokenUsage
/// from response metadata … Compaction threshold → fire async CompactionService.CompactAsync"
#[test]
fn compactor_of_eleven_seconds_spans_six_requests_however_slow_the_response() {
    for answered in [1.5, 6.0, 7.0, 12.0, 400.0] {
        let session = every_two_seconds(answered);
        let scribe = Scribe::taking(11.5);
        let rows = rows(session.clone(), &lis(&[]), &scribe);
        let row = &rows.compactions[0];
        // Requests 1 to 6 are sent 0.5, 2.5 … 10.5 seconds after the response to request 0.
        assert_eq!((row.begun, row.request), (1, 7), "answered after {answered} s");
        let large = rows.requests.iter().map(|request| request.tokens_sent >= 8_500);
        assert_eq!(large.collect::<Vec<_>>(), [[true; 7].as_slice(), &[false; 4]].concat());
    }
    // Which is also the time of closing that the session file has.
    let (prepared, plan, scribe) =
        (prepared(every_two_seconds(6.0)), lis(&[]), Scribe::taking(11.5));
    let (_, files) = end(&prepared, &plan, &scribe, false);
    assert_eq!(files["sessions/1.json"]["closed_at"], "1970-01-01T00:00:06Z");
}

/// Seed 002: messages after the split are atomically reassigned to the new session
#[test]
fn messages_arriving_meanwhile_join_new_session_at_once() {
    let scribe = Scribe::taking(100.0);
    after(longer().user(1).says(1), &lis(&[]), &scribe, 10, |session| {
        assert_eq!(ledger(session), "FFFFFVVVVV");
        let files = files(session);
        assert_eq!(files["sessions/1.json"]["message_ids"], ids(0, 5));
        assert_eq!(files["sessions/2.json"]["message_ids"], ids(5, 10));
    });
}

/// Seed 002: a failed compaction (ours)
#[test]
fn failed_compaction_leaves_context_and_is_retried() {
    let (plan, scribe) = (lis(&[]), Scribe::taking(1.0).failing_at(&[0]));
    assert_eq!(after(longer(), &plan, &scribe, 8, ledger), "VVVVVVVV");
    let (plan, scribe) = (lis(&[]), Scribe::taking(1.0).failing_at(&[0]));
    let rows = rows(longer().user(1).says(1).end(), &plan, &scribe);
    let fallbacks: Vec<_> = rows.compactions.iter().map(|row| row.fallback.as_deref()).collect();
    let why = "none: the task is too large for the compactor: over the window";
    assert_eq!(fallbacks, [Some(why), None]);
    assert_eq!(rows.compactions[0].tokens_before, rows.compactions[0].tokens_after);
    assert_eq!(rows.compactions[1].messages_folded, 5);
}

/// Seed 002: sessions are stored (ours: at any message, in flight too)
#[test]
fn compaction_in_flight_lands_in_a_copy_too() {
    let talk = longer().asks("/new").says(1).user(1).says(1).end();
    for seconds in [1.0, 100.0, 200.0] {
        let (prepared, plan, scribe) = (prepared(talk.clone()), lis(&[]), Scribe::taking(seconds));
        let straight = end(&prepared, &plan, &scribe, false);
        let scribe = Scribe::taking(seconds);
        assert_eq!(end(&prepared, &plan, &scribe, true), straight, "{seconds}");
    }
}

/// What is sent and stored in the end, with a copy before each message or not.
fn end(
    prepared: &PreparedSession,
    plan: &Plan,
    scribe: &Scribe,
    copied: bool,
) -> (Vec<(Role, String)>, BTreeMap<String, Json>) {
    block_on(async {
        let mut session = ReplaySession::open(prepared, plan, scribe).unwrap();
        while session.step().await.unwrap() {
            if copied {
                session = session.copied().unwrap();
            }
        }
        (sent(&session), files(&session))
    })
}

/// Seed 002: two stages, applied in order: tool pruning first
#[test]
fn pruning_comes_first_and_compaction_sees_one_liners() {
    // 8,500 tokens of output are pruned behind message 3, when the context is
    // reported at 8,500 and more: what is left is far below 8,000.
    let talk = Talk::new("").user(1).calls(&[("a", "read")]).result("a", 8_500).says(1);
    let scribe = Scribe::taking(1.0);
    let shown = after(talk.user(1).says(1), &lis(&[]), &scribe, 6, ledger);
    assert_eq!(shown, "VVEVVV");
    // Then a user says so much that it is compacted after all.
    let talk = Talk::new("").user(1).calls(&[("a", "read")]).result("a", 8_500).says(1);
    let talk = talk.user(8_500).says(1).user(1);
    assert_eq!(after(talk, &lis(&[]), &scribe, 7, ledger), "FFFFFVV");
    assert_eq!(scribe.asked()[0][2], "read");
}

/// Seed 002: Summarize: include full output in the compaction prompt
#[test]
fn compactor_sees_original_of_tool_to_be_summarised() {
    let talk = Talk::new("").user(1).calls(&[("a", "read")]).result("a", 4_500);
    let talk = talk.calls(&[("b", "book")]).result("b", 4_000).says(1).user(8_500).says(1).user(1);
    let scribe = Scribe::taking(1.0);
    let plan = lis(&[("1.tools", "{ book = \"summarize\" }")]);
    after(talk, &plan, &scribe, 9, |session| assert_eq!(ledger(session), "FFFFFFFVV"));
    let asked = &scribe.asked()[0];
    assert_eq!((asked[2].as_str(), asked[4].clone()), ("read", even(4_000)));
}

/// Seed 002: pruning runs once, stays stable
#[test]
fn prune_boundary_stays_in_place_across_compaction() {
    // Behind message 5, the older 8,000 of 8,500 tokens of output are pruned;
    // behind message 7, all but message 0 is kept.
    let talk = Talk::new("").user(100).uses("read", &[8_000, 500]).says(1).user(8_500).says(1);
    let plan = lis(&[("keep_recent", "9100"), ("1.protect", "500")]);
    let scribe = Scribe::taking(1.0);
    after(talk.user(1), &plan, &scribe, 9, |session| {
        assert_eq!(ledger(session), "FVEVVVVVV");
        assert_eq!(session.prune_boundary(), Some(EntryId::message(2)));
    });
}

/// Seed 002: prompt caching, 4 breakpoints
#[test]
fn four_breakpoints_are_system_summary_prune_boundary_end() {
    let strategy = builtin("lis", &[]).unwrap().unwrap();
    let expected =
        [Breakpoint::Preamble, Breakpoint::Summary, Breakpoint::PruneBoundary, Breakpoint::Newest];
    assert_eq!(strategy.breakpoints, expected);
}

/// An agent whose provider takes breakpoints.
fn claude() -> Arc<[BillingModel]> {
    let prices = PriceList::bundled().find("claude-sonnet-5-5").unwrap().clone();
    let model = prices.id.clone();
    let prices = Some(Arc::new(prices));
    Arc::new([BillingModel { billed_as: model.clone(), model, prices, others: Vec::new() }])
}

/// Seed 002: 1. after system prompt, 2. after session summary, 3. at tool prune boundary, 4. the
/// automatic one at the end
#[test]
fn requests_have_their_four_breakpoints_after_expected_blocks() {
    // As below: message 0 is folded, the result in message 2 is pruned.
    let talk = Talk::new("sys").user(100).uses("read", &[8_000, 500]).says(1).user(8_500).says(1);
    let mut plan = lis(&[("keep_recent", "9100"), ("1.protect", "500")]);
    plan.billing_models = claude();
    after(talk.user(1).says(1), &plan, &Scribe::taking(1.0), 10, |session| {
        assert_eq!(ledger(session), "FVEVVVVVVV");
        // Block 0 is the system prompt, 1 the summary, and from 2 on messages 1 to 8.
        let marked: Vec<usize> = session.prompt().marks().iter().map(|(block, _)| *block).collect();
        assert_eq!((marked, session.prompt().len()), (vec![0, 1, 3, 9], 10));
    });
}

/// Seed 002: notification format: full compaction
#[test]
fn a_compaction_is_told_in_the_seeds_words() {
    let rows = rows(longer().end(), &lis(&[]), &Scribe::taking(1.0));
    // 1 token of `sys`; the summary's marker and words, 11; message 5.
    let expected = "⚙️ Compacted (9k → 111)\n  🔧 System: 1 tokens\n  📝 Summary: 10 tokens\n  \
                    💬 Kept context: 100 tokens\n  🛠️ Tools: 0 tokens (0 defs + 0 calls)\n  \
                    📊 Total: 111/10k (1%)";
    assert_eq!(rows.notices, [expected]);
}

/// Seed 002: notification format: tool pruning
#[test]
fn pruning_is_told_in_the_seeds_words() {
    let talk = Talk::new("sys").user(98).uses("read", &[8_000, 2_000]).says(1).end();
    let plan = unscaled(real("lis", 100_000, &[]));
    let rows = rows(talk, &plan, &Scribe::default());
    let calls = 2 * recap_core::tokens::Counter::default().count(&call());
    // 10,000 tokens of output become 2,000 and one word.
    let context = 1 + 98 + calls + 1 + 2_000 + 1;
    assert_eq!(context / 100, 21, "{context}");
    let expected =
        "🔧 Tool outputs pruned (10k → 2k, -80%)\n  📊 Context: 2.1k/100k (2%)".to_owned();
    assert_eq!(rows.notices, [expected]);
}

/// A call as it is sent.
fn call() -> String {
    Talk::new("").calls(&[("c1", "read")]).end().messages[0].sent()
}

/// Seed 002: LIS_COMPACTION_NOTIFY
#[test]
fn notices_can_be_switched_off() {
    let off = [("1.notify", "false"), ("2.notify", "false")];
    let talk = long().uses("read", &[8_500]).says(1).user(1).says(1).end();
    let scribe = Scribe::taking(1.0);
    assert_eq!(rows(talk.clone(), &lis(&[]), &scribe).notices.len(), 2);
    assert_eq!(rows(talk, &lis(&off), &Scribe::taking(1.0)).notices, [""; 0]);
}

/// Seed 002: /new or /clear: finalize (async summary), new session; messages stay with their
/// original session
#[test]
fn new_and_clear_leave_messages_to_old_session() {
    for command in ["/new", "/clear"] {
        let talk = Talk::new("").user(10).says(20).asks(command).says(1).user(1).says(1);
        let scribe = Scribe::taking(60.0);
        // The summary is still being written when the next request is sent.
        let at_once = after(talk, &lis(&[]), &scribe, 4, |session| {
            let files = files(session);
            assert_eq!(files["sessions/1.json"]["message_ids"], ids(0, 2));
            assert_eq!(files["sessions/2.json"]["message_ids"], ids(2, 4));
            texts(session)
        });
        assert_eq!(at_once, [command.to_owned(), even(1)]);
        let talk = Talk::new("").user(10).says(20).asks(command).says(1).user(1).says(1);
        after(talk, &lis(&[]), &scribe, 6, |session| {
            let expected = [format!("{PARENT} 1"), command.to_owned(), even(1), even(1), even(1)];
            assert_eq!(texts(session), expected);
            assert_eq!(ledger(session), "FFVVVV");
            assert_eq!(files(session)["sessions/1.json"]["summary"], "summary 1");
        });
        assert_eq!(scribe.asked()[1], [even(10), even(20)]);
    }
}

/// Seed 002: a compaction that /new overtakes (ours)
#[test]
fn compaction_of_session_closed_meanwhile_has_no_effect() {
    // It begins behind message 5 and takes 200 seconds; /new comes after 75.
    let talk = || long().asks("/new").says(1).user(1).says(1).user(1).says(1);
    let scribe = Scribe::taking(200.0);
    after(talk(), &lis(&[]), &scribe, 12, |session| {
        let files = files(session);
        assert_eq!(files["chat.json"], json!({"current_session_id": 2}));
        assert_eq!(files["sessions/1.json"]["message_ids"], ids(0, 6));
        assert_eq!(files["sessions/1.json"]["summary"], Json::Null);
    });
    let rows = rows(talk().user(1).says(1).end(), &lis(&[]), &Scribe::taking(200.0));
    let errors: Vec<_> = rows.compactions.iter().map(|row| row.error.as_deref()).collect();
    let dropped = Some("another session was opened before it was done");
    // /new itself, then the one that it overtook, then the summary of /new.
    assert_eq!(errors, [None, dropped, None]);
}

/// Seed 002: the parent session's summary is injected, and no other (one that comes too late)
#[test]
fn late_summary_of_new_leaves_with_its_session() {
    // /new begins the summary of session 1, which takes four seconds. Within them
    // a result of 8,500 tokens sets off the compaction of session 2.
    let talk = Talk::new("").user(10).says(20).asks("/new").uses("read", &[8_500]).says(1);
    let plan = lis(&[("keep_recent", "1"), ("1.when", "{ tool_tokens = 20_000 }")]);
    after(talk.user(1).says(1), &plan, &Scribe::taking(4.0), 8, |session| {
        let files = files(session);
        assert_eq!(files["chat.json"], json!({"current_session_id": 3}));
        assert_eq!(files["sessions/1.json"]["summary"], "summary 0");
        let summaries = texts(session);
        let summaries: Vec<&String> =
            summaries.iter().filter(|text| text.starts_with(PARENT)).collect();
        assert_eq!(summaries, [&format!("{PARENT} 1")]);
    });
}

/// Seed 002: /resume: reopen a previous session, full context
#[test]
fn resume_within_70_percent_of_budget_reopens_fully() {
    let talk = Talk::new("").user(10).says(20).asks("/new").says(30).asks("/resume").says(40);
    after(talk, &lis(&[]), &Scribe::taking(1.0), 6, |session| {
        // System prompt, (no parent,) the session's own summary, its messages,
        // and the one that asked for it.
        let expected = [format!("{OWN} 0"), even(10), even(20), "/resume".to_owned(), "40".into()];
        assert_eq!(texts(session), expected);
        assert_eq!(ledger(session), "VV..VV");
        let files = files(session);
        assert_eq!(files["chat.json"], json!({"current_session_id": 1}));
        assert_eq!(files["sessions/1.json"]["message_ids"], json!(["m0", "m1", "m4", "m5"]));
        assert_eq!(files["sessions/2.json"]["message_ids"], ids(2, 4));
    });
}

/// Seed 002: system prompt → parent summary → session summary → messages
#[test]
fn reopened_session_has_parent_summary_before_own() {
    let talk = Talk::new("").user(10).says(20).asks("/new").says(30).asks("/new").says(40);
    let talk = talk.asks("/resume 2").says(50).user(1).says(1);
    after(talk, &lis(&[]), &Scribe::taking(1.0), 10, |session| {
        let expected = [
            format!("{PARENT} 0"),
            format!("{OWN} 1"),
            "/new".to_owned(),
            "30".to_owned(),
            "/resume 2".to_owned(),
            "50".to_owned(),
            even(1),
            even(1),
        ];
        let shown = texts(session);
        assert_eq!(shown[..5], expected[..5]);
        assert_eq!(shown.len(), expected.len());
        assert_eq!(ledger(session), "FFVV..VVVV");
    });
}

/// Seed 002: or a new session with the target's summary injected (fallback)
#[test]
fn resume_of_larger_session_opens_one_with_summary() {
    // Session 1 has 7,001 tokens, 70 % of the budget are 7,000.
    let talk = Talk::new("").user(7_000).says(1).asks("/new").says(30).asks("/resume 1").says(40);
    after(talk, &lis(&[]), &Scribe::taking(1.0), 6, |session| {
        assert_eq!(texts(session)[..2], [format!("{PARENT} 0"), "/resume 1".to_owned()]);
        assert_eq!(ledger(session), "FF..VV");
        let files = files(session);
        assert_eq!(files["chat.json"], json!({"current_session_id": 3}));
        assert_eq!(files["sessions/3.json"]["parent_session_id"], 1);
    });
    let talk = Talk::new("").user(6_999).says(1).asks("/new").says(30).asks("/resume 1").says(40);
    assert_eq!(after(talk, &lis(&[]), &Scribe::taking(1.0), 6, ledger), "VV..VV");
}

/// Seed 002: an unknown session (ours)
#[test]
fn resume_of_unknown_session_changes_nothing() {
    for words in ["/resume", "/resume 7", "/resume please"] {
        let talk = Talk::new("").user(10).says(20).asks(words).says(1);
        assert_eq!(after(talk, &lis(&[]), &Scribe::taking(1.0), 4, ledger), "VVVV", "{words}");
    }
}

/// Seed 002: each session has its own summary (of a reopened one: anew)
#[test]
fn reopened_session_is_summarised_anew_without_old_summary() {
    let talk = Talk::new("").user(10).says(20).asks("/new").says(30).asks("/resume").says(40);
    let scribe = Scribe::taking(1.0);
    let (talk, plan) = (talk.asks("/compact").says(1).user(1), lis(&[("4.keep_recent", "1")]));
    after(talk, &plan, &scribe, 9, |session| {
        let expected = [format!("{PARENT} 2"), "/compact".to_owned(), even(1), even(1)];
        assert_eq!(texts(session), expected);
        assert_eq!(ledger(session), "FF..FFVVV");
        assert_eq!(files(session)["sessions/1.json"]["summary"], "summary 2");
    });
    // The messages of both its stretches, and no summary.
    let asked = scribe.asked().remove(2);
    assert_eq!(asked, [even(10), even(20), "/resume".to_owned(), even(40)]);
}

/// Seed 002: UPDATE message SET session_id = newSession.Id WHERE session_id = oldSession.Id AND
/// id > splitMessageId
#[test]
fn compaction_before_reopened_stretch_moves_only_own_messages() {
    let talk = Talk::new("").user(10).says(400).asks("/new").says(30).asks("/resume 1").says(40);
    let scribe = Scribe::taking(1.0);
    // Message 1 and what came after /resume fit the 500 tokens; message 0 does not.
    let (talk, plan) = (talk.asks("/compact").says(1).user(1), lis(&[("4.keep_recent", "450")]));
    after(talk, &plan, &scribe, 9, |session| {
        let files = files(session);
        let of = |number: u32| files[&format!("sessions/{number}.json")]["message_ids"].clone();
        assert_eq!(of(1), ids(0, 1));
        assert_eq!(of(2), ids(2, 4));
        assert_eq!(of(3), json!(["m1", "m4", "m5", "m6", "m7", "m8"]));
    });
    assert_eq!(scribe.asked()[2], [even(10)]);
}

/// A turn of the user: words, the size of a tool's output (0: no call), and how
/// long the response is.
type Turn = (String, usize, usize);

fn turn() -> impl Strategy<Value = Turn> {
    let words = prop_oneof![
        3 => Just("Go on.".to_owned()),
        1 => Just("/new".to_owned()),
        1 => Just("/clear".to_owned()),
        2 => (1..6u32).prop_map(|number| format!("/resume {number}")),
        1 => Just("/resume".to_owned()),
        3 => Just("/compact".to_owned()),
        1 => Just("/prune".to_owned()),
    ];
    (words, prop_oneof![2 => Just(0), 1 => 1..11usize], 0..4usize)
}

/// What the session files must not mix up: every text but a command's occurs once.
fn own_texts(turns: &[Turn]) -> Talk {
    let talk = |talk: Talk, (at, (words, output, size)): (usize, &Turn)| {
        let words = if words.starts_with('/') { words.clone() } else { format!("{at}: {words}") };
        let talk = talk.asks(&words);
        let talk = if *output > 0 { talk.uses("read", &[output * 24 + 2 * at]) } else { talk };
        talk.says(size * 24 + 2 * at + 1)
    };
    turns.iter().enumerate().fold(Talk::new(""), talk)
}

/// The numbers of a session's messages, as its file lists them: each later than
/// the one before, so none twice.
fn listed(file: &Json) -> Vec<u32> {
    let ids = file["message_ids"].as_array().unwrap().iter();
    let numbers: Vec<u32> = ids.map(|id| id.as_str().unwrap()[1..].parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{file:#?}");
    numbers
}

/// The number of the call that wrote a summary.
fn call_of(summary: &str) -> usize {
    summary["summary ".len()..].parse().unwrap()
}

/// Replays the turns, and looks after every message.
fn sessions_stay_apart(turns: &[Turn], seconds: u32, keep: &str, budget: u64) {
    let prepared = prepared(own_texts(turns).end());
    // A hundredth of the seed's budget and less, and a tenth of its thresholds.
    let plan = [
        ("keep_recent", keep),
        ("4.keep_recent", keep),
        ("1.when", "{ tool_tokens = 800 }"),
        ("1.protect", "200"),
        ("3.protect", "200"),
    ];
    let plan = unscaled(real("lis", budget, &plan));
    let scribe = Scribe::taking(f64::from(seconds));
    let session = &prepared.recording.session;
    let texts: Vec<String> = session.messages.iter().map(|message| message.sent()).collect();
    block_on(async {
        let mut replay = ReplaySession::open(&prepared, &plan, &scribe).unwrap();
        let mut more = true;
        while more {
            more = replay.step().await.unwrap();
            let files = files(&replay);
            let of = |id: &Json| &files[&format!("sessions/{id}.json")];
            let current = of(&files["chat.json"]["current_session_id"]);
            let sessions = || files.iter().filter(|(path, _)| *path != "chat.json");
            // Each message has one session.
            let mut all: Vec<u32> = sessions().flat_map(|(_, file)| listed(file)).collect();
            all.sort_unstable();
            let seen = replay.context().seen_count();
            assert_eq!(all, (0..seen).collect::<Vec<_>>(), "{files:#?}");
            // A summary was written from its session's messages alone; pruned
            // output is the name of its tool.
            let asked = scribe.asked();
            let foreign = |summary: &str, file: &Json| -> Vec<String> {
                let own = listed(file);
                let own: BTreeSet<&str> =
                    own.iter().map(|at| texts[*at as usize].as_str()).collect();
                let actual = asked[call_of(summary)].iter();
                actual
                    .filter(|text| *text != "read" && !own.contains(text.as_str()))
                    .cloned()
                    .collect()
            };
            for (path, file) in sessions() {
                let Some(summary) = file["summary"].as_str() else { continue };
                assert_eq!(foreign(summary, file), [""; 0], "{path}: {files:#?}");
            }
            // What is sent is the current session's own, and the summaries that
            // stand before it are of its own messages and of its parent's.
            let context = replay.context();
            let own = listed(current);
            for id in context.visible() {
                let text = context.entry(id).unwrap().text.to_owned();
                let Some(at) = id.index() else {
                    let parent = || of(&current["parent_session_id"]);
                    let (file, rest) = match text.strip_prefix(PARENT) {
                        Some(rest) => (parent(), rest),
                        None => (current, text.strip_prefix(OWN).unwrap()),
                    };
                    let summary = format!("summary{rest}");
                    assert_eq!(foreign(&summary, file), [""; 0], "{text}: {files:#?}");
                    continue;
                };
                assert!(own.contains(&at), "m{at} is sent: {files:#?}");
            }
        }
    });
}

proptest! {
    // The same sequences at every run: ten thousand before a release, the first thousand elsewhere.
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("RECAP_ALL_SEQUENCES").is_some() { 10_000 } else { 1_000 },
        max_shrink_iters: 400,
        rng_seed: RngSeed::Fixed(23),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Seed 002: each message has a NOT NULL session_id; messages are loaded WHERE
    /// m.SessionId == session.Id
    #[test]
    fn each_message_has_one_session_that_sends_it(
        turns in vec(turn(), 1..12),
        seconds in 1..100u32,
        keep in prop::sample::select(vec!["1", "20", "90"]),
        budget in prop::sample::select(vec![250, 1_000]),
    ) {
        sessions_stay_apart(&turns, seconds, keep, budget);
    }
}

/// Seed 002: /resume → reopen a previous session (ours: without a number, the one closed last)
#[test]
fn resume_alone_reopens_last_closed_session_not_newest() {
    // Sessions 1 (messages 0, 1), 2 (2, 3) and 3 (4, 5); then 1 again (6, 7),
    // which /new closes after 3.
    let talk = Talk::new("").user(10).says(20).asks("/new").says(30).asks("/new").says(40);
    let talk = talk.asks("/resume 1").says(50).asks("/new").says(60).asks("/resume").says(70);
    after(talk, &lis(&[]), &Scribe::taking(1.0), 12, |session| {
        assert_eq!(files(session)["chat.json"], json!({"current_session_id": 1}));
        assert_eq!(ledger(session), "VV....VV..VV");
    });
}

/// Seed 002: update session stats + message columns; token counts of each session
#[test]
fn session_keeps_message_response_and_summary_token_counts() {
    after(longer(), &lis(&[]), &Scribe::taking(1.0), 8, |session| {
        let files = files(session);
        let of = |number: u32, key: &str| files[&format!("sessions/{number}.json")][key].clone();
        // Messages 0 to 4: 1,000, 3,000, 1,000, 3,000, 1,000, two of them responses.
        assert_eq!((of(1, "message_tokens"), of(1, "output_tokens")), (json!(9_000), json!(6_000)));
        // Messages 5 to 7: 100, 10, 20, the first and the last of them responses.
        assert_eq!((of(2, "message_tokens"), of(2, "output_tokens")), (json!(130), json!(120)));
        // The two words `summary 0` are three tokens: the space is one of its own.
        assert_eq!((of(1, "summary_tokens"), of(2, "summary_tokens")), (json!(3), Json::Null));
    });
}

/// Seed 002: token counts come exclusively from provider responses; a summary that lands changes
/// what is left of the last one
#[test]
fn reported_size_is_adjusted_when_compaction_lands() {
    let summary = recap_core::tokens::Counter::default().count(&format!("{PARENT} 0"));
    // Requests have 1,001, 5,001 and 9,001 tokens. The summary of messages 0 to
    // 4, 9,000 tokens, lands before the fourth request, or before the fifth.
    for (seconds, at, reported) in [(1.0, 3, 9_001), (100.0, 4, 9_111)] {
        let rows = rows(longer().user(1).says(1).end(), &lis(&[]), &Scribe::taking(seconds));
        let expected = reported - 9_000 + summary;
        assert_eq!(rows.requests[at].estimated, Some(expected), "{seconds} seconds");
        assert_eq!(rows.compactions.len(), 1, "and sets off no other");
    }
}

/// Seed 002: 4 breakpoints: what stands before a breakpoint is read from the cache when something
/// behind it changes
#[test]
fn each_breakpoint_is_a_billed_cache_read_prefix() {
    // /compact folds message 0 and keeps the call 3 with its result, which is
    // pruned first; the results of messages 10 and 14 are pruned later.
    let talk = Talk::new(&even(2_000)).user(2_000).says(1).user(1).uses("read", &[7_000]).says(1);
    let talk = talk.asks("/compact").says(1).user(1).uses("read", &[2_000]).says(1);
    let talk = talk.user(1).uses("read", &[7_500]).says(1).user(1).says(1).user(1).says(1).end();
    let read = |breakpoints: &str| {
        let overrides = [("cache_breakpoints", breakpoints), ("4.keep_recent", "7100")];
        let mut plan = unscaled(real("lis", 100_000, &overrides));
        plan.billing_models = claude();
        let rows = rows(talk.clone(), &plan, &Scribe::taking(1.0));
        let read = rows.bills[0].requests.iter().map(|r| r.as_ref().unwrap().prompt.billed.read);
        let read: Vec<u64> = read.collect();
        // Behind the compaction, behind the two runs of pruning, and in the end.
        [read[4], read[6], read[8], read[9]]
    };
    let counter = recap_core::tokens::Counter::default();
    let summary = counter.count(&format!("{PARENT} 0"));
    let call = |at: u32| {
        let message = &talk.messages[at as usize];
        counter.count(&message.sent())
    };
    // In the end: system prompt, summary, the calls 3, 9 and 13 with one word for
    // each result, messages 1, 2, 5 to 8, 11, 12, 15 and 16, of which 6 is /compact.
    let command = counter.count("/compact");
    let all = 2_000 + summary + call(3) + call(9) + call(13) + 3 + 9 + command;
    let boundary = 2_000 + summary + 2 + call(3) + 1;
    // The second boundary is the result of message 14.
    let second = all - 2;
    let with = [2_000, 2_000 + summary, boundary, all];
    assert_eq!(read(r#"["preamble", "summary", "prune-boundary", "newest"]"#), with);
    let without = |breakpoints| read(breakpoints);
    assert_eq!(without(r#"["summary", "prune-boundary", "newest"]"#), [0, with[1], with[2], all]);
    assert_eq!(
        without(r#"["preamble", "prune-boundary", "newest"]"#),
        [2_000, 2_000, with[2], all]
    );
    assert_eq!(
        without(r#"["preamble", "summary", "newest"]"#),
        [2_000, with[1], 2_000 + summary, all]
    );
    assert_eq!(
        without(r#"["preamble", "summary", "prune-boundary"]"#),
        [2_000, with[1], with[2], second]
    );
    // ANTHROPIC_CACHE_ENABLED = false.
    assert_eq!(without("[]"), [0; 4]);
}

/// Seed 002: /compact, /prune; /command [args]
#[test]
fn compact_and_prune_work_on_request_below_thresholds() {
    let talk = Talk::new("").user(10).says(20).asks("/compact now").says(1).user(1);
    let plan = lis(&[("4.keep_recent", "1")]);
    assert_eq!(after(talk, &plan, &Scribe::taking(1.0), 5, ledger), "FFVVV");
    let talk = Talk::new("").user(1).uses("read", &[2_500, 1_000]).says(1).asks("/prune").says(1);
    assert_eq!(after(talk, &lis(&[]), &Scribe::default(), 8, ledger), "VVEVVVVV");
}

/// Seed 002: /status, /abort; no AI tokens wasted on commands
#[test]
fn commands_cost_nothing_status_and_abort_change_nothing() {
    let talk = Talk::new("").user(10).says(20).asks("/status").says(1).asks("/abort").says(1);
    let rows = rows(talk.end(), &lis(&[]), &Scribe::default());
    assert!(rows.compactions.is_empty() && rows.loss.is_empty());
    // What commands do is done by the harness; only a summary asks a model.
    let talk = Talk::new("").user(10).uses("read", &[2_500, 1_000]).says(1).asks("/prune");
    let scribe = Scribe::default();
    let prepared = prepared(talk.asks("/new").end());
    block_on(replay(&prepared, &lis(&[]), &scribe));
    assert_eq!(scribe.asked().len(), 1);
}

/// Seed 002: queued messages (as recorded)
#[test]
fn message_during_tool_loop_is_sent_where_recorded() {
    // A call runs; the user says something before its result.
    let talk = Talk::new("").user(10).calls(&[("a", "read")]).user(5).result("a", 10).says(1);
    let shown = after(talk.user(1).says(1), &lis(&[]), &Scribe::default(), 7, ledger);
    assert_eq!(shown, "VVVVVVV");
    // A command that comes there keeps the call whose result is awaited.
    let talk = Talk::new("").user(10).calls(&[("a", "read")]).asks("/new").result("a", 10).says(1);
    after(talk.user(1).says(1), &lis(&[]), &Scribe::taking(1.0), 7, |session| {
        assert_eq!(ledger(session), "FVVVVVV");
        recap_strategy::pairs_are_whole(session.context()).unwrap();
    });
}

/// Seed 002: summary kept for future semantic search
#[test]
fn closed_sessions_can_be_searched_by_summary() {
    let strategy = builtin("lis", &[]).unwrap().unwrap();
    assert_eq!(strategy.recovery.map(|spec| spec.name), Some("sessions"));
    let question = |id: &str, asked_at| Question {
        id: id.into(),
        session: "talk".into(),
        asked_at,
        kind: QuestionKind::Fact,
        question: "What?".into(),
        expect: Expectation::AnyOf(vec!["this".into()]),
        evidence: Vec::new(),
        stale: Vec::new(),
    };
    // Asked before the third request, and in the end behind two compactions.
    let prepared = prepared(twice().user(1).says(1).end());
    let prepared = prepared.with_questions(vec![question("a", 4), question("b", 15)]);
    let replayed = block_on(replay(&prepared, &lis(&[]), &Scribe::taking(1.0)));
    let closed = |at: usize| {
        let sessions = replayed.asked[at].sessions.iter();
        sessions.map(|s| (s.number, s.summary.clone(), s.spans.clone())).collect::<Vec<_>>()
    };
    assert_eq!(closed(0), []);
    let first = (1, "summary 0".to_owned(), vec![(0, 5)]);
    let second = (2, "summary 1".to_owned(), vec![(5, 12)]);
    assert_eq!(closed(1), [first, second]);
}

/// Seed 002: compaction client: separate provider
#[test]
fn compactor_may_be_another_model_asked_separately() {
    let scribe = Arc::new(Scribe::taking(1.0));
    let rows = rows(longer().end(), &lis(&[]), &scribe);
    let row = &rows.compactions[0];
    assert_eq!((row.model_calls, row.input_tokens, row.output_tokens), (1, 10, 2));
    let tasks = scribe.tasks.lock().unwrap();
    let Task { max_tokens, asked: Asked::Continuation { headings, live }, .. } = &tasks[0] else {
        panic!("a text is asked for");
    };
    assert_eq!((headings.len(), *max_tokens, live), (4, 3_200, &None));
}
