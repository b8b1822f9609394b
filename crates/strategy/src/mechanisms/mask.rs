//! Masking: old tool output gives way to a marker or to its two ends, whichever
//! way an agent counts what is old.
//!
//! Sources: Anthropic's context editing (`clear_tool_uses_20250919`: `keep`,
//! `clear_at_least`, `exclude_tools`, `clear_tool_inputs`), observation masking
//! (arXiv 2508.21433: the newest 10 turns keep their output), OpenCode 1.18
//! (newest 40,000 tokens, at least 20,000 to go, before the latest turn) and
//! Gemini CLI 0.61.0 (a budget for tool output that is filled from the newest
//! on, and the two ends of what does not fit). The five compared systems prune differently: `prune`.

use std::collections::{BTreeMap, VecDeque};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::clip::{Clip, clipped};
use crate::context::{Context, EntryId, Op};
use crate::host::{Host, Mechanism, MechanismError, Outcome, Record, Work, restored};
use crate::mechanism::{Build, BuildError, MechanismSpec};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::{Block, CallId, MessageIndex, Role};
use recap_core::tokens::Weight;

/// Masks old tool output.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "mask",
    summary: "Masks tool output that is old by tokens, results, responses or turns",
    uses_compactor: false,
    is_view: false,
    scales: &["keep_tokens", "minimum_saving", "clip.head", "clip.tail"],
    build: |build| Ok(Box::new(Mask::new(build)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Newest tool output that stays, in tokens.
    keep_tokens: Option<u64>,
    /// Newest results that stay.
    #[serde(default)]
    keep_results: usize,
    /// Results behind the newest responses of the agent stay.
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

/// The state that is saved with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settled {
    /// Results before this message are settled.
    before: MessageIndex,
}

struct Mask {
    parameters: Parameters,
    marker: Prompt,
    settled: Settled,
    /// Results that may have to be masked later, oldest first, so that a run
    /// need not walk over the conversation. Computed again after restoring.
    pending: VecDeque<EntryId>,
    /// Messages before this one have been read.
    through: MessageIndex,
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
        let (settled, pending) = (Settled::default(), VecDeque::new());
        Ok(Self { parameters, marker, settled, pending, through: 0 })
    }

    /// Adds the results that came since the last run, and drops those that were
    /// removed or replaced.
    fn read_on(&mut self, context: &Context) {
        for index in self.through.max(self.settled.before)..context.seen_count() {
            let id = EntryId::message(index);
            if context.call_of(id).is_some() {
                self.pending.push_back(id);
            }
        }
        self.through = context.seen_count();
        let (settled, fill) = (self.settled.before, self.parameters.fill);
        self.pending.retain(|&id| {
            let is_settled = id.index().is_some_and(|index| index < settled);
            !is_settled && context.contains(id) && (fill || !context.is_edited(id))
        });
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
    fn old(&self, context: &Context, host: &Host<'_>) -> Vec<Masked> {
        let exempt_from = self.exempt_from(context);
        let limit = self.parameters.keep_tokens.unwrap_or(0);
        let (mut results, mut kept, mut found) = (0, 0, Vec::new());
        for &id in self.pending.iter().rev() {
            let Some((call, known)) = context.call_of(id) else { continue };
            if self.parameters.exclude_tools.contains(&known.tool) {
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

    /// The masked form of a result; `None` where its two ends cover it completely.
    fn masked(
        &self,
        context: &Context,
        host: &Host<'_>,
        call: CallId,
        id: EntryId,
        size: u64,
    ) -> Option<Masked> {
        if self.parameters.clear_inputs {
            return Some(Masked { call, id, text: None, saves: size });
        }
        let clip = self.parameters.clip;
        if clip.is_some_and(|clip| clip.is_surely_short(context.weight_of(id).units)) {
            return None;
        }
        let output = output(context, id);
        let tool = context.call_of(id).map(|(_, call)| call.tool.clone()).unwrap_or_default();
        let lines = output.lines().count().to_string();
        let marker = self.marker.render(&BTreeMap::from([("tool", tool), ("lines", lines)]));
        let text = match clip {
            Some(clip) => clipped(&output, clip, &marker)?,
            None => marker,
        };
        let counter = &context.recording().counter;
        let left = host.size(Weight::of_text(Role::Tool.as_str(), &text, counter));
        Some(Masked { call, id, text: Some(text), saves: size.saturating_sub(left) })
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

/// The output of a result as it is sent.
fn output(context: &Context, id: EntryId) -> String {
    let blocks = id.index().map(|index| context.blocks(index)).unwrap_or_default();
    let text = blocks.into_iter().find_map(|block| match block {
        Block::ToolResult { text, .. } => Some(text),
        _ => None,
    });
    text.unwrap_or_default()
}

#[async_trait]
impl Mechanism for Mask {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let mut outcome = Outcome::default();
        self.read_on(context);
        let old = self.old(context, host);
        let saved: u64 = old.iter().map(|masked| masked.saves).sum();
        let Some(newest) = old.first().and_then(|masked| masked.id.index()) else {
            return Ok(outcome);
        };
        if saved < self.parameters.minimum_saving {
            return Ok(outcome);
        }
        let count = old.len();
        Self::apply(context, shared, old)?;
        if !self.parameters.fill {
            // Older results were masked with it, or always stay.
            self.settled.before = newest + 1;
        }
        let body = json!({"count": count, "tokensSaved": saved});
        outcome.records.push(Record { kind: "mask".to_owned(), body });
        Ok(outcome)
    }

    fn state(&self) -> Json {
        serde_json::to_value(&self.settled).expect("plain data serialises")
    }

    fn restore(&mut self, state: Json) -> Result<(), MechanismError> {
        self.settled = restored(SPEC.name, state)?;
        Ok(())
    }
}
