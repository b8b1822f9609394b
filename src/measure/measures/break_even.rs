//! The number of requests after which a compaction has saved its cost (measures
//! §2): the simulated crossing of the bills with and without it.

use crate::measure::spec::{Basis, Parts, Pool, Spec};
use crate::model::{Absent, catalogue};

/// Median over the compactions that break even.
pub const REQUESTS: Spec =
    Spec::of_cell(catalogue::BREAK_EVEN_REQUESTS, Pool::Median, Basis::Bill, |sample| match sample
        .bill()
    {
        Err(reason) => Parts::Unknown(reason),
        Ok(bill) if bill.break_even.is_empty() => Parts::Absent(Absent::NoCompaction),
        Ok(bill) => {
            let crossings = bill.break_even.iter().filter_map(|compaction| compaction.requests);
            let crossings: Vec<f64> = crossings.map(f64::from).collect();
            if crossings.is_empty() {
                return Parts::Absent(Absent::NeverPaysForItself);
            }
            Parts::Many(crossings)
        }
    });

/// Share of the compactions that never break even.
pub const NEVER: Spec =
    Spec::of_cell(catalogue::NEVER_EVEN, Pool::RatioOfSums, Basis::Bill, |sample| {
        match sample.bill() {
            Err(reason) => Parts::Unknown(reason),
            Ok(bill) if bill.break_even.is_empty() => Parts::Absent(Absent::NoCompaction),
            Ok(bill) => {
                let never = bill.break_even.iter().filter(|c| c.requests.is_none()).count();
                Parts::Fraction { of: never as f64, to: bill.break_even.len() as f64 }
            }
        }
    });
