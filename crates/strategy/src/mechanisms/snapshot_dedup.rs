//! Snapshot deduplication: of the results of each state tool only the newest.
//!
//! Source: Zoea Nova, "Snapshot Compaction": a result belongs to a
//! tool through its call id, never through its looks, and only the most recent
//! result of each snapshot tool stays. `key_args` (ours) makes tool and key
//! argument the identity; `tools = "auto"` (ours) takes every tool and argument
//! set that has been called at least `repeats` times so far.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value as Json;
use toml::Value;

use crate::context::{Context, EntryId, Op};
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};
use recap_core::model::{CallId, MessageIndex};

/// The mechanism that removes superseded snapshots.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "snapshot-dedup",
    summary: "Keeps only the newest result of each state-snapshot tool",
    is_view: true,
    build: |build| Ok(Box::new(build.read::<SnapshotDedup>()?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotDedup {
    tools: Tools,
    #[serde(default)]
    key_args: Vec<String>,
    #[serde(default = "three")]
    repeats: u32,
    #[serde(default = "super::yes")]
    keep_pairs: bool,
    #[serde(skip)]
    seen: Seen,
}

#[derive(Clone, Deserialize)]
#[serde(try_from = "Value")]
enum Tools {
    Auto,
    Named(Vec<String>),
}

impl TryFrom<Value> for Tools {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(word) if word == "auto" => Ok(Tools::Auto),
            Value::Array(names) if names.is_empty() => {
                Err("`tools` is empty; name a tool or write \"auto\"".to_owned())
            }
            Value::Array(names) => {
                let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                let names: Option<Vec<String>> = names.collect();
                names.map(Tools::Named).ok_or_else(|| "`tools` must list names".to_owned())
            }
            other => Err(format!("`{other}` is not known; write \"auto\" or a list")),
        }
    }
}

fn three() -> u32 {
    3
}

/// What has been read of the conversation so far.
#[derive(Clone, Default)]
struct Seen {
    through: MessageIndex,
    snapshots: BTreeMap<String, Snapshots>,
}

/// The snapshots of one thing.
#[derive(Clone, Default)]
struct Snapshots {
    calls: u32,
    results: Vec<(CallId, MessageIndex)>,
}

impl SnapshotDedup {
    /// The key by which two calls are snapshots of the same thing; `None` for a
    /// tool that is not a snapshot tool.
    fn identity(&self, tool: &str, arguments: &Json) -> Option<String> {
        let keys = &self.key_args;
        let named: Vec<String> =
            keys.iter().filter_map(|key| Some(format!("{key}={}", arguments.get(key)?))).collect();
        match &self.tools {
            Tools::Named(tools) if !tools.iter().any(|t| t == tool) => None,
            Tools::Named(_) => Some(format!("{tool} {}", named.join(" "))),
            Tools::Auto if named.is_empty() => Some(format!("{tool} {}", canonical(arguments))),
            Tools::Auto => Some(format!("{tool} {}", named.join(" "))),
        }
    }

    /// Reads the messages appended since the last look: past messages only.
    /// Returns what they are snapshots of.
    fn read_on(&mut self, context: &Context) -> BTreeSet<String> {
        let mut seen_again = BTreeSet::new();
        for index in self.seen.through..context.seen_count() {
            let id = EntryId::message(index);
            let Some((call_id, call)) = context.call_of(id) else {
                continue;
            };
            let arguments = context.recording().session.arguments(call);
            let Some(identity) = self.identity(&call.tool, arguments) else {
                continue;
            };
            let snapshots = self.seen.snapshots.entry(identity.clone()).or_default();
            snapshots.calls += 1;
            snapshots.results.push((call_id, index));
            seen_again.insert(identity);
        }
        self.seen.through = context.seen_count();
        seen_again
    }

    /// The number of calls from which on a tool counts as a snapshot tool.
    fn needed(&self) -> u32 {
        match self.tools {
            Tools::Named(_) => 1,
            Tools::Auto => self.repeats,
        }
    }

    /// Results that a newer one supersedes, each returned once. Only keys in
    /// `seen_again` can have any.
    fn take_superseded(
        &mut self,
        context: &Context,
        seen_again: &BTreeSet<String>,
    ) -> Vec<(CallId, MessageIndex)> {
        let needed = self.needed();
        let mut superseded = Vec::new();
        for identity in seen_again {
            let Some(Snapshots { calls, results }) = self.seen.snapshots.get_mut(identity) else {
                continue;
            };
            if *calls >= needed {
                let newest = results.iter().rposition(|&(_, result)| resolves(context, result));
                superseded.extend(results.drain(..newest.unwrap_or(0)));
            }
        }
        superseded.sort_unstable();
        superseded
    }

    /// Results that a newer one supersedes among what is sent now.
    fn superseded(&self, context: &Context) -> Vec<EntryId> {
        let mut superseded = Vec::new();
        for Snapshots { calls, results } in self.seen.snapshots.values() {
            if *calls >= self.needed() {
                let resolved =
                    results.iter().rev().filter(|(_, result)| resolves(context, *result));
                superseded.extend(resolved.skip(1).map(|(_, result)| EntryId::message(*result)));
            }
        }
        superseded.sort_unstable();
        superseded
    }
}

/// Whether a result's call is sent. Zoea resolves call ids among the messages of
/// the window: a result whose call is outside belongs to no tool, stays, and
/// supersedes nothing.
fn resolves(context: &Context, result: MessageIndex) -> bool {
    let id = EntryId::message(result);
    let sent = |caller| context.contains(caller) && !context.is_hidden(caller);
    let call = context.call_of(id).map(|(_, call)| EntryId::message(call.message));
    context.contains(id) && call.is_some_and(sent)
}

/// JSON with sorted keys, so that the order of arguments makes no difference.
fn canonical(json: &Json) -> String {
    let mut sorted = json.clone();
    sorted.sort_all_objects();
    serde_json::to_string(&sorted).expect("a value is JSON")
}

#[async_trait]
impl Mechanism for SnapshotDedup {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, .. } = work;
        let seen_again = self.read_on(context);
        if self.keep_pairs {
            // A superseded snapshot is never sent again, so removing call and
            // result permanently is the same as hiding them at every request.
            for (call, result) in self.take_superseded(context, &seen_again) {
                if context.contains(EntryId::message(result)) {
                    context.apply(Op::RemoveCall(call))?;
                }
            }
        } else {
            let also = self.superseded(context);
            context.apply(Op::Hide { before: 0, also })?;
        }
        Ok(Outcome::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_order_is_ignored_but_list_order_matters() {
        let text = |json: &str| canonical(&serde_json::from_str(json).unwrap());
        let one = text(r#"{"b":[1,2],"a":{"y":null,"x":"s"}}"#);
        assert_eq!(one, text(r#"{"a":{"x":"s","y":null},"b":[1,2]}"#));
        assert_eq!(one, r#"{"a":{"x":"s","y":null},"b":[1,2]}"#);
        assert_ne!(one, text(r#"{"a":{"x":"s","y":null},"b":[2,1]}"#));
    }

    #[test]
    fn newest_result_of_each_identity_stays() {
        use crate::testkit::{Rig, Scripted, Talk};
        let talk = || {
            (0..6).fold(Talk::new("S").user("u"), |talk, at| {
                let (id, path) = (format!("c{at}"), ["a", "b"][at % 2]);
                let arguments = serde_json::json!({"path": path});
                talk.calls(&[(&id, "read", arguments)]).result(&id, &format!("text {at}"))
            })
        };
        for (parameters, left) in [
            ("tools = [\"read\"]", "v----------vv"),
            ("tools = [\"read\"]\nkey_args = [\"path\"]", "v--------vvvv"),
            ("tools = \"auto\"\nrepeats = 3", "v--------vvvv"),
            ("tools = \"auto\"\nrepeats = 4", "vvvvvvvvvvvvv"),
        ] {
            let stage = "[[stage]]\nmechanism = \"snapshot-dedup\"\nat = \"request\"\n\
                         when = \"always\"\n";
            let stage = format!("{stage}{parameters}");
            let mut straight = Rig::stages(&stage, 1_000, talk(), Scripted::failing_at([]));
            straight.feed(13);
            straight.request();
            assert_eq!(straight.ledger(), left, "{parameters}");
        }
    }
}
