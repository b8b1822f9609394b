//! Sliding window: the system prompt and the last N messages.
//!
//! Source: Zoea Nova, `MaxContextMessages = 20`: rows are counted,
//! so a call message and each of its results are one each. Zoea does not
//! keep pairs; `keep_pairs` (ours, default true) leaves out results whose call
//! is outside, which providers refuse (how-it-works §19).

use async_trait::async_trait;
use serde::Deserialize;

use crate::context::{Context, EntryId, Op};
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};
use recap_core::model::MessageIndex;

/// Hides all but the newest messages.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "sliding-window",
    summary: "Sends the preamble and the last N messages",
    is_view: true,
    build: |build| Ok(Box::new(build.read::<Parameters>()?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// None: the control without history, the lowest result of every measure.
    last: u32,
    #[serde(default = "super::yes")]
    keep_pairs: bool,
}

#[async_trait]
impl Mechanism for Parameters {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, .. } = work;
        let before = context.seen_count().saturating_sub(self.last);
        let also = if self.keep_pairs { orphans(context, before) } else { Vec::new() };
        context.apply(Op::Hide { before, also })?;
        Ok(Outcome::default())
    }
}

/// Stored results after a cut whose call is before it.
pub(super) fn orphans(context: &Context, before: MessageIndex) -> Vec<EntryId> {
    let tail = (before..context.seen_count()).map(EntryId::message);
    tail.filter(|&id| {
        context.contains(id) && context.call_of(id).is_some_and(|(_, call)| call.message < before)
    })
    .collect()
}
