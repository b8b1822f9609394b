//! The space that follows from the numbers of a strategy: each of them at half
//! and twice what the author wrote.

use toml::{Table, Value};

use super::space::{Axis, significant};

/// What a number of tokens or messages is multiplied by.
const COUNTS: [f64; 3] = [0.5, 1.0, 2.0];
/// What a share is multiplied by.
const SHARES: [f64; 3] = [0.75, 1.0, 1.25];
/// Keys whose number is no size: the hour of a day, and what a program of the
/// user's own is handed.
const NO_SIZES: [&str; 2] = ["hour", "parameters"];
/// Condition of a stage that only the user's words start.
const BY_WORD: &str = "command";
/// The share at which a stage acts that names none.
const WHOLE: f64 = 1.0;

/// The keys of all stages that hold a number above 0, each with the author's
/// value in the middle: whole numbers at half and twice, shares at three and
/// five quarters, at most 1. A trigger `above` without a share is one at the
/// whole. Stages that only a user's command starts, hours, and numbers of a
/// program of one's own stay.
pub(super) fn axes(strategy: &Table) -> Vec<Axis> {
    let mut axes = Vec::new();
    if let Some(Value::Float(budget)) = strategy.get("budget") {
        axes.push(Axis { key: "budget".to_owned(), values: shares(*budget) });
    }
    let stages = strategy.get("stage").and_then(Value::as_array);
    for (at, stage) in stages.into_iter().flatten().enumerate() {
        let Some(stage) = stage.as_table() else { continue };
        if !started_by_word(stage) && stage.get("enabled") != Some(&Value::Boolean(false)) {
            in_table(&format!("{}", at + 1), stage, &mut axes);
        }
    }
    axes.retain(|axis| axis.values.len() > 1);
    axes
}

fn started_by_word(stage: &Table) -> bool {
    let when = stage.get("when").and_then(Value::as_table);
    when.is_some_and(|when| when.contains_key(BY_WORD))
}

/// The numbers in a table, and in the tables in it.
fn in_table(path: &str, table: &Table, axes: &mut Vec<Axis>) {
    for (key, value) in table.iter().filter(|(key, _)| !NO_SIZES.contains(&key.as_str())) {
        let key = format!("{path}.{key}");
        match value {
            Value::Integer(n) if *n > 0 => axes.push(Axis { key, values: counts(*n) }),
            Value::Float(x) if *x > 0.0 && *x <= 1.0 => {
                axes.push(Axis { key, values: shares(*x) });
            }
            Value::Table(inner) => in_table(&key, inner, axes),
            _ => {}
        }
    }
    if table.contains_key("above") && !table.contains_key("share") {
        axes.push(Axis { key: format!("{path}.share"), values: shares(WHOLE) });
    }
}

fn counts(author: i64) -> Vec<Value> {
    let scaled = COUNTS.iter().map(|by| ((author as f64 * by).round() as i64).max(1));
    distinct(scaled.map(Value::Integer))
}

fn shares(author: f64) -> Vec<Value> {
    let scaled = SHARES.iter().map(|by| significant((author * by).min(1.0)));
    distinct(scaled.map(Value::Float))
}

/// The values in their order, each once.
fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut values: Vec<Value> = values.collect();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_strategy::StrategyText;

    fn keys(name: &str) -> Vec<(String, String)> {
        let table = StrategyText::builtin(name).unwrap().table(&[]).unwrap();
        let shown = |axis: Axis| (axis.key, Value::Array(axis.values).to_string());
        axes(&table).into_iter().map(shown).collect()
    }

    #[test]
    fn every_stage_number_varies_around_authors_value() {
        let known = [
            ("1.protect", "[20000, 40000, 80000]"),
            ("1.when.and_over", "[10000, 20000, 40000]"),
            ("1.when.share", "[0.75, 1.0]"),
            ("2.keep_last", "[5, 10, 20]"),
            ("2.max_tokens", "[750, 1500, 3000]"),
            ("2.when.share", "[0.75, 1.0]"),
        ];
        let mut found = keys("gencode");
        found.sort();
        let known = known.map(|(key, values)| (key.to_owned(), values.to_owned()));
        assert_eq!(found, known);
    }

    #[test]
    fn command_stages_hours_and_zeros_are_not_varied() {
        let lis = keys("lis");
        assert!(lis.iter().any(|(key, _)| key == "1.when.tool_tokens"), "{lis:?}");
        assert!(
            lis.iter().all(|(key, _)| key.starts_with("1.") || key.starts_with("2.")),
            "{lis:?}"
        );
        assert!(keys("gsv-daily").iter().all(|(key, _)| !key.ends_with("hour")));
        let prune = keys("prune");
        assert!(prune.iter().all(|(key, _)| key != "1.when.share"), "{prune:?}");
    }
}
