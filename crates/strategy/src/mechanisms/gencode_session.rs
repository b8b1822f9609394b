//! GenCode's session file: what it saves, and what it goes on from.
//!
//! Source: GenCode, "Session JSON Example", "After pruning", "Session File
//! Verification" and layer 3, "Message Filtering". The shape of a message is
//! that of the examples: a text, or parts of the types `text`, `tool_use` and
//! `tool_result`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::context::{Context, EntryId};
use crate::state::StrategyState;
use recap_core::model::call::{CallEffect, Change, ChangeKind};
use recap_core::model::{Block, Message, Role};

/// A summary as in GenCode's `ConversationSummary`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    /// The id, in the form `sum-{timestamp}-{random}`.
    pub id: String,
    /// The kind of summary, always `compaction`.
    #[serde(rename = "type")]
    pub kind: String,
    /// First and last message, counted from 1: the system prompt is 0.
    pub covering_messages: [u32; 2],
    /// The text that continues the conversation.
    pub content: String,
    /// What it is about.
    #[serde(flatten)]
    pub extraction: Extraction,
    /// The time of the summary.
    pub generated_at: String,
    /// Estimated size: a quarter of the number of characters.
    pub estimated_tokens: u64,
}

/// The session as it would be saved now, in `~/.gen/sessions`: the head of the file; the active
/// messages, which are those left after compaction, the system prompt first; and the summaries.
/// The messages "already include summary" (layer 3, `getMessagesForLLM()`), so a session that is
/// opened again sends them as they are.
pub(super) fn session_file(
    context: &Context,
    shared: &StrategyState,
    summaries: &[Summary],
) -> Json {
    let system = json!({"role": "system", "content": context.head()});
    let active = context.stored().filter_map(|id| message(context, shared, id));
    let messages: Vec<Json> = [system].into_iter().chain(active).collect();
    json!({
        "metadata": {
            "id": context.recording().session.id,
            "title": title(context),
            "messageCount": context.stored().count() + 1,
            "fullMessageCount": context.seen_count() + 1,
        },
        "messages": messages,
        "summaries": summaries,
    })
}

/// `getCompressionStats()` of a session file: the counts of its head, the system prompt included.
pub fn compression_stats(session: &Json) -> Json {
    let count = |name: &str| session["metadata"][name].as_u64().unwrap_or_default();
    let (active, total) = (count("messageCount"), count("fullMessageCount"));
    let summaries = session["summaries"].as_array().map_or(0, Vec::len);
    let ratio = if total == 0 { 1.0 } else { active as f64 / total as f64 };
    json!({
        "totalMessages": total,
        "activeMessages": active,
        "summaryCount": summaries,
        "compressionRatio": ratio,
    })
}

/// Characters of a title.
const TITLE: usize = 60;

/// What the user first asked for: the first line of it (ours: the seed shows a title, and not
/// where it is from).
fn title(context: &Context) -> String {
    let first = context.exchanges().first().map(|&at| EntryId::message(at));
    let asked = first.and_then(|id| context.original(id)).map(Message::first_text);
    let line = asked.unwrap_or_default().trim_start().lines().next().unwrap_or_default();
    line.chars().take(TITLE).collect::<String>().trim_end().to_owned()
}

/// A message: a text, or several parts.
fn message(context: &Context, shared: &StrategyState, id: EntryId) -> Option<Json> {
    let entry = context.entry(id)?;
    let Some(index) = id.index() else {
        return Some(json!({"role": entry.role, "content": entry.text}));
    };
    let pruned_at = shared.pruned.get(&index).copied();
    let blocks = context.blocks(index);
    let mut parts: Vec<Json> = blocks.iter().filter_map(|block| part(block, pruned_at)).collect();
    // Results are in messages of the user.
    let role = if entry.role == Role::Tool { Role::User } else { entry.role };
    let content = match &mut parts[..] {
        [one] if one["type"] == "text" => one["text"].take(),
        _ => parts.into(),
    };
    Some(json!({"role": role, "content": content}))
}

/// Reasoning is never sent again, and images have no text.
fn part(block: &Block, pruned_at: Option<Timestamp>) -> Option<Json> {
    Some(match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::ToolCall { id, name, arguments } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
        }
        Block::ToolResult { call, text, .. } => {
            let mut part = json!({"type": "tool_result", "toolUseId": call, "content": text});
            if let Some(at) = pruned_at {
                (part["pruned"], part["prunedAt"]) = (true.into(), json!(at));
            }
            part
        }
        Block::Reasoning { .. } | Block::Image { .. } => return None,
    })
}

// Structured facts that GenCode keeps beside a summary: files modified, tool
// use, key decisions. They live in the summary record, not in the context.
//
// Source: GenCode, "Extract structured info (parallel)".

/// Longest notable use or decision in a record, in characters.
const LONGEST: usize = 200;

/// "count + top 3 uses".
const TOP_USES: usize = 3;

/// Phrases by which GenCode recognises a decision.
const DECISION_PHRASES: [&str; 3] = ["decided", "chose", "will use"];

/// Arguments that describe a call best, best first.
const TELLING_ARGUMENTS: &str = "file_path path notebook_path filename command cmd pattern query url \
    description prompt name";

/// How often a tool was used, and its main uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUsage {
    /// The name of the tool.
    pub tool: String,
    /// Its calls in the range.
    pub count: u32,
    /// Its most frequent uses, the older first where they are equally frequent.
    pub notable_uses: Vec<String>,
}

/// What was extracted from a range of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Extraction {
    /// Sentences that state decisions, in order.
    pub key_decisions: Vec<String>,
    /// The modified files, in the order of the first change.
    pub files_modified: Vec<String>,
    /// The tools, the most used first, then by name.
    pub tools_used: Vec<ToolUsage>,
}

/// Reads the recorded messages of a range.
pub(super) fn extract(context: &Context, range: &[EntryId]) -> Extraction {
    let mut extraction = Extraction::default();
    let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for index in range.iter().filter_map(|id| id.index()) {
        let Some(message) = context.original(EntryId::message(index)) else {
            continue;
        };
        let spoken = matches!(message.role, Role::User | Role::Assistant);
        for block in &*context.blocks(index) {
            match block {
                Block::Text { text } if spoken => decisions(text, &mut extraction.key_decisions),
                Block::ToolCall { name, arguments, .. } => {
                    let paths = modified(arguments);
                    uses.entry(name.clone()).or_default().push(describe(arguments, &paths));
                    for path in paths {
                        push_new(&mut extraction.files_modified, path);
                    }
                }
                _ => {}
            }
        }
    }
    extraction.tools_used = uses.into_iter().map(|(tool, uses)| usage(tool, &uses)).collect();
    extraction.tools_used.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.tool.cmp(&b.tool)));
    extraction
}

/// The files that a call writes, edits, moves or deletes ("from Write and Edit").
fn modified(arguments: &Json) -> Vec<String> {
    let CallEffect::Changed(changes) = CallEffect::of(arguments) else { return Vec::new() };
    let files = changes.into_iter().flat_map(|Change { path, kind, .. }| {
        let to = if let ChangeKind::Moved(to) = kind { Some(to) } else { None };
        [path].into_iter().chain(to)
    });
    files.collect()
}

fn describe(arguments: &Json, modified: &[String]) -> String {
    if let Some(path) = modified.first() {
        return cut(&format!("Modified {path}"));
    }
    let telling = TELLING_ARGUMENTS.split(' ').find_map(|key| arguments.get(key)?.as_str());
    let any = || arguments.as_object()?.values().find_map(Json::as_str);
    cut(telling.or_else(any).unwrap_or_default())
}

fn usage(tool: String, uses: &[String]) -> ToolUsage {
    let mut counted: Vec<(&String, u32)> = Vec::new();
    for text in uses.iter().filter(|text| !text.is_empty()) {
        match counted.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counted.push((text, 1)),
        }
    }
    // The sort is stable: the older of two equally frequent uses stays first.
    counted.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let notable_uses = counted.iter().take(TOP_USES).map(|(text, _)| (*text).clone()).collect();
    ToolUsage { tool, count: uses.len() as u32, notable_uses }
}

fn decisions(text: &str, found: &mut Vec<String>) {
    let states_one = |text: &str| {
        let lower = text.to_lowercase();
        DECISION_PHRASES.iter().any(|phrase| lower.contains(phrase))
    };
    // Most texts state none.
    if states_one(text) {
        let stated = sentences(text).filter(|sentence| states_one(sentence));
        stated.for_each(|sentence| push_new(found, cut(sentence)));
    }
}

/// Sentences and lines, trimmed: a full stop ends one where a space follows,
/// so that `src/auth.ts` and `0.70` stay whole.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split_inclusive(". "))
        .map(str::trim)
        .filter(|s| !s.is_empty())
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

/// The first line, at most [`LONGEST`] characters of it.
fn cut(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 001: count + top 3 uses
    #[test]
    fn three_most_frequent_uses_are_notable_older_first() {
        let uses = ["once", "twice", "late", "thrice", "twice", "thrice", "thrice", ""];
        let found = usage("Bash".to_owned(), &uses.map(str::to_owned));
        assert_eq!(
            (found.count, found.notable_uses),
            (8, ["thrice", "twice", "once"].map(str::to_owned).to_vec())
        );
    }

    /// Seed 001: contains "decided", "chose", "will use"; "Decided to use JWT with refresh tokens"
    #[test]
    fn cues_of_decisions_are_found_in_any_case() {
        let mut found = Vec::new();
        decisions(
            "Decided to use JWT. We WILL USE x.rs v0.7. Nothing else.\nThey Chose it",
            &mut found,
        );
        assert_eq!(found, ["Decided to use JWT.", "We WILL USE x.rs v0.7.", "They Chose it"]);
    }

    #[test]
    fn calls_are_described_by_file_or_telling_argument() {
        let of = |arguments: Json| {
            let files = modified(&arguments);
            (describe(&arguments, &files), files)
        };
        let edit = json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"});
        assert_eq!(of(edit), ("Modified a.rs".to_owned(), vec!["a.rs".to_owned()]));
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n*** Add File: c.rs";
        let files = ["a.rs", "b.rs", "c.rs"].map(str::to_owned).to_vec();
        assert_eq!(of(json!({ "input": patch })), ("Modified a.rs".to_owned(), files));
        assert_eq!(of(json!({"file_path": "a.rs"})), ("a.rs".to_owned(), Vec::new()));
        assert_eq!(of(json!({"x": 1, "y": "any"})).0, "any");
        let long = json!({"command": format!("{}\nmore", "é".repeat(201))});
        assert_eq!(of(long).0, "é".repeat(200));
    }
}
