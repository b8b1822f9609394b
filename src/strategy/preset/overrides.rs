//! `--set`: keys of a preset that a run overrides.

use toml::{Table, Value};

/// `--set PRESET.KEY=VALUE`: a key of the preset, or of the first stage that
/// has it, or `N.key` for stage N.
pub(super) fn set(table: &mut Table, key: &str, value: &str) -> Result<(), String> {
    let parsed = parse_value(value)?;
    let (stage, key) = match key.split_once('.') {
        Some((number, key)) => match number.parse::<usize>() {
            Ok(number) if number >= 1 => (Some(number - 1), key),
            _ => return Err(format!("`{number}` is no stage number; write 1.{key}")),
        },
        None => (None, key),
    };
    if stage.is_none() && table.contains_key(key) && key != "stage" {
        table.insert(key.to_owned(), parsed);
        return Ok(());
    }
    let stages = table.get_mut("stage").and_then(Value::as_array_mut);
    let mut stages: Vec<&mut Table> =
        stages.into_iter().flatten().filter_map(Value::as_table_mut).collect();
    let known: Vec<String> = stages.iter().flat_map(|t| t.keys().cloned()).collect();
    let target = match stage {
        Some(at) => stages.get_mut(at),
        None => stages.iter_mut().find(|t| t.contains_key(key)),
    };
    match target {
        Some(stage) => {
            stage.insert(key.to_owned(), parsed);
            Ok(())
        }
        None => Err(format!("no such key (its stages have: {})", known.join(", "))),
    }
}

fn parse_value(value: &str) -> Result<Value, String> {
    let as_toml = format!("value = {value}").parse::<Table>();
    match as_toml {
        Ok(mut table) => table.remove("value").ok_or_else(|| "empty value".to_owned()),
        Err(_) => Ok(Value::String(value.to_owned())),
    }
}
