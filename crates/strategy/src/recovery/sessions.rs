//! `sessions`: the sessions that a strategy closed, by what was written of
//! them, and the messages inside those that are found (Lis: the
//! summary is kept "for future semantic search"). Lis ranks by
//! embeddings, and so does this where a model makes them; else words are
//! matched (BM25). Inside a session that is found words are matched either way:
//! Lis keeps one embedding a session.

use super::{Archived, ArchivedSession, Past, RecoverySpec, Tool};
use recap_core::text::language::bm25::ranked;

/// The channel of closed sessions.
pub static SPEC: RecoverySpec = RecoverySpec { by_meaning: Some(&BY_MEANING), ..BY_WORDS };

const BY_WORDS: RecoverySpec = RecoverySpec {
    name: "sessions",
    summary: "closed sessions by the words of their summaries, or their meaning where a model embeds \
              it, and the best messages inside the best three",
    tools: &[Tool {
        name: SEARCH,
        description: "closed sessions of this conversation whose summaries share words with this \
                      text, the best three, each with the five of its messages that match best",
    }],
    advice: "Name what you look for in a few telling words: sessions are ranked by the words that \
             their summaries share with your text.",
    order: "the best session first, its summary before its messages",
    takes_questions: true,
    by_meaning: None,
    call: found,
};

static BY_MEANING: RecoverySpec = RecoverySpec {
    tools: &[Tool {
        name: SEARCH,
        description: "closed sessions of this conversation whose summaries are nearest to this \
                      text in meaning, the best three, each with the five of its messages that \
                      share most words with it",
    }],
    advice: "Say what you look for in one telling phrase: sessions are ranked by how near their \
             summaries are to it in meaning, the messages inside them by its words.",
    ..BY_WORDS
};

/// Most sessions that a search returns (our choice: Lis names no number).
const SESSIONS: usize = 3;

/// Most messages of each of them (our choice).
const MESSAGES: usize = 5;

const SEARCH: &str = "search_sessions";

/// The best session first: its summary, then its messages, the best first. By meaning, of two
/// equally near sessions the newer; that has no threshold, so that sessions are always found.
fn found<'a>(
    past: Past<'a>,
    tool: &str,
    query: &str,
    nearness: Option<&[f64]>,
) -> Vec<&'a Archived> {
    if tool != SEARCH {
        return Vec::new();
    }
    let order = match nearness {
        Some(nearness) => {
            let mut order: Vec<usize> = (0..past.sessions.len()).collect();
            order.sort_by(|&a, &b| nearness[b].total_cmp(&nearness[a]).then(b.cmp(&a)));
            order
        }
        None => {
            let summaries: Vec<_> = past.sessions.iter().map(|s| s.summary.terms()).collect();
            ranked(&summaries, query)
        }
    };
    let found = order.into_iter().take(SESSIONS).flat_map(|at| {
        let session = &past.sessions[at];
        std::iter::once(&session.summary).chain(inside(past.messages, session, query))
    });
    found.collect()
}

/// The messages of a session that match best.
fn inside<'a>(
    messages: &'a [Archived],
    session: &ArchivedSession,
    query: &str,
) -> impl Iterator<Item = &'a Archived> {
    let spans = session.spans.iter();
    let own: Vec<&'a Archived> = spans
        .flat_map(|&(from, to)| {
            let at = |message| messages.partition_point(|m| m.message < message);
            &messages[at(from)..at(to)]
        })
        .collect();
    let texts: Vec<_> = own.iter().map(|message| message.terms()).collect();
    ranked(&texts, query).into_iter().take(MESSAGES).map(move |at| own[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::Channel;
    use recap_core::model::Role;

    fn archived(message: u32, role: Role, content: &str) -> Archived {
        Archived {
            message,
            role,
            source: None,
            content: content.into(),
            reasoning: None,
            at: None,
            tokens: 1,
            terms: std::sync::OnceLock::new(),
            broadcast: false,
        }
    }

    fn session(spans: &[(u32, u32)], summary: &str) -> ArchivedSession {
        let summary = archived(spans[0].0, Role::System, summary);
        ArchivedSession { summary, spans: spans.to_vec() }
    }

    fn found(messages: &[Archived], sessions: &[ArchivedSession], query: &str) -> Vec<String> {
        let channel = Channel::new(&SPEC, messages).with_sessions(sessions);
        let hits = channel.call(SEARCH, query);
        hits.into_iter().map(|hit| hit.content.to_string()).collect()
    }

    /// Seed 002: search over sessions (ours: by words)
    #[test]
    fn sessions_are_found_by_summaries_then_messages() {
        let said = ["Rum is dear.", "Buy rum in Tortuga.", "The sails are torn.", "Rum again."];
        let messages: Vec<Archived> =
            (0..).zip(said).map(|(at, text)| archived(at, Role::User, text)).collect();
        let sessions = [
            session(&[(0, 2)], "They wanted rum from Tortuga."),
            session(&[(2, 3)], "They mended sails."),
        ];
        let expected = ["They wanted rum from Tortuga.", "Buy rum in Tortuga.", "Rum is dear."];
        assert_eq!(found(&messages, &sessions, "Where is rum in Tortuga?"), expected);
        // Message 3 belongs to the session that goes on.
        assert_eq!(
            found(&messages, &sessions, "sails"),
            ["They mended sails.", "The sails are torn."]
        );
        assert_eq!(found(&messages, &sessions, "copper"), [""; 0]);
        assert_eq!(found(&messages, &[], "rum"), [""; 0]);
    }

    #[test]
    fn reopened_session_is_searched_in_all_stretches() {
        let messages: Vec<Archived> =
            (0..4).map(|at| archived(at, Role::User, &format!("port {at}"))).collect();
        let sessions = [session(&[(0, 1), (3, 4)], "Which port?")];
        assert_eq!(found(&messages, &sessions, "port"), ["Which port?", "port 3", "port 0"]);
    }

    #[test]
    fn best_three_sessions_return_with_five_messages_each() {
        let messages: Vec<Archived> = (0..40).map(|at| archived(at, Role::User, "ore")).collect();
        let sessions: Vec<ArchivedSession> =
            (0..4).map(|n| session(&[(n * 10, n * 10 + 10)], "About ore.")).collect();
        let channel = Channel::new(&SPEC, &messages).with_sessions(&sessions);
        let places: Vec<u32> = channel.call(SEARCH, "ore").iter().map(|hit| hit.message).collect();
        let newest = |from: u32| [from, from + 9, from + 8, from + 7, from + 6, from + 5];
        assert_eq!(places, [newest(30), newest(20), newest(10)].concat());
        assert_eq!(channel.call("search_messages", "ore"), Vec::<&Archived>::new());
    }

    /// Contents found by meaning, with how near each session is.
    fn near(sessions: &[ArchivedSession], query: &str, nearness: &[f64]) -> Vec<String> {
        let messages = [archived(0, Role::User, "Rum."), archived(1, Role::User, "Copper.")];
        let past = Past { messages: &messages, sessions, ..Past::default() };
        let search = |tool| super::found(past, tool, query, Some(nearness));
        let hits = search(SEARCH);
        assert_eq!(search("search_messages"), Vec::<&Archived>::new());
        hits.into_iter().map(|hit| hit.content.to_string()).collect()
    }

    #[test]
    fn sessions_rank_by_meaning_their_messages_by_words() {
        let sessions = [session(&[(0, 1)], "They drank."), session(&[(1, 2)], "They mined rum.")];
        // By words the second alone is found.
        let messages = [archived(0, Role::User, "Rum."), archived(1, Role::User, "Copper.")];
        assert_eq!(found(&messages, &sessions, "rum"), ["They mined rum."]);
        let both = ["They drank.", "Rum.", "They mined rum."];
        assert_eq!(near(&sessions, "rum", &[0.9, 0.1]), both);
        // What points away from the query is the farthest, and found all the same.
        assert_eq!(near(&sessions, "rum", &[0.0, -0.5]), both);
        assert_eq!(near(&sessions, "rum", &[-0.5, 0.0])[0], "They mined rum.");
    }

    #[test]
    fn meaning_search_gives_three_with_newer_ties_first() {
        let sessions: Vec<ArchivedSession> =
            (0..5).map(|n| session(&[(9, 9)], &format!("session {n}"))).collect();
        let ties = near(&sessions, "ore", &[0.5, 0.5, 0.9, 0.5, 0.5]);
        assert_eq!(ties, ["session 2", "session 4", "session 3"]);
        assert_eq!(near(&[], "ore", &[]), [""; 0]);
    }
}
