//! Trimming: of what came behind the first user message the oldest messages
//! are dropped.
//!
//! Source: inspect_ai, `CompactionTrim` over `trim_messages` (stored public
//! source, 2026-08): system messages and the sample's input stay, and of the
//! rest a share of the messages. It trims again, three times at most, while the
//! context is still above the threshold and gets smaller. There the sample
//! fails if that does not help; here the request overflows.

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::Cuts;
use super::sliding_window::orphans;
use crate::context::{Context, EntryId, Op};
use crate::host::{Mechanism, MechanismError, Outcome, Work};
use crate::mechanism::MechanismSpec;

/// Drops the oldest messages behind the input.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "trim",
    summary: "Keeps the input and a share of the newest other messages, and drops the rest",
    uses_compactor: false,
    is_view: false,
    scales: &[],
    build: |build| {
        let parameters = build.read::<Parameters>()?;
        if !(0.0..1.0).contains(&parameters.preserve) {
            return Err("`preserve` is a share below 1, such as 0.8".into());
        }
        Ok(Box::new(parameters))
    },
};

/// Number of repetitions (`MAX_ITERATIONS`).
const AGAIN: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Share of the messages after the input that stays.
    preserve: f64,
}

impl Parameters {
    /// Drops messages once; returns whether any was dropped.
    fn trim(&self, context: &mut Context) -> Result<bool, MechanismError> {
        let Some(&input) = context.exchanges().first() else {
            // Without a user message everything is input.
            return Ok(false);
        };
        let is_input = |id: &EntryId| id.index().is_some_and(|index| index <= input);
        let rest: Vec<EntryId> = context.stored().filter(|id| !is_input(id)).collect();
        let start = (rest.len() as f64 * (1.0 - self.preserve)) as usize;
        // A call without a result yet stays, with everything after it.
        let open = Cuts::of(context).back_to_whole(context.seen_count());
        let goes = |id: &&EntryId| id.index().is_none_or(|index| index < open);
        let oldest: Vec<EntryId> = rest[..start].iter().take_while(goes).copied().collect();
        let Some(last) = oldest.iter().filter_map(|id| id.index()).max() else {
            return Ok(false);
        };
        let mut gone: Vec<EntryId> = oldest.into_iter().chain(orphans(context, last + 1)).collect();
        // Results of calls that belong to the input stay with them.
        let answers_input =
            |id: &EntryId| context.call_of(*id).is_some_and(|(_, call)| call.message <= input);
        gone.retain(|id| !answers_input(id));
        if gone.is_empty() {
            return Ok(false);
        }
        context.apply(Op::Evict(gone))?;
        Ok(true)
    }
}

#[async_trait]
impl Mechanism for Parameters {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, host, .. } = work;
        let before = host.size(context.weight());
        for _ in 0..=AGAIN {
            if !self.trim(context)? {
                break;
            }
            let dropped = before.saturating_sub(host.size(context.weight()));
            if host.believed.is_some_and(|size| size.saturating_sub(dropped) <= host.target) {
                break;
            }
        }
        Ok(Outcome::default())
    }
}
