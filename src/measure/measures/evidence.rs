//! `evidence_*`: what became of the messages that answer the probes, by the
//! worst state of each probe's evidence (`measures` §4, `semantics` 29). No
//! answerer and no judge is needed for them.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit, mean};
use crate::model::LedgerState;

const fn spec(
    id: &'static str,
    direction: Direction,
    summary: &'static str,
    compute: fn(&Sample<'_>) -> Parts,
) -> Spec {
    Spec {
        id,
        unit: Unit::Share,
        direction,
        summary,
        pool: Pool::Mean,
        basis: Basis::Probes,
        compute,
    }
}

fn share(sample: &Sample<'_>, state: LedgerState) -> Parts {
    let states = sample.answered().filter_map(|result| result.row.evidence);
    let hits = states.map(|worst| f64::from(u8::from(worst == state)));
    Parts::one(mean(hits), "no probe names its evidence")
}

/// Sent as recorded.
pub const VERBATIM: Spec = spec(
    "evidence_verbatim",
    Direction::Higher,
    "share of probes whose evidence is all sent as recorded",
    |sample| share(sample, LedgerState::Verbatim),
);
/// Sent with a part replaced.
pub const EDITED: Spec = spec(
    "evidence_edited",
    Direction::Neutral,
    "share of probes whose evidence is at worst edited",
    |sample| share(sample, LedgerState::Edited),
);
/// Covered by a summary.
pub const FOLDED: Spec = spec(
    "evidence_folded",
    Direction::Neutral,
    "share of probes whose evidence is at worst covered by a summary",
    |sample| share(sample, LedgerState::Folded),
);
/// Not sent in any form.
pub const GONE: Spec = spec(
    "evidence_gone",
    Direction::Lower,
    "share of probes with evidence that is not sent in any form",
    |sample| share(sample, LedgerState::Gone),
);

/// Whether the value itself is there, wherever it stands.
pub const ANSWERABLE: Spec = spec(
    "answerable",
    Direction::Higher,
    "share of probes whose expected value stands in the context, not negated nearby",
    |sample| {
        let there = sample.answered().filter_map(|result| result.has_value());
        Parts::one(mean(there.map(|yes| f64::from(u8::from(yes)))), "no probe expects a value")
    },
);
