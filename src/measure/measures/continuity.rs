//! `continuity`: how many of the questions that were answered right without
//! compression are still answered right (measures §5), with the shares of its
//! four outcomes.
//!
//! It is 100 × the mean over kinds of kept / (kept + lost), on exposed probes,
//! per transcript, then averaged. Kinds with fewer than 10 probes or 3
//! transcripts in the data set are pooled. `full` is compared with itself
//! (A/A).

use std::collections::BTreeMap;

use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, Agreement, ProbeKind, catalogue};

/// See the module.
pub const SPEC: Spec = Spec::of_probes(catalogue::CONTINUITY, compute);

/// 100 for each probe that is still right and 0 for each that no longer is.
/// Their mean is `continuity` if no kind has a figure of its own, as with one
/// or two transcripts.
pub fn series(sample: &Sample<'_>) -> Vec<Option<f64>> {
    let points = sample.answered().map(|result| match result.agreement() {
        Some(Agreement::Kept) if result.exposed => Some(100.0),
        Some(Agreement::Lost) if result.exposed => Some(0.0),
        _ => None,
    });
    points.collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    // The small kinds form the group without a kind.
    let mut groups: BTreeMap<Option<ProbeKind>, (f64, f64)> = BTreeMap::new();
    for (kind, agreement) in sample.agreements() {
        let alone = sample.kinds.contains(&kind).then_some(kind);
        let (kept, lost) = match agreement {
            Agreement::Kept => (1.0, 0.0),
            Agreement::Lost => (0.0, 1.0),
            Agreement::Gained | Agreement::Neither => continue,
        };
        let group = groups.entry(alone).or_default();
        *group = (group.0 + kept, group.1 + lost);
    }
    let shares = groups.values().map(|(kept, lost)| 100.0 * kept / (kept + lost));
    Parts::one(mean(shares), Absent::NoneCompactedBeforeRight)
}

fn share_of(sample: &Sample<'_>, agreement: Agreement) -> Parts {
    let hits = sample.agreements().map(|(_, found)| f64::from(u8::from(found == agreement)));
    Parts::one(mean(hits), Absent::NoneCompactedBeforeGraded)
}

/// Right before and after.
pub const KEPT: Spec = Spec::of_probes(catalogue::KEPT, |sample| share_of(sample, Agreement::Kept));
/// Right before and wrong after.
pub const LOST: Spec =
    Spec::of_probes(catalogue::CONTINUITY_LOST, |sample| share_of(sample, Agreement::Lost));
/// Wrong before and right after.
pub const GAINED: Spec =
    Spec::of_probes(catalogue::GAINED, |sample| share_of(sample, Agreement::Gained));
/// Wrong before and after.
pub const NEITHER: Spec =
    Spec::of_probes(catalogue::NEITHER, |sample| share_of(sample, Agreement::Neither));

/// A measure for each kind of probe that can be answered.
pub fn by_kind() -> impl Iterator<Item = Spec> {
    catalogue::CONTINUITY_BY_KIND.iter().map(|measure| Spec {
        measure,
        pool: Pool::RatioOfSums,
        basis: Basis::Probes,
        compute: Compute::OfKind(of_kind),
    })
}

fn of_kind(sample: &Sample<'_>, kind: ProbeKind) -> Parts {
    let (mut kept, mut before) = (0.0, 0.0);
    for (_, agreement) in sample.agreements().filter(|(of, _)| *of == kind) {
        kept += f64::from(u8::from(agreement == Agreement::Kept));
        let right = matches!(agreement, Agreement::Kept | Agreement::Lost);
        before += f64::from(u8::from(right));
    }
    if before == 0.0 {
        return Parts::Absent(Absent::NoneCompactedBeforeRight);
    }
    Parts::Fraction { of: 100.0 * kept, to: before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::testkit::{cell, facts, sample};

    #[test]
    fn only_probes_behind_a_compaction_are_in_the_series() {
        let facts = (0..6).fold(facts("s").requests(&[1_000, 2_000]), |made, at| {
            made.probe(ProbeKind::Fact, u32::from(at > 1), 100)
        });
        let facts = facts.build();
        let full = cell("s", "full").control().sent(&[1_000, 2_000]);
        let full = full.snapshot(1, 0).answers("rrrrwr").build();
        let own = cell("s", "x").sent(&[1_000, 500]).snapshot(0, 0).answers("rw");
        let own = own.snapshot(1, 1).answers("rwru").build();
        let sample = Sample { full: Some(&full), ..sample(&facts, &own) };
        let (kept, lost) = (Some(100.0), Some(0.0));
        assert_eq!(series(&sample), [None, None, kept, lost, None, None]);
        assert_eq!(compute(&sample), Parts::One(50.0));
    }
}
