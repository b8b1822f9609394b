//! `lost`, `garbled`, `unused`: why wrong answers are wrong (`measures` §5),
//! as shares of the graded probes that expect a value.

use crate::measure::probed::Wrong;
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit, mean};

const fn spec(id: &'static str, summary: &'static str, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec {
        id,
        unit: Unit::Share,
        direction: Direction::Lower,
        summary,
        pool: Pool::Mean,
        basis: Basis::Probes,
        compute,
    }
}

fn share(sample: &Sample<'_>, why: Wrong) -> Parts {
    let graded = sample.answered().filter_map(|result| result.wrong());
    let hits = graded.map(|wrong| f64::from(u8::from(wrong == Some(why))));
    Parts::one(mean(hits), "no graded probe expects a value")
}

/// The value went.
pub const LOST: Spec = spec(
    "lost",
    "share of probes that are wrong and whose value is not in the context",
    |sample| share(sample, Wrong::Lost),
);
/// The value is there and was understood before.
pub const GARBLED: Spec = spec(
    "garbled",
    "share of probes that are wrong though the value is there and `full` is right",
    |sample| share(sample, Wrong::Garbled),
);
/// The value is there and nobody finds it.
pub const UNUSED: Spec = spec(
    "unused",
    "share of probes that are wrong though the value is there, under `full` as well",
    |sample| share(sample, Wrong::Unused),
);
