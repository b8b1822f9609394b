//! `abstention_rate` and `fabrication_rate`: saying that one does not know, and
//! asserting what is not so (measures §5).

use crate::measure::probed::Wrong;
use crate::measure::spec::{Basis, Compute, Parts, Pool, Sample, Spec, mean};
use crate::model::{ProbeKind, Source, Verdict, catalogue};

/// Of what could have been answered.
pub const ABSTENTION: Spec = Spec {
    measure: catalogue::ABSTENTION_RATE,
    pool: Pool::Mean,
    basis: Basis::Probes,
    compute: Compute::Cell(|sample| {
        let graded = sample.answered().filter(|result| result.row.judgement.score.is_some());
        let abstained = graded
            .map(|result| f64::from(u8::from(result.row.judgement.verdict == Verdict::Abstained)));
        Parts::one(mean(abstained), "no probe was graded")
    }),
};

/// Asserted wrong / (abstain + update + lost probes), stale values included.
pub const FABRICATION: Spec = Spec {
    measure: catalogue::FABRICATION_RATE,
    pool: Pool::Mean,
    basis: Basis::Probes,
    compute: Compute::Cell(fabrication),
};

fn fabrication(sample: &Sample<'_>) -> Parts {
    if sample.answered_by == Source::Lexical {
        return Parts::Absent("the offline reader only copies: what it invents says nothing");
    }
    let tempting = sample.probe_results().filter(|result| {
        let lost = result.wrong() == Some(Some(Wrong::Lost));
        result.score.is_some()
            && (matches!(result.kind(), ProbeKind::Abstain | ProbeKind::Update) || lost)
    });
    let claims = tempting.map(|result| f64::from(u8::from(result.is_asserted_wrong())));
    Parts::one(mean(claims), "no probe tempts to invent")
}
