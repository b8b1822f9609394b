//! The strategy `recorded` on real recordings, which are not part of the
//! repository: its prompts against those that the providers reported.

use std::sync::Arc;

use recap_core::clock::COMPACTOR;
use recap_core::model::{CellOutcome, RecordedTrigger, Session};
use recap_core::tokens::Counter;
use recap_formats::{LoadOptions, load};
use recap_replay::{PreparedSession, replay};
use serde_json::Value as Json;

use crate::common::talk::real;
use crate::common::{block_on, offline, shared};

/// Sessions of a folder, or `None` where the data is not at hand.
fn sessions(folder: &str) -> Option<Vec<Session>> {
    let path = shared(&format!("data/{folder}"))?;
    Some(load(&path, &LoadOptions::default()).unwrap().sessions)
}

/// Prompts in the provider's tokens: predicted and reported, by request.
fn prompts(session: Session) -> Vec<(u32, u64, u64)> {
    let counter = Counter::where_reported();
    let prepared = PreparedSession::new("d", session, Arc::new(counter));
    let plan = real("recorded", 1_000_000, &[]);
    let replayed = block_on(replay(&prepared, &plan, &offline()));
    let CellOutcome::Done(rows) = replayed.cell.outcome else { panic!("it failed") };
    let session = &prepared.recording.session;
    let requests = session.requests().zip(rows.requests.iter());
    let read = requests.filter_map(|(message, row)| {
        let prompt = session.messages[message as usize].usage?.prompt();
        (prompt > 0).then_some((message, row.tokens_sent, prompt))
    });
    read.collect()
}

/// Errors that are known: Claude Code puts files and reminders beside its
/// summary that its log leaves out; pi's and OpenCode's are those of the line
/// that calibrates (thinking that was sent, a hidden preamble read too small).
const BOUNDS: [(&str, f64); 3] =
    [("claude-code-sessions", 30.0), ("pi-sessions", 15.0), ("opencode", 15.0)];

#[test]
fn prompts_after_recorded_compaction_are_near_reported_ones() {
    for (folder, bound) in BOUNDS {
        let Some(all) = sessions(folder) else { return };
        for session in all.into_iter().filter(|t| !t.compactions.is_empty()) {
            let boundaries: Vec<u32> = session.compactions.iter().map(|c| c.after).collect();
            let id: String = session.id.chars().take(24).collect();
            let found = prompts(session);
            for (number, after) in boundaries.iter().enumerate() {
                let to = boundaries.get(number + 1).copied().unwrap_or(u32::MAX);
                let behind = found.iter().filter(|(at, ..)| (*after..to).contains(at));
                let errors: Vec<f64> = behind
                    .map(|(_, sent, reported)| (*sent as f64 / *reported as f64 - 1.0) * 100.0)
                    .collect();
                let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
                sizes.sort_by(f64::total_cmp);
                let Some(median) = sizes.get(sizes.len() / 2) else { continue };
                println!(
                    "{id} behind {after}: {} requests, first {:+.1} %, median {median:.1} %",
                    errors.len(),
                    errors[0]
                );
                assert!(errors[0].abs() <= bound && *median <= bound, "{id}: {errors:?}");
            }
        }
    }
}

#[test]
fn every_claude_code_summary_is_sent_verbatim() {
    let Some(all) = sessions("claude-code-sessions") else { return };
    let Some(folder) = shared("data/claude-code-sessions") else { return };
    let mut seen = 0;
    for session in all.into_iter().filter(|t| !t.compactions.is_empty()) {
        let log = folder.join(format!("{}.jsonl", session.id));
        let Ok(log) = std::fs::read_to_string(log) else { continue };
        let records = log.lines().filter_map(|l| serde_json::from_str::<Json>(l).ok());
        let summaries: Vec<String> = records
            .filter(|r| r["isCompactSummary"] == true)
            .map(|r| r["message"]["content"].as_str().unwrap().to_owned())
            .collect();
        let prepared = PreparedSession::new("d", session, Arc::new(Counter::default()));
        let plan = real("recorded", 1_000_000, &[]);
        let texts = block_on(replay(&prepared, &plan, &offline())).texts;
        for summary in &summaries {
            assert!(texts.values().any(|text| text == summary), "{}", plan.key.session);
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
}

#[test]
fn recorded_replay_fails_on_encrypted_summary() {
    let Some(all) = sessions("codex-rollouts") else { return };
    let encrypted: Vec<Session> = all.into_iter().filter(|t| !t.compactions.is_empty()).collect();
    assert_eq!(encrypted.len(), 1);
    for session in encrypted {
        let prepared = PreparedSession::new("d", session, Arc::new(Counter::default()));
        let plan = real("recorded", 1_000_000, &[]);
        let outcome = block_on(replay(&prepared, &plan, &offline())).cell.outcome;
        let CellOutcome::Failed { error } = outcome else { panic!("it ran through") };
        assert!(error.ends_with("the vendor encrypted its summary"), "{error}");
    }
}

/// Seconds that a compaction took that began by itself, beside what the model of
/// waits has for its summary with a prompt from the cache.
fn waits(folder: &str) -> Option<Vec<(f64, f64)>> {
    let counter = Counter::default();
    let seconds = |session: &Session| {
        let own = session.compactions.iter().filter(|c| c.trigger == RecordedTrigger::Auto);
        let own = own.filter_map(|compaction| {
            let before = session.messages.get(compaction.after.checked_sub(1)? as usize)?.at?;
            let took = compaction.at?.duration_since(before).as_secs_f64();
            let tokens = counter.count(compaction.summary.as_deref()?) as f64;
            let modelled = COMPACTOR.first_token_ms / 1_000.0 + tokens / COMPACTOR.decode_per_s;
            println!(
                "{folder}: {took:.1} s, {tokens} tokens, {:.1} a second, modelled {modelled:.1} s",
                tokens / (took - COMPACTOR.first_token_ms / 1_000.0)
            );
            Some((took, modelled))
        });
        own.collect::<Vec<_>>()
    };
    Some(sessions(folder)?.iter().flat_map(seconds).collect())
}

/// Fitted on the first folder, checked on the second.
#[test]
fn wait_model_matches_automatic_compactions() {
    for (folder, number) in [("claude-code-sessions", 6), ("context-evaluator", 2)] {
        let Some(waits) = waits(folder) else { return };
        assert_eq!(waits.len(), number, "{folder}");
        for (took, modelled) in waits {
            assert!((modelled / took - 1.0).abs() < 0.25, "{folder}: {took} s, {modelled} s");
        }
    }
}
