//! The lines of a cassette, each a recorded call.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CassetteError;
use crate::{Answered, Call, CallError, Fault, Finish, Model, NoUsage, Reply, Tokens, WireError};
use recap_core::model::{ModelRole, Timing};
use recap_core::text::json_error;

/// Removes secrets from a text before it is written.
pub type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Version of the format. A line of another version is an error.
const VERSION: u32 = 1;

/// A line: the key of a call, and its outcome. The texts of the request are not
/// stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassetteLine {
    /// The content key of the call. It is the first field, so that lines sort by it.
    pub key: String,
    v: u32,
    provider: String,
    model: String,
    replicate: u32,
    /// The first role that made the call.
    role: ModelRole,
    /// The time of the answer.
    at: Timestamp,
    /// Requests that were sent, if there is no reply (whose timing says it) and it was
    /// not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    outcome: StoredOutcome,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoredOutcome {
    Reply {
        text: String,
        finish: Finish,
        model: Option<String>,
        tokens: StoredTokens,
        timing: Timing,
    },
    Rejected(Fault),
    Malformed(WireError),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoredTokens {
    Known(Tokens),
    Missing,
    Contradictory(String),
}

/// A recorded outcome with its time.
pub(crate) struct Recorded {
    pub outcome: Result<Answered, CallError>,
    pub at: Timestamp,
    /// The number of requests that were sent for it.
    pub sent: u32,
}

impl CassetteLine {
    /// The line of an outcome, without secrets; `None` for an error that is
    /// about the run rather than the request.
    pub fn of(
        (key, model, call): (&str, &Model, &Call),
        (outcome, sent): (&Result<Answered, CallError>, u32),
        at: Timestamp,
        scrub: &Scrub,
    ) -> Option<Self> {
        let stored = match outcome {
            Ok(Answered { reply, timing, .. }) => {
                let (Reply { text, finish, usage, model }, timing) = (reply.clone(), *timing);
                let tokens = match usage {
                    Ok(tokens) => StoredTokens::Known(tokens),
                    Err(NoUsage::Missing) => StoredTokens::Missing,
                    Err(NoUsage::Contradictory(why)) => StoredTokens::Contradictory(why),
                };
                StoredOutcome::Reply { text, finish, model, tokens, timing }
            }
            Err(CallError::Rejected(fault)) => StoredOutcome::Rejected(fault.clone()),
            Err(CallError::Malformed(error)) => StoredOutcome::Malformed(error.clone()),
            Err(_) => return None,
        };
        Some(Self {
            key: key.to_owned(),
            v: VERSION,
            provider: scrub(&model.provider),
            model: scrub(&call.request.model),
            replicate: call.replicate,
            role: call.role,
            at,
            attempts: (outcome.is_err() && sent != 1).then_some(sent),
            outcome: stored.scrubbed(scrub),
        })
    }

    /// Reads a line.
    ///
    /// # Errors
    /// A description of what is wrong with the line.
    pub fn read(text: &str) -> Result<Self, String> {
        let line: Self = serde_json::from_str(text).map_err(|error| {
            let found =
                serde_json::from_str::<Value>(text).ok().and_then(|line| line["v"].as_u64());
            let version = found.and_then(another_version);
            version.unwrap_or_else(|| json_error(&error.to_string()))
        })?;
        if let Some(problem) = another_version(line.v.into()) {
            return Err(problem);
        }
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if line.key.len() != 64 || !line.key.bytes().all(hex) {
            return Err("the key is not 64 hexadecimal digits".to_owned());
        }
        Ok(line)
    }

    /// The line as it is written to the file, without the line feed.
    pub fn written(&self) -> String {
        serde_json::to_string(self).expect("plain data serialises")
    }

    /// The role and the model of the call, for messages.
    pub fn about(&self) -> String {
        let Self { role, provider, model, replicate, .. } = self;
        format!("{} of {provider}/{model}, replicate {replicate}", role.as_str())
    }

    /// The model of the call, as `provider/model`.
    pub fn model(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Whether two recordings of one call say the same: its time and its tokens,
    /// of which a provider's cache may have held more, do not count.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let said = |line: &Self| {
            let mut outcome = serde_json::to_value(&line.outcome).expect("plain data serialises");
            if let Some(reply) = outcome["reply"].as_object_mut() {
                reply.retain(|field, _| matches!(field.as_str(), "text" | "finish" | "model"));
            }
            outcome
        };
        said(self) == said(other)
    }

    /// Whether this recording counts where another says the same: the quicker
    /// one, and of equally quick ones the first in byte order.
    pub fn is_before(&self, other: &Self) -> bool {
        let order = match (&self.outcome, &other.outcome) {
            (StoredOutcome::Reply { timing, .. }, StoredOutcome::Reply { timing: other, .. }) => {
                timing.quickest(other)
            }
            _ => Ordering::Equal,
        };
        order.then_with(|| self.written().cmp(&other.written())).is_lt()
    }

    /// The outcome of the call.
    pub fn recorded(self) -> Recorded {
        let outcome = match self.outcome {
            StoredOutcome::Reply { text, finish, model, tokens, timing } => {
                let usage = match tokens {
                    StoredTokens::Known(tokens) => Ok(tokens),
                    StoredTokens::Missing => Err(NoUsage::Missing),
                    StoredTokens::Contradictory(why) => Err(NoUsage::Contradictory(why)),
                };
                let reply = Reply { text, finish, usage, model };
                Ok(Answered { reply, timing, recorded: true })
            }
            StoredOutcome::Rejected(fault) => Err(CallError::Rejected(fault)),
            StoredOutcome::Malformed(flaw) => Err(CallError::Malformed(flaw)),
        };
        let sent = match &outcome {
            Ok(answered) => answered.timing.attempts,
            Err(_) => self.attempts.unwrap_or(1),
        };
        Recorded { outcome, at: self.at, sent }
    }
}

/// What is wrong with a line of this version of the format.
fn another_version(found: u64) -> Option<String> {
    (found != u64::from(VERSION))
        .then(|| format!("its format is version {found}, this program reads version {VERSION}"))
}

impl StoredOutcome {
    /// The same without secrets in any of its texts.
    fn scrubbed(&self, scrub: &Scrub) -> Self {
        let mut value = serde_json::to_value(self).expect("plain data serialises");
        scrub_texts(&mut value, scrub);
        serde_json::from_value(value).expect("texts stay texts")
    }
}

fn scrub_texts(value: &mut Value, scrub: &Scrub) {
    match value {
        Value::String(text) => *text = scrub(text),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub_texts(field, scrub)),
        _ => {}
    }
}

/// The lines of a cassette file.
pub(super) struct Lines {
    /// The lines by key, as they are in the file.
    pub lines: BTreeMap<String, Box<str>>,
    /// Length in bytes up to the end of the last complete line.
    pub whole: u64,
    /// Whether the file ends with a line feed, so that a line can be appended.
    pub ended: bool,
    /// Oddities of the file that are not errors.
    pub warnings: Vec<String>,
}

impl Lines {
    /// Reads the lines of a file.
    ///
    /// # Errors
    /// If a line is not a recorded call, unless it is a cut-off last line.
    pub fn read(file: &Path, bytes: &[u8]) -> Result<Self, CassetteError> {
        let mut lines: BTreeMap<String, Box<str>> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        let mut warnings = Vec::new();
        let (mut whole, mut ended) = (0, true);
        for (number, raw) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let read = std::str::from_utf8(raw).map_err(|error| error.to_string());
            let read = read.map(str::trim_ascii).and_then(|text| match text {
                "" => Ok(None),
                text => Ok(Some((text, CassetteLine::read(text)?))),
            });
            let line = match read {
                Ok(line) => line,
                Err(_) if !raw.ends_with(b"\n") && is_torn(raw, whole > 0) => {
                    warnings.push(torn(file, number));
                    break;
                }
                Err(problem) => {
                    let file = file.display();
                    return Err(CassetteError {
                        message: format!(
                            "the line is not a recorded call: {problem}\n  --> {file}:{number}"
                        ),
                        help: "delete that line: a recording run makes the call again",
                    });
                }
            };
            whole += raw.len();
            ended = raw.ends_with(b"\n");
            let Some((text, line)) = line else { continue };
            let first = *numbers.entry(line.key.clone()).or_insert(number);
            match lines.entry(line.key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(text.into());
                }
                Entry::Occupied(taken) if **taken.get() == *text => {}
                Entry::Occupied(mut taken) => {
                    warnings.push(twice(file, &line, first, number));
                    if *text < **taken.get() {
                        taken.insert(text.into());
                    }
                }
            }
        }
        let whole = u64::try_from(whole).expect("a file's size is a u64");
        Ok(Self { lines, whole, ended, warnings })
    }
}

/// Whether bytes are the beginning of a line whose writing was interrupted.
/// With other lines `before`, any beginning will do; else it has to start like
/// every line. A file that ends otherwise without a line feed is not a
/// cassette, and is not changed.
fn is_torn(bytes: &[u8], before: bool) -> bool {
    /// How a line begins; `0` stands for a hexadecimal digit.
    const START: &[u8] =
        br#"{"key":"0000000000000000000000000000000000000000000000000000000000000000","v":"#;
    let fits = |(byte, wanted): (&u8, &u8)| match wanted {
        b'0' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        _ => byte == wanted,
    };
    (before || bytes.len() >= START.len()) && bytes.iter().zip(START).all(fits)
}

fn torn(file: &Path, number: usize) -> String {
    format!("the last line is cut short and left out\n  --> {}:{number}", file.display())
}

fn twice(file: &Path, line: &CassetteLine, first: usize, number: usize) -> String {
    format!(
        "lines {first} and {number} record the same call ({}, key {}) with different outcomes; \
         the one first in byte order counts\n  --> {}",
        line.about(),
        &line.key[..12],
        file.display()
    )
}
