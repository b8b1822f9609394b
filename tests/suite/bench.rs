//! The library does what the command line does, to the byte.

use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use recap::bench::{Bench, BenchError, SelectionError};
use recap::dataset::{Dataset, LoadOptions, load};
use recap::report::Screen;

#[path = "../../examples/bench.rs"]
#[allow(dead_code)]
mod example;

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/invoice-export")
}

fn dataset() -> Dataset {
    load(&fixture(), &LoadOptions::default()).unwrap()
}

/// A table without its column of CPU times.
fn timeless(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let timed = names.iter().position(|name| name == "cpu_ms").unwrap();
    let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
    let mut all: Vec<Vec<String>> = std::iter::once(names).chain(rows).collect();
    all.iter_mut().for_each(|row| drop(row.remove(timed)));
    all
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
    for preset in ["fifo", "prune", "continuation"] {
        recap.args(["--strategy", preset]);
    }
    recap.args(["--window", "25%"]).assert().success();

    for name in ["summary.csv", "cuts.csv"] {
        let [own, theirs] = [&library, &program].map(|run| timeless(&run.join(name)));
        assert!(own == theirs, "{name}");
        assert!(own.len() > 6, "{name} has the controls and three presets");
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&program).unwrap() {
        names.push(entry.unwrap().file_name().into_string().unwrap());
    }
    for name in &names {
        assert!(library.join(name).exists(), "{name}");
    }
    for name in ["manifest.json", "texts.jsonl", "requests.csv", "references.csv"] {
        let [own, theirs] = [&library, &program].map(|run| std::fs::read(run.join(name)).unwrap());
        assert!(own == theirs, "{name}");
    }
}

#[test]
fn what_cannot_be_planned_is_told_by_its_kind() {
    let refused = |bench: Bench| bench.plan().map(drop).unwrap_err();
    assert!(matches!(refused(Bench::new([])), BenchError::NoTranscript));
    assert!(matches!(refused(Bench::new([dataset()]).limit(Some(0))), BenchError::NoTranscript));
    let twice = refused(Bench::new([dataset(), dataset()]));
    assert!(matches!(twice, BenchError::GivenTwice { .. }), "{twice}");
    let unknown = refused(Bench::new([dataset()]).presets(["fifoo"]));
    let BenchError::Selection(SelectionError::Unknown { name, suggestion }) = unknown else {
        panic!("{unknown}");
    };
    assert!(name == "fifoo" && suggestion.contains("fifo"), "{suggestion}");
    let change = refused(Bench::new([dataset()]).changes(["prune"]));
    assert!(matches!(change, BenchError::Selection(SelectionError::Change(_))), "{change}");
}

#[test]
fn windows_and_payers_count_once_and_in_the_order_given() {
    let typed = ["200k", "Native", " 25%", "native", "200k"].map(|typed| typed.parse().unwrap());
    let models = ["gpt-5.4", " gpt-5.4 ", "claude-opus-4-6"];
    let plan = Bench::new([dataset()]).windows(typed).agent_models(models).plan().unwrap();
    assert_eq!(plan.manifest.windows, ["200k", "native", "25%"]);
    assert_eq!(plan.manifest.agent_models, ["gpt-5.4", "claude-opus-4-6"]);
}
