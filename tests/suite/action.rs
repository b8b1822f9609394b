//! The GitHub Action (and workflows): it parses, takes nothing of a stranger into a script, and
//! is told in the book.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value as Json;

use crate::generated::{code, list};
use crate::generated_parts::hold;

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root(name)).unwrap()
}

fn yaml(text: &str) -> Json {
    serde_saphyr::from_str(text).unwrap()
}

fn action() -> Json {
    yaml(&read("action.yml"))
}

/// Every script of an action or workflow.
fn scripts(value: &Json) -> Vec<String> {
    match value {
        Json::Object(members) => members
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value) {
                ("run", Json::String(script)) => vec![script.clone()],
                _ => scripts(value),
            })
            .collect(),
        Json::Array(items) => items.iter().flat_map(scripts).collect(),
        _ => Vec::new(),
    }
}

const WORKFLOWS: [&str; 5] = [
    "src/cli/init/recap.yml",
    "src/cli/init/comment.yml",
    "action.yml",
    ".github/workflows/release.yml",
    "examples/clusters/github-matrix.yml",
];

#[test]
fn foreign_actions_are_pinned_by_commit_beside_their_version() {
    let uses = Regex::new(r"(?m)^ +(?:- )?uses: *(.*)$").unwrap();
    let pinned = Regex::new(r"^[\w-]+(?:/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$").unwrap();
    let texts = WORKFLOWS.map(read);
    let actions = texts.iter().flat_map(|text| uses.captures_iter(text));
    let actions: BTreeSet<&str> = actions.map(|found| found.get(1).unwrap().as_str()).collect();
    for action in &actions {
        assert!(pinned.is_match(action), "{action}");
    }
    // The action `cache` is used whole and in two parts.
    assert_eq!(actions.len(), 7 + 2, "one commit of each action: {actions:#?}");
}

#[test]
fn action_names_its_build_by_all_sources() {
    let text = read("action.yml");
    let listed = text.split("find ").nth(1).unwrap().split('\\').next().unwrap();
    let listed: BTreeSet<&str> = listed.split_whitespace().collect();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let mut sources: BTreeSet<&str> =
        members.iter().map(|member| member.as_str().unwrap().split('/').next().unwrap()).collect();
    sources.extend(["Cargo.toml", "Cargo.lock", "src"]);
    assert_eq!(listed, sources);
}

#[test]
fn no_expression_stands_in_a_script() {
    let mut seen = 0;
    for name in WORKFLOWS {
        let text = read(name).replace("@PERMISSION@", "").replace("@COMMENT@", "");
        // The comment's step stands alone in its file.
        let text = if name.ends_with("comment.yml") { format!("steps:\n{text}") } else { text };
        for script in scripts(&yaml(&text)) {
            assert!(!script.contains("${{"), "{name}:\n{script}");
            seen += 1;
        }
    }
    assert_eq!(seen, 3 + 1 + 4 + 6 + 4, "scripts that were looked at");
}

#[test]
fn bash_and_shellcheck_accept_every_script() {
    let shellcheck = Command::new("shellcheck").arg("--version").output().is_ok();
    if !shellcheck {
        println!("shellcheck is absent: bash alone reads the scripts");
    }
    let folder = tempfile::tempdir().unwrap();
    let workflows = [".github/workflows/release.yml", "examples/clusters/github-matrix.yml"];
    let [release, matrix] = workflows.map(|name| yaml(&read(name)));
    for (at, script) in [action(), release, matrix].iter().flat_map(scripts).enumerate() {
        let path = folder.path().join(format!("{at}.sh"));
        // As GitHub runs it.
        std::fs::write(&path, format!("#!/usr/bin/env bash\nset -eo pipefail\n{script}")).unwrap();
        let ran = |program: &str, flag: &str| {
            let out = Command::new(program).arg(flag).arg(&path).output().unwrap();
            let actual = String::from_utf8_lossy(&out.stdout).into_owned();
            let error = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(out.status.success(), "{program}: {actual}{error}\n{script}");
        };
        ran("bash", "-n");
        if shellcheck {
            ran("shellcheck", "--severity=style");
        }
    }
}

#[test]
fn every_action_input_is_used_and_documented() {
    let (action, text) = (action(), read("action.yml"));
    let used = Regex::new(r"inputs\.([a-z-]+)").unwrap();
    let mut used: Vec<&str> =
        used.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()).collect();
    used.sort_unstable();
    used.dedup();
    let mut inputs: Vec<&str> =
        action["inputs"].as_object().unwrap().keys().map(String::as_str).collect();
    inputs.sort_unstable();
    assert_eq!(inputs, used);
    let inputs = inputs.into_iter().map(|name| {
        let [holds, default] = ["description", "default"]
            .map(|key| action["inputs"][name][key].as_str().unwrap_or_else(|| panic!("{name}")));
        let default =
            if default.is_empty() { String::new() } else { format!(" ({})", code([default])) };
        (code([name]) + &default, holds.to_owned())
    });
    hold("docs/ci.md", "inputs", &list(inputs));
}

#[test]
fn every_action_variable_is_a_bench_option() {
    let recap = assert_cmd::cargo::cargo_bin!("recap");
    let help = Command::new(recap).args(["bench", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let steps = action()["runs"]["steps"].clone();
    let steps = steps.as_array().unwrap();
    let measure = steps.iter().find(|step| step["name"] == "Measure").unwrap();
    let variables = measure["env"].as_object().unwrap().keys();
    let options: Vec<String> = variables
        .filter_map(|name| name.strip_prefix("RECAP_"))
        .filter(|name| *name != "INPUTS")
        .map(|name| format!("--{}", name.to_lowercase().replace('_', "-")))
        .collect();
    assert_eq!(options.len(), 8);
    for option in options {
        assert!(help.contains(&option), "{option}");
    }
}
