//! `abstention_rate` and `fabrication_rate`: how often answers say that they do
//! not know, and how often they assert something wrong (measures §5).

use crate::measure::probed::Wrong;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec, mean};
use crate::model::{Absent, ProbeKind, Source, Verdict, catalogue};

/// Share of answerable probes whose answer says that it does not know.
pub const ABSTENTION: Spec =
    Spec::of_cell(catalogue::ABSTENTION_RATE, Pool::Mean, Basis::Probes, |sample| {
        let graded = sample.answered().filter(|result| result.row.judgement.score.is_some());
        let abstained = graded
            .map(|result| f64::from(u8::from(result.row.judgement.verdict == Verdict::Abstained)));
        Parts::one(mean(abstained), Absent::NoneGraded)
    });

/// Wrong assertions, stale values included / (abstain + update + lost probes).
pub const FABRICATION: Spec =
    Spec::of_cell(catalogue::FABRICATION_RATE, Pool::Mean, Basis::Probes, fabrication);

fn fabrication(sample: &Sample<'_>) -> Parts {
    if sample.answered_by == Source::Lexical {
        return Parts::Absent(Absent::OnlyCopies);
    }
    let tempting = sample.probe_results().filter(|result| {
        let lost = result.wrong() == Some(Some(Wrong::Lost));
        result.score.is_some()
            && (matches!(result.kind(), ProbeKind::Abstain | ProbeKind::Update) || lost)
    });
    let claims = tempting.map(|result| f64::from(u8::from(result.is_asserted_wrong())));
    Parts::one(mean(claims), Absent::NoTemptation)
}
