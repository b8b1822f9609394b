//! Conversations of other programs: lists of turns with a role and a text under
//! any of their usual names, such as ShareGPT's `from` and `value`.
//!
//! Tried on CrossWOZ, RealPersonaChat and MemoryBank; ShareGPT is read from
//! public descriptions. There are no tool calls in them that could be told apart
//! from text.

use jiff::civil::Date;
use serde_json::json;

use super::prelude::*;

/// Names of the list of turns.
const LISTS: [&str; 7] =
    ["conversations", "conversation", "dialogue", "dialog", "turns", "messages", "utterances"];

/// Names of who speaks, in the order in which they are looked for.
const SPEAKERS: [&str; 4] = ["role", "from", "speaker", "interlocutor"];

/// Names of what is said.
const TEXTS: [&str; 4] = ["content", "value", "text", "utterance"];

/// The format of conversations with a role and a text a turn.
pub(super) const FORMAT: Format = Format {
    name: "role-content",
    describe: "Conversations with a role and a text a turn (ShareGPT, MemoryBank and the like)",
    tried: Tried::On { files: 4, compared: "conversations and messages, by hand" },
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let is_talk = |record: &Json| {
        let first = turns(record).and_then(|turns| turns.first());
        // Roles and contents alone are OpenAI's.
        first.is_some_and(|turn| {
            let names = speaker(turn).zip(text(turn));
            names.is_some_and(|((key, name), (own, _))| {
                role(key, name).is_some() && !(key == "role" && own == "content" && is_chat(name))
            })
        })
    };
    let is_keyed = |record: &Json| {
        let fields = record.as_object().filter(|_| turns(record).is_none());
        let first = fields.and_then(|fields| fields.values().next());
        first.is_some_and(|one| is_talk(one) || days(one).is_some())
    };
    let is_list = |record: &Json| record.get(0).is_some_and(is_talk);
    head.any(|record| is_talk(record) || is_list(record) || is_keyed(record))
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let stem = source.stem().to_owned();
    let (mut drafts, mut number) = (Vec::new(), 0);
    source.each_value(|line, value| {
        let conversations = conversations(value);
        let single = line.is_none() && conversations.len() == 1;
        for conversation in &conversations {
            number += 1;
            let id = name(conversation, &stem, (!single).then_some(number));
            drafts.push(session(conversation, id)?);
        }
        Ok(())
    })?;
    drafts.into_iter().try_for_each(|draft| take(source, draft))
}

/// A document is a conversation, a list of them, or an object with one a field.
fn conversations(document: Json) -> Vec<Json> {
    match document {
        Json::Array(items) if items.iter().any(|item| turns(item).is_some()) => items,
        Json::Object(fields)
            if fields
                .values()
                .next()
                .is_some_and(|one| turns(one).is_some() || days(one).is_some()) =>
        {
            let keyed = fields.into_iter().map(|(key, conversation)| {
                let mut conversation = days(&conversation).unwrap_or(conversation);
                if let Json::Object(fields) = &mut conversation {
                    fields.insert("id".to_owned(), Json::String(key));
                }
                conversation
            });
            keyed.collect()
        }
        one => vec![one],
    }
}

/// The conversation of a history by days, each a list of pairs of a query and
/// its response (MemoryBank).
fn days(conversation: &Json) -> Option<Json> {
    let mut turns = Vec::new();
    for (day, pairs) in conversation.get("history")?.as_object()? {
        for pair in pairs.as_array()? {
            for (role, key) in [("user", "query"), ("assistant", "response")] {
                turns.push(json!({"role": role, "content": pair.get(key)?.as_str()?, "day": day}));
            }
        }
    }
    (!turns.is_empty()).then(|| json!({"turns": turns}))
}

/// Midnight of the day of a turn.
fn at(turn: &Json) -> Option<Timestamp> {
    let day: Date = turn.get("day")?.as_str()?.parse().ok()?;
    in_utc(day.into())
}

/// The turns of a conversation: a list, or a field of it.
fn turns(conversation: &Json) -> Option<&Vec<Json>> {
    match conversation {
        Json::Array(turns) => Some(turns),
        other => LISTS.iter().find_map(|key| other.get(key)?.as_array()),
    }
}

fn speaker(turn: &Json) -> Option<(&'static str, &str)> {
    SPEAKERS.iter().find_map(|key| Some((*key, turn.get(key)?.as_str()?)))
}

fn text(turn: &Json) -> Option<(&'static str, &str)> {
    TEXTS.iter().find_map(|key| Some((*key, turn.get(key)?.as_str()?)))
}

/// Whether a role is one of OpenAI's.
fn is_chat(role: &str) -> bool {
    matches!(role, "system" | "developer" | "user" | "assistant" | "tool" | "function")
}

fn role(key: &str, name: &str) -> Option<Role> {
    Some(match name.to_ascii_lowercase().as_str() {
        // Of two interlocutors one is the program.
        "system" if key == "interlocutor" => Role::Assistant,
        "system" => Role::System,
        "user" | "human" | "usr" | "prompter" | "observation" => Role::User,
        "assistant" | "gpt" | "chatgpt" | "model" | "bot" | "ai" | "sys" | "agent" => {
            Role::Assistant
        }
        _ => return None,
    })
}

/// Its own id; else the file's name, with a number where there are several.
fn name(conversation: &Json, stem: &str, number: Option<usize>) -> String {
    let own = ["id", "conversation_id", "dialogue_id"].iter().find_map(|key| {
        let id = conversation.get(key)?;
        id.as_str().map(str::to_owned).or_else(|| id.as_i64().map(|id| id.to_string()))
    });
    own.unwrap_or_else(|| match number {
        Some(number) => format!("{stem}-{number}"),
        None => stem.to_owned(),
    })
}

fn session(conversation: &Json, id: String) -> Result<Draft, Problem> {
    let mut draft = Draft::named(id);
    let turns = turns(conversation).ok_or_else(|| lacks(".", "a list of turns"))?;
    for (number, turn) in (1..).zip(turns) {
        let (key, name) = speaker(turn).ok_or_else(|| lacks("turns", "who speaks"))?;
        let (_, text) = text(turn).ok_or_else(|| lacks("turns", "a text"))?;
        let role = role(key, name).ok_or_else(|| Problem::UnknownRole(name.to_owned()))?;
        let blocks = vec![Block::Text { text: text.to_owned() }];
        draft.push(Message::new(format!("m{number}"), role, at(turn), blocks));
    }
    draft.leading_system_to_preamble();
    Ok(draft)
}

fn lacks(at: &str, what: &str) -> Problem {
    Problem::shape(at, format!("lacks {what}"))
}
