//! How good the questions made from real recordings are, which are not part of
//! the repository: how often the offline reader answers them without the
//! conversation (`empty`), from the messages around the evidence (`evidence`),
//! and from everything that the agent had (`full`). The strict offline judge
//! grades. The rules of the questions were made on the sessions of Claude Code
//! and Codex ("fitted"), not on the others ("held out"); what the reader failed
//! at was read on all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::common::shared;
use recap_core::model::{Expectation, Message, Question, QuestionKind, Session};
use recap_core::tokens::{Counter, Sizes};
use recap_exam::facts::{CompactableMessage, CutPlace, Cuts, places};
use recap_exam::questions::generate;
use recap_exam::roles::answerer::{AnswerContext, Answerer, Offline, Passage};
use recap_exam::roles::judge::{Grading, Offline as Judge};
use recap_formats::{Dataset, LoadOptions, load};

/// Recordings that the rules were made on.
const FITTED: [&str; 2] = ["claude-code-sessions", "codex-rollouts"];
/// Recordings that they were not made on.
const HELD_OUT: [&str; 5] = ["opencode", "openhands", "pi-sessions", "swe-agent", "tau-bench"];

fn data(name: &str) -> Option<Dataset> {
    let path = shared(&format!("data/{name}"))?;
    Some(load(&path, &LoadOptions::default()).unwrap())
}

fn cuts(session: &Session) -> Vec<CutPlace> {
    let sizes = Sizes::of(session, &Counter::default());
    let tokens: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
    // Those of first compactions and of long sessions: the more places, the more questions.
    let at = |depth| places(session, &tokens, Cuts::Spread(5), depth).unwrap_or_default();
    let mut both = [at(1), at(3)].concat();
    both.sort_by_key(|place| place.request);
    both.dedup_by_key(|place| place.request);
    both
}

/// Questions of one kind: how many, and how many were right in each context.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    n: u32,
    unscored: u32,
    right: [u32; 3],
}

fn shown(messages: impl Iterator<Item = usize>, session: &Session) -> AnswerContext {
    let passage = |m: &Message| Passage { role: m.role, at: m.at, text: m.sent().into() };
    let passages = messages.map(|at| passage(&session.messages[at])).collect();
    AnswerContext { passages, now: None }
}

/// The messages around the evidence of a question, among those of the cut.
fn around(question: &Question, session: &Session, held: &[usize]) -> Vec<usize> {
    let at = |id: &String| session.messages.iter().position(|m| m.id == *id).unwrap();
    let evidence: Vec<usize> = question.evidence.iter().map(at).collect();
    let near = |m: &usize| evidence.iter().any(|e| e.abs_diff(*m) <= 2);
    held.iter().copied().filter(near).collect()
}

fn measure(names: &[&str]) -> BTreeMap<QuestionKind, Row> {
    let mut rows: BTreeMap<QuestionKind, Row> = BTreeMap::new();
    let reader = Offline::new(Arc::new(Counter::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut log = String::new();
    for dataset in names.iter().filter_map(|name| data(name)) {
        for session in &dataset.sessions {
            let places = cuts(session);
            let all = generate(session, &places);
            for place in places {
                let here = all.iter().filter(|question| question.asked_at + 1 == place.from);
                let questions: Vec<Question> = here.cloned().collect();
                let kept = place.material.iter().filter(|kept| !kept.cleared);
                let held: Vec<usize> = kept.map(|kept| kept.message as usize).collect();
                let texts: Vec<&str> = questions.iter().map(|p| p.question.as_str()).collect();
                let ask = |shown: &AnswerContext, texts: &[&str]| -> Vec<String> {
                    let answers = runtime.block_on(reader.answer(shown, texts));
                    answers.into_iter().map(Result::unwrap).collect()
                };
                let full = ask(&shown(held.iter().copied(), session), &texts);
                for (question, full) in questions.iter().zip(full) {
                    let row = rows.entry(question.kind).or_default();
                    if matches!(question.expect, Expectation::Rubric(_)) {
                        row.unscored += 1;
                        continue;
                    }
                    row.n += 1;
                    let near = around(question, session, &held);
                    let near = shown(near.into_iter(), session);
                    let contexts = [AnswerContext::default(), near];
                    let mut said: Vec<String> =
                        contexts.iter().map(|c| ask(c, &[&question.question]).remove(0)).collect();
                    said.push(full);
                    let right: Vec<bool> =
                        said.iter().map(|said| is_right(question, said)).collect();
                    (0..3).for_each(|at| row.right[at] += u32::from(right[at]));
                    if !right[2] || right[0] || !right[1] {
                        let (id, q) = (&question.id, &question.question);
                        let _ = writeln!(
                            log,
                            "## {} {id} {right:?}\nQ {q}\nE {:?} STALE {:?}\nNEAR {}\nFULL {}",
                            session.id, question.expect, question.stale, said[1], said[2]
                        );
                    }
                }
            }
        }
    }
    if let Ok(path) = std::env::var("RECAP_QUESTIONS_LOG") {
        std::fs::write(format!("{path}-{}", names[0]), log).unwrap();
    }
    rows
}

fn is_right(question: &Question, answer: &str) -> bool {
    let grading = Grading::of(question, answer);
    Judge.judge(&grading).score.is_some_and(|score| score >= 0.5)
}

/// Shares right under `empty`, `evidence` and `full` over the kinds with an
/// answer; prints each kind.
fn shares(title: &str, names: &[&str]) -> Option<[f64; 3]> {
    let rows = measure(names);
    let mut all = Row::default();
    println!("{title}");
    for (kind, row) in &rows {
        let share = |at: usize| f64::from(row.right[at]) / f64::from(row.n.max(1));
        println!(
            "  {:12} {:4} empty {:.2} evidence {:.2} full {:.2}; {} for a model only",
            kind.as_str(),
            row.n,
            share(0),
            share(1),
            share(2),
            row.unscored
        );
        // The reader does not put a task's number and its text together.
        if *kind != QuestionKind::Plan {
            all.n += row.n;
            (0..3).for_each(|at| all.right[at] += row.right[at]);
        }
    }
    let shares = all.right.map(|right| f64::from(right) / f64::from(all.n.max(1)));
    println!("  all {} {shares:.3?}", all.n);
    (all.n > 0).then_some(shares)
}

#[test]
fn generated_questions_are_answered_from_their_evidence() {
    for (title, names) in [("fitted", &FITTED[..]), ("held out", &HELD_OUT[..])] {
        let Some([empty, evidence, full]) = shares(title, names) else { return };
        assert!(empty < 0.01 && evidence >= 0.92 && full >= 0.9, "{empty} {evidence} {full}");
    }
}

#[test]
fn changed_files_match_metadata_of_sessions() {
    let Some(folder) = shared("data/claude-code-sessions") else { return };
    let Some(dataset) = data("claude-code-sessions") else { return };
    let (mut listed, mut named) = (0, 0);
    for session in &dataset.sessions {
        let file = folder.join(format!("{}.metadata.json", session.id));
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
        let end = session.messages.len() as u32;
        let kept = (0..end).map(|message| CompactableMessage { message, cleared: false }).collect();
        let whole = CutPlace {
            request: 0,
            requests: 5,
            left: 5,
            from: end,
            last: end,
            material: kept,
            recorded: None,
        };
        let asked = generate(session, &[whole]);
        let files = asked.iter().find(|p| p.question.starts_with("Which files has the agent"));
        let parts = files.map_or(Vec::new(), |question| match &question.expect {
            Expectation::Rubric(parts) => parts.clone(),
            _ => Vec::new(),
        });
        for touched in metadata["files_touched"].as_array().into_iter().flatten() {
            let touched = touched.as_str().unwrap();
            listed += u32::from(!parts.is_empty());
            named += u32::from(parts.iter().any(|part| part.ends_with(touched)));
        }
    }
    println!("{named} of {listed} files that the metadata list are named");
    assert!(named * 20 >= listed * 19, "{named} of {listed}");
}
