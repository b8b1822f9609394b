//! The messages between the harness and a program, version 1: one JSON object a
//! line. `strategies/protocol.schema.json` describes the same for programs.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::super::process::{ITS_WORDS, harmless};
use recap_core::model::{MOST_TOKENS, Role};
use recap_core::text::{beginning, density, read_json};

/// The version of the protocol.
pub(super) const PROTOCOL: u32 = 1;

/// The last message of a session.
pub(super) const CLOSE: &str = r#"{"type":"close"}"#;

/// Longest quotation of a program's output, in characters.
const EXCERPT: usize = 300;

/// Longest notice of a program, in characters: it is a line for the user.
pub(super) const NOTICE: usize = 1_000;

/// The beginning of a program's output.
pub(super) fn excerpt(text: &str) -> String {
    beginning(&harmless(text), EXCERPT).into_owned()
}

/// A message of the harness.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Request<'a> {
    /// The first message of a session.
    Open {
        protocol: u32,
        recap: &'a str,
        strategy: &'a str,
        /// Position of the stage in the strategy, from 1.
        stage: usize,
        window: u64,
        budget: u64,
        parameters: &'a Json,
        /// The state that an earlier process left.
        #[serde(skip_serializing_if = "Json::is_null")]
        state: &'a Json,
    },
    /// A compaction that is due.
    Compact {
        /// Its ordinal in the session, from 1.
        call: u32,
        target: u64,
        window: u64,
        budget: u64,
        believed: Option<u64>,
        now: String,
        cause: String,
        /// Every entry that would be sent now, in order.
        context: Vec<String>,
        /// Those that are new to the program, or changed.
        messages: Vec<WireEntry<'a>>,
    },
}

/// An entry with its text.
#[derive(Serialize)]
pub(super) struct WireEntry<'a> {
    pub id: String,
    pub role: Role,
    pub text: String,
    pub tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ShownCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_of: Option<ShownCall<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    pub images: u32,
}

/// A call of a tool in an entry.
#[derive(Serialize)]
pub(super) struct ShownCall<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A message of the program.
pub(super) enum Answer {
    Ready,
    Context(NewContext),
}

/// An entry of the new context: an existing one by its id, or a new one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Piece {
    pub id: Option<String>,
    pub role: Option<Role>,
    pub text: Option<String>,
    pub covers: Option<Vec<String>>,
    // Accepted, so that a program may return what it was given.
    #[serde(rename = "tokens")]
    _tokens: Option<IgnoredAny>,
    #[serde(rename = "calls")]
    _calls: Option<IgnoredAny>,
    #[serde(rename = "result_of")]
    _result_of: Option<IgnoredAny>,
    #[serde(rename = "images")]
    _images: Option<IgnoredAny>,
}

/// The new context as a whole, and what else an answer to a compaction says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewContext {
    pub messages: Vec<Piece>,
    /// One for each call of a model that the program made.
    #[serde(default)]
    pub usage: Vec<Usage>,
    /// A line for the user.
    pub notice: Option<String>,
    /// The state that a later process needs to resume.
    pub state: Option<Json>,
}

/// The usage of one call of a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Usage {
    pub input: u64,
    pub output: u64,
    pub latency_ms: Option<f64>,
}

/// Parses an answer; the error says what is wrong, and where.
pub(super) fn read(line: &str) -> Result<Answer, String> {
    let mut answer = density::parsed(line.as_bytes()).map_err(|why| format!("its answer {why}"))?;
    let Some(fields) = answer.as_object_mut() else {
        return Err("its answer is not a JSON object".to_owned());
    };
    let kind = match fields.remove("type") {
        Some(Json::String(kind)) => kind,
        _ => return Err("its answer has no `type`".to_owned()),
    };
    let within = |problem: String| format!("its answer `{kind}`: {problem}");
    match kind.as_str() {
        "ready" => parse::<Nothing>(&answer).map(|Nothing {}| Answer::Ready).map_err(within),
        "context" => new_context(&answer).map(Answer::Context).map_err(within),
        "error" => {
            let Some(message) = fields.get("message") else {
                return Err(within("`message` is missing".to_owned()));
            };
            let reported = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
            Err(format!("it reports an error{ITS_WORDS}{}", excerpt(&reported)))
        }
        _ => Err(format!(
            "its answer has the type `{}`; known are ready, context, error",
            excerpt(&kind)
        )),
    }
}

/// Further fields of an answer that has none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn new_context(answer: &Json) -> Result<NewContext, String> {
    let new: NewContext = parse(answer)?;
    for Usage { input, output, latency_ms } in &new.usage {
        let tokens = *input.max(output);
        if latency_ms.is_some_and(|ms| ms < 0.0) {
            return Err("usage: a latency below 0".to_owned());
        }
        if tokens > MOST_TOKENS {
            return Err(format!(
                "usage: no model takes {tokens} tokens in a call (at most {MOST_TOKENS})"
            ));
        }
    }
    Ok(new)
}

fn parse<T: DeserializeOwned>(value: &Json) -> Result<T, String> {
    read_json(&value.to_string()).map_err(|(path, problem)| {
        let problem = excerpt(&unquoted(&problem));
        // A name of the program's own may be of any length.
        if path == "." { problem } else { format!("{}: {problem}", excerpt(&path)) }
    })
}

/// A problem without the unexpected string, which may be text of the
/// conversation.
fn unquoted(problem: &str) -> String {
    match (problem.find("string \""), problem.rfind("\", expected ")) {
        (Some(from), Some(to)) if from < to => {
            format!("{}string{}", &problem[..from], &problem[to + 1..])
        }
        _ => problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotation_is_one_line_of_300_characters_maximum() {
        assert_eq!(harmless(" a\nb\u{1b}c "), "a b c");
        let whole = "é".repeat(300);
        assert_eq!(excerpt(&whole), whole);
        assert_eq!(excerpt(&format!("{whole}é")), format!("{whole}…"));
    }

    fn problem(line: &str) -> String {
        read(line).err().expect("it is no answer")
    }

    #[test]
    fn answer_of_too_many_small_values_is_refused() {
        let pieces = |n: usize| {
            let pieces = vec![r#"{"id":"m1"}"#; n].join(",");
            format!(r#"{{"type":"context","messages":[{pieces}]}}"#)
        };
        assert!(read(&pieces(90_000)).is_ok());
        assert!(problem(&pieces(200_000)).starts_with("its answer holds too many small values"));
    }

    #[test]
    fn error_about_an_endless_name_is_short() {
        let name = "n".repeat(9_000);
        let wrong = format!(r#"{{"type":"context","messages":[{{"role":"user","{name}":1}}]}}"#);
        let length = problem(&wrong).chars().count();
        assert!((100..1_000).contains(&length), "{length}");
    }

    #[test]
    fn call_tokens_may_reach_but_not_exceed_bound() {
        let usage = |tokens: u64| {
            let call = format!(r#"{{"input":{tokens},"output":1}}"#);
            read(&format!(r#"{{"type":"context","messages":[],"usage":[{call}]}}"#)).err()
        };
        assert_eq!(usage(MOST_TOKENS), None);
        assert!(usage(MOST_TOKENS + 1).is_some_and(|error| error.contains("usage: no model")));
    }
}
