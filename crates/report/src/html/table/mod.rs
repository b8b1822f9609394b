//! The full table: for each data set, window and billing model a row per strategy, with
//! its figures, their spread drawn, and who beats it.

mod columns;
mod drawn;
mod pareto;

use std::collections::BTreeMap;

use askama::Template;

use super::{Keys, Names};
use crate::html::questions::answers;
use crate::{block, number, plain};
use recap_core::model::{
    Absent, Interval, Measure, Primary, QuestionKind, Report, RowKind, StrategyRow, Value,
    catalogue,
};

use columns::{BY_CUTS, BY_QUESTIONS, BY_REFERENCES, Lead, Reading};

/// The section.
#[derive(Template)]
#[template(path = "table/table.html")]
pub(super) struct FullTable {
    /// Kinds of questions that the rows can be led by.
    kinds: Vec<&'static str>,
    spreads: Spreads,
    lead: &'static Lead,
    most: String,
    margin: String,
    /// Every heading, for those who ask.
    heads: Vec<Head>,
    tables: Vec<Table>,
}

/// One table.
struct Table {
    id: String,
    keys: Keys,
    heading: String,
    shown: Rows,
    notes: Vec<String>,
}

/// A heading of the table.
struct Head {
    label: &'static str,
    /// What it means, for those who ask.
    about: &'static str,
}

/// A cell of the table.
struct TableCell {
    text: String,
    /// What the column sorts by; empty sorts last.
    sort: String,
    /// What stands below the figure.
    below: Option<String>,
    /// Why there is no figure.
    reason: Option<String>,
}

/// A row of the table.
struct Row {
    /// Its place; strategies with the same figure share the best of theirs.
    rank: String,
    name: String,
    /// Its standing, as the style sheet and the filters call it.
    class: &'static str,
    /// The leading figure and its spread, drawn; made of numbers alone.
    drawn: Option<String>,
    figure: String,
    /// What is known of its spread; without a figure, why there is none.
    spread: String,
    /// What it rests on, where that is not what most rows rest on.
    basis: String,
    sort: String,
    cells: Vec<TableCell>,
    verdict: String,
    /// Who beats it, or why there is no verdict.
    note: Option<String>,
    beaten: bool,
    /// `continuity/recall` by kind of question, as the filter lists the kinds.
    kinds: String,
}

/// The rows of one table and what they have in common.
struct Rows {
    heads: Vec<Head>,
    rows: Vec<Row>,
    /// What the figures rest on, unless a row says otherwise.
    basis: String,
}

/// Ways in which the spread of the leading figure is told in a report.
struct Spreads {
    interval: bool,
    dots: bool,
    alone: bool,
}

/// The ways that occur.
fn spreads(report: &Report) -> Spreads {
    let any = |holds: fn(&Interval) -> bool| {
        let mut each = report.rows.iter().filter_map(|row| row.intervals.get(report.primary.id()));
        each.any(holds)
    };
    Spreads {
        interval: any(|i| matches!(i, Interval::Student { .. } | Interval::Wider { .. })),
        dots: any(|i| matches!(i, Interval::Dots { .. })),
        alone: any(|i| matches!(i, Interval::ThisSessionOnly { .. })),
    }
}

/// The section of a report.
pub(super) fn full_table(
    report: &Report,
    blocks: &[block::Block<'_>],
    names: &Names<'_>,
) -> FullTable {
    let lead = lead(report.primary);
    let kinds = answers::kinds(report, block::ALL);
    let kinds: Vec<QuestionKind> = kinds.into_iter().map(|(kind, _)| kind).collect();
    let table = |(at, block): (usize, &block::Block<'_>)| Table {
        id: format!("table-{at}"),
        keys: names.keys(block),
        heading: super::heading(report, block),
        shown: lead.rows(&block.rows, &kinds),
        notes: (block::at_cuts(&block.rows, report).into_iter())
            .chain(block::over_window(&block.rows))
            .chain(block::bill_checks(&block.rows, report))
            .chain(block::recovered(&block.rows, &report.manifest))
            .chain(block::gaps(&block.rows))
            .collect(),
    };
    FullTable {
        kinds: kinds.iter().map(|kind| kind.as_str()).collect(),
        spreads: spreads(report),
        lead,
        most: number::any(lead.primary.most()),
        margin: (lead.show)(report.manifest.margin * lead.primary.most()),
        heads: lead.heads(),
        tables: blocks.iter().enumerate().map(table).collect(),
    }
}

/// What leads the tables of a report.
fn lead(primary: Primary) -> &'static Lead {
    match primary {
        Primary::Continuity => &BY_QUESTIONS,
        Primary::FactsKept => &BY_CUTS,
        Primary::ReferenceRecall => &BY_REFERENCES,
    }
}

impl Lead {
    /// Every heading between the leading figure and the verdict.
    fn heads(&self) -> Vec<Head> {
        self.readings.iter().map(|r| head(r)).collect()
    }

    /// The rows of a table. A column that no row can fill is left out: what is
    /// missing is said below the table.
    fn rows(&self, rows: &[&StrategyRow], kinds: &[QuestionKind]) -> Rows {
        let any = |reading: &&&Reading| rows.iter().any(|row| reading.read(row).is_some());
        let unknown = |reading: &&&Reading| rows.iter().any(|row| unread(row, reading.measure).1);
        let readings: Vec<&Reading> =
            self.readings.iter().filter(|r| any(r) || unknown(r)).copied().collect();
        // Said once, below the table.
        let throughout = block::absent_throughout(rows, self.primary.id()).is_some();
        let axes: Vec<_> = rows.iter().map(|row| pareto::axes(row, self.primary)).collect();
        let beaten = pareto::beaten(&axes);
        let common = common(rows.iter().map(|row| self.basis(row)));
        let row = |(row, by): (&&StrategyRow, &Option<usize>)| {
            let by = by.map(|at| plain::line(&rows[at].strategy));
            let mut made = self.row(row, &readings, !throughout);
            if made.basis == common {
                made.basis.clear();
            }
            made.rank = rank(row, rows, self.primary);
            made.beaten = by.is_some();
            made.note = by.map(|by| format!("beaten by {by}")).or_else(|| idle(row));
            made.kinds = by_kind(row, kinds);
            made
        };
        Rows {
            heads: readings.iter().map(|r| head(r)).collect(),
            rows: rows.iter().zip(&beaten).map(row).collect(),
            basis: common,
        }
    }

    fn row(&self, row: &StrategyRow, readings: &[&Reading], says_why: bool) -> Row {
        let figure = row.number(self.primary.measure());
        let interval = row.intervals.get(self.primary.id());
        let spread = match (interval, row.values.get(self.primary.id())) {
            (Some(interval), _) => self.interval(row, interval),
            (None, Some(Value::Absent(reason))) if says_why => plain::line(&reason.to_string()),
            _ => String::new(),
        };
        let cells = readings.iter().map(|reading| match reading.read(row) {
            Some((x, text)) => {
                let below = (reading.below)(row);
                TableCell { text, sort: sort_key(Some(x)), below, reason: None }
            }
            None => unread(row, reading.measure).0,
        });
        Row {
            rank: String::new(),
            name: plain::line(&row.strategy),
            class: class(row.row_kind),
            drawn: figure.map(|x| drawn::drawn(x, interval, self.primary.most())),
            figure: figure.map_or_else(|| "–".to_owned(), self.show),
            spread,
            basis: self.basis(row),
            sort: sort_key(figure),
            cells: cells.collect(),
            verdict: block::verdict(row),
            note: None,
            beaten: false,
            kinds: String::new(),
        }
    }

    fn basis(&self, row: &StrategyRow) -> String {
        let basis = match self.primary {
            Primary::Continuity => on_questions(row),
            Primary::FactsKept => on_cuts(row),
            Primary::ReferenceRecall => None,
        };
        basis.unwrap_or_default()
    }

    fn interval(&self, row: &StrategyRow, interval: &Interval) -> String {
        let show = self.show;
        match interval {
            Interval::Dots { values } => {
                let dots: Vec<String> = values.iter().map(|v| show(*v)).collect();
                // One value per cluster: sessions of one project count once, and
                // at cuts those with few facts count together.
                let at_cuts = self.primary == Primary::FactsKept;
                let sessions =
                    if at_cuts { catalogue::SESSIONS_WITH_FACTS } else { catalogue::SESSIONS };
                let alone = row.number(sessions) == Some(values.len() as f64);
                let unit = match (alone, at_cuts) {
                    (true, _) => "sessions",
                    (false, true) => "groups of sessions",
                    (false, false) => "projects",
                };
                format!("{unit}: {}", dots.join(", "))
            }
            Interval::ThisSessionOnly { lo, hi } => {
                format!("{}–{}, this session only", show(*lo), show(*hi))
            }
            Interval::Student { lo, hi } | Interval::Wider { lo, hi } => {
                format!("{}–{}", show(*lo), show(*hi))
            }
        }
    }
}

/// What an answer's figure rests on.
fn on_questions(row: &StrategyRow) -> Option<String> {
    let (questions, sessions) =
        (row.number(catalogue::QUESTIONS)?, row.number(catalogue::SESSIONS)?);
    let asked = block::counted(questions as usize, "question");
    let sessions = block::counted(sessions as usize, "session");
    let graded = row.number(catalogue::UNSCORED).filter(|missing| *missing > 0.0).map(|missing| {
        // Replicates are averaged.
        format!(" ({} graded)", number::grouped((questions - missing).round() as u64))
    });
    Some(format!("{asked}{}, {sessions}", graded.unwrap_or_default()))
}

/// What a figure of cuts rests on.
fn on_cuts(row: &StrategyRow) -> Option<String> {
    let count = |measure, noun| Some(block::counted(row.number(measure)?.round() as usize, noun));
    Some(format!(
        "{} at {} in {}",
        count(catalogue::FACTS_NEEDED, "fact")?,
        count(catalogue::CUTS, "cut")?,
        count(catalogue::SESSIONS_WITH_FACTS, "session")?,
    ))
}

fn head(reading: &Reading) -> Head {
    Head { label: reading.label, about: reading.about }
}

/// What most rows say; the first of several.
fn common(all: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for basis in all.filter(|basis| !basis.is_empty()) {
        *counts.entry(basis).or_default() += 1;
    }
    let most = counts.iter().rev().max_by_key(|(_, n)| **n);
    most.map_or(String::new(), |(basis, _)| basis.clone())
}

/// The place of a row: the best among the ranked rows with the very same figure.
fn rank(row: &StrategyRow, rows: &[&StrategyRow], primary: Primary) -> String {
    let Some(own) = row.rank else { return String::new() };
    let same = |other: &&&StrategyRow| {
        other.number(primary.measure()).is_some()
            && other.number(primary.measure()) == row.number(primary.measure())
    };
    let shared = rows.iter().filter(same).filter_map(|other| other.rank).min();
    shared.unwrap_or(own).to_string()
}

/// Why a ranked row has no verdict.
fn idle(row: &StrategyRow) -> Option<String> {
    let never = row.number(catalogue::COMPACTIONS) == Some(0.0) && row.row_kind == RowKind::Ranked;
    (never && row.verdict.is_none()).then(|| match block::overflows(row) {
        Some(_) => "it never compacted, not even over the window".to_owned(),
        None => "it never compacted".to_owned(),
    })
}

fn by_kind(row: &StrategyRow, kinds: &[QuestionKind]) -> String {
    let figure = |kind: &QuestionKind| row.number(catalogue::continuity_of(*kind)?);
    let each = kinds.iter().map(|kind| sort_key(figure(kind)));
    each.collect::<Vec<String>>().join(" ")
}

/// A cell without a figure: why, and whether somebody knows what we do not.
fn unread(row: &StrategyRow, measure: &Measure) -> (TableCell, bool) {
    let reason = match row.values.get(measure.id) {
        Some(Value::Absent(reason)) => Some(reason),
        _ => None,
    };
    let unknown = matches!(reason, Some(Absent::Price(_) | Absent::Storage(_)));
    let reason = reason.map(|reason| plain::line(&reason.to_string()));
    let bill = block::but_for_storage(row).filter(|_| measure == catalogue::COST_USD);
    let text = bill.unwrap_or_else(|| if unknown { "unknown" } else { "–" }.to_owned());
    (TableCell { text, sort: String::new(), below: None, reason }, unknown)
}

/// How the style sheet calls a standing.
pub(super) fn class(row_kind: RowKind) -> &'static str {
    match row_kind {
        RowKind::Ranked => "ranked",
        RowKind::Control => "control",
        RowKind::OfflineSummary => "offline-summary",
        RowKind::Unusable => "unusable",
    }
}

fn sort_key(x: Option<f64>) -> String {
    x.and_then(number::plain).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn strategies_with_the_same_figure_share_a_rank() {
        let mut report = Kit { windows: vec!["25%"], ..Kit::default() }.report();
        for row in report.rows.iter_mut().filter(|row| row.rank >= Some(2)) {
            row.values.insert("reference_recall".to_owned(), Value::Known(0.25));
        }
        let rows: Vec<&StrategyRow> = report.rows.iter().collect();
        let made = lead(Primary::ReferenceRecall).rows(&rows, &[]).rows;
        let ranks: Vec<&str> = made.iter().map(|row| row.rank.as_str()).collect();
        assert_eq!(ranks, ["", "", "1", "2", "2", ""]);
    }

    #[test]
    fn what_most_rows_rest_on_is_said_once() {
        let all = ["3 questions", "", "2 questions", "2 questions"].map(str::to_owned);
        assert_eq!(common(all.into_iter()), "2 questions");
    }

    #[test]
    fn a_column_that_nobody_fills_is_left_out() {
        let mut report = Kit { windows: vec!["25%"], ..Kit::default() }.report();
        for row in &mut report.rows {
            row.values.insert("recency_gain".to_owned(), Value::Absent(Absent::NoReferences));
        }
        let rows: Vec<&StrategyRow> = report.rows.iter().collect();
        let made = lead(Primary::ReferenceRecall).rows(&rows, &[]);
        assert!(made.heads.iter().all(|head| head.label != "gain over recency"));
        assert!(made.rows.iter().all(|row| row.cells.len() == made.heads.len()));
    }
}
