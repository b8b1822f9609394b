//! Seed 001 (GenCode) as a whole: its three layers one behind the other, its
//! decision chart to the letter, its session file.
//! Each test names its sentence.
//!
//! Where strategies depart from it:
//!
//! - `gencode`: layer 2 follows where layer 1 was not enough, as the layer table has it; in the
//!   chart (`gencode-as-written`) a context that is pruned is never compacted, so it overflows
//!   once tool output is used up.
//! - `prune`: runs above 20k as in the layer table; `prune-chart` follows the chart. At exactly
//!   20k nothing happens (table and chart say ">"; step 1 of the algorithm would prune).
//! - `prune`, `prune-chart`, `continuation`: reported usage is simulated from what the strategy
//!   itself sent. Cache writes count as input: the design's sum leaves them out, and its
//!   trigger would depend on the provider's cache.
//! - `continuation`: all summaries stay, and the last messages are more than ten where the first
//!   of them would be a result without its call; to the letter (`continuation-as-written`) the
//!   first summary is lost at the second compaction, and ten messages stay.
//! - `gencode`, `prune`, `continuation`: at a share of a session, and at cuts, all numbers scale,
//!   since the design's are meant for windows of models; there none does (`scales`).
//! - `continuation`: where the live conversation does not fit the model's window with the call and
//!   its reply, what is folded is sent alone; where that does not fit either, no call is made.

use crate::common::talk::{Talk, at_last, even, last, real, unscaled};
use crate::common::{block_on, message, offline, prepared};
use recap_core::model::{Block, CellOutcome, CellRows, Role, Session};
use recap_replay::{Plan, ReplaySession, replay};
use recap_strategy::{builtin, compression_stats};
use serde_json::Value as Json;

/// Claude Sonnet in the seed's table: 191,808 usable tokens.
const NATIVE: u64 = 200_000;

/// Five results of 40,000 tokens, and some words behind them.
fn reads() -> Session {
    Talk::new("").user(1).uses("read", &[40_000; 5]).close()
}

/// So many turns of 10,000 tokens each, without a tool.
fn chat(turns: usize) -> Talk {
    (0..turns / 2).fold(Talk::new(""), |talk, _| talk.user(10_000).says(10_000))
}

fn rows(session: &Session, plan: &Plan) -> CellRows {
    let compactor = offline();
    match block_on(replay(&prepared(session.clone()), plan, &compactor)).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

fn stages(rows: &CellRows) -> Vec<&str> {
    rows.compactions.iter().map(|compaction| &*compaction.mechanism).collect()
}

fn overflows(rows: &CellRows) -> usize {
    rows.requests.iter().filter(|request| request.overflow).count()
}

/// The session file at the last request.
fn saved(session: &Session, plan: &Plan) -> Json {
    at_last(session, plan, |replay| {
        let [file] = &replay.stored()[..] else { panic!("one session, one file") };
        assert_eq!(file.path, "sessions/talk.json");
        serde_json::from_slice(&file.content).unwrap()
    })
}

/// Seed 001: returns none when under limit
#[test]
fn under_usable_the_strategy_is_none() {
    let four = Talk::new("").user(1).uses("read", &[40_000; 4]).close();
    for strategy in ["gencode", "gencode-as-written"] {
        assert_eq!(last(&four, &real(strategy, NATIVE, &[])), "V".repeat(11), "{strategy}");
    }
}

/// Seed 001: "Free pruning before expensive summarization"
#[test]
fn over_usable_sufficient_pruning_avoids_summary() {
    let rows = rows(&reads(), &real("gencode", NATIVE, &[]));
    assert_eq!(stages(&rows), ["prune"]);
    // The newest 40,000 are protected, the four before them are cleared.
    assert_eq!(last(&reads(), &real("gencode", NATIVE, &[])), "VVEVEVEVEVVVV");
}

/// Seed 001: layer 2: tokens > usable context
#[test]
fn what_pruning_cannot_bring_under_usable_is_compacted() {
    let talk = chat(20).close();
    let rows = rows(&talk, &real("gencode", NATIVE, &[]));
    assert_eq!(stages(&rows), ["continuation"], "there is no tool output to prune");
    assert_eq!(overflows(&rows), 0);
}

/// Seed 001: chart: prune or compact, never both
#[test]
fn chart_never_compacts_over_20k_and_overflows() {
    let talk = chat(24).close();
    let rows = rows(&talk, &real("gencode-as-written", NATIVE, &[]));
    assert_eq!(stages(&rows), [""; 0], "over usable and over 20k it prunes, and finds nothing");
    assert!(overflows(&rows) > 0);
    let both = self::rows(&talk, &real("gencode", NATIVE, &[]));
    assert_eq!(overflows(&both), 0, "layer 2 behind layer 1 does not");
}

/// Seed 001: chart: over usable and at most 20k → compact
#[test]
fn chart_compacts_over_usable_at_most_20k() {
    // Usable are 20,000 - 8,192 = 11,808 tokens; twelve turns of 1,000 are over it.
    let talk = (0..6).fold(Talk::new(""), |talk, _| talk.user(1_000).says(1_000)).end();
    let plan = unscaled(real("gencode-as-written", 20_000, &[]));
    assert_eq!(stages(&rows(&talk, &plan)), ["continuation"]);
}

/// Seed 001: chart: without enablePruning → compact
#[test]
fn chart_without_enable_pruning_compacts_at_any_size() {
    let off = [("1.enabled", "false"), ("2.when", "{ above = \"usable\" }")];
    let rows = rows(&chat(20).close(), &real("gencode-as-written", NATIVE, &off));
    assert_eq!(stages(&rows), ["continuation"]);
}

/// Seed 001: compression.enabled: false
#[test]
fn with_compression_disabled_nothing_is_done() {
    let off = [("1.enabled", "false"), ("2.enabled", "false")];
    for talk in [reads(), chat(20).close()] {
        assert_eq!(stages(&rows(&talk, &real("gencode", NATIVE, &off))), [""; 0]);
    }
}

/// Seed 001: "After last summary" and one summary message
#[test]
fn as_written_keeps_one_summary_gencode_keeps_both() {
    let talk = chat(34).close();
    let summaries = |strategy, overrides: &[(&str, &str)]| {
        at_last(&talk, &real(strategy, NATIVE, overrides), |session| {
            let context = session.context();
            let written = context.visible().filter(|id| id.index().is_none());
            written.map(|id| context.entry(id).unwrap().text.to_owned()).collect::<Vec<_>>()
        })
    };
    let both = summaries("gencode", &[]);
    assert_eq!(both.len(), 2);
    let off = [("1.enabled", "false"), ("2.when", "{ above = \"usable\" }")];
    let one = summaries("gencode-as-written", &off);
    assert_eq!(one.len(), 1);
    assert!(one[0].starts_with("[Earlier conversation - "), "{}", one[0]);
}

/// Seed 001: tuning guide
#[test]
fn the_tuning_guides_strategies_have_its_numbers() {
    for (strategy, minimum, protect) in [
        ("gencode-low-cost", 10_000, 20_000),
        ("gencode", 20_000, 40_000),
        ("gencode-high-quality", 30_000, 60_000),
    ] {
        let strategy = builtin(strategy, &[]).unwrap().unwrap();
        let prune = &strategy.stages[0];
        assert_eq!(prune.parameters["protect"].as_integer(), Some(protect));
        assert!(prune.when.to_string().ends_with(&format!("and over {minimum}")), "{}", prune.when);
    }
}

/// Seed 001: session JSON example, "stores summaries in session JSON"
#[test]
fn session_file_has_shape_of_seed_example() {
    let file = saved(&chat(20).close(), &real("gencode", NATIVE, &[]));
    assert_eq!(file["metadata"]["id"], "talk");
    assert_eq!(file["metadata"]["title"].as_str().unwrap().chars().count(), 59);
    // 20 turns, three more of the close less the one that is being asked for,
    // and the system prompt.
    assert_eq!(file["metadata"]["fullMessageCount"], 23);
    let active = file["messages"].as_array().unwrap();
    assert_eq!(file["metadata"]["messageCount"], active.len());
    assert_eq!(active[0]["role"], "system");
    assert_eq!(active[1]["role"], "system");
    let summary = active[1]["content"].as_str().unwrap();
    let record = &file["summaries"][0];
    let folded = record["coveringMessages"][1].as_u64().unwrap();
    assert_eq!(record["coveringMessages"][0], 1);
    let content = record["content"].as_str().unwrap();
    let head = format!("[Earlier conversation - {folded} messages summarized]\n\n{content}");
    assert_eq!(summary, head);
    assert_eq!(record["type"], "compaction");
    assert!(record["id"].as_str().unwrap().starts_with("sum-"));
}

/// Seed 001: session file: select(.content[]?.pruned == true)
#[test]
fn pruned_result_is_marked_in_file_with_time() {
    let file = saved(&reads(), &real("gencode", NATIVE, &[]));
    let parts = file["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].get(0));
    let results: Vec<&Json> = parts.filter(|part| part["type"] == "tool_result").collect();
    let [first, .., last] = &results[..] else { panic!("there are five results") };
    assert_eq!(first["content"], "[Old tool result cleared]");
    assert_eq!((&first["pruned"], &last["pruned"]), (&true.into(), &Json::Null));
    assert!(first["prunedAt"].is_string());
    // The seed's own check: select(.messages[].content[]?.pruned == true).
    let marked =
        file["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_array());
    assert_eq!(marked.flatten().filter(|part| part["pruned"] == true).count(), 4);
}

/// Seed 001: layer 3: getMessagesForLLM() returns the compressed array
#[test]
fn reopened_session_sends_the_messages_of_its_file() {
    for talk in [reads(), chat(34).close()] {
        let plan = real("gencode", NATIVE, &[]);
        let file = saved(&talk, &plan);
        let sent = at_last(&talk, &plan, |session| {
            let context = session.context();
            let texts = context.visible().map(|id| context.entry(id).unwrap().text.to_owned());
            texts.collect::<Vec<_>>()
        });
        let read = |part: &Json| match part["type"].as_str() {
            Some("text") => part["text"].as_str().unwrap().to_owned(),
            Some("tool_result") => part["content"].as_str().unwrap().to_owned(),
            _ => serde_json::json!({"name": part["name"], "arguments": part["input"]}).to_string(),
        };
        let [_system, active @ ..] = &file["messages"].as_array().unwrap()[..] else {
            panic!("a system prompt")
        };
        let read: Vec<String> = active
            .iter()
            .map(|message| match &message["content"] {
                Json::String(text) => text.clone(),
                parts => parts.as_array().unwrap().iter().map(read).collect::<Vec<_>>().join("\n"),
            })
            .collect();
        assert_eq!(read, sent);
    }
}

/// Seed 001: getCompressionStats(): totalMessages, activeMessages, summaryCount,
/// compressionRatio
#[test]
fn stats_are_those_of_the_seed() {
    // The seed's example: 42 of 156 messages are active, which is 0.269.
    let example = serde_json::json!({
        "metadata": {
            "id": "abc123",
            "title": "Implement Auth System",
            "messageCount": 42,
            "fullMessageCount": 156,
        },
        "messages": [{ "role": "system", "content": "..." }],
        "summaries": [],
    });
    let stats = compression_stats(&example);
    assert_eq!((&stats["totalMessages"], &stats["activeMessages"]), (&156.into(), &42.into()));
    assert!((stats["compressionRatio"].as_f64().unwrap() - 0.269).abs() < 0.0005);
    // 36 recorded messages (the last of the close is asked for) and the system
    // prompt; of the active ones 10 were kept, and two summaries written.
    let talk = chat(34).close();
    let session = saved(&talk, &real("gencode", NATIVE, &[]));
    let stats = compression_stats(&session);
    assert_eq!((&stats["totalMessages"], &stats["summaryCount"]), (&37.into(), &2.into()));
    assert_eq!(stats["activeMessages"], session["messages"].as_array().unwrap().len());
}

/// "Help me with authentication", a decision, much output, and a `/resume`.
fn authentication() -> Session {
    let said = |at, role, text: String| message(at, role, vec![Block::Text { text }]);
    let mut messages = vec![
        said(0, Role::User, "Implement a user authentication system using JWT.".to_owned()),
        said(1, Role::Assistant, "We decided to use JWT as the authentication scheme.".to_owned()),
    ];
    for turn in 2..24 {
        let role = if turn % 2 == 0 { Role::User } else { Role::Assistant };
        messages.push(said(turn, role, format!("Step {turn}.{}", even(10_000))));
    }
    Session { id: "talk".into(), messages, ..Session::default() }
}

/// Seed 001: /save, /exit, /resume: "Agent correctly recalls JWT"
#[test]
fn authentication_scheme_survives_save_exit_and_resume() {
    let (talk, plan) = (authentication(), real("gencode", NATIVE, &[]));
    assert!(last(&talk, &plan).starts_with("FF"), "the decision was folded");
    assert!(saved(&talk, &plan)["messages"].to_string().contains("JWT"));
}

/// Seed 001: Continuation Prompt Template
#[test]
fn continuation_prompt_equals_the_seed_word_by_word() {
    let seed = "Provide a detailed prompt for continuing our conversation above.

Focus on information that would be helpful for continuing the conversation:
1. What we accomplished so far
2. What we're currently working on
3. Which files we modified and key changes made
4. What we plan to do next
5. Any important context or decisions that would be needed

Remember: The new session will NOT have access to our full conversation history,
so include all essential context needed to continue working effectively.

Be technical and specific. Use structured bullet points.";
    assert_eq!(include_str!("../../strategies/prompts/continuation.md").trim(), seed);
}

/// Seed 001: generatedAt: after the response that takes the context over usable, not before
#[test]
fn summary_is_generated_once_its_response_has_arrived() {
    let mut session = Talk::new("").user(500).says(100).user(10).says(600).end();
    for (message, second) in session.messages.iter_mut().zip([0, 10, 20, 30]) {
        message.at = Some(jiff::Timestamp::from_second(second).unwrap());
    }
    // The second request and its response are 1,210 of 1,000 tokens; it was sent at 20 s.
    let plan = real("continuation", 1_000, &[("keep_last", "1")]);
    let (prepared, compactor) = (prepared(session), offline());
    let mut replay = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    block_on(replay.run_to_end()).unwrap();
    let file: Json = serde_json::from_slice(&replay.stored()[0].content).unwrap();
    assert_eq!(file["summaries"][0]["generatedAt"], "1970-01-01T00:00:30Z");
}
