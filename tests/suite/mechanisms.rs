//! Worked out by hand: which messages are verbatim, edited, folded or gone at
//! each request. See `common::small` for the session; its five requests
//! stand before messages 1, 3, 5, 8 and 10.

use crate::common;
use crate::common::{any_session, block_on, offline, plan, replayed, small, strategy};
use proptest::prelude::*;
use recap_core::model::Role;
use recap_replay::{PreparedSession, ReplaySession};
use recap_strategy::{Context, EntryId};

fn rows(toml: &str, window: u64) -> Vec<String> {
    replayed(small(), &plan(strategy(toml), window), &offline())
}

const ALL: [&str; 5] = ["V", "VVV", "VVVVV", "VVVVVVVV", "VVVVVVVVVV"];

#[test]
fn a_strategy_without_stages_sends_everything() {
    assert_eq!(rows("", 1_000), ALL);
}

#[test]
fn empty_sends_nothing() {
    let stage =
        "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = 0";
    assert_eq!(rows(stage, 1_000), [".", "...", ".....", "........", ".........."]);
}

/// Seed 003: pairs at the cut (ours: kept)
#[test]
fn window_counts_rows_and_omits_results_without_calls() {
    let stage =
        "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = 3";
    // Before 5 the window is 2..5, but result 2 answers call 1; before 10 it is
    // 7..10, and result 7 answers a call of 5.
    assert_eq!(rows(stage, 1_000), ["V", "VVV", "...VV", ".....VVV", "........VV"]);
}

/// Seed 003: pairs at the cut (the seed's: not kept)
#[test]
fn window_as_in_the_seed_may_orphan_results() {
    let stage = "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\n\
                 last = 3\nkeep_pairs = false\nbreaks_pairs = true";
    assert_eq!(rows(stage, 1_000), ["V", "VVV", "..VVV", ".....VVV", ".......VVV"]);
}

const FIFO: &str =
    "[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\nwhen = { above = \"window\", share = 1.0 }";

/// Seed 000: drops the oldest messages entirely when the token budget is exceeded
#[test]
fn fifo_by_message_drops_fewest_oldest_whole_pairs() {
    // The calls of 1 and 5 take 11 and 22 tokens. Before 8 there are 363, 63
    // over 300: message 0 alone frees 10, the call of 1 and its result 111
    // more. Before 10 there are 383, 83 over.
    let drops = ["V", "VVV", "VVVVV", "...VVVVV", "...VVVVVVV"];
    assert_eq!(rows(FIFO, 300), drops);
}

#[test]
fn fifo_by_message_keeps_newest_call_and_results() {
    // Before 3 and 8 the newest is a result, before 5 and 10 the user's. Before
    // 5, 91 over, the 121 of messages 0 to 2 are enough.
    let least = ["V", ".VV", "...VV", ".....VVV", "........VV"];
    assert_eq!(rows(FIFO, 50), least);
}

#[test]
fn fifo_by_message_cuts_single_user_message_session() {
    let mut single = small();
    for at in [4, 9] {
        single.messages[at] = common::message(at, Role::Assistant, vec![common::text(10)]);
    }
    let last = |toml: &str| {
        replayed(single.clone(), &plan(strategy(toml), 200), &offline()).pop().unwrap()
    };
    // Of 383, messages 0 to 4 free 141, too little by 42, so the calls of 5 go
    // with both of their results.
    assert_eq!(last(FIFO), "........VV");
}

#[test]
fn fifo_by_message_drops_late_result_with_call() {
    // The user and the agent speak, 2 and 3, before the result of A comes, 4.
    let mut late = small();
    late.messages[2] = common::message(2, Role::User, vec![common::text(10)]);
    late.messages[4] = common::message(4, Role::Tool, vec![common::result("A", 100)]);
    let at = |window| replayed(late.clone(), &plan(strategy(FIFO), window), &offline());
    // Before 8, 83 over, messages 0 and 1 free 121 with the late result.
    assert_eq!(at(280)[3], "..VV.VVV");
    // Before 5, 11 over, the call of the newest result stays: 0 and 2 go.
    assert_eq!(at(130)[2], ".V.VV");
}

/// What is shown of `before` if the fewest groups go, one after the other, that
/// bring it to `target`: a message, or a call with its results.
fn dropped_one_by_one(prepared: &PreparedSession, before: &Context, target: u64) -> Vec<u32> {
    let mut shown: Vec<u32> = before.visible().filter_map(EntryId::index).collect();
    let tokens = |of: &[u32]| {
        let weight = |&at: &u32| before.entry(EntryId::message(at)).unwrap().weight.tokens;
        of.iter().map(weight).sum::<u64>()
    };
    let calls = &prepared.recording.calls;
    let all = shown.clone();
    let group = |at: u32| {
        let call = calls.iter().find(|call| call.result == Some(at)).map(|call| call.message);
        call.filter(|call| all.contains(call)).unwrap_or(at)
    };
    let Some(&newest) = shown.last() else { return shown };
    let stays = group(newest);
    for &oldest in all.iter().filter(|at| group(**at) == **at && **at != stays) {
        if tokens(&shown) <= target {
            break;
        }
        shown.retain(|at| group(*at) != oldest);
    }
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fifo_by_message_equals_dropping_one_by_one(
        session in any_session(), window in 20u64..400, earlier in 0usize..3,
    ) {
        let earlier = [
            "",
            "[[stage]]\nmechanism = \"prune\"\nat = \"append\"\nwhen = \"always\"\nprotect = 20\n",
            "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = 9\n",
        ][earlier];
        let prepared = common::prepared(session);
        let plans = [earlier.to_owned(), format!("{earlier}{FIFO}")];
        let plans = plans.map(|toml| plan(strategy(&toml), window));
        let compactor = offline();
        for request in 0..prepared.facts.requests.len() as u32 {
            let sessions = plans.each_ref().map(|plan| {
                let mut replay = ReplaySession::open(&prepared, plan, &compactor).unwrap();
                block_on(replay.run_to_request(request)).unwrap();
                replay
            });
            let [before, after] = sessions.each_ref().map(|replay| replay.context());
            let expected = dropped_one_by_one(&prepared, before, window);
            let shown: Vec<u32> = after.visible().filter_map(EntryId::index).collect();
            prop_assert_eq!(shown, expected, "request {}", request);
        }
    }
}

/// Seed 001: backward iteration, stops at the first that does not fit
#[test]
fn prune_protects_until_first_result_exceeding_budget() {
    let stage = "[[stage]]\nmechanism = \"prune\"\nat = \"append\"\nprotect = 150\n\
                 when = { above = \"window\", share = 0.0, and_over = 1 }";
    // After 7: 100 fits, 200 does not, so 6 and all before it are cleared.
    assert_eq!(rows(stage, 1_000), ["V", "VVV", "VVVVV", "VVEVVVEV", "VVEVVVEVVV"]);
}

fn dedup(parameters: &str) -> String {
    format!(
        "[[stage]]\nmechanism = \"snapshot-dedup\"\nat = \"request\"\nwhen = \"always\"\n{parameters}"
    )
}

/// Seed 003: call and result leave together (ours)
#[test]
fn dedup_keeps_newest_result_and_drops_whole_pairs() {
    // 7 supersedes 2 and 6. Call 1 says nothing else and leaves; 5 keeps its
    // other call.
    let rows = rows(&dedup("tools = [\"read\"]"), 1_000);
    assert_eq!(rows, ["V", "VVV", "VVVVV", "V..VVE.V", "V..VVE.VVV"]);
}

/// Seed 003: removes results, not calls
#[test]
fn dedup_as_in_the_seed_leaves_calls() {
    let rows = rows(&dedup("tools = [\"read\"]\nkeep_pairs = false\nbreaks_pairs = true"), 1_000);
    assert_eq!(rows, ["V", "VVV", "VVVVV", "VV.VVV.V", "VV.VVV.VVV"]);
}

#[test]
fn stages_see_what_the_stages_before_them_did() {
    // Pruned first, everything fits, so that FIFO has nothing to drop.
    let prune = "[[stage]]\nmechanism = \"prune\"\nat = \"request\"\nprotect = 150\n\
                 when = { above = \"window\", share = 0.0, and_over = 1 }\n";
    assert_eq!(rows(&format!("{prune}{FIFO}"), 300)[3], "VVEVVVEV");
}
