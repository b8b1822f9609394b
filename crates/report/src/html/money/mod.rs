//! The receipt: what the sessions cost under every strategy, in parts. Works
//! without a script.

pub(crate) mod parts;

use std::collections::BTreeMap;

use askama::Template;

use super::{Keys, Names, answer};
use crate::{block, number, plain};
use recap_billing::pricing::PriceList;
use recap_core::model::{FULL, RECORDED, Report, RowKind, StrategyRow, Value, catalogue};

use parts::BillParts;

/// Strategies that stand open; the others are folded away.
const OPEN: usize = 14;

/// The section.
#[derive(Template)]
#[template(path = "money/money.html")]
pub(super) struct Money {
    blocks: Vec<Receipts>,
    kinds: [(&'static str, &'static str); 5],
}

/// The receipts of one table.
struct Receipts {
    keys: Keys,
    heading: Option<String>,
    is_open: bool,
    /// The row that others are held against.
    reference: String,
    /// Why there are none.
    unknown: Option<String>,
    rows: Vec<Receipt>,
    folded: Vec<Receipt>,
}

/// What one strategy costs.
struct Receipt {
    name: String,
    class: &'static str,
    total: String,
    change: String,
    /// Kind, width in per cent of the dearest, and words of each part.
    bars: Vec<(&'static str, String, String)>,
    words: String,
}

/// The parts in their order: how the style sheet calls each, and its name.
const KINDS: [(&str, &str); 5] = [
    ("read", "read from the provider’s cache"),
    ("write", "written to the cache: new, or forgotten by it after an edit"),
    ("input", "input past the cache, in full"),
    ("output", "what the agent wrote"),
    ("calls", "the compactor’s own calls"),
];

/// Sums by data set, window, strategy and billing model; nothing where a price is unknown.
type Sums = BTreeMap<[String; 4], Option<BillParts>>;

/// The receipts of a run; nothing where nothing is billed.
pub(super) fn money(
    report: &Report,
    blocks: &[block::Block<'_>],
    names: &Names<'_>,
    open: usize,
) -> Option<Money> {
    if !block::is_billed(report) {
        return None;
    }
    let sums = sums(report);
    let several = blocks.len() > 1;
    let each = blocks.iter().enumerate().map(|(at, block)| {
        let mut rows = receipts(block, &sums);
        let folded = rows.split_off(rows.len().min(OPEN));
        Receipts {
            keys: names.keys(block),
            heading: several.then(|| super::heading(report, block)),
            is_open: at == open,
            reference: answer::reference(&block.rows)
                .map_or_else(|| FULL.to_owned(), |row| plain::line(&row.strategy)),
            unknown: rows.is_empty().then(|| unknown(&block.rows)),
            rows,
            folded,
        }
    });
    Some(Money { blocks: each.collect(), kinds: KINDS })
}

/// The bills of all sessions in parts.
fn sums(report: &Report) -> Sums {
    let prices = PriceList::from(&report.manifest.prices);
    let replicates = f64::from(report.manifest.replicates.max(1));
    let mut sums = Sums::new();
    for session in report.results.iter() {
        let Some(facts) = report.facts_of(session.dataset, session.id) else { continue };
        let done = session.cells().iter().filter_map(|cell| Some((&cell.key, cell.rows()?)));
        for (cell, rows) in done {
            // A session whose model has no price is in no bill.
            for bill in rows.bills.iter().filter(|bill| prices.find(&bill.model).is_ok()) {
                let parts = parts::parts(rows, bill, facts, &prices);
                for dataset in [session.dataset, block::ALL] {
                    let key = [dataset, &cell.window, &cell.strategy, &bill.billed_as];
                    let sum = sums.entry(key.map(str::to_owned));
                    let sum = sum.or_insert_with(|| Some(BillParts::default()));
                    *sum = sum.zip(parts).map(|(sum, own)| sum.plus(own.scaled(1.0 / replicates)));
                }
            }
        }
    }
    sums
}

/// The cheapest first.
fn receipts(block: &block::Block<'_>, sums: &Sums) -> Vec<Receipt> {
    let mut all: Vec<(&StrategyRow, BillParts)> =
        (block.rows.iter().copied().filter(|row| is_paid(row)))
            .filter_map(|row| {
                let paid_by = |billing_model: &str| {
                    let key = [block.dataset, block.window, &row.strategy, billing_model];
                    sums.get(&key.map(str::to_owned))
                };
                // Where each session is billed as its own model, a row bears the model's name;
                // what the agent itself sent always is.
                let parts = *paid_by(RECORDED).or_else(|| paid_by(block.agent_model))?;
                Some((row, parts?))
            })
            .collect();
    all.sort_by(|a, b| a.1.total().total_cmp(&b.1.total()));
    let most = all.iter().map(|(_, parts)| parts.total()).fold(f64::MIN_POSITIVE, f64::max);
    let reference = answer::reference(&block.rows).map(|row| row.strategy.as_str());
    let whole = all.iter().find(|(row, _)| Some(row.strategy.as_str()) == reference);
    let whole = whole.map(|(_, parts)| parts.total());
    all.iter().map(|(row, parts)| receipt(row, parts, most, whole)).collect()
}

/// What somebody might pay for: no yardstick but the whole conversation, and
/// what was really sent.
fn is_paid(row: &StrategyRow) -> bool {
    row.row_kind != RowKind::Control || matches!(row.strategy.as_str(), FULL | RECORDED)
}

fn receipt(row: &StrategyRow, parts: &BillParts, most: f64, whole: Option<f64>) -> Receipt {
    let star = if block::overflows(row).is_some() { " *" } else { "" };
    let there = || KINDS.iter().zip(parts.each()).filter(|(_, usd)| *usd > 1e-9);
    let bar = |((class, name), usd): (&(&'static str, &str), f64)| {
        let words = format!("{name}: {}", number::dollars(usd));
        (*class, format!("{:.1}", usd / most * 100.0), words)
    };
    let words: Vec<String> =
        there().map(|((_, name), usd)| format!("{name} {}", number::dollars(usd))).collect();
    Receipt {
        name: plain::line(&row.strategy),
        class: super::table::class(row.row_kind),
        total: format!("{}{star}", number::dollars(parts.total())),
        change: match whole.filter(|whole| *whole > 0.0) {
            Some(whole) => number::change(parts.total() / whole - 1.0),
            None => String::new(),
        },
        bars: there().map(bar).collect(),
        words: words.join(", "),
    }
}

/// Why sessions have no cost.
fn unknown(rows: &[&StrategyRow]) -> String {
    let reason = rows.iter().filter(|row| is_paid(row)).find_map(|row| {
        match row.values.get(catalogue::COST_USD.id) {
            Some(Value::Absent(reason)) => Some(plain::line(&reason.to_string())),
            _ => None,
        }
    });
    reason.unwrap_or_else(|| "the run has no bill".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::Absent;

    fn shown(report: &Report) -> Option<Money> {
        let blocks = block::blocks(report);
        money(report, &blocks, &Names::new(&blocks), 0)
    }

    #[test]
    fn bars_scale_to_dearest_and_fill_its_width() {
        let money = shown(&Kit::default().report()).unwrap();
        let rows = &money.blocks[0].rows;
        assert!(rows.len() > 4);
        let width = |row: &Receipt| -> f64 {
            row.bars.iter().map(|(_, width, _)| width.parse::<f64>().unwrap()).sum()
        };
        assert!((width(rows.last().unwrap()) - 100.0).abs() < 0.3, "the dearest stands last");
        assert!(width(&rows[0]) < 100.0);
    }

    #[test]
    fn unknown_price_is_stated_and_nothing_drawn() {
        let mut report = Kit::default().report();
        report.manifest.prices.models.clear();
        for row in &mut report.rows {
            let reason = Absent::Price("claude-sonnet-5-5".to_owned());
            row.values.insert("cost_usd".to_owned(), Value::Absent(reason));
        }
        let money = shown(&report).unwrap();
        let reason = "the price of claude-sonnet-5-5 is unknown";
        assert_eq!(money.blocks[0].unknown.as_deref(), Some(reason));
        assert!(money.blocks[0].rows.is_empty());
    }

    #[test]
    fn a_run_without_bills_has_no_receipt() {
        let mut report = Kit::default().report();
        for cell in report.results.cells_mut() {
            if let recap_core::model::CellOutcome::Done(rows) = &mut cell.outcome {
                rows.bills.clear();
            }
        }
        assert!(shown(&report).is_none());
    }
}
