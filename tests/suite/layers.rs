//! Holds the layers of the architecture: each module imports only from those
//! before it, and what must not be hidden is not hidden.

use std::fmt::Write as _;

use crate::sources::{Source, code, only_in, sources};

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

/// Path of modules from the crate root.
fn module_of(source: &Source) -> Vec<String> {
    let path = source.path.with_extension("");
    let mut module: Vec<String> = path.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|m| m == "mod" || m == "lib" || m == "main") {
        module.pop();
    }
    module
}

/// Top-level modules that a line names by `crate::` or through `super::`.
fn named(line: &str, module: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let before = line[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &line[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or("");
                names.extend(group.split(',').map(|part| word(part.trim())));
            }
            None => names.push(word(rest)),
        }
    }
    for (at, _) in line.match_indices("super::") {
        if line[..at].ends_with("super::") {
            continue;
        }
        let mut rest = &line[at..];
        let mut depth = module.len();
        while let Some(shorter) = rest.strip_prefix("super::") {
            rest = shorter;
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            names.push(word(rest));
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
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
    let mut problems = String::new();
    for source in sources() {
        let module = module_of(&source);
        let Some(own) = module.first() else { continue };
        assert!(rank(own).is_some() || source.path.ends_with("main.rs"), "{own} has no layer");
        for (number, line) in code(&source.text).lines().enumerate() {
            for to in named(line, &module) {
                if let Some(why) = forbidden(own, &to) {
                    let _ = writeln!(
                        problems,
                        "{}:{}: {}\n  {why}",
                        source.path.display(),
                        number + 1,
                        line.trim()
                    );
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn nothing_below_the_command_line_prints() {
    only_in(&["println!", "print!(", "eprint!(", "dbg!("], &["cli/", "main.rs"]);
}

#[test]
fn only_the_command_line_reads_the_environment_and_the_wall_clock() {
    only_in(&["env::var", "env::args"], &["cli/wire.rs"]);
    only_in(&["Timestamp::now", "SystemTime::now"], &["cli/"]);
    // What a call takes is measured, and its waits have an end.
    only_in(&["Instant::now"], &["cli/", "llm/", "strategy/mechanisms/command/"]);
}

#[test]
fn only_the_http_client_opens_a_socket() {
    only_in(&["TcpStream", "TcpListener", "UdpSocket", "reqwest::"], &["llm/http.rs"]);
}

#[test]
fn only_a_preset_of_the_users_starts_a_program() {
    only_in(
        &["std::process", "tokio::process"],
        &["main.rs", "cli/work.rs", "strategy/mechanisms/command/"],
    );
}

#[test]
fn strategies_cannot_see_probes() {
    only_in_module("strategy", &["Probe", "Exam", "Reference", "Survival"]);
}

fn only_in_module(module: &str, words: &[&str]) {
    for source in sources().iter().filter(|s| module_of(s).first().is_some_and(|m| m == module)) {
        for line in code(&source.text).lines() {
            let spotted = words.iter().find(|w| {
                line.match_indices(**w).any(|(at, w)| {
                    let around = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
                    around(line[..at].chars().next_back())
                        && around(line[at + w.len()..].chars().next())
                })
            });
            assert!(spotted.is_none(), "{}: {line}", source.path.display());
        }
    }
}

#[test]
fn the_layer_test_sees_violations() {
    let module = ["report".to_owned(), "table".to_owned()];
    assert_eq!(named("use crate::strategy::Preset;", &module), ["strategy"]);
    assert_eq!(named("use crate::{model, run::Folder};", &module), ["model", "run"]);
    assert_eq!(named("    super::super::replay::replay()", &module), ["replay"]);
    assert_eq!(named("use super::number;", &module), Vec::<String>::new());
    assert!(forbidden("report", "strategy").is_some());
    assert!(forbidden("replay", "probes").is_none());
    assert!(forbidden("probes", "seats").is_some());
    assert_eq!(code(r#"let a = "crate::run"; // crate::run"#), "let a = ; ");
}
