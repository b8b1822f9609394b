//! `lost`, `garbled`, `unused`: why wrong answers are wrong (measures §5), as
//! shares of the graded probes that expect a value.

use crate::measure::probed::Wrong;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, Measure, catalogue};

const fn spec(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec::of_cell(measure, Pool::Mean, Basis::Probes, compute)
}

fn share(sample: &Sample<'_>, why: Wrong) -> Parts {
    let graded = sample.answered().filter_map(|result| result.wrong());
    let hits = graded.map(|wrong| f64::from(u8::from(wrong == Some(why))));
    Parts::one(mean(hits), Absent::NoGradedValue)
}

/// The value is no longer in the context.
pub const LOST: Spec = spec(catalogue::LOST, |sample| share(sample, Wrong::Lost));
/// The value is in the context, and `full` answers right.
pub const GARBLED: Spec = spec(catalogue::GARBLED, |sample| share(sample, Wrong::Garbled));
/// The value is in the context, and `full` answers wrong too.
pub const UNUSED: Spec = spec(catalogue::UNUSED, |sample| share(sample, Wrong::Unused));
