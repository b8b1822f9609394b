//! `recap init`: what it writes runs, parses, and never overwrites anything.

use std::path::Path;

use serde_json::Value as Json;

use crate::desk::{Desk, fixture};

const WORKFLOW: &str = ".github/workflows/recap.yml";

fn yaml(desk: &Desk) -> Json {
    serde_saphyr::from_str(&desk.read(WORKFLOW)).unwrap()
}

/// The names of a workflow's steps, and the steps.
fn steps(workflow: &Json) -> Vec<(String, Json)> {
    let steps = workflow["jobs"]["recap"]["steps"].as_array().unwrap();
    let name = |step: &Json| {
        let name = step["name"].as_str().or(step["uses"].as_str());
        name.unwrap().to_owned()
    };
    steps.iter().map(|step| (name(step), step.clone())).collect()
}

#[test]
fn what_it_writes_is_told_and_runs_at_once() {
    let desk = Desk::new();
    let ran = desk.good(&["init"]);
    assert_eq!(ran.out, format!("wrote recap.toml\nwrote {WORKFLOW}\nnext: recap bench\n"));
    let ran = desk.good(&["bench", "--out", "run"]);
    assert!(ran.err.contains("settings of recap.toml"), "{}", ran.err);
    assert!(ran.out.contains("quickstart · 6 sessions"), "{}", ran.out);
    for file in ["report.md", "junit.xml", "report.html"] {
        assert!(desk.list("run").contains(&file.to_owned()), "{file}");
    }
}

#[test]
fn every_setting_that_it_proposes_is_one() {
    let desk = Desk::new();
    desk.good(&["init"]);
    // What stands behind `# key =` holds if the mark is taken away.
    let text = desk.read("recap.toml");
    let open: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ").filter(|rest| rest.contains(" = ")) {
            Some(rest) => format!("{rest}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    assert_ne!(open, text);
    desk.file("open.toml", open);
    let ran = desk.recap(&["bench", "--config", "open.toml", "--dry-run", "--strategy", "full"]);
    assert!(!ran.err.contains("open.toml:"), "{}", ran.err);
}

#[test]
fn the_settings_and_the_workflow_are_these() {
    let desk = Desk::with_sessions();
    desk.good(&["init", "./pi.jsonl", "--comment"]);
    let golden = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/init");
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.replace("VERSION", env!("CARGO_PKG_VERSION"))
    };
    assert_eq!(desk.read("recap.toml"), golden("recap.toml"));
    assert_eq!(desk.read(WORKFLOW), golden("recap.yml"));
}

#[test]
fn the_workflow_installs_runs_and_keeps_whatever_the_gate_says() {
    let desk = Desk::new();
    desk.good(&["init"]);
    let workflow = yaml(&desk);
    assert_eq!(workflow["permissions"], serde_json::json!({"contents": "read"}));
    let steps = steps(&workflow);
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "actions/checkout@v5",
            "Look for recap",
            "Install recap",
            "Fetch recorded calls of models",
            "Measure",
            "Keep recorded calls of models",
            "Write the summary",
            "Keep the report"
        ]
    );
    let measured = names.iter().position(|name| *name == "Measure").unwrap();
    for (name, step) in &steps[measured + 1..] {
        let condition = step["if"].as_str().unwrap();
        assert!(condition.starts_with("always()"), "{name} would not see a red gate");
    }
    let key = steps[3].1["with"]["key"].as_str().unwrap();
    assert_eq!(key, "recap-calls-${{ hashFiles('recap.toml', 'presets/**') }}");
    desk.good(&["init", "--force", "--comment", "--source", "https://example.com/you/recap"]);
    let workflow = yaml(&desk);
    assert_eq!(workflow["permissions"]["pull-requests"], "write");
    let all = desk.read(WORKFLOW);
    assert!(all.contains("cargo install --locked --git https://example.com/you/recap recap-bench"));
    assert!(all.contains("gh pr comment \"$NUMBER\""), "{all}");
}

#[test]
fn no_file_is_overwritten_unless_forced() {
    let desk = Desk::new();
    desk.file(WORKFLOW, "mine");
    let error = desk.refused(&["init"]);
    assert!(error.contains(&format!("{WORKFLOW} exists already")), "{error}");
    assert_eq!(desk.read(WORKFLOW), "mine");
    assert!(!desk.path("recap.toml").exists(), "all or nothing");
    desk.good(&["init", "--force"]);
    assert!(desk.read(WORKFLOW).contains("recap bench"));
}

#[test]
fn an_input_is_read_first_and_quoted_whatever_its_name() {
    let desk = Desk::new();
    let error = desk.refused(&["init", "absent.jsonl"]);
    assert!(error.contains("no such file"), "{error}");
    let error = desk.refused(&["init", "-"]);
    assert!(error.contains("standard input"), "{error}");
    let name = "it's \"}}\" ${{ x }} \\.jsonl";
    std::fs::copy(fixture("pi.jsonl"), desk.path(name)).unwrap();
    desk.good(&["init", name]);
    let settings: toml::Table = desk.read("recap.toml").parse().unwrap();
    assert_eq!(settings["inputs"].as_array().unwrap()[0].as_str(), Some(name));
    assert!(!desk.read(WORKFLOW).contains("${{ x }}"));
    desk.good(&["bench", "--out", "run"]);
    let outside = fixture("pi.jsonl").display().to_string();
    let ran = desk.good(&["init", "--force", &outside]);
    assert!(ran.out.contains("lies outside this folder"), "{}", ran.out);
}
