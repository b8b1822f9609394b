//! Every number that a strategy may hold, set to what no one would write: it is
//! refused with its place, or the strategy runs.

use std::path::Path;

use crate::common::{block_on, offline, plan, prepared, small};
use recap_replay::{PreparedSession, replay};
use recap_strategy::{builtin, builtin_names};
use toml::{Table, Value};

/// What no number can be.
const NEVER: [&str; 8] =
    ["-1", "-9223372036854775808", "9223372036854775807", "1e300", "nan", "inf", "-inf", "-0.5"];
/// What some can be and others cannot.
const PERHAPS: [&str; 6] = ["0", "1", "1000000000", "0.0", "0.5", "1000000000.0"];
/// Numbers that every strategy may have, whether its file has them or not.
const OF_EVERY_STRATEGY: [&str; 3] = ["native_window", "output_limit", "budget"];

fn file(name: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("strategies/{name}.toml"));
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The value with each of its numbers replaced in turn; its own, if it is one.
fn replaced(value: &Value, number: &str) -> Vec<Value> {
    let number: Table = format!("n = {number}").parse().unwrap();
    match value {
        Value::Integer(_) | Value::Float(_) => vec![number["n"].clone()],
        Value::Table(table) => {
            let each = table.iter().flat_map(|(key, inner)| {
                replaced(inner, &number["n"].to_string()).into_iter().map(move |inner| {
                    let mut other = table.clone();
                    other.insert(key.clone(), inner);
                    Value::Table(other)
                })
            });
            each.collect()
        }
        _ => Vec::new(),
    }
}

/// Each number of a strategy as `--set` names it, with this value.
fn overrides(name: &str, number: &str) -> Vec<(String, String)> {
    let strategy = file(name);
    let stages = strategy.get("stage").and_then(Value::as_array).cloned().unwrap_or_default();
    let of_stages = stages.iter().enumerate().flat_map(|(at, stage)| {
        let keys = stage.as_table().unwrap().iter();
        keys.flat_map(move |(key, value)| {
            let values = replaced(value, number).into_iter();
            values.map(move |value| (format!("{}.{key}", at + 1), value.to_string()))
        })
    });
    let own = OF_EVERY_STRATEGY.iter().map(|key| ((*key).to_owned(), number.to_owned()));
    own.chain(of_stages).collect()
}

/// Runs a strategy with an override; `Err` is what it was refused for.
fn tried(prepared: &PreparedSession, name: &str, one: &(String, String)) -> Result<(), String> {
    let strategy = builtin(name, std::slice::from_ref(one)).unwrap();
    let strategy = strategy.map_err(|e| e.to_string())?;
    for window in [1, 2_000] {
        // A session that cannot be sent so says why; it never ends the program.
        block_on(replay(prepared, &plan(strategy.clone(), window), &offline()));
    }
    Ok(())
}

#[test]
fn meaningless_number_is_refused_with_file_and_key() {
    let prepared = prepared(small());
    for name in builtin_names() {
        for number in NEVER {
            for one in overrides(name, number) {
                let refused = tried(&prepared, name, &one).expect_err(&format!("{name}: {one:?}"));
                let key = one.0.split('.').next_back().unwrap();
                assert!(refused.starts_with(&format!("strategies/{name}.toml, ")), "{refused}");
                assert!(refused.contains(key), "{name}: {one:?}: {refused}");
            }
        }
    }
}

#[test]
fn extreme_number_runs_or_is_refused_without_crash() {
    let prepared = prepared(small());
    let mut ran = 0;
    for name in builtin_names().filter(|name| *name != "recorded") {
        for number in PERHAPS {
            for one in overrides(name, number) {
                match tried(&prepared, name, &one) {
                    Ok(()) => ran += 1,
                    Err(refused) => assert!(refused.starts_with("strategies/"), "{refused}"),
                }
            }
        }
    }
    assert!(ran > 300, "{ran} of them ran");
}

#[test]
fn a_window_of_nothing_is_refused() {
    for name in builtin_names() {
        let none = [("native_window".to_owned(), "0".to_owned())];
        let refused = builtin(name, &none).unwrap().unwrap_err().to_string();
        assert!(refused.starts_with(&format!("strategies/{name}.toml, native_window: ")));
    }
}
