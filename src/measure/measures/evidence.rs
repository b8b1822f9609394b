//! `evidence_*`: the state of the messages that answer the probes, by the worst
//! state of each probe's evidence (measures §4, semantics §29). These measures
//! need no answerer and no judge.

use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, LedgerState, Measure, catalogue};

const fn spec(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Spec {
    Spec::of_cell(measure, Pool::Mean, Basis::Probes, compute)
}

fn share(sample: &Sample<'_>, state: LedgerState) -> Parts {
    let states = sample.answered().filter_map(|result| result.row.evidence);
    let hits = states.map(|worst| f64::from(u8::from(worst == state)));
    Parts::one(mean(hits), Absent::NoEvidenceNamed)
}

/// Share of probes whose evidence is sent as recorded.
pub const VERBATIM: Spec =
    spec(catalogue::EVIDENCE_VERBATIM, |sample| share(sample, LedgerState::Verbatim));
/// Share of probes whose evidence is sent with a part replaced.
pub const EDITED: Spec =
    spec(catalogue::EVIDENCE_EDITED, |sample| share(sample, LedgerState::Edited));
/// Share of probes whose evidence is covered by a summary.
pub const FOLDED: Spec =
    spec(catalogue::EVIDENCE_FOLDED, |sample| share(sample, LedgerState::Folded));
/// Share of probes whose evidence is not sent in any form.
pub const GONE: Spec = spec(catalogue::EVIDENCE_GONE, |sample| share(sample, LedgerState::Gone));

/// Share of probes whose expected value is anywhere in the context.
pub const ANSWERABLE: Spec = spec(catalogue::ANSWERABLE, |sample| {
    let there = sample.answered().filter_map(|result| result.has_value());
    Parts::one(mean(there.map(|yes| f64::from(u8::from(yes)))), Absent::NoValueExpected)
});
