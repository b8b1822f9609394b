//! How each provider takes a batch of requests, and gives back the replies: one
//! file each.

use serde_json::Value;

use crate::llm::error::{WireError, excerpt};
use crate::llm::http::JSON;

mod anthropic;
mod openai;
#[cfg(test)]
mod tests;

pub(super) use anthropic::ANTHROPIC;
pub(super) use openai::OPENAI;

/// What a provider allows in one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Most requests.
    pub requests: usize,
    /// Most bytes of all requests together.
    pub bytes: usize,
}

/// What is posted to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The path, with a leading slash.
    pub path: &'static str,
    /// The content type.
    pub kind: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Payload {
    fn json(path: &'static str, body: &Value) -> Self {
        Self { path, kind: JSON.to_owned(), body: body.to_string().into_bytes() }
    }
}

/// A batch as its provider describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its name at the provider.
    pub id: String,
    /// What has become of it.
    pub state: BatchState,
}

/// What has become of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// Not every request has a result yet.
    Running,
    /// It was refused as a whole, with the provider's reason; no request of it
    /// was answered.
    Failed(String),
    /// Every request has a result, at these paths: JSON lines, in any order.
    Ended(Vec<String>),
}

/// What has become of one request of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchResult {
    /// The provider answered, as if the request had been sent alone.
    Answer {
        /// The status of the response.
        status: u16,
        /// Its body.
        body: Value,
    },
    /// It was not answered within the day that a batch may take.
    Expired,
    /// The batch was cancelled before its turn.
    Cancelled,
}

/// What is known of a batch whose name never arrived: the connection broke off,
/// or the program was ended, while it was submitted.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// The file that holds its requests, at a provider that takes one.
    pub file: Option<&'a str>,
    /// The number of its requests.
    pub requests: usize,
    /// When it was submitted, by this machine's clock.
    pub at: jiff::Timestamp,
}

/// A provider's interface for batches: requests that are answered within a day,
/// at half the price.
pub trait Batches: Sync {
    /// What one batch may hold.
    fn limits(&self) -> BatchLimits;

    /// A request as it stands in a batch: under a name of its own, with the path
    /// and the body that it would have alone.
    fn entry(&self, name: &str, path: &str, body: &Value) -> String;

    /// The file of requests that is uploaded before the batch is made; `None`
    /// where the batch itself holds them.
    fn upload(&self, entries: &[&str]) -> Option<Payload>;

    /// The name of the uploaded file.
    ///
    /// # Errors
    /// If the response has none.
    fn uploaded(&self, body: &Value) -> Result<String, WireError> {
        name(body)
    }

    /// What makes the batch, of the uploaded file or of the requests.
    fn create(&self, entries: &[&str], file: Option<&str>, path: &str) -> Payload;

    /// Reads a batch.
    ///
    /// # Errors
    /// If the response is none.
    fn batch(&self, body: &Value) -> Result<Batch, WireError>;

    /// The path of a batch.
    fn path(&self, id: &str) -> String;

    /// The path of the newest batches of the account.
    fn newest(&self) -> &'static str;

    /// Whether a batch of that list is the one that was lost, as far as the list
    /// tells.
    fn is_lost_one(&self, listed: &Value, lost: &Lost<'_>) -> bool;

    /// The name and the result of one request; `None` if the line is neither.
    fn result(&self, line: &Value) -> Option<(String, BatchResult)>;
}

/// The name of an object. It becomes a part of paths, so that it may have no
/// character with a meaning there.
fn name(body: &Value) -> Result<String, WireError> {
    let id = body["id"].as_str().ok_or(WireError::Lacks("id".into()))?;
    plain(id).map(str::to_owned)
}

fn plain(id: &str) -> Result<&str, WireError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !id.is_empty() && id.len() <= 256 && id.chars().all(allowed) {
        true => Ok(id),
        false => Err(WireError::Lacks(format!("usable id, but `{}`", excerpt(id)).into())),
    }
}
