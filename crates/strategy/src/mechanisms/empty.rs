//! The control without history: the lowest result of every measure.

use async_trait::async_trait;
use serde::Deserialize;

use crate::context::Op;
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};

/// Sends the preamble alone.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "empty",
    summary: "Sends no history at all: the floor of every measure",
    is_view: true,
    build: |build| {
        build.read::<Parameters>()?;
        Ok(Box::new(Empty))
    },
    ..MechanismSpec::PLAIN
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {}

#[derive(Clone)]
struct Empty;

#[async_trait]
impl Mechanism for Empty {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, .. } = work;
        let before = context.seen_count();
        context.apply(Op::Hide { before, except: Vec::new(), also: Vec::new() })?;
        Ok(Outcome::default())
    }
}
