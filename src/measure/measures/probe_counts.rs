//! How many probes a row rests on, and how many of them say something:
//! `probes`, `unscored`, `exposed`.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Spec, mean};
use crate::model::catalogue;

/// All that were put.
pub const PROBES: Spec = Spec {
    measure: catalogue::PROBES,
    pool: Pool::Sum,
    basis: Basis::Probes,
    compute: Compute::Cell(|sample| Parts::One(sample.probe_results().count() as f64)),
};

/// Those without a grade.
pub const UNSCORED: Spec = Spec {
    measure: catalogue::UNSCORED,
    pool: Pool::Sum,
    basis: Basis::Probes,
    compute: Compute::Cell(|sample| {
        Parts::One(
            sample.probe_results().filter(|result| result.row.judgement.score.is_none()).count()
                as f64,
        )
    }),
};

/// Those that compression had a chance to hurt.
pub const EXPOSED: Spec = Spec {
    measure: catalogue::EXPOSED,
    pool: Pool::Mean,
    basis: Basis::Probes,
    compute: Compute::Cell(|sample| {
        let exposed = sample.answered().map(|result| f64::from(u8::from(result.exposed)));
        Parts::one(mean(exposed), "no probe asks for something that was said")
    }),
};
