//! Every value of the strategies that come from a seed stands in its file below the sentence of
//! the seed that names it (`# KEY: "SENTENCE"`), so that none changes unnoticed. What a seed leaves
//! open is marked as ours, with the reason (`# KEY, ours: REASON`).

use crate::common::shared;
use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::{Table, Value};

/// Keys that tell what a strategy is, and not what it does.
const HEAD: [&str; 4] = ["version", "name", "summary", "source"];
/// Keys whose values other tests hold: which mechanism it is decides which keys
/// there are, and the tests of the seeds hold the prompts.
const ELSEWHERE: [&str; 4] = ["mechanism", "prompt", "merge_prompt", "awareness_prompt"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every value of a strategy by its key, those of a stage with its number.
fn values(strategy: &Table) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (key, value) in strategy.iter().filter(|(key, _)| !HEAD.contains(&key.as_str())) {
        match value {
            Value::Array(stages) if key == "stage" => {
                for (number, stage) in (1..).zip(stages) {
                    flatten(&number.to_string(), stage, &mut found);
                }
            }
            other => drop(found.insert(key.clone(), other.clone())),
        }
    }
    let elsewhere = |key: &str| ELSEWHERE.iter().any(|one| key.ends_with(&format!(".{one}")));
    found.retain(|key, _| !elsewhere(key));
    found
}

fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(key, inner)| flatten(&format!("{path}.{key}"), inner, found));
        }
        other => drop(found.insert(path.to_owned(), other.clone())),
    }
}

/// What stands for each value: a sentence of the seed, or `None` where it is ours.
fn sentences(text: &str) -> BTreeMap<String, Option<String>> {
    let (mut found, mut stage) = (BTreeMap::new(), 0);
    for line in text.lines() {
        stage += u32::from(line == "[[stage]]");
        let Some((key, says)) = line.strip_prefix("# ").and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        let (key, ours) = key.strip_suffix(", ours").map_or((key, false), |key| (key, true));
        // A key has no spaces; other comments are prose.
        if key.contains(' ') {
            continue;
        }
        let quoted = says.strip_prefix('"').and_then(|says| says.strip_suffix('"'));
        let says = match (ours, quoted) {
            (true, _) => None,
            (false, Some(says)) => Some(says.to_owned()),
            (false, None) => continue,
        };
        found.insert(if stage == 0 { key.to_owned() } else { format!("{stage}.{key}") }, says);
    }
    found
}

/// The texts of the strategies whose source is a seed.
fn strategies() -> Vec<(String, Table)> {
    let files = std::fs::read_dir(root().join("strategies")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let texts = texts.map(|path| std::fs::read_to_string(path).unwrap());
    let tables = texts.map(|text| (text.clone(), text.parse::<Table>().unwrap()));
    // The folder's own package has no source.
    let of_seed = |table: &Table| table.get("source")?.as_str()?.strip_prefix("seed ").map(drop);
    tables.filter(|(_, table)| of_seed(table).is_some()).collect()
}

/// Whether a sentence holds a number, as one of the ways in which seeds write it.
fn says_number(says: &str, value: &Value) -> bool {
    let says: String = says.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let ways = match value {
        Value::Integer(number) => {
            vec![number.to_string(), format!("{}k", *number as f64 / 1_000.0)]
        }
        Value::Float(share) => vec![share.to_string(), format!("{}%", share * 100.0)],
        _ => return true,
    };
    ways.iter().any(|way| says.to_lowercase().contains(way))
}

#[test]
fn every_seed_strategy_value_stands_below_its_sentence() {
    let strategies = strategies();
    assert!(strategies.len() >= 20, "{}", strategies.len());
    for (text, table) in &strategies {
        let (values, sentences) = (values(table), sentences(text));
        let keys: Vec<&String> = values.keys().collect();
        assert_eq!(keys, sentences.keys().collect::<Vec<_>>(), "{}", table["name"]);
        for (key, value) in &values {
            let Some(says) = &sentences[key] else { continue };
            // A share of nothing is no condition.
            let is_none = value.as_float() == Some(0.0);
            assert!(
                is_none || says_number(says, value),
                "{}, {key}: {value}: {says}",
                table["name"]
            );
        }
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_quoted_sentences_stand_in_the_seeds() {
    let Some(folder) = shared("seeds") else { return };
    let files = std::fs::read_dir(folder).unwrap();
    let seeds: Vec<String> =
        files.map(|file| plain(&std::fs::read_to_string(file.unwrap().path()).unwrap())).collect();
    for (text, table) in strategies() {
        for (key, says) in sentences(&text) {
            let Some(says) = says.map(|says| plain(&says)) else { continue };
            assert!(
                seeds.iter().any(|seed| seed.contains(&says)),
                "{}, {key}: {says}",
                table["name"]
            );
        }
    }
}
