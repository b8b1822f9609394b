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
    assert_eq!(ran.err, "settings of recap.toml\n", "whose settings these are is told always");
    assert!(ran.last().starts_with(" page     "));
    assert_eq!(desk.good(&["bench", "--json"]).err, "settings of recap.toml\n");
}

/// A program is run for whoever typed its name, or that of the file that has it; a `recap.toml`
/// that merely lies in the folder may be a stranger's.
#[cfg(unix)]
#[test]
fn programs_of_a_folder_run_only_where_they_are_allowed() {
    const RUN: [&str; 7] = ["bench", "claude-code.jsonl", "--cuts", "none", "-q", "--out", "run"];
    const NONE: &[&str] = &[];
    let with = |more: &[&'static str]| [&RUN[..], more].concat();
    let filter = |command: &str| {
        format!(
            "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n\n[[stage]]\n\
             mechanism = \"filter\"\nat = \"request\"\nwhen = \"always\"\ncommand = {command}\n"
        )
    };
    let touching = "[\"sh\", \"-c\", \"touch ran; cat\"]";
    let runs = "runs `sh -c \"touch ran; cat\"`";
    let change = format!("set = ['mine.toml.command={touching}']");
    let cases = [
        ("strategy = [\"filter:touch ran; cat\"]", "", NONE, runs),
        ("strategy = [\"mine.toml\"]", touching, NONE, runs),
        ("strategy = [\"proxy:http://127.0.0.1:9\"]", "", NONE, "sends sessions to a proxy"),
        ("strategy = [\"headroom\"]", "", NONE, "runs `headroom proxy"),
        (change.as_str(), "[\"cat\"]", &["--strategy", "mine.toml"], runs),
    ];
    for (settings, mine, typed, does) in cases {
        let desk = desk(settings);
        desk.file("mine.toml", filter(mine));
        let ran = desk.recap(&with(typed));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{settings}: {ran:?}");
        assert!(ran.err.contains("error: recap.toml:1: strategy `"), "{}", ran.err);
        assert!(ran.err.contains(does) && ran.err.contains("--allow-programs"), "{}", ran.err);
        assert!(!desk.path("ran").exists() && !desk.path("run").exists(), "{settings}");
        desk.good(&[&with(typed)[..], &["--dry-run"]].concat());
        if does == runs {
            desk.good(&[&with(typed)[..], &["--allow-programs"]].concat());
            assert!(desk.path("ran").exists(), "{settings}");
        }
    }
    let desk = desk(cases[0].0);
    let ran = |desk: &Desk| std::fs::remove_file(desk.path("ran")).is_ok();
    desk.good(&with(&["--config", "recap.toml"]));
    assert!(ran(&desk), "the file is named");
    let variables = [("RECAP_CONFIG", "recap.toml")];
    assert_eq!(desk.recap_with(&variables, &with(&[])).code, 0);
    assert!(ran(&desk), "a variable names it");
    desk.good(&with(&["--strategy", "filter:touch ran; cat"]));
    assert!(ran(&desk), "the strategy is typed");
    desk.file("recap.toml", "allow-programs = true\nstrategy = [\"filter:cat\"]");
    assert!(desk.refused(&["bench"]).contains("`allow-programs` is not known"));
}
