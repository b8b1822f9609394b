//! `continuity`: of what could be answered before compression, how much still
//! can be (`measures` §5). With it the shares of its four outcomes.
//!
//! 100 × the mean over kinds of kept / (kept + lost), on exposed probes, per
//! transcript, then averaged. Kinds with fewer than 10 probes or 3 transcripts
//! in the data set are pooled. `full` stands against itself (A/A).

use std::collections::BTreeMap;

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit, mean};
use crate::model::{Agreement, ProbeKind};

/// Why a cell has no continuity.
const NOTHING: &str = "nothing was compacted before a probe that the whole conversation gets right";

/// See the module.
pub const SPEC: Spec = Spec {
    id: "continuity",
    unit: Unit::Points,
    direction: Direction::Higher,
    summary: "of what the whole conversation answers right, the part that the preset still does",
    pool: Pool::Mean,
    basis: Basis::Probes,
    compute,
};

/// 100 for each probe that is still right and 0 for each that no longer is.
/// Their mean is `continuity` where no kind stands alone, as with one or two
/// transcripts.
pub fn series(sample: &Sample<'_>) -> Vec<Option<f64>> {
    let points = sample.answered().map(|result| match result.agreement() {
        Some(Agreement::Kept) if result.exposed => Some(100.0),
        Some(Agreement::Lost) if result.exposed => Some(0.0),
        _ => None,
    });
    points.collect()
}

fn compute(sample: &Sample<'_>) -> Parts {
    // The pool of the small kinds is the group without a kind.
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
    Parts::one(mean(shares), NOTHING)
}

/// The share of exposed probes with one outcome.
macro_rules! outcome {
    ($name:ident, $id:literal, $agreement:expr, $direction:expr, $summary:literal) => {
        #[doc = concat!("`", $id, "`: ", $summary, ".")]
        pub const $name: Spec = Spec {
            id: $id,
            unit: Unit::Share,
            direction: $direction,
            summary: $summary,
            pool: Pool::Mean,
            basis: Basis::Probes,
            compute: |sample| {
                let hits = sample.agreements().map(|(_, a)| f64::from(u8::from(a == $agreement)));
                Parts::one(mean(hits), "nothing was compacted before a graded probe")
            },
        };
    };
}
outcome!(
    KEPT,
    "kept",
    Agreement::Kept,
    Direction::Higher,
    "share of exposed probes that are right before and after"
);
outcome!(
    LOST,
    "continuity_lost",
    Agreement::Lost,
    Direction::Lower,
    "share of exposed probes that are right before and wrong after"
);
outcome!(
    GAINED,
    "gained",
    Agreement::Gained,
    Direction::Neutral,
    "share of exposed probes that are wrong before and right after"
);
outcome!(
    NEITHER,
    "neither",
    Agreement::Neither,
    Direction::Neutral,
    "share of exposed probes that are wrong before and after"
);

/// The kind at a position of [`ProbeKind::ALL`].
struct Kind<const AT: usize>;

impl<const AT: usize> Kind<AT> {
    const fn spec(id: &'static str) -> Spec {
        Spec {
            id,
            unit: Unit::Points,
            direction: Direction::Higher,
            summary: "continuity over the probes of this kind, all transcripts together",
            pool: Pool::RatioOfSums,
            basis: Basis::Probes,
            compute: Self::compute,
        }
    }

    fn compute(sample: &Sample<'_>) -> Parts {
        let (mut kept, mut before) = (0.0, 0.0);
        for (kind, agreement) in sample.agreements() {
            if kind == ProbeKind::ALL[AT] {
                kept += f64::from(u8::from(agreement == Agreement::Kept));
                let right = matches!(agreement, Agreement::Kept | Agreement::Lost);
                before += f64::from(u8::from(right));
            }
        }
        if before == 0.0 {
            return Parts::Absent(NOTHING);
        }
        Parts::Fraction { of: 100.0 * kept, to: before }
    }
}

/// One per kind but abstain, in the order of [`ProbeKind::ALL`].
pub static KINDS: [Spec; 16] = [
    Kind::<0>::spec("continuity_fact"),
    Kind::<1>::spec("continuity_decision"),
    Kind::<2>::spec("continuity_artifact"),
    Kind::<3>::spec("continuity_plan"),
    Kind::<4>::spec("continuity_update"),
    Kind::<5>::spec("continuity_temporal"),
    Kind::<6>::spec("continuity_multi-hop"),
    Kind::<7>::spec("continuity_constraint"),
    Kind::<8>::spec("continuity_preference"),
    Kind::<9>::spec("continuity_tone"),
    Kind::<10>::spec("continuity_shared-concept"),
    Kind::<11>::spec("continuity_snapshot"),
    Kind::<12>::spec("continuity_ordering"),
    Kind::<13>::spec("continuity_summary"),
    Kind::<14>::spec("continuity_contradiction"),
    Kind::<15>::spec("continuity_open-domain"),
];
