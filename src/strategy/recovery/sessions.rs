//! `sessions`: the sessions that a strategy closed, by what was written of
//! them, and the messages inside those that are found (seed 002, Lis: the
//! summary is kept "for future semantic search"). The seed ranks by
//! embeddings; here words are matched (BM25).

use super::bm25::ranked;
use super::{Archived, ArchivedSession, Past, Recovery, RecoverySpec, Tool};

/// The channel.
pub static SPEC: RecoverySpec = RecoverySpec {
    name: "sessions",
    summary: "closed sessions by the words of their summaries, and the best messages inside the best three",
    recovery: &Sessions,
};

/// Sessions that a search gives back at most (ours: the seed names no number).
const SESSIONS: usize = 3;

/// Messages of each of them at most (ours).
const MESSAGES: usize = 5;

const SEARCH: &str = "search_sessions";

static TOOLS: [Tool; 1] = [Tool {
    name: SEARCH,
    description: "closed sessions of this conversation whose summaries share words with this \
                  text, the best three, each with the five of its messages that match best",
}];

struct Sessions;

impl Recovery for Sessions {
    fn tools(&self) -> &'static [Tool] {
        &TOOLS
    }

    /// The best session first: its summary, then its messages, the best first.
    fn call<'a>(&self, past: Past<'a>, tool: &str, query: &str) -> Vec<&'a Archived> {
        if tool != SEARCH {
            return Vec::new();
        }
        let summaries: Vec<&str> = past.sessions.iter().map(|s| &*s.summary.content).collect();
        let best = ranked(&summaries, query).into_iter().take(SESSIONS);
        best.flat_map(|at| {
            let session = &past.sessions[at];
            std::iter::once(&session.summary).chain(inside(past.messages, session, query))
        })
        .collect()
    }

    fn advice(&self) -> &'static str {
        "Name what you look for in a few telling words: sessions are ranked by the words that \
         their summaries share with your text."
    }

    fn order(&self) -> &'static str {
        "the best session first, its summary before its messages"
    }

    fn takes_questions(&self) -> bool {
        true
    }
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
    let texts: Vec<&str> = own.iter().map(|message| &*message.content).collect();
    ranked(&texts, query).into_iter().take(MESSAGES).map(move |at| own[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;
    use crate::strategy::recovery::Channel;

    fn archived(message: u32, role: Role, content: &str) -> Archived {
        Archived {
            message,
            role,
            source: None,
            content: content.into(),
            reasoning: None,
            at: None,
            tokens: 1,
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

    #[test]
    fn sessions_are_found_by_their_summaries_and_then_their_messages() {
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
    fn a_session_that_was_reopened_is_searched_in_all_its_stretches() {
        let messages: Vec<Archived> =
            (0..4).map(|at| archived(at, Role::User, &format!("port {at}"))).collect();
        let sessions = [session(&[(0, 1), (3, 4)], "Which port?")];
        assert_eq!(found(&messages, &sessions, "port"), ["Which port?", "port 3", "port 0"]);
    }

    #[test]
    fn the_best_three_sessions_are_given_back_with_five_messages_each() {
        let messages: Vec<Archived> = (0..40).map(|at| archived(at, Role::User, "ore")).collect();
        let sessions: Vec<ArchivedSession> =
            (0..4).map(|n| session(&[(n * 10, n * 10 + 10)], "About ore.")).collect();
        let channel = Channel::new(&SPEC, &messages).with_sessions(&sessions);
        let places: Vec<u32> = channel.call(SEARCH, "ore").iter().map(|hit| hit.message).collect();
        let newest = |from: u32| [from, from + 9, from + 8, from + 7, from + 6, from + 5];
        assert_eq!(places, [newest(30), newest(20), newest(10)].concat());
        assert_eq!(channel.call("search_messages", "ore"), Vec::<&Archived>::new());
    }
}
