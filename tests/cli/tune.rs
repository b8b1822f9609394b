//! `recap tune`: a search from its space to its result.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::desk::Desk;

/// A strategy without cache breakpoints, which costs more than one with them and
/// keeps the same.
const BASE: &str = "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n\
                    cache_breakpoints = []\n[[stage]]\nmechanism = \"fifo\"\n\
                    at = \"request\"\nunit = \"message\"\n\
                    when = { above = \"window\", share = 0.85 }\n";
const SPACE: &str = "version = 1\nbase = \"mine.toml\"\n[vary]\n\
                     \"1.when.share\" = [0.6, 0.85]\n\
                     cache_breakpoints = [[], [\"preamble\", \"previous\", \"newest\"]]\n";

/// A desk with `many`: one session under so many names, each of a project of
/// its own.
fn desk(sessions: usize) -> Desk {
    let desk = Desk::new();
    let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/quickstart");
    let all = std::fs::read_to_string(quickstart.join("sessions.jsonl")).unwrap();
    let short = all.lines().find(|line| line.starts_with("{\"id\":\"parcel-service\"")).unwrap();
    let mut session: Json = serde_json::from_str(short).unwrap();
    let lines: Vec<String> = (0..sessions)
        .map(|at| {
            session["id"] = json!(format!("session-{at}"));
            session["project"] = json!(format!("project-{at}"));
            session.to_string()
        })
        .collect();
    let card = std::fs::read_to_string(quickstart.join("dataset.toml")).unwrap();
    desk.file("many/dataset.toml", card.replace("quickstart", "many"));
    desk.file("many/sessions.jsonl", lines.join("\n") + "\n");
    desk.file("mine.toml", BASE).file("space.toml", SPACE);
    desk
}

const WHAT: [&str; 9] =
    ["tune", "many", "--space", "space.toml", "--quiet", "--cuts", "2", "--hold-back", "0.25"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&WHAT[..], more].concat()
}

#[test]
fn search_finds_frontier_and_compares_on_unseen_sessions() {
    let desk = desk(12);
    desk.good(&with(&["--out", "search"]));
    let result = desk.json("search/tune.json");
    let sides = (&result["split"]["search_sessions"], &result["split"]["held_back_sessions"]);
    assert_eq!(sides, (&json!(9), &json!(3)));
    // The sessions are one session: what differs, differs in all of them. Without
    // a cache the same is kept for more dollars.
    let settings = result["settings"].as_array().unwrap();
    let of = |setting: &Json| (setting["label"].clone(), setting["status"].clone());
    let found: Vec<(Json, Json)> = settings.iter().map(of).collect();
    let cached = "cache_breakpoints=[\"preamble\", \"previous\", \"newest\"]";
    let known = [
        ("as its author has it".to_owned(), "behind"),
        ("1.when.share=0.6".to_owned(), "behind"),
        (format!("1.when.share=0.6 {cached}"), "behind"),
        (cached.to_owned(), "frontier"),
    ];
    assert_eq!(found, known.map(|(label, status)| (json!(label), json!(status))));
    assert!(settings.iter().all(|setting| setting["sessions"] == json!(9)), "{settings:?}");
    assert_eq!(result["recommended"], json!(3), "{result}");
    let held = &result["held_back"];
    assert_eq!((&held["sessions"], &held["kept"]["difference"]["mean"]), (&json!(3), &json!(0.0)));
    assert!(held["usd"]["difference"]["mean"].as_f64().unwrap() < 0.0, "{held}");
    assert!(held["words"].as_str().unwrap().contains("too few for an interval"), "{held}");
    // The recommended strategy is a file that runs.
    assert_eq!(result["strategy_file"], json!("tuned-mine.toml"));
    let checked = desk.good(&["strategies", "check", "search/tuned-mine.toml"]);
    assert!(checked.out.starts_with("tuned-mine: "), "{}", checked.out);
    let rows = desk.csv("search/frontier.csv");
    assert_eq!((rows.len(), rows[3]["status"].as_str()), (4, "behind"), "{rows:?}");
    // Both parts are runs like any other.
    for part in ["search", "held-back"] {
        desk.good(&["report", &format!("search/{part}/run-1")]);
    }
}

#[test]
fn search_replays_at_requested_window() {
    let desk = desk(4);
    desk.good(&with(&["--out", "narrow", "--window", "60%"]));
    let manifest: Json =
        serde_json::from_str(&desk.read("narrow/search/run-1/manifest.json")).unwrap();
    assert_eq!(manifest["windows"], json!(["60%"]));
}

#[test]
fn an_interrupted_search_comes_to_the_same_end() {
    let desk = desk(10);
    desk.good(&with(&["--out", "whole"]));
    let refused = desk.refused(&with(&["--out", "whole"]));
    assert!(refused.contains("there is a search in this folder"), "{refused}");
    // A search that was stopped within its first run.
    let journal = desk.read("whole/search/run-1/cells.jsonl");
    desk.file("again/search/run-1/cells.jsonl", &journal[..journal.len() / 2]);
    let manifest = desk.read("whole/search/run-1/manifest.json");
    desk.file("again/search/run-1/manifest.json", manifest);
    let other = desk.refused(&with(&["--out", "again", "--resume", "--seed", "2"]));
    assert!(other.contains("the run in this folder used other settings: "), "{other}");
    desk.good(&with(&["--out", "again", "--resume"]));
    for file in ["tune.json", "frontier.csv", "frontier.svg"] {
        assert_eq!(
            desk.read(&format!("whole/{file}")),
            desk.read(&format!("again/{file}")),
            "{file}"
        );
    }
    // What was finished is taken over and not replayed anew.
    let replayed =
        |run: &str| desk.read(&format!("{run}/search/run-1/times.jsonl")).lines().count();
    assert!(replayed("again") < replayed("whole"));
    desk.file("foreign/notes.txt", "mine");
    for more in [&["--out", "foreign"][..], &["--out", "foreign", "--resume"]] {
        let foreign = desk.refused(&with(more));
        assert!(foreign.contains("something else than a search"), "{foreign}");
    }
}

#[test]
fn unsearchable_input_is_refused_with_remedy() {
    let desk = desk(2);
    desk.file("wrong.toml", "version = 1\nbase = \"fifo\"\n[vary]\nunit = []\n");
    desk.file("twice.toml", SPACE.replace("[vary]", "windows = [\"20k\", \"9k\"]\n[vary]"));
    for (more, says) in [
        (vec!["many", "--space", "wrong.toml"], "wrong.toml, line 4: unit: the list is empty"),
        (vec!["many", "--space", "fifoo"], "strategy `fifoo` is not known"),
        (
            vec!["many", "--space", "fifo", "--answerer", "openai/m"],
            "without --objective continuity",
        ),
        (vec!["many", "--space", "fifo", "--questions", "none"], "without --objective continuity"),
        (vec!["many", "--space", "fifo", "--cuts", "none"], "--cuts none in a search"),
        (vec!["many", "--space", "twice.toml", "--window", "9k"], "beside `windows` of the space"),
        (vec!["many", "--space", "fifo", "--max-cost", "1"], "--max-cost without a model"),
    ] {
        let said = desk.refused(&[&["tune"][..], &more[..]].concat());
        assert!(said.contains(says), "{more:?}: {said}");
    }
    for option in ["--hold-back=1", "--max-wait=-1", "--depth=0"] {
        let ran = desk.recap(&["tune", "many", "--space", "fifo", option]);
        assert!(ran.code == 2 && ran.err.contains("invalid value"), "{option}: {ran:?}");
    }
}
