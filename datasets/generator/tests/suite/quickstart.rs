//! The bundled data set is what its datasheet says: made from its recipe, with
//! questions that hold, and of the texture of real sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recap_core::model::{Block, Expectation, Session, SessionFacts};
use recap_core::tokens::Counter;
use recap_formats::{Dataset, LoadOptions, QuestionAudit, load, write_native};
use recap_generator::Recipe;
use recap_generator::texture::{ASSISTANT, Bounds, CODING, Texture, bounds, quantile};
use recap_replay::PreparedSession;
use serde_json::Value as Json;

use crate::recordings::shared;

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn quickstart() -> Dataset {
    let folder = datasets().join("quickstart");
    load(&folder, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn recipe() -> Recipe {
    let text = std::fs::read_to_string(datasets().join("quickstart/recipe.toml")).unwrap();
    Recipe::read(&text).unwrap()
}

fn facts(session: Session) -> Arc<SessionFacts> {
    PreparedSession::new("quickstart", session, Arc::new(Counter::default())).facts
}

#[test]
fn bundled_files_match_what_recipe_gives_today() {
    let folder = tempfile::tempdir().unwrap();
    write_native(&recipe().dataset().unwrap(), folder.path()).unwrap();
    for name in ["dataset.toml", "sessions.jsonl", "questions.jsonl"] {
        let made = std::fs::read(folder.path().join(name)).unwrap();
        let bundled = std::fs::read(datasets().join("quickstart").join(name)).unwrap();
        assert!(made == bundled, "{name} differs: run the generator on recipe.toml and copy it");
    }
}

#[test]
fn bundled_data_set_is_small_and_loads_cleanly() {
    let dataset = quickstart();
    assert_eq!(dataset.name, "quickstart");
    assert_eq!(dataset.licence.as_deref(), Some("MIT OR Apache-2.0"));
    assert_eq!(dataset.warnings, Vec::<String>::new());
    assert_eq!(dataset.sessions.len(), recipe().sessions.len());
    let files = std::fs::read_dir(datasets().join("quickstart")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 1_500_000, "{bytes} bytes");
}

#[test]
fn the_bundled_files_validate_against_the_published_schemas() {
    let read = |path: &str| std::fs::read_to_string(datasets().join(path)).unwrap();
    let check = |schema: &str, value: &Json| {
        let schema: Json = serde_json::from_str(&read(schema)).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
    };
    for (file, schema) in [
        ("quickstart/sessions.jsonl", "session.schema.json"),
        ("quickstart/questions.jsonl", "question.schema.json"),
    ] {
        for line in read(file).lines() {
            check(schema, &serde_json::from_str(line).unwrap());
        }
    }
    check("dataset.schema.json", &toml::from_str(&read("quickstart/dataset.toml")).unwrap());
}

#[test]
fn every_session_has_questions_promised_by_datasheet() {
    let dataset = quickstart();
    let audit = QuestionAudit::of(&dataset);
    assert!(audit.violations.is_empty(), "{:?}", audit.violations);
    for session in &dataset.sessions {
        let own = || dataset.questions.iter().filter(|question| question.session == session.id);
        assert!(own().count() >= 30, "{}: {}", session.id, own().count());
        let rubrics = own().filter(|p| matches!(p.expect, Expectation::Rubric(_))).count();
        assert!(rubrics * 100 <= own().count() * 15, "{}: {rubrics} rubrics", session.id);
        assert!(own().any(|question| !question.stale.is_empty()));
        assert!(own().any(|question| question.expect == Expectation::Unanswerable));
    }
}

/// reference §4: absent under 20 references or 10 requests.
#[test]
fn every_coding_session_has_references_enough() {
    for session in of_kind("coding-agent") {
        let facts = facts(session);
        let exam = &facts.exam;
        let requests: BTreeSet<u32> = exam.references.iter().map(|r| r.request).collect();
        let (count, requests) = (exam.references.len(), requests.len());
        println!("{}: {count} references at {requests} requests", facts.session);
        assert!(count >= 20 && requests >= 10, "{count} references at {requests} requests");
    }
}

/// Snapshot deduplication looks for three calls with equal arguments.
#[test]
fn coding_sessions_repeat_some_call_at_least_thrice() {
    for session in of_kind("coding-agent") {
        let mut calls: BTreeMap<String, u32> = BTreeMap::new();
        for block in session.messages.iter().flat_map(|m| &m.blocks) {
            if let Block::ToolCall { name, arguments, .. } = block {
                *calls.entry(format!("{name} {arguments}")).or_default() += 1;
            }
        }
        assert!(calls.values().any(|n| *n >= 3), "{}", session.id);
    }
}

/// Sessions of the bundled data set that are of a kind.
fn of_kind(kind: &str) -> Vec<Session> {
    let ids: Vec<String> = recipe()
        .sessions
        .into_iter()
        .filter(|order| order.kind == kind)
        .map(|order| order.id)
        .collect();
    let sessions = quickstart().sessions;
    sessions.into_iter().filter(|t| ids.contains(&t.id)).collect()
}

fn holds(session: &Session, bounds: &Bounds) {
    assert_eq!(Texture::of(session).misses(bounds), [], "{}", session.id);
}

#[test]
fn coding_sessions_lie_within_quartiles_of_real_ones() {
    let sessions = of_kind("coding-agent");
    assert!(!sessions.is_empty());
    for session in &sessions {
        println!("{}: {:.3?}", session.id, Texture::of(session).values());
    }
    sessions.iter().for_each(|session| holds(session, &CODING));
}

/// No recordings of their kind are at hand, and the chats of tau-bench are
/// shorter in every way: they lie between those and the coding sessions.
#[test]
fn other_sessions_lie_within_span_of_real_kinds() {
    let sessions = [of_kind("assistant"), of_kind("game-agent")].concat();
    assert_eq!(sessions.len(), 4);
    for session in &sessions {
        println!("{}: {:.3?}", session.id, Texture::of(session).values());
    }
    sessions.iter().for_each(|session| holds(session, &bounds("assistant")));
}

/// The recordings are not part of the repository.
#[test]
fn the_quartiles_are_those_of_the_recordings() {
    let Some(root) = shared("data") else { return };
    let quartiles = |sources: &[&str], fewest: usize| -> Bounds {
        let loaded = sources.iter().map(|s| load(&root.join(s), &LoadOptions::default()).unwrap());
        let sessions: Vec<Session> = loaded.flat_map(|d| d.sessions).collect();
        let results = |t: &Session| t.calls().iter().filter(|c| c.result.is_some()).count();
        let long = sessions.iter().filter(|t| results(t) >= fewest);
        let textures: Vec<[f64; 6]> = long.map(|t| Texture::of(t).values()).collect();
        std::array::from_fn(|row| {
            let mut values: Vec<f64> = textures.iter().map(|values| values[row]).collect();
            (quantile(&mut values, 0.25), quantile(&mut values, 0.75))
        })
    };
    for (expected, found) in [
        (CODING, quartiles(&["claude-code-sessions", "pi-sessions"], 10)),
        (ASSISTANT, quartiles(&["tau-bench"], 1)),
    ] {
        let same = |a: f64, b: f64| (a - b).abs() <= 0.0006 * b.max(1.0);
        let all = expected.iter().zip(&found).all(|(a, b)| same(a.0, b.0) && same(a.1, b.1));
        assert!(all, "measured: {found:.3?}");
    }
}
