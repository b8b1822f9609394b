//! What bills are made of: those of one session, and of all sessions under every strategy.
//!
//! Invariant: the parts of a bill add up to it. What a model without a price answered is left
//! out, as in the bill.

use std::collections::BTreeMap;

use recap_billing::pricing::{PriceList, Tariff};
use recap_core::model::{
    Bill, Buckets, CellRows, FULL, RECORDED, Report, RequestFacts, RowKind, SessionFacts,
    StrategyRow, Value, catalogue,
};

use super::document::{Cell, Part, TableOf, figures, names};
use super::sheet::each_cell;
use super::{block, number};

/// What bills are for: prompts, read from the cache, written to it and kept in it, and past it;
/// what the agent wrote; and calls of the compactor, prompts and outputs.
const PARTS: [&str; 5] =
    ["cache reads", "cache writes", "uncached input", "output", "compactor’s calls"];

/// A bill in USD by [`PARTS`].
type BillParts = [f64; PARTS.len()];

fn plus(sum: BillParts, own: BillParts) -> BillParts {
    std::array::from_fn(|at| sum[at] + own[at])
}

/// The prompt and the answer of a request.
fn of_request(
    tariff: &mut Tariff<'_>,
    prompt: &Buckets,
    request: &RequestFacts,
) -> Option<BillParts> {
    let (tokens, at) = (prompt.prompt(), request.at);
    let rates = tariff.rates(tokens, at);
    let full = rates.input?;
    let read = prompt.read as f64 * rates.cache_read.unwrap_or(full);
    let input = prompt.uncached as f64 * full;
    // What is left is writing, by the hour or not, and keeping.
    let written = tariff.prompt_usd(prompt, at)? - read - input;
    Some([read, written, input, tariff.output_usd(tokens, request.output, at)?, 0.0])
}

/// The bill of a session in parts; `None` where its model, or that of its calls, has no price.
fn parts(
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
        parts = plus(parts, of_request(tariff, &billed.prompt.billed, request)?);
    }
    if bill.calls.is_empty() {
        return Some(parts);
    }
    let mut tariff = tariff(bill.call_model())?;
    let [.., calls] = &mut parts;
    for call in &bill.calls {
        // Billed at the request that followed when the compaction began, or the last one.
        let begun = rows.compactions.get(call.compaction as usize)?.begun as usize;
        let Some(last) = facts.requests.len().checked_sub(1) else { continue };
        let (prompt, at) = (&call.prompt.billed, facts.requests[begun.min(last)].at);
        *calls += tariff.prompt_usd(prompt, at)?;
        *calls += tariff.output_usd(prompt.prompt(), call.output, at)?;
    }
    Some(parts)
}

/// Bills by data set, window, strategy and billing model; nothing where a price is unknown.
type Sums = BTreeMap<[String; 4], Option<BillParts>>;

/// The bills of all sessions in parts, over each data set and over all of them.
fn sums(report: &Report) -> Sums {
    let prices = PriceList::from(&report.manifest.prices);
    let replicates = f64::from(report.manifest.replicates.max(1));
    let mut sums = Sums::new();
    let each = each_cell(report, |facts, session, cell, rows| {
        // A session whose model has no price is in no bill.
        for bill in rows.bills.iter().filter(|bill| prices.find(&bill.model).is_ok()) {
            let parts = parts(rows, bill, facts, &prices);
            for dataset in [session.dataset, block::ALL] {
                let key = [dataset, &cell.key.window, &cell.key.strategy, &bill.billed_as];
                let sum = sums.entry(key.map(str::to_owned));
                let sum = sum.or_insert(Some(BillParts::default()));
                *sum = sum
                    .zip(parts)
                    .map(|(sum, own)| plus(sum, own.map(|usd| usd * (1.0 / replicates))));
            }
        }
        Ok(())
    });
    each.expect("nothing is written");
    sums
}

/// What the sessions cost under each strategy, in parts, the cheapest first; nothing in a run
/// without bills.
pub(super) fn tables(report: &Report, blocks: &[block::Block<'_>]) -> Vec<Vec<Part>> {
    if !block::is_billed(report) {
        return blocks.iter().map(|_| Vec::new()).collect();
    }
    let sums = sums(report);
    blocks.iter().map(|block| table(block, &sums)).collect()
}

fn table(block: &block::Block<'_>, sums: &Sums) -> Vec<Part> {
    let total = |parts: &BillParts| parts.iter().sum::<f64>();
    let mut bills: Vec<(&StrategyRow, BillParts)> = block
        .rows
        .iter()
        .filter(|row| is_paid(row))
        .filter_map(|row| {
            let billed_as = |model: &str| {
                let key = [block.dataset, block.window, &row.strategy, model];
                sums.get(&key.map(str::to_owned))
            };
            // Where each session is billed as its own model, a row bears the model's name;
            // what the agent itself sent always is.
            let parts = *billed_as(RECORDED).or_else(|| billed_as(block.agent_model))?;
            Some((*row, parts?))
        })
        .collect();
    if bills.is_empty() {
        return vec![Part::Text(format!("Cost unknown: {}.", unknown(&block.rows)))];
    }
    bills.sort_by(|a, b| total(&a.1).total_cmp(&total(&b.1)));
    let reference = bills.iter().find(|(row, _)| row.strategy == RECORDED);
    let reference = reference.or_else(|| bills.iter().find(|(row, _)| row.strategy == FULL));
    let against = reference.map(|(row, parts)| (row.strategy.clone(), total(parts)));
    let (name, usd) = against.unwrap_or_else(|| (FULL.to_owned(), f64::NAN));
    let share = |parts: &BillParts| Some(total(parts) / usd - 1.0).filter(|x| x.is_finite());
    let mut table = TableOf::new("Bills in parts", bills)
        .column(names("strategy"), |(row, _)| row.strategy.clone())
        .column(figures("bill"), |(row, parts)| {
            let usd = total(parts);
            Cell::figure(usd, format!("{}{}", number::dollars(usd), block::star(row)))
        })
        .column(figures(format!("against {name}")), |(_, parts)| {
            Cell::known(share(parts), number::change)
        })
        .dim(|(row, _)| row.row_kind != RowKind::Ranked);
    for (at, head) in PARTS.into_iter().enumerate() {
        table = table.column(figures(head), |(_, parts)| {
            Cell::known(Some(parts[at]).filter(|usd| *usd != 0.0), number::dollars)
        });
    }
    let about = "What each bill is for. A prompt that begins as the one before is read from the \
                 provider’s cache at a fraction of the price; a strategy that edits old messages \
                 gives that up, so fewer tokens may cost more.";
    vec![Part::text(about), table.part()]
}

/// What somebody might pay for: no control but the whole conversation, and what was really sent.
fn is_paid(row: &StrategyRow) -> bool {
    row.row_kind != RowKind::Control || matches!(row.strategy.as_str(), FULL | RECORDED)
}

/// Why sessions have no cost.
fn unknown(rows: &[&StrategyRow]) -> String {
    let mut paid = rows.iter().filter(|row| is_paid(row));
    let reason = paid.find_map(|row| match row.values.get(catalogue::COST_USD.id) {
        Some(Value::Absent(reason)) => Some(reason.to_string()),
        _ => None,
    });
    reason.unwrap_or_else(|| "the run has no bill".to_owned())
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
        for (found, expected) in parts.into_iter().zip(expected) {
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
