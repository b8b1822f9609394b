//! `cpu_ms`: the mechanism's own CPU time (measures §3), the one column that two
//! equal runs may differ in.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};

/// See the module.
pub const SPEC: Spec = Spec {
    id: "cpu_ms",
    unit: Unit::Milliseconds,
    direction: Direction::Lower,
    summary: "CPU time of the mechanism itself",
    pool: Pool::Sum,
    basis: Basis::Requests,
    compute,
};

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::One(sample.rows.cpu_ms)
}
