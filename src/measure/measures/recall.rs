//! `recall` and `recall_<kind>`: the mean score of the probes, as the judge
//! gave it (`measures` §5).
//!
//! Probes that are unanswerable stand alone (`recall_abstain`). A probe at a
//! request that the provider would have refused scores 0, controls apart.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit, mean};
use crate::model::ProbeKind;

/// Why a cell has no score.
const NOTHING: &str = "no probe of this kind was graded";

/// Over every kind but abstain.
pub const SPEC: Spec = Spec {
    id: "recall",
    unit: Unit::Share,
    direction: Direction::Higher,
    summary: "mean score of the probes that ask for something that was said",
    pool: Pool::Mean,
    basis: Basis::Probes,
    compute,
};

/// The score of every probe, in their order.
pub fn series(sample: &Sample<'_>) -> Vec<Option<f64>> {
    sample.answered().map(|result| result.score).collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    Parts::one(mean(series(sample).into_iter().flatten()), "no probe was graded")
}

/// The kind at a position of [`ProbeKind::ALL`].
struct Kind<const AT: usize>;

impl<const AT: usize> Kind<AT> {
    const fn spec(id: &'static str) -> Spec {
        Spec {
            id,
            unit: Unit::Share,
            direction: Direction::Higher,
            summary: "mean score of the probes of this kind",
            pool: Pool::Mean,
            basis: Basis::Probes,
            compute: Self::compute,
        }
    }

    fn compute(sample: &Sample<'_>) -> Parts {
        let kind = ProbeKind::ALL[AT];
        let of_kind = sample.probe_results().filter(|result| result.kind() == kind);
        Parts::one(mean(of_kind.filter_map(|result| result.score)), NOTHING)
    }
}

/// One per kind, in the order of [`ProbeKind::ALL`].
pub static KINDS: [Spec; 17] = [
    Kind::<0>::spec("recall_fact"),
    Kind::<1>::spec("recall_decision"),
    Kind::<2>::spec("recall_artifact"),
    Kind::<3>::spec("recall_plan"),
    Kind::<4>::spec("recall_update"),
    Kind::<5>::spec("recall_temporal"),
    Kind::<6>::spec("recall_multi-hop"),
    Kind::<7>::spec("recall_constraint"),
    Kind::<8>::spec("recall_preference"),
    Kind::<9>::spec("recall_tone"),
    Kind::<10>::spec("recall_shared-concept"),
    Kind::<11>::spec("recall_snapshot"),
    Kind::<12>::spec("recall_ordering"),
    Kind::<13>::spec("recall_summary"),
    Kind::<14>::spec("recall_contradiction"),
    Kind::<15>::spec("recall_open-domain"),
    Kind::<16>::spec("recall_abstain"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_column() {
        for (spec, kind) in KINDS.iter().zip(ProbeKind::ALL) {
            assert_eq!(spec.id, format!("recall_{}", kind.as_str()));
        }
    }
}
