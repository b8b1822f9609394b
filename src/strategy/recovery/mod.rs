//! Channels back to what was dropped: tools that search the archive of a
//! session, for whoever answers from a context.
//!
//! Invariant: an archive holds what was recorded before the request at which
//! is asked: no later message, and nothing that a strategy wrote.

mod search;

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::{MessageIndex, Role};

/// Every channel.
pub static RECOVERIES: &[&RecoverySpec] = &[&search::SPEC, &search::ZOEA];

/// A tool of a channel. It takes one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The name by which it is called.
    pub name: &'static str,
    /// What the one who may call it is told about it.
    pub description: &'static str,
}

/// A recorded message as a search gives it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Its place in the session.
    pub message: MessageIndex,
    /// Its role.
    pub role: Role,
    /// The tool that it is a result of, or that it calls first.
    pub source: Option<Arc<str>>,
    /// Its text as a provider was sent it.
    pub content: Arc<str>,
    /// The model's visible thinking, which is never sent otherwise.
    pub reasoning: Option<Arc<str>>,
    /// Whether it was sent to several agents at once.
    pub broadcast: bool,
    /// When it was recorded.
    pub at: Option<Timestamp>,
    /// Tokens of content and reasoning, as the run counts.
    pub tokens: u64,
}

/// A channel back to what was dropped.
pub trait Recovery: Send + Sync {
    /// What may be called; at least one, the first over what was said.
    fn tools(&self) -> &'static [Tool];

    /// What a tool finds among the past messages, which are in their order;
    /// nothing where the tool is none of its own. Linear in their text.
    fn call<'a>(&self, past: &'a [Archived], tool: &str, query: &str) -> Vec<&'a Archived>;
}

/// A channel by its name: one file, one constant, one line in the slice.
pub struct RecoverySpec {
    /// Kebab-case id.
    pub name: &'static str,
    /// One sentence for documentation.
    pub summary: &'static str,
    /// What it does.
    pub recovery: &'static dyn Recovery,
}

impl std::fmt::Debug for RecoverySpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecoverySpec({})", self.name)
    }
}

impl PartialEq for RecoverySpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A channel with the past that it reaches.
#[derive(Clone, Copy, Debug)]
pub struct Channel<'a> {
    spec: &'static RecoverySpec,
    past: &'a [Archived],
}

impl<'a> Channel<'a> {
    /// A channel to these messages, in their order.
    pub fn new(spec: &'static RecoverySpec, past: &'a [Archived]) -> Self {
        Self { spec, past }
    }

    /// What may be called.
    pub fn tools(&self) -> &'static [Tool] {
        self.spec.recovery.tools()
    }

    /// What a tool finds.
    pub fn call(&self, tool: &str, query: &str) -> Vec<&'a Archived> {
        self.spec.recovery.call(self.past, tool, query)
    }
}
