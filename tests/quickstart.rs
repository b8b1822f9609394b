//! The bundled data set is what its datasheet says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recap::dataset::{Dataset, LoadOptions, load};
use recap::model::{Role, TranscriptFacts};
use recap::replay::Subject;
use recap::tokens::{Counter, Encoding};
use serde_json::Value as Json;

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets")
}

fn quickstart() -> Dataset {
    let folder = datasets().join("quickstart");
    load(&folder, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn facts() -> Arc<TranscriptFacts> {
    let transcript = quickstart().transcripts[0].clone();
    Subject::new("quickstart", transcript, Arc::new(Counter::new(Encoding::O200k))).facts
}

#[test]
fn the_bundled_session_loads_without_a_warning() {
    let dataset = quickstart();
    assert_eq!(dataset.name, "quickstart");
    assert_eq!(dataset.licence.as_deref(), Some("MIT OR Apache-2.0"));
    assert_eq!(dataset.warnings, Vec::<String>::new());
    assert_eq!(dataset.transcripts.len(), 1);
    assert_eq!(dataset.transcripts[0].id, "invoice-export");
}

#[test]
fn the_bundled_session_validates_against_the_published_schemas() {
    let read = |path: &str| std::fs::read_to_string(datasets().join(path)).unwrap();
    let check = |schema: &str, value: &Json| {
        let schema: Json = serde_json::from_str(&read(schema)).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
    };
    for line in read("quickstart/transcripts.jsonl").lines() {
        check("transcript.schema.json", &serde_json::from_str(line).unwrap());
    }
    check("dataset.schema.json", &toml::from_str(&read("quickstart/dataset.toml")).unwrap());
}

#[test]
fn the_datasheet_counts_messages_and_requests_right() {
    let facts = facts();
    let users = facts.messages.iter().filter(|m| m.role == Role::User).count();
    assert_eq!((facts.messages.len(), facts.requests.len(), users), (130, 46, 10));
    let tokens: u64 = facts.messages.iter().map(|m| m.tokens).sum();
    assert_eq!(tokens / 100, 343);
}

/// `measures` §4: absent under 20 references or 10 requests.
#[test]
fn the_bundled_session_has_references_enough_in_three_bands() {
    let exam = &facts().exam;
    let requests: BTreeSet<u32> = exam.references.iter().map(|r| r.request).collect();
    assert!(exam.references.len() >= 25, "{}", exam.references.len());
    assert!(requests.len() >= 12, "{}", requests.len());
    for band in [4_000..8_000, 8_000..16_000, 16_000..32_000] {
        let held = exam.references.iter().filter(|r| band.contains(&r.distance_tokens)).count();
        assert!(held >= 8, "{held} references at {band:?}");
    }
}

/// Snapshot deduplication looks for three calls with equal arguments.
#[test]
fn some_file_is_read_at_least_three_times() {
    let transcript = &quickstart().transcripts[0];
    let reads = transcript.messages.iter().flat_map(|m| &m.blocks).filter(|block| {
        matches!(block, recap::model::Block::ToolCall { name, arguments, .. }
            if name == "read_file" && arguments["path"] == "rentbook/export/klarbuch.py")
    });
    assert!(reads.count() >= 3);
}
