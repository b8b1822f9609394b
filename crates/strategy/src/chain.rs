//! The consecutive sessions of one conversation (Lis: "Sessions — not merged
//! summaries").
//!
//! Invariant: every recorded message belongs to at most one session; the open
//! session takes each new message.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use recap_core::model::MessageIndex;

/// Ranges of recorded messages: the first, and the one after the last.
pub(super) type Spans = Vec<(MessageIndex, MessageIndex)>;

/// The sessions of a system that keeps them, besides the summaries of the
/// closed ones ([`StrategyState::sessions`](super::StrategyState::sessions)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The open session; `None` where none is kept.
    pub open: Option<OpenSession>,
    /// Every session by its number, from 1.
    pub known: BTreeMap<u32, ChainLink>,
}

/// The session that takes new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// The session's number, from 1.
    pub number: u32,
    /// The first message that it has taken in since it was opened (again).
    pub from: MessageIndex,
}

/// The facts about a session, open or closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainLink {
    /// The session that it continues.
    pub parent: Option<u32>,
    /// The time at which it was first opened.
    pub opened: Timestamp,
    /// Its messages, without those that it takes while it is open: a session
    /// that was reopened has several ranges.
    pub spans: Spans,
    /// The summary that was written before it was reopened.
    pub summary: Option<String>,
}

/// What a session leaves to the one that is opened after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Messages that move to it.
    pub spans: Spans,
    /// The first message that it takes while it is open.
    pub from: MessageIndex,
}

impl Rest {
    /// Nothing but the messages from this one on.
    pub(crate) fn from(from: MessageIndex) -> Rest {
        Rest { spans: Spans::new(), from }
    }
}

/// A session that can be searched: closed, and with a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosedSession {
    /// The session's id, unique within a cell.
    pub id: String,
    /// The summary of the session.
    pub summary: String,
    /// The ranges of its messages.
    pub spans: Spans,
}
