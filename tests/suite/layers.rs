//! Holds the layers of the architecture: each module imports only from those
//! before it. What may print, read the environment or the clock, open a socket or
//! start a program is held by lints (`src/lib.rs`, `clippy.toml`).

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::docs::{root, rust_files};

/// The layers in order; modules of one layer may not import each other.
const LAYERS: &[&[&str]] = &[
    &["text"],
    &["model"],
    &["wording"],
    &["tokens", "clock", "pricing"],
    &["prompt_cache", "llm", "dataset"],
    &["strategy"],
    &["probes", "seats"],
    &["questions"],
    &["replay"],
    &["run"],
    &["measure"],
    &["gate"],
    &["report"],
    &["bench"],
    &["tune"],
    &["cli"],
];

/// Modules that reach only these, whatever their layer.
const NARROW: &[(&str, &[&str])] = &[
    ("measure", &["model", "pricing", "text", "wording"]),
    ("gate", &["model", "measure", "text"]),
    ("wording", &["model", "text"]),
    ("report", &["model", "pricing", "text", "wording"]),
];

static CRATE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^$\w])crate::(?:\{([^}]*)\}|(\w+))").unwrap());

/// Top-level modules that a text names by `crate::`.
fn named(text: &str) -> Vec<&str> {
    let named = CRATE.captures_iter(text).flat_map(|found| {
        let names = found.get(1).or(found.get(2)).unwrap().as_str();
        names.split(',').map(|name| name.trim().split("::").next().unwrap())
    });
    named.collect()
}

/// Every source file, without the lines that are comments: its top-level module and its text.
fn sources() -> Vec<(String, String)> {
    let (src, mut files) = (root().join("src"), Vec::new());
    rust_files(&src, &mut files);
    let read = |file: &Path| {
        let module = file.strip_prefix(&src).unwrap().with_extension("");
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let module = module.iter().next().unwrap().to_str().unwrap().to_owned();
        (module, code.collect::<Vec<_>>().join("\n"))
    };
    files.iter().map(|file| read(file)).collect()
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Why `from` may not import `to`, if it may not.
fn forbidden(from: &str, to: &str) -> Option<String> {
    if from == to {
        return None;
    }
    let (own, other) = (rank(from)?, rank(to)?);
    if let Some((_, allowed)) = NARROW.iter().find(|(module, _)| *module == from)
        && !allowed.contains(&to)
    {
        return Some(format!("`{from}` reaches only {}", allowed.join(" and ")));
    }
    (other >= own).then(|| format!("`{from}` stands before or beside `{to}`"))
}

#[test]
fn every_module_imports_only_from_layers_before_it() {
    for (own, text) in sources() {
        assert!(rank(&own).is_some() || own == "lib" || own == "main", "{own} has no layer");
        let problems: Vec<String> =
            named(&text).into_iter().filter_map(|to| forbidden(&own, to)).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

#[test]
fn strategies_cannot_see_probes() {
    let probes = Regex::new(r"\b(?:Probe|Exam|Reference|Survival)\b.*").unwrap();
    for (_, text) in sources().iter().filter(|(own, _)| own == "strategy") {
        assert_eq!(probes.find(text).map(|found| found.as_str()), None);
    }
}

#[test]
fn the_layer_test_sees_violations() {
    assert_eq!(named("use crate::strategy::Preset;"), ["strategy"]);
    assert_eq!(named("use crate::{model, run::Folder};"), ["model", "run"]);
    assert_eq!(named("use super::number; $crate::model"), [""; 0]);
    assert!(forbidden("report", "strategy").is_some());
    assert!(forbidden("replay", "probes").is_none());
    assert!(forbidden("probes", "seats").is_some());
}
