//! Pruning: old tool output is replaced by a marker, the calls stay.
//!
//! Sources: GenCode (layer 1: nothing under 20k tokens, the newest
//! 40k of tool output protected by a backward walk, marker text, pruned flag
//! and time) and Lis (stage 1: more than 8,000 tokens of unpruned
//! output, the newest 2,000 kept, the bare tool name in place of the output,
//! once per boundary, per-tool and global policies).

use std::collections::{BTreeMap, VecDeque};

use async_trait::async_trait;
use serde::Deserialize;

use super::notices;
use crate::context::{Context, EntryId, Op};
use crate::mechanism::{BuildError, Host, Mechanism, MechanismError, MechanismSpec, Outcome, Work};
use crate::prompt::Prompt;
use recap_core::model::CallId;

/// Replaces old tool output.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "prune",
    summary: "Replaces old tool output by a marker and protects the newest",
    scales: &["protect"],
    build: |build| Ok(Box::new(Prune::new(build.read()?)?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Whether the stage is active (GenCode's `enablePruning`).
    #[serde(default = "super::yes")]
    enabled: bool,
    /// Tokens of the newest tool output that stay.
    protect: u64,
    /// What the output is replaced by; `{{tool}}` is the tool's name.
    #[serde(default = "gencode_marker")]
    marker: String,
    /// Whether only output after the last prune boundary is counted and pruned.
    #[serde(default)]
    once_per_boundary: bool,
    #[serde(default)]
    policy: Policy,
    /// Context size above which `keep-all` still prunes, as a share of the budget.
    #[serde(default = "lis_safeguard")]
    force_above: f64,
    /// Exceptions by tool name.
    #[serde(default)]
    tools: BTreeMap<String, ToolPolicy>,
    /// Whether the user is told (`LIS_COMPACTION_NOTIFY`).
    #[serde(default)]
    notify: bool,
}

/// The policy for all tools (Lis's `LIS_TOOL_SUMMARIZATION_POLICY`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Policy {
    /// The policy of each tool applies.
    #[default]
    Auto,
    /// Nothing is pruned, unless the context exceeds the safeguard.
    KeepAll,
    /// All tool output is pruned.
    KeepNone,
}

/// Lis's `[ToolSummarization]` attribute. Both leave the marker in the context;
/// `Summarize` shows the original to a later compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ToolPolicy {
    Prune,
    Summarize,
}

fn gencode_marker() -> String {
    "[Old tool result cleared]".to_owned()
}

fn lis_safeguard() -> f64 {
    0.8
}

#[derive(Clone)]
struct Prune {
    marker: Prompt,
    parameters: Parameters,
    /// As of the last run.
    newest: Newest,
}

/// The newest results, which are protected. Results that arrive are added; only an edit or a
/// fold makes it be computed again.
#[derive(Clone, Default)]
struct Newest {
    /// With their sizes, oldest first.
    results: VecDeque<(CallId, EntryId, u64)>,
    /// The sum of their sizes.
    size: u64,
    /// The last entry that was looked at.
    through: Option<EntryId>,
    /// The state of the context for which this was computed.
    changes: u64,
}

impl Prune {
    fn new(parameters: Parameters) -> Result<Self, BuildError> {
        let marker = Prompt::new(&parameters.marker, &["tool"])?;
        Ok(Self { marker, parameters, newest: Newest::default() })
    }

    /// How much of the newest output stays this time; `None`: nothing is pruned.
    fn protected(&self, host: &Host<'_>) -> Option<u64> {
        if !self.parameters.enabled {
            return None;
        }
        match self.parameters.policy {
            Policy::Auto => Some(self.parameters.protect),
            Policy::KeepNone => Some(0),
            Policy::KeepAll => {
                let limit = (host.budget as f64 * self.parameters.force_above) as u64;
                host.believed.is_some_and(|size| size > limit).then_some(self.parameters.protect)
            }
        }
    }

    /// Whether a later summary is written from the originals of a tool: the
    /// exceptions are those of `auto`.
    fn is_summarised(&self, tool: &str) -> bool {
        self.parameters.policy == Policy::Auto
            && self.parameters.tools.get(tool) == Some(&ToolPolicy::Summarize)
    }

    /// The results to replace, oldest first: the newest are protected as long as their sum stays
    /// within the bound (how-it-works §20). What is older than a result that was replaced before
    /// has been replaced with it.
    fn unprotected(
        &mut self,
        context: &Context,
        host: &Host<'_>,
        floor: Option<EntryId>,
        protect: u64,
    ) -> Vec<(CallId, EntryId)> {
        let newest = &mut self.newest;
        let is_above = |result: &(_, EntryId, _)| Some(result.1) > floor;
        if newest.changes != context.changes() || !newest.results.front().is_none_or(is_above) {
            *newest = Newest { changes: context.changes(), ..Newest::default() };
        }
        newest.read_on(context, host, floor, protect);
        let mut found = Vec::new();
        while newest.size > protect
            && let Some((call, id, size)) = newest.results.pop_front()
        {
            newest.size -= size;
            found.push((call, id));
        }
        let replaced = found.iter().rposition(|(_, id)| context.is_edited(*id));
        found.drain(..replaced.map_or(0, |at| at + 1));
        found
    }
}

impl Newest {
    /// Adds the results since the last run: a walk backwards.
    fn read_on(
        &mut self,
        context: &Context,
        host: &Host<'_>,
        floor: Option<EntryId>,
        protect: u64,
    ) {
        let from = self.through.max(floor);
        let (mut added, mut size) = (Vec::new(), 0);
        for id in context.stored().rev().take_while(|id| Some(*id) > from) {
            let Some((call, _)) = context.call_of(id) else { continue };
            let own = host.size(context.weight_of(id));
            size += own;
            added.push((call, id, own));
            if size > protect && context.is_edited(id) {
                (self.results, self.size) = Default::default();
                break;
            }
        }
        self.size += size;
        self.results.extend(added.into_iter().rev());
        self.through = context.seen().next_back();
    }
}

#[async_trait]
impl Mechanism for Prune {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let mut outcome = Outcome::default();
        let Some(protect) = self.protected(host) else {
            return Ok(outcome);
        };
        let floor = shared.pruned_through.filter(|_| self.parameters.once_per_boundary);
        let results = self.unprotected(context, host, floor, protect);
        let Some(&(_, newest)) = results.last() else {
            return Ok(outcome);
        };
        let output = context.tool_tokens_after(floor);
        let mut replaced = (0, 0);
        for (call, id) in &results {
            let (_, known) = context.call_of(*id).expect("a result was found by its call");
            let tool = known.tool.clone();
            shared.originals.extend(id.index().filter(|_| self.is_summarised(&tool)));
            let marker = self.marker.render(&BTreeMap::from([("tool", tool)]));
            replaced.0 += context.weight_of(*id).tokens;
            context.apply(Op::EditResult(*call, marker))?;
            replaced.1 += context.weight_of(*id).tokens;
            shared.pruned.extend(id.index().map(|index| (index, host.now)));
        }
        self.newest.changes = context.changes();
        shared.pruned_through = Some(newest);
        if self.parameters.notify {
            let left = output.saturating_sub(replaced.0) + replaced.1;
            let size = context.weight().tokens;
            outcome.notices.push(notices::pruned(output, left, size, host.budget));
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::testkit::{Rig, Scripted, Talk, words};

    /// A user message of a token, then a call and its result for each size:
    /// results are rows 2, 4, 6 and so on.
    fn rig(parameters: &str, sizes: &[usize]) -> Rig {
        let talk = (0..).zip(sizes).fold(Talk::new("S").user(" word"), |talk, (at, &size)| {
            let id = format!("c{at}");
            talk.calls(&[(&id, "read", json!({"at": at}))]).result(&id, &words(size))
        });
        let stage = "[[stage]]\nmechanism = \"prune\"\nat = \"request\"\nwhen = \"always\"\n";
        let stage = format!("{stage}{parameters}");
        Rig::stages(&stage, 1_000, talk, Arc::new(Scripted::default()))
    }

    /// The states at one request after everything.
    fn at_once(parameters: &str, sizes: &[usize]) -> String {
        let mut rig = rig(parameters, sizes);
        rig.append(1 + 2 * sizes.len() as u32);
        rig.request();
        rig.ledger()
    }

    #[test]
    fn newest_output_is_protected_until_first_misfit() {
        assert_eq!(at_once("protect = 20", &[5, 60, 12, 8]), "vvevevvvv");
        assert_eq!(at_once("protect = 19", &[5, 60, 12, 8]), "vvevevevv");
        assert_eq!(at_once("protect = 85", &[5, 60, 12, 8]), "vvvvvvvvv");
        assert_eq!(at_once("protect = 84", &[5, 60, 12, 8]), "vvevvvvvv");
        assert_eq!(at_once("protect = 20\nenabled = false", &[5, 60, 12, 8]), "vvvvvvvvv");
        assert_eq!(at_once("protect = 20\npolicy = \"keep-none\"", &[5, 8]), "vveve");
    }

    #[test]
    fn newest_output_is_protected_at_every_request() {
        let sizes = [5, 9, 3, 14, 2, 8, 8, 1, 20, 6, 4, 11, 25, 3];
        let mut rig = rig("protect = 20", &sizes);
        rig.append(1);
        for seen in 1..=sizes.len() {
            rig.append(2);
            rig.request();
            let mut sum = 0;
            let newest = sizes[..seen].iter().rev().take_while(|size| {
                sum += **size;
                sum <= 20
            });
            let older = seen - newest.count();
            let expected = format!("v{}{}", "ve".repeat(older), "vv".repeat(seen - older));
            assert_eq!(rig.ledger(), expected, "{seen}");
        }
    }

    #[test]
    fn default_marker_says_that_output_was_cleared() {
        let mut rig = rig("protect = 5", &[9, 4]);
        rig.append(5);
        rig.request();
        assert_eq!(rig.sent()[2].1, "[Old tool result cleared]");
        assert_eq!(rig.shared.pruned_through, Some(EntryId::message(2)));
    }

    #[test]
    fn kept_output_is_pruned_above_80_percent_budget() {
        let kept = |sizes: &[usize]| at_once("protect = 0\npolicy = \"keep-all\"", sizes);
        assert_eq!(kept(&[300, 300]), "vvvvv");
        assert_eq!(kept(&[430, 430]), "vveve");
        let above = |share: &str| {
            let parameters = format!("protect = 0\npolicy = \"keep-all\"\nforce_above = {share}");
            at_once(&parameters, &[300, 300])
        };
        assert_eq!((above("0.5").as_str(), above("0.9").as_str()), ("vveve", "vvvvv"));
    }

    #[test]
    fn context_exactly_at_forced_size_is_not_pruned() {
        // A budget of 1,000 tokens: 600 are the bound, of which the overhead takes some.
        let parameters = "protect = 0\npolicy = \"keep-all\"\nforce_above = 0.6";
        let states = |size: usize| {
            let mut rig = rig(parameters, &[size]);
            rig.append(3);
            let before = rig.gauge().believed.unwrap();
            rig.request();
            (before, rig.ledger())
        };
        let all: Vec<(u64, String)> = (500..600).map(states).collect();
        assert!(all.iter().any(|(size, ledger)| *size == 600 && ledger == "vvv"), "{all:?}");
        assert!(all.iter().all(|(size, ledger)| (*size > 600) == (ledger == "vve")), "{all:?}");
    }
}
