//! The cost of a cut: the compaction, and the requests after it with and
//! without the compaction (how-it-works §45, money of a cut).

use super::part::CutSegment;
use crate::plan::Plan;
use recap_billing::pricing::Agent;
use recap_core::model::{Bill, CallBill, CellRows, CutBill, RequestFacts};

/// Dollars below which a difference counts as zero: rounding must not delay a
/// crossing.
const NOTHING: f64 = 1e-12;

/// The cost of each request after a cut, billing model by billing model; `None` if a price is
/// unknown. Requests that the recording shows as not billed cost nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline(Vec<Option<Vec<f64>>>);

/// The bills of a cut, and the cost of its requests. `begun` is the number of
/// compactions that had begun when the first request after the cut was sent.
pub(super) fn bills(
    part: &CutSegment,
    plan: &Plan,
    rows: &CellRows,
    begun: u32,
    without: Option<&Baseline>,
) -> (Vec<CutBill>, Baseline) {
    let billing_models = rows.bills.iter().zip(plan.agents.iter());
    let each: Vec<CutPayer<'_>> =
        billing_models.map(|(bill, agent)| CutPayer { part, plan, rows, bill, agent }).collect();
    let costs = each.iter().map(|billing_model| billing_model.by_request(begun));
    let own = Baseline(costs.collect());
    let compacted = begun > 0;
    let bills = each.iter().enumerate().map(|(at, billing_model)| {
        let with = own.0[at].as_deref();
        let without = without.map_or(with, |baseline| baseline.0[at].as_deref());
        billing_model.bill(billing_model.compactions(begun), with.zip(without), compacted)
    });
    (bills.collect(), own)
}

/// One billing model's bill for a cut.
struct CutPayer<'a> {
    part: &'a CutSegment,
    plan: &'a Plan,
    rows: &'a CellRows,
    bill: &'a Bill,
    agent: &'a Agent,
}

impl CutPayer<'_> {
    /// Cost in dollars of the compactions that led to the cut.
    fn compactions(&self, begun: u32) -> Option<f64> {
        let calls = self.bill.calls.iter().filter(|call| self.is_before(call, begun));
        calls.map(|call| self.call(call)).sum()
    }

    /// Whether a call was made for one of the compactions that had begun at the
    /// cut. The rows are in the order in which the compactions took effect.
    fn is_before(&self, call: &CallBill, begun: u32) -> bool {
        let row = &self.rows.compactions[call.compaction as usize];
        begun > 0 && row.begun <= self.part.first
    }

    fn call(&self, call: &CallBill) -> Option<f64> {
        let prices = self.plan.compactor.as_deref().unwrap_or(self.agent).prices.as_deref()?;
        let begun = self.rows.compactions[call.compaction as usize].begun as usize;
        let at = self.requests().get(begun).or(self.requests().last())?.at;
        prices.standard().request_usd(&call.prompt.billed, call.output, at)
    }

    fn requests(&self) -> &[RequestFacts] {
        &self.part.subject.facts.requests
    }

    /// Cost in dollars of each request after the cut, with later compactions
    /// that the request waited for.
    fn by_request(&self, begun: u32) -> Option<Vec<f64>> {
        let first = self.part.first as usize;
        let billed = self.bill.requests[first..].iter().zip(&self.requests()[first..]);
        let mut usd = Vec::new();
        for (bill, request) in billed {
            usd.push(match bill {
                Some(bill) => {
                    let prices = self.agent.of_request(bill.model).prices.as_deref()?;
                    prices.standard().request_usd(
                        &bill.prompt.billed,
                        request.output,
                        request.at,
                    )?
                }
                None => 0.0,
            });
        }
        for call in self.bill.calls.iter().filter(|call| !self.is_before(call, begun)) {
            let row = &self.rows.compactions[call.compaction as usize];
            let at = (row.begun as usize).saturating_sub(first).min(usd.len().checked_sub(1)?);
            usd[at] += self.call(call)?;
        }
        Some(usd)
    }

    fn bill(
        &self,
        compactions: Option<f64>,
        both: Option<(&[f64], &[f64])>,
        compacted: bool,
    ) -> CutBill {
        let known = compactions.zip(both).filter(|_| compacted);
        CutBill {
            billed_as: self.bill.billed_as.clone(),
            compactions_usd: compactions,
            with_usd: both.map(|(with, _)| with.iter().sum()),
            without_usd: both.map(|(_, without)| without.iter().sum()),
            pays_after: known.and_then(|(call, (with, without))| crossing(call, with, without)),
            saved_per_request_usd: known.and_then(|(_, (with, without))| rate(with, without)),
        }
    }
}

/// The first request, from 1, at which the bill with the compaction is no
/// higher than without.
fn crossing(call: f64, with: &[f64], without: &[f64]) -> Option<u32> {
    let mut behind = call;
    let each = with.iter().zip(without).position(|(with, without)| {
        behind += with - without;
        behind <= NOTHING
    });
    each.map(|at| at as u32 + 1)
}

/// Mean saving in dollars per request from the second request on: at the first
/// one the cache is written anew.
fn rate(with: &[f64], without: &[f64]) -> Option<f64> {
    let later = || with.iter().zip(without).skip(1);
    let requests = later().count();
    let saved: f64 = later().map(|(with, without)| without - with).sum();
    (requests > 0).then(|| saved / requests as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn break_even_is_first_request_with_equal_sums() {
        // The call costs 3.0; then 5 - 4, 1 - 3 and 1 - 3 give 4.0, 2.0 and
        // 0.0.
        let (with, without) = ([5.0, 1.0, 1.0], [4.0, 3.0, 3.0]);
        assert_eq!(crossing(3.0, &with, &without), Some(3));
        assert_eq!(crossing(3.1, &with, &without), None);
        assert_eq!(crossing(0.0, &[1.0], &[1.0]), Some(1));
        assert_eq!(rate(&with, &without), Some(2.0));
        assert_eq!(rate(&[5.0], &[4.0]), None);
    }
}
