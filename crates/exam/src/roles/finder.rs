//! Searches dropped messages for an answerer: a channel, and an embedder if
//! results are ranked by meaning.

use std::sync::Arc;

use futures_util::future::join_all;

use super::ask::{ModelClient, ReplyText};
use recap_core::model::ModelRole;
use recap_llm::{Llm, Request};
use recap_strategy::{Archived, Channel, Tool};

/// A recovery channel as the answerer uses it.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    channel: Channel<'a>,
    /// Tells how near sessions are in meaning; `None`: they are ranked by words.
    embedder: Option<&'a Embedder>,
}

impl<'a> Finder<'a> {
    /// A channel that ranks by words.
    pub fn new(channel: Channel<'a>) -> Self {
        Self { channel, embedder: None }
    }

    /// A channel that ranks by meaning if it supports that and there is an
    /// embedder.
    pub fn by_meaning(channel: Channel<'a>, embedder: Option<&'a Embedder>) -> Self {
        match channel.spec.by_meaning {
            Some(spec) if embedder.is_some() => {
                Self { channel: Channel { spec, ..channel }, embedder }
            }
            _ => Self::new(channel),
        }
    }

    /// The tools that the answerer may call.
    pub fn tools(&self) -> &'static [Tool] {
        self.channel.tools()
    }

    /// Advice to the answerer on a good query.
    pub fn advice(&self) -> &'static str {
        self.channel.spec.advice
    }

    /// The order of the results of a tool.
    pub fn order(&self) -> &'static str {
        self.channel.spec.order
    }

    /// Whether a whole question can be used as a query.
    pub fn takes_questions(&self) -> bool {
        self.channel.spec.takes_questions
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

// The embedder's role: measures how near texts are in meaning, by a model that
// embeds them. Offline there is no embedder: words are compared.

/// A model in the embedder's role.
///
/// Each text is a call of its own, so that each distinct text is embedded once
/// in a run, however many questions it is compared with.
pub struct Embedder {
    llm: Arc<dyn Llm>,
    name: String,
}

impl Embedder {
    /// An embedder that calls the model behind `llm`.
    pub fn new(llm: Arc<dyn Llm>) -> Self {
        let name = llm.model().id();
        Self { llm, name }
    }

    /// Name of the model as `provider/model`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nearness of each text to a query: the cosine of the angle between
    /// their embeddings, -1 to 1.
    ///
    /// # Errors
    /// A text cannot be embedded, or two embeddings cannot be compared: the
    /// first such error, beginning with the query.
    pub async fn nearness(&self, query: &str, texts: &[&str]) -> Result<Vec<f64>, String> {
        let mut asked = Vec::with_capacity(texts.len() + 1);
        for text in std::iter::once(&query).chain(texts) {
            asked.push(self.embedded(text));
        }
        let mut vectors = join_all(asked).await.into_iter();
        let query = vectors.next().expect("the query is the first")?;
        let near = |vector: Result<Vec<f64>, String>| self.cosine(&query, &vector?);
        vectors.map(near).collect()
    }

    /// The embedding of a text.
    async fn embedded(&self, text: &str) -> Result<Vec<f64>, String> {
        let client = ModelClient { llm: &*self.llm, role: ModelRole::Embedder, replicate: 0 };
        let answered = client.put(Request::of("", text, 0)).await;
        let answered = answered.map_err(|error| self.no_answer(&error.to_string()))?;
        let reply = ReplyText::of(&answered, 0).map_err(|why| self.no_answer(&why.to_string()))?;
        let vector: Vec<f64> = serde_json::from_str(reply.text)
            .map_err(|_| self.no_answer("the reply is no vector"))?;
        match length(&vector) {
            length if length > 0.0 && length.is_finite() => Ok(vector),
            _ => {
                Err(self
                    .no_answer("the embedding has no direction: it is empty, zero or too large"))
            }
        }
    }

    /// The cosine as in Salton & McGill, "Introduction to Modern Information
    /// Retrieval" (1983), section 4.1. Neither vector may be zero.
    fn cosine(&self, a: &[f64], b: &[f64]) -> Result<f64, String> {
        if a.len() != b.len() {
            let (a, b) = (a.len(), b.len());
            let why = format!("an embedding has {b} dimensions, that of the query has {a}");
            return Err(self.no_answer(&why));
        }
        let (a_length, b_length) = (length(a), length(b));
        // The division comes first, so that nothing overflows.
        Ok(a.iter().zip(b).map(|(a, b)| (a / a_length) * (b / b_length)).sum())
    }

    fn no_answer(&self, why: &str) -> String {
        format!("the search failed at {}: {why}", self.name)
    }
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::roles::testkit::{Scripted, down, rejected, said};
    use recap_core::model::Role;
    use recap_llm::{CallError, FaultKind, Reply};
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
        let by_words = Finder::by_meaning(channel, None).call(SEARCH, "rum").await;
        assert_eq!(contents(by_words).unwrap(), ["They sold rum barrels as wood."]);
        // Embeddings of the query and then of the sessions: cosines 0.8 and
        // 0.6.
        let embedder = Embedder::new(Arc::new(Scripted::saying(["[1, 0]", "[4, 3]", "[3, 4]"])));
        let finder = Finder::by_meaning(channel, Some(&embedder));
        let found = finder.call(SEARCH, "rum").await;
        let expected = ["They drank spirits.", "They sold rum barrels as wood."];
        assert_eq!(contents(found).unwrap(), expected);
        assert!(finder.tools()[0].description.contains("in meaning"));
        assert!(finder.advice().contains("in meaning") && finder.takes_questions());
    }

    #[tokio::test]
    async fn failed_embedding_fails_search_without_word_fallback() {
        let sessions = [session("They sold rum.")];
        let channel = Channel::new(spec("sessions"), &[]).with_sessions(&sessions);
        let replies = [said("[1]"), rejected(recap_llm::FaultKind::BadRequest)];
        let embedder = Embedder::new(Arc::new(Scripted::new(replies)));
        let found = Finder::by_meaning(channel, Some(&embedder)).call(SEARCH, "rum").await;
        let why = "the search failed at test/scripted: the provider answered 400, bad request: no";
        assert_eq!(contents(found), Err(why.to_owned()));
    }

    #[tokio::test]
    async fn nothing_is_embedded_without_sessions_or_their_channel() {
        let nobody = Embedder::new(Arc::new(Scripted::saying([])));
        let none = Finder::by_meaning(Channel::new(spec("sessions"), &[]), Some(&nobody));
        assert_eq!(contents(none.call(SEARCH, "rum").await).unwrap(), [""; 0]);
        let message = [session("Rum is dear.").summary];
        let search = Finder::by_meaning(Channel::new(spec("search"), &message), Some(&nobody));
        let found = search.call("search_messages", "Rum").await;
        assert_eq!(contents(found).unwrap(), ["Rum is dear."]);
        assert!(search.tools()[0].description.contains("letter for letter"));
    }

    async fn nearness(replies: Vec<Result<Reply, CallError>>) -> Result<Vec<f64>, String> {
        let texts = vec!["text"; replies.len() - 1];
        let embedder = Embedder::new(Arc::new(Scripted::new(replies)));
        embedder.nearness("query", &texts).await.map_err(|why| why.to_string())
    }

    #[tokio::test]
    async fn nearness_is_the_cosine_whatever_the_lengths() {
        // The vector (3, 4) has length 5. With (8, 6), of length 10, the
        // product is 48 of 50; with (0, -2) it is -8 of 10.
        let vectors = ["[3, 4]", "[8, 6]", "[0, -2]", "[6, 8]", "[-4, 3]"];
        let near = nearness(vectors.iter().map(|text| said(text)).collect()).await.unwrap();
        for (found, expected) in near.iter().zip([0.96, -0.8, 1.0, 0.0]) {
            assert!((found - expected).abs() < 1e-12, "{near:?}");
        }
        assert_eq!(near.len(), 4);
    }

    #[tokio::test]
    async fn each_text_is_one_call_without_output() {
        let scripted = Arc::new(Scripted::saying(["[1]", "[1]"]));
        let embedder = Embedder::new(Arc::clone(&scripted) as Arc<dyn Llm>);
        embedder.nearness("Which rum?", &["They drank."]).await.unwrap();
        let calls = scripted.calls();
        let asked = |n: usize| (calls[n].role, calls[n].request.messages[0].text.as_str());
        assert_eq!(asked(0), (ModelRole::Embedder, "Which rum?"));
        assert_eq!(asked(1), (ModelRole::Embedder, "They drank."));
        assert_eq!((calls[0].request.max_tokens, calls[0].request.system.as_str()), (0, ""));
        assert_eq!(embedder.name(), "test/scripted");
    }

    #[tokio::test]
    async fn incomparable_embedding_has_reason_and_no_rank() {
        let fault = "the provider answered 400, bad request: no";
        let gone = "no reply after 5 attempts: connection refused";
        let blank = "the embedding has no direction: it is empty, zero or too large";
        for (query, text, why) in [
            (
                said("[1, 0]"),
                said("[1, 0, 0]"),
                "an embedding has 3 dimensions, that of the query has 2",
            ),
            (said("[0, 0]"), said("[1, 0]"), blank),
            (said("[1, 0]"), said("[0, -0.0]"), blank),
            (said("[]"), said("[]"), blank),
            (said("[1e300, 1]"), said("[1, 1]"), blank),
            (said("[1]"), said("[null]"), "the reply is no vector"),
            (said("Hello."), said("[1]"), "the reply is no vector"),
            (said("[1]"), rejected(FaultKind::BadRequest), fault),
            (down(), said("[1]"), gone),
        ] {
            let actual = nearness(vec![query, text]).await;
            assert_eq!(actual, Err(format!("the search failed at test/scripted: {why}")));
        }
    }
}
