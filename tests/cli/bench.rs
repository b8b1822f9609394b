//! `recap bench` on every kind of input.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, fixture};
use crate::reader::reads;
use crate::server::Server;

/// The files that a run without questions leaves (docs/files.md).
const CONTRACTED: &[&str] = &[
    "baseline.json",
    "calls.csv",
    "cells.jsonl",
    "compactions.csv",
    "cut_questions.csv",
    "cuts.csv",
    "facts.csv",
    "frontier.csv",
    "junit.xml",
    "manifest.json",
    "questions.csv",
    "receipt.csv",
    "recorded_compactions.csv",
    "references.csv",
    "report.html",
    "report.md",
    "requests.csv",
    #[cfg(feature = "parquet")]
    "results.parquet",
    "savers.csv",
    "sessions.csv",
    "sizes.csv",
    "summary.csv",
    "summary.json",
    "texts.jsonl",
    "times.jsonl",
    "validation.csv",
];

#[test]
fn bench_writes_every_contracted_file_and_no_other() {
    let desk = Desk::with_run(&[]);
    assert_eq!(desk.list("run"), CONTRACTED);
    let full = desk.row("run/summary.csv", &["strategy=full"]);
    assert_eq!((full["reference_recall"].as_str(), full["token_savings"].as_str()), ("1", "0"));
    assert_eq!(full["requests"], "46");
    // Of one session the row of all is its own.
    let rows = desk.csv("run/summary.csv");
    let sessions = desk.csv("run/sessions.csv");
    assert!(sessions.len() > 6);
    for own in sessions {
        let row = rows.iter().find(|row| row["strategy"] == own["strategy"]).unwrap();
        for figure in ["cost_usd", "compactions", "overflows", "reference_recall", "facts_kept"] {
            assert_eq!(own[figure], row[figure], "{}: {figure}", own["strategy"]);
        }
    }
}

#[test]
fn bench_reads_each_foreign_format_directly() {
    // Requests and messages counted by hand in the fixtures.
    for (file, requests) in
        [("claude-code.jsonl", 6), ("pi.jsonl", 4), ("codex.jsonl", 5), ("openai-chat.json", 4)]
    {
        let desk = Desk::with_sessions();
        desk.good(&format!("bench {file} --out run"));
        assert_eq!(desk.rows("run/requests.csv", &["strategy=full"]).len(), requests, "{file}");
        assert_eq!(desk.list("run"), CONTRACTED, "{file}");
    }
}

#[test]
fn bench_asks_data_set_questions_unlike_replay() {
    let desk = Desk::with_sessions();
    set_with_question(&desk);
    desk.good("bench set --out run");
    let key = ["question_id=asked-1", "expected=wombat restart"];
    let asked = desk.rows("run/questions.csv", &key);
    let strategies = desk.csv("run/summary.csv");
    let own = strategies.iter().filter(|row| row["dataset"] == "set").count();
    assert_eq!(asked.len(), own, "one row per strategy");
    assert_eq!(asked.len(), desk.csv("run/questions.csv").len());
    assert!(strategies.iter().any(|row| row["strategy"] == "evidence"));
    let sections = ["What can still be answered</h2>", "those that it lost first"];
    let page = desk.read("run/report.html");
    assert!(sections.iter().all(|section| page.contains(section)), "the page shows them");

    desk.good("replay set --out replayed");
    assert!(desk.csv("replayed/questions.csv").is_empty());
    let strategies = desk.csv("replayed/summary.csv");
    assert!(strategies.iter().all(|row| row["strategy"] != "evidence" && row["recall"].is_empty()));
    let page = desk.read("replayed/report.html");
    assert!(!sections.iter().any(|section| page.contains(section)), "nothing was asked");
    assert!(page.contains("How sure this is"));
}

#[test]
fn a_dash_reads_standard_input() {
    let desk = Desk::new();
    let session = std::fs::read(fixture("pi.jsonl")).unwrap();
    let ran = desk.recap_on(&["bench", "-", "--out", "run"], &session);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.csv("run/requests.csv").iter().all(|r| r["dataset"] == "stdin"));
}

#[test]
fn json_prints_only_summary_on_standard_output() {
    let desk = Desk::with_sessions();
    let ran = desk.good(&["bench", "pi.jsonl", "--json", "--out", "run"]);
    let printed: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(printed, desk.json("run/summary.json"));
    assert_eq!(ran.err, "");
}

#[test]
fn json_dry_run_has_numbers_of_plan() {
    let desk = Desk::with_sessions();
    let bench = "bench pi.jsonl codex.jsonl --strategy fifo --window 50%";
    let plan = |more: &str| -> Json {
        let ran = desk.good(&format!("{bench} --dry-run --json {more}"));
        assert_eq!(ran.err, "");
        serde_json::from_str(&ran.out).unwrap()
    };
    desk.good(&format!("{bench} --quiet --out run"));
    let whole = plan("");
    let cells = desk.read("run/cells.jsonl").lines().filter(|l| l.starts_with("{\"cell\"")).count();
    assert_eq!(whole["cells"], cells);
    assert_eq!(whole["cells"], 2 * whole["strategies"].as_array().unwrap().len());
    assert_eq!(whole["windows"], json!(["50%"]));
    assert_eq!((&whole["sessions"], &whole["questions"]), (&2.into(), &0.into()));
    assert_eq!(whole["calls"], json!([]));
    assert_eq!((&whole["expected_usd"], &whole["worst_usd"]), (&0.0.into(), &0.0.into()));
    // Two repetitions of what a compactor writes, and none of the rest.
    let twice = plan("--strategy session-state --replicates 2");
    assert_eq!(twice["cells"].as_u64(), whole["cells"].as_u64().map(|cells| cells + 2 * 2));
    // The page tells of every field.
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ci.md"));
    let page = page.unwrap();
    let (_, plan) = page.split_once("\n### Plan\n").unwrap();
    for key in whole.as_object().unwrap().keys() {
        assert!(plan.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn request_and_compaction_dollars_sum_to_model_bill() {
    let desk = Desk::with_sessions();
    let models = "--agent-model claude-opus-4-6 --agent-model gpt-5.4";
    let ran = desk.good(&format!("replay claude-code.jsonl --out run {models}"));
    assert!(ran.out.contains("claude-opus-4-6"), "{}", ran.out);
    let usd = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    let sum = |file: &str, of: &[&str; 2]| -> f64 {
        let rows = desk.csv(file).into_iter();
        // What the agent sent cost what its own model charged, whatever was asked for.
        let asked = |model: &str| of[0] == "recorded" || model == of[1];
        let mine = rows.filter(|r| r["strategy"] == of[0] && asked(&r["agent_model"]));
        mine.map(|r| usd(&r["cost_usd"])).sum()
    };
    for row in desk.csv("run/summary.csv") {
        let of = [row["strategy"].as_str(), row["agent_model"].as_str()];
        let parts = sum("run/requests.csv", &of) + sum("run/compactions.csv", &of);
        assert!((usd(&row["cost_usd"]) - parts).abs() < 1e-6, "{of:?}: {row:?}");
        let priced = of[0] != "recorded" && !row["requests"].is_empty();
        assert_eq!(!row["cost_usd"].is_empty(), priced, "{of:?}: {row:?}");
    }
}

/// A data set on the desk whose one question asks for what pi's session says.
fn set_with_question(desk: &Desk) {
    desk.good("import pi pi.jsonl -o set");
    let question = r#"{"id": "asked-1", "session": "pi", "asked_at": 3, "kind": "fact", "question": "What of the quokka queue?", "expect": {"any_of": ["wombat restart"]}, "stale": ["numbat restart"]}"#;
    desk.file("set/questions.jsonl", format!("{question}\n"));
}

#[test]
fn no_text_folder_contains_no_question_or_answer() {
    let desk = Desk::with_sessions();
    set_with_question(&desk);
    let server = Server::start(reads);
    let bench = "bench set --strategy prune,sliding-window-search --answerer openai/reader --out";
    for how in ["worded", "run --no-text"] {
        let ran = desk.recap_at(&server.base(), &format!("{bench} {how}"));
        assert!([0, 3].contains(&ran.code), "{ran:?}");
    }
    let worded = desk.csv("worded/questions.csv");
    let answers = worded.iter().map(|row| row["answer"].clone()).filter(|a| a.len() > 12);
    let planted = ["quokka", "wombat", "numbat"].map(str::to_owned);
    let mut actual: Vec<String> = answers.chain(planted).collect();
    let recovered: Vec<_> = worded.iter().map(|row| row["recovered_answer"].clone()).collect();
    assert!(recovered.iter().any(|answer| !answer.is_empty()), "one strategy may search");
    actual.extend(recovered.into_iter().filter(|answer| answer.len() > 12));
    actual.extend(worded.iter().map(|row| row["rationale"].clone()).filter(|r| r.len() > 12));
    for name in desk.list("run") {
        let file = desk.read(&format!("run/{name}"));
        for words in &actual {
            assert!(!file.contains(words.as_str()), "{name} tells `{words}`");
        }
    }
    let bare = desk.csv("run/questions.csv");
    assert_eq!(bare.len(), worded.len());
    for (bare, worded) in bare.iter().zip(&worded) {
        for (column, field) in worded {
            let words =
                ["question", "expected", "answer", "pre_answer", "rationale", "recovered_answer"];
            let kept = if words.contains(&column.as_str()) { "" } else { field.as_str() };
            assert_eq!(bare[column], kept, "{column}");
        }
    }
}

#[test]
fn textless_run_with_questions_measures_and_rerenders_identically() {
    let desk = Desk::with_sessions();
    set_with_question(&desk);
    desk.good("bench set --out worded");
    desk.good("bench set --no-text --out run");
    let files = || {
        let names = ["run/summary.json", "run/questions.csv", "run/report.html"];
        names.map(|name| desk.read(name))
    };
    assert!(!desk.path("run/texts.jsonl").exists());
    for name in desk.list("run") {
        assert!(!desk.read(&format!("run/{name}")).contains("Restart that queue"), "{name}");
    }
    let first = files();
    let worded = without_time(&desk.read("worded/summary.json"));
    assert_eq!(without_time(&first[0]), worded, "no figure rests on the words");
    desk.good("report run");
    assert!(files() == first, "rendered again it differs");
}

/// Without the CPU time, which no two runs share, and whether words are left out.
fn without_time(summary: &str) -> String {
    let alike = |line: &&str| !line.contains("cpu_ms") && !line.contains("\"no_text\"");
    summary.lines().filter(alike).collect()
}

#[test]
fn runs_of_same_second_get_own_folders() {
    let desk = Desk::with_sessions();
    let run = |_| desk.good("bench pi.jsonl --quiet --strategy full").last().to_owned();
    let pages: std::collections::BTreeSet<String> = (0..3).map(run).collect();
    assert_eq!(pages.len(), 3, "{pages:?}");
}

#[test]
fn a_reader_that_hangs_up_is_no_panic() {
    let desk = Desk::with_sessions();
    for line in [
        "bench pi.jsonl",
        "bench pi.jsonl --json",
        "bench pi.jsonl --dry-run",
        "show pi.jsonl --strategy fifo",
        "strategies",
        "datasets",
        "completions bash",
        "import auto pi.jsonl -o native",
    ] {
        assert_eq!(desk.recap_unheard(line), 0, "{line}");
    }
    assert_eq!(desk.recap_unheard("bench absent.jsonl"), 2);
}
