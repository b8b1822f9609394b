//! Trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor: one
//! JSON document with the steps of a run. Read from the format's specification
//! (harbor-framework/harbor, `docs/rfcs`), without recordings at hand.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use super::content::{Content, ResultText, result_text};
use super::openai_chat::{WireTool, tools};
use super::recorder::{Outcome, Recorder, Turn};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::Source;
use crate::model::{Block, Role, Usage};

/// The format of ATIF trajectories.
pub struct Atif;

impl Format for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn describe(&self) -> &'static str {
        "ATIF trajectory of Harbor (JSON; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let is_atif = |record: &Json| {
            let version = record.get("schema_version").and_then(Json::as_str);
            version.is_some_and(|version| version.starts_with("ATIF"))
                && record.get("steps").is_some_and(Json::is_array)
        };
        let long = head.records.is_empty()
            && head.text.contains("\"ATIF-v")
            && head.mentions(&["schema_version", "steps", "step_id"]);
        head.any(is_atif) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let trajectory: Trajectory = source.document()?;
        let draft = session(trajectory, source.stem());
        let draft = draft.map_err(|problem| source.error(None, problem))?;
        Ok(if draft.transcript.messages.is_empty() { vec![] } else { vec![draft] })
    }
}

#[derive(Deserialize)]
struct Trajectory {
    session_id: Option<String>,
    #[serde(default)]
    agent: Agent,
    steps: Vec<Step>,
}

#[derive(Default, Deserialize)]
struct Agent {
    name: Option<String>,
    model_name: Option<String>,
    tool_definitions: Option<Vec<WireTool>>,
}

#[derive(Deserialize)]
struct Step {
    step_id: u64,
    timestamp: Option<Timestamp>,
    source: String,
    model_name: Option<String>,
    #[serde(default)]
    message: Content<Part>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<Call>>,
    observation: Option<Observation>,
    metrics: Option<Metrics>,
    /// A step that was copied from an earlier trajectory as context.
    #[serde(default)]
    is_copied_context: Option<bool>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    tool_call_id: String,
    function_name: String,
    #[serde(default)]
    arguments: Json,
}

#[derive(Deserialize)]
struct Observation {
    #[serde(default)]
    results: Vec<Observed>,
}

#[derive(Deserialize)]
struct Observed {
    source_call_id: Option<String>,
    #[serde(default)]
    content: Content<Part>,
}

/// ATIF's usage: cached tokens are part of the prompt.
#[derive(Deserialize)]
struct Metrics {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    cached_tokens: Option<u64>,
}

impl Metrics {
    fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_tokens?;
        let cache_read = self.cached_tokens.unwrap_or(0).min(prompt);
        Some(Usage {
            input: prompt - cache_read,
            cache_read,
            output: self.completion_tokens.unwrap_or(0),
            output_final: self.completion_tokens.is_some(),
            ..Usage::default()
        })
    }
}

/// Reads a trajectory into a session named after its file.
fn session(trajectory: Trajectory, stem: &str) -> Result<Draft, Problem> {
    let Trajectory { session_id, agent, steps } = trajectory;
    let mut recorder = Recorder::new(stem);
    let transcript = recorder.transcript();
    transcript.metadata = session_id.into_iter().chain(agent.name).collect();
    transcript.metadata.sort();
    transcript.preamble.tools = tools(agent.tool_definitions);
    for step in steps {
        add(&mut recorder, step, agent.model_name.as_deref())?;
    }
    Ok(recorder.finish())
}

fn add(recorder: &mut Recorder, step: Step, model: Option<&str>) -> Result<(), Problem> {
    let role = match step.source.as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "agent" => Role::Assistant,
        _ => return Err(Problem::UnknownRole { role: step.source }),
    };
    let id = format!("step-{}", step.step_id);
    let is_copy = step.is_copied_context == Some(true);
    let mut turn = Turn::new(role);
    turn.id = Some(id.clone());
    turn.at = step.timestamp;
    turn.model = step.model_name.or_else(|| model.map(str::to_owned));
    turn.usage = step.metrics.and_then(|metrics| metrics.usage()).filter(|_| !is_copy);
    turn.synthetic = is_copy && role == Role::Assistant;
    turn.reasoning(step.reasoning_content.unwrap_or_default());
    let ResultText { text, images } = plain(recorder, step.message);
    turn.text(text);
    turn.blocks.extend((0..images).map(|_| Block::Image { media_type: None }));
    let calls = step.tool_calls.unwrap_or_default();
    let made: Vec<String> = calls.iter().map(|call| call.tool_call_id.clone()).collect();
    let blocks = calls
        .into_iter()
        .map(|call| recorder.call(call.tool_call_id, call.function_name, call.arguments));
    turn.blocks.extend(blocks);
    recorder.turn(turn);
    let results = step.observation.map_or_else(Vec::new, |observation| observation.results);
    for (number, result) in (1..).zip(results) {
        add_result(recorder, format!("{id}-result-{number}"), result, &made, step.timestamp);
    }
    Ok(())
}

/// A result names its call; without a name it belongs to the only one of its
/// step, or is what the user's side told the agent.
fn add_result(
    recorder: &mut Recorder,
    id: String,
    result: Observed,
    made: &[String],
    at: Option<Timestamp>,
) {
    let text = plain(recorder, result.content);
    let call = match (result.source_call_id, made) {
        (Some(id), _) => Some(id),
        (None, [only]) => Some(only.clone()),
        (None, _) => None,
    };
    match call {
        Some(call) => {
            recorder.result(&call, text, Outcome { id: Some(id), at, ..Outcome::default() });
        }
        None => {
            let mut turn = Turn::new(Role::User);
            (turn.id, turn.at) = (Some(id), at);
            turn.text(text.text);
            recorder.turn(turn);
        }
    }
}

fn plain(recorder: &mut Recorder, content: Content<Part>) -> ResultText {
    result_text(content, |part| (part.kind, part.text), "image", &mut recorder.draft)
}
