//! Implicit probes: specific identifiers that the recorded agent really used
//! again long after it had last seen them (measures §4).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{IdentifierClass, MessageIndex};

/// One thing that the recorded agent used at a request and could only know
/// from far back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Ordinal of the request, from 0.
    pub request: u32,
    /// The identifier, as the agent wrote it.
    pub text: String,
    /// What kind of identifier it is.
    pub class: IdentifierClass,
    /// Message that last held it before the request.
    pub last_seen: MessageIndex,
    /// Tokens from the end of that message to the request.
    pub distance_tokens: u64,
    /// Every message before the request in which it occurs, as sent by the
    /// whole conversation; ascending.
    pub sources: Vec<MessageIndex>,
    /// Smallest tool result among the sources: what reading it again costs.
    /// Absent where it never stood in a tool result (irrecoverable if lost).
    pub refetch: Option<MessageIndex>,
    /// Whether the recording itself read such a result again between the last
    /// source and the request's own calls.
    pub reread: bool,
    /// The five rarest words near each of its ten newest sources, newest first:
    /// a text that names the identifier must also hold two of these, in a
    /// sentence, to count as carrying it. Only a replay needs them.
    #[serde(skip)]
    pub support: Vec<String>,
}

/// The references of one transcript: every preset and window is tested on the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exam {
    /// Ascending by request, then by text.
    pub references: Vec<Reference>,
    /// Identifiers that the agent used although they occurred only before a
    /// recorded boundary and not in its summary: the error of this measurement.
    pub did_without: u32,
    /// The most frequent words of the transcript, lower-case: each occurs in at
    /// least a fifth of the messages. Only a replay needs them.
    #[serde(skip)]
    pub common: BTreeSet<String>,
}
