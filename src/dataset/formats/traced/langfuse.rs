//! Observations and traces that Langfuse exports: pages of its API, traces with
//! their observations, and the lists and lines of its exports, with names of
//! fields in either notation.
//!
//! Read from langfuse/langfuse (`fern/apis/server/definition/commons.yml` and
//! `observations.yml`, `packages/shared/src/domain/observation-field-groups.ts`,
//! and `packages/shared/src/server/ingestion/types.ts` for what counts of usage
//! mean), without recordings at hand.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{Calls, answered, asked, count, decoded, first, records, text, time};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::formats::exchange::Request;
use crate::dataset::source::{Source, from_json};
use crate::model::{Preamble, Usage};

/// The format of Langfuse's exports.
pub struct Langfuse;

impl Format for Langfuse {
    fn name(&self) -> &'static str {
        "langfuse"
    }

    fn describe(&self) -> &'static str {
        "Langfuse observations or traces (JSON of its API, or an export as JSON or JSON lines; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let long = head.records.is_empty()
            && (head.mentions(&["traceId", "startTime", "parentObservationId"])
                || head.mentions(&["trace_id", "start_time", "parent_observation_id"]));
        head.any(|record| first(record, "data").is_some_and(is_it)) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut sessions: FxHashMap<String, String> = FxHashMap::default();
        let mut observations = Vec::new();
        let mut calls = Calls::default();
        for (line, mut record) in records(source, "data")? {
            if is_observation(&record) {
                observations.push((line, record));
                continue;
            }
            calls.others += 1;
            let own = record.get_mut("observations").map(Json::take);
            let all = match own {
                Some(Json::Array(all)) => all,
                _ => Vec::new(),
            };
            // A list of traces has only the ids of their observations.
            observations.extend(all.into_iter().filter(Json::is_object).map(|one| (line, one)));
            let name = |key| record.as_object().and_then(|trace| text(trace, key));
            let named = (name(&["id"]), name(&["sessionId", "session_id"]));
            if let (Some(trace), Some(session)) = named {
                sessions.insert(trace, session);
            }
        }
        for (line, observation) in observations {
            if observation.get("type").is_none_or(|kind| kind != "GENERATION") {
                calls.others += 1;
                continue;
            }
            let request = request(observation, &sessions);
            calls.add(request.map_err(|problem| source.error(line, problem))?);
        }
        calls.sessions(source)
    }
}

fn is_observation(record: &Json) -> bool {
    let has = |names: [&str; 2]| names.iter().any(|name| record.get(name).is_some());
    record.get("type").is_some_and(Json::is_string)
        && has(["traceId", "trace_id"])
        && has(["startTime", "start_time"])
        && has(["parentObservationId", "parent_observation_id"])
}

/// Whether a record is an observation, or a trace with some.
fn is_it(record: &Json) -> bool {
    let own = record.get("observations").and_then(|own| own.get(0));
    is_observation(record) || own.is_some_and(is_observation)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Observation {
    #[serde(alias = "trace_id")]
    trace_id: Option<String>,
    #[serde(alias = "session_id")]
    session_id: Option<String>,
    #[serde(alias = "start_time")]
    start_time: Option<Json>,
    model: Option<String>,
    #[serde(alias = "provided_model_name")]
    provided_model_name: Option<String>,
    #[serde(default)]
    input: Json,
    #[serde(default)]
    output: Json,
    #[serde(default, alias = "usage_details")]
    usage_details: Json,
    #[serde(default)]
    usage: Json,
}

fn request(record: Json, sessions: &FxHashMap<String, String>) -> Result<Request, Problem> {
    let own: Observation = from_json(record)?;
    let (said, tools) = asked(own.input)?;
    let session = own.session_id.filter(|session| !session.is_empty());
    let known = own.trace_id.as_ref().and_then(|trace| sessions.get(trace)).cloned();
    let details = [own.usage_details, own.usage].into_iter().map(decoded);
    Ok(Request {
        session: session.or(known),
        group: own.trace_id,
        preamble: Preamble { tools, ..Preamble::default() },
        said,
        answer: answered(own.output)?,
        usage: details.into_iter().find_map(|details| usage(details.as_object()?)),
        model: own.model.or(own.provided_model_name),
        at: time(&own.start_time),
    })
}

/// The counts are disjoint, except the total: what a provider counts within the
/// prompt or the output was subtracted from it. Their names are free.
fn usage(details: &Map<String, Json>) -> Option<Usage> {
    let mut usage = Usage::default();
    let mut found = false;
    for (name, value) in details {
        let name = name.to_ascii_lowercase();
        let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
        let bucket = match () {
            () if is(&["cost"]) => continue,
            () if is(&["cache"]) && is(&["creation", "write"]) && name.ends_with("1h") => {
                &mut usage.cache_write_1h
            }
            () if is(&["cache"]) && is(&["creation", "write"]) => &mut usage.cache_write_5m,
            () if is(&["cache"]) => &mut usage.cache_read,
            () if begins(&["input", "prompt"]) => &mut usage.input,
            () if begins(&["output", "completion"]) => {
                usage.output_final = true;
                &mut usage.output
            }
            () => continue,
        };
        let Some(count) = count(value) else { continue };
        *bucket = bucket.saturating_add(count);
        found = true;
    }
    found.then_some(usage)
}
