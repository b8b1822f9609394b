//! What recordings report: requests, tokens, calls, compactions and dollars are
//! those that a count in another language finds in the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use crate::desk::{Desk, Row};
use crate::recordings::shared;

/// Folders of recordings that report usage.
const FOLDERS: [&str; 8] = [
    "claude-code-sessions",
    "context-evaluator",
    "codex-rollouts",
    "agentv-codex",
    "gemini-cli",
    "opencode",
    "pi-sessions",
    "inspect-logs",
];

/// What is compared, of one recording.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    requests: u64,
    prompt: u64,
    output: u64,
    calls: u64,
    compactions: u64,
}

/// Recordings that differ, with the reason.
fn differs(id: &str) -> Option<&'static str> {
    match id {
        "1e0816ef-6f89-4f05-b331-dab09bb14485" => {
            Some("after a restart the agent asked again for a response that it had")
        }
        _ => None,
    }
}

#[test]
fn recording_figures_match_independent_count() {
    let Some(data) = shared("data") else { return };
    let desk = Desk::new();
    let mut compared = 0;
    for folder in FOLDERS {
        let folder = data.join(folder);
        let counts = counted("count_usage.py", &recordings(&folder));
        let read = read(&desk, &folder);
        let billed = billed(&desk, &folder);
        assert_eq!(
            counts.keys().collect::<Vec<_>>(),
            read.keys().collect::<Vec<_>>(),
            "the sessions of {}",
            folder.display()
        );
        for (id, count) in &counts {
            let (found, why) = (&read[id], differs(id));
            assert_eq!(*found == figures(count), why.is_none(), "{id}: {found:?}, not {count}");
            let same = billed.get(id).is_none_or(|row| is_the_same_bill(row, count));
            assert!(same || why.is_some(), "{id} was billed {:?}, not {count}", billed[id]);
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared} recordings");
}

/// Small inputs of kinds that once were misread, each with responses, calls of models,
/// compactions and dollars that its README expects of all its files together.
const CASES: [(&str, [u64; 3], f64); 14] = [
    ("01-claude-compact-preserved-tail.jsonl", [4, 4, 1], 0.2565),
    ("02-claude-skill-body-inside-response.jsonl", [2, 2, 0], 0.0980),
    ("04-claude-advisor-iterations.jsonl", [3, 5, 0], 6.2226),
    ("05-claude-fast-mode.jsonl", [2, 2, 0], 2.34),
    ("06-claude-inference-geo-us.jsonl", [2, 2, 0], 1.287),
    ("08-anthropic-server-compaction.jsonl", [2, 3, 1], 1.2485),
    ("09-codex-cache-write.jsonl", [2, 2, 0], 0.162771),
    ("10-codex-fork", [4, 4, 0], 0.1416),
    ("13-codex-repeated-compacted.jsonl", [3, 3, 1], 1.343988),
    ("14-copilot-compaction-old-usage.jsonl", [1, 4, 1], 0.59928),
    ("16b-otel-span-lists.json", [2, 2, 0], 0.02114),
    ("24-opencode-2-with-frozen-v1.db", [4, 4, 1], 0.147695),
    ("26-aider-heading-in-answer.md", [2, 2, 0], 0.011152),
    ("27-openai-responses-cache-write.jsonl", [2, 2, 0], 0.3285),
];

#[test]
fn independent_count_finds_what_cases_expect() {
    let Some(cases) = shared("cases/turn4") else { return };
    for (case, counts, usd) in CASES {
        let case = cases.join(case);
        let files = if case.is_dir() { recordings(&case) } else { vec![case.clone()] };
        let rows = counted("count_usage.py", &files);
        let sum = |name: &str| rows.values().map(|row| row[name].as_f64().unwrap()).sum::<f64>();
        let found = ["responses", "requests", "compactions"].map(|name| sum(name) as u64);
        assert_eq!(found, counts, "{}", case.display());
        assert!((sum("usd") - usd).abs() < 0.0001, "{}: ${}", case.display(), sum("usd"));
    }
}

/// The recordings of a folder: what is no licence, note or file of metadata.
pub fn recordings(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(recordings(&path));
        } else if name.contains(".json") && !name.ends_with(".metadata.json") {
            files.push(path);
        }
    }
    files
}

/// What a script of `tests` finds, by the name of the file.
pub fn counted(script: &str, files: &[PathBuf]) -> BTreeMap<String, Json> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let ran = Command::new("python3").arg(script).args(files).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let lines = String::from_utf8(ran.stdout).unwrap();
    let rows = lines.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let id = |row: &Json| {
        let path = Path::new(row["path"].as_str().unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        name[..name.find('.').unwrap()].to_owned()
    };
    rows.map(|row| (id(&row), row)).collect()
}

fn figures(count: &Json) -> Figures {
    let figure = |name: &str| count[name].as_u64().unwrap();
    Figures {
        requests: figure("requests"),
        prompt: figure("prompt"),
        output: figure("output"),
        calls: figure("calls"),
        compactions: figure("compactions"),
    }
}

/// What `recap import` writes of a folder, by session.
fn read(desk: &Desk, folder: &Path) -> BTreeMap<String, Figures> {
    let name = folder.file_name().unwrap().to_str().unwrap();
    desk.good(&["import", "auto", folder.to_str().unwrap(), "--out", name]);
    let lines = desk.read(&format!("{name}/sessions.jsonl"));
    let sessions = lines.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let id = |session: &Json| session["id"].as_str().unwrap().to_owned();
    sessions.map(|session| (id(&session), of_session(&session))).collect()
}

fn of_session(session: &Json) -> Figures {
    // What only clears results is no compaction for the count.
    let cleared = |one: &&Json| one["cleared"].as_array().is_none_or(Vec::is_empty);
    let compactions = session["compactions"].as_array();
    let compactions = compactions.map_or(0, |all| all.iter().filter(cleared).count() as u64);
    let mut figures = Figures { compactions, ..Figures::default() };
    for message in session["messages"].as_array().unwrap() {
        let blocks = message["blocks"].as_array().unwrap();
        figures.calls += blocks.iter().filter(|block| block["type"] == "tool_call").count() as u64;
        let Some(usage) = message["usage"].as_object() else { continue };
        let tokens = |name: &str| usage.get(name).map_or(0, |tokens| tokens.as_u64().unwrap());
        let prompt = ["input", "cache_read", "cache_write_5m", "cache_write_1h"].map(tokens);
        let (prompt, output) = (prompt.iter().sum::<u64>(), tokens("output"));
        // An aborted request reports nothing, and is no request for the count.
        figures.requests += u64::from(prompt + output > 0);
        figures.prompt += prompt;
        figures.output += output;
    }
    figures
}

/// The rows of `validation.csv` of a run over a folder, by session.
fn billed(desk: &Desk, folder: &Path) -> BTreeMap<String, Row> {
    let bench = "--strategy full --cuts none --questions none --quiet --out run";
    desk.recap(&format!("bench '{}' {bench}", folder.display()));
    let rows = desk.csv("run/validation.csv");
    rows.into_iter().map(|row| (row["session"].clone(), row)).collect()
}

/// Whether the prompts that a row of `validation.csv` sums up are as many and, where each
/// model has a price, cost as much.
fn is_the_same_bill(row: &Row, count: &Json) -> bool {
    let usd = count["prompt_usd"].as_f64();
    let billed = row["recorded_usd"].parse::<f64>().ok();
    let close = |(one, other): (f64, f64)| (one - other).abs() < 0.00001;
    row["requests"].parse::<u64>().ok() == count["requests"].as_u64()
        && usd.zip(billed).map_or(usd.is_none() && billed.is_none(), close)
}
