//! The library does what the command line does, to the byte.

use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use recap::bench::{Inputs, Selection, Settings, plan};
use recap_formats::{Dataset, LoadOptions, load};
use recap_report::Screen;

#[path = "../../examples/bench.rs"]
#[allow(dead_code)]
mod example;

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/invoice-export")
}

fn dataset() -> Dataset {
    load(&fixture(), &LoadOptions::default()).unwrap()
}

#[test]
fn the_example_leaves_what_recap_bench_leaves() {
    let desk = tempfile::tempdir().unwrap();
    let [library, program] = ["library", "program"].map(|name| desk.path().join(name));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let results = runtime.block_on(example::compare(&fixture(), &library)).unwrap();
    let screen = Screen { width: 100, color: false, wide: false };
    assert!(results.table(screen).contains("continuation"));

    let mut recap = cargo_bin_cmd!("recap");
    recap.arg("bench").arg(fixture()).arg("--out").arg(&program).args(["--quiet"]);
    for strategy in ["fifo", "prune", "continuation"] {
        recap.args(["--strategy", strategy]);
    }
    recap.args(["--window", "25%"]).assert().success();

    let mut names = Vec::new();
    for entry in std::fs::read_dir(&program).unwrap() {
        names.push(entry.unwrap().file_name().into_string().unwrap());
    }
    for name in &names {
        assert!(library.join(name).exists(), "{name}");
    }
    for name in names.iter().filter(|name| *name != "times.jsonl") {
        let [own, theirs] = [&library, &program].map(|run| std::fs::read(run.join(name)).unwrap());
        assert!(own == theirs, "{name}");
    }
    let summary = std::fs::read_to_string(library.join("summary.csv")).unwrap();
    assert!(summary.lines().count() > 6, "the controls and three strategies");
}

#[test]
fn each_planning_failure_says_what_is_wrong() {
    let refused = |datasets: Vec<Dataset>, strategies: Selection, settings: Settings| {
        let inputs = Inputs { datasets, strategies, ..Inputs::default() };
        plan(inputs, &settings).map(drop).unwrap_err()
    };
    let (all, default) = (Selection::default, Settings::default);
    let none = "no session is selected";
    assert_eq!(refused(vec![], all(), default()).message, none);
    let limit = Settings { limit: Some(0), ..default() };
    assert_eq!(refused(vec![dataset()], all(), limit).message, none);
    let twice = refused(vec![dataset(), dataset()], all(), default());
    assert!(twice.message.ends_with("is given twice"), "{twice}");
    let named = Selection { names: vec!["fifoo".to_owned()], ..all() };
    let unknown = refused(vec![dataset()], named, default());
    assert_eq!(unknown.message, "strategy `fifoo` is not known");
    assert!(unknown.to_string().contains("`fifo`"), "{unknown}");
    let changed = Selection { changes: vec!["prune".to_owned()], ..all() };
    let change = refused(vec![dataset()], changed, default());
    assert_eq!(change.message, "`--set prune` is not STRATEGY.KEY=VALUE");
}

#[test]
fn windows_and_billing_models_are_deduplicated_in_order() {
    let typed = ["200k", "Native", " 25%", "native", "200k"].map(|typed| typed.parse().unwrap());
    let models = ["gpt-5.4", " gpt-5.4 ", "claude-opus-4-6"].map(str::to_owned);
    let settings =
        Settings { windows: typed.to_vec(), agent_models: models.to_vec(), ..Settings::default() };
    let inputs = Inputs { datasets: vec![dataset()], ..Inputs::default() };
    let plan = plan(inputs, &settings).unwrap();
    assert_eq!(plan.manifest.windows, ["200k", "native", "25%"]);
    assert_eq!(plan.manifest.agent_models, ["gpt-5.4", "claude-opus-4-6"]);
}
