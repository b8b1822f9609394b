//! `evidence_*`: the state of the messages that answer the probes, by the worst
//! state of each probe's evidence (measures §4, semantics §29). These measures
//! need no answerer and no judge.

use crate::measure::spec::{Parts, Sample, Spec, mean};
use crate::model::{Absent, LedgerState, catalogue};

fn share(sample: &Sample<'_>, state: LedgerState) -> Parts {
    let states = sample.answered().filter_map(|result| result.row.evidence);
    let hits = states.map(|worst| f64::from(u8::from(worst == state)));
    Parts::one(mean(hits), Absent::NoEvidenceNamed)
}

/// Share of probes whose evidence is sent as recorded.
pub(super) const VERBATIM: Spec =
    Spec::of_probes(catalogue::EVIDENCE_VERBATIM, |sample| share(sample, LedgerState::Verbatim));
/// Sent with a part replaced.
pub(super) const EDITED: Spec =
    Spec::of_probes(catalogue::EVIDENCE_EDITED, |sample| share(sample, LedgerState::Edited));
/// Covered by a summary.
pub const FOLDED: Spec =
    Spec::of_probes(catalogue::EVIDENCE_FOLDED, |sample| share(sample, LedgerState::Folded));
/// Not sent in any form.
pub const GONE: Spec =
    Spec::of_probes(catalogue::EVIDENCE_GONE, |sample| share(sample, LedgerState::Gone));

/// Whether the value itself is there, wherever it stands.
pub const ANSWERABLE: Spec = Spec::of_probes(catalogue::ANSWERABLE, |sample| {
    let there = sample.answered().filter_map(|result| result.has_value());
    Parts::one(mean(there.map(|yes| f64::from(u8::from(yes)))), Absent::NoValueExpected)
});
