//! After how many requests a compaction has paid for itself (measures §2): the
//! simulated crossing of the bills with and without it.

use crate::measure::spec::{Basis, Direction, Parts, Pool, Spec, Unit};

/// Median over the compactions that do.
pub const REQUESTS: Spec = Spec {
    id: "break_even_requests",
    unit: Unit::Count,
    direction: Direction::Lower,
    summary: "median number of requests after which a compaction has paid for itself, over those that do",
    pool: Pool::Median,
    basis: Basis::Bill,
    compute: |sample| match sample.bill() {
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
    },
};

/// Share of those that do not.
pub const NEVER: Spec = Spec {
    id: "never_even",
    unit: Unit::Share,
    direction: Direction::Lower,
    summary: "share of the compactions that have not paid for themselves when their session ends",
    pool: Pool::RatioOfSums,
    basis: Basis::Bill,
    compute: |sample| match sample.bill() {
        Err(reason) => Parts::Unknown(reason),
        Ok(bill) if bill.break_even.is_empty() => Parts::Absent(NOTHING),
        Ok(bill) => {
            let never = bill.break_even.iter().filter(|c| c.requests.is_none()).count();
            Parts::Fraction { of: never as f64, to: bill.break_even.len() as f64 }
        }
    },
};

const NOTHING: &str = "nothing was compacted";
