//! The strategies' documentation against the code, and what strategy files are
//! refused for.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use recap_strategy::{Scaling, Strategy, builtin, builtin_names};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Numbers of parameters that count messages and their like. All other whole
/// numbers are tokens or characters, which scale.
const COUNTS: [&str; 11] = [
    "last",
    "keep_last",
    "keep_first",
    "keep_results",
    "keep_responses",
    "keep_turns",
    "keep.responses",
    "keep.turns",
    "fold_responses",
    "repeats",
    "neighbours",
];

/// The whole numbers among parameters, those of a table as `table.key`.
fn numbers(parameters: &toml::Table, above: &str) -> Vec<String> {
    let each = parameters.iter().flat_map(|(key, value)| match value {
        toml::Value::Integer(_) => vec![format!("{above}{key}")],
        toml::Value::Table(inner) => numbers(inner, &format!("{above}{key}.")),
        _ => Vec::new(),
    });
    each.collect()
}

#[test]
fn built_in_strategies_with_native_window_say_what_scales() {
    for name in builtin_names() {
        let strategy = builtin(name, &[]).unwrap().unwrap();
        assert_eq!(strategy.scales.is_some(), strategy.native_window.is_some(), "{name}");
    }
}

#[test]
fn built_in_whole_numbers_are_counts_or_scale() {
    let mut scaling = BTreeSet::new();
    for name in builtin_names() {
        let strategy = builtin(name, &[]).unwrap().unwrap();
        for stage in &strategy.stages {
            for number in numbers(&stage.parameters, "") {
                let scales = stage.mechanism.scales.contains(&number.as_str());
                let counts = COUNTS.contains(&number.as_str());
                assert!(scales != counts, "{name}, {}: {number}", stage.mechanism.name);
                scaling.extend(scales.then_some(number));
            }
        }
    }
    assert!(scaling.len() > 10, "{scaling:?}");
}

#[test]
fn documentation_example_is_a_valid_strategy() {
    let page = fs::read_to_string(root().join("docs/strategies.md")).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let strategy = Strategy::parse(None, "example.toml", example.unwrap(), &[], &|_| None).unwrap();
    let mechanisms: Vec<&str> = strategy.stages.iter().map(|stage| stage.mechanism.name).collect();
    assert_eq!(mechanisms, ["prune", "fifo"]);
}

/// In each line of `tests/fixtures/refused.txt` stand a value of a built-in strategy, or the keys
/// of a `stage`, and behind `=>` what it is refused for, if it is.
#[test]
fn wrong_parameters_are_refused_with_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let head = "version = 1\nname = \"mine\"\nsummary = \"\"\nsource = \"\"\n\
                [[stage]]\nat = \"request\"\nwhen = \"always\"\n";
    for line in fs::read_to_string(root().join("tests/fixtures/refused.txt")).unwrap().lines() {
        let (given, reason) = line.split_once(" => ").unwrap_or((line, ""));
        let (name, keys) = given.split_once(' ').unwrap();
        let read = if name == "stage" {
            fs::write(&file, format!("{head}{}\n", keys.replace("; ", "\n"))).unwrap();
            Strategy::load(&file, &[])
        } else {
            let (key, value) = keys.split_once(" = ").unwrap();
            builtin(name, &[(key.to_owned(), value.to_owned())]).unwrap()
        };
        let built = read.and_then(|strategy| strategy.build(1_000, Scaling::AsWritten).map(drop));
        let error = built.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(error.contains("stage"), !reason.is_empty(), "{line}: {error}");
        assert!(error.contains(reason), "{line}: {error}");
    }
    let program = format!("{head}mechanism = \"command\"\ncommand = [\"x\"]\n");
    let error =
        Strategy::parse(None, "mine.toml", &program, &[], &|_| None).unwrap_err().to_string();
    assert!(error.contains("only from a strategy file of your own"), "{error}");
}
