//! `idle_compactions`: compactions that free less than 5 % of the context that
//! they found (cuts §6).

use crate::measure::idle::is_idle;
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "idle_compactions",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "compactions that free less than 5 % of the context; what only chooses what is sent \
              (fifo, sliding-window) does not count",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.compactions().filter(|compaction| is_idle(compaction)).count() as f64)
}
