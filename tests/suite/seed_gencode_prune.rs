//! Seed 001 (GenCode), its layer 1: tool output pruning. Layer 2 is tested
//! beside `continuation`.
//! Each test names its sentence.

use crate::common::talk::{Talk, at_last, from_disk, last, real, unscaled};
use crate::common::{block_on, offline, prepared, replayed, words};
use recap_core::model::{Block, CellOutcome, CompactionRow, Session, Usage};
use recap_core::tokens::Counter;
use recap_replay::{Plan, replay};
use recap_strategy::{EntryId, Scaling, builtin};

/// The seed's thresholds are meant for 200,000.
const NATIVE: u64 = 200_000;
const MARKER: &str = "[Old tool result cleared]";

fn gencode(overrides: &[(&str, &str)]) -> Plan {
    real("prune", NATIVE, overrides)
}

/// A user message, then a call and its result of each size, then what shows
/// what came of it. Results are rows 2, 4, 6 and so on.
fn reads(user: usize, sizes: &[usize]) -> Session {
    Talk::new("").user(user).uses("read", sizes).close()
}

/// One result of 100 tokens, reported by its answer as so many in all.
fn reported(total: u64) -> Session {
    let call = prepared(reads(1, &[100])).recording.sizes.messages[1].tokens;
    // User, call, result and the answer's own token.
    reads((total - call - 100 - 1) as usize, &[100])
}

/// Seed 001: trigger: tokens > 20k
#[test]
fn only_more_than_20k_tokens_trigger_pruning() {
    let plan = gencode(&[("protect", "1")]);
    assert_eq!(last(&reported(20_000), &plan), "VVVVV");
    assert_eq!(last(&reported(20_001), &plan), "VVEVV");
}

/// Seed 001: estimateTokens: 4:1 char-to-token ratio
#[test]
fn size_before_first_response_is_characters_over_four() {
    // Each of these tokens has two characters, so 45,000 pass for 22,500 and
    // 39,000 for 19,500. A harness message makes the call, so that there is a
    // result before the first response.
    let talk = |tokens: usize| {
        let mut talk = reads(1, &[10]);
        talk.messages[0].blocks = vec![Block::Text { text: words(tokens) }];
        talk.messages[1].synthetic = true;
        talk
    };
    let plan = gencode(&[("protect", "1")]);
    assert_eq!(replayed(talk(45_000), &plan, &offline()), ["VVE", "VVEVV"]);
    // As soon as the first response has reported 39,000, they are over 20,000.
    assert_eq!(replayed(talk(39_000), &plan, &offline()), ["VVV", "VVEVV"]);
}

/// Seed 001: prefer actual TokenUsage when available
#[test]
fn actual_usage_counts_after_a_response_reported_it() {
    // Row 4 brings 30,000 tokens; the request before row 5 still sends both
    // results, its report then clears them.
    let plan = gencode(&[("protect", "1")]);
    let rows = replayed(reads(10, &[100, 30_000]), &plan, &offline());
    assert_eq!(rows, ["V", "VVV", "VVVVV", "VVEVEVV"]);
}

/// Seed 001: input + cache.read + output + reasoning
#[test]
fn the_output_of_the_response_counts_as_used() {
    // 11,000 sent and 10,000 written are over 20,000.
    let talk = Talk::new("").user(11_000 - 200).uses("read", &[100]);
    let talk = talk.says(10_000).user(1).says(1).end();
    assert_eq!(last(&talk, &gencode(&[("protect", "1")])), "VVEVV");
}

/// Seed 001: input + cache.read + output + reasoning
#[test]
fn reasoning_of_the_response_counts_as_used() {
    // 11,000 are sent. The answer is one token long; with its reasoning the model
    // wrote 9,000, or one more.
    let call = prepared(reads(1, &[100])).recording.sizes.messages[1].tokens;
    let talk = |output: u64| {
        let mut talk = reads((11_000 - call - 100) as usize, &[100]);
        let usage = Usage { input: 11_000, output, output_final: true, ..Usage::default() };
        talk.messages[3].usage = Some(usage);
        from_disk(talk)
    };
    let plan = gencode(&[("protect", "1")]);
    assert_eq!(last(&talk(9_000), &plan), "VVVVV");
    assert_eq!(last(&talk(9_001), &plan), "VVEVV");
}

/// Seed 001: protects recent 40k tokens of tool output
#[test]
fn last_40k_tool_output_tokens_are_protected_inclusively() {
    assert_eq!(last(&reads(1, &[100, 10_000, 30_000]), &gencode(&[])), "VVEVVVVVV");
    assert_eq!(last(&reads(1, &[100, 10_000, 30_001]), &gencode(&[])), "VVEVEVVVV");
    // Other text is no tool output and takes no share of the protection.
    let talk = Talk::new("").user(50_000).uses("read", &[100, 10_000, 29_900]);
    assert_eq!(last(&talk.close(), &gencode(&[])), "VVVVVVVVV");
}

/// Seed 001: content becomes `[Old tool result cleared]`; mark, not delete
#[test]
fn only_old_results_become_the_literal_marker() {
    let talk = reads(1, &[30_000, 30_000]);
    at_last(&talk, &gencode(&[]), |session| {
        let context = session.context();
        assert_eq!(context.entry(EntryId::message(2)).unwrap().text, MARKER);
        let Block::ToolResult { call, .. } = &talk.messages[2].blocks[0] else {
            panic!("row 2 is a result");
        };
        let text = MARKER.to_owned();
        let cleared = Block::ToolResult { call: call.clone(), text, images: 0, is_error: false };
        assert_eq!(*context.blocks(2), [cleared]);
        for row in [0, 1, 3, 4, 5, 6] {
            assert_eq!(context.blocks(row), talk.messages[row as usize].blocks, "{row}");
        }
        assert_eq!(context.message_count(), 7);
    });
}

/// Number of results and tokens saved of each run of pruning.
fn runs(session: Session, plan: &Plan) -> Vec<(u32, u64)> {
    let CellOutcome::Done(rows) =
        block_on(replay(&prepared(session), plan, &offline())).cell.outcome
    else {
        panic!("the cell runs");
    };
    let run = |row: &CompactionRow| (row.messages_edited, row.tokens_before - row.tokens_after);
    rows.compactions.iter().map(run).collect()
}

/// Seed 001: returns accurate stats: count and saved tokens
#[test]
fn pruning_returns_accurate_count_and_saved_tokens() {
    // Each result becomes the marker, one after the other as they come.
    let talk = Talk::new("").user(21_000).calls(&[("a", "read"), ("b", "read")]);
    let texts = ["a ".repeat(400), "b ".repeat(200)];
    let talk = talk.result_text("a", &texts[0]).result_text("b", &texts[1]).close();
    let counter = Counter::default();
    let marker = counter.count("[Old tool result cleared]");
    let saved = texts.map(|text| (1, counter.count(&text) - marker));
    assert_eq!(runs(talk, &gencode(&[("protect", "1")])), saved);
}

/// Seed 001: cleared once (ours: not counted again)
#[test]
fn cleared_results_stay_cleared_and_are_counted_once() {
    // Row 3 has reported 25,000. Row 4 leaves row 2 unprotected, then row 6
    // leaves row 4 so, which alone is counted.
    let talk = reads(1, &[25_000, 30_000, 30_000]);
    let plan = gencode(&[]);
    let rows = replayed(talk.clone(), &plan, &offline());
    assert_eq!(rows, ["V", "VVV", "VVEVV", "VVEVEVV", "VVEVEVVVV"]);
    assert_eq!(runs(talk, &plan).iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1, 1]);
}

/// Seed 001: layer 1 is free
#[test]
fn pruning_is_free() {
    let plan = gencode(&[]);
    assert!(!plan.strategy.uses_compactor());
    let prepared = prepared(reads(1, &[30_000, 30_000]));
    let CellOutcome::Done(rows) = block_on(replay(&prepared, &plan, &offline())).cell.outcome
    else {
        panic!("the cell runs");
    };
    let calls: Vec<u32> = rows.compactions.iter().map(|row| row.model_calls).collect();
    assert_eq!(calls, [0]);
}

/// Seed 001: enablePruning
#[test]
fn pruning_can_be_switched_off() {
    let off = gencode(&[("enabled", "false")]);
    assert_eq!(last(&reads(1, &[30_000, 30_000]), &off), "VVVVVVV");
}

/// Seed 001: usable = contextWindow − min(outputLimit, 32k)
#[test]
fn usable_is_window_minus_32k_capped_output_limit() {
    // The seed's table of models, and a limit above 32k.
    let table = [
        (200_000, "8192", 191_808),
        (128_000, "4096", 123_904),
        (1_000_000, "8192", 991_808),
        (200_000, "64000", 168_000),
    ];
    for (window, limit, usable) in table {
        let limit = [("output_limit".to_owned(), limit.to_owned())];
        let strategy = builtin("prune-chart", &limit).unwrap().unwrap();
        assert_eq!(strategy.usable(window, Scaling::Named), usable);
    }
}

/// Seed 001: chart: total > usable
#[test]
fn decision_chart_prunes_only_over_usable() {
    // 40,000 less 8,192 are 31,808.
    let chart = unscaled(real("prune-chart", 40_000, &[("protect", "1")]));
    assert_eq!(last(&reported(31_808), &chart), "VVVVV");
    assert_eq!(last(&reported(31_809), &chart), "VVEVV");
    // By the layer table 20,001 are enough.
    let table = unscaled(real("prune", 40_000, &[("protect", "1")]));
    assert_eq!(last(&reported(20_001), &table), "VVEVV");
}

/// Seed 001: returns compact when < 20k but over limit
#[test]
fn decision_chart_leaves_at_most_20k_to_compaction() {
    // 28,000 less 8,192 are 19,808.
    let chart = unscaled(real("prune-chart", 28_000, &[("protect", "1")]));
    assert_eq!(last(&reported(20_000), &chart), "VVVVV");
    assert_eq!(last(&reported(20_001), &chart), "VVEVV");
}

/// Seed 001: numbers for a 200k window, at a share of a session scaled (ours)
#[test]
fn minimum_and_protection_scale_at_a_share() {
    // At 100,000 they are 10,000 and 20,000.
    let half = real("prune", 100_000, &[]);
    assert_eq!(last(&reads(1, &[100, 5_000, 15_000]), &half), "VVEVVVVVV");
    assert_eq!(last(&reads(1, &[100, 5_000, 15_001]), &half), "VVEVEVVVV");
    let minimum = real("prune", 100_000, &[("protect", "2")]);
    assert_eq!(last(&reported(10_000), &minimum), "VVVVV");
    assert_eq!(last(&reported(10_001), &minimum), "VVEVV");
}
