//! The control that replays the vendor's own compactions, so that the
//! vendor's summary stands in the table as one more row (`semantics` 6).

use async_trait::async_trait;
use serde::Deserialize;

use crate::model::{CallId, Role};
use crate::strategy::context::{Context, EntryId, Op, Place};
use crate::strategy::host::{Host, Outcome, PresetState, Strategy, StrategyError};
use crate::strategy::preset::MechanismSpec;

/// Repeats what the recorded agent did.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "recorded",
    summary: "Repeats the compactions that the recorded agent made, with its own summaries",
    uses_compactor: false,
    is_view: false,
    build: |build| Ok(Box::new(build.read::<Recorded>()?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    /// What a cleared result is replaced by.
    cleared_marker: String,
}

#[async_trait]
impl Strategy for Recorded {
    async fn compact(
        &mut self,
        context: &mut Context,
        _shared: &mut PresetState,
        host: &Host<'_>,
    ) -> Result<Outcome, StrategyError> {
        let Some(compaction) = host.recorded else {
            return Ok(Outcome::default());
        };
        let calls = &context.recording().calls;
        let cleared: Vec<CallId> = (0u32..)
            .zip(calls.iter())
            .filter(|(_, call)| compaction.cleared.contains(&call.id))
            .filter(|(_, call)| call.result.is_some_and(|r| context.contains(EntryId::message(r))))
            .map(|(at, _)| CallId(at))
            .collect();
        for call in cleared {
            context.apply(Op::EditResult(call, self.cleared_marker.clone()))?;
        }
        let covered = |id: &EntryId| id.index().is_none_or(|i| i < compaction.kept_from);
        let range: Vec<EntryId> = context.stored().filter(covered).collect();
        match &compaction.summary {
            Some(summary) if !range.is_empty() => {
                let into = vec![(Role::User, summary.clone())];
                context.apply(Op::Fold { range, into, at: Place::Head })?;
            }
            Some(_) => {}
            // A boundary that cleared nothing and left no summary dropped what it covers.
            None if compaction.cleared.is_empty() && !range.is_empty() => {
                context.apply(Op::Evict(range))?;
            }
            None => {}
        }
        Ok(Outcome::default())
    }
}
