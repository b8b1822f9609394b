//! Trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor: one
//! JSON document with the steps of a run. Read from the format's specification
//! (harbor-framework/harbor, `docs/rfcs`), without recordings at hand.

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use super::content::{Content, Models, ResultText, arguments, result_message, result_text};
use super::openai_chat::{WireTool, tools};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::Source;
use crate::model::{Block, Message, Role, Usage};

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
        let draft = Reader::default().trajectory(trajectory, source.stem());
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
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
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

#[derive(Default)]
struct Reader {
    draft: Draft,
    models: Models,
    /// How often the id of a call was used, and the newest id that it became.
    calls: FxHashMap<String, (u64, String)>,
}

impl Reader {
    fn trajectory(mut self, trajectory: Trajectory, stem: &str) -> Result<Draft, Problem> {
        let Trajectory { session_id, agent, steps } = trajectory;
        let transcript = &mut self.draft.transcript;
        transcript.id = stem.to_owned();
        transcript.metadata = session_id.into_iter().chain(agent.name).collect();
        transcript.metadata.sort();
        transcript.preamble.tools = tools(agent.tool_definitions);
        for step in steps {
            self.step(step, agent.model_name.as_deref())?;
        }
        self.draft.leading_system_to_preamble();
        self.models.name_models(&mut self.draft.transcript);
        Ok(self.draft)
    }

    fn step(&mut self, step: Step, model: Option<&str>) -> Result<(), Problem> {
        let role = match step.source.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "agent" => Role::Assistant,
            _ => return Err(Problem::UnknownRole { role: step.source }),
        };
        let id = format!("step-{}", step.step_id);
        let reasoning = step.reasoning_content.filter(|text| !text.is_empty());
        let mut blocks: Vec<Block> =
            reasoning.map(|text| Block::Reasoning { text }).into_iter().collect();
        let ResultText { text, images } = self.plain(step.message);
        blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
        blocks.extend((0..images).map(|_| Block::Image { media_type: None }));
        let mut made = Vec::new();
        for call in step.tool_calls.into_iter().flatten() {
            let (uses, newest) = self.calls.entry(call.tool_call_id.clone()).or_default();
            *uses += 1;
            let own = call.tool_call_id;
            *newest = if *uses == 1 { own } else { format!("{own}#{uses}") };
            made.push(newest.clone());
            let arguments = arguments(call.arguments, &mut self.draft);
            let (id, name) = (newest.clone(), call.function_name);
            blocks.push(Block::ToolCall { id, name, arguments });
        }
        let is_copy = step.is_copied_context == Some(true);
        let model = step.model_name.as_deref().or(model);
        if let (Some(model), Role::Assistant) = (model, role) {
            self.models.add(model, &id);
        }
        let usage = step.metrics.and_then(|metrics| metrics.usage()).filter(|_| !is_copy);
        let synthetic = is_copy && role == Role::Assistant;
        let at = step.timestamp;
        let message =
            Message { id: id.clone(), role, at, blocks, usage, synthetic, broadcast: false };
        self.draft.push(message, None);
        let results = step.observation.map_or_else(Vec::new, |observation| observation.results);
        for (number, result) in (1..).zip(results) {
            self.result(format!("{id}-result-{number}"), result, &made, at);
        }
        Ok(())
    }

    /// A result names its call; without a name it belongs to the only one of its
    /// step, or is what the user's side told the agent.
    fn result(&mut self, id: String, result: Outcome, made: &[String], at: Option<Timestamp>) {
        let call = match (&result.source_call_id, made) {
            (Some(id), _) => self.calls.get(id).map(|(_, newest)| newest.clone()),
            (None, [only]) => Some(only.clone()),
            (None, _) => None,
        };
        let text = self.plain(result.content);
        let message = match call {
            Some(call) => result_message(id, call, text, false, at),
            None => Message {
                id,
                role: Role::User,
                at,
                blocks: vec![Block::Text { text: text.text }],
                usage: None,
                synthetic: false,
                broadcast: false,
            },
        };
        self.draft.push(message, None);
    }

    fn plain(&mut self, content: Content<Part>) -> ResultText {
        result_text(content, |part| (part.kind, part.text), "image", &mut self.draft)
    }
}
