//! Roles around what strategies write: whether a message that a strategy wrote
//! and its neighbour are of one role. Arachne's design asks that roles take
//! turns; other designs and agents put one message of a fixed role in front.
//! Messages of the system take no turns.

use std::collections::BTreeSet;

use crate::common::talk::{Talk, real};
use crate::common::{block_on, offline, prepared};
use recap_core::model::{Role, Session};
use recap_replay::ReplaySession;
use recap_strategy::builtin_names;

/// Strategies under which two messages of one role follow on each other, and
/// why. Providers take such a request; Anthropic's joins the two.
const KNOWN: &[(&str, &str, &str)] = &[
    ("anchored-summary", "user", "no role is described: ours"),
    ("anthropic-compaction", "assistant", "the block stands in the assistant's message"),
    ("chunked-summary", "user", GSV),
    ("codex", "user", "the source has it behind the user's messages, as one of them"),
    ("gsv", "user", GSV),
    ("gsv-daily", "user", GSV),
    ("gsv-idle", "user", GSV),
    ("hybrid", "user", "the task stays in front of it; its role is ours"),
    ("lis", "user", "seed 002 names no role: \"parent summary → session summary → messages\""),
    ("opencode", "assistant", "the source's tail may begin inside a turn"),
];

const GSV: &str =
    "seed 004: \"a single synthetic \"user\" message\", then the recent ones verbatim";

/// Chats and agents' turns, with short and long messages.
fn sessions() -> Vec<Session> {
    let chat = (0..20).fold(Talk::new("S"), |talk, n| talk.user(40 + n).says(90 + n));
    let turn = |talk: Talk| talk.user(50).uses("read", &[90; 12]).says(30);
    let turns = (0..3).fold(Talk::new("S"), |talk, _| turn(talk));
    let mixed = (0..6).fold(Talk::new("S"), |talk, n| talk.user(60).uses("read", &[150]).says(n));
    let reset = (0..4).fold(Talk::new("S"), |talk, _| {
        let talk = talk.user(200).says(200).asks("/compact").says(1).asks("/new").says(1);
        talk.user(300).says(300).asks("/resume").says(1)
    });
    [chat, turns, mixed, reset].into_iter().map(Talk::close).collect()
}

/// Roles that follow on themselves where a strategy wrote one of the two.
fn doubled(session: &ReplaySession<'_>) -> BTreeSet<&'static str> {
    let context = session.context();
    let sent: Vec<_> = context.visible().collect();
    let role = |at: usize| context.entry(sent[at]).unwrap().role;
    let is_written = |at: usize| sent[at].index().is_none();
    let pairs = (1..sent.len()).filter(|&at| is_written(at - 1) || is_written(at));
    let doubled = pairs.filter(|&at| role(at - 1) == role(at) && role(at) != Role::System);
    doubled.map(|at| role(at).as_str()).collect()
}

#[test]
fn written_messages_take_turns_but_for_known_ones() {
    let mut found = BTreeSet::new();
    for name in builtin_names().filter(|name| *name != "evidence") {
        for session in sessions() {
            let prepared = prepared(session);
            for window in [1_000, 1_500, 2_200, 3_000] {
                let (plan, compactor) = (real(name, window, &[]), offline());
                let requests = prepared.facts.requests.len() as u32;
                for request in (0..requests).rev().step_by(3) {
                    let mut replay = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
                    assert!(block_on(replay.run_to_request(request)).unwrap());
                    found.extend(doubled(&replay).into_iter().map(|role| (name, role)));
                }
            }
        }
    }
    let known: BTreeSet<_> = KNOWN.iter().map(|(name, role, _)| (*name, *role)).collect();
    assert_eq!(found, known);
}
