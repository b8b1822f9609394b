//! What token savers say they save, and what is billed: `savers.csv`, and tables beside the answer.

use std::collections::BTreeSet;
use std::io::{Result, Write};

use super::document::{Part, TableOf, absent, figures, names, words};
use super::sheet::{self, Columns, Field};
use super::{RenderInput, number};
use recap_core::model::{Report, SaverRecovery, SaverRow, SaverSavings};
use recap_core::text::counted;

/// `savers.csv`.
pub(super) fn csv(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    sheet::table(COLUMNS, &source.report.savers, out)
}

const COLUMNS: &Columns<fn(&&SaverRow) -> Field> = &[
    ("strategy", |row| row.strategy.as_str().into()),
    ("window", |row| row.window.as_str().into()),
    ("agent_model", |row| row.agent_model.as_str().into()),
    ("sessions", |row| row.sessions.into()),
    ("failed", |row| row.failed.into()),
    ("requests", |row| row.requests.into()),
    ("claimed_tokens", |row| row.claimed_tokens.map(|tokens| tokens as f64).into()),
    ("claimed_usd", |row| Field::dollars(row.claimed_usd)),
    ("removed_tokens", |row| (row.removed_tokens as f64).into()),
    ("cache_breaks", |row| row.cache_breaks.into()),
    ("full_usd", |row| dollars(row, |money| money.full_usd)),
    ("cost_usd", |row| dollars(row, |money| money.usd)),
    ("saved_usd", |row| dollars(row, SaverSavings::saved_usd)),
    ("added_ms_median", |row| row.added_ms.map(|(median, _)| median).into()),
    ("added_ms_p95", |row| row.added_ms.map(|(_, high)| high).into()),
    ("recovery_tried", |row| recovered(row, |found| found.tried)),
    ("recovery_found", |row| recovered(row, |found| found.found)),
    ("recovery_tokens", |row| recovered(row, |found| found.tokens)),
];

fn dollars(row: &SaverRow, of: fn(&SaverSavings) -> f64) -> Field {
    Field::dollars(row.money.as_ref().ok().map(of))
}

fn recovered(row: &SaverRow, of: fn(&SaverRecovery) -> u64) -> Field {
    row.recovery.as_ref().map(of).into()
}

/// Tools of one saver that have a row.
const TOOLS: usize = 5;

/// What each saver claims and comes to, what it cut, and what its own tool brings back; nothing in a
/// run without savers.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    if report.savers.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![
        Part::heading("What token savers save"),
        Part::text(
            "Against the whole conversation: what the saver says it saves, the tokens that requests \
             are smaller by, and what the sessions cost less, which alone is saved; a minus sign \
             says that they cost more. What stands after an edit that breaks the cache is billed \
             anew.",
        ),
        bills(&report.savers),
    ];
    parts.extend(tools(&report.savers));
    parts.extend(report.savers.iter().filter_map(recovery).map(Part::Text));
    parts
}

fn bills(savers: &[SaverRow]) -> Part {
    let several = |of: fn(&SaverRow) -> &String| savers.iter().any(|row| of(row) != of(&savers[0]));
    let tokens = |tokens: f64| {
        let shown = number::tokens(tokens.abs());
        if tokens < 0.0 { format!("−{shown}") } else { shown }
    };
    let claimed = |row: &&SaverRow| match (row.claimed_usd, row.claimed_tokens) {
        (Some(usd), _) => number::cents(usd),
        (None, claimed) => claimed.map_or_else(absent, |claimed| tokens(claimed as f64)),
    };
    TableOf::new("What token savers save", savers)
        .column(names("saver"), |row| row.strategy.clone())
        .column_if(several(|row| &row.window), words("window"), |row| row.window.clone())
        .column_if(several(|row| &row.agent_model), names("billed as"), |row| {
            row.agent_model.clone()
        })
        .column(figures("says"), claimed)
        .column(figures("removed"), |row| tokens(row.removed_tokens as f64))
        .column(figures("bill"), |row| {
            row.money.as_ref().map_or_else(|_| absent(), |money| number::cents(money.saved_usd()))
        })
        .column(figures("cache breaks").left_out(2), |row| {
            format!("{} of {}", row.cache_breaks, row.requests)
        })
        .column(figures("wait").left_out(1), |row| {
            row.added_ms.map_or_else(absent, |(median, _)| number::time(median))
        })
        .part()
}

/// The largest cuts of each saver, at the first window and billing model.
fn tools(savers: &[SaverRow]) -> Vec<Part> {
    let mut seen = BTreeSet::new();
    let first = savers.iter().filter(|saver| seen.insert(&saver.strategy));
    let cut = first.flat_map(|saver| {
        let cut = saver.tools.iter().filter(|(_, tool)| tool.cut > 0).take(TOOLS);
        cut.map(move |(name, tool)| (&saver.strategy, name, tool))
    });
    let cut: Vec<_> = cut.collect();
    if cut.is_empty() {
        return Vec::new();
    }
    let table = TableOf::new("Tool results by saver", cut)
        .column(names("saver"), |(saver, ..)| (*saver).clone())
        .column(names("tool"), |(_, tool, _)| (*tool).clone())
        .column(figures("results"), |(.., tool)| number::grouped(tool.results))
        .column(figures("cut"), |(.., tool)| number::grouped(tool.cut))
        .column(figures("tokens"), |(.., tool)| number::tokens(tool.tokens_before as f64))
        .column(figures("left"), |(.., tool)| number::tokens(tool.tokens_after as f64));
    let about = "What arrives of the results of tools at the end of the sessions:";
    vec![Part::text(about), table.part()]
}

/// What a saver's own tool brings back.
fn recovery(saver: &SaverRow) -> Option<String> {
    let recovery = saver.recovery.filter(|recovery| recovery.tried > 0)?;
    let each = recovery
        .tokens
        .checked_div(recovery.found)
        .map(|tokens| format!(", {} tokens each on average", number::tokens(tokens as f64)));
    Some(format!(
        "{}: its own tool was asked for all {} that it had left in the place of text, and brings back \
         {}{}. Facts in these count as recovered; an agent pays for the call and for these tokens.",
        saver.strategy,
        counted(recovery.tried as usize, "handle"),
        recovery.found,
        each.unwrap_or_default(),
    ))
}
