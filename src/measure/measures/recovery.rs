//! `recall_recovery`, `recovery_calls`, `recovery_tokens`: what a channel back
//! to what was dropped brings, and what it takes (`measures` §5).

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit, mean};
use crate::model::Recovered;

/// Why other presets have no figure.
const NO_CHANNEL: &str = "the preset has no recovery channel";

const fn spec(
    id: &'static str,
    (unit, direction): (Unit, Direction),
    summary: &'static str,
    compute: fn(&Sample<'_>) -> Parts,
) -> Spec {
    Spec { id, unit, direction, summary, pool: Pool::Mean, basis: Basis::Probes, compute }
}

/// `recall` with the channel.
pub const RECALL: Spec = spec(
    "recall_recovery",
    (Unit::Share, Direction::Higher),
    "mean score of the probes that ask for something that was said, with the recovery channel",
    |sample| {
        if sample.probe_results().all(|result| result.row.recovered.is_none()) {
            return Parts::Absent(NO_CHANNEL);
        }
        let scores = sample.answered().filter_map(|result| sample.cell.recovered_score(result.row));
        Parts::one(mean(scores), "no probe was graded")
    },
);

/// Searches made.
pub const CALLS: Spec = spec(
    "recovery_calls",
    (Unit::Count, Direction::Lower),
    "mean calls of the recovery channel per probe",
    |sample| taken(sample, |recovered| f64::from(recovered.calls)),
);

/// What they gave.
pub const TOKENS: Spec = spec(
    "recovery_tokens",
    (Unit::Tokens, Direction::Lower),
    "mean tokens that the recovery channel gave back per probe",
    |sample| taken(sample, |recovered| recovered.tokens as f64),
);

fn taken(sample: &Sample<'_>, figure: fn(&Recovered) -> f64) -> Parts {
    let recovered = sample.probe_results().filter_map(|result| result.row.recovered.as_ref());
    Parts::one(mean(recovered.map(figure)), NO_CHANNEL)
}
