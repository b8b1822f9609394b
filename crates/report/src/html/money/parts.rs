//! What one session's bill is made of.
//!
//! Invariant: the parts of a bill add up to it. What a model without a price answered is left
//! out, as in the bill.

use recap_billing::pricing::{PriceList, Tariff};
use recap_core::model::{Bill, Buckets, CellRows, RequestFacts, SessionFacts};

/// A bill in USD by what is paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BillParts {
    /// Prompts: read from the cache.
    read: f64,
    /// Written to it, and kept in it.
    written: f64,
    /// Past the cache.
    input: f64,
    /// What the agent wrote.
    output: f64,
    /// Calls of the compactor, prompts and outputs.
    calls: f64,
}

impl BillParts {
    /// The parts in the order of the receipt.
    pub(super) fn each(&self) -> [f64; 5] {
        [self.read, self.written, self.input, self.output, self.calls]
    }

    pub(crate) fn total(&self) -> f64 {
        self.each().iter().sum()
    }

    pub(super) fn plus(self, other: Self) -> Self {
        BillParts {
            read: self.read + other.read,
            written: self.written + other.written,
            input: self.input + other.input,
            output: self.output + other.output,
            calls: self.calls + other.calls,
        }
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        let [read, written, input, output, calls] = self.each().map(|usd| usd * by);
        BillParts { read, written, input, output, calls }
    }

    /// Adds the prompt and the answer of a request.
    fn add(
        &mut self,
        tariff: &mut Tariff<'_>,
        prompt: &Buckets,
        request: &RequestFacts,
    ) -> Option<()> {
        let (tokens, at) = (prompt.prompt(), request.at);
        let rates = tariff.rates(tokens, at);
        let full = rates.input?;
        let read = prompt.read as f64 * rates.cache_read.unwrap_or(full);
        let input = prompt.uncached as f64 * full;
        self.read += read;
        self.input += input;
        // What is left is writing, by the hour or not, and keeping.
        self.written += tariff.prompt_usd(prompt, at)? - read - input;
        self.output += tariff.output_usd(tokens, request.output, at)?;
        Some(())
    }
}

/// The bill of a session in parts; `None` where its model, or that of its calls, has no price.
pub(crate) fn parts(
    rows: &CellRows,
    bill: &Bill,
    facts: &SessionFacts,
    prices: &PriceList,
) -> Option<BillParts> {
    prices.find(&bill.model).ok()?;
    let tariff = |model| Some(prices.find(model).ok()?.standard());
    let mut tariffs: Vec<Option<Tariff<'_>>> = bill.models().map(tariff).collect();
    let mut parts = BillParts::default();
    for (request, billed) in facts.requests.iter().zip(&bill.requests) {
        let Some(billed) = billed else { continue };
        let Some(tariff) = tariffs.get_mut(billed.model as usize)? else { continue };
        parts.add(tariff, &billed.prompt.billed, request)?;
    }
    if bill.calls.is_empty() {
        return Some(parts);
    }
    let mut tariff = tariff(bill.call_model())?;
    for call in &bill.calls {
        // Billed at the request that followed when the compaction began, or the last one.
        let begun = rows.compactions.get(call.compaction as usize)?.begun as usize;
        let Some(last) = facts.requests.len().checked_sub(1) else { continue };
        let (prompt, at) = (&call.prompt.billed, facts.requests[begun.min(last)].at);
        parts.calls += tariff.prompt_usd(prompt, at)?;
        parts.calls += tariff.output_usd(prompt.prompt(), call.output, at)?;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::{Cell, CellOutcome, PromptBill, RequestBill};

    fn of(cell: &Cell, facts: &SessionFacts, prices: &PriceList) -> Option<BillParts> {
        let rows = cell.rows().unwrap();
        parts(rows, &rows.bills[0], facts, prices)
    }

    #[test]
    fn each_prompt_bucket_is_paid_at_its_rate() {
        let mut report = Kit { sessions: 1, ..Kit::default() }.report();
        let facts = report.sessions[0].clone();
        let prices = PriceList::from(&report.manifest.prices);
        let cell = report.results.cells_mut().find(|c| c.key.strategy == "full").unwrap();
        let CellOutcome::Done(rows) = &mut cell.outcome else { panic!("it ran") };
        let bill = Arc::make_mut(&mut rows.bills[0]);
        bill.requests.iter_mut().for_each(|request| *request = None);
        let billed = Buckets { read: 1_000, write: 400, uncached: 600, ..Buckets::default() };
        let prompt = PromptBill { billed, ..PromptBill::default() };
        bill.requests[0] = Some(RequestBill { prompt, rewritten: 500, model: 0 });
        bill.calls.clear();
        let parts = of(cell, &facts, &prices).unwrap();
        // $0.30 read, $3.75 written, $3 in full and $15 of output for a million.
        let expected = [1_000.0 * 0.3e-6, 400.0 * 3.75e-6, 600.0 * 3e-6, 120.0 * 15e-6, 0.0];
        for (found, expected) in parts.each().into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
        }
    }

    #[test]
    fn a_model_without_a_price_has_no_parts() {
        let mut report = Kit::default().report();
        report.manifest.prices.models.clear();
        let prices = PriceList::from(&report.manifest.prices);
        assert_eq!(of(&report.results.cells().next().unwrap(), &report.sessions[0], &prices), None);
    }
}
