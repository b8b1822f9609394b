//! The preset `recorded` on real recordings, which are not part of the
//! repository: its prompts against those that the providers reported.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use recap::dataset::{LoadOptions, load};
use recap::model::{CellOutcome, Transcript};
use recap::replay::{Subject, replay};
use recap::tokens::{Calibrate, Counter};

use common::talk::real;
use common::{block_on, offline};

/// Sessions of a folder, or `None` where the data is not at hand.
fn sessions(folder: &str) -> Option<Vec<Transcript>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(folder);
    if !path.exists() {
        eprintln!("skipped: ../shared/data is absent");
        return None;
    }
    Some(load(&path, &LoadOptions::default()).unwrap().transcripts)
}

/// Prompts in the provider's tokens: predicted and reported, by request.
fn prompts(transcript: Transcript) -> Vec<(u32, u64, u64)> {
    let counter = Counter::default().calibrating(Calibrate::WhereReported);
    let subject = Subject::new("d", transcript, Arc::new(counter));
    let plan = real("recorded", 1_000_000, &[]);
    let replayed = block_on(replay(&subject, &plan, &offline()));
    let CellOutcome::Done(rows) = replayed.cell.outcome else { panic!("it failed") };
    let transcript = &subject.recording.transcript;
    let requests = transcript.requests().zip(&rows.requests);
    let read = requests.filter_map(|(message, row)| {
        let prompt = transcript.messages[message as usize].usage?.prompt();
        (prompt > 0).then_some((message, row.tokens_sent, prompt))
    });
    read.collect()
}

#[test]
fn prompts_behind_a_recorded_compaction_are_near_the_reported_ones() {
    for folder in ["claude-code-sessions", "pi-sessions", "opencode", "codex-rollouts"] {
        let Some(all) = sessions(folder) else { return };
        for transcript in all.into_iter().filter(|t| !t.compactions.is_empty()) {
            if transcript.compactions.iter().any(|c| c.unreadable.is_some()) {
                continue;
            }
            let boundaries: Vec<u32> = transcript.compactions.iter().map(|c| c.after).collect();
            let id = transcript.id.chars().take(24).collect::<String>();
            let found = prompts(transcript);
            for (number, after) in boundaries.iter().enumerate() {
                let to = boundaries.get(number + 1).copied().unwrap_or(u32::MAX);
                let behind = found.iter().filter(|(at, ..)| (*after..to).contains(at));
                let errors: Vec<(f64, u64, u64)> = behind
                    .map(|(_, sent, reported)| {
                        ((*sent as f64 / *reported as f64 - 1.0) * 100.0, *sent, *reported)
                    })
                    .collect();
                let first: Vec<String> =
                    errors.iter().take(4).map(|(e, s, r)| format!("{e:+.1}% ({s}/{r})")).collect();
                let mut all: Vec<f64> = errors.iter().map(|(e, ..)| e.abs()).collect();
                all.sort_by(f64::total_cmp);
                let median = all.get(all.len() / 2).copied().unwrap_or(f64::NAN);
                println!(
                    "{id} boundary {after}: {} requests, first {first:?}, median |e| {median:.1}%",
                    all.len()
                );
            }
        }
    }
}
