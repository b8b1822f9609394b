//! The mechanism `mask`, parameter by parameter.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::testkit::{Rig, Scripted, Talk, words};

/// A user message of a token, then a call and its result for each size: results
/// are rows 2, 4, 6 and so on.
fn reads(sizes: &[usize]) -> Talk {
    uses(Talk::new("S").user(" word"), "read", sizes)
}

fn uses(talk: Talk, tool: &str, sizes: &[usize]) -> Talk {
    sizes.iter().enumerate().fold(talk, |talk, (at, &size)| {
        let id = format!("{tool}{at}-{size}");
        talk.calls(&[(&id, tool, json!({ "at": at }))]).result(&id, &words(size))
    })
}

fn rig(parameters: &str, window: u64, talk: Talk) -> Rig {
    let stage = "[[stage]]\nmechanism = \"mask\"\nat = \"request\"\nwhen = \"always\"\n";
    Rig::stages(&format!("{stage}{parameters}"), window, talk, Arc::new(Scripted::default()))
}

fn last(parameters: &str, talk: Talk) -> String {
    let mut rig = rig(parameters, 1_000, talk);
    rig.finish();
    rig.ledger()
}

#[test]
fn the_newest_results_stay_by_their_count() {
    assert_eq!(last("keep_results = 2", reads(&[9, 9, 9, 9])), "vvevevvvv");
    assert_eq!(last("keep_results = 4", reads(&[9, 9, 9, 9])), "vvvvvvvvv");
}

#[test]
fn newest_output_stays_by_tokens_until_first_misfit() {
    // 30 + 20 are 50; the 5 behind the 60 would fit, but are older.
    assert_eq!(last("keep_tokens = 50", reads(&[5, 60, 30, 20])), "vvevevvvv");
    assert_eq!(last("keep_tokens = 49", reads(&[5, 60, 30, 20])), "vvevevevv");
}

#[test]
fn filled_budget_keeps_older_results_that_still_fit() {
    let at_once = |parameters: &str| {
        let mut rig = rig(parameters, 1_000, reads(&[10, 9, 60, 30, 20]));
        rig.append(11);
        rig.request();
        rig.ledger()
    };
    // 30 + 20 and the token that the 60 become leave nine.
    let keep = "keep_tokens = 60\nmarker = \"x\"";
    assert_eq!(at_once(&format!("{keep}\nfill = true")), "vvevvvevvvv");
    assert_eq!(at_once(keep), "vvevevevvvv");
}

#[test]
fn masked_remainder_counts_towards_the_next_budget() {
    let mut rig = rig("fill = true\nkeep_tokens = 10\nmarker = \"x\"", 1_000, reads(&[9, 8, 2]));
    rig.finish();
    // The 9 became one token when the 8 came; 2 + 8 fit, and one more does not,
    // but a result is masked once.
    assert_eq!(rig.ledger(), "vvevvvv");
    assert_eq!(rig.records("mask").len(), 1);
}

#[test]
fn results_behind_the_newest_responses_stay() {
    assert_eq!(last("keep_responses = 1", reads(&[9, 9, 9])), "vvevevv");
    // A response that calls nothing is one, too.
    assert_eq!(last("keep_responses = 2", reads(&[9, 9, 9]).assistant("ok")), "vvevevvv");
    // Results of calls made together stay together.
    let both = [("a", "read", json!({})), ("b", "read", json!({}))];
    let talk = reads(&[9]).calls(&both).result("a", "one").result("b", "two");
    assert_eq!(last("keep_responses = 1", talk), "vvevvv");
}

#[test]
fn newest_turn_results_stay_outside_kept_tokens() {
    let talk = || uses(reads(&[9, 9]).user("next"), "grep", &[30]);
    assert_eq!(last("keep_turns = 1", talk()), "vvevevvv");
    assert_eq!(last("keep_turns = 2", talk()), "vvvvvvvv");
    // The 30 are exempt: 9 of 10 tokens are kept of the turn before.
    assert_eq!(last("keep_turns = 1\nkeep_tokens = 10", talk()), "vvevvvvv");
}

#[test]
fn nothing_is_masked_unless_enough_is_saved() {
    // The marker takes a token: 19 of 20 are saved.
    let at_least = |saving: u64| {
        last(
            &format!("keep_results = 1\nmarker = \"x\"\nminimum_saving = {saving}"),
            reads(&[20, 9]),
        )
    };
    assert_eq!(at_least(19), "vvevv");
    assert_eq!(at_least(20), "vvvvv");
    // Savings add up over the results.
    let both = "keep_results = 1\nmarker = \"x\"\nminimum_saving = 20";
    assert_eq!(last(both, reads(&[12, 12, 9])), "vvevevv");
}

#[test]
fn excluded_tools_output_stays_and_is_not_counted() {
    let talk = || uses(uses(reads(&[9]), "skill", &[9]), "grep", &[9]);
    assert_eq!(last("keep_results = 1", talk()), "vvevevv");
    assert_eq!(last("keep_results = 1\nexclude_tools = [\"skill\"]", talk()), "vvevvvv");
    assert_eq!(last("keep_results = 2\nexclude_tools = [\"skill\"]", talk()), "vvvvvvv");
}

#[test]
fn clear_inputs_removes_calls_with_their_results() {
    let mut rig = rig("keep_results = 1\nclear_inputs = true", 1_000, reads(&[9, 9]));
    rig.finish();
    assert_eq!(rig.ledger(), "v--vv");
    assert_eq!(rig.sent().len(), 3);
    // Of several calls of a message only those whose result is old.
    let both = [("a", "read", json!({})), ("b", "read", json!({}))];
    let talk = Talk::new("S").user("u").calls(&both).result("a", "one").result("b", "two");
    assert_eq!(last("keep_results = 1\nclear_inputs = true", talk), "ve-v");
}

#[test]
fn marker_names_tool_and_lines_between_kept_ends() {
    let lines = "one\ntwo\nthree\nfour";
    let talk = || Talk::new("S").user("u").calls(&[("a", "read", json!({}))]).result("a", lines);
    let text = |parameters: &str| {
        let mut rig = rig(parameters, 1_000, uses(talk(), "grep", &[9]));
        rig.finish();
        rig.sent()[2].1.clone()
    };
    let marker = "keep_results = 1\nmarker = \"[{{lines}} lines of {{tool}}]\"\n";
    assert_eq!(text(marker), "[4 lines of read]");
    let clip = |clip: &str| text(&format!("{marker}clip = {clip}"));
    assert_eq!(clip("{ unit = \"lines\", tail = 2 }"), "[4 lines of read]\nthree\nfour");
    assert_eq!(
        clip("{ unit = \"characters\", head = 3, tail = 4 }"),
        "one\n[4 lines of read]\nfour"
    );
    // Both ends are all of it: nothing changes.
    assert_eq!(clip("{ unit = \"lines\", head = 1, tail = 3 }"), lines);
}

#[test]
fn run_is_recorded_with_count_and_saving() {
    let mut rig = rig("keep_results = 1\nmarker = \"x\"", 1_000, reads(&[10, 10, 9]));
    rig.feed(7);
    rig.request();
    let records: Vec<Json> = rig.records("mask");
    assert_eq!(
        records,
        [json!({"count": 1, "tokensSaved": 9}), json!({"count": 1, "tokensSaved": 9})]
    );
    assert_eq!(rig.shared.pruned_through.and_then(|id| id.index()), Some(4));
}

#[test]
fn tokens_scale_with_window_but_counts_do_not() {
    let half = |parameters: &str| {
        let mut rig = rig(parameters, 500, reads(&[9, 30, 20]));
        rig.finish();
        rig.ledger()
    };
    assert_eq!(half("keep_tokens = 100"), "vvevvvv");
    assert_eq!(half("keep_results = 2"), "vvevvvv");
    let saving = "keep_results = 2\nmarker = \"x\"\nminimum_saving = ";
    assert_eq!(half(&format!("{saving}17")), "vvevvvv");
    assert_eq!(half(&format!("{saving}18")), "vvvvvvv");
}

#[test]
fn resumes_from_session_saved_at_every_message() {
    for parameters in ["keep_tokens = 20\nminimum_saving = 9", "fill = true\nkeep_tokens = 25"] {
        let new = || rig(parameters, 1_000, reads(&[9, 12, 3, 8, 30, 2, 9, 9]));
        let straight = Rig::goes_on(new, 17);
        assert!(straight.ledger().contains('e'));
    }
}

#[test]
fn results_removed_elsewhere_do_not_count_as_kept() {
    let dedup = "[[stage]]\nmechanism = \"snapshot-dedup\"\nat = \"request\"\nwhen = \"always\"\n\
                 tools = [\"read\"]\n";
    let mask = "[[stage]]\nmechanism = \"mask\"\nat = \"request\"\nwhen = \"always\"\n\
                keep_results = 2\n";
    let talk = uses(uses(Talk::new("S").user(" word"), "grep", &[9]), "read", &[8, 7]);
    let scripted = Arc::new(Scripted::default());
    let mut rig = Rig::stages(&format!("{dedup}{mask}"), 1_000, talk, scripted);
    rig.finish();
    assert_eq!(rig.ledger(), "vvv--vv");
}

#[test]
fn boundary_settled_by_newest_masked_result_is_saved() {
    let mut rig = rig("keep_results = 1", 1_000, reads(&[9, 9, 9]));
    rig.finish();
    assert_eq!(rig.ledger(), "vvevevv");
    assert_eq!(rig.save().1[1], json!({"before": 5}));
}
