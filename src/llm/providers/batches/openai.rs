//! OpenAI's batches, of chat completions and of responses.
//!
//! Source: OpenAI, "Batch API" (platform.openai.com/docs/guides/batch) and its
//! API reference, "Batch" and "Files": the requests are a file of JSON lines
//! with the purpose `batch`, for one model and one path; at most 50,000 of them
//! and 200 MB; results are in two files, the errors apart, in any order; what
//! was not done after 24 hours is in the file of errors as `batch_expired`.

use serde_json::{Value, json};

use super::{Batch, BatchLimits, BatchResult, BatchState, Batches, Lost, Payload, name, plain};
use crate::llm::error::{WireError, message};

/// OpenAI's interface for batches.
pub(in crate::llm::providers) static OPENAI: OpenAiBatches = OpenAiBatches;

#[derive(Debug)]
pub(in crate::llm::providers) struct OpenAiBatches;

/// Errors of a refused batch that are repeated.
const ERRORS: usize = 3;

impl Batches for OpenAiBatches {
    fn limits(&self) -> BatchLimits {
        // The upload has some bytes besides the file.
        BatchLimits { requests: 50_000, bytes: 199_000_000 }
    }

    fn entry(&self, name: &str, path: &str, body: &Value) -> String {
        json!({"custom_id": name, "method": "POST", "url": path, "body": body}).to_string()
    }

    /// `multipart/form-data` (RFC 7578). The boundary is a hash of the content,
    /// so that it does not stand in it.
    fn upload(&self, entries: &[&str]) -> Option<Payload> {
        let lines: String = entries.iter().flat_map(|entry| [entry, "\n"]).collect();
        let boundary = format!("recap-{}", blake3::hash(lines.as_bytes()).to_hex());
        let body = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
             --{boundary}\r\ncontent-disposition: form-data; name=\"file\"; \
             filename=\"recap.jsonl\"\r\ncontent-type: application/jsonl\r\n\r\n{lines}\r\n\
             --{boundary}--\r\n"
        );
        let kind = format!("multipart/form-data; boundary={boundary}");
        Some(Payload { path: "/v1/files", kind, body: body.into_bytes() })
    }

    fn create(&self, _: &[&str], file: Option<&str>, path: &str) -> Payload {
        let body = json!({"input_file_id": file, "endpoint": path, "completion_window": "24h"});
        Payload::json("/v1/batches", &body)
    }

    fn batch(&self, body: &Value) -> Result<Batch, WireError> {
        let status = body["status"].as_str().ok_or(WireError::Lacks("status".into()))?;
        let state = match status {
            "failed" => BatchState::Failed(errors(&body["errors"])),
            "completed" | "expired" | "cancelled" => {
                let files = ["output_file_id", "error_file_id"].map(|field| body[field].as_str());
                let path = |id| plain(id).map(|id| format!("/v1/files/{id}/content"));
                BatchState::Ended(files.into_iter().flatten().map(path).collect::<Result<_, _>>()?)
            }
            // validating, in_progress, finalizing, cancelling
            _ => BatchState::Running,
        };
        Ok(Batch { id: name(body)?, state })
    }

    fn path(&self, id: &str) -> String {
        format!("/v1/batches/{id}")
    }

    fn newest(&self) -> &'static str {
        "/v1/batches?limit=100"
    }

    fn is_lost_one(&self, listed: &Value, lost: &Lost<'_>) -> bool {
        lost.file.is_some() && listed["input_file_id"].as_str() == lost.file
    }

    fn result(&self, line: &Value) -> Option<(String, BatchResult)> {
        let name = line["custom_id"].as_str()?.to_owned();
        let (response, error) = (&line["response"], &line["error"]);
        let result = match (response.is_object(), error["code"].as_str()) {
            (true, _) => {
                let status = response["status_code"].as_u64().and_then(|s| u16::try_from(s).ok());
                // Lines with the status 0 have been seen: the request was not answered.
                let status = status.filter(|status| *status >= 100).unwrap_or(500);
                BatchResult::Answer { status, body: response["body"].clone() }
            }
            (false, Some("batch_expired")) => BatchResult::Expired,
            (false, Some("batch_cancelled")) => BatchResult::Cancelled,
            (false, _) if error.is_object() => {
                BatchResult::Answer { status: 500, body: json!({"error": error}) }
            }
            _ => return None,
        };
        Some((name, result))
    }
}

/// Why a batch was refused, in the provider's words.
fn errors(errors: &Value) -> String {
    let listed = errors["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said = listed.iter().take(ERRORS).map(|error| match error["line"].as_u64() {
        Some(line) => format!("line {line}: {}", message(error)),
        None => message(error),
    });
    let mut said: Vec<String> = said.collect();
    match listed.len().saturating_sub(ERRORS) {
        _ if listed.is_empty() => said.push("no reason was given".to_owned()),
        0 => {}
        more => said.push(format!("and {more} more")),
    }
    said.join("; ")
}
