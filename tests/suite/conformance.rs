//! The contract of every built-in strategy, on sessions by chance.

use crate::common::{any_session, block_on, ledger, offline, plan, prepared, sent, strategy};
use proptest::prelude::*;
use recap_core::model::{CellOutcome, LedgerState};
use recap_replay::{Plan, PreparedSession, ReplaySession, WindowSpec, replay};
use recap_strategy::{Sent, Strategy, builtin, builtin_names, pairs_are_whole};

/// Every strategy but the control that is asked and never replayed.
fn replayed() -> impl Iterator<Item = &'static str> {
    builtin_names().filter(|name| *name != "evidence")
}

/// Every fourth of them: each session by chance is tried on one quarter.
fn quarter(at: usize) -> impl Iterator<Item = &'static str> {
    replayed().skip(at).step_by(4)
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_strategy_runs_through_and_twice_the_same(session in any_session(), part in 0usize..4) {
        let prepared = prepared(session);
        let window: WindowSpec = "30%".parse().unwrap();
        let tokens = window.tokens(&prepared.recording.sizes, 0).unwrap();
        for name in quarter(part) {
            let plan = plan(builtin(name, &[]).unwrap().unwrap(), tokens);
            let run = || block_on(replay(&prepared, &plan, &offline()));
            let (mut first, mut second) = (run(), run());
            for replayed in [&mut first, &mut second] {
                if let CellOutcome::Done(rows) = &mut replayed.cell.outcome {
                    rows.cpu_ms = 0.0;
                }
            }
            prop_assert_eq!(&first.cell, &second.cell, "{}", name);
            let rows = match &first.cell.outcome {
                CellOutcome::Done(rows) => rows,
                CellOutcome::Failed { error } => panic!("{name}: {error}"),
            };
            prop_assert_eq!(rows.requests.len(), prepared.facts.requests.len());
            let messages = prepared.facts.messages.len() as u32;
            prop_assert!(rows.loss.iter().all(|row| row.message < messages), "{}", name);
        }
    }

    #[test]
    fn sums_and_ledger_agree_with_what_is_sent(session in any_session(), at in any::<prop::sample::Index>(), part in 0usize..4) {
        let prepared = prepared(session);
        let requests = prepared.facts.requests.len();
        prop_assume!(requests > 0);
        let request = at.index(requests) as u32;
        let window: WindowSpec = "30%".parse().unwrap();
        let tokens = window.tokens(&prepared.recording.sizes, 0).unwrap();
        for name in quarter(part) {
            let plan = plan(builtin(name, &[]).unwrap().unwrap(), tokens);
            let compactor = offline();
            let mut replay = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
            block_on(replay.run_to_request(request)).unwrap_or_else(|e| panic!("{name}: {e}"));
            let context = replay.context();
            let sent: u64 = context.visible().map(|id| context.entry(id).unwrap().weight.tokens).sum();
            prop_assert_eq!(context.messages_weight().tokens, sent, "{}", name);
            prop_assert_eq!(context.message_count() as usize, context.visible().count(), "{}", name);
            for id in context.visible() {
                if let Some(index) = id.index() {
                    prop_assert!(index < context.seen_count(), "{} invented {}", name, index);
                    let state = context.state(index);
                    prop_assert!(matches!(state, LedgerState::Verbatim | LedgerState::Edited));
                }
            }
        }
    }

    #[test]
    fn incrementally_updated_prompt_equals_freshly_built_prompt(session in any_session(), part in 0usize..4) {
        let prepared = prepared(session);
        let window: WindowSpec = "30%".parse().unwrap();
        let tokens = window.tokens(&prepared.recording.sizes, 0).unwrap();
        for name in quarter(part) {
            let plan = plan(builtin(name, &[]).unwrap().unwrap(), tokens);
            prompts_follow_the_context(&prepared, &plan);
        }
    }

    #[test]
    fn contexts_restored_at_every_request_are_identical(session in any_session(), part in 0usize..4) {
        let prepared = prepared(session);
        let window: WindowSpec = "30%".parse().unwrap();
        let tokens = window.tokens(&prepared.recording.sizes, 0).unwrap();
        for name in quarter(part) {
            let plan = plan(builtin(name, &[]).unwrap().unwrap(), tokens);
            copied_everywhere(&prepared, &plan);
        }
    }
}

/// At every request: the prompt is that of the context, and what it has in
/// common with the one before is what one sees by comparing them.
fn prompts_follow_the_context(prepared: &PreparedSession, plan: &Plan) {
    let name = &plan.strategy.name;
    let compactor = offline();
    let mut before = Vec::new();
    for request in 0..prepared.facts.requests.len() as u32 {
        let mut session = ReplaySession::open(prepared, plan, &compactor).unwrap();
        block_on(session.run_to_request(request)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut afresh = Sent::new(None);
        afresh.update(&mut session.context().clone());
        let blocks = session.prompt().blocks();
        assert_eq!(blocks, afresh.prompt().blocks(), "{name} at request {request}");
        assert_eq!(session.prompt().tokens(), session.context().weight().tokens, "{name}");
        let row = session.last_request().unwrap();
        let same = blocks.iter().zip(&before).take_while(|(now, then)| now == then).count();
        assert_eq!(row.common_prefix, session.prompt().end(same), "{name} at request {request}");
        let (system, changes) = (&prepared.recording.session.preamble_changes, request > 0);
        if system.is_empty() {
            assert_eq!(row.cache_break, changes && same < before.len(), "{name} at {request}");
        }
        before = blocks.to_vec();
    }
}

/// Replays twice side by side, one of them dropped for its copy before every
/// message. Says whether anything was ever changed.
fn copied_everywhere(prepared: &PreparedSession, plan: &Plan) -> bool {
    let name = &plan.strategy.name;
    let compactor = offline();
    let mut straight = ReplaySession::open(prepared, plan, &compactor).unwrap();
    let mut resumed = ReplaySession::open(prepared, plan, &compactor).unwrap();
    let mut changed = false;
    block_on(async {
        loop {
            resumed = resumed.copied().unwrap();
            let more = straight.step().await.unwrap_or_else(|e| panic!("{name}: {e}"));
            let also = resumed.step().await.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(more, also, "{name}");
            assert_eq!(sent(&straight), sent(&resumed), "{name}");
            assert_eq!(ledger(&straight), ledger(&resumed), "{name}");
            assert_eq!(straight.context().weight(), resumed.context().weight(), "{name}");
            changed |= ledger(&straight).contains(['E', 'F', '.']);
            if !more {
                return;
            }
        }
    });
    changed
}

#[test]
fn every_strategy_compacts_bundled_session_and_goes_on_as_copy() {
    let dataset = recap_formats::bundled("quickstart").unwrap().unwrap();
    let mut session = dataset.sessions.into_iter().next().unwrap();
    session.messages.truncate(160);
    let prepared = prepared(session);
    let window: WindowSpec = "25%".parse().unwrap();
    let tokens = window.tokens(&prepared.recording.sizes, 0).unwrap();
    for name in replayed() {
        let plan = plan(builtin(name, &[]).unwrap().unwrap(), tokens);
        let changed = copied_everywhere(&prepared, &plan);
        // The session holds no recorded compaction and none of Zoea's game tools.
        let unchanged = ["full", "recorded", "snapshot-dedup-zoea"].contains(&name);
        assert_eq!(changed, !unchanged, "{name}");
    }
}

#[test]
fn strategy_names_are_kebab_case_and_match_files() {
    for name in replayed() {
        let strategy = builtin(name, &[]).unwrap().unwrap();
        assert_eq!(strategy.name, name);
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        assert!(!strategy.summary.is_empty() && !strategy.source.is_empty(), "{name}");
    }
}

/// The strategies that cut pairs, by declaration.
fn breaking() -> Vec<Strategy> {
    let stage = |mechanism: &str| {
        strategy(&format!(
            "[[stage]]\nat = \"request\"\nwhen = \"always\"\nkeep_pairs = false\n\
             breaks_pairs = true\nmechanism = {mechanism}"
        ))
    };
    let recorded = builtin("recorded", &[]).unwrap().unwrap();
    vec![
        stage("\"sliding-window\"\nlast = 4"),
        stage("\"snapshot-dedup\"\ntools = [\"read\", \"get_ship\"]"),
        recorded,
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn each_request_says_whether_its_pairs_are_whole(session in any_session()) {
        let prepared = prepared(session);
        for strategy in breaking() {
            let (plan, compactor) = (plan(strategy, 1_000), offline());
            let replayed = block_on(replay(&prepared, &plan, &compactor));
            let CellOutcome::Done(rows) = replayed.cell.outcome else { panic!("it failed") };
            for (number, row) in (0u32..).zip(rows.requests.iter()) {
                let mut replay = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
                prop_assert!(block_on(replay.run_to_request(number)).unwrap());
                prop_assert_eq!(row.valid, pairs_are_whole(replay.context()).is_ok());
            }
        }
    }
}
