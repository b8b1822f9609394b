//! How many probes a row rests on, and how many of them say something:
//! `probes`, `unscored`, `exposed`.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Spec, Unit, mean};

/// All that were put.
pub const PROBES: Spec = Spec {
    id: "probes",
    unit: Unit::Count,
    direction: Direction::Neutral,
    summary: "probes put to the contexts of the row",
    pool: Pool::Sum,
    basis: Basis::Probes,
    compute: |sample| Parts::One(sample.probe_results().count() as f64),
};

/// Those without a grade.
pub const UNSCORED: Spec = Spec {
    id: "unscored",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "probes without a grade: no answer, or no judge that could grade it",
    pool: Pool::Sum,
    basis: Basis::Probes,
    compute: |sample| {
        Parts::One(
            sample.probe_results().filter(|result| result.row.judgement.score.is_none()).count()
                as f64,
        )
    },
};

/// Those that compression had a chance to hurt.
pub const EXPOSED: Spec = Spec {
    id: "exposed",
    unit: Unit::Share,
    direction: Direction::Neutral,
    summary: "share of probes before which the preset had compacted",
    pool: Pool::Mean,
    basis: Basis::Probes,
    compute: |sample| {
        let exposed = sample.answered().map(|result| f64::from(u8::from(result.exposed)));
        Parts::one(mean(exposed), "no probe asks for something that was said")
    },
};
