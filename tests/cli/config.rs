//! `recap.toml`, the environment, and flags: who is heard.

use crate::desk::Desk;

/// A desk with a session and these settings.
fn desk(settings: &str) -> Desk {
    let desk = Desk::with_sessions();
    desk.file("recap.toml", settings);
    desk
}

const SETTINGS: &str = r#"
inputs = ["pi.jsonl"]
strategy = ["fifo", "prune"]
window = "30%"
seed = 7
out = "run"
format = ["csv", "json"]
no-text = true
"#;

/// Strategies of the run that are no controls.
fn strategies(desk: &Desk) -> Vec<String> {
    let rows = desk.csv("run/summary.csv").into_iter().map(|row| row["strategy"].clone());
    let mut names: Vec<String> =
        rows.filter(|name| !["full", "empty", "id-list"].contains(&&**name)).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn settings_in_working_folder_are_read_and_named() {
    let desk = desk(SETTINGS);
    let ran = desk.good(&["bench"]);
    assert!(ran.err.contains("settings of recap.toml"), "{}", ran.err);
    let manifest = desk.json("run/manifest.json");
    assert_eq!(manifest["windows"], serde_json::json!(["30%"]));
    assert_eq!(manifest["seed"], 7);
    assert_eq!(strategies(&desk), ["fifo", "prune"]);
    let files = desk.list("run");
    assert!(!files.iter().any(|f| f == "texts.jsonl" || f == "report.html"), "{files:?}");
}

#[test]
fn flags_beat_the_environment_which_beats_the_file() {
    let desk = desk(SETTINGS);
    let variables = [("RECAP_SEED", "8"), ("RECAP_WINDOW", "40%\n50%"), ("RECAP_NO_TEXT", "false")];
    let ran = desk.recap_with(&variables, &["bench", "--window", "60%", "--strategy", "zoea"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let manifest = desk.json("run/manifest.json");
    assert_eq!(manifest["windows"], serde_json::json!(["60%"]), "the flag's, and no other");
    assert_eq!(manifest["seed"], 8, "the variable's");
    assert_eq!(strategies(&desk), ["zoea"], "the flag's");
    assert!(desk.list("run").contains(&"texts.jsonl".to_owned()), "the variable's");
    let ran = desk.recap_with(&variables, &["bench"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(desk.json("run/manifest.json")["windows"], serde_json::json!(["40%", "50%"]));
}

#[test]
fn only_the_requested_settings_file_is_read() {
    let desk = desk("seed = \"no number\"");
    desk.file("other.toml", SETTINGS.replace("seed = 7", "seed = 9"));
    desk.good(&["bench", "--config", "other.toml"]);
    assert_eq!(desk.json("run/manifest.json")["seed"], 9);
    let error = desk.refused(&["bench", "--config", "absent.toml"]);
    assert!(error.contains("cannot read absent.toml"), "{error}");
}

#[test]
fn report_receives_its_own_options_and_others_none() {
    let desk = desk(SETTINGS);
    desk.good(&["bench", "--quiet"]);
    desk.file("recap.toml", "format = \"md\"\nwindow = \"1%\"\n");
    let ran = desk.good(&["report", "run"]);
    assert!(ran.err.contains("settings of recap.toml"), "{}", ran.err);
    assert!(desk.list("run").contains(&"report.md".to_owned()));
    desk.file("recap.toml", "broken =");
    desk.good(&["strategies", "list"]);
}

#[test]
fn quiet_means_quiet() {
    let desk = desk(SETTINGS);
    let ran = desk.good(&["bench", "--quiet"]);
    assert_eq!(ran.err, "");
    assert!(ran.last().starts_with(" page     "));
    assert_eq!(desk.good(&["bench", "--json"]).err, "");
}
