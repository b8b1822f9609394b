//! `recall_recovery`, `recovery_calls`, `recovery_tokens`: the benefit and the
//! cost of a channel to dropped messages (measures §5).

use crate::measure::spec::{Parts, Sample, Spec, mean};
use crate::model::{Absent, Recovered, catalogue};

/// `recall` with the channel.
pub const RECALL: Spec = Spec::of_probes(catalogue::RECALL_RECOVERY, |sample| {
    if sample.probe_results().all(|result| result.row.recovered.is_none()) {
        return Parts::Absent(Absent::NoChannel);
    }
    let scores = sample.answered().filter_map(|result| sample.cell.recovered_score(result.row));
    Parts::one(mean(scores), Absent::NoneGraded)
});

/// Searches made.
pub const CALLS: Spec = Spec::of_probes(catalogue::RECOVERY_CALLS, |sample| {
    taken(sample, |recovered| f64::from(recovered.calls))
});

/// What they gave.
pub const TOKENS: Spec = Spec::of_probes(catalogue::RECOVERY_TOKENS, |sample| {
    taken(sample, |recovered| recovered.tokens as f64)
});

fn taken(sample: &Sample<'_>, figure: fn(&Recovered) -> f64) -> Parts {
    let recovered = sample.probe_results().filter_map(|result| result.row.recovered.as_ref());
    Parts::one(mean(recovered.map(figure)), Absent::NoChannel)
}
