//! `recall` and `recall_<kind>`: the mean score of the probes according to the
//! judge (measures §5).
//!
//! Unanswerable probes have a column of their own (`recall_abstain`). A probe
//! at a request that the provider would have refused has score 0, except for
//! controls.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ProbeKind, catalogue};

/// Over every kind but abstain.
pub const SPEC: Spec = Spec::of_probes(catalogue::RECALL, compute);

/// The score of every probe, in the order of the probes.
pub fn series(sample: &Sample<'_>) -> Vec<Option<f64>> {
    sample.answered().map(|result| result.score).collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::one(mean(series(sample).into_iter().flatten()), Absent::NoneGraded)
}

/// A measure for each kind of probe.
pub fn by_kind() -> impl Iterator<Item = Spec> {
    let measures = catalogue::RECALL_BY_KIND.iter().chain([catalogue::RECALL_ABSTAIN]);
    measures.map(|measure| Spec {
        measure,
        pool: Pool::Mean,
        basis: Basis::Probes,
        compute: Compute::OfKind(of_kind),
    })
}

fn of_kind(sample: &Sample<'_>, kind: ProbeKind) -> Parts {
    let of_kind = sample.probe_results().filter(|result| result.kind() == kind);
    Parts::one(mean(of_kind.filter_map(|result| result.score)), Absent::NoneOfKindGraded)
}
