//! The bundled data set is what its datasheet says: made from its recipe, with
//! questions that hold, and of the texture of real sessions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use recap::dataset::{Dataset, LoadOptions, ProbeAudit, load, write_native};
use recap::model::{Block, Expectation, Role, Transcript, TranscriptFacts};
use recap::replay::Subject;
use recap::tokens::Counter;
use recap_generator::Recipe;
use serde_json::Value as Json;

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

fn facts(transcript: Transcript) -> Arc<TranscriptFacts> {
    Subject::new("quickstart", transcript, Arc::new(Counter::default())).facts
}

#[test]
fn the_bundled_files_are_what_the_recipe_gives_today() {
    let folder = tempfile::tempdir().unwrap();
    write_native(&recipe().dataset().unwrap(), folder.path()).unwrap();
    for name in ["dataset.toml", "transcripts.jsonl", "probes.jsonl"] {
        let made = std::fs::read(folder.path().join(name)).unwrap();
        let bundled = std::fs::read(datasets().join("quickstart").join(name)).unwrap();
        assert!(made == bundled, "{name} differs: run the generator on recipe.toml and copy it");
    }
}

#[test]
fn the_bundled_data_set_loads_without_a_warning_and_stays_small() {
    let dataset = quickstart();
    assert_eq!(dataset.name, "quickstart");
    assert_eq!(dataset.licence.as_deref(), Some("MIT OR Apache-2.0"));
    assert_eq!(dataset.warnings, Vec::<String>::new());
    assert_eq!(dataset.transcripts.len(), recipe().sessions.len());
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
        ("quickstart/transcripts.jsonl", "transcript.schema.json"),
        ("quickstart/probes.jsonl", "probe.schema.json"),
    ] {
        for line in read(file).lines() {
            check(schema, &serde_json::from_str(line).unwrap());
        }
    }
    check("dataset.schema.json", &toml::from_str(&read("quickstart/dataset.toml")).unwrap());
}

#[test]
fn every_session_has_the_questions_that_the_datasheet_promises() {
    let dataset = quickstart();
    let audit = ProbeAudit::of(&dataset);
    assert!(audit.violations.is_empty(), "{:?}", audit.violations);
    for transcript in &dataset.transcripts {
        let own = || dataset.probes.iter().filter(|probe| probe.transcript == transcript.id);
        assert!(own().count() >= 30, "{}: {}", transcript.id, own().count());
        let rubrics = own().filter(|p| matches!(p.expect, Expectation::Rubric(_))).count();
        assert!(rubrics * 100 <= own().count() * 15, "{}: {rubrics} rubrics", transcript.id);
        assert!(own().any(|probe| !probe.stale.is_empty()));
        assert!(own().any(|probe| probe.expect == Expectation::Unanswerable));
    }
}

/// measures §4: absent under 20 references or 10 requests.
#[test]
fn every_coding_session_has_references_enough() {
    for transcript in of_kind("coding-agent") {
        let facts = facts(transcript);
        let exam = &facts.exam;
        let requests: BTreeSet<u32> = exam.references.iter().map(|r| r.request).collect();
        assert!(exam.references.len() >= 20, "{}", exam.references.len());
        assert!(requests.len() >= 10, "{}", requests.len());
    }
}

/// Snapshot deduplication looks for three calls with equal arguments.
#[test]
fn some_call_is_made_at_least_three_times_in_every_coding_session() {
    for transcript in of_kind("coding-agent") {
        let mut calls: BTreeMap<String, u32> = BTreeMap::new();
        for block in transcript.messages.iter().flat_map(|m| &m.blocks) {
            if let Block::ToolCall { name, arguments, .. } = block {
                *calls.entry(format!("{name} {arguments}")).or_default() += 1;
            }
        }
        assert!(calls.values().any(|n| *n >= 3), "{}", transcript.id);
    }
}

/// Sessions of the bundled data set that are of a kind.
fn of_kind(kind: &str) -> Vec<Transcript> {
    let ids: Vec<String> = recipe()
        .sessions
        .into_iter()
        .filter(|order| order.kind == kind)
        .map(|order| order.id)
        .collect();
    let transcripts = quickstart().transcripts;
    transcripts.into_iter().filter(|t| ids.contains(&t.id)).collect()
}

/// The texture of a session.
#[derive(Debug)]
struct Texture {
    /// Characters of the median user message.
    user: f64,
    /// Characters of the median text of the agent.
    agent: f64,
    /// Characters of the median tool result.
    result: f64,
    /// Share of the tokens that stand in tool results (o200k).
    tool_share: f64,
    /// Share of the windows of eight words that stood before.
    repetition: f64,
    /// Compressed size (gzip, level 6) by size.
    gzip: f64,
}

impl Texture {
    fn of(transcript: &Transcript) -> Texture {
        let counter = Counter::default();
        let (mut user, mut agent, mut result) = (Vec::new(), Vec::new(), Vec::new());
        let (mut all, mut tool) = (0, 0);
        let mut texts = Vec::new();
        for message in &transcript.messages {
            for block in &message.blocks {
                let chars = |text: &str| text.chars().count() as f64;
                let sent = recap::model::sent(std::slice::from_ref(block));
                let tokens = counter.count(&sent);
                all += tokens;
                match block {
                    Block::Text { text } if message.role == Role::User => user.push(chars(text)),
                    Block::Text { text } => agent.push(chars(text)),
                    Block::ToolResult { text, .. } => {
                        tool += tokens;
                        result.push(chars(text));
                    }
                    _ => {}
                }
                texts.push(sent);
            }
        }
        let text = texts.join("\n");
        Texture {
            user: quantile(&mut user, 0.5),
            agent: quantile(&mut agent, 0.5),
            result: quantile(&mut result, 0.5),
            tool_share: tool as f64 / all as f64,
            repetition: repetition(&text),
            gzip: gzip(&text),
        }
    }

    fn values(&self) -> [f64; 6] {
        [self.user, self.agent, self.result, self.tool_share, self.repetition, self.gzip]
    }
}

/// Linear between neighbours (type 7 of Hyndman and Fan 1996).
fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let at = q * last as f64;
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

fn repetition(text: &str) -> f64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let all = words.windows(8).len();
    let distinct: HashSet<&[&str]> = words.windows(8).collect();
    1.0 - distinct.len() as f64 / all.max(1) as f64
}

fn gzip(text: &str) -> f64 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().len() as f64 / text.len() as f64
}

const ROWS: [&str; 6] = [
    "user message, characters",
    "agent text, characters",
    "tool result, characters",
    "share of tool output",
    "repetition",
    "gzip ratio",
];

/// First and third quartile over real sessions, as in the datasheet.
type Quartiles = [(f64, f64); 6];

/// 15 sessions with at least ten tool results: Claude Code (14), pi (1).
const CODING: Quartiles = [
    (90.75, 183.0),
    (86.5, 115.25),
    (140.5, 335.25),
    (0.687, 0.891),
    (0.078, 0.181),
    (0.223, 0.240),
];

/// 99 conversations of tau-bench (airline) with a tool result: an assistant with tools.
const ASSISTANT: Quartiles = [
    (72.5, 114.25),
    (224.25, 334.0),
    (496.5, 697.0),
    (0.441, 0.711),
    (0.016, 0.097),
    (0.225, 0.404),
];

fn holds(transcript: &Transcript, quartiles: &Quartiles) {
    let values = Texture::of(transcript).values();
    for ((name, value), (low, high)) in ROWS.iter().zip(values).zip(quartiles) {
        let within = (*low..=*high).contains(&value);
        assert!(within, "{}: {name} is {value:.3}, not {low}–{high}", transcript.id);
    }
}

#[test]
fn the_coding_sessions_lie_within_the_quartiles_of_real_ones() {
    let sessions = of_kind("coding-agent");
    assert!(!sessions.is_empty());
    for transcript in &sessions {
        println!("{}: {:.3?}", transcript.id, Texture::of(transcript).values());
    }
    sessions.iter().for_each(|transcript| holds(transcript, &CODING));
}

/// No recordings of their kind are at hand, and the chats of tau-bench are
/// shorter in every way: they lie between those and the coding sessions.
#[test]
fn the_other_sessions_lie_within_the_span_of_both_kinds_of_real_ones() {
    let span: Quartiles = std::array::from_fn(|row| {
        (CODING[row].0.min(ASSISTANT[row].0), CODING[row].1.max(ASSISTANT[row].1))
    });
    let sessions = [of_kind("assistant"), of_kind("game-agent")].concat();
    assert_eq!(sessions.len(), 4);
    for transcript in &sessions {
        println!("{}: {:.3?}", transcript.id, Texture::of(transcript).values());
    }
    sessions.iter().for_each(|transcript| holds(transcript, &span));
}

/// The recordings are not part of the repository.
#[test]
fn the_quartiles_are_those_of_the_recordings() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !root.exists() {
        eprintln!("skipped: ../shared/data is absent");
        return;
    }
    let quartiles = |sources: &[&str], fewest: usize| -> Quartiles {
        let loaded = sources.iter().map(|s| load(&root.join(s), &LoadOptions::default()).unwrap());
        let transcripts: Vec<Transcript> = loaded.flat_map(|d| d.transcripts).collect();
        let results = |t: &Transcript| t.calls().iter().filter(|c| c.result.is_some()).count();
        let long = transcripts.iter().filter(|t| results(t) >= fewest);
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
