//! `search`: past messages, past reasoning and broadcasts by the text that
//! they contain (Zoea, "Search Tools"). `zoea-search` is the same under Zoea's
//! own names, which its guidance tells the agent, and takes Zoea's arguments too.

use memchr::memmem::Finder;
use serde::Deserialize;

use super::{Archived, Past, RecoverySpec, Tool};

/// The channel under recap's own names.
pub static SPEC: RecoverySpec = RecoverySpec {
    name: "search",
    summary: "past messages, past reasoning and broadcasts by a text that they contain, \
              case-sensitive, the newest 20",
    tools: &GENERIC,
    advice: "Choose a short and telling text, such as a name or one rare word: only messages that \
             contain it exactly are found.",
    order: "newest first",
    takes_questions: false,
    by_meaning: None,
    call: |past, tool, query, _| found(past, &GENERIC, tool, given(query)),
};

/// The channel under Zoea's names.
pub(super) static ZOEA: RecoverySpec = RecoverySpec {
    name: "zoea-search",
    summary: "the same, under the names of Zoea Nova's tools, which take its arguments too",
    tools: &OWN,
    advice: "Choose a short and telling text, such as a name or one rare word: only messages that \
             contain it exactly are found. In the place of the text may stand the arguments of \
             the search in one line of JSON, such as {\"query\": \"iron ore\", \"limit\": 5}.",
    call: |past, tool, query, _| {
        let arguments = serde_json::from_str(query).unwrap_or_else(|_| given(query));
        found(past, &OWN, tool, arguments)
    },
    ..SPEC
};

/// Most messages that a search returns which names no limit (Zoea: `"limit": 20`).
const LIMIT: usize = 20;

static GENERIC: [Tool; 3] = tools(["search_messages", "search_reasoning", "search_broadcasts"]);

static OWN: [Tool; 3] =
    tools(["zoea_search_messages", "zoea_search_reasoning", "zoea_search_broadcasts"]);

/// The tools over messages, over reasoning and over broadcasts, by their names.
const fn tools([messages, reasoning, broadcasts]: [&'static str; 3]) -> [Tool; 3] {
    [
        Tool {
            name: messages,
            description: "past messages that contain this text letter for letter, upper and lower \
                          case told apart; the newest 20",
        },
        Tool {
            name: reasoning,
            description: "past messages whose reasoning contains this text letter for letter, \
                          upper and lower case told apart; the newest 20",
        },
        Tool {
            name: broadcasts,
            description: "past messages to several agents at once that contain this text letter \
                          for letter, upper and lower case told apart; the newest 20",
        },
    ]
}

/// The arguments of Zoea's tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Whose messages are searched; missing: those of the agent itself. The
    /// tool for broadcasts, which are everybody's, has no such argument.
    mysis_id: Option<String>,
    query: String,
    #[serde(default = "limit")]
    limit: usize,
}

fn limit() -> usize {
    LIMIT
}

/// A text that is searched for.
fn given(query: &str) -> Arguments {
    Arguments { mysis_id: None, query: query.to_owned(), limit: LIMIT }
}

/// Newest first. An empty query is in every text and finds nothing, and of
/// another agent nothing is recorded.
fn found<'a>(
    past: Past<'a>,
    tools: &[Tool; 3],
    tool: &str,
    Arguments { mysis_id, query, limit }: Arguments,
) -> Vec<&'a Archived> {
    let searched: fn(&Archived) -> &str = match tools.iter().position(|own| own.name == tool) {
        Some(0) => |message| &message.content,
        Some(1) => |message| message.reasoning.as_deref().unwrap_or_default(),
        Some(_) => |message| if message.broadcast { &message.content } else { "" },
        None => return Vec::new(),
    };
    let is_ours = mysis_id.is_none_or(|id| id == past.owner || tool == tools[2].name);
    if query.is_empty() || !is_ours {
        return Vec::new();
    }
    let query = Finder::new(&query);
    let holds = |message: &&Archived| query.find(searched(message).as_bytes()).is_some();
    past.messages.iter().rev().filter(holds).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::Channel;
    use recap_core::model::Role;

    const MESSAGES: &str = "search_messages";
    const REASONING: &str = "search_reasoning";
    const BROADCASTS: &str = "search_broadcasts";

    fn archived(message: u32, content: &str, reasoning: Option<&str>) -> Archived {
        Archived {
            message,
            role: Role::Assistant,
            source: None,
            content: content.into(),
            reasoning: reasoning.map(Into::into),
            broadcast: false,
            at: None,
            tokens: 1,
            terms: std::sync::OnceLock::new(),
        }
    }

    fn found(past: &[Archived], tool: &str, query: &str) -> Vec<u32> {
        let channel = Channel::new(&SPEC, past);
        channel.call(tool, query).iter().map(|hit| hit.message).collect()
    }

    /// Seed 003: SearchMemories: by content text, case-sensitive
    #[test]
    fn messages_match_by_case_sensitive_part_newest_first() {
        let past = [
            archived(0, "We mined iron ore.", Some("Sell the ore?")),
            archived(1, "Iron ore sells well.", None),
            archived(2, "More iron oregano.", Some("iron ore")),
            archived(3, "IRON ORE", None),
        ];
        assert_eq!(found(&past, MESSAGES, "iron ore"), [2, 0]);
        assert_eq!(found(&past, MESSAGES, "Iron ore"), [1]);
        assert_eq!(found(&past, MESSAGES, "copper"), [0; 0]);
        assert_eq!(found(&past, REASONING, "ore"), [2, 0]);
        assert_eq!(found(&past, REASONING, "mined"), [0; 0], "content is no reasoning");
    }

    /// Seed 003: `"limit": 20`
    #[test]
    fn the_newest_20_are_given_back() {
        let broadcast = |n| Archived { broadcast: true, ..archived(n, "ore", Some("ore")) };
        let past: Vec<Archived> = (0..25).map(broadcast).collect();
        let newest: Vec<u32> = (5..25).rev().collect();
        assert_eq!(found(&past, MESSAGES, "ore"), newest);
        assert_eq!(found(&past, REASONING, "ore"), newest);
        assert_eq!(found(&past, BROADCASTS, "ore"), newest);
    }

    /// Seed 003: SearchBroadcasts: broadcast messages by content text
    #[test]
    fn broadcasts_are_found_among_messages_and_alone() {
        let heard = Archived { broadcast: true, ..archived(1, "enemy spotted", Some("fleeing")) };
        let past = [archived(0, "enemy spotted", None), heard];
        assert_eq!(found(&past, MESSAGES, "enemy spotted"), [1, 0]);
        assert_eq!(found(&past, BROADCASTS, "enemy spotted"), [1]);
        assert_eq!(found(&past, BROADCASTS, "Enemy spotted"), [0; 0]);
        assert_eq!(found(&past, BROADCASTS, "fleeing"), [0; 0], "reasoning is no content");
    }

    #[test]
    fn the_seeds_names_search_the_same() {
        let past = [Archived { broadcast: true, ..archived(0, "ore", Some("gas")) }];
        let channel = Channel::new(&ZOEA, &past);
        let names: Vec<&str> = channel.spec.tools.iter().map(|tool| tool.name).collect();
        let own = ["zoea_search_messages", "zoea_search_reasoning", "zoea_search_broadcasts"];
        assert_eq!(names, own);
        let queries = own.into_iter().zip(["ore", "gas", "ore"]);
        assert!(queries.into_iter().all(|(tool, query)| channel.call(tool, query).len() == 1));
        assert!(channel.call(MESSAGES, "ore").is_empty(), "a tool of another channel");
    }

    /// Seed 003: `"mysis_id": "abc123"`, `"query": "iron ore"`, `"limit": 20`
    #[test]
    fn limit_and_owner_are_arguments_of_zoeas_tools() {
        let past: Vec<Archived> = (0..25)
            .map(|n| Archived { broadcast: true, ..archived(n, "iron ore", Some("iron ore")) })
            .collect();
        let channel = Channel::new(&ZOEA, &past).of("abc123");
        let found = |tool: &str, query: &str| channel.call(tool, query).len();
        for tool in OWN.map(|tool| tool.name) {
            assert_eq!(found(tool, "iron ore"), 20, "{tool}");
            assert_eq!(found(tool, r#"{"query": "iron ore", "limit": 3}"#), 3, "{tool}");
            assert_eq!(found(tool, r#"{"query": "iron ore", "limit": 24}"#), 24, "{tool}");
            assert_eq!(found(tool, r#"{"query": "iron ore"}"#), 20, "{tool}");
            assert_eq!(found(tool, r#"{"query": "", "limit": 3}"#), 0, "{tool}");
        }
        let [messages, reasoning, broadcasts] = OWN.map(|tool| tool.name);
        for (id, of_owner) in [("abc123", 20), ("def456", 0)] {
            let query = format!(r#"{{"mysis_id": "{id}", "query": "iron ore", "limit": 20}}"#);
            let all = [messages, reasoning, broadcasts].map(|tool| found(tool, &query));
            assert_eq!(all, [of_owner, of_owner, 20], "{id}");
        }
        // What is no arguments is the text itself, and so is everything for the other channel.
        let said = [archived(0, r#"{"query": "ore"}"#, None), archived(1, "ore", None)];
        let generic = Channel::new(&SPEC, &said).call(MESSAGES, r#"{"query": "ore"}"#);
        assert_eq!(generic, [&said[0]]);
    }

    #[test]
    fn empty_query_and_other_channel_tool_find_nothing() {
        let past = [archived(0, "ore", Some("ore"))];
        assert_eq!(found(&past, MESSAGES, ""), [0; 0]);
        assert_eq!(found(&past, "search_files", "ore"), [0; 0]);
    }
}
