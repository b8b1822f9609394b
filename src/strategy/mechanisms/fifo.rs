//! FIFO truncation: drop the oldest exchanges until the rest fits.
//!
//! Source: seed 000 (Arachne), "drops the oldest messages entirely when the
//! token budget is exceeded", its hard fallback above 85 %. Whole exchanges go
//! together, so a call always leaves with its results (`semantics` 18).

use async_trait::async_trait;
use serde::Deserialize;

use crate::model::MessageIndex;
use crate::strategy::context::{Context, EntryId, Op};
use crate::strategy::host::{Host, Outcome, PresetState, Strategy, StrategyError};
use crate::strategy::preset::MechanismSpec;
use crate::tokens::Weight;

/// Hides the oldest exchanges.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "fifo",
    summary: "Drops the oldest exchanges until under target; the newest is never cut",
    uses_compactor: false,
    is_view: true,
    scales: &[],
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
        if excess == 0 {
            return Ok(Outcome::default());
        }
        // Cutting before exchange k drops exchanges 0..k; the first cut that
        // drops enough is found by bisection, since dropped sizes only grow.
        let freed = Freed::new(context);
        let exchanges = context.exchanges();
        let first = exchanges.partition_point(|start| host.size(freed.by(*start)) < excess);
        let before = exchanges.get(first).or(exchanges.last()).copied().unwrap_or(0);
        if before > 0 {
            context.apply(Op::Hide { before, also: Vec::new() })?;
        }
        Ok(Outcome::default())
    }
}

/// What a cut would take out of the request. What an earlier stage hides is
/// not sent, so dropping it frees nothing (`semantics` 16).
struct Freed<'a> {
    context: &'a Context,
    hidden_before: MessageIndex,
    hidden: Vec<(MessageIndex, Weight)>,
}

impl<'a> Freed<'a> {
    fn new(context: &'a Context) -> Self {
        let weight = |id: EntryId| Some((id.index()?, context.entry(id)?.weight));
        let hidden = context.hidden_by_name().into_iter().filter_map(weight).collect();
        Self { context, hidden_before: context.hidden_before(), hidden }
    }

    fn by(&self, cut: MessageIndex) -> Weight {
        let unsent = self.context.recorded_weight_before(cut.min(self.hidden_before));
        let dropped = self.context.recorded_weight_before(cut) - unsent;
        let named = self.hidden.iter().take_while(|(index, _)| *index < cut);
        named.fold(dropped, |sum, (_, weight)| sum - *weight)
    }
}
