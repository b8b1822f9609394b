//! Anthropic's message batches.
//!
//! Source: Anthropic, "Batch processing"
//! (platform.claude.com/docs/en/build-with-claude/batch-processing) and its API
//! reference, "Create", "Retrieve" and "List Message Batches" and "Retrieve
//! Message Batch results": at most 100,000 requests and 256 MB, each with a
//! `custom_id` of 1 to 64 letters, digits, `_` and `-`; results in any order,
//! `succeeded`, `errored`, `canceled` or, after 24 hours, `expired`; only the
//! first are billed.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Batch, BatchLimits, BatchResult, BatchState, Batches, Lost, Payload, name};
use crate::llm::error::WireError;

/// Anthropic's interface for batches.
pub(in crate::llm::providers) static ANTHROPIC: AnthropicBatches = AnthropicBatches;

#[derive(Debug)]
pub(in crate::llm::providers) struct AnthropicBatches;

/// How far this machine's clock may be from the provider's.
const SKEW: SignedDuration = SignedDuration::from_mins(2);

const PATH: &str = "/v1/messages/batches";

impl Batches for AnthropicBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: 100_000, bytes: 255_000_000 }
    }

    fn entry(&self, name: &str, _: &str, body: &Value) -> String {
        json!({"custom_id": name, "params": body}).to_string()
    }

    fn upload(&self, _: &[&str]) -> Option<Payload> {
        None
    }

    fn create(&self, entries: &[&str], _: Option<&str>, _: &str) -> Payload {
        // The entries are JSON already: reading and writing megabytes of it again is for nothing.
        let body = format!("{{\"requests\":[{}]}}", entries.join(",")).into_bytes();
        Payload { body, ..Payload::json(PATH, &Value::Null) }
    }

    fn batch(&self, body: &Value) -> Result<Batch, WireError> {
        let id = name(body)?;
        let status = body["processing_status"].as_str();
        let state = match status.ok_or(WireError::Lacks("processing_status".into()))? {
            "ended" if !body["archived_at"].is_null() => {
                BatchState::Failed("it is archived, its results are gone".to_owned())
            }
            // The path is made of the name: the key goes to no address that a
            // response names.
            "ended" => BatchState::Ended(vec![format!("{PATH}/{id}/results")]),
            // in_progress, canceling
            _ => BatchState::Running,
        };
        Ok(Batch { id, state })
    }

    fn path(&self, id: &str) -> String {
        format!("{PATH}/{id}")
    }

    fn newest(&self) -> &'static str {
        "/v1/messages/batches?limit=100"
    }

    /// The list has neither names of requests nor remarks: number and time have
    /// to do. What is taken over by mistake has results of unknown requests only.
    fn is_lost_one(&self, listed: &Value, lost: &Lost<'_>) -> bool {
        let counts = listed["request_counts"].as_object();
        let counted = counts.map(|counts| counts.values().filter_map(Value::as_u64).sum::<u64>());
        let created = listed["created_at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        counted == Some(lost.requests as u64)
            && created.is_some_and(|created| created.duration_since(lost.at) >= -SKEW)
    }

    fn result(&self, line: &Value) -> Option<(String, BatchResult)> {
        let name = line["custom_id"].as_str()?.to_owned();
        let result = &line["result"];
        let result = match result["type"].as_str()? {
            "succeeded" => BatchResult::Answer { status: 200, body: result["message"].clone() },
            "errored" => {
                // An error response in an object of its own, as it would come alone.
                let body = result["error"].clone();
                BatchResult::Answer { status: status(&body["error"]), body }
            }
            "expired" => BatchResult::Expired,
            "canceled" => BatchResult::Cancelled,
            _ => return None,
        };
        Some((name, result))
    }
}

/// The status with which an error comes when the request is sent alone
/// (Anthropic, "Errors").
fn status(error: &Value) -> u16 {
    match error["type"].as_str().unwrap_or_default() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}
