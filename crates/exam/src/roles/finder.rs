//! Searches dropped messages for an answerer: a channel, and an embedder if
//! results are ranked by meaning.

use super::embedder::Embedder;
use recap_strategy::{Archived, Channel};

/// A recovery channel as the answerer uses it.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    pub(crate) channel: Channel<'a>,
    /// Tells how near sessions are in meaning; `None`: they are ranked by words.
    embedder: Option<&'a Embedder>,
}

impl<'a> Finder<'a> {
    /// A channel that ranks by meaning if it supports that and there is an
    /// embedder, else by words.
    pub fn new(channel: Channel<'a>, embedder: Option<&'a Embedder>) -> Self {
        match channel.spec.by_meaning {
            Some(spec) if embedder.is_some() => {
                Self { channel: Channel { spec, ..channel }, embedder }
            }
            _ => Self { channel, embedder: None },
        }
    }

    /// The results of a tool for a query.
    ///
    /// # Errors
    /// The results are ranked by meaning, and a text cannot be embedded. They
    /// are not ranked by words instead, because the figures of a run must use
    /// one ranking.
    pub async fn call(&self, tool: &str, query: &str) -> Result<Vec<&'a Archived>, String> {
        let Some(embedder) = self.embedder else { return Ok(self.channel.call(tool, query)) };
        let past = self.channel.past;
        let summaries: Vec<&str> = past.sessions.iter().map(|s| &*s.summary.content).collect();
        if summaries.is_empty() {
            return Ok(Vec::new());
        }
        let nearness = embedder.nearness(query, &summaries).await?;
        Ok((self.channel.spec.call)(past, tool, query, Some(&nearness)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::roles::testkit::{Scripted, rejected, said};
    use recap_core::model::Role;
    use recap_strategy::{ArchivedSession, RECOVERIES, RecoverySpec};

    const SEARCH: &str = "search_sessions";

    fn spec(name: &str) -> &'static RecoverySpec {
        RECOVERIES.iter().find(|spec| spec.name == name).unwrap()
    }

    fn session(summary: &str) -> ArchivedSession {
        let summary = Archived {
            message: 0,
            role: Role::User,
            source: None,
            content: summary.into(),
            reasoning: None,
            broadcast: false,
            at: None,
            tokens: 1,
            terms: std::sync::OnceLock::new(),
        };
        ArchivedSession { summary, spans: vec![(0, 0)] }
    }

    fn contents(found: Result<Vec<&Archived>, String>) -> Result<Vec<String>, String> {
        let found = found.map_err(|why| why.to_string())?;
        Ok(found.into_iter().map(|hit| hit.content.to_string()).collect())
    }

    #[tokio::test]
    async fn embedded_sessions_are_ranked_by_vectors_not_words() {
        let sessions = [session("They drank spirits."), session("They sold rum barrels as wood.")];
        let channel = Channel::new(spec("sessions"), &[]).with_sessions(&sessions);
        let by_words = Finder::new(channel, None).call(SEARCH, "rum").await;
        assert_eq!(contents(by_words).unwrap(), ["They sold rum barrels as wood."]);
        // Embeddings of the query and then of the sessions: cosines 0.8 and
        // 0.6.
        let embedder = Embedder::new(Arc::new(Scripted::saying(["[1, 0]", "[4, 3]", "[3, 4]"])));
        let finder = Finder::new(channel, Some(&embedder));
        let found = finder.call(SEARCH, "rum").await;
        let expected = ["They drank spirits.", "They sold rum barrels as wood."];
        assert_eq!(contents(found).unwrap(), expected);
        assert!(finder.channel.spec.tools[0].description.contains("in meaning"));
        let spec = finder.channel.spec;
        assert!(spec.advice.contains("in meaning") && spec.takes_questions);
    }

    #[tokio::test]
    async fn failed_embedding_fails_search_without_word_fallback() {
        let sessions = [session("They sold rum.")];
        let channel = Channel::new(spec("sessions"), &[]).with_sessions(&sessions);
        let replies = [said("[1]"), rejected(recap_llm::FaultKind::BadRequest)];
        let embedder = Embedder::new(Arc::new(Scripted::new(replies)));
        let found = Finder::new(channel, Some(&embedder)).call(SEARCH, "rum").await;
        let why = "the search failed at test/scripted: the provider answered 400, bad request: no";
        assert_eq!(contents(found), Err(why.to_owned()));
    }

    #[tokio::test]
    async fn nothing_is_embedded_without_sessions_or_their_channel() {
        let nobody = Embedder::new(Arc::new(Scripted::saying([])));
        let none = Finder::new(Channel::new(spec("sessions"), &[]), Some(&nobody));
        assert_eq!(contents(none.call(SEARCH, "rum").await).unwrap(), [""; 0]);
        let message = [session("Rum is dear.").summary];
        let search = Finder::new(Channel::new(spec("search"), &message), Some(&nobody));
        let found = search.call("search_messages", "Rum").await;
        assert_eq!(contents(found).unwrap(), ["Rum is dear."]);
        assert!(search.channel.spec.tools[0].description.contains("letter for letter"));
    }
}
