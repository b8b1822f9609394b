//! Strategies of the user's own, overrides, programs as strategies, and cells that
//! fail.

use crate::desk::Desk;

const MINE: &str = r#"version = 1
name = "mine"
summary = "The last messages."
source = "a test"

[[stage]]
mechanism = "sliding-window"
at = "request"
when = "always"
last = 3
"#;

fn desk(strategy: &str) -> Desk {
    let desk = Desk::with_sessions();
    desk.file("mine.toml", strategy);
    desk
}

/// The error of a strategy that differs from [`MINE`] by one replacement.
#[track_caller]
fn bad(from: &str, to: &str) -> String {
    assert!(MINE.contains(from));
    let desk = desk(&MINE.replace(from, to));
    let error = desk.refused(&["bench", "pi.jsonl", "--strategy", "mine.toml"]);
    assert_eq!(desk.refused(&["strategies", "check", "mine.toml"]), error);
    error
}

#[track_caller]
fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in\n{error}");
    }
}

/// Strategies of `summary.csv`, without repetition.
fn rows(desk: &Desk) -> Vec<String> {
    let mut names: Vec<String> =
        desk.csv("run/summary.csv").into_iter().map(|r| r["strategy"].clone()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn strategy_file_works_like_built_in() {
    let desk = desk(MINE);
    desk.good(&["bench", "pi.jsonl", "--strategy", "mine.toml", "--out", "run"]);
    assert_eq!(rows(&desk), ["empty", "full", "id-list", "mine"]);
    // Of the 1, 3, 5 and 7 messages before the requests, at most three, less
    // the result whose call is out of sight before the third.
    let sent: Vec<String> = desk
        .csv("run/requests.csv")
        .into_iter()
        .filter(|r| r["strategy"] == "mine")
        .map(|r| r["messages"].clone())
        .collect();
    assert_eq!(sent, ["1", "3", "2", "3"]);
}

#[test]
fn built_in_strategy_prints_as_starting_file() {
    let desk = Desk::with_sessions();
    let shown = desk.good(&["strategies", "show", "session-state", "--toml"]).out;
    let own = shown.replace("name = \"session-state\"", "name = \"own\"");
    assert_ne!(own, shown);
    // Its prompts are not beside it, so they are the built-in ones.
    desk.file("own.toml", &own);
    let prompts = |of: &str| {
        let all = desk.good(&["strategies", "show", of]).out;
        all.split_once("\n--- ").expect("it has prompts").1.to_owned()
    };
    let borrowed = prompts("own.toml");
    assert!(borrowed.starts_with("prompts/session-state") && borrowed.contains(".md (built-in)\n"));
    assert_eq!(borrowed.replace(" (built-in)\n", "\n"), prompts("session-state"));
    // One that is there wins.
    desk.file("prompts/session-state.md", "Fold this: {{messages}}");
    let mine = "prompts/session-state.md\nFold this: {{messages}}";
    assert!(prompts("own.toml").contains(mine));
}

#[test]
fn strategy_file_hash_is_listed_and_tracks_changes() {
    let hash = |strategy: &str| {
        let desk = desk(strategy);
        desk.good(&["bench", "pi.jsonl", "--strategy", "mine.toml", "--out", "run"]);
        let strategies = desk.json("run/manifest.json")["strategies"].clone();
        let mine = strategies.as_array().unwrap().iter().find(|p| p["name"] == "mine").cloned();
        mine.unwrap()["hash"].as_str().unwrap().to_owned()
    };
    assert_ne!(hash(MINE), hash(&MINE.replace("last = 3", "last = 4")));
}

#[test]
fn wrong_value_refusal_names_file_key_allowed_values() {
    assert_says(&bad("last = 3", "lats = 3"), &["mine.toml, stage 1", "`lats`", "`last`"]);
    assert_says(
        &bad("last = 3", "last = \"x\""),
        &["mine.toml, stage 1", "last: ", "a whole number"],
    );
    assert_says(&bad("last = 3", "last = 0"), &["mine.toml, stage 1", "`last`", "at least 1"]);
    assert_says(&bad("last = 3", ""), &["mine.toml, stage 1", "`last`"]);
    assert_says(&bad("\"request\"", "\"ever\""), &["stage 1: at: ", "`ever`", "`user-turn`"]);
    assert_says(&bad("\"always\"", "\"ever\""), &["stage 1", "when", "always, recorded"]);
    assert_says(
        &bad("sliding-window", "sliding"),
        &["stage 1", "`sliding`", "did you mean `sliding-window`"],
    );
    assert_says(&bad("version = 1", "version = 2"), &["mine.toml, version", "write 1"]);
    assert_says(&bad("summary", "sumary"), &["mine.toml, sumary", "`summary`"]);
    assert_says(&bad("name = \"mine\"", ""), &["mine.toml: missing field `name`"]);
    assert_says(&bad("name = \"mine\"", "name = \"mine"), &["mine.toml, line 2: "]);
}

#[test]
fn a_missing_strategy_file_or_prompt_is_named() {
    let desk = Desk::with_sessions();
    let error = desk.refused(&["bench", "pi.jsonl", "--strategy", "absent.toml"]);
    assert_says(&error, &["absent.toml"]);
    let with_prompt = MINE.replace("last = 3", "prompt = \"absent.md\"");
    desk.file("mine.toml", with_prompt);
    let error = desk.refused(&["strategies", "check", "mine.toml"]);
    assert_says(&error, &["mine.toml", "absent.md"]);
}

#[test]
fn a_strategy_of_a_taken_name_is_refused() {
    assert_says(&bad_bench("\"mine\"", "\"full\""), &["two strategies are named `full`"]);
}

/// A strategy that is right by itself, and refused beside the others.
#[track_caller]
fn bad_bench(from: &str, to: &str) -> String {
    let desk = desk(&MINE.replace(from, to));
    desk.good(&["strategies", "check", "mine.toml"]);
    desk.refused(&["bench", "pi.jsonl", "--strategy", "mine.toml"])
}

#[test]
fn override_adds_own_row_beside_original() {
    let desk = Desk::with_run(&["--strategy", "prune", "--set", "prune.protect=20000"]);
    assert_eq!(rows(&desk), ["empty", "full", "id-list", "prune", "prune[protect=20000]"]);
    let sent = |strategy: &str| -> u64 {
        let rows = desk.csv("run/summary.csv");
        let row = rows.iter().find(|r| r["strategy"] == strategy).unwrap();
        row["tokens_sent"].parse().unwrap()
    };
    assert!(sent("prune[protect=20000]") < sent("prune"));
}

#[test]
fn a_cell_that_breaks_a_pair_fails_alone() {
    let desk = desk(&MINE.replace("last = 3", "last = 1\nkeep_pairs = false"));
    let ran = desk.recap(&["bench", "pi.jsonl", "--strategy", "mine.toml", "--out", "run"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("failed: "), "{}", ran.err);
    assert!(ran.err.contains("`c1`"), "the call is named\n{}", ran.err);
    assert!(ran.out.contains("  1 failed"), "{}", ran.out);
    assert!(ran.out.contains("1 of 4 cells failed (mine)"), "{}", ran.out);
    let requests = desk.csv("run/requests.csv");
    let of = |strategy: &str| requests.iter().filter(|r| r["strategy"] == strategy).count();
    assert_eq!((of("full"), of("id-list"), of("mine")), (4, 4, 0));
    let summary = desk.json("run/summary.json");
    let row = |r: &&serde_json::Value| r["strategy"] == "mine";
    let mine = summary["rows"].as_array().unwrap().iter().find(row).unwrap();
    assert_eq!(mine["failed"].as_array().unwrap().len(), 1);
}

#[test]
fn strategy_declaring_broken_pairs_may_break_them() {
    let broken = "last = 1\nkeep_pairs = false\nbreaks_pairs = true";
    let desk = desk(&MINE.replace("last = 3", broken));
    desk.good(&["bench", "pi.jsonl", "--strategy", "mine.toml", "--out", "run"]);
    let requests = desk.csv("run/requests.csv");
    let mine = requests.iter().filter(|r| r["strategy"] == "mine");
    let valid: Vec<&str> = mine.map(|r| r["valid"].as_str()).collect();
    // Results are sent alone before the second and the fourth request.
    assert_eq!(valid, ["true", "false", "true", "false"]);
}

#[test]
fn all_runs_every_built_in_strategy() {
    let desk = Desk::with_sessions();
    desk.good(&["bench", "pi.jsonl", "--strategy", "all", "--out", "run"]);
    let listed = desk.good(&["strategies", "list"]).out;
    // A token saver is a program, which has to be installed: it is named for itself.
    let lines = listed.lines().filter(|line| !line.contains("  token saver "));
    let mut names: Vec<&str> = lines.filter_map(|l| l.split_whitespace().next()).collect();
    names.sort_unstable();
    // The controls that questions and recorded compactions give a meaning.
    names.retain(|name| !["evidence", "recorded"].contains(name));
    assert_eq!(rows(&desk), names);
}

#[test]
fn evidence_control_without_questions_is_refused() {
    let desk = Desk::with_sessions();
    let ran = desk.recap(&["bench", "pi.jsonl", "--strategy", "evidence"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("the control `evidence` needs questions"), "{}", ran.err);
    let ran = desk.recap(&["show", "pi.jsonl", "--strategy", "evidence"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("sends no requests"), "{}", ran.err);
}

/// A strategy whose program answers each `compact` with `answer`, in Python.
fn program(answer: &str) -> Desk {
    let desk = Desk::with_sessions();
    let source = format!(
        "import json, os, random, sys, time\nfor line in sys.stdin:\n    m = json.loads(line)\n    \
         if m['type'] == 'close': break\n    \
         print(json.dumps({answer} if m['type'] == 'compact' else {{'type': 'ready'}}), flush=True)\n"
    );
    desk.file("mine.py", source);
    desk.file("mine.toml", MINE.replace("sliding-window", "command").replace("last = 3", COMMAND));
    desk
}

const COMMAND: &str = "command = [\"python3\", \"mine.py\"]";

/// Keeps the messages that an expression over all ids names.
fn keeping(ids: &str) -> String {
    format!("{{'type': 'context', 'messages': [{{'id': i}} for i in {ids}]}}")
}

#[test]
fn a_program_is_a_row_like_any_other() {
    let desk = program(&keeping("m['context']"));
    desk.good(&["bench", "pi.jsonl", "--strategy", "mine.toml", "--out", "run"]);
    assert_eq!(rows(&desk), ["empty", "full", "id-list", "mine"]);
    let shown = desk.good(&["strategies", "show", "mine.toml"]).out;
    assert_says(&shown, &["runs `python3 mine.py` in ", "with your rights", "trust"]);
    let shown = desk.good(&["show", "pi.jsonl", "--strategy", "mine.toml"]).out;
    assert_says(&shown, &["request 3 of 4"]);
}

#[test]
fn failing_program_loses_own_row_sharing_no_output() {
    let desk = program("sys.exit('about the blue heron')");
    let run = ["bench", "pi.jsonl", "--strategy", "mine.toml"];
    let ran = desk.recap(&[&run[..], &["--out", "run"]].concat());
    assert_eq!(ran.code, 3, "{ran:?}");
    let error =
        "strategy `mine`, call 1 of `python3 mine.py`: it ended without an answer (exit status: 1)";
    assert_says(&ran.err, &[error, "about the blue heron"]);
    let requests = desk.csv("run/requests.csv");
    assert_eq!(requests.iter().filter(|r| r["strategy"] == "full").count(), 4);
    desk.recap(&[&run[..], &["--out", "shared", "--no-text"]].concat());
    assert_says(&desk.read("shared/cells.jsonl"), &[error]);
    for file in desk.list("shared") {
        assert!(!desk.read(&format!("shared/{file}")).contains("blue heron"), "{file}");
    }
}

#[test]
fn a_strategy_is_checked_by_trying_it() {
    let desk = program(&keeping("m['context']"));
    let said = desk.good(&["strategies", "check", "mine.toml"]).out;
    assert_says(
        &said,
        &["mine: 1 stage, no error", "tried on 3 sessions", "no stage ever changed"],
    );
    let said = desk.good(&["strategies", "check", "sliding-window"]).out;
    assert_says(&said, &["gone", "the same twice, and the same after being saved and restored"]);
    let tried = |answer: &str| program(answer).recap(&["strategies", "check", "mine.toml"]);
    let broken = tried(&keeping("m['context'][-1:]"));
    assert_eq!(broken.code, 3);
    assert_says(&broken.err, &["mine, tried on ", "without its call"]);
    let silent = tried("{}");
    assert_says(&silent.err, &["call 1 of `python3 mine.py`: its answer has no `type`"]);
}

#[test]
fn nondeterministic_program_is_reported() {
    let note = "{'type': 'operations', 'operations': [{'note': {'key': 'k', 'text': 'x ' * random.randrange(1000)}}]";
    let tried = |more: &str| {
        program(&format!("{note}{more}}}")).recap(&["strategies", "check", "mine.toml"])
    };
    let bare = tried("");
    assert_eq!(bare.code, 3);
    assert_says(&bare.err, &["two runs of the same session differ"]);
    let with_models = tried(", 'usage': [{'input': 10, 'output': 1}]");
    assert_eq!(with_models.code, 0, "{}", with_models.err);
    assert_says(&with_models.out, &["it calls models of its own"]);
}

#[test]
fn show_writes_the_files_that_a_system_keeps() {
    let desk = Desk::with_sessions();
    let options = ["show", "pi.jsonl", "--strategy", "gencode", "--files", "kept"];
    let shown = desk.good(&options).out;
    assert_says(&shown, &["files that gencode has written", "kept/sessions"]);
    let again = desk.refused(&options);
    assert_says(&again, &["not empty", "--files"]);
    let none = ["show", "pi.jsonl", "--strategy", "fifo", "--files", "other"];
    assert_says(&desk.refused(&none), &["has not written any files"]);
}

#[test]
fn question_data_sets_run_systems_recordings_run_agents() {
    let desk = Desk::with_sessions();
    let locomo = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/dataset/locomo.json");
    for (command, input, has, lacks) in [
        ("bench", locomo, "gencode", "codex"),
        ("replay", locomo, "gencode", "codex"),
        ("bench", "pi.jsonl", "codex", "gencode"),
    ] {
        let out = format!("{command}-{has}");
        desk.good(&[command, input, "--cuts", "none", "--quiet", "--out", &out]);
        let rows = desk.csv(&format!("{out}/summary.csv"));
        let runs = |name: &str| rows.iter().any(|row| row["strategy"] == name);
        assert!(runs("fifo") && runs(has) && !runs(lacks), "{command} {input}");
    }
}
