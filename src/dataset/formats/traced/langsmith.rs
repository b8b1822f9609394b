//! Runs that LangSmith exports: a list, a page of its API, or lines, with child
//! runs within their parents.
//!
//! Read from langchain-ai/langsmith-sdk (`python/langsmith/schemas.py`, and
//! `wrappers/_openai.py` and `_anthropic.py` for what is logged of providers'
//! clients) and from langchain-ai/langchain (`langchain_core/tracers/core.py`,
//! for what it logs of its own), without recordings at hand.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{Calls, answered, asked, count, decoded, first, records, text, time};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::formats::chat::definition;
use crate::dataset::formats::exchange::Request;
use crate::dataset::source::{Source, from_json};
use crate::model::{Preamble, Usage};

/// The format of LangSmith's runs.
pub struct LangSmith;

impl Format for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn describe(&self) -> &'static str {
        "LangSmith runs (a JSON list, a page of its API, or JSON lines; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let is_run = |record: &Json| {
            record.get("run_type").is_some_and(Json::is_string)
                && record.get("start_time").is_some()
                && ["trace_id", "dotted_order", "inputs"]
                    .iter()
                    .any(|key| record.get(key).is_some())
        };
        let long = head.records.is_empty() && head.mentions(&["run_type", "start_time"]);
        head.any(|record| first(record, "runs").is_some_and(is_run)) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut calls = Calls::default();
        let mut open = records(source, "runs")?;
        while let Some((line, mut record)) = open.pop() {
            if let Some(Json::Array(children)) = record.get_mut("child_runs").map(Json::take) {
                open.extend(children.into_iter().map(|child| (line, child)));
            }
            let kind = record.get("run_type").and_then(Json::as_str);
            if !matches!(kind, Some("llm" | "chat_model")) {
                calls.others += 1;
                continue;
            }
            calls.add(request(record).map_err(|problem| source.error(line, problem))?);
        }
        // They were taken from the end.
        calls.requests.reverse();
        calls.sessions(source)
    }
}

#[derive(Deserialize)]
struct Run {
    start_time: Option<Json>,
    trace_id: Option<String>,
    #[serde(default)]
    inputs: Json,
    #[serde(default)]
    outputs: Json,
    #[serde(default)]
    extra: Json,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_token_details: Json,
}

fn request(record: Json) -> Result<Request, Problem> {
    let run: Run = from_json(record)?;
    let (inputs, outputs, extra) = (decoded(run.inputs), decoded(run.outputs), decoded(run.extra));
    let at = |value: &Json, path: &str| value.pointer(path).and_then(Json::as_object).cloned();
    let metadata = at(&extra, "/metadata").unwrap_or_default();
    let given = at(&extra, "/invocation_params").unwrap_or_default();
    // LangChain has a list of answers for each of a list of conversations.
    let message = ["/generations/0/0/message/kwargs", "/generations/0/message/kwargs"];
    let message = message.iter().find_map(|path| at(&outputs, path)).unwrap_or_default();
    let response = message.get("response_metadata").and_then(Json::as_object);
    let of = |fields: &Map<String, Json>| {
        let own = fields.get("usage_metadata").and_then(Json::as_object)?;
        usage(own.get("input_tokens"), own.get("output_tokens"), own.get("input_token_details"))
    };
    let counted = || {
        let (prompt, written) = (run.prompt_tokens?.into(), run.completion_tokens.map(Json::from));
        usage(Some(&prompt), written.as_ref(), Some(&run.prompt_token_details))
            .filter(|usage| usage.prompt() + usage.output > 0)
    };
    let reported = outputs.as_object().and_then(of).or_else(|| of(&message));
    let reported = reported.or_else(|| of(&metadata)).or_else(counted);
    let named = ["model_name", "model"];
    let model = response.and_then(|response| text(response, &named));
    let model = model.or_else(|| text(outputs.as_object()?, &["model"]));
    let model = model.or_else(|| text(&metadata, &["ls_model_name"])).or(text(&given, &named));
    let (said, mut tools) = asked(inputs)?;
    let listed = given.get("tools").and_then(Json::as_array).filter(|_| tools.is_empty());
    tools.extend(listed.into_iter().flatten().filter_map(definition));
    Ok(Request {
        // The run's own `session_id` is that of the project.
        session: text(&metadata, &["thread_id", "session_id", "conversation_id"]),
        group: run.trace_id,
        preamble: Preamble { tools, ..Preamble::default() },
        said,
        answer: answered(outputs)?,
        usage: reported,
        model,
        at: time(&run.start_time),
    })
}

/// All tokens of the prompt, those of the answer, and what the prompt includes.
fn usage(prompt: Option<&Json>, written: Option<&Json>, details: Option<&Json>) -> Option<Usage> {
    let prompt = count(prompt?)?;
    let of = |key: &str| details.and_then(|all| count(all.get(key)?)).unwrap_or(0);
    let cache_read = of("cache_read");
    let (short, long) = (of("ephemeral_5m_input_tokens"), of("ephemeral_1h_input_tokens"));
    // Either the sum of both or what neither counts.
    let created = of("cache_creation").max(short.saturating_add(long));
    let fresh = prompt.checked_sub(cache_read.saturating_add(created));
    let output = written.and_then(count);
    Some(Usage {
        input: fresh.unwrap_or(prompt),
        cache_read,
        cache_write_5m: created.saturating_sub(long),
        cache_write_1h: long,
        output: output.unwrap_or(0),
        output_final: output.is_some(),
    })
}
