//! A stage as its table says.

use serde::Deserialize;
use toml::{Table, Value};

use super::Stage;
use super::build::keyed;
use crate::strategy::mechanisms::MECHANISMS;
use crate::strategy::trigger::{At, Of, When};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWhen {
    above: Option<Of>,
    share: Option<f64>,
    and_over: Option<u64>,
    reserve: Option<u64>,
    tool_tokens: Option<u64>,
    messages: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTarget {
    of: Of,
    share: f64,
}

/// Takes what every stage has out of its table; the rest is the mechanism's.
pub(super) fn read_stage(mut table: Table) -> Result<Stage, String> {
    let name = take_string(&mut table, "mechanism")?;
    let mechanism = MECHANISMS.iter().find(|m| m.name == name).ok_or_else(|| {
        let known: Vec<&str> = MECHANISMS.iter().map(|m| m.name).collect();
        format!("mechanism `{name}` is not known (known: {})", known.join(", "))
    })?;
    let at =
        table.remove("at").ok_or("`at` is missing (open, append, user-turn, request, response)")?;
    let at = At::deserialize(at).map_err(|e| format!("at: {}", e.message()))?;
    let when = table.remove("when").ok_or("`when` is missing, such as \"always\"")?;
    let when = read_when(when)?;
    let target = match table.remove("target") {
        Some(value) => Some(keyed::<WireTarget>(value).map_err(|e| format!("target: {e}"))?),
        None => None,
    };
    let target = target.map(|t| (t.of, t.share));
    if let (Some((of, share)), When::Above { of: trigger, share: above, .. }) = (target, &when)
        && of == *trigger
        && share > *above
    {
        return Err(format!("the threshold {above} is below its target {share}"));
    }
    let breaks_pairs = match table.remove("breaks_pairs") {
        Some(value) => value.as_bool().ok_or("`breaks_pairs` must be true or false")?,
        None => false,
    };
    Ok(Stage { mechanism, at, when, target, breaks_pairs, parameters: table })
}

fn take_string(table: &mut Table, key: &str) -> Result<String, String> {
    match table.remove(key) {
        Some(Value::String(value)) => Ok(value),
        Some(other) => Err(format!("`{key}` must be a string, not `{other}`")),
        None => Err(format!("`{key}` is missing")),
    }
}

fn read_when(value: Value) -> Result<When, String> {
    if let Value::String(word) = &value {
        return match word.as_str() {
            "always" => Ok(When::Always),
            "recorded" => Ok(When::Recorded),
            other => {
                Err(format!("`when = \"{other}\"` is not known (always, recorded, or a table)"))
            }
        };
    }
    let wire = WireWhen::deserialize(value).map_err(|e| format!("when: {}", e.message()))?;
    let share = wire.share.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("when: share {share} is not between 0 and 1"));
    }
    match wire {
        WireWhen { above: Some(of), reserve: None, tool_tokens: None, messages: None, .. } => {
            Ok(When::Above { of, share, and_over: wire.and_over.unwrap_or(0) })
        }
        WireWhen {
            above: None, reserve: Some(reserve), tool_tokens: None, messages: None, ..
        } => Ok(When::AboveReserve { reserve }),
        WireWhen {
            above: None, reserve: None, tool_tokens: Some(tokens), messages: None, ..
        } => Ok(When::ToolTokens(tokens)),
        WireWhen {
            above: None, reserve: None, tool_tokens: None, messages: Some(count), ..
        } => Ok(When::Messages(count)),
        _ => Err("when: give one of above, reserve, tool_tokens, messages".to_owned()),
    }
}

/// Parameters that name prompt files: those whose key is `prompt` or ends in `_prompt`.
pub(super) fn prompt_names(parameters: &Table) -> Vec<String> {
    let is_prompt = |key: &str| key == "prompt" || key.ends_with("_prompt");
    let named = parameters.iter().filter(|(key, _)| is_prompt(key));
    named.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
}
