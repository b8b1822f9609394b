//! The columns of the compared rows: on a terminal, in `report.md` and on the page. What a column
//! stands for is the meaning of its measure in the catalogue.

use super::TODAY;
use super::brief::billed_by_size;
use crate::document::{Cell, Column, NARROWEST, Part, Screen, absent, figures, names, words};
use crate::{block, number};
use recap_core::model::{
    Absent, FULL, Interval, Measure, Primary, Report, RowKind, StrategyRow, Unit, Value, catalogue,
};

/// A column of the compared rows.
pub(crate) struct StrategyColumn {
    pub(crate) head: Column,
    /// What it stands for; nothing of words.
    about: Option<&'static str>,
    /// Its cell of a row.
    pub(crate) cell: Box<dyn Fn(&StrategyRow) -> Cell>,
}

impl StrategyColumn {
    fn of<C: Into<Cell>>(head: Column, cell: impl Fn(&StrategyRow) -> C + 'static) -> Self {
        Self { head, about: None, cell: Box::new(move |row| cell(row).into()) }
    }

    /// The same, which stands for this.
    fn about(self, about: &'static str) -> Self {
        Self { about: Some(about), ..self }
    }

    /// The same, which is left out in such an order.
    fn left_out(self, order: u8) -> Self {
        Self { head: self.head.left_out(order), ..self }
    }
}

/// What columns stand for, for a reader who opens it.
pub(crate) fn meanings(columns: &[StrategyColumn]) -> Part {
    let meaning = |column: &StrategyColumn| {
        Some(format!("{}: {}.", column.head.label(), column.about?.replace('`', "")))
    };
    let each = columns.iter().filter_map(meaning).collect();
    Part::Folded("What the columns stand for".to_owned(), vec![Part::List(each)])
}

/// A column of a measure as it is.
fn figure(head: &str, measure: &'static Measure, show: fn(f64) -> String) -> StrategyColumn {
    let cell = move |row: &StrategyRow| Cell::known(row.number(measure), show);
    StrategyColumn::of(figures(head), cell).about(measure.meaning)
}

/// The same with what is known of its spread.
fn spread(head: &str, measure: &'static Measure, show: fn(f64) -> String) -> StrategyColumn {
    let cell = move |row: &StrategyRow| match row.number(measure) {
        Some(figure) => with_spread(row, measure, figure, show),
        None => absent().into(),
    };
    StrategyColumn::of(figures(head), cell).about(measure.meaning)
}

/// Points of a hundred as a share.
fn points(points: f64) -> String {
    number::percent(points / 100.0)
}

const OF_FACTS: &str = "of the facts that the agent used after the cuts and could only know from \
                        before, the share that the context still holds";

fn answers_kept() -> StrategyColumn {
    spread("answers kept", catalogue::CONTINUITY, points)
}

fn references_kept() -> StrategyColumn {
    spread("facts kept", catalogue::REFERENCE_RECALL, number::percent)
}

fn facts_kept() -> StrategyColumn {
    spread("facts kept", catalogue::FACTS_KEPT, number::percent).about(OF_FACTS)
}

fn facts(head: &str) -> StrategyColumn {
    figure(head, catalogue::FACTS_KEPT, number::percent).about(OF_FACTS)
}

fn answered() -> StrategyColumn {
    let cell = |row: &StrategyRow| Cell::known(block::answered_at_cuts(row), number::percent);
    let column = StrategyColumn::of(figures("answers"), cell);
    column.about(catalogue::CONTINUITY_AT_CUT.meaning).left_out(3)
}

fn frees() -> StrategyColumn {
    figure("frees", catalogue::TOKENS_AT_CUT, |left| number::percent(1.0 - left))
        .about("how much smaller the context is right after a compaction")
        .left_out(3)
}

fn wait(head: &str) -> StrategyColumn {
    figure(head, catalogue::BLOCKING_MS_P95, number::time).left_out(3)
}

fn name() -> StrategyColumn {
    StrategyColumn::of(names("strategy"), |row| row.strategy.clone())
}

/// What one compaction frees and keeps, on the page.
pub(super) fn of_cuts() -> Vec<StrategyColumn> {
    let note = StrategyColumn::of(words("note").left_out(1), note_in_group);
    vec![name(), frees(), facts_kept(), answered(), wait("wait"), note]
}

/// Every column for what ranks. The bill is set against what is done today, where that is known.
pub(crate) fn all_columns(primary: Primary, rows: &[&StrategyRow]) -> Vec<StrategyColumn> {
    let cost = if is_against_today(rows) {
        let cell = |row: &StrategyRow| cost(row, catalogue::COST_SAVINGS_VS_RECORDED, &TODAY);
        StrategyColumn::of(words("bill,\nagainst today"), cell).about(
            "with the prompt cache and compactions, and what it is more or less than recorded's",
        )
    } else {
        let cell = |row: &StrategyRow| cost(row, catalogue::COST_SAVINGS, &[FULL]);
        StrategyColumn::of(words("bill of all\nsessions"), cell)
            .about("with the prompt cache and compactions, and what it is more or less than full's")
    };
    let tokens = || {
        figure("tokens", catalogue::TOKEN_SAVINGS, |savings| number::multiple(1.0 - savings))
            .about("all tokens sent, as a multiple of those of the whole conversation")
            .left_out(1)
    };
    let peak = || figure("peak", catalogue::PEAK_TOKENS, number::tokens).left_out(5);
    let mut columns = vec![StrategyColumn::of(names("strategy"), block::label)];
    match primary {
        Primary::Continuity => columns.extend([
            answers_kept(),
            figure("recall", catalogue::RECALL, number::percent),
            facts("facts\nkept").left_out(2),
            figure("evidence\ngone", catalogue::EVIDENCE_GONE, number::percent).left_out(4),
            figure("facts kept\nall along", catalogue::REFERENCE_RECALL, number::percent)
                .left_out(2),
            cost,
            tokens(),
            wait("wait\np95"),
            peak(),
        ]),
        Primary::FactsKept => columns.extend([
            facts_kept(),
            answered(),
            figure("carried", catalogue::CARRIED_SHARE, number::percent)
                .about("of the facts no longer sent as recorded, the share in what the strategy wrote")
                .left_out(3),
            StrategyColumn::of(figures("without\nsummary"), without_summary)
                .about("facts that the same strategy keeps with an empty text in place of its summaries")
                .left_out(2),
            frees(),
            cost,
            wait("wait\np95"),
        ]),
        Primary::ReferenceRecall => columns.extend([
            references_kept(),
            figure("gain over\nrecency", catalogue::RECENCY_GAIN, number::gain),
            cost,
            tokens(),
            wait("wait\np95"),
            peak(),
        ]),
    }
    columns.push(figure("compac-\ntions", catalogue::COMPACTIONS, number::any).left_out(6));
    columns.push(StrategyColumn::of(words("verdict").wrapped(), verdict));
    columns
}

fn is_against_today(rows: &[&StrategyRow]) -> bool {
    rows.iter().any(|row| row.number(catalogue::COST_SAVINGS_VS_RECORDED).is_some())
}

/// The columns that an answer needs. The bill, where it is asked for, is set against what is done
/// today.
pub(super) fn brief_columns(
    report: &Report,
    rows: &[&StrategyRow],
    screen: Screen,
) -> Vec<StrategyColumn> {
    let (head, savings) = if is_against_today(rows) {
        ("bill, against today", catalogue::COST_SAVINGS_VS_RECORDED)
    } else {
        ("bill, against full", catalogue::COST_SAVINGS)
    };
    let cost = StrategyColumn::of(words(head), move |row| cost_against(row, savings));
    // A table names offline summaries once, above their rows.
    let note = if screen.width < NARROWEST {
        StrategyColumn::of(words("note").wrapped(), note)
    } else {
        StrategyColumn::of(words("note").left_out(1), note_in_group)
    };
    let mut columns = vec![name()];
    match report.primary {
        Primary::Continuity => columns.extend([answers_kept(), facts("facts").left_out(2), cost]),
        Primary::FactsKept => {
            columns.extend([frees(), facts("facts"), answered()]);
            columns.extend((!billed_by_size(report)).then_some(cost));
        }
        Primary::ReferenceRecall => columns.extend([references_kept(), cost]),
    }
    columns.extend([wait("wait"), note]);
    columns
}

/// What the same strategy keeps with an empty text in the place of its summaries.
fn without_summary(row: &StrategyRow) -> Cell {
    let parts = row.number(catalogue::FACTS_KEPT).zip(row.number(catalogue::ADDED_AT_CUT));
    Cell::known(parts.map(|(kept, added)| kept - added), number::percent)
}

fn dollars(row: &StrategyRow) -> Option<String> {
    match row.values.get(catalogue::COST_USD.id)? {
        Value::Known(usd) => Some(number::dollars(*usd)),
        Value::Absent(Absent::Price(_) | Absent::Storage(_)) => Some("unknown".to_owned()),
        Value::Absent(_) | Value::Text(_) => None,
    }
}

/// The bill and what it is more or less than another one, but for rows that are the measure of it.
fn cost(row: &StrategyRow, savings: &Measure, itself: &[&str]) -> Cell {
    let Some(usd) = dollars(row) else { return absent().into() };
    let savings = row.number(savings).filter(|_| !itself.contains(&row.strategy.as_str()));
    let change = savings.map(|savings| format!("  {}", number::change(-savings)));
    let text = format!("{usd}{}{}", block::star(row), change.unwrap_or_default());
    Cell { figure: row.number(catalogue::COST_USD), ..Cell::from(text) }
}

/// The same in columns of their own, for a narrow table.
fn cost_against(row: &StrategyRow, savings: &Measure) -> String {
    let Some(usd) = dollars(row) else { return absent() };
    if let Some(over) = row.refused_often() {
        return format!("{} over limit", number::any(over));
    }
    // A bill is not set against itself.
    let change = row.number(savings).filter(|_| !TODAY.contains(&row.strategy.as_str()));
    let change = change.map(|savings| number::change(-savings));
    format!("{usd:<8} {:>6}", change.unwrap_or_default()).trim_end().to_owned()
}

/// What keeps a row from being read like the others.
fn note(row: &StrategyRow) -> String {
    let group = match row.row_kind {
        RowKind::Control if TODAY.contains(&row.strategy.as_str()) => None,
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
    let unusable = (row.row_kind == RowKind::Unusable).then(|| "unusable replies".to_owned());
    let failed = (!row.failed.is_empty()).then(|| format!("{} failed", row.failed.len()));
    let parts: Vec<String> = [unusable, failed].into_iter().flatten().collect();
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
fn with_spread(row: &StrategyRow, measure: &Measure, figure: f64, show: fn(f64) -> String) -> Cell {
    // The unit stands with the figure.
    let end = |x: f64| show(x).replace(" %", "");
    let interval = row.intervals.get(measure.id);
    let ends = interval.and_then(Interval::ends);
    let spread = ends.map(|(lo, hi)| match interval {
        Some(Interval::Dots { .. }) => format!("{}…{}", end(lo), end(hi)),
        _ => format!("[{}–{}]", end(lo), end(hi)),
    });
    let most = if measure.unit == Unit::Points { 100.0 } else { 1.0 };
    let (lo, hi) = ends.unwrap_or((figure, figure));
    let drawn = Some([figure, lo, hi].map(|x| x / most));
    Cell { spread, drawn, ..Cell::figure(figure, show(figure)) }
}
