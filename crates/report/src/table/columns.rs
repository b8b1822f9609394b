//! The columns of the ranked table, on a terminal and in `report.md`.

use crate::document::{Cell, Head, NARROWEST, Narrow, Screen, absent};
use crate::{block, number};
use recap_core::model::{
    Absent, FULL, Interval, Measure, Primary, RowKind, StrategyRow, Value, catalogue,
};

/// A column of the table.
pub(crate) struct TableColumn {
    pub(crate) head: Head,
    pub(crate) cell: fn(&StrategyRow) -> Cell,
}

/// A column of figures, which is left out in such an order; at 0 it always stays.
const fn figure(
    words: [&'static str; 2],
    left_out: u8,
    cell: fn(&StrategyRow) -> Cell,
) -> TableColumn {
    let narrow = if left_out == 0 { Narrow::Whole } else { Narrow::LeftOut(left_out) };
    TableColumn { head: Head { words, right: true, narrow }, cell }
}

/// A column of words.
const fn text(head: &'static str, narrow: Narrow, cell: fn(&StrategyRow) -> Cell) -> TableColumn {
    TableColumn { head: Head { words: [head, ""], right: false, narrow }, cell }
}

/// A figure, or what stands where there is none.
fn shown(row: &StrategyRow, measure: &Measure, show: fn(f64) -> String) -> Cell {
    row.number(measure).map_or_else(absent, show).into()
}

const STRATEGY: TableColumn = text("strategy", Narrow::Cut, |row| block::label(row).into());
const CONTINUITY: TableColumn = figure(["answers kept", ""], 0, continuity);
const RECALL: TableColumn =
    figure(["recall", ""], 0, |row| shown(row, catalogue::RECALL, number::percent));
const GONE: TableColumn =
    figure(["evidence", "gone"], 4, |row| shown(row, catalogue::EVIDENCE_GONE, number::percent));
const KEPT: TableColumn = figure(["facts kept", ""], 0, kept);
const KEPT_BESIDE: TableColumn = figure(["facts kept", "all along"], 2, |row| {
    shown(row, catalogue::REFERENCE_RECALL, number::percent)
});
const GAIN: TableColumn =
    figure(["gain over", "recency"], 0, |row| shown(row, catalogue::RECENCY_GAIN, number::gain));
/// The bill against that of the whole conversation.
const COST: TableColumn = TableColumn {
    head: Head { words: ["bill of all", "sessions"], right: false, narrow: Narrow::Whole },
    cell: |row| cost(row, catalogue::COST_SAVINGS, &[FULL]),
};
/// The bill against that of what the recorded agent sent.
const COST_RECORDED: TableColumn = TableColumn {
    head: Head { words: ["bill,", "against today"], right: false, narrow: Narrow::Whole },
    cell: |row| cost(row, catalogue::COST_SAVINGS_VS_RECORDED, &super::TODAY),
};
const TOKENS: TableColumn = figure(["tokens", ""], 1, |row| {
    block::token_share(row).map_or_else(absent, number::multiple).into()
});
const WAIT: TableColumn =
    figure(["wait", "p95"], 3, |row| shown(row, catalogue::BLOCKING_MS_P95, number::time));
const WAITED: TableColumn =
    figure(["wait", ""], 3, |row| shown(row, catalogue::BLOCKING_MS_P95, number::time));
const PEAK: TableColumn =
    figure(["peak", ""], 5, |row| shown(row, catalogue::PEAK_TOKENS, number::tokens));
const COMPACTIONS: TableColumn =
    figure(["compac-", "tions"], 6, |row| shown(row, catalogue::COMPACTIONS, number::any));
const VERDICT: TableColumn = text("verdict", Narrow::Wrapped, |row| verdict(row).into());

const FACTS_KEPT: TableColumn =
    figure(["facts kept", ""], 0, |row| measured(row, catalogue::FACTS_KEPT, number::percent));
const FACTS_KEPT_BESIDE: TableColumn =
    figure(["facts", "kept"], 2, |row| shown(row, catalogue::FACTS_KEPT, number::percent));
const FACTS_FIRST: TableColumn =
    figure(["facts", ""], 0, |row| shown(row, catalogue::FACTS_KEPT, number::percent));
const FACTS: TableColumn =
    figure(["facts", ""], 2, |row| shown(row, catalogue::FACTS_KEPT, number::percent));
const ANSWERED: TableColumn = figure(["answers", ""], 3, |row| {
    block::answered_at_cuts(row).map_or_else(absent, number::percent).into()
});
const CARRIED: TableColumn =
    figure(["carried", ""], 3, |row| shown(row, catalogue::CARRIED_SHARE, number::percent));
const WITHOUT_SUMMARY: TableColumn = figure(["without", "summary"], 2, |row| {
    let without = |added| Some(row.number(catalogue::FACTS_KEPT)? - added);
    let kept = row.number(catalogue::ADDED_AT_CUT).and_then(without);
    kept.map_or_else(absent, number::percent).into()
});
const FREES: TableColumn = figure(["frees", ""], 3, |row| {
    shown(row, catalogue::TOKENS_AT_CUT, |left| number::percent(1.0 - left))
});

/// The bill against that of what the recorded agent sent.
const COST_TODAY: TableColumn = text("bill, against today", Narrow::Whole, |row| {
    cost_against(row, catalogue::COST_SAVINGS_VS_RECORDED).into()
});
/// The bill against that of the whole conversation.
const COST_WHOLE: TableColumn = text("bill, against full", Narrow::Whole, |row| {
    cost_against(row, catalogue::COST_SAVINGS).into()
});
const NAME: TableColumn = text("strategy", Narrow::Cut, |row| row.strategy.clone().into());
const NOTE: TableColumn = text("note", Narrow::Wrapped, |row| note(row).into());
const NOTE_IN_GROUP: TableColumn =
    text("note", Narrow::LeftOut(1), |row| note_in_group(row).into());

/// Columns where rows are ranked by facts kept.
const BY_CUTS: &[&TableColumn] = &[
    &STRATEGY,
    &FACTS_KEPT,
    &ANSWERED,
    &CARRIED,
    &WITHOUT_SUMMARY,
    &FREES,
    &COST,
    &WAIT,
    &COMPACTIONS,
    &VERDICT,
];

/// Columns where rows are ranked by what can be answered.
const BY_QUESTIONS: &[&TableColumn] = &[
    &STRATEGY,
    &CONTINUITY,
    &RECALL,
    &FACTS_KEPT_BESIDE,
    &GONE,
    &KEPT_BESIDE,
    &COST,
    &TOKENS,
    &WAIT,
    &PEAK,
    &COMPACTIONS,
    &VERDICT,
];

/// Columns where there are no questions.
const BY_REFERENCES: &[&TableColumn] =
    &[&STRATEGY, &KEPT, &GAIN, &COST, &TOKENS, &WAIT, &PEAK, &COMPACTIONS, &VERDICT];

/// Every column for what ranks. The bill is set against what is done today, where that is known.
pub(crate) fn all_columns(primary: Primary, rows: &[&StrategyRow]) -> Vec<&'static TableColumn> {
    let columns = match primary {
        Primary::Continuity => BY_QUESTIONS,
        Primary::FactsKept => BY_CUTS,
        Primary::ReferenceRecall => BY_REFERENCES,
    };
    let today = is_against_today(rows);
    let is_bill = |column: &TableColumn| column.head == COST.head;
    columns.iter().map(|one| if today && is_bill(one) { &COST_RECORDED } else { *one }).collect()
}

fn is_against_today(rows: &[&StrategyRow]) -> bool {
    rows.iter().any(|row| row.number(catalogue::COST_SAVINGS_VS_RECORDED).is_some())
}

/// The columns that an answer needs. The bill, where it is asked for, is set against what is done
/// today.
pub(super) fn brief_columns(
    primary: Primary,
    rows: &[&StrategyRow],
    billed: bool,
    Screen { width, .. }: Screen,
) -> Vec<&'static TableColumn> {
    let cost = if is_against_today(rows) { &COST_TODAY } else { &COST_WHOLE };
    // A table names offline summaries once, above their rows.
    let note = if width < NARROWEST { &NOTE } else { &NOTE_IN_GROUP };
    match primary {
        Primary::Continuity => vec![&NAME, &CONTINUITY, &FACTS, cost, &WAITED, note],
        Primary::FactsKept => {
            let cost = billed.then_some(cost);
            let first = [&NAME, &FREES, &FACTS_FIRST, &ANSWERED].into_iter();
            first.chain(cost).chain([&WAITED, note]).collect()
        }
        Primary::ReferenceRecall => vec![&NAME, &KEPT, cost, &WAITED, note],
    }
}

fn kept(row: &StrategyRow) -> Cell {
    measured(row, catalogue::REFERENCE_RECALL, number::percent)
}

fn continuity(row: &StrategyRow) -> Cell {
    measured(row, catalogue::CONTINUITY, |points| number::percent(points / 100.0))
}

fn dollars(row: &StrategyRow) -> Option<String> {
    match row.values.get(catalogue::COST_USD.id)? {
        Value::Known(usd) => Some(number::dollars(*usd)),
        Value::Absent(Absent::Price(_)) => Some("unknown".to_owned()),
        Value::Absent(Absent::Storage(_)) => block::but_for_storage(row),
        Value::Absent(_) | Value::Text(_) => None,
    }
}

/// The bill and what it is more or less than another one, but for rows that are the measure of it.
/// The star marks a bill that no provider would have made out.
fn cost(row: &StrategyRow, savings: &Measure, itself: &[&str]) -> Cell {
    let Some(usd) = dollars(row) else { return absent().into() };
    let star = if block::overflows(row).is_some() { " *" } else { "" };
    let savings = row.number(savings).filter(|_| !itself.contains(&row.strategy.as_str()));
    let change = savings.map(|savings| format!("  {}", number::change(-savings)));
    format!("{usd}{star}{}", change.unwrap_or_default()).into()
}

/// The bill and what it is more or less than another one.
fn cost_against(row: &StrategyRow, savings: &Measure) -> String {
    let Some(usd) = dollars(row) else { return absent() };
    if let Some(over) = row.refused_often() {
        return format!("{} over limit", number::any(over));
    }
    // A bill is not set against itself.
    let change = row.number(savings).filter(|_| !super::TODAY.contains(&row.strategy.as_str()));
    let change = change.map(|savings| number::change(-savings));
    format!("{usd:<8} {:>6}", change.unwrap_or_default()).trim_end().to_owned()
}

/// What keeps a row from being read like the others.
fn note(row: &StrategyRow) -> String {
    let group = match row.row_kind {
        RowKind::Control if super::TODAY.contains(&row.strategy.as_str()) => None,
        RowKind::Control => Some("control".to_owned()),
        RowKind::OfflineSummary => Some("offline summary".to_owned()),
        RowKind::Unusable | RowKind::Ranked => None,
    };
    let own = Some(note_in_group(row)).filter(|note| !note.is_empty());
    let parts: Vec<String> = [group, own].into_iter().flatten().collect();
    parts.join(", ")
}

/// The same below a line that says what the rows are.
fn note_in_group(row: &StrategyRow) -> String {
    let row_kind = match row.row_kind {
        RowKind::Control | RowKind::OfflineSummary | RowKind::Ranked => None,
        RowKind::Unusable => Some("unusable replies".to_owned()),
    };
    let failed = (!row.failed.is_empty()).then(|| format!("{} failed", row.failed.len()));
    let parts: Vec<String> = [row_kind, failed].into_iter().flatten().collect();
    parts.join(", ")
}

/// Standing or verdict, and what the star of the bill stands for.
fn verdict(row: &StrategyRow) -> String {
    // Everyone knows that the whole conversation is a control.
    let plain = row.strategy == FULL;
    let over = block::overflows(row).map(|n| {
        let what = if plain { "over the window" } else { "over" };
        format!("* {what} {}×", number::any(n))
    });
    let plain = plain && over.is_some();
    let own = Some(block::verdict(row)).filter(|words| !plain && *words != absent());
    let parts: Vec<String> = [own, over].into_iter().flatten().collect();
    if parts.is_empty() { absent() } else { parts.join("; ") }
}

/// A figure with what its interval allows to be printed.
fn measured(row: &StrategyRow, measure: &Measure, show: fn(f64) -> String) -> Cell {
    let Some(figure) = row.number(measure) else { return absent().into() };
    // The unit stands with the figure.
    let end = |x: f64| show(x).replace(" %", "");
    let spread = match row.intervals.get(measure.id) {
        None => None,
        Some(Interval::Dots { values }) => match (values.first(), values.last()) {
            (Some(lo), Some(hi)) => Some(format!("{}…{}", end(*lo), end(*hi))),
            _ => None,
        },
        Some(
            Interval::ThisSessionOnly { lo, hi }
            | Interval::Student { lo, hi }
            | Interval::Wider { lo, hi },
        ) => Some(format!("[{}–{}]", end(*lo), end(*hi))),
    };
    Cell { text: show(figure), spread }
}
