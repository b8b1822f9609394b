//! What the longest session costs: so far at every request, and what for.

pub(in crate::report::html) mod cost_chart;
pub(in crate::report::html) mod parts;

use serde::Serialize;

use crate::model::{Cell, RECORDED, Report, Standing, TranscriptFacts};
use crate::pricing::PriceList;
use crate::report::html::cells::Cells;
use crate::report::html::highlight::Highlight;
use crate::report::html::money::parts::{AS_BILLED, Account, NO_CACHE, Part, Parts, payer};
use crate::report::html::series::Colors;
use crate::report::html::session::still::ordered;
use crate::report::packed::packed;
use crate::report::{block, number, plain};

/// Why there is nothing to draw, or what there is.
pub(in crate::report::html) enum Bills {
    Unknown(String),
    Known {
        payer: String,
        windows: Vec<Window>,
        /// What the charts say of lines without a name.
        note: Option<String>,
        /// For the script: every strategy’s bill in parts; see [`Packed`].
        data: String,
    },
}

/// One window.
pub(in crate::report::html) struct Window {
    /// For the controls of this window.
    pub(in crate::report::html) id: String,
    pub(in crate::report::html) window: String,
    pub(in crate::report::html) billed: String,
    pub(in crate::report::html) uncached: Option<String>,
    /// What stands on the time line, in words.
    pub(in crate::report::html) marks: String,
    /// The bill of the best strategy in parts.
    pub(in crate::report::html) waterfall: Option<Waterfall>,
}

/// The bill of one preset in its parts.
pub(in crate::report::html) struct Waterfall {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) total: String,
    pub(in crate::report::html) uncached: String,
    pub(in crate::report::html) steps: Vec<Step>,
}

/// One part, and where its bar begins and how long it is, in per cent.
pub(in crate::report::html) struct Step {
    pub(in crate::report::html) label: &'static str,
    pub(in crate::report::html) kind: &'static str,
    pub(in crate::report::html) tokens: String,
    pub(in crate::report::html) usd: String,
    pub(in crate::report::html) share: String,
    pub(in crate::report::html) from: String,
    pub(in crate::report::html) width: String,
}

/// What the script reads to say what any strategy's bill is for.
#[derive(Serialize)]
struct Packed {
    payers: Vec<String>,
    windows: Vec<String>,
    presets: Vec<(String, &'static str)>,
    first: usize,
    parts: [(&'static str, &'static str); 7],
    /// By payer, strategy and window.
    bills: Vec<Option<PackedBill>>,
}

/// Tokens and dollars of each part, and dollars without a cache.
#[derive(Serialize)]
struct PackedBill([(u64, f64); 7], f64);

/// The bills of one session; nothing in a run without any.
pub(in crate::report::html) fn bills(
    report: &Report,
    facts: &TranscriptFacts,
    prices: &PriceList,
    colors: &Colors,
    table: &Cells<'_>,
) -> Option<Bills> {
    let billed = report.cells.iter().filter_map(Cell::rows).any(|rows| !rows.bills.is_empty());
    if !billed {
        return None;
    }
    let cells = ordered(report, facts);
    let mut windows: Vec<&str> = Vec::new();
    for (cell, _) in &cells {
        if !windows.contains(&cell.key.window.as_str()) {
            windows.push(&cell.key.window);
        }
    }
    let payer = payer(report);
    let highlight = Highlight::new(report, colors);
    let known: Vec<Window> = windows
        .into_iter()
        .enumerate()
        .filter_map(|(at, label)| {
            let mine = cells.iter().filter(|(cell, _)| cell.key.window == label);
            let accounts: Vec<Account<'_>> =
                mine.filter_map(|(cell, _)| Account::new(cell, facts, prices, payer)).collect();
            window(at, label, &accounts, colors, &highlight)
        })
        .collect();
    Some(match known.is_empty() {
        true => Bills::Unknown(unknown(&cells, payer)),
        false => Bills::Known {
            payer: paying(facts, &cells, payer),
            windows: known,
            note: highlight.note(),
            data: packed(&in_parts(report, facts, prices, table)),
        },
    })
}

fn model<'a>(cells: &[(&'a Cell, &'a crate::model::CellRows)], payer: &str) -> Option<&'a str> {
    let mut bills = cells.iter().flat_map(|(_, rows)| &rows.bills);
    bills.find(|bill| bill.billed_as == payer).map(|bill| bill.model.as_str())
}

fn unknown(cells: &[(&Cell, &crate::model::CellRows)], payer: &str) -> String {
    match model(cells, payer) {
        Some(model) => format!("the price of {} is unknown", plain::line(model)),
        None => "this session has no bill".to_owned(),
    }
}

fn paying(
    facts: &TranscriptFacts,
    cells: &[(&Cell, &crate::model::CellRows)],
    payer: &str,
) -> String {
    let name = model(cells, payer).unwrap_or(payer);
    let own = facts.model.as_ref().is_some_and(|model| model.contains(name));
    let why = match (payer == RECORDED, own) {
        (false, _) => "",
        (true, true) => " (its own model)",
        (true, false) => " (the default: it names no model with a price)",
    };
    format!("{}{why}", plain::line(name))
}

fn in_parts(
    report: &Report,
    facts: &TranscriptFacts,
    prices: &PriceList,
    table: &Cells<'_>,
) -> Packed {
    let payers = &report.manifest.agent_models;
    let cells = table.of(facts);
    let bill = |cell: Option<&Cell>, payer: &str| {
        let account = Account::new(cell?, facts, prices, payer)?;
        // A hundredth of a cent is what anybody reads.
        let round = |usd: f64| (usd * 1e4).round() / 1e4;
        let parts = listed(&account.parts()?).map(|(.., part)| (part.tokens, round(part.usd)));
        Some(PackedBill(parts, round(account.steps(NO_CACHE)?.iter().sum())))
    };
    let bills = payers.iter().flat_map(|payer| cells.iter().map(|cell| bill(*cell, payer)));
    Packed {
        payers: payers.iter().map(|payer| named(payer)).collect(),
        windows: table.window_names(),
        presets: table.preset_names(),
        first: table.first(),
        parts: listed(&Parts::default()).map(|(label, kind, _)| (label, kind)),
        bills: bills.collect(),
    }
}

fn named(payer: &str) -> String {
    match payer {
        RECORDED => "the model of the recording".to_owned(),
        name => plain::line(name),
    }
}

fn window(
    at: usize,
    label: &str,
    accounts: &[Account<'_>],
    colors: &Colors,
    highlight: &Highlight<'_>,
) -> Option<Window> {
    let words = format!("Cost of the session so far at {}", block::place(label));
    let billed = cost_chart::chart(accounts, AS_BILLED, &words, colors, highlight)?;
    let words = format!("{words}, without a cache");
    let best = accounts.iter().find(|a| a.cell.standing == Standing::Ranked);
    Some(Window {
        id: format!("bill-{at}"),
        window: block::window(label),
        billed,
        uncached: cost_chart::chart(accounts, NO_CACHE, &words, colors, highlight),
        marks: marks(&accounts[0]),
        waterfall: best.or_else(|| accounts.first()).and_then(waterfall),
    })
}

fn marks(account: &Account<'_>) -> String {
    let pauses = block::counted(account.pauses().len(), "pause");
    let cold = block::counted(account.cold_starts().len(), "cold start");
    format!("{pauses} longer than the cache lives, {cold} in the recording")
}

fn waterfall(account: &Account<'_>) -> Option<Waterfall> {
    let parts = account.parts()?;
    let uncached: f64 = account.steps(NO_CACHE)?.iter().sum();
    let name = plain::line(&account.cell.key.strategy);
    let stand_in = account.cell.standing == Standing::StandIn;
    Some(Waterfall {
        name: if stand_in { format!("{name} (stand-in)") } else { name },
        total: number::dollars(parts.total()),
        uncached: number::dollars(uncached),
        steps: steps(&parts),
    })
}

/// The parts in the order of the waterfall, with what the style sheet calls them.
fn listed(parts: &Parts) -> [(&'static str, &'static str, Part); 7] {
    let storage = Part { tokens: 0, usd: parts.storage };
    [
        ("read from the cache", "read", parts.read),
        ("written to the cache: new, or forgotten by it", "new", parts.written),
        ("sent again, because an edit broke the prefix", "again", parts.rewritten),
        ("billed in full", "full", parts.uncached),
        ("keeping the cache", "read", storage),
        ("what the agent wrote", "output", parts.output),
        ("the compactor", "compactor", parts.compactor),
    ]
}

/// Those of nothing are left out.
fn steps(parts: &Parts) -> Vec<Step> {
    let rows = listed(parts);
    let total = parts.total().max(f64::MIN_POSITIVE);
    let mut from = 0.0;
    let rows = rows.into_iter().filter(|(.., part)| part.tokens > 0 || part.usd > 1e-9);
    rows.map(|(label, kind, part)| {
        let share = part.usd / total;
        let start = from;
        from += share;
        Step {
            label,
            kind,
            tokens: if part.tokens == 0 {
                "–".to_owned()
            } else {
                number::tokens(part.tokens as f64)
            },
            usd: number::dollars(part.usd),
            share: number::percent(share),
            from: format!("{:.1}", start * 100.0),
            width: format!("{:.1}", share * 100.0),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::Kit;

    #[test]
    fn the_bars_of_a_waterfall_follow_each_other_to_the_total() {
        let part = |usd| Part { tokens: 10, usd };
        let parts =
            Parts { read: part(1.0), written: part(2.0), output: part(1.0), ..Parts::default() };
        let steps = steps(&parts);
        let bars: Vec<(&str, &str)> =
            steps.iter().map(|s| (s.from.as_str(), s.width.as_str())).collect();
        assert_eq!(bars, [("0.0", "25.0"), ("25.0", "50.0"), ("75.0", "25.0")]);
        assert_eq!(steps[1].usd, "$2.00");
    }

    #[test]
    fn an_unknown_price_is_said_and_not_drawn() {
        let mut report = Kit::default().report();
        let colors = Colors::new(&report);
        let facts = report.transcripts[2].clone();
        let draw = |report: &Report| {
            bills(
                report,
                &facts,
                &PriceList::from(&report.manifest.prices),
                &colors,
                &Cells::new(report),
            )
        };
        assert!(matches!(draw(&report), Some(Bills::Known { windows, .. }) if windows.len() == 2));
        report.manifest.prices.models.clear();
        let Some(Bills::Unknown(reason)) = draw(&report) else { panic!("it is unknown") };
        assert_eq!(reason, "the price of claude-sonnet-5-5 is unknown");
    }
}
