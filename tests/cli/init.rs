//! `recap init`: what it writes is what was reviewed, parses and runs.

use std::path::Path;

use crate::desk::{Desk, fixture};
use crate::recordings::shared;

const WORKFLOW: &str = ".github/workflows/recap.yml";

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
fn any_name_of_an_input_is_quoted() {
    let desk = Desk::new();
    let name = "it's \"}}\" ${{ x }} \\.jsonl";
    std::fs::copy(fixture("pi.jsonl"), desk.path(name)).unwrap();
    desk.good(&["init", name]);
    let settings: toml::Table = desk.read("recap.toml").parse().unwrap();
    assert_eq!(settings["inputs"].as_array().unwrap()[0].as_str(), Some(name));
    assert!(!desk.read(WORKFLOW).contains("${{ x }}"));
    desk.good(&["bench", "--out", "run"]);
}

#[test]
fn written_gate_passes_recordings_from_first_run() {
    for name in [
        "codex-rollouts/agentcmd-rollout-2025-09-24T20-12-23.jsonl",
        "claude-code-sessions/ae68c513-db90-451f-940d-804a1d3d0986.jsonl",
    ] {
        let Some(recording) = shared(&format!("data/{name}")) else { return };
        let desk = Desk::new();
        desk.good(&["init", recording.to_str().unwrap()]);
        let text = desk.read("recap.toml");
        assert!(text.contains("window = [\"native\"]"), "{text}");
        for out in ["first", "second"] {
            desk.good(&["bench", "--quiet", "--out", out]);
        }
    }
}
