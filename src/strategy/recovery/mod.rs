//! Channels back to what was dropped: tools that search the archive of a
//! session, for whoever answers from a context.
//!
//! Invariant: an archive holds what was recorded before the request at which
//! is asked: no later message, and of what a strategy wrote only the summaries
//! of sessions that it had closed by then.

mod search;
mod sessions;

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::{MessageIndex, Role};

/// Every channel.
pub static RECOVERIES: &[&RecoverySpec] = &[&search::SPEC, &search::ZOEA, &sessions::SPEC];

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

/// A session that a strategy had closed, as a search gives it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedSession {
    /// What was written of it, in the place of its first message.
    pub summary: Archived,
    /// Its messages: stretches, each the first and the one behind the last.
    pub spans: Vec<(MessageIndex, MessageIndex)>,
}

/// What a channel reaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past<'a> {
    /// The past messages, in their order.
    pub messages: &'a [Archived],
    /// The closed sessions that have a summary, oldest first.
    pub sessions: &'a [ArchivedSession],
}

/// A channel back to what was dropped.
pub trait Recovery: Send + Sync {
    /// What may be called; at least one, the first over what was said.
    fn tools(&self) -> &'static [Tool];

    /// What a tool finds; nothing where the tool is none of its own. Linear in
    /// the text of the past.
    fn call<'a>(&self, past: Past<'a>, tool: &str, query: &str) -> Vec<&'a Archived>;

    /// What a good query is, for the one who may search.
    fn advice(&self) -> &'static str {
        "Choose a short and telling text, such as a name or one rare word: only messages that \
         contain it exactly are found."
    }

    /// The order in which a tool gives back what it found.
    fn order(&self) -> &'static str {
        "newest first"
    }

    /// Whether a whole question is a query, since what is found is ranked by
    /// all of its words; else one word at a time is.
    fn takes_questions(&self) -> bool {
        false
    }

    /// How closed sessions are ranked by meaning instead of by words; `None`
    /// where the channel has no use for that.
    fn by_meaning(&self) -> Option<&'static ByMeaning> {
        None
    }
}

/// What a tool finds, given how near each closed session is to the query, in
/// the order of [`Past::sessions`]: the larger, the nearer.
pub type Nearest = for<'a> fn(Past<'a>, &str, &str, &[f64]) -> Vec<&'a Archived>;

/// A channel where somebody can tell how near a summary is to a query in
/// meaning. What is not named here stays as it is without.
#[derive(Clone, Copy, Debug)]
pub struct ByMeaning {
    /// The same tools by the same names, as they work then.
    pub tools: &'static [Tool],
    /// What a good query is then.
    pub advice: &'static str,
    /// What a tool finds: of the past, by tool, query, and nearness.
    pub call: Nearest,
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
    past: Past<'a>,
}

impl<'a> Channel<'a> {
    /// A channel to these messages, in their order.
    pub fn new(spec: &'static RecoverySpec, messages: &'a [Archived]) -> Self {
        Self { spec, past: Past { messages, sessions: &[] } }
    }

    /// The same with the sessions that were closed by then.
    #[must_use]
    pub fn with_sessions(mut self, sessions: &'a [ArchivedSession]) -> Self {
        self.past.sessions = sessions;
        self
    }

    /// What it does.
    pub fn recovery(&self) -> &'static dyn Recovery {
        self.spec.recovery
    }

    /// What it reaches.
    pub fn past(&self) -> Past<'a> {
        self.past
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
