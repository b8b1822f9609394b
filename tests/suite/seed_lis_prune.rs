//! Seed 002 (Lis), its stage 1: tool output pruning.
//! Each test names its sentence.

use crate::common::talk::{Talk, at_last, at_request, last, real, unscaled};
use crate::common::{block_on, offline, prepared, replayed, sent};
use recap_core::model::{Block, CellOutcome, CompactionRow, Session};
use recap_replay::{Plan, replay};
use recap_strategy::EntryId;

/// The seed's budget is 150k; the thresholds are meant for it.
const NATIVE: u64 = 150_000;

/// A user message, then a call and its result of each size, then what shows
/// what came of it. Results are rows 2, 4, 6 and so on.
fn reads(sizes: &[usize]) -> Session {
    Talk::new("").user(1).uses("read", sizes).close()
}

fn lis(overrides: &[(&str, &str)]) -> Plan {
    real("prune-once", NATIVE, overrides)
}

/// Seed 002: triggered when total tool result tokens exceed ToolPruneThreshold (8000)
#[test]
fn pruning_triggers_only_over_8000_tool_output_tokens() {
    assert_eq!(last(&reads(&[4_000, 4_000]), &lis(&[])), "VVVVVVV");
    assert_eq!(last(&reads(&[4_000, 4_001]), &lis(&[])), "VVEVEVV");
}

/// Seed 002: tool result tokens, no others
#[test]
fn only_tool_output_counts_towards_the_trigger() {
    let talk = Talk::new("").user(9_000).uses("read", &[4_000]).says(9_000).uses("read", &[4_000]);
    assert_eq!(last(&talk.close(), &lis(&[])), "VVVVVVVV");
}

/// Seed 002: LIS_TOOL_KEEP_THRESHOLD 2000: recent tool output kept unpruned
#[test]
fn newest_2000_tokens_of_tool_output_stay_unpruned() {
    // Both lists add up to 8,001 with the last result.
    assert_eq!(last(&reads(&[3_001, 3_000, 1_500, 500]), &lis(&[])), "VVEVEVVVVVV");
    assert_eq!(last(&reads(&[3_000, 3_000, 1_501, 500]), &lis(&[])), "VVEVEVEVVVV");
}

/// Seed 002: bare function name, metadata and CallId kept; DB unchanged
#[test]
fn output_becomes_function_name_keeping_id_and_metadata() {
    let mut talk = reads(&[9_000, 1]);
    let Block::ToolResult { call, is_error, .. } = &mut talk.messages[2].blocks[0] else {
        panic!("row 2 is a result");
    };
    *is_error = true;
    let call = call.clone();
    at_last(&talk, &lis(&[]), |session| {
        let context = session.context();
        assert_eq!(context.entry(EntryId::message(2)).unwrap().text, "read");
        let kept = Block::ToolResult { call, text: "read".into(), images: 0, is_error: true };
        assert_eq!(*context.blocks(2), [kept]);
        assert_eq!(context.blocks(1), talk.messages[1].blocks);
        // Nothing stored changes: the original is as it was.
        assert_eq!(context.original(EntryId::message(2)), Some(&talk.messages[2]));
    });
}

/// Seed 002: after ToolsPrunedThroughId; runs once
#[test]
fn runs_once_per_boundary_then_awaits_new_output() {
    let rows = replayed(reads(&[8_000, 2_000, 6_000, 1]), &lis(&[]), &offline());
    let expected = [
        "V",
        "VVV",
        // 8,000 are not over 8,000.
        "VVVVV",
        // The response behind row 4 saw 10,000; the newest 2,000 stay.
        "VVEVVVV",
        // 2,000 and 6,000 behind the boundary are not over 8,000.
        "VVEVVVVVV",
        // One token more is; it alone fits into 2,000.
        "VVEVEVEVVVV",
    ];
    assert_eq!(rows, expected);
}

/// Seed 002: stays stable, preserves the prompt cache
#[test]
fn between_two_boundaries_the_prefix_stays_stable() {
    let (talk, plan) = (reads(&[8_000, 2_000, 6_000, 1]), lis(&[]));
    let before = at_request(&talk, &plan, 3, sent);
    let after = at_request(&talk, &plan, 4, sent);
    assert_eq!(before.len(), 7);
    assert_eq!(before[..], after[..7]);
}

/// Seed 002: cache breakpoint at the tool prune boundary
#[test]
fn the_prune_boundary_is_a_cache_breakpoint() {
    let (talk, plan) = (reads(&[8_000, 2_000, 6_000, 1]), lis(&[]));
    let boundary = |request| at_request(&talk, &plan, request, |session| session.prune_boundary());
    assert_eq!(boundary(2), None);
    assert_eq!(boundary(3), Some(EntryId::message(2)));
    assert_eq!(boundary(5), Some(EntryId::message(6)));
}

/// Seed 002: check compaction triggers after the response
#[test]
fn triggers_are_looked_at_after_the_response() {
    // Row 2 is there when the request before row 3 is sent; only its response
    // lets it be pruned.
    let rows = replayed(reads(&[9_000]), &lis(&[]), &offline());
    assert_eq!(rows, ["V", "VVV", "VVEVV"]);
}

/// Seed 002: keep_none: always prune everything
#[test]
fn keep_none_prunes_the_newest_output_too() {
    let (auto, none) = (lis(&[]), lis(&[("policy", "keep-none")]));
    assert_eq!(last(&reads(&[8_000, 1]), &auto), "VVEVVVV");
    assert_eq!(last(&reads(&[8_000, 1]), &none), "VVEVEVV");
    // Whether it is looked at is up to `when`: always, then everything goes.
    assert_eq!(last(&reads(&[10, 1]), &none), "VVVVVVV");
    let always = lis(&[("policy", "keep-none"), ("when", "always")]);
    assert_eq!(last(&reads(&[10, 1]), &always), "VVEVEVV");
}

/// Seed 002: keep_all: never prune
#[test]
fn keep_all_never_prunes_below_the_compaction_threshold() {
    assert_eq!(last(&reads(&[50_000, 50_000]), &lis(&[("policy", "keep-all")])), "VVVVVVV");
}

/// Seed 002: safeguard: force-prunes past the threshold
#[test]
fn keep_all_prunes_once_report_is_past_threshold() {
    // 80 % of 20,000 are 16,000. The requests before rows 3 and 5 send 9,000
    // and 17,000 and a little.
    let plan = unscaled(real("prune-once", 20_000, &[("policy", "keep-all")]));
    let rows = replayed(reads(&[9_000, 8_000, 100]), &plan, &offline());
    assert_eq!(rows[2], "VVVVV");
    assert_eq!(rows[3], "VVEVEVV");
}

/// Seed 002: no token estimation, ever
#[test]
fn sizes_come_from_provider_reports_and_never_estimates() {
    // Once row 3 has answered, 17,000 tokens are stored, but its report says
    // 9,000, its own 8,000 being output. Only row 5 reports them.
    let plan = unscaled(real("prune-once", 20_000, &[("policy", "keep-all")]));
    let talk = Talk::new("").user(1).uses("read", &[9_000]).says(8_000).user(1).says(1);
    let rows = replayed(talk.user(1).says(1).end(), &plan, &offline());
    assert_eq!(rows[2..], ["VVVVV", "VVEVVVV"]);
}

/// Seed 002: auto: per-tool attribute, Prune or Summarize
#[test]
fn each_tool_may_have_its_own_policy() {
    let talk =
        Talk::new("").user(1).uses("read", &[5_000]).uses("book", &[5_000]).uses("read", &[1]);
    let (talk, plan) = (talk.close(), lis(&[("1.tools", "{ book = \"summarize\" }")]));
    // Both become one-liners; the book's original is meant for the compactor
    // (`seed_lis::compactor_sees_original_of_tool_to_be_summarised`).
    assert_eq!(last(&talk, &plan), "VVEVEVVVV");
}

/// Seed 002: thresholds for a 150k budget, scaled (ours)
#[test]
fn thresholds_scale_with_window_and_round_down() {
    // Half of 150,000: over 4,000, keeping 1,000.
    let half = real("prune-once", 75_000, &[]);
    assert_eq!(last(&reads(&[3_000, 1_000]), &half), "VVVVVVV");
    assert_eq!(last(&reads(&[3_001, 1_000]), &half), "VVEVVVV");
    assert_eq!(last(&reads(&[3_001, 1_001]), &half), "VVEVEVV");
    // Two thirds: 5,333.3 and 1,333.3.
    let thirds = real("prune-once", 100_000, &[]);
    assert_eq!(last(&reads(&[4_000, 1_333]), &thirds), "VVVVVVV");
    assert_eq!(last(&reads(&[4_001, 1_333]), &thirds), "VVEVVVV");
    assert_eq!(last(&reads(&[4_000, 1_334]), &thirds), "VVEVEVV");
}

/// Seed 002: at least one token (ours)
#[test]
fn a_scaled_threshold_is_at_least_one_token() {
    // 8,000 and 2,000 at a window of 10 would be 0.53 and 0.13.
    let tiny = real("prune-once", 10, &[]);
    assert_eq!(last(&reads(&[1]), &tiny), "VVVVV");
    assert_eq!(last(&reads(&[1, 1]), &tiny), "VVEVVVV");
}

/// Seed 002: `--no-scale` (ours)
#[test]
fn without_scaling_the_numbers_are_the_strategies_own() {
    let half = unscaled(real("prune-once", 75_000, &[]));
    assert_eq!(last(&reads(&[4_000, 4_000]), &half), "VVVVVVV");
    assert_eq!(last(&reads(&[4_000, 4_001]), &half), "VVEVEVV");
}

/// Seed 002: tool outputs pruned (12.4k → 2.1k): count and saving
#[test]
fn run_is_recorded_with_count_and_savings() {
    // Two results of 4,000 and 4,001 become the one token `read` each.
    let prepared = prepared(reads(&[4_000, 4_001]));
    let CellOutcome::Done(rows) = block_on(replay(&prepared, &lis(&[]), &offline())).cell.outcome
    else {
        panic!("the cell runs");
    };
    let run = |row: &CompactionRow| (row.messages_edited, row.tokens_before - row.tokens_after);
    assert_eq!(rows.compactions.iter().map(run).collect::<Vec<_>>(), [(2, 7_999)]);
}
