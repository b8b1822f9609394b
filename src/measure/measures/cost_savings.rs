//! `cost_savings`: 1 − the bill / the bill of `full` at the same window under
//! the same agent model (measures §2). Negative where compression costs more
//! than it saves, and it often is.
//!
//! Where `full` is over the window its bill is hypothetical, and
//! `cost_savings_vs_recorded` stands beside it.

use crate::measure::money::AS_BILLED;
use crate::measure::spec::{Basis, Direction, Parts, Pool, Sample, Spec, Unit};
use crate::model::Cell;

/// Against the whole conversation.
pub const AGAINST_FULL: Spec = Spec {
    id: "cost_savings",
    unit: Unit::Share,
    direction: Direction::Higher,
    summary: "share of the whole conversation's bill that is saved; negative where the bill is higher",
    pool: Pool::RatioOfSums,
    basis: Basis::Bill,
    compute: |sample| against(sample, sample.full, "needs the bill of `full`"),
};

/// Against what the vendor's agent really did.
pub const AGAINST_RECORDED: Spec = Spec {
    id: "cost_savings_vs_recorded",
    summary: "where the whole conversation is over the window: share saved of the bill of what the recorded agent really sent",
    compute: |sample| against(sample, sample.recorded, "needs the bill of the control `recorded`"),
    ..AGAINST_FULL
};

fn against<'a>(sample: &Sample<'a>, other: Option<&'a Cell>, missing: &'static str) -> Parts {
    let Some(other) = other else { return Parts::Absent(missing) };
    let usd = || {
        let own = sample.account()?.session(AS_BILLED)?;
        Ok((own, sample.account_beside(other)?.session(AS_BILLED)?))
    };
    match usd() {
        Ok((_, other)) if other <= 0.0 => Parts::Absent("nothing was billed"),
        Ok((own, other)) => Parts::Fraction { of: other - own, to: other },
        Err(reason) => Parts::Unknown(reason),
    }
}
