//! The columns of the compared rows: on a terminal, in `report.md` and on the page. What a column
//! stands for is the meaning of its measure in the catalogue.

use crate::document::{Cell, Column, Head, NARROWEST, Narrow, Part, Screen, absent};
use crate::{block, number};
use recap_core::model::{
    Absent, FULL, Interval, Measure, Primary, RowKind, StrategyRow, Unit, Value, catalogue,
};

/// A column of the table.
#[derive(Clone, Copy)]
pub(crate) struct TableColumn {
    pub(crate) head: Head,
    /// What it shows; `None` of words.
    measure: Option<&'static Measure>,
    /// What it stands for, where that is not the meaning of the measure.
    about: Option<&'static str>,
    content: Content,
}

/// What a column shows of a row.
#[derive(Clone, Copy)]
enum Content {
    /// The figure of the measure, in the words of this function.
    Figure(fn(f64) -> String),
    /// The same with what is known of its spread.
    WithSpread(fn(f64) -> String),
    /// What this function makes of the row.
    Made(fn(&StrategyRow) -> Cell),
}

impl TableColumn {
    /// Its cell of a row.
    pub(crate) fn cell(&self, row: &StrategyRow) -> Cell {
        let figure = self.measure.and_then(|measure| Some((measure, row.number(measure)?)));
        match (self.content, figure) {
            (Content::Made(cell), _) => cell(row),
            (Content::Figure(show), Some((_, figure))) => Cell::figure(figure, show(figure)),
            (Content::WithSpread(show), Some((measure, figure))) => {
                with_spread(row, measure, figure, show)
            }
            (_, None) => absent().into(),
        }
    }

    /// What it stands for, in a line.
    fn meaning(&self) -> Option<String> {
        let label = Column::from(self.head).label();
        let measure = self.measure?;
        Some(format!("{label}: {}.", self.about.unwrap_or(measure.meaning).replace('`', "")))
    }

    const fn about(self, about: &'static str) -> Self {
        Self { about: Some(about), ..self }
    }
}

/// What columns stand for, for a reader who opens it.
pub(crate) fn meanings(columns: &[TableColumn]) -> Part {
    let each = columns.iter().filter_map(TableColumn::meaning);
    Part::Folded("What the columns stand for".to_owned(), vec![Part::List(each.collect())])
}

/// A column of figures, which is left out in such an order; at 0 it always stays.
const fn figures(
    words: [&'static str; 2],
    left_out: u8,
    measure: &'static Measure,
    content: Content,
) -> TableColumn {
    let narrow = if left_out == 0 { Narrow::Whole } else { Narrow::LeftOut(left_out) };
    let head = Head { words, right: true, narrow };
    TableColumn { head, measure: Some(measure), about: None, content }
}

/// A column of a measure as it is.
const fn figure(
    words: [&'static str; 2],
    left_out: u8,
    measure: &'static Measure,
    show: fn(f64) -> String,
) -> TableColumn {
    figures(words, left_out, measure, Content::Figure(show))
}

/// A column of words.
const fn text(head: &'static str, narrow: Narrow, cell: fn(&StrategyRow) -> Cell) -> TableColumn {
    let head = Head { words: [head, ""], right: false, narrow };
    TableColumn { head, measure: None, about: None, content: Content::Made(cell) }
}

/// A column of bills with what they are more or less than another one.
const fn bills(words: [&'static str; 2], cell: fn(&StrategyRow) -> Cell) -> TableColumn {
    let head = Head { words, right: false, narrow: Narrow::Whole };
    let content = Content::Made(cell);
    TableColumn { head, measure: Some(catalogue::COST_USD), about: None, content }
}

/// Points of a hundred as a share.
fn points(points: f64) -> String {
    number::percent(points / 100.0)
}

/// Tokens left as the share that was freed.
fn freed(left: f64) -> String {
    number::percent(1.0 - left)
}

const STRATEGY: TableColumn = text("strategy", Narrow::Cut, |row| block::label(row).into());
const ANSWERS_KEPT: TableColumn =
    figures(["answers kept", ""], 0, catalogue::CONTINUITY, Content::WithSpread(points));
const RECALL: TableColumn = figure(["recall", ""], 0, catalogue::RECALL, number::percent);
const GONE: TableColumn =
    figure(["evidence", "gone"], 4, catalogue::EVIDENCE_GONE, number::percent);
const REFERENCES_KEPT: TableColumn = figures(
    ["facts kept", ""],
    0,
    catalogue::REFERENCE_RECALL,
    Content::WithSpread(number::percent),
);
const REFERENCES_BESIDE: TableColumn =
    figure(["facts kept", "all along"], 2, catalogue::REFERENCE_RECALL, number::percent);
const GAIN: TableColumn =
    figure(["gain over", "recency"], 0, catalogue::RECENCY_GAIN, number::gain);
/// The bill against that of the whole conversation.
const COST: TableColumn =
    bills(["bill of all", "sessions"], |row| cost(row, catalogue::COST_SAVINGS, &[FULL]))
        .about("with the prompt cache and compactions, and what it is more or less than full's");
/// The bill against that of what the recorded agent sent.
const COST_RECORDED: TableColumn = bills(["bill,", "against today"], |row| {
    cost(row, catalogue::COST_SAVINGS_VS_RECORDED, &super::TODAY)
})
.about("with the prompt cache and compactions, and what it is more or less than recorded's");
const TOKENS: TableColumn = figures(
    ["tokens", ""],
    1,
    catalogue::TOKEN_SAVINGS,
    Content::Figure(|savings| number::multiple(1.0 - savings)),
)
.about("all tokens sent, as a multiple of those of the whole conversation");
const WAIT: TableColumn = figure(["wait", "p95"], 3, catalogue::BLOCKING_MS_P95, number::time);
const WAITED: TableColumn = figure(["wait", ""], 3, catalogue::BLOCKING_MS_P95, number::time);
const PEAK: TableColumn = figure(["peak", ""], 5, catalogue::PEAK_TOKENS, number::tokens);
const COMPACTIONS: TableColumn =
    figure(["compac-", "tions"], 6, catalogue::COMPACTIONS, number::any);
const VERDICT: TableColumn = text("verdict", Narrow::Wrapped, |row| verdict(row).into());

const OF_FACTS: &str = "of the facts that the agent used after the cuts and could only know from \
                        before, the share that the context still holds";
pub(super) const FACTS_KEPT: TableColumn =
    figures(["facts kept", ""], 0, catalogue::FACTS_KEPT, Content::WithSpread(number::percent))
        .about(OF_FACTS);
const FACTS_BESIDE: TableColumn =
    figure(["facts", "kept"], 2, catalogue::FACTS_KEPT, number::percent).about(OF_FACTS);
const FACTS_FIRST: TableColumn = figure(["facts", ""], 0, catalogue::FACTS_KEPT, number::percent);
const FACTS: TableColumn = figure(["facts", ""], 2, catalogue::FACTS_KEPT, number::percent);
pub(super) const ANSWERED: TableColumn =
    figures(["answers", ""], 3, catalogue::CONTINUITY_AT_CUT, Content::Made(answered));
const CARRIED: TableColumn = figure(["carried", ""], 3, catalogue::CARRIED_SHARE, number::percent)
    .about("of the facts no longer sent as recorded, the share in what the strategy wrote");
const WITHOUT_SUMMARY: TableColumn =
    figures(["without", "summary"], 2, catalogue::ADDED_AT_CUT, Content::Made(without_summary))
        .about("facts that the same strategy keeps with an empty text in place of its summaries");
pub(super) const FREES: TableColumn =
    figures(["frees", ""], 3, catalogue::TOKENS_AT_CUT, Content::Figure(freed))
        .about("how much smaller the context is right after a compaction");

/// The bill against that of what the recorded agent sent.
const COST_TODAY: TableColumn = bills(["bill, against today", ""], |row| {
    cost_against(row, catalogue::COST_SAVINGS_VS_RECORDED).into()
});
/// The bill against that of the whole conversation.
const COST_WHOLE: TableColumn =
    bills(["bill, against full", ""], |row| cost_against(row, catalogue::COST_SAVINGS).into());
pub(super) const NAME: TableColumn =
    text("strategy", Narrow::Cut, |row| row.strategy.clone().into());
const NOTE: TableColumn = text("note", Narrow::Wrapped, |row| note(row).into());
pub(super) const NOTE_IN_GROUP: TableColumn =
    text("note", Narrow::LeftOut(1), |row| note_in_group(row).into());

/// What one compaction frees and keeps, on the page.
pub(super) const OF_CUTS: [TableColumn; 6] =
    [NAME, FREES, FACTS_KEPT, ANSWERED, WAITED, NOTE_IN_GROUP];

/// Every column for what ranks. The bill is set against what is done today, where that is known.
pub(crate) fn all_columns(primary: Primary, rows: &[&StrategyRow]) -> Vec<TableColumn> {
    let cost = if is_against_today(rows) { COST_RECORDED } else { COST };
    match primary {
        Primary::Continuity => vec![
            STRATEGY,
            ANSWERS_KEPT,
            RECALL,
            FACTS_BESIDE,
            GONE,
            REFERENCES_BESIDE,
            cost,
            TOKENS,
            WAIT,
            PEAK,
            COMPACTIONS,
            VERDICT,
        ],
        Primary::FactsKept => vec![
            STRATEGY,
            FACTS_KEPT,
            ANSWERED,
            CARRIED,
            WITHOUT_SUMMARY,
            FREES,
            cost,
            WAIT,
            COMPACTIONS,
            VERDICT,
        ],
        Primary::ReferenceRecall => {
            vec![STRATEGY, REFERENCES_KEPT, GAIN, cost, TOKENS, WAIT, PEAK, COMPACTIONS, VERDICT]
        }
    }
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
) -> Vec<TableColumn> {
    let cost = if is_against_today(rows) { COST_TODAY } else { COST_WHOLE };
    // A table names offline summaries once, above their rows.
    let note = if width < NARROWEST { NOTE } else { NOTE_IN_GROUP };
    match primary {
        Primary::Continuity => vec![NAME, ANSWERS_KEPT, FACTS, cost, WAITED, note],
        Primary::FactsKept => {
            let mut columns = vec![NAME, FREES, FACTS_FIRST, ANSWERED];
            columns.extend(billed.then_some(cost));
            columns.extend([WAITED, note]);
            columns
        }
        Primary::ReferenceRecall => vec![NAME, REFERENCES_KEPT, cost, WAITED, note],
    }
}

fn answered(row: &StrategyRow) -> Cell {
    Cell::known(block::answered_at_cuts(row), number::percent)
}

/// What the same strategy keeps with an empty text in the place of its summaries.
fn without_summary(row: &StrategyRow) -> Cell {
    let parts = row.number(catalogue::FACTS_KEPT).zip(row.number(catalogue::ADDED_AT_CUT));
    Cell::known(parts.map(|(kept, added)| kept - added), number::percent)
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
fn cost(row: &StrategyRow, savings: &Measure, itself: &[&str]) -> Cell {
    let Some(usd) = dollars(row) else { return absent().into() };
    let savings = row.number(savings).filter(|_| !itself.contains(&row.strategy.as_str()));
    let change = savings.map(|savings| format!("  {}", number::change(-savings)));
    let text = format!("{usd}{}{}", block::star(row), change.unwrap_or_default());
    Cell { figure: row.number(catalogue::COST_USD), ..Cell::from(text) }
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
    let (ends, spread) = match row.intervals.get(measure.id) {
        Some(Interval::Dots { values }) => {
            let ends = values.first().zip(values.last()).map(|(lo, hi)| (*lo, *hi));
            (ends, ends.map(|(lo, hi)| format!("{}…{}", end(lo), end(hi))))
        }
        Some(
            Interval::ThisSessionOnly { lo, hi }
            | Interval::Student { lo, hi }
            | Interval::Wider { lo, hi },
        ) => (Some((*lo, *hi)), Some(format!("[{}–{}]", end(*lo), end(*hi)))),
        None => (None, None),
    };
    let most = if measure.unit == Unit::Points { 100.0 } else { 1.0 };
    let (lo, hi) = ends.unwrap_or((figure, figure));
    let drawn = Some([figure, lo, hi].map(|x| x / most));
    Cell { spread, drawn, ..Cell::figure(figure, show(figure)) }
}
