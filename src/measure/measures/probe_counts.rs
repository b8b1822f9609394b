//! Numbers of probes behind a row: `probes`, `unscored`, `exposed`.

use crate::measure::spec::{Basis, Parts, Pool, Spec, mean};
use crate::model::{Absent, catalogue};

/// Number of probes that were asked.
pub const PROBES: Spec = Spec::of_cell(catalogue::PROBES, Pool::Sum, Basis::Probes, |sample| {
    Parts::One(sample.probe_results().count() as f64)
});

/// Number of probes without a grade.
pub const UNSCORED: Spec = Spec::of_cell(catalogue::UNSCORED, Pool::Sum, Basis::Probes, |sample| {
    Parts::One(
        sample.probe_results().filter(|result| result.row.judgement.score.is_none()).count() as f64
    )
});

/// Those that compression had a chance to hurt.
pub const EXPOSED: Spec = Spec::of_probes(catalogue::EXPOSED, |sample| {
    let exposed = sample.answered().map(|result| f64::from(u8::from(result.exposed)));
    Parts::one(mean(exposed), Absent::NothingSaid)
});
