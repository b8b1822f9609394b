//! After how many requests a compaction has paid for itself (measures §2): the
//! simulated crossing of the bills with and without it.

use crate::measure::spec::{Basis, Compute, Parts, Pool, Spec};
use crate::model::catalogue;

/// Median over the compactions that do.
pub const REQUESTS: Spec = Spec {
    measure: catalogue::BREAK_EVEN_REQUESTS,
    pool: Pool::Median,
    basis: Basis::Bill,
    compute: Compute::Cell(|sample| match sample.bill() {
        Err(reason) => Parts::Unknown(reason),
        Ok(bill) if bill.break_even.is_empty() => Parts::Absent(NOTHING),
        Ok(bill) => {
            let crossings = bill.break_even.iter().filter_map(|compaction| compaction.requests);
            let crossings: Vec<f64> = crossings.map(f64::from).collect();
            if crossings.is_empty() {
                return Parts::Absent("no compaction pays for itself before its session ends");
            }
            Parts::Many(crossings)
        }
    }),
};

/// Share of those that do not.
pub const NEVER: Spec = Spec {
    measure: catalogue::NEVER_EVEN,
    pool: Pool::RatioOfSums,
    basis: Basis::Bill,
    compute: Compute::Cell(|sample| match sample.bill() {
        Err(reason) => Parts::Unknown(reason),
        Ok(bill) if bill.break_even.is_empty() => Parts::Absent(NOTHING),
        Ok(bill) => {
            let never = bill.break_even.iter().filter(|c| c.requests.is_none()).count();
            Parts::Fraction { of: never as f64, to: bill.break_even.len() as f64 }
        }
    }),
};

const NOTHING: &str = "nothing was compacted";
