//! Channels that recover what was dropped: tools that search the archive of a
//! session, for a model that answers from a context.
//!
//! Invariant: an archive contains only what was recorded before the request at
//! which the question is asked: no later message, and of a strategy's own texts
//! only the summaries of sessions that it had closed by then.

mod search;
mod sessions;

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::state::ClosedSession;
use recap_core::model::{Message, MessageFacts, MessageIndex, Role};
use recap_core::text::language::bm25::Terms;

/// Every recovery channel, by the name used in strategies.
pub static RECOVERIES: &[&RecoverySpec] = &[&search::SPEC, &search::ZOEA, &sessions::SPEC];

/// A tool of a channel, with one text argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The name by which it is called.
    pub name: &'static str,
    /// The description that the answerer gets.
    pub description: &'static str,
}

/// A recorded message as a search result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// The position of the message in the session.
    pub message: MessageIndex,
    /// Whom the message is attributed to.
    pub role: Role,
    /// The tool that it is a result of, or that it calls first.
    pub source: Option<Arc<str>>,
    /// Its text as a provider was sent it.
    pub content: Arc<str>,
    /// The model's visible reasoning, which is not sent otherwise.
    pub reasoning: Option<Arc<str>>,
    /// Whether it was sent to several agents at once.
    pub broadcast: bool,
    /// When it was recorded.
    pub at: Option<Timestamp>,
    /// Tokens of content and reasoning, as the run counts.
    pub tokens: u64,
    /// The words of its text, counted when they are first searched.
    pub terms: OnceLock<Terms>,
}

impl Archived {
    /// A message at its position in the session, `content` being its text as a provider was sent
    /// it. The tokens are those of the content alone.
    pub fn of(
        at: MessageIndex,
        message: &Message,
        facts: &MessageFacts,
        content: Arc<str>,
    ) -> Archived {
        let reasoning = message.reasoning();
        Archived {
            message: at,
            role: facts.role,
            source: facts.tool.as_deref().map(Arc::from),
            content,
            reasoning: (!reasoning.is_empty()).then(|| reasoning.into()),
            broadcast: message.broadcast,
            at: facts.at,
            tokens: facts.tokens,
            terms: OnceLock::new(),
        }
    }

    fn terms(&self) -> &Terms {
        self.terms.get_or_init(|| Terms::of(&self.content))
    }
}

/// A session that a strategy had closed, as a search result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedSession {
    /// The summary of the session, at the position of its first message.
    pub summary: Archived,
    /// Its messages: ranges, each the first and the one after the last.
    pub spans: Vec<(MessageIndex, MessageIndex)>,
}

impl ArchivedSession {
    /// A closed session, whose summary has so many tokens.
    pub fn of(closed: &ClosedSession, tokens: u64) -> ArchivedSession {
        let ClosedSession { number, summary, spans } = closed;
        let summary = Archived {
            message: spans.first().map_or(0, |span| span.0),
            role: Role::User,
            source: Some(format!("summary of session {number}").into()),
            content: summary.as_str().into(),
            reasoning: None,
            broadcast: false,
            // A summary covers many times and has none of its own.
            at: None,
            tokens,
            terms: OnceLock::new(),
        };
        ArchivedSession { summary, spans: spans.clone() }
    }
}

/// What a channel can search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past<'a> {
    /// The past messages, in their order.
    pub messages: &'a [Archived],
    /// The closed sessions that have a summary, oldest first.
    pub sessions: &'a [ArchivedSession],
    /// Id of the agent whose messages they are, which is that of its session.
    pub owner: &'a str,
}

/// The results of a tool for a query; none for a tool of another channel. Linear in the text of
/// the past. By meaning, it is given how near each of [`Past::sessions`] is to the query: larger
/// is nearer.
pub type Search = for<'a> fn(Past<'a>, &str, &str, Option<&[f64]>) -> Vec<&'a Archived>;

/// A channel that recovers what was dropped: one file, one constant, one line in [`RECOVERIES`].
#[derive(Debug)]
pub struct RecoverySpec {
    /// The kebab-case name used in strategies.
    pub name: &'static str,
    /// One sentence for documentation.
    pub summary: &'static str,
    /// Its tools; at least one, the first of which searches what was said.
    pub tools: &'static [Tool],
    /// Advice for writing a good query.
    pub advice: &'static str,
    /// The order of the results, in words.
    pub order: &'static str,
    /// Whether a whole question is a good query, because results are ranked by
    /// all of its words; otherwise a query is one word.
    pub takes_questions: bool,
    /// The same channel where embeddings rank closed sessions by meaning instead of by
    /// words; `None` where it does not support that.
    pub by_meaning: Option<&'static RecoverySpec>,
    /// The implementation of the channel.
    pub call: Search,
}

impl PartialEq for RecoverySpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A channel with the past that it searches.
#[derive(Clone, Copy, Debug)]
pub struct Channel<'a> {
    /// The channel.
    pub spec: &'static RecoverySpec,
    /// What it can search.
    pub past: Past<'a>,
}

impl<'a> Channel<'a> {
    /// A channel to these messages, in their order.
    pub fn new(spec: &'static RecoverySpec, messages: &'a [Archived]) -> Self {
        Self { spec, past: Past { messages, ..Past::default() } }
    }

    /// The same, of the agent with this id.
    #[must_use]
    pub fn of(mut self, owner: &'a str) -> Self {
        self.past.owner = owner;
        self
    }

    /// The same with the sessions that were closed by then.
    #[must_use]
    pub fn with_sessions(mut self, sessions: &'a [ArchivedSession]) -> Self {
        self.past.sessions = sessions;
        self
    }

    /// The results of a tool.
    pub fn call(&self, tool: &str, query: &str) -> Vec<&'a Archived> {
        (self.spec.call)(self.past, tool, query, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::Block;

    #[test]
    fn a_message_without_visible_reasoning_has_none() {
        let archived = |text: &str| {
            let blocks = vec![Block::Reasoning { text: text.to_owned() }];
            let message = Message::new(String::new(), Role::Assistant, None, blocks);
            let facts = MessageFacts {
                id: String::new(),
                role: Role::Assistant,
                at: None,
                tokens: 3,
                tool: None,
                text: String::new(),
            };
            Archived::of(7, &message, &facts, "I saw.".into())
        };
        assert_eq!(archived("").reasoning, None);
        let archived = archived("I see.");
        assert_eq!(archived.reasoning.as_deref(), Some("I see."));
        assert_eq!((archived.message, &*archived.content, archived.tokens), (7, "I saw.", 3));
    }

    #[test]
    fn a_channel_says_how_it_is_searched() {
        let of = |name: &str| RECOVERIES.iter().find(|spec| spec.name == name).unwrap();
        let (search, sessions) = (of("search"), of("sessions"));
        assert_eq!(search.order, "newest first");
        assert_eq!(sessions.order, "the best session first, its summary before its messages");
        assert!(search.advice.contains("contain it exactly"));
        assert!(sessions.advice.contains("a few telling words"));
        assert!(!search.takes_questions && sessions.takes_questions);
        assert!(search.by_meaning.is_none());
        assert!(sessions.by_meaning.unwrap().advice.contains("one telling phrase"));
        assert_eq!((search.tools.len(), sessions.tools.len()), (3, 1));
    }

    #[test]
    fn channels_are_the_same_by_their_names() {
        assert!(*RECOVERIES[0] == search::SPEC && *RECOVERIES[1] != search::SPEC);
    }
}
