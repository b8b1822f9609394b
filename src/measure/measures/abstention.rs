//! `abstention_rate` and `fabrication_rate`: how often answers say that they do
//! not know, and how often they assert something wrong (measures §5).

use crate::measure::probed::Wrong;
use crate::measure::spec::{Parts, Sample, Spec, mean};
use crate::model::{Absent, ProbeKind, Source, Verdict, catalogue};

/// Of what could have been answered.
pub(super) const ABSTENTION: Spec = Spec::of_probes(catalogue::ABSTENTION_RATE, |sample| {
    let graded = sample.answered().filter(|result| result.row.judgement.score.is_some());
    let abstained = graded
        .map(|result| f64::from(u8::from(result.row.judgement.verdict == Verdict::Abstained)));
    Parts::one(mean(abstained), Absent::NoneGraded)
});

/// Asserted wrong / (abstain + update + lost probes), stale values included.
pub(super) const FABRICATION: Spec = Spec::of_probes(catalogue::FABRICATION_RATE, fabrication);

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
