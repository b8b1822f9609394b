//! `cost_savings`: 1 − the bill / the bill of `full` at the same window under
//! the same agent model (measures §2). It is negative if compression costs more
//! than it saves, which is frequent.
//!
//! If `full` is larger than the window, its bill is hypothetical, and
//! `cost_savings_vs_recorded` is the relevant figure.

use crate::measure::money::AS_BILLED;
use crate::measure::spec::{Basis, Parts, Pool, Sample, Spec};
use crate::model::{Absent, Cell, catalogue};

/// Savings against the whole conversation.
pub(super) const AGAINST_FULL: Spec =
    Spec::of_cell(catalogue::COST_SAVINGS, Pool::RatioOfSums, Basis::Bill, |sample| {
        against(sample, sample.full, Absent::NoBillOfFull)
    });

/// Savings against what the recorded agent really sent.
pub(super) const AGAINST_RECORDED: Spec =
    Spec::of_cell(catalogue::COST_SAVINGS_VS_RECORDED, Pool::RatioOfSums, Basis::Bill, |sample| {
        against(sample, sample.recorded, Absent::NoBillOfRecorded)
    });

fn against<'a>(sample: &Sample<'a>, other: Option<&'a Cell>, missing: Absent) -> Parts {
    let Some(other) = other else { return Parts::Absent(missing) };
    let usd = || {
        let own = sample.account()?.session(AS_BILLED)?;
        Ok((own, sample.account_beside(other)?.session(AS_BILLED)?))
    };
    match usd() {
        Ok((_, other)) if other <= 0.0 => Parts::Absent(Absent::NothingBilled),
        Ok((own, other)) => Parts::Fraction { of: other - own, to: other },
        Err(reason) => Parts::Unknown(reason),
    }
}
