//! Seed 003 (Zoea Nova), sentence by sentence: the window of 20 rows, snapshot
//! compaction, and the whole system.
//! Each test names its sentence.
//!
//! Where strategies depart from it:
//!
//! - `sliding-window`, `snapshot-dedup`: pairs are kept whole, since providers refuse orphans;
//!   the strategies ending in `-zoea` do as the design does.
//! - `snapshot-dedup`: `tools = "auto"`, so that it acts on sessions other than the game's.
//!   Kept pairs leave the context for good: a superseded snapshot never comes back, so every
//!   request is the same as if it were hidden.
//! - all but `zoea`, `zoea-as-written`: guidance and search tools are no part of a window or a
//!   deduplication; `sliding-window-search` has the search tools.
//! - `zoea`: pairs are kept whole in both stages, since a system that runs may not be refused
//!   by its provider; `zoea-as-written` parts them as the design does. Kept whole, a superseded
//!   snapshot leaves with its call, and results whose call lies before the window are not sent:
//!   a request may hold fewer rows.
//! - `zoea`, `zoea-as-written`: the reminder of the continue prompt stands in the system
//!   prompt, beside the guidance: no continue prompt is added to a recording.
//! - `zoea`, `zoea-as-written`: a search may give a text alone: then the `limit` is the 20 of
//!   the design's examples, and the agent whose messages are searched the recorded one, whose
//!   `mysis_id` is the session's id.

use crate::common;
use crate::common::talk::{Talk, at_last, at_request, from_disk, last, real, shown, unscaled};
use crate::common::{ledger, plan, replayed, strategy};
use recap_core::model::{Role, Session};
use recap_core::tokens::Counter;
use recap_strategy::{Archived, Channel, EntryId};

const SEVEN: [&str; 7] = [
    "get_ship",
    "get_system",
    "get_poi",
    "get_nearby",
    "get_cargo",
    "zoea_swarm_status",
    "zoea_list_myses",
];

/// 26 rows, taking turns.
fn turns() -> Session {
    (0..13).fold(Talk::new("Mine and trade."), |talk, _| talk.user(1).says(1)).end()
}

/// Seed 003: only recent messages: last 20
#[test]
fn only_the_last_20_messages_are_sent() {
    let plan = real("sliding-window", 200_000, &[]);
    // The tenth request has 19 rows before it, the eleventh 21, the last 25.
    assert_eq!(at_request(&turns(), &plan, 9, shown), (0..19).collect::<Vec<_>>());
    assert_eq!(at_request(&turns(), &plan, 10, shown), (1..21).collect::<Vec<_>>());
    assert_eq!(at_request(&turns(), &plan, 12, shown), (5..25).collect::<Vec<_>>());
}

/// Seed 003: system prompt always included; prepended if it is not already there
#[test]
fn system_prompt_is_always_included_exactly_once() {
    let prompt = Counter::default().count("Mine and trade.");
    assert!(prompt > 0);
    for name in ["sliding-window", "sliding-window-zoea", "snapshot-dedup-zoea"] {
        let plan = real(name, 200_000, &[]);
        for request in 0..13 {
            at_request(&turns(), &plan, request, |session| {
                let context = session.context();
                assert_eq!(context.preamble_weight().tokens, prompt, "{name}, {request}");
                let roles = context.visible().map(|id| context.entry(id).unwrap().role);
                assert!(!roles.into_iter().any(|role| role == Role::System), "{name}");
            });
        }
    }
}

/// Seed 003: each tool call adds multiple messages (request + result)
#[test]
fn call_and_each_result_are_one_row_each() {
    // Five calls of three tools are twenty rows, 1 to 20.
    let rows = |talk: Talk| {
        (0..5).fold(talk, |talk, round| {
            let id = |tool: usize| format!("{round}-{tool}");
            let calls = [id(0), id(1), id(2)];
            let block = |at: usize| (calls[at].as_str(), "mine");
            let talk = talk.calls(&[block(0), block(1), block(2)]);
            calls.iter().fold(talk, |talk, call| talk.result(call, 1))
        })
    };
    let plan = real("sliding-window-zoea", 200_000, &[]);
    let exactly = rows(Talk::new("").user(1)).says(1).end();
    assert_eq!(at_last(&exactly, &plan, shown), (1..21).collect::<Vec<_>>());
    // One row more, and the first call message is outside. The seed sends its
    // three results all the same; with pairs kept they go with it.
    let more = rows(Talk::new("").user(1)).user(1).says(1).end();
    assert_eq!(at_last(&more, &plan, shown), (2..22).collect::<Vec<_>>());
    let kept = real("sliding-window", 200_000, &[]);
    assert_eq!(at_last(&more, &kept, shown), (5..22).collect::<Vec<_>>());
}

/// Seed 003: all messages since creation stay in full memory
#[test]
fn the_full_memory_keeps_all_messages() {
    at_last(&turns(), &real("sliding-window", 200_000, &[]), |session| {
        let stored: Vec<EntryId> = session.context().stored().collect();
        assert_eq!(stored, (0..25).map(EntryId::message).collect::<Vec<_>>());
    });
}

/// Seed 003: MaxContextMessages can be adjusted
#[test]
fn window_is_a_tunable_count_that_never_scales() {
    let tuned = real("sliding-window", 200_000, &[("last", "3")]);
    assert_eq!(at_last(&turns(), &tuned, shown), [22, 23, 24]);
    let small = real("sliding-window", 2_000, &[]);
    assert_eq!(at_last(&turns(), &small, shown).len(), 20);
    assert_eq!(at_last(&turns(), &unscaled(small), shown).len(), 20);
}

/// Seed 003: the seven snapshotTools
#[test]
fn seven_snapshot_tools_each_keep_only_latest_result() {
    for tool in SEVEN {
        let twice = Talk::new("").user(1).uses(tool, &[5, 5]).says(1).end();
        let rows = last(&twice, &real("snapshot-dedup-zoea", 200_000, &[]));
        assert_eq!(rows, "VV.VV", "{tool}");
    }
    for tool in ["mine", "get_status", "GET_SHIP", "zoea_search_messages"] {
        let twice = Talk::new("").user(1).uses(tool, &[5, 5]).says(1).end();
        let rows = last(&twice, &real("snapshot-dedup-zoea", 200_000, &[]));
        assert_eq!(rows, "VVVVV", "{tool}");
    }
}

/// Seed 003: the most recent result for each snapshot tool
#[test]
fn newest_is_kept_for_each_tool_separately() {
    // 1-2 and 5-6 ask for the ship, 3-4 and 7-8 for the cargo, 9-10 for the system.
    let talk = Talk::new("").user(1).uses("get_ship", &[1]).uses("get_cargo", &[1]);
    let talk = talk.uses("get_ship", &[1]).uses("get_cargo", &[1]).uses("get_system", &[1]);
    let rows = last(&talk.says(1).end(), &real("snapshot-dedup-zoea", 200_000, &[]));
    assert_eq!(rows, "VV.V.VVVVVV");
}

/// Seed 003: the latest state is always available
#[test]
fn snapshot_stays_until_a_newer_one_exists() {
    let talk = Talk::new("").user(1).uses("get_ship", &[1, 1, 1]).says(1).end();
    let rows = replayed(talk, &real("snapshot-dedup-zoea", 200_000, &[]), &common::offline());
    assert_eq!(rows, ["V", "VVV", "VV.VV", "VV.V.VV"]);
}

/// Seed 003: multiple results from the same snapshot tool
#[test]
fn tool_name_identifies_snapshot_whatever_its_arguments() {
    // The two calls differ in their argument `id`.
    let calls = Talk::new("").user(1).calls(&[("a", "get_poi"), ("b", "get_poi")]);
    let rows = last(
        &calls.result("a", 1).result("b", 1).says(1).end(),
        &real("snapshot-dedup-zoea", 200_000, &[]),
    );
    assert_eq!(rows, "VV.V");
}

/// Seed 003: resolved by tool call id, not by similar fields
#[test]
fn results_resolve_through_call_ids_not_their_content() {
    let ship = "{\"ship\": {\"hull\": 100}, \"cargo\": []}";
    // The mining results look like ships; the ships come in another order than
    // they were called for.
    let talk = Talk::new("").user(1).calls(&[("s1", "get_ship"), ("m1", "mine")]);
    let talk = talk.result_text("m1", ship).result_text("s1", ship);
    let talk = talk.calls(&[("m2", "mine"), ("s2", "get_ship")]);
    let talk = talk.result_text("s2", ship).result_text("m2", ship).says(1).end();
    let rows = last(&talk, &real("snapshot-dedup-zoea", 200_000, &[]));
    assert_eq!(rows, "VVV.VVV");
}

/// Seed 003: preserves all non-snapshot messages, chronological order
#[test]
fn other_messages_and_results_stay_in_chronological_order() {
    let talk = Talk::new("").user(1).uses("get_ship", &[1]).says(1).uses("mine", &[1, 1]);
    let talk = talk.user(1).uses("get_ship", &[1]).says(1).end();
    at_last(&talk, &real("snapshot-dedup-zoea", 200_000, &[]), |session| {
        assert_eq!(shown(session), [0, 1, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(ledger(session), "VV.VVVVVVVV");
    });
}

/// The stages of getContextMemories(): window first, then deduplication.
fn both(last: u32) -> recap_replay::Plan {
    let stage = |mechanism: &str, rest: &str| {
        format!(
            "[[stage]]\nmechanism = \"{mechanism}\"\nat = \"request\"\nwhen = \"always\"\n\
             keep_pairs = false\nbreaks_pairs = true\n{rest}\n"
        )
    };
    let window = stage("sliding-window", &format!("last = {last}"));
    let dedup = stage("snapshot-dedup", "tools = [\"get_ship\"]");
    plan(strategy(&format!("{window}{dedup}")), 200_000)
}

/// Seed 003: fetch the N most recent, then apply snapshot compaction
#[test]
fn window_precedes_deduplication_and_may_leave_under_20() {
    // A user message and twelve pairs, rows 0 to 24. The window holds rows 5
    // to 24, ten pairs, of which nine results are superseded. Deduplicated
    // first, the 14 rows left would all fit.
    let talk = Talk::new("").user(1).uses("get_ship", &[1; 12]).says(1).end();
    let calls = (5..25).step_by(2);
    let expected: Vec<u32> = calls.chain([24]).collect();
    assert_eq!(at_last(&talk, &both(20), shown), expected);
    assert_eq!(expected.len(), 11);
}

/// Seed 003: only when the call id resolves in `[TOOL_CALLS]` memories
#[test]
fn result_with_call_outside_window_has_no_tool() {
    // Rows 2 and 3 answer row 1. Inside the window both resolve and the newer
    // one supersedes; without row 1 nothing says what they are.
    let talk = Talk::new("").user(1).calls(&[("a", "get_ship"), ("b", "get_ship")]);
    let talk = talk.result("a", 1).result("b", 1).says(1).end();
    assert_eq!(at_last(&talk, &both(3), shown), [1, 3]);
    assert_eq!(at_last(&talk, &both(2), shown), [2, 3]);
}

/// Seed 003: only when the call id resolves; the latest state is always available
#[test]
fn late_result_without_its_call_supersedes_nothing() {
    // Row 4 answers row 1, behind the call of row 2 and its result.
    let talk = Talk::new("").user(1).calls(&[("a", "get_ship")]).calls(&[("b", "get_ship")]);
    let talk = from_disk(talk.result("b", 1).result("a", 1).says(1).end());
    assert_eq!(at_last(&talk, &both(4), shown), [1, 2, 4]);
    assert_eq!(at_last(&talk, &both(3), shown), [2, 3, 4]);
    // With pairs kept the late result is left out, and the other one stays.
    assert_eq!(at_last(&talk, &real("zoea", 200_000, &[("last", "3")]), shown), [2, 3]);
}

/// Seed 003: getContextMemories(): N most recent, snapshot compaction, system prompt
#[test]
fn whole_system_assembles_context_like_the_seed() {
    // The 25 rows of the test above: the window first, then deduplication.
    let talk = Talk::new("Play.").user(1).uses("get_ship", &[1; 12]).says(1).end();
    let calls = (5..25).step_by(2);
    let expected: Vec<u32> = calls.chain([24]).collect();
    assert_eq!(at_last(&talk, &real("zoea-as-written", 200_000, &[]), shown), expected);
    // With pairs kept, calls leave with their results: the newest pair is left.
    assert_eq!(at_last(&talk, &real("zoea", 200_000, &[]), shown), [23, 24]);
    assert_eq!(at_last(&turns(), &real("zoea", 200_000, &[]), shown), (5..25).collect::<Vec<_>>());
}

/// Seed 003: pairs in the whole system (ours: kept)
#[test]
fn whole_system_sends_only_what_providers_accept() {
    // The cut after 20 rows lies between a call and its result.
    let talk = Talk::new("Play.").user(1).uses("mine", &[1; 6]).uses("get_ship", &[1; 5]).says(1);
    let talk = talk.end();
    let valid = |plan: &recap_replay::Plan| {
        at_last(&talk, plan, |session| session.last_request().unwrap().valid)
    };
    assert!(valid(&real("zoea", 200_000, &[])));
    assert!(!valid(&real("zoea-as-written", 200_000, &[])));
}

/// Seed 003: the guidance in the system prompt; the continue prompt's reminder
#[test]
fn system_prompt_holds_guidance_and_continue_prompt_reminder() {
    let guidance = "\
## Memory
Use captain's log to persist important information across sessions.

## Context & Memory Management
Your context window is limited. Recent state snapshots are kept, but older messages are removed.
If you need information from earlier in the conversation:
- Use zoea_search_messages to find past messages by keyword
- Use zoea_search_reasoning to find past reasoning by keyword
- Use captain's log for persistent notes across sessions

CRITICAL REMINDERS:
- If you need past data, use zoea_search_messages or zoea_search_reasoning";
    for request in 0..13 {
        at_request(&turns(), &real("zoea", 200_000, &[]), request, |session| {
            let notes: Vec<&str> = session.context().notes().map(|(_, text)| text).collect();
            assert_eq!(notes, [guidance]);
            assert_eq!(session.context().head(), format!("Mine and trade.\n\n{guidance}"));
        });
    }
}

/// The past of an agent: what it heard, thought and said.
fn past() -> Vec<Archived> {
    let message = |number, role, content: &str, reasoning: Option<&str>| Archived {
        message: number,
        role,
        source: None,
        content: content.into(),
        reasoning: reasoning.map(Into::into),
        broadcast: false,
        at: format!("2026-01-18T10:0{number}:00Z").parse().ok(),
        tokens: 1,
        terms: std::sync::OnceLock::new(),
    };
    let heard = message(0, Role::User, "enemy spotted near the iron ore", None);
    let result = message(2, Role::Tool, "iron ore: 3 units", None);
    vec![
        Archived { broadcast: true, ..heard },
        message(1, Role::Assistant, "I mine.", Some("The travel cooldown is over; iron ore.")),
        Archived { source: Some("mine".into()), ..result },
    ]
}

/// Seed 003: zoea_search_messages, zoea_search_broadcasts, zoea_search_reasoning
#[test]
fn older_memories_are_found_with_three_search_tools() {
    let plan = real("zoea", 200_000, &[]);
    let past = past();
    let channel = Channel::new(plan.strategy.recovery.expect("it has a channel"), &past);
    let found = |tool: &str, query: &str| -> Vec<u32> {
        channel.call(tool, query).iter().map(|hit| hit.message).collect()
    };
    assert_eq!(found("zoea_search_messages", "iron ore"), [2, 0]);
    assert_eq!(found("zoea_search_messages", "Iron ore"), [0; 0], "case-sensitive");
    assert_eq!(found("zoea_search_broadcasts", "enemy spotted"), [0]);
    assert_eq!(found("zoea_search_broadcasts", "units"), [0; 0]);
    assert_eq!(found("zoea_search_reasoning", "travel cooldown"), [1]);
    assert_eq!(channel.spec.tools.len(), 3);
}

/// Seed 003: returns role, source, content, reasoning and timestamp
#[test]
fn search_returns_role_source_content_reasoning_and_timestamp() {
    let plan = real("zoea", 200_000, &[]);
    let past = past();
    let channel = Channel::new(plan.strategy.recovery.expect("it has a channel"), &past);
    let [mined, _] = channel.call("zoea_search_messages", "iron ore")[..] else { panic!("two") };
    assert_eq!((mined.role, mined.source.as_deref()), (Role::Tool, Some("mine")));
    assert_eq!(&*mined.content, "iron ore: 3 units");
    assert_eq!(mined.at.unwrap().to_string(), "2026-01-18T10:02:00Z");
    let thought = channel.call("zoea_search_reasoning", "travel cooldown")[0];
    assert_eq!(thought.reasoning.as_deref(), Some("The travel cooldown is over; iron ore."));
    assert_eq!((thought.role, &*thought.content), (Role::Assistant, "I mine."));
}
