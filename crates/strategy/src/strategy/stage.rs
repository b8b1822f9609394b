//! Reads the table of a stage.

use serde::Deserialize;
use toml::{Table, Value};

use super::Stage;
use crate::mechanism::keyed;
use crate::mechanisms::MECHANISMS;
use crate::trigger::{At, Of, When};
use recap_core::model::suggest;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWhen {
    above: Option<Of>,
    share: Option<f64>,
    and_over: Option<u64>,
    at_most: Option<u64>,
    reserve: Option<u64>,
    tool_tokens: Option<u64>,
    messages: Option<u32>,
    idle_minutes: Option<u64>,
    hour: Option<i8>,
    command: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTarget {
    of: Of,
    share: f64,
}

/// Takes the common keys of stages out of the table; the rest belong to the mechanism.
pub(super) fn read_stage(mut table: Table) -> Result<Stage, String> {
    let name = take_string(&mut table, "mechanism")?;
    let mechanism = MECHANISMS.iter().find(|m| m.name == name).ok_or_else(|| {
        let like = suggest(&name, MECHANISMS.iter().map(|m| m.name));
        format!("mechanism `{name}` is not known: {like}")
    })?;
    let at =
        table.remove("at").ok_or("`at` is missing (open, append, user-turn, request, response)")?;
    let at = At::deserialize(at).map_err(|e| format!("at: {}", e.message()))?;
    let when = table.remove("when").ok_or("`when` is missing, such as \"always\"")?;
    let when = read_when(when)?;
    let target = match table.remove("target") {
        Some(value) => Some(keyed::<WireTarget>(&value).map_err(|e| format!("target: {e}"))?),
        None => None,
    };
    let target = target.map(|t: WireTarget| (t.of, t.share));
    if let Some((_, share)) = target
        && !(share > 0.0 && share <= 1.0)
    {
        return Err(format!("target: share {share} is not above 0 and at most 1"));
    }
    if let (Some((of, share)), When::Above { of: trigger, share: above, .. }) = (target, &when)
        && of == *trigger
        && share > *above
    {
        return Err(format!("the threshold {above} is below its target {share}"));
    }
    let breaks_pairs = take_bool(&mut table, "breaks_pairs")?;
    let background = take_bool(&mut table, "background")?;
    if background && mechanism.is_view {
        return Err(format!("`{name}` hides messages for one request: no work for the background"));
    }
    Ok(Stage { mechanism, at, when, target, breaks_pairs, background, parameters: table })
}

fn take_bool(table: &mut Table, key: &str) -> Result<bool, String> {
    match table.remove(key) {
        Some(value) => value.as_bool().ok_or(format!("`{key}` must be true or false")),
        None => Ok(false),
    }
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
    let conditions = [
        above(&wire)?,
        wire.reserve.map(|reserve| When::AboveReserve { reserve }),
        wire.tool_tokens.map(When::ToolTokens),
        wire.messages.map(When::Messages),
        wire.idle_minutes.map(|minutes| When::Idle { minutes }),
        wire.hour.map(hour).transpose()?,
        wire.command.map(command).transpose()?,
    ];
    let mut given = conditions.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(when), None) => Ok(when),
        _ => Err("when: give one of above, reserve, tool_tokens, messages, idle_minutes, hour, \
                  command"
            .to_owned()),
    }
}

fn above(wire: &WireWhen) -> Result<Option<When>, String> {
    let share = wire.share.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("when: share {share} is not between 0 and 1"));
    }
    let and_over = wire.and_over.unwrap_or(0);
    let refined = wire.share.is_some() || wire.and_over.is_some() || wire.at_most.is_some();
    if wire.above.is_none() && refined {
        return Err("when: `share`, `and_over` and `at_most` belong to `above`".to_owned());
    }
    Ok(wire.above.map(|of| When::Above { of, share, and_over, at_most: wire.at_most }))
}

fn hour(hour: i8) -> Result<When, String> {
    match hour {
        0..24 => Ok(When::Hour(hour)),
        other => Err(format!("when: hour {other} is not between 0 and 23")),
    }
}

fn command(words: Vec<String>) -> Result<When, String> {
    let one_word = |word: &String| word.split_whitespace().eq([word.as_str()]);
    if words.is_empty() || !words.iter().all(one_word) {
        return Err("when: `command` lists words, such as [\"/new\", \"/clear\"]".to_owned());
    }
    Ok(When::Command(words))
}

/// Parameters that name prompt files: those whose key is `prompt` or ends in `_prompt`.
pub(super) fn prompt_names(parameters: &Table) -> Vec<String> {
    let is_prompt = |key: &str| key == "prompt" || key.ends_with("_prompt");
    let named = parameters.iter().filter(|(key, _)| is_prompt(key));
    named.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(mechanism: &str, when: &str, rest: &str) -> Result<Stage, String> {
        let head = format!("mechanism = \"{mechanism}\"\nat = \"request\"\nwhen = {when}\n");
        read_stage(format!("{head}{rest}").parse().unwrap())
    }

    fn refused(when: &str, rest: &str) -> String {
        stage("reset", when, rest).expect_err(&format!("{when} {rest}"))
    }

    #[test]
    fn target_share_is_positive_and_not_above_threshold() {
        let above = "{ above = \"window\", share = 0.8 }";
        let target =
            |of: &str, share: &str| format!("target = {{ of = \"{of}\", share = {share} }}");
        for (of, share, read) in
            [("window", "0.8", (Of::Window, 0.8)), ("budget", "1.0", (Of::Budget, 1.0))]
        {
            let stage = stage("reset", above, &target(of, share)).unwrap();
            assert_eq!(stage.target, Some(read));
        }
        let below = "the threshold 0.8 is below its target 0.81";
        assert_eq!(refused(above, &target("window", "0.81")), below);
        for share in ["0.0", "-0.1", "1.1"] {
            assert!(refused("\"always\"", &target("window", share)).starts_with("target: share"));
        }
        assert_eq!(stage("reset", above, "").unwrap().target, None);
    }

    #[test]
    fn share_is_within_0_and_1_beside_above() {
        for (share, known) in [("0.0", true), ("1.0", true), ("1.1", false), ("-0.1", false)] {
            let when = format!("{{ above = \"usable\", share = {share} }}");
            assert_eq!(stage("reset", &when, "").is_ok(), known, "{share}");
        }
        let when = stage("reset", "{ above = \"usable\" }", "").unwrap().when;
        assert_eq!(when, When::Above { of: Of::Usable, share: 1.0, and_over: 0, at_most: None });
        let belong = "when: `share`, `and_over` and `at_most` belong to `above`";
        for lone in ["share = 0.5", "and_over = 5", "at_most = 5"] {
            assert_eq!(refused(&format!("{{ messages = 5, {lone} }}"), ""), belong);
        }
    }

    #[test]
    fn condition_must_be_known_and_within_bounds() {
        let when = |text: &str| stage("reset", text, "").map(|stage| stage.when);
        let said = |words: &[&str]| When::Command(words.iter().map(|w| (*w).to_owned()).collect());
        for (text, read) in [
            ("\"always\"", When::Always),
            ("\"recorded\"", When::Recorded),
            ("{ reserve = 5 }", When::AboveReserve { reserve: 5 }),
            ("{ tool_tokens = 5 }", When::ToolTokens(5)),
            ("{ messages = 5 }", When::Messages(5)),
            ("{ idle_minutes = 5 }", When::Idle { minutes: 5 }),
            ("{ hour = 0 }", When::Hour(0)),
            ("{ hour = 23 }", When::Hour(23)),
            ("{ command = [\"/a\", \"/b\"] }", said(&["/a", "/b"])),
        ] {
            assert_eq!(when(text), Ok(read));
        }
        for (text, says) in [
            ("\"sometimes\"", "`when = \"sometimes\"` is not known"),
            ("{}", "when: give one of above"),
            ("{ hour = 4, messages = 5 }", "when: give one of above"),
            ("{ hour = 24 }", "hour 24 is not between 0 and 23"),
            ("{ hour = -1 }", "hour -1 is not between 0 and 23"),
            ("{ command = [] }", "`command` lists words"),
            ("{ command = [\"/a\", \"b c\"] }", "`command` lists words"),
        ] {
            assert!(refused(text, "").contains(says), "{text}");
        }
    }

    #[test]
    fn remaining_stage_keys_belong_to_its_mechanism() {
        let rest = "breaks_pairs = true\nbackground = true\nprompt = \"a\"\nother = 5\n";
        let read = stage("reset", "\"always\"", rest).unwrap();
        assert!(read.breaks_pairs && read.background && read.at == At::Request);
        assert!(read.parameters.len() == 2 && read.parameters.contains_key("other"));
        let plain = stage("reset", "\"always\"", "").unwrap();
        assert!(!plain.breaks_pairs && !plain.background);
        let view = stage("fifo", "\"always\"", "background = true").unwrap_err();
        assert!(view.contains("no work for the background"), "{view}");
        assert!(stage("fifo", "\"always\"", "background = false").is_ok());
        let wrong = refused("\"always\"", "background = 1");
        assert_eq!(wrong, "`background` must be true or false");
        let number = read_stage("mechanism = 3".parse().unwrap()).unwrap_err();
        assert_eq!(number, "`mechanism` must be a string, not `3`");
        assert_eq!(read_stage(Table::new()).unwrap_err(), "`mechanism` is missing");
        let prompts = "prompt = \"a\"\ncheck_prompt = \"b\"\nprompts = \"c\"\nx_prompt = 5";
        let mut names = prompt_names(&prompts.parse().unwrap());
        names.sort();
        assert_eq!(names, ["a", "b"]);
    }
}
