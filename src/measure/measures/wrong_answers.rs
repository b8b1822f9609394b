//! `lost`, `garbled`, `unused`: why wrong answers are wrong (measures §5), as
//! shares of the graded probes that expect a value.

use crate::measure::probed::Wrong;
use crate::measure::spec::{Parts, Sample, Spec, mean};
use crate::model::{Absent, catalogue};

fn share(sample: &Sample<'_>, why: Wrong) -> Parts {
    let graded = sample.answered().filter_map(|result| result.wrong());
    let hits = graded.map(|wrong| f64::from(u8::from(wrong == Some(why))));
    Parts::one(mean(hits), Absent::NoGradedValue)
}

/// The value went.
pub const LOST: Spec = Spec::of_probes(catalogue::LOST, |sample| share(sample, Wrong::Lost));
/// The value is there and was understood before.
pub const GARBLED: Spec =
    Spec::of_probes(catalogue::GARBLED, |sample| share(sample, Wrong::Garbled));
/// The value is there and nobody finds it.
pub const UNUSED: Spec = Spec::of_probes(catalogue::UNUSED, |sample| share(sample, Wrong::Unused));
