//! One recorded call as a line of a cassette.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::llm::{
    Answered, Call, CallError, Fault, FaultKind, Finish, Model, NoUsage, Reply, Tokens, WireError,
};
use crate::model::{Seat, Timing, Usage};

/// Removes secrets from a text before it is written.
pub type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Version of the format. A line of another version is an error.
const VERSION: u32 = 1;

/// Why a line is no recorded call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is not of the form of a call.
    #[error("{0}")]
    Syntax(String),
    /// Another version of the program wrote it.
    #[error("its format is version {0}, this program reads version {VERSION}")]
    Version(u64),
    /// Its key is none.
    #[error("the key is not 64 hexadecimal digits")]
    Key,
}

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
    /// The first seat that made the call.
    seat: Seat,
    /// The time of the answer.
    at: Timestamp,
    outcome: StoredOutcome,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoredOutcome {
    Reply {
        text: String,
        finish: StoredFinish,
        model: Option<String>,
        tokens: StoredTokens,
        timing: Timing,
        /// Whether it came in a batch.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        batch: bool,
    },
    Rejected(StoredFault),
    Malformed(StoredWireError),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoredFinish {
    Done,
    Length,
    Refused,
    Filtered,
    Other(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoredTokens {
    Known { usage: Usage, reasoning: Option<u64> },
    Missing,
    Contradictory(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum StoredWireError {
    NotJson { why: String, excerpt: String },
    Lacks(String),
    Fault(StoredFault),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFault {
    kind: StoredFaultKind,
    status: u16,
    message: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", remote = "FaultKind")]
enum FaultKindName {
    RateLimited,
    Overloaded,
    Server,
    ContextTooLong,
    Filtered,
    Auth,
    Quota,
    NotFound,
    BadRequest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct StoredFaultKind(#[serde(with = "FaultKindName")] FaultKind);

/// A recorded outcome with its time.
pub(in crate::llm) struct Recorded {
    pub outcome: Result<Answered, CallError>,
    pub at: Timestamp,
}

impl CassetteLine {
    /// The line of an outcome, without secrets; `None` for an error that is
    /// about the run rather than the request.
    pub fn of(
        (key, model, call): (&str, &Model, &Call),
        outcome: &Result<Answered, CallError>,
        at: Timestamp,
        scrub: &Scrub,
    ) -> Option<Self> {
        let outcome = match outcome {
            Ok(answered) => StoredOutcome::of_reply(answered, scrub),
            Err(CallError::Rejected(fault)) => {
                StoredOutcome::Rejected(StoredFault::of(fault, scrub))
            }
            Err(CallError::Malformed(error)) => {
                StoredOutcome::Malformed(StoredWireError::of(error, scrub))
            }
            Err(_) => return None,
        };
        Some(Self {
            key: key.to_owned(),
            v: VERSION,
            provider: scrub(&model.provider),
            model: scrub(&call.request.model),
            replicate: call.replicate,
            seat: call.seat,
            at,
            outcome,
        })
    }

    /// Reads a line.
    ///
    /// # Errors
    /// A description of what is wrong with the line.
    pub fn read(text: &str) -> Result<Self, LineError> {
        let line: Self = serde_json::from_str(text).map_err(|error| {
            // The parser numbers the lines of its input, which is a single line here.
            let message = error.to_string().replace(" at line 1 column ", " at column ");
            another_version(text).map_or(LineError::Syntax(message), LineError::Version)
        })?;
        if line.v != VERSION {
            return Err(LineError::Version(line.v.into()));
        }
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if line.key.len() != 64 || !line.key.bytes().all(hex) {
            return Err(LineError::Key);
        }
        Ok(line)
    }

    /// The line as it is written to the file, without the line feed.
    pub fn written(&self) -> String {
        serde_json::to_string(self).expect("plain data serialises")
    }

    /// The seat and the model of the call, for messages.
    pub fn about(&self) -> String {
        let Self { seat, provider, model, replicate, .. } = self;
        format!("{} of {provider}/{model}, replicate {replicate}", seat.as_str())
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
            StoredOutcome::Reply { text, finish, model, tokens, timing, batch } => {
                let usage = tokens.restored();
                let reply = Reply { text, finish: finish.restored(), usage, model };
                Ok(Answered { reply, timing, recorded: true, batch })
            }
            StoredOutcome::Rejected(fault) => Err(CallError::Rejected(fault.restored())),
            StoredOutcome::Malformed(flaw) => Err(CallError::Malformed(flaw.restored())),
        };
        Recorded { outcome, at: self.at }
    }
}

fn another_version(text: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let found = value["v"].as_u64()?;
    (found != u64::from(VERSION)).then_some(found)
}

impl StoredOutcome {
    fn of_reply(answered: &Answered, scrub: &Scrub) -> Self {
        let reply = &answered.reply;
        StoredOutcome::Reply {
            text: scrub(&reply.text),
            finish: match &reply.finish {
                Finish::Done => StoredFinish::Done,
                Finish::Length => StoredFinish::Length,
                Finish::Refused => StoredFinish::Refused,
                Finish::Filtered => StoredFinish::Filtered,
                Finish::Other(word) => StoredFinish::Other(scrub(word)),
            },
            model: reply.model.as_deref().map(|model| scrub(model)),
            tokens: match &reply.usage {
                Ok(Tokens { usage, reasoning }) => {
                    StoredTokens::Known { usage: *usage, reasoning: *reasoning }
                }
                Err(NoUsage::Missing) => StoredTokens::Missing,
                Err(NoUsage::Contradictory(why)) => StoredTokens::Contradictory(scrub(why)),
            },
            timing: answered.timing,
            batch: answered.batch,
        }
    }
}

impl StoredFinish {
    fn restored(self) -> Finish {
        match self {
            StoredFinish::Done => Finish::Done,
            StoredFinish::Length => Finish::Length,
            StoredFinish::Refused => Finish::Refused,
            StoredFinish::Filtered => Finish::Filtered,
            StoredFinish::Other(word) => Finish::Other(word),
        }
    }
}

impl StoredTokens {
    fn restored(self) -> Result<Tokens, NoUsage> {
        match self {
            StoredTokens::Known { usage, reasoning } => Ok(Tokens { usage, reasoning }),
            StoredTokens::Missing => Err(NoUsage::Missing),
            StoredTokens::Contradictory(why) => Err(NoUsage::Contradictory(why)),
        }
    }
}

impl StoredFault {
    fn of(fault: &Fault, scrub: &Scrub) -> Self {
        let message = scrub(&fault.message);
        Self { kind: StoredFaultKind(fault.kind), status: fault.status, message }
    }

    fn restored(self) -> Fault {
        Fault { kind: self.kind.0, status: self.status, message: self.message }
    }
}

impl StoredWireError {
    fn of(error: &WireError, scrub: &Scrub) -> Self {
        match error {
            WireError::NotJson { why, excerpt } => {
                StoredWireError::NotJson { why: scrub(why), excerpt: scrub(excerpt) }
            }
            WireError::Lacks(what) => StoredWireError::Lacks(scrub(what)),
            WireError::Fault(fault) => StoredWireError::Fault(StoredFault::of(fault, scrub)),
        }
    }

    fn restored(self) -> WireError {
        match self {
            StoredWireError::NotJson { why, excerpt } => WireError::NotJson { why, excerpt },
            StoredWireError::Lacks(what) => WireError::Lacks(what.into()),
            StoredWireError::Fault(fault) => WireError::Fault(fault.restored()),
        }
    }
}
