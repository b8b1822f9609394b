//! The presets' documentation against the code, and what preset files are
//! refused for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use recap::strategy::{MECHANISMS, Preset, builtin, builtin_names};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("strategies/README.md")).unwrap()
}

/// The lines of a section, by its heading.
fn section<'a>(readme: &'a str, heading: &str) -> Vec<&'a str> {
    let from = readme.lines().skip_while(|line| *line != format!("## {heading}")).skip(1);
    let lines: Vec<&str> = from.take_while(|line| !line.starts_with("## ")).collect();
    assert!(!lines.is_empty(), "no section {heading}");
    lines
}

/// Rows of a section's tables as cells, heads left out.
fn rows<'a>(readme: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let lines = section(readme, heading);
    let is_rule = |line: &str| line.starts_with("|---");
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect();
    let body = (0..lines.len()).filter(|&at| {
        let head = lines.get(at + 1).is_some_and(|next| is_rule(next));
        lines[at].starts_with('|') && !is_rule(lines[at]) && !head
    });
    body.map(|at| cells(lines[at])).collect()
}

/// What stands in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Every test as `FILE::TEST`.
fn tests() -> BTreeSet<String> {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    rust_files(&root().join("tests"), &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[test]") {
            let name = pair[1].strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            found.extend(name.map(|name| format!("{stem}::{name}")));
        }
    }
    found
}

#[test]
fn every_test_that_the_documentation_names_exists() {
    let (readme, tests) = (readme(), tests());
    let rows = rows(&readme, "Seed sentences and their tests");
    assert!(rows.len() > 90, "{} rows", rows.len());
    let mut named = BTreeSet::new();
    for row in rows {
        let [sentence, test] = row[..] else { panic!("not two cells: {row:?}") };
        let [test] = quoted(test)[..] else { panic!("no one test for: {sentence}") };
        assert!(tests.contains(test), "{test} does not exist ({sentence})");
        assert!(named.insert(test), "{test} stands there twice");
    }
}

#[test]
fn every_test_of_a_seed_suite_stands_in_the_documentation() {
    let readme = readme();
    let suites = ["session_state", "continuation", "chunked_summary", "memories"];
    let belongs = |test: &&String| {
        test.starts_with("seed_") || suites.iter().any(|s| test.starts_with(&format!("{s}::")))
    };
    let missing: Vec<String> =
        tests().iter().filter(belongs).filter(|t| !readme.contains(*t)).cloned().collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_mechanism_and_every_preset_is_documented_and_no_other() {
    let readme = readme();
    let first = |heading| {
        let rows = rows(&readme, heading);
        let names = rows.iter().flat_map(|row| quoted(row[0])).map(str::to_owned);
        names.collect::<BTreeSet<_>>()
    };
    let mechanisms = MECHANISMS.iter().map(|m| m.name.to_owned()).collect();
    assert_eq!(first("Mechanisms"), mechanisms);
    let presets = builtin_names().map(str::to_owned).collect();
    assert_eq!(first("Presets"), presets);
}

#[test]
fn parameters_without_sense_are_refused_with_their_stage() {
    for (preset, key, value, says) in [
        ("sliding-window", "last", "0", "`last` must be at least 1"),
        ("sliding-window", "last", "-3", "last: -3 is not between 0 and 1000000000"),
        ("snapshot-dedup", "tools", "[]", "name a tool or write \"auto\""),
        ("snapshot-dedup", "tools", "some", "write \"auto\" or a list"),
        ("snapshot-dedup", "tools", "[1]", "must list names"),
        ("prune", "marker", "{{name}}", "unknown placeholder `name` (allowed: tool)"),
        ("prune", "1.polcy", "auto", "unknown field `polcy`"),
        ("prune-once", "policy", "keep-some", "keep-none"),
        ("prune-once", "1.tools", "{ read = \"keep\" }", "summarize"),
        ("fifo", "1.keep", "3", "unknown field `keep`"),
        ("fifo", "unit", "turn", "`exchange` or `message`"),
        ("arachne", "2.keep_first_user", "true", "belongs to `unit = \"message\"`"),
        ("recorded", "1.marker", "x", "unknown field `marker`"),
    ] {
        let overrides = [(key.to_owned(), value.to_owned())];
        let error = builtin(preset, &overrides).expect("a built-in preset").unwrap_err();
        assert!(error.to_string().contains(says), "{preset} {key}: {error}");
        let stage = if key.starts_with('2') { "stage 2" } else { "stage 1" };
        assert!(error.place.contains(stage), "{error}");
    }
    let nothing = [("native_window".to_owned(), "0".to_owned())];
    let refused = builtin("prune", &nothing).expect("a built-in preset").unwrap_err();
    assert!(refused.to_string().contains("native_window: a window has at least 1 token"));
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
fn every_whole_number_of_a_built_in_preset_is_a_count_or_scales() {
    let mut scaling = BTreeSet::new();
    for name in builtin_names() {
        let preset = builtin(name, &[]).unwrap().unwrap();
        for stage in &preset.stages {
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
fn the_example_of_the_documentation_is_a_valid_preset() {
    let readme = readme();
    let example = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let preset = Preset::parse("example.toml", example.unwrap(), &[], &|_| None).unwrap();
    let mechanisms: Vec<&str> = preset.stages.iter().map(|stage| stage.mechanism.name).collect();
    assert_eq!(mechanisms, ["prune", "fifo"]);
}
