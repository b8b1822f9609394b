//! Spans of model calls in OTLP JSON, as OpenTelemetry's collector writes them:
//! one document, or one export request a line.
//!
//! Read from the conventions of OpenTelemetry (open-telemetry/
//! semantic-conventions, `docs/gen-ai`), of OpenInference (Arize-ai/openinference,
//! `spec`) and of OpenLLMetry (traceloop/openllmetry, `semconv_ai/__init__.py` and
//! the instrumentations of Cohere and Ollama for `gen_ai.prompt.N` and its calls,
//! of Anthropic for what its counts include), without recordings at hand.
//! Every span repeats the conversation so far: of a session or trace, the one
//! that was extended last is read.

mod span;

use serde::Deserialize;
use serde_json::Value as Json;

use self::span::{Span, request};
use super::exchange::{Request, Requests};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source, parse};

/// The format of spans in OTLP JSON.
pub struct Otel;

/// Why there is no session, though models were called.
const NO_CONTENT: &str = "none of its spans of model calls has the messages: they have to be \
     recorded (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only, \
     TRACELOOP_TRACE_CONTENT=true, OPENINFERENCE_HIDE_INPUTS=false)";

impl Format for Otel {
    fn name(&self) -> &'static str {
        "otel"
    }

    fn describe(&self) -> &'static str {
        "OpenTelemetry spans of model calls (OTLP JSON, a document or a line each; GenAI, OpenInference and OpenLLMetry; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let long = head.records.is_empty() && head.mentions(&["scopeSpans", "spans"]);
        head.any(|record| record.get("resourceSpans").is_some_and(Json::is_array)) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let mut found = Found::default();
        if Head::new(source.head(HEAD)?).spread {
            let export: Export = source.document()?;
            found.add(export).map_err(|problem| source.error(None, problem))?;
        } else {
            while let Some((line, export)) = source.next_record(parse::<Export>)? {
                found.add(export).map_err(|problem| source.error(Some(line), problem))?;
            }
        }
        if found.silent > 0 {
            let (silent, all) = (found.silent, found.silent + found.requests.len());
            source.warn(match found.requests.len() {
                0 => NO_CONTENT.to_owned(),
                _ => format!("of {all} spans of model calls, {silent} have no messages"),
            });
        }
        // Spans are written when they end.
        found.requests.sort_by_key(|request| request.at);
        let mut requests = Requests::default();
        for request in found.requests {
            requests.add(request);
        }
        let mut drafts = requests.sessions(source)?;
        if let Some(first) = drafts.first_mut() {
            first.leave_out("span that is no model call", found.others);
            first.leave_out("span of a model call without messages", found.silent as u64);
        }
        Ok(drafts)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export {
    #[serde(default)]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    #[serde(default, alias = "instrumentationLibrarySpans")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Default)]
struct Found {
    requests: Vec<Request>,
    /// Spans of model calls without messages.
    silent: usize,
    /// Other spans.
    others: u64,
}

impl Found {
    fn add(&mut self, export: Export) -> Result<(), Problem> {
        let scopes = export.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            match request(span)? {
                None => self.others += 1,
                Some(request) if request.said.is_empty() && request.answer.is_empty() => {
                    self.silent += 1;
                }
                Some(request) => self.requests.push(request),
            }
        }
        Ok(())
    }
}
