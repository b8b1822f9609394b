//! The control without history: the lowest result of every measure.

use async_trait::async_trait;
use serde::Deserialize;

use crate::context::Op;
use crate::mechanism::MechanismSpec;
use crate::mechanism::{Mechanism, MechanismError, Outcome, Work};

/// Sends the preamble alone.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "empty",
    summary: "Sends no history at all: the floor of every measure",
    uses_compactor: false,
    is_view: true,
    scales: &[],
    build: |build| {
        build.read::<Parameters>()?;
        Ok(Box::new(Empty))
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {}

struct Empty;

#[async_trait]
impl Mechanism for Empty {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, .. } = work;
        context.apply(Op::Hide {
            before: context.seen_count(),
            except: Vec::new(),
            also: Vec::new(),
        })?;
        Ok(Outcome::default())
    }
}
