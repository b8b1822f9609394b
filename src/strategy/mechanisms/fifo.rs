//! FIFO truncation: drop the oldest exchanges until the rest fits.
//!
//! Source: seed 000 (Arachne), "drops the oldest messages entirely when the
//! token budget is exceeded", its hard fallback above 85 %. Whole exchanges go
//! together, so a call always leaves with its results (`semantics` 18).

use async_trait::async_trait;
use serde::Deserialize;

use crate::strategy::context::{Context, Op};
use crate::strategy::host::{Host, Outcome, PresetState, Strategy, StrategyError};
use crate::strategy::preset::MechanismSpec;

/// Hides the oldest exchanges.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "fifo",
    summary: "Drops the oldest exchanges until under target; the newest is never cut",
    uses_compactor: false,
    is_view: true,
    build: |build| {
        build.read::<Parameters>()?;
        Ok(Box::new(Fifo))
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {}

struct Fifo;

#[async_trait]
impl Strategy for Fifo {
    async fn compact(
        &mut self,
        context: &mut Context,
        _shared: &mut PresetState,
        host: &Host<'_>,
    ) -> Result<Outcome, StrategyError> {
        let excess = host.believed.unwrap_or(0).saturating_sub(host.target);
        let exchanges = context.exchanges();
        // Cutting before exchange k drops exchanges 0..k; the first cut that
        // drops enough is found by bisection, since dropped sizes only grow.
        let enough = |start: &u32| host.size(context.recorded_weight_before(*start)) >= excess;
        let first = exchanges.partition_point(|start| !enough(start));
        let before = exchanges.get(first).or(exchanges.last()).copied().unwrap_or(0);
        if excess > 0 && before > 0 {
            context.apply(Op::Hide { before, also: Vec::new() })?;
        }
        Ok(Outcome::default())
    }
}
