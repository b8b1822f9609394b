//! `search`: past messages and past reasoning by the text that they contain
//! (seed 003, Zoea, "Search Tools").

use memchr::memmem::Finder;

use super::{Archived, Past, Recovery, RecoverySpec, Tool};

/// The channel.
pub static SPEC: RecoverySpec = RecoverySpec {
    name: "search",
    summary: "past messages and past reasoning by a text that they contain, case-sensitive, the newest 20",
    recovery: &Search,
};

/// Messages that a search gives back at most (seed 003: `"limit": 20`).
const LIMIT: usize = 20;

const MESSAGES: &str = "search_messages";
const REASONING: &str = "search_reasoning";

static TOOLS: [Tool; 2] = [
    Tool {
        name: MESSAGES,
        description: "past messages that contain this text letter for letter, upper and lower \
                      case told apart; the newest 20",
    },
    Tool {
        name: REASONING,
        description: "past messages whose reasoning contains this text letter for letter, upper \
                      and lower case told apart; the newest 20",
    },
];

struct Search;

impl Recovery for Search {
    fn tools(&self) -> &'static [Tool] {
        &TOOLS
    }

    /// Newest first. An empty query is in every text and finds nothing.
    fn call<'a>(&self, past: Past<'a>, tool: &str, query: &str) -> Vec<&'a Archived> {
        let searched: fn(&Archived) -> &str = match tool {
            MESSAGES => |message| &message.content,
            REASONING => |message| message.reasoning.as_deref().unwrap_or_default(),
            _ => return Vec::new(),
        };
        if query.is_empty() {
            return Vec::new();
        }
        let query = Finder::new(query);
        let holds = |message: &&Archived| query.find(searched(message).as_bytes()).is_some();
        past.messages.iter().rev().filter(holds).take(LIMIT).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;
    use crate::strategy::recovery::Channel;

    fn archived(message: u32, content: &str, reasoning: Option<&str>) -> Archived {
        Archived {
            message,
            role: Role::Assistant,
            source: None,
            content: content.into(),
            reasoning: reasoning.map(Into::into),
            at: None,
            tokens: 1,
        }
    }

    fn found(past: &[Archived], tool: &str, query: &str) -> Vec<u32> {
        let channel = Channel::new(&SPEC, past);
        channel.call(tool, query).iter().map(|hit| hit.message).collect()
    }

    #[test]
    fn messages_are_found_by_a_part_of_their_text_with_its_case_newest_first() {
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

    #[test]
    fn the_newest_20_are_given_back() {
        let past: Vec<Archived> = (0..25).map(|n| archived(n, "ore", Some("ore"))).collect();
        let newest: Vec<u32> = (5..25).rev().collect();
        assert_eq!(found(&past, MESSAGES, "ore"), newest);
        assert_eq!(found(&past, REASONING, "ore"), newest);
    }

    #[test]
    fn a_query_without_text_and_a_tool_of_another_channel_find_nothing() {
        let past = [archived(0, "ore", Some("ore"))];
        assert_eq!(found(&past, MESSAGES, ""), [0; 0]);
        assert_eq!(found(&past, "search_broadcasts", "ore"), [0; 0]);
    }
}
