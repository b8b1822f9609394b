//! Masking: old tool output gives way to a marker or to its two ends, whichever
//! way an agent counts what is old.
//!
//! Sources: Anthropic's context editing (`clear_tool_uses_20250919`: `keep`,
//! `clear_at_least`, `exclude_tools`, `clear_tool_inputs`), observation masking (arXiv 2508.21433:
//! the newest 10 turns keep their output), OpenCode 1.18 (newest 40,000 tokens, at least 20,000 to
//! go, before the latest turn) and Gemini CLI 0.61.0 (a budget for tool output that is filled from
//! the newest on, and the two ends of what does not fit). The five compared systems prune
//! differently: `prune`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::context::{Context, EntryId, Op};
use crate::mechanism::{
    Build, BuildError, Host, Mechanism, MechanismError, MechanismSpec, Outcome, Work,
};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::{CallId, MessageIndex, Role};
use recap_core::tokens::Weight;

/// Masks old tool output.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "mask",
    summary: "Masks tool output that is old by tokens, results, responses or turns",
    scales: &["keep_tokens", "minimum_saving", "clip.head", "clip.tail"],
    build: |build| Ok(Box::new(Mask::new(build)?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Newest tool output that stays, in tokens.
    keep_tokens: Option<u64>,
    /// Newest results that stay.
    #[serde(default)]
    keep_results: usize,
    /// Results after the newest responses of the agent stay.
    #[serde(default)]
    keep_responses: usize,
    /// Results in the newest turns of the user stay, and do not count as kept tokens.
    #[serde(default)]
    keep_turns: usize,
    /// Whether older results that still fit into `keep_tokens` stay, and the
    /// rest of a masked one counts.
    #[serde(default)]
    fill: bool,
    /// Nothing is masked unless it saves at least this many tokens.
    #[serde(default)]
    minimum_saving: u64,
    /// The text that replaces the output: `{{tool}}`, `{{lines}}`.
    #[serde(default = "marker")]
    marker: String,
    /// The two ends that stay, with the marker between them.
    clip: Option<Clip>,
    /// Tools whose output always stays.
    #[serde(default)]
    exclude_tools: Vec<String>,
    /// Whether the call is removed with its result.
    #[serde(default)]
    clear_inputs: bool,
}

fn marker() -> String {
    "[Old tool output removed]".to_owned()
}

#[derive(Clone)]
struct Mask {
    parameters: Parameters,
    marker: Prompt,
    /// Results before this message are settled.
    settled: MessageIndex,
    /// The masked forms of recorded results, each with its weight.
    forms: FxHashMap<EntryId, Option<(String, Weight)>>,
}

/// A result that is to be masked.
struct Masked {
    call: CallId,
    id: EntryId,
    /// The new text; `None`: it is removed with its call.
    text: Option<String>,
    saves: u64,
}

impl Mask {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        let counts = parameters.keep_results + parameters.keep_responses + parameters.keep_turns;
        if parameters.keep_tokens.is_none() && counts == 0 {
            return Err("say what stays: `keep_tokens`, `keep_results`, `keep_responses` or \
                        `keep_turns`"
                .into());
        }
        if parameters.fill && parameters.keep_tokens.is_none() {
            return Err("`fill` says how `keep_tokens` is counted, which is not given".into());
        }
        if parameters.clear_inputs && parameters.clip.is_some() {
            return Err("`clear_inputs` leaves no result to `clip`".into());
        }
        let marker = Prompt::new(&parameters.marker, &["tool", "lines"])?;
        Ok(Self { parameters, marker, settled: 0, forms: FxHashMap::default() })
    }

    /// The message from which on results stay, whatever their size.
    fn exempt_from(&self, context: &Context) -> MessageIndex {
        let seen = context.seen_count();
        let turns = match self.parameters.keep_turns {
            0 => seen,
            keep => {
                let exchanges = context.exchanges();
                exchanges.len().checked_sub(keep).map_or(0, |at| exchanges[at])
            }
        };
        let is_response = |index: &MessageIndex| {
            let message = context.original(EntryId::message(*index));
            message.is_some_and(|message| message.role == Role::Assistant)
        };
        let responses = match self.parameters.keep_responses {
            0 => seen,
            keep => (0..seen).rev().filter(is_response).nth(keep - 1).unwrap_or(0),
        };
        turns.min(responses)
    }

    /// The results to mask, newest first.
    fn old(&mut self, context: &Context, host: &Host<'_>) -> Vec<Masked> {
        let exempt_from = self.exempt_from(context);
        let limit = self.parameters.keep_tokens.unwrap_or(0);
        let (mut results, mut kept, mut found) = (0, 0, Vec::new());
        let settled = self.settled;
        let is_open = |id: &EntryId| id.index().is_none_or(|index| index >= settled);
        for id in context.stored().rev().take_while(is_open) {
            let Some((call, known)) = context.call_of(id) else { continue };
            let is_done = context.is_edited(id) && !self.parameters.fill;
            if is_done || self.parameters.exclude_tools.contains(&known.tool) {
                continue;
            }
            results += 1;
            let is_exempt = id.index().is_some_and(|index| index >= exempt_from);
            if is_exempt || results <= self.parameters.keep_results {
                continue;
            }
            let size = host.size(context.weight_of(id));
            kept += size;
            if kept <= limit || context.is_edited(id) {
                continue;
            }
            let Some(masked) = self.masked(context, host, call, id, size) else { continue };
            if self.parameters.fill {
                kept -= masked.saves;
            }
            found.push(masked);
        }
        found
    }

    /// A result as it would be masked; `None` where its two ends cover it completely.
    fn masked(
        &mut self,
        context: &Context,
        host: &Host<'_>,
        call: CallId,
        id: EntryId,
        size: u64,
    ) -> Option<Masked> {
        if self.parameters.clear_inputs {
            return Some(Masked { call, id, text: None, saves: size });
        }
        if !self.forms.contains_key(&id) {
            let form = self.form(context, id);
            self.forms.insert(id, form);
        }
        let (text, weight) = self.forms[&id].as_ref()?;
        let saves = size.saturating_sub(host.size(*weight));
        Some(Masked { call, id, text: Some(text.clone()), saves })
    }

    /// Its text then, and the weight of that.
    fn form(&self, context: &Context, id: EntryId) -> Option<(String, Weight)> {
        let clip = self.parameters.clip;
        if clip.is_some_and(|clip| clip.is_surely_short(context.weight_of(id).units)) {
            return None;
        }
        let (_, output) = context.original(id)?.tool_result()?;
        let tool = context.call_of(id).map(|(_, call)| call.tool.clone()).unwrap_or_default();
        let lines = line_count(output).to_string();
        let marker = self.marker.render(&BTreeMap::from([("tool", tool), ("lines", lines)]));
        let text = match clip {
            Some(clip) => clipped(output, clip, &marker)?,
            None => marker,
        };
        let weight = Weight::of_text(Role::Tool.as_str(), &text, &context.recording().counter);
        Some((text, weight))
    }

    fn apply(
        context: &mut Context,
        shared: &mut StrategyState,
        old: Vec<Masked>,
    ) -> Result<(), MechanismError> {
        for Masked { call, id, text, .. } in old.into_iter().rev() {
            match text {
                None => context.apply(Op::RemoveCall(call))?,
                Some(text) => context.apply(Op::EditResult(call, text))?,
            };
            shared.pruned_through = shared.pruned_through.max(Some(id));
        }
        Ok(())
    }
}

#[async_trait]
impl Mechanism for Mask {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let old = self.old(context, host);
        let saved: u64 = old.iter().map(|masked| masked.saves).sum();
        let Some(newest) = old.first().and_then(|masked| masked.id.index()) else {
            return Ok(Outcome::default());
        };
        if saved < self.parameters.minimum_saving {
            return Ok(Outcome::default());
        }
        Self::apply(context, shared, old)?;
        if !self.parameters.fill {
            // Older results were masked with it, or always stay.
            self.settled = newest + 1;
        }
        Ok(Outcome::default())
    }
}

/// As many as [`str::lines`] gives, whose ends are looked for many bytes at once.
fn line_count(text: &str) -> usize {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

// Shortens a long text to its two ends.

/// How much of a text stays at either end, in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Clip {
    /// Length of the beginning that is kept.
    pub head: usize,
    /// Length of the end that is kept.
    pub tail: usize,
}

impl Clip {
    /// Whether a text of this many UTF-16 units is certainly short enough: it
    /// cannot have more characters.
    fn is_surely_short(self, units: u64) -> bool {
        units <= (self.head + self.tail) as u64
    }
}

/// The two ends with a marker between them; `None` where they cover the whole text.
pub(super) fn clipped(text: &str, clip: Clip, marker: &str) -> Option<String> {
    text.chars().count().checked_sub(clip.tail).filter(|&at| at > clip.head)?;
    let (head, _) = text.char_indices().nth(clip.head)?;
    let tail = match clip.tail {
        0 => text.len(),
        kept => text.char_indices().rev().nth(kept - 1)?.0,
    };
    let (head, tail) = (text[..head].trim_end_matches('\n'), &text[tail..]);
    let parts = [head, marker, tail].into_iter().filter(|part| !part.is_empty());
    Some(parts.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::testkit::{Rig, Scripted, Talk, words};

    #[test]
    fn last_line_counts_with_or_without_its_end() {
        for text in ["", "one", "one\n", "\n", "one\n\ntwo", "one\r\ntwo\r\n"] {
            assert_eq!(line_count(text), text.lines().count(), "{text:?}");
        }
    }

    #[test]
    fn text_ends_are_counted_in_whole_characters() {
        for (text, head, tail, expected) in [
            ("a\nb\nc\nd\n", 2, 2, Some("a\n[cut]\nd\n")),
            ("", 0, 0, None),
            ("äbcdü", 1, 1, Some("ä\n[cut]\nü")),
            ("äbcdü", 0, 2, Some("[cut]\ndü")),
            ("äbcdü", 2, 0, Some("äb\n[cut]")),
            ("äbcdü", 2, 3, None),
            ("äbcdü", 9, 0, None),
        ] {
            let cut = clipped(text, Clip { head, tail }, "[cut]");
            assert_eq!(cut.as_deref(), expected, "{text}: {head}, {tail}");
        }
    }

    #[test]
    fn text_of_few_enough_units_is_surely_short() {
        let ends = Clip { head: 2, tail: 3 };
        assert!(ends.is_surely_short(5) && !ends.is_surely_short(6));
    }

    // The mechanism `mask`, parameter by parameter.

    /// A user message of a token, then a call and its result for each size: results
    /// are rows 2, 4, 6 and so on.
    fn reads(sizes: &[usize]) -> Talk {
        uses(Talk::new("S").user(" word"), "read", sizes)
    }

    fn uses(talk: Talk, tool: &str, sizes: &[usize]) -> Talk {
        sizes.iter().enumerate().fold(talk, |talk, (at, &size)| {
            let id = format!("{tool}{at}-{size}");
            talk.calls(&[(&id, tool, json!({ "at": at }))]).result(&id, &words(size))
        })
    }

    fn rig(parameters: &str, window: u64, talk: Talk) -> Rig {
        let stage = "[[stage]]\nmechanism = \"mask\"\nat = \"request\"\nwhen = \"always\"\n";
        Rig::stages(&format!("{stage}{parameters}"), window, talk, Arc::new(Scripted::default()))
    }

    fn last(parameters: &str, talk: Talk) -> String {
        let mut rig = rig(parameters, 1_000, talk);
        rig.finish();
        rig.ledger()
    }

    #[test]
    fn each_parameter_tells_what_stays() {
        let both = [("a", "read", json!({})), ("b", "read", json!({}))];
        let together = reads(&[9]).calls(&both).result("a", "one").result("b", "two");
        let turns = || uses(reads(&[9, 9]).user("next"), "grep", &[30]);
        let tools = || uses(uses(reads(&[9]), "skill", &[9]), "grep", &[9]);
        let four = || reads(&[9, 9, 9, 9]);
        let saving =
            |least: u64| format!("keep_results = 1\nmarker = \"x\"\nminimum_saving = {least}");
        for (parameters, talk, ledger) in [
            ("keep_results = 2", four(), "vvevevvvv"),
            ("keep_results = 4", four(), "vvvvvvvvv"),
            // 30 + 20 are 50; the 5 after the 60 would fit, but are older.
            ("keep_tokens = 50", reads(&[5, 60, 30, 20]), "vvevevvvv"),
            ("keep_tokens = 49", reads(&[5, 60, 30, 20]), "vvevevevv"),
            ("keep_responses = 1", reads(&[9, 9, 9]), "vvevevv"),
            // A response that calls nothing is one, too.
            ("keep_responses = 2", reads(&[9, 9, 9]).assistant("ok"), "vvevevvv"),
            // Results of calls made together stay together.
            ("keep_responses = 1", together, "vvevvv"),
            ("keep_turns = 1", turns(), "vvevevvv"),
            ("keep_turns = 2", turns(), "vvvvvvvv"),
            // The 30 are exempt: 9 of 10 tokens are kept of the turn before.
            ("keep_turns = 1\nkeep_tokens = 10", turns(), "vvevvvvv"),
            // The marker takes a token: 19 of 20 are saved, and savings add up.
            (&saving(19), reads(&[20, 9]), "vvevv"),
            (&saving(20), reads(&[20, 9]), "vvvvv"),
            (&saving(20), reads(&[12, 12, 9]), "vvevevv"),
            // An excluded tool's output is not counted.
            ("keep_results = 1", tools(), "vvevevv"),
            ("keep_results = 1\nexclude_tools = [\"skill\"]", tools(), "vvevvvv"),
            ("keep_results = 2\nexclude_tools = [\"skill\"]", tools(), "vvvvvvv"),
        ] {
            assert_eq!(last(parameters, talk), ledger, "{parameters}");
        }
    }

    #[test]
    fn filled_budget_keeps_older_results_that_still_fit() {
        let at_once = |parameters: &str| {
            let mut rig = rig(parameters, 1_000, reads(&[10, 9, 60, 30, 20]));
            rig.append(11);
            rig.request();
            rig.ledger()
        };
        // 30 + 20 and the token that the 60 become leave nine.
        let keep = "keep_tokens = 60\nmarker = \"x\"";
        assert_eq!(at_once(&format!("{keep}\nfill = true")), "vvevvvevvvv");
        assert_eq!(at_once(keep), "vvevevevvvv");
    }

    #[test]
    fn masked_remainder_counts_towards_the_next_budget() {
        let mut rig =
            rig("fill = true\nkeep_tokens = 10\nmarker = \"x\"", 1_000, reads(&[9, 8, 2]));
        rig.finish();
        // The 9 became one token when the 8 came; 2 + 8 fit, and one more does not,
        // but a result is masked once.
        assert_eq!(rig.ledger(), "vvevvvv");
    }

    #[test]
    fn clear_inputs_removes_calls_with_their_results() {
        let mut rig = rig("keep_results = 1\nclear_inputs = true", 1_000, reads(&[9, 9]));
        rig.finish();
        assert_eq!(rig.ledger(), "v--vv");
        assert_eq!(rig.sent().len(), 3);
        // Of several calls of a message only those whose result is old.
        let both = [("a", "read", json!({})), ("b", "read", json!({}))];
        let talk = Talk::new("S").user("u").calls(&both).result("a", "one").result("b", "two");
        assert_eq!(last("keep_results = 1\nclear_inputs = true", talk), "ve-v");
    }

    #[test]
    fn marker_names_tool_and_lines_between_kept_ends() {
        let lines = "one\ntwo\nthree\nfour";
        let talk =
            || Talk::new("S").user("u").calls(&[("a", "read", json!({}))]).result("a", lines);
        let text = |parameters: &str| {
            let mut rig = rig(parameters, 1_000, uses(talk(), "grep", &[9]));
            rig.finish();
            rig.sent()[2].1.clone()
        };
        let marker = "keep_results = 1\nmarker = \"[{{lines}} lines of {{tool}}]\"\n";
        assert_eq!(text(marker), "[4 lines of read]");
        let clip = |clip: &str| text(&format!("{marker}clip = {clip}"));
        assert_eq!(clip("{ tail = 10 }"), "[4 lines of read]\nthree\nfour");
        assert_eq!(clip("{ head = 3, tail = 4 }"), "one\n[4 lines of read]\nfour");
        // Both ends are all of it: nothing changes.
        assert_eq!(clip("{ head = 4, tail = 14 }"), lines);
    }

    #[test]
    fn newest_masked_result_is_the_prune_boundary() {
        let mut rig = rig("keep_results = 1\nmarker = \"x\"", 1_000, reads(&[10, 10, 9]));
        rig.feed(7);
        rig.request();
        assert_eq!(rig.shared.pruned_through.and_then(|id| id.index()), Some(4));
    }

    #[test]
    fn tokens_scale_with_window_but_counts_do_not() {
        let half = |parameters: &str| {
            let mut rig = rig(parameters, 500, reads(&[9, 30, 20]));
            rig.finish();
            rig.ledger()
        };
        assert_eq!(half("keep_tokens = 100"), "vvevvvv");
        assert_eq!(half("keep_results = 2"), "vvevvvv");
        let saving = "keep_results = 2\nmarker = \"x\"\nminimum_saving = ";
        assert_eq!(half(&format!("{saving}17")), "vvevvvv");
        assert_eq!(half(&format!("{saving}18")), "vvvvvvv");
    }

    #[test]
    fn results_removed_elsewhere_do_not_count_as_kept() {
        let dedup = "[[stage]]\nmechanism = \"snapshot-dedup\"\nat = \"request\"\nwhen = \"always\"\n\
                     tools = [\"read\"]\n";
        let mask = "[[stage]]\nmechanism = \"mask\"\nat = \"request\"\nwhen = \"always\"\n\
                    keep_results = 2\n";
        let talk = uses(uses(Talk::new("S").user(" word"), "grep", &[9]), "read", &[8, 7]);
        let scripted = Arc::new(Scripted::default());
        let mut rig = Rig::stages(&format!("{dedup}{mask}"), 1_000, talk, scripted);
        rig.finish();
        assert_eq!(rig.ledger(), "vvv--vv");
    }
}
