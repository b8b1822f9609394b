//! Seed 000 (Arachne), its existing hard FIFO above 85 %. The rest of that seed
//! is tested beside `session-state`.
//! Each test names its sentence.

use crate::common;
use crate::common::talk::{Talk, at_last, at_request, even, last, real, shown};
use crate::common::{block_on, offline, plan, prepared, strategy};
use recap_core::model::{
    CellOutcome, CellRows, PreambleChange, RecordedCompaction, RecordedTrigger, Session,
};
use recap_replay::{Plan, replay};
use recap_strategy::builtin;

fn fifo(window: u64) -> Plan {
    real("fifo", window, &[])
}

/// Seed 000: the hard FIFO behind compression: "drops the oldest messages"
#[test]
fn fallback_of_every_seed_strategy_drops_messages() {
    for name in ["arachne", "session-state", "session-state-system"] {
        let strategy = builtin(name, &[]).unwrap().unwrap();
        let fallback = strategy.stages.last().unwrap();
        assert_eq!(fallback.mechanism.name, "fifo", "{name}");
    }
}

/// Four exchanges of 200 tokens, and a user message of `newest` tokens.
fn exchanges(newest: usize) -> Session {
    let talk = (0..4).fold(Talk::new(""), |talk, _| talk.user(100).says(100));
    talk.user(newest).says(1).end()
}

/// Seed 000: > 85 %: hard FIFO; < 85 % none
#[test]
fn oldest_message_is_dropped_only_above_85_percent() {
    let fifo = fifo(1_000);
    assert_eq!(last(&exchanges(50), &fifo), "VVVVVVVVV");
    assert_eq!(last(&exchanges(51), &fifo), ".VVVVVVVV");
}

/// Seed 000: a safety net: no more than needed
#[test]
fn no_more_is_dropped_than_the_limit_requires() {
    let fifo = fifo(1_000);
    // 1,050 less two messages are 850; 1,051 needs a third one.
    assert_eq!(last(&exchanges(250), &fifo), "..VVVVVVV");
    assert_eq!(last(&exchanges(251), &fifo), "...VVVVVV");
}

/// Seed 000: system prompt outside the message history
#[test]
fn the_system_prompt_counts_and_is_never_dropped() {
    let mut talk = exchanges(50);
    talk.preamble.system = vec![even(300)];
    at_last(&talk, &fifo(1_000), |session| {
        // 1,150 less three messages are 850.
        assert_eq!(shown(session), [3, 4, 5, 6, 7, 8]);
        assert_eq!(session.context().preamble_weight().tokens, 300);
    });
}

fn rows(session: &Session, plan: &Plan) -> CellRows {
    match block_on(replay(&prepared(session.clone()), plan, &offline())).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

/// Seed 000: a single message over the budget is a separate concern
#[test]
fn single_message_over_budget_is_sent_and_overflows() {
    // The current user message is sent whole, and the request overflows.
    let talk = exchanges(1_100);
    let fifo = fifo(1_000);
    assert_eq!(last(&talk, &fifo), "........V");
    let rows = rows(&talk, &fifo);
    let overflows: Vec<bool> = rows.requests.iter().map(|r| r.overflow).collect();
    assert_eq!(overflows, [false, false, false, false, true]);
}

/// Seed 000: original messages remain untouched in the DB
#[test]
fn dropping_costs_no_model_call_and_keeps_originals() {
    let (talk, fifo) = (exchanges(51), fifo(1_000));
    assert!(rows(&talk, &fifo).compactions.iter().all(|row| row.model_calls == 0));
    at_last(&talk, &fifo, |session| assert_eq!(session.context().stored().count(), 9));
}

/// Seed 000: truncation is made anew for each request
#[test]
fn dropped_messages_return_when_there_is_room() {
    let mut talk = exchanges(50);
    talk.preamble.system = vec![even(300)];
    let shorter = PreambleChange { before: 8, system: vec![even(10)] };
    talk.preamble_changes = vec![shorter];
    let fifo = fifo(1_000);
    // Before row 7 there are 300 and 700, so 150 are too many. Before row 9
    // there are 10 and 850, so 10 are. With 40 tokens less all of it fits.
    assert_eq!(at_request(&talk, &fifo, 3, shown), [2, 3, 4, 5, 6]);
    assert_eq!(at_request(&talk, &fifo, 4, shown), [1, 2, 3, 4, 5, 6, 7, 8]);
    let mut room = exchanges(10);
    room.preamble.system = vec![even(300)];
    room.preamble_changes = talk.preamble_changes;
    assert_eq!(at_request(&room, &fifo, 3, shown), [2, 3, 4, 5, 6]);
    assert_eq!(at_request(&room, &fifo, 4, shown), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Seed 000: cut messages may still be compressed
#[test]
fn dropped_messages_can_still_be_folded_later() {
    let mut talk = exchanges(51);
    talk.messages.extend(Talk::new("").user(1).says(1).end().messages);
    talk.compactions = vec![RecordedCompaction {
        after: 11,
        kept_from: 9,
        summary: None,
        cleared: Vec::new(),
        trigger: RecordedTrigger::Auto,
        ..RecordedCompaction::default()
    }];
    let stages = "[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\n\
                  when = { above = \"window\", share = 0.85 }\n\
                  [[stage]]\nmechanism = \"continuation\"\nat = \"append\"\nwhen = \"recorded\"\n\
                  keep_last = 2\nmax_tokens = 20\nkeep_summaries = \"all\"\nrequest = \"fresh\"\n\
                  prompt = \"p\"";
    let plan = plan(strategy(stages), 1_000);
    assert_eq!(at_request(&talk, &plan, 4, common::ledger), ".VVVVVVVV");
    assert_eq!(last(&talk, &plan), "FFFFFFFFFVV");
}

/// Seed 000: stages see what earlier ones did (ours)
#[test]
fn what_a_stage_before_it_hides_frees_nothing() {
    // The window leaves rows 2 to 6, 210 tokens, 60 too many: rows 2 and 3 have
    // to go too, though rows 0 and 1 alone weigh 1,000.
    let talk = Talk::new("").user(500).says(500).user(50).says(50).user(50).says(50);
    let talk = talk.user(10).says(1).end();
    let stages = "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\n\
                  last = 5\n[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\n\
                  when = { above = \"window\", share = 0.15 }";
    assert_eq!(last(&talk, &plan(strategy(stages), 1_000)), "....VVV");
}
