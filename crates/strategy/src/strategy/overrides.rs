//! `--set`: keys of a strategy that a run overrides.

use std::collections::BTreeSet;

use toml::{Table, Value};

use recap_core::model::suggest;

/// Keys that every strategy may have, also where its file leaves them out.
const OPTIONAL: [&str; 9] = [
    "native_window",
    "scales",
    "output_limit",
    "estimator",
    "budget",
    "compact_at",
    "cache_breakpoints",
    "explicit_cache",
    "recovery",
];

/// `--set STRATEGY.KEY=VALUE`: a key of the strategy, or of the first stage that
/// has it, or `N.key` for stage N, or `N.table.key` for a key of one of its
/// tables.
pub(super) fn set(table: &mut Table, key: &str, value: &str) -> Result<(), String> {
    let parsed = parse_value(value)?;
    let (stage, key) = match key.split_once('.') {
        Some((number, key)) => match number.parse::<usize>() {
            Ok(number) if number >= 1 => (Some(number - 1), key),
            _ => return Err(format!("`{number}` is no stage number; write 1.{key}")),
        },
        None => (None, key),
    };
    let of_strategy = (table.contains_key(key) || OPTIONAL.contains(&key)) && key != "stage";
    if stage.is_none() && of_strategy {
        table.insert(key.to_owned(), parsed);
        return Ok(());
    }
    let stages = table.get_mut("stage").and_then(Value::as_array_mut);
    let mut stages: Vec<&mut Table> =
        stages.into_iter().flatten().filter_map(Value::as_table_mut).collect();
    let known: Vec<String> = stages.iter().flat_map(|t| t.keys().cloned()).collect();
    let count = stages.len();
    let target = match stage {
        Some(at) => stages.get_mut(at),
        None => stages.iter_mut().find(|t| t.contains_key(key)),
    };
    match target {
        Some(stage) => insert(stage, key, parsed),
        None if stage.is_some() => Err(format!("the strategy has {count} stages")),
        None => {
            let own = table.keys().filter(|key| *key != "stage").map(String::as_str);
            let known: BTreeSet<&str> =
                own.chain(OPTIONAL).chain(known.iter().map(String::as_str)).collect();
            Err(format!("no such key: {}", suggest(key, known)))
        }
    }
}

/// Sets a key of a stage, or with `when.share` a key of one of its tables.
fn insert(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let Some((outer, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return Ok(());
    };
    match table.get_mut(outer).and_then(Value::as_table_mut) {
        Some(inner) => insert(inner, rest, value),
        None => Err(format!("`{outer}` has no keys of its own here")),
    }
}

fn parse_value(value: &str) -> Result<Value, String> {
    let as_toml = format!("value = {value}").parse::<Table>();
    match as_toml {
        Ok(mut table) => table.remove("value").ok_or_else(|| "empty value".to_owned()),
        Err(_) => Ok(Value::String(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Breakpoint, builtin};

    fn prune(value: &str) -> Result<crate::Strategy, String> {
        let overrides = [("cache_breakpoints".to_owned(), value.to_owned())];
        let strategy = builtin("prune", &overrides).expect("it ships with the program");
        strategy.map_err(|e| e.to_string())
    }

    #[test]
    fn key_absent_from_file_can_be_set() {
        let strategy = prune(r#"["preamble", "newest"]"#).unwrap();
        assert_eq!(strategy.breakpoints, [Breakpoint::Preamble, Breakpoint::Newest]);
        let plain = builtin("prune", &[]).unwrap().unwrap();
        assert_ne!(strategy.hash, plain.hash, "two plans are two strategies");
        let refused = prune(r#"["tail"]"#).unwrap_err();
        assert!(refused.contains("cache_breakpoints") && refused.contains("prune-boundary"));
    }

    #[test]
    fn override_sets_nested_stage_key_and_keeps_others() {
        let set = |key: &str, value: &str| {
            let overrides = [(key.to_owned(), value.to_owned())];
            let strategy = builtin("gencode", &overrides).expect("it ships with the program");
            strategy.map_err(|e| e.to_string())
        };
        let trigger = |strategy: &crate::Strategy, at: usize| strategy.stages[at].when.to_string();
        assert_eq!(trigger(&set("2.when.share", "0.7").unwrap(), 1), "above 0.7 of usable");
        let changed = set("1.when.and_over", "9_000").unwrap();
        assert_eq!(trigger(&changed, 0), "above 1 of usable and over 9000");
        assert_eq!(trigger(&changed, 1), "above 1 of usable");
        let refused = set("1.protect.share", "0.7").unwrap_err();
        assert!(refused.ends_with("`protect` has no keys of its own here"), "{refused}");
        assert!(set("2.when.share", "1.7").unwrap_err().contains("between 0 and 1"));
    }

    #[test]
    fn every_strategy_accepts_any_known_recovery_channel() {
        let prune = |name: &str| {
            let overrides = [("recovery".to_owned(), name.to_owned())];
            builtin("prune", &overrides).expect("it ships with the program")
        };
        assert_eq!(prune("search").unwrap().recovery.map(|spec| spec.name), Some("search"));
        let refused = prune("grep").unwrap_err().to_string();
        let known = "known are `search`, `zoea-search`, `sessions`";
        assert!(refused.ends_with(&format!("recovery: `grep` is no recovery channel: {known}")));
    }
}
