//! The rules on which the numbers depend, by their number, as far as no other
//! suite holds them: 1–8 are in `dataset_semantics`, 10 in `replay::window`,
//! 16, 18, 20 and 22 in `mechanisms`, 17, 19, 23, 26 and 27 beside the folding
//! mechanisms, 24 beside the context, 34 and 35 in `references` and `questions`.

use crate::common;
use crate::common::{block_on, offline, plan, prepared, replayed, small, strategy};
use recap_core::model::{Block, CellOutcome, CellRows, Role, Session, Usage};
use recap_core::tokens::Counter;
use recap_replay::{ReplaySession, replay};
use recap_strategy::{Scaling, When};

fn rows(session: Session, toml: &str, window: u64) -> CellRows {
    let prepared = prepared(session);
    let replayed = block_on(replay(&prepared, &plan(strategy(toml), window), &offline()));
    match replayed.cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

fn sent(rows: &CellRows) -> Vec<u64> {
    rows.requests.iter().map(|r| r.tokens_sent).collect()
}

/// Tokens of the two messages of `small` that hold calls, by their canonical JSON.
fn calls() -> (u64, u64) {
    let count = |text: &str| Counter::default().count(text);
    let x = r#"{"name":"read","arguments":{"path":"x"}}"#;
    let y = r#"{"name":"read","arguments":{"path":"y"}}"#;
    (count(x), count(&format!("{y}\n{x}")))
}

#[test]
fn rule_7_reasoning_is_neither_sent_nor_counted() {
    let mut thinking = small();
    let thought = Block::Reasoning { text: "A long thought about nothing.".into() };
    thinking.messages[3].blocks.insert(0, thought);
    assert_eq!(sent(&rows(thinking, "", 1_000)), sent(&rows(small(), "", 1_000)));
}

#[test]
fn rule_9_counts_text_and_canonical_calls_unframed() {
    let (one, two) = calls();
    let expected = [10, 110 + one, 130 + one, 330 + one + two, 350 + one + two];
    assert_eq!(sent(&rows(small(), "", 1_000)), expected);
}

#[test]
fn rule_9_notes_and_synthetic_entries_count_normally() {
    let mut with_preamble = small();
    with_preamble.preamble.system = vec![common::words(50)];
    let bare = sent(&rows(small(), "", 1_000));
    let more: Vec<u64> = bare.iter().map(|t| t + 50).collect();
    assert_eq!(sent(&rows(with_preamble, "", 1_000)), more);
}

#[test]
fn rule_11_overflow_counts_recorded_output_of_request() {
    let mut session = small();
    let usage = Usage { output: 500, output_final: true, ..Usage::default() };
    session.messages[3].usage = Some(usage);
    let over = |window| -> Vec<bool> {
        rows(session.clone(), "", window).requests.iter().map(|r| r.overflow).collect()
    };
    let (one, _) = calls();
    // The second request sends 110 and a call; with 500 of output it needs 610 and the call.
    assert_eq!(over(610 + one), [false; 5]);
    assert_eq!(over(609 + one), [false, true, false, false, false]);
}

#[test]
fn rule_11_placeholder_output_is_counted_not_believed() {
    let mut session = small();
    let usage = Usage { output: 3, output_final: false, ..Usage::default() };
    session.messages[3].usage = Some(usage);
    let facts = &prepared(session).facts;
    assert_eq!(facts.requests[1].output, 10);
}

#[test]
fn rule_12_budget_is_window_share_or_usable() {
    let budget = |toml: &str| strategy(toml).budget_tokens(200_000, Scaling::All);
    assert_eq!(budget(""), 200_000);
    // Arachne's second reading: 70 % of 85 % is 0.595 of the window.
    assert_eq!(budget("budget = 0.85"), 170_000);
    assert_eq!(budget("budget = \"usable\"\noutput_limit = 8192"), 191_808);
    assert_eq!(budget("budget = \"usable\"\noutput_limit = 64000"), 168_000);
}

#[test]
fn rule_13_usage_is_sent_plus_recorded_output() {
    let rows = rows(small(), "estimator = \"chars/4\"", 1_000);
    let (one, _) = calls();
    let estimated: Vec<u64> = rows.requests.iter().map(|r| r.estimated.unwrap()).collect();
    // Before the first response characters / 4: ten "a" and nine blanks.
    assert_eq!(estimated[0], 19u64.div_ceil(4));
    // Then the previous prompt and its output: a call, then 10 tokens of text.
    assert_eq!(estimated[1], 10 + one);
    assert_eq!(estimated[2], (110 + one) + 10);
}

#[test]
fn rule_13_tokens_never_reported_are_not_subtracted() {
    let prune = "estimator = \"chars/4\"\n[[stage]]\nmechanism = \"prune\"\nat = \"append\"\n\
                 when = \"always\"\nprotect = 0\nmarker = \"x\"";
    let rows = rows(small(), prune, 1_000);
    let (one, _) = calls();
    // Result 2 came after the report and was pruned at once: the report of 10
    // tokens never counted it, and nothing is taken off.
    assert_eq!(rows.requests[1].estimated, Some(10 + one));
}

#[test]
fn rule_13_hidden_tokens_count_again_when_lifted() {
    let fifo = "estimator = \"chars/4\"\n[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\n\
                when = { above = \"window\", share = 1.0 }";
    let rows = rows(small(), fifo, 160);
    let (one, two) = calls();
    // Before 8 the last response reported 164 tokens with its output: message 0
    // is hidden, and 1 to 7 are sent. Before 10 it counts again and everything
    // before 9 is hidden: the 756 characters of 1 to 7, which are 189 tokens to
    // the strategy. Messages 8 and 9 came after the report.
    let sent = one + 120 + two + 200;
    assert_eq!(rows.requests[3].tokens_sent, sent);
    assert_eq!(rows.requests[4].tokens_sent, 10);
    assert_eq!(rows.requests[4].estimated, Some(sent - 189 + 10));
}

#[test]
fn rule_14_only_tokens_scale_with_minimum_one() {
    let prune = |native: &str| {
        format!(
            "{native}\n[[stage]]\nmechanism = \"prune\"\nat = \"append\"\nprotect = 1500\n\
             when = {{ above = \"window\", share = 0.0, and_over = 10 }}"
        )
    };
    let ledger = |toml: String| replayed(small(), &plan(strategy(&toml), 1_000), &offline());
    // 1,500 of a native window of 10,000 protect 150 of 1,000.
    assert_eq!(ledger(prune("native_window = 10_000"))[3], "VVEVVVEV");
    // Without a native window nothing scales, and everything is protected.
    assert_eq!(ledger(prune(""))[3], "VVVVVVVV");
    let number = |written: u64, scaling| {
        let stage = format!(
            "native_window = 200_000\n[[stage]]\nmechanism = \"prune\"\nat = \"append\"\n\
             when = {{ tool_tokens = {written} }}\nprotect = 1"
        );
        match strategy(&stage).trigger(0, 1_000, scaling) {
            When::ToolTokens(tokens) => tokens,
            other => panic!("{other}"),
        }
    };
    let scaled = |written| number(written, Scaling::All);
    assert_eq!((scaled(1), scaled(399), scaled(0)), (1, 1, 0));
    assert_eq!(number(399, Scaling::AsWritten), 399);
}

#[test]
fn rule_14_scaled_output_limit_keeps_windows_usable() {
    let usable = |limit: u64, window, scaling| {
        let toml = format!("native_window = 200_000\noutput_limit = {limit}\nbudget = \"usable\"");
        let strategy = strategy(&toml);
        assert_eq!(strategy.budget_tokens(window, scaling), strategy.usable(window, scaling));
        strategy.usable(window, scaling)
    };
    // 8,192 of 200,000 are 409.6 of 10,000 and 204.8 of 5,000.
    assert_eq!(usable(8_192, 10_000, Scaling::All), 10_000 - 409);
    assert_eq!(usable(8_192, 5_000, Scaling::All), 5_000 - 204);
    assert_eq!(usable(8_192, 400_000, Scaling::All), 400_000 - 16_384);
    // Of 64,000 it reserves 32,000, which are 1,600 of 10,000.
    assert_eq!(usable(64_000, 10_000, Scaling::All), 8_400);
    assert_eq!(usable(8_192, 10_000, Scaling::AsWritten), 1_808);
    assert_eq!(usable(8_192, 5_000, Scaling::AsWritten), 0);
    let without_native_window = strategy("output_limit = 8192");
    assert_eq!(without_native_window.usable(10_000, Scaling::All), 1_808);
}

#[test]
fn rule_14_bounds_and_characters_scale_not_lines() {
    let at = |stages: &str, window| {
        let strategy = strategy(&format!("native_window = 200_000\n[[stage]]\n{stages}"));
        let effective = strategy.effective(0, window, Scaling::All);
        assert_eq!(
            strategy.effective(0, window, Scaling::AsWritten),
            strategy.stages[0].parameters
        );
        effective
    };
    let summary = "mechanism = \"summary\"\nat = \"request\"\nwhen = \"always\"\nprompt = \"p\"\n\
                   request = \"fresh\"\nmax_tokens = 4_000\nmerge = \"sections\"\nmax_summary = 8_000\n\
                   keep = { share = 0.25, of = \"window\", at_least = 100, at_most = 15_000 }\n\
                   keep_user_messages = 20_000\ntool_text = 2_000\nkeep_first = 3\nfold_responses = 21";
    let half = at(summary, 100_000);
    for (key, value) in [
        ("max_tokens", 2_000),
        ("max_summary", 4_000),
        ("keep_user_messages", 10_000),
        ("tool_text", 1_000),
        ("keep_first", 3),
        ("fold_responses", 21),
    ] {
        assert_eq!(half[key].as_integer(), Some(value), "{key}");
    }
    let keep = half["keep"].as_table().unwrap();
    assert_eq!(
        (keep["at_least"].as_integer(), keep["at_most"].as_integer()),
        (Some(50), Some(7_500))
    );
    assert_eq!(keep["share"].as_float(), Some(0.25));
    // At 1,000 the bound of 100 is half a token, of which one is left.
    let small = at(summary, 1_000);
    assert_eq!(small["keep"].as_table().unwrap()["at_least"].as_integer(), Some(1));
    let mask = "mechanism = \"mask\"\nat = \"request\"\nwhen = \"always\"\nkeep_results = 3\n\
                minimum_saving = 30\nclip = { head = 250, tail = 0 }";
    let half = at(mask, 100_000);
    let ends = half["clip"].as_table().unwrap();
    assert_eq!((half["minimum_saving"].as_integer(), &half["keep_results"]), (Some(15), &3.into()));
    assert_eq!((ends["head"].as_integer(), ends["tail"].as_integer()), (Some(125), Some(0)));
}

#[test]
fn rule_15_stage_is_evaluated_where_it_says() {
    let at = |point: &str| {
        let toml = format!(
            "[[stage]]\nmechanism = \"prune\"\nat = \"{point}\"\nwhen = \"always\"\nprotect = 0"
        );
        replayed(small(), &plan(strategy(&toml), 1_000), &offline())
    };
    let everything = ["V", "VVV", "VVVVV", "VVVVVVVV", "VVVVVVVVVV"];
    assert_eq!(at("open"), everything);
    assert_eq!(at("append"), ["V", "VVE", "VVEVV", "VVEVVVEE", "VVEVVVEEVV"]);
    assert_eq!(at("request"), ["V", "VVE", "VVEVV", "VVEVVVEE", "VVEVVVEEVV"]);
    assert_eq!(at("response"), ["V", "VVV", "VVEVV", "VVEVVVVV", "VVEVVVEEVV"]);
    assert_eq!(at("user-turn"), ["V", "VVV", "VVEVV", "VVEVVVVV", "VVEVVVEEVV"]);
}

#[test]
fn rule_21_full_store_view_lets_messages_return() {
    // The window is exceeded only while the two results of the second exchange
    // are unpruned; once they are cleared, the oldest messages are sent again.
    let stages = "[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\n\
                  when = { above = \"window\", share = 1.0 }\n\
                  [[stage]]\nmechanism = \"prune\"\nat = \"response\"\nprotect = 0\n\
                  when = { tool_tokens = 250 }";
    let rows = replayed(small(), &plan(strategy(stages), 300), &offline());
    assert_eq!(rows[3], "...VVVVV");
    assert_eq!(rows[4], "VVEVVVEEVV");
}

#[test]
fn rule_21_earlier_stages_ignore_later_stages_hiding() {
    // At message 4 FIFO hides three messages (141 are over 120). At message
    // 9 the full store of some 373 is over 270, so that everything is pruned;
    // without the hidden part it would not be. What is left fits.
    let stages = "[[stage]]\nmechanism = \"prune\"\nat = \"user-turn\"\nprotect = 0\n\
                  when = { above = \"window\", share = 0.9 }\n\
                  [[stage]]\nmechanism = \"fifo\"\nat = \"user-turn\"\n\
                  when = { above = \"window\", share = 0.4 }";
    let rows = replayed(small(), &plan(strategy(stages), 300), &offline());
    assert_eq!(rows[2], "...VV");
    assert_eq!(rows[4], "VVEVVVEEVV");
}

#[test]
fn rule_21_message_hidden_for_request_stays_stored() {
    let stage =
        "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = 2";
    let prepared = prepared(small());
    let plan = plan(strategy(stage), 1_000);
    let compactor = offline();
    let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    block_on(session.run_to_request(4)).unwrap();
    assert_eq!(session.context().stored().count(), 10);
    assert_eq!(session.context().visible().count(), 2);
}

#[test]
fn rule_37_43_ids_and_times_are_seeded() {
    let stage = "[[stage]]\nmechanism = \"continuation\"\nat = \"append\"\nkeep_last = 2\n\
                 when = { above = \"window\", share = 0.1 }\nmax_tokens = 40\n\
                 prompt = \"prompts/p.md\"\nrequest = \"fresh\"\nkeep_summaries = \"all\"";
    let saved = |seed| {
        let prepared = prepared(small());
        let mut plan = plan(strategy(stage), 1_000);
        plan.seed = seed;
        let compactor = offline();
        let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
        block_on(session.run_to_end()).unwrap();
        String::from_utf8(session.stored().remove(0).content).unwrap()
    };
    let first = saved(1);
    assert!(first.contains("\"id\": \"sum-17672256"), "the assumed clock starts in 2026: {first}");
    assert_eq!(first, saved(1));
    assert_ne!(first, saved(2));
}

#[test]
fn changed_system_prompt_counts_from_its_message_on() {
    let mut session = small();
    session.preamble.system = vec![common::words(50)];
    session.preamble_changes =
        vec![recap_core::model::PreambleChange { before: 5, system: vec![common::words(80)] }];
    let before = sent(&rows(small(), "", 1_000));
    let after = sent(&rows(session, "", 1_000));
    let added: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    assert_eq!(added, [50, 50, 80, 80, 80]);
}

#[test]
fn hidden_preamble_is_derived_from_first_reported_prompt() {
    let mut session = small();
    let usage = Usage { input: 4, cache_read: 6_000, cache_write_5m: 6, ..Usage::default() };
    session.messages[1].usage = Some(usage);
    // 6,010 reported, 10 of them the user's words.
    assert_eq!(prepared(session.clone()).facts.hidden_tokens, 6_000);
    assert_eq!(sent(&rows(session, "", 10_000))[0], 6_010);
}

#[test]
fn a_message_by_the_harness_is_no_request() {
    let mut session = small();
    session.messages[3].synthetic = true;
    assert_eq!(rows(session, "", 1_000).requests.len(), 4);
    assert_eq!(small().messages[2].role, Role::Tool);
}

#[test]
fn rule_9_calls_count_keys_in_recorded_order() {
    let arguments = serde_json::json!({"zone": 1, "area": {"y": 2, "x": 3}});
    let call = Block::ToolCall { id: "c".into(), name: "map".into(), arguments };
    let message = common::message(0, Role::Assistant, vec![call]);
    let expected = r#"{"name":"map","arguments":{"zone":1,"area":{"y":2,"x":3}}}"#;
    assert_eq!(message.sent(), expected);
}

#[test]
fn previously_hidden_messages_count_in_size_before_stage() {
    let fifo = "[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\n\
                when = { above = \"window\", share = 1.0 }";
    let rows = rows(small(), fifo, 160);
    let prepared = prepared(small());
    for row in &rows.compactions {
        let request = &prepared.facts.requests[row.request as usize];
        assert_eq!(row.tokens_before, request.tokens_full, "{row:?}");
        assert!(row.tokens_after < row.tokens_before, "{row:?}");
    }
    assert!(rows.compactions.len() > 1);
}
