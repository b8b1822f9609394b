//! Results that the recording itself fetched more than once.

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use recap_core::model::{Block, MessageIndex, Session};

/// Groups of calls that ask for the same thing.
pub(super) struct Rereads {
    /// The group of the call that each tool result answers.
    kinds: FxHashMap<MessageIndex, u32>,
    /// The messages with calls of each group, ascending.
    calls: Vec<Vec<MessageIndex>>,
}

impl Rereads {
    pub(super) fn new(session: &Session) -> Rereads {
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut kinds = FxHashMap::default();
        let mut calls: Vec<Vec<MessageIndex>> = Vec::new();
        for call in session.calls() {
            let block = &session.messages[call.message as usize].blocks[call.block as usize];
            let Block::ToolCall { name, arguments, .. } = block else {
                continue;
            };
            let kind = *numbers.entry(target(name, arguments)).or_insert_with(|| {
                calls.push(Vec::new());
                calls.len() as u32 - 1
            });
            calls[kind as usize].push(call.message);
            if let Some(result) = call.result {
                kinds.insert(result, kind);
            }
        }
        Rereads { kinds, calls }
    }

    /// Whether a call that gave one of `sources` was made again after `last`,
    /// up to the calls of `request` itself.
    pub(super) fn happened(
        &self,
        sources: &[MessageIndex],
        last: MessageIndex,
        request: MessageIndex,
    ) -> bool {
        sources.iter().any(|source| {
            self.kinds.get(source).is_some_and(|&kind| {
                let calls = &self.calls[kind as usize];
                let next = calls.partition_point(|&at| at <= last);
                calls.get(next).is_some_and(|&at| at <= request)
            })
        })
    }
}

/// The key of a call's group: the tool and its string arguments. Numbers are
/// ignored, since they select a part of the same source (offset, limit).
fn target(tool: &str, arguments: &Json) -> String {
    let mut target = tool.to_owned();
    strings(arguments, &mut target);
    target
}

fn strings(value: &Json, into: &mut String) {
    match value {
        Json::String(text) => {
            into.push('\0');
            into.push_str(text);
        }
        Json::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Json::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "description")
            .for_each(|(_, item)| strings(item, into)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
