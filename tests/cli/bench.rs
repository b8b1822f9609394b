//! `recap bench` on every kind of input.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::desk::{Desk, fixture, message};
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
    let full = &desk.csv("run/summary.csv").into_iter().find(|r| r["strategy"] == "full").unwrap();
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
        let desk = Desk::new();
        let input = fixture(file).display().to_string();
        desk.good(&["bench", &input, "--out", "run"]);
        let rows = desk.csv("run/requests.csv");
        let full = rows.iter().filter(|r| r["strategy"] == "full").count();
        assert_eq!(full, requests, "{file}");
        assert_eq!(desk.list("run"), CONTRACTED, "{file}");
    }
}

#[test]
fn tokens_count_as_asked_and_manifest_says_how() {
    let measured = "o200k, the provider's count where it is reported";
    for (typed, actual, source) in [
        (&[][..], measured, "calibrated"),
        (&["--tokens", "exact"], "o200k", "exact"),
        (&["--tokens", "calibrated"], measured, "calibrated"),
    ] {
        let desk = Desk::with_sessions();
        desk.good(&[&["bench", "claude-code.jsonl", "--out", "run"], typed].concat());
        let manifest = desk.json("run/manifest.json");
        assert_eq!(manifest["tokens"], actual, "{typed:?}");
        let journal = desk.read("run/cells.jsonl");
        let facts: Json = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        assert_eq!(facts["session"]["tokens_source"], source, "{typed:?}");
        // What usage tells stands there however tokens are counted.
        assert_eq!(facts["session"]["calibration"]["fits"][0]["from"], 0, "{typed:?}");
    }
}

/// A folder and the files of one folder are one data set; the rest are summed under `ALL`.
#[test]
fn data_sets_are_told_apart_by_their_folders() {
    let desk = Desk::new();
    let put = |file: &str, from: &str| {
        desk.file(file, std::fs::read(fixture(from)).unwrap());
    };
    put("all/a/claude.jsonl", "claude-code.jsonl");
    put("all/b/chat.json", "openai-chat.json");
    desk.file("all/notes.txt", "nothing to see");
    put("mine/pi.jsonl", "pi.jsonl");
    put("mine/chat.json", "openai-chat.json");
    put("pi.jsonl", "pi.jsonl");
    for (inputs, expected) in [
        (&["all"][..], &[("ALL", "10"), ("all", "10")][..]),
        (&["mine/pi.jsonl", "mine/chat.json"], &[("ALL", "8"), ("mine", "8")]),
        (&["pi.jsonl", "all/b"], &[("ALL", "8"), ("b", "4"), ("pi", "4")]),
    ] {
        let run = ["--window", "25%", "--strategy", "full", "--out", "run"];
        desk.good(&[&["bench"], inputs, &run].concat());
        let rows = desk.csv("run/summary.csv");
        let full = rows.iter().filter(|row| row["strategy"] == "full");
        let mut requests: Vec<(&str, &str)> =
            full.map(|row| (row["dataset"].as_str(), row["requests"].as_str())).collect();
        requests.sort_unstable();
        assert_eq!(requests, expected, "{inputs:?}");
        let told = desk.read("run/manifest.json").contains("1 file is no session: notes.txt");
        assert_eq!(told, inputs == ["all"]);
    }
}

#[test]
fn bench_asks_data_set_questions_unlike_replay() {
    let desk = Desk::with_sessions();
    desk.good(&["import", "pi", "pi.jsonl", "-o", "set"]);
    desk.file(
        "set/questions.jsonl",
        r#"{"id": "p", "session": "pi", "asked_at": 1, "kind": "fact", "question": "Which?", "expect": {"any_of": ["this one"]}}"#.to_owned() + "\n",
    );
    desk.good(&["bench", "set", "--out", "run"]);
    let asked = desk.csv("run/questions.csv");
    let strategies = desk.csv("run/summary.csv");
    let own = strategies.iter().filter(|row| row["dataset"] == "set").count();
    assert_eq!(asked.len(), own, "one row per strategy");
    assert!(asked.iter().all(|row| row["question_id"] == "p" && row["expected"] == "this one"));
    assert!(strategies.iter().any(|row| row["strategy"] == "evidence"));
    let sections = ["What can still be answered</h2>", "those that it lost first"];
    let page = desk.read("run/report.html");
    assert!(sections.iter().all(|section| page.contains(section)), "the page shows them");

    desk.good(&["replay", "set", "--out", "replayed"]);
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
fn verbose_names_every_cell() {
    let desk = Desk::with_sessions();
    let ran = desk.good(&["bench", "pi.jsonl", "-v", "--strategy", "fifo", "--window", "40%"]);
    for strategy in ["full", "empty", "id-list", "fifo"] {
        assert!(ran.err.contains(&format!("done: pi × {strategy} × 40%")), "{}", ran.err);
    }
}

#[test]
fn dry_run_describes_actions_and_writes_nothing() {
    let desk = Desk::with_sessions();
    let before = desk.list(".");
    let ran = desk.good(&["bench", "pi.jsonl", "--dry-run", "--window", "50%", "--window", "25%"]);
    assert!(ran.out.contains("15 strategies × 2 windows (50%, 25%): 30 cells"), "{}", ran.out);
    assert_eq!(desk.list("."), before);
}

#[test]
fn json_dry_run_has_numbers_of_plan() {
    let desk = Desk::with_sessions();
    let options = ["bench", "pi.jsonl", "codex.jsonl", "--strategy", "fifo", "--window", "50%"];
    let plan = |more: &[&str]| -> serde_json::Value {
        let ran = desk.good(&[&options[..], &["--dry-run", "--json"], more].concat());
        assert_eq!(ran.err, "");
        serde_json::from_str(&ran.out).unwrap()
    };
    desk.good(&[&options[..], &["--quiet", "--out", "run"]].concat());
    let whole = plan(&[]);
    let cells = desk.read("run/cells.jsonl").lines().filter(|l| l.starts_with("{\"cell\"")).count();
    assert_eq!(whole["cells"], cells);
    assert_eq!(whole["cells"], 2 * whole["strategies"].as_array().unwrap().len());
    assert_eq!(whole["windows"], json!(["50%"]));
    assert_eq!((&whole["sessions"], &whole["questions"]), (&2.into(), &0.into()));
    assert_eq!(whole["calls"], json!([]));
    assert_eq!((&whole["expected_usd"], &whole["worst_usd"]), (&0.0.into(), &0.0.into()));
    // Two repetitions of what a compactor writes, and none of the rest.
    let twice = plan(&["--strategy", "session-state", "--replicates", "2"]);
    assert_eq!(twice["cells"].as_u64(), whole["cells"].as_u64().map(|cells| cells + 2 * 2));
    // The page tells of every field.
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ci.md"));
    let page = page.unwrap();
    let (_, plan) = page.split_once("\n### Plan\n").unwrap();
    for key in whole.as_object().unwrap().keys() {
        assert!(plan.contains(&format!("`{key}`")), "{key}");
    }
}

/// Windows of the cells by data set.
fn windows(desk: &Desk) -> BTreeSet<(String, String)> {
    let rows = desk.csv("run/requests.csv").into_iter();
    rows.map(|row| (row["dataset"].clone(), row["window"].clone())).collect()
}

#[test]
fn agents_replay_at_native_window_chats_at_half() {
    let desk = Desk::with_sessions();
    desk.file("chats/chat.json", std::fs::read(fixture("openai-chat.json")).unwrap());
    let set = |name: &str, window: &str| (name.to_owned(), window.to_owned());
    let run = ["--quiet", "--strategy", "fifo", "--out", "run"];
    for agent in ["claude-code", "pi", "codex", "opencode"] {
        let file = if agent == "opencode" { "opencode.json" } else { &format!("{agent}.jsonl") };
        desk.good(&[&["bench", file], &run[..]].concat());
        assert_eq!(windows(&desk), BTreeSet::from([set(agent, "native")]));
    }
    desk.good(&[&["bench", "chats"], &run[..]].concat());
    assert_eq!(windows(&desk), BTreeSet::from([set("chats", "50%")]));
    // Each data set of several has its own; what is typed holds for all of them.
    let ran = desk.good(&[&["bench", "chats", "pi.jsonl"], &run[..]].concat());
    assert_eq!(windows(&desk), BTreeSet::from([set("chats", "50%"), set("pi", "native")]));
    assert_eq!(desk.json("run/manifest.json")["windows"], json!(["native", "50%"]));
    assert!(ran.out.contains(" pi · native window"), "{ran:?}");
    assert!(ran.out.contains("all data sets · native window"), "{}", ran.out);
    let planned = desk.good(&["bench", "chats", "pi.jsonl", "--strategy", "fifo", "--dry-run"]).out;
    assert!(
        planned.contains(" strategies × the window of each data set (native, 50%): "),
        "{planned}"
    );
    assert!(planned.contains("the native window is 200000 tokens in 1 session\n"), "{planned}");
    desk.good(&[&["bench", "chats", "pi.jsonl", "--window", "Native"], &run[..]].concat());
    assert_eq!(windows(&desk), BTreeSet::from([set("chats", "native"), set("pi", "native")]));
}

#[test]
fn rule_finds_data_set_rows_at_own_window() {
    let desk = Desk::with_sessions();
    desk.file("chats/chat.json", std::fs::read(fixture("openai-chat.json")).unwrap());
    let run = |out: &str, more: &[&str]| {
        let common = ["bench", "chats", "pi.jsonl", "--quiet", "--strategy", "fifo", "--out", out];
        desk.good(&[&common, more].concat())
    };
    run("base", &[]);
    let rules = ["tokens_sent on pi > baseline * 1.1", "tokens_sent on chats > baseline * 1.1"];
    let rules = ["--baseline", "base", "--fail-on", rules[0], "--fail-on", rules[1]];
    run("run", &rules);
    let gate = desk.json("run/gate.json");
    for (at, window) in ["native", "50%"].into_iter().enumerate() {
        let checks = &gate["rules"][at]["checks"];
        assert_eq!(checks.as_array().unwrap().len(), 1, "{gate}");
        assert_eq!(checks[0]["window"], window);
    }
    let rule = ["--fail-on", "tokens_sent on pi at native < 1"];
    run("run", &rule);
}

#[test]
fn prompts_over_limit_widen_native_window_with_warning() {
    let desk = Desk::new();
    let mut answer = message("b", "assistant", "words");
    answer["usage"] = json!({"input": 300_000, "output": 5, "output_final": true});
    let messages = [message("a", "user", "words"), answer];
    let session = json!({"id": "s", "model": "claude-opus-4-5", "messages": messages});
    desk.data_set("long", &session, &[]);
    desk.good(&["bench", "long", "--quiet", "--strategy", "fifo", "--out", "run"]);
    let warned = desk.json("run/manifest.json")["warnings"].to_string();
    assert!(warned.contains("300000 tokens, over a limit of 200000, in s"), "{warned}");
    let out = desk.good(&["show", "long", "--strategy", "full"]).out;
    assert!(out.contains("window native (1000000 tokens)"), "{out}");
}

#[test]
fn a_limit_of_nothing_selects_nothing() {
    let desk = Desk::with_sessions();
    let before = desk.list(".");
    for gate in [&[][..], &["--strategy", "fifo", "--fail-on", "overflows > 0"]] {
        let ran = desk.recap(&[&["bench", "pi.jsonl", "--limit", "0"], gate].concat());
        assert_eq!((ran.code, ran.out.as_str()), (4, ""));
        assert!(ran.err.contains("no session is selected\nhelp: "), "{}", ran.err);
        assert_eq!(desk.list("."), before);
    }
}

#[test]
fn request_and_compaction_dollars_sum_to_model_bill() {
    let desk = Desk::with_sessions();
    let billing_models = ["--agent-model", "claude-opus-4-6", "--agent-model", "gpt-5.4"];
    let common = ["replay", "claude-code.jsonl", "--out", "run"];
    let ran = desk.good(&[&common[..], &billing_models[..]].concat());
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

#[test]
fn only_the_files_asked_for_are_rendered() {
    let desk = Desk::with_sessions();
    let ran = desk.good(&["bench", "pi.jsonl", "--format", "csv", "--out", "run"]);
    let rest = [
        "baseline.json",
        "junit.xml",
        "report.html",
        "report.md",
        "results.parquet",
        "summary.json",
    ];
    let expected: Vec<&str> = CONTRACTED.iter().copied().filter(|f| !rest.contains(f)).collect();
    assert_eq!(desk.list("run"), expected);
    assert_eq!(ran.last(), " page     run");
}

/// A data set on the desk whose one question asks for what pi's session says.
fn set_with_question(desk: &Desk) {
    desk.good(&["import", "pi", "pi.jsonl", "-o", "set"]);
    let question = r#"{"id": "asked-1", "session": "pi", "asked_at": 3, "kind": "fact", "question": "What of the quokka queue?", "expect": {"any_of": ["wombat restart"]}, "stale": ["numbat restart"]}"#;
    desk.file("set/questions.jsonl", format!("{question}\n"));
}

#[test]
fn no_text_folder_contains_no_question_or_answer() {
    let desk = Desk::with_sessions();
    set_with_question(&desk);
    let server = Server::start(reads);
    let bench = ["bench", "set", "--strategy", "prune", "--strategy", "sliding-window-search"];
    for how in [&["--out", "worded"][..], &["--no-text", "--out", "run"]] {
        let asked = [&bench[..], &["--answerer", "openai/reader"], how].concat();
        let ran = desk.recap_at(&server.base(), &asked);
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
    desk.good(&["bench", "set", "--out", "worded"]);
    desk.good(&["bench", "set", "--no-text", "--out", "run"]);
    let files = |folder: &str| {
        ["summary.json", "questions.csv", "report.html"]
            .map(|n| desk.read(&format!("{folder}/{n}")))
    };
    assert!(!desk.path("run/texts.jsonl").exists());
    for name in desk.list("run") {
        assert!(!desk.read(&format!("run/{name}")).contains("Restart that queue"), "{name}");
    }
    let first = files("run");
    assert_eq!(
        without_time(&first[0]),
        without_time(&desk.read("worded/summary.json")),
        "no figure rests on the words"
    );
    desk.good(&["report", "run"]);
    assert!(files("run") == first, "rendered again it differs");
}

/// Without the CPU time, which no two runs share, and whether words are left out.
fn without_time(summary: &str) -> String {
    let alike = |line: &&str| !line.contains("cpu_ms") && !line.contains("\"no_text\"");
    summary.lines().filter(alike).collect()
}

#[test]
fn nothing_of_earlier_run_remains_in_same_folder() {
    let desk = Desk::with_sessions();
    desk.good(&["bench", "pi.jsonl", "--out", "run"]);
    let ran = desk.good(&["bench", "pi.jsonl", "--no-text", "--format", "json", "--out", "run"]);
    assert_eq!(
        desk.list("run"),
        ["baseline.json", "cells.jsonl", "manifest.json", "summary.json", "times.jsonl"]
    );
    assert_eq!(ran.last(), " page     run");
}

#[test]
fn runs_of_same_second_get_own_folders() {
    let desk = Desk::with_sessions();
    let options = ["bench", "pi.jsonl", "--quiet", "--strategy", "full"];
    let pages: std::collections::BTreeSet<String> =
        (0..3).map(|_| desk.good(&options).last().to_owned()).collect();
    assert_eq!(pages.len(), 3, "{pages:?}");
}

#[test]
fn a_reader_that_hangs_up_is_no_panic() {
    let desk = Desk::with_sessions();
    for arguments in [
        &["bench", "pi.jsonl"][..],
        &["bench", "pi.jsonl", "-v", "--json"],
        &["bench", "pi.jsonl", "--dry-run"],
        &["show", "pi.jsonl", "--strategy", "fifo"],
        &["strategies"],
        &["datasets"],
        &["completions", "bash"],
        &["import", "auto", "pi.jsonl", "-o", "native"],
    ] {
        assert_eq!(desk.recap_unheard(arguments), 0, "{arguments:?}");
    }
    assert_eq!(desk.recap_unheard(&["bench", "absent.jsonl"]), 2);
}

#[test]
fn too_short_sessions_need_no_compaction_without_error() {
    let desk = Desk::with_sessions();
    desk.good(&["bench", "openai-chat.json", "--strategy", "prune", "--out", "run", "-q"]);
    let summary = desk.json("run/summary.json");
    let sentence = summary["answer"]["answer"].as_str().unwrap();
    assert!(sentence.contains("no request reports its tokens"), "{sentence}");
    let answer = summary["answer"]["harness"].as_str().unwrap_or(sentence);
    assert!(answer.starts_with("No session comes to the limit"), "{answer}");
    assert!(answer.contains("so nothing has to be compacted"), "{answer}");
    assert_eq!(summary.get("advice"), None);
}
