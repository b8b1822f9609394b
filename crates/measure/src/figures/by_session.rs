//! The figures of a run by session, which pairs of runs are compared by, and hashes by which two
//! runs recognise the same session.
//!
//! Replicates are averaged, as they are before pooling; for measures that are
//! pooled by a maximum or a percentile each session has its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figures::nearest_rank;
use crate::figures::spec::{Contribution, Pool};
use crate::figures::table::{RowKey, SessionTable, TableRow};
use crate::measures::{MEASURES, spec_of};
use recap_core::model::{
    Expectation, Fingerprint, Report, RowKind, SESSION_MEASURES, SessionFacts, SessionRow,
};

/// Every session of a run, and its figures in each row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BySession {
    /// The sessions, sorted by data set and id.
    pub sessions: Vec<SessionFingerprint>,
    /// The rows of each single data set; there is no row for all of them
    /// together.
    pub rows: Vec<UnitRow>,
}

/// A session with hashes of everything that results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFingerprint {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Project or developer of the session, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Hash of its messages, requests and references.
    pub content: String,
    /// Hash of its questions without their text.
    pub questions: String,
    /// Hash of the text of its questions; `None` if the run did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// How its tokens are counted.
    pub tokens: String,
}

/// A row of one data set, session by session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the strategy without markup.
    pub strategy: String,
    /// Label of the window, as typed.
    pub window: String,
    /// Name of the billing model: [`recap_core::model::Bill::billed_as`].
    pub billed_as: String,
    /// The role of the row in the comparison.
    pub row_kind: RowKind,
    /// Number of cells that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// For each measure, one figure for each session of the data set, in
    /// their order.
    pub figures: BTreeMap<String, Vec<Option<Figure>>>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The contribution of a session to a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A figure that is no ratio.
    One(f64),
    /// Numerator and denominator of a ratio.
    Fraction(f64, f64),
}

impl Figure {
    /// The figure as a number; none of a ratio to nothing.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Figure::One(x) => Some(x),
            Figure::Fraction(of, to) => (to != 0.0).then(|| of / to),
        }
    }
}

/// Significant digits of a figure, so that a file stays short and equal figures
/// stay equal.
const DIGITS: usize = 9;

/// The figures of a measured run by session.
pub fn by_session(report: &Report) -> BySession {
    BySession {
        rows: unit_rows(report, &table_of(report)).collect(),
        sessions: report.sessions.iter().map(fingerprint_of).collect(),
    }
}

/// The table by which a run is compared with another one.
pub(crate) fn table_of(report: &Report) -> SessionTable<'_> {
    SessionTable::of(&report.manifest, &report.sessions, &report.results)
}

/// The fingerprint of a session in a run.
pub fn fingerprint_of(facts: &SessionFacts) -> SessionFingerprint {
    SessionFingerprint {
        dataset: facts.dataset.clone(),
        session: facts.session.clone(),
        cluster: facts.cluster.clone(),
        content: facts.fingerprint(),
        questions: questions(facts),
        words: words(facts),
        tokens: format!("{} {:.6}", facts.tokens_source.as_str(), facts.factor()),
    }
}

fn questions(facts: &SessionFacts) -> String {
    let mut hash = Fingerprint::default();
    for asked in facts.all_questions() {
        let question = &asked.question;
        hash.add(&question.id);
        hash.add(question.kind.as_str());
        hash.add(&question.asked_at.to_string());
        hash.add(&question.evidence.len().to_string());
        question.evidence.iter().for_each(|id| hash.add(id));
    }
    hash.short()
}

fn words(facts: &SessionFacts) -> Option<String> {
    let mut hash = Fingerprint::default();
    let mut has_words = false;
    for question in facts.all_questions().map(|asked| &asked.question) {
        has_words |= !question.question.is_empty();
        hash.add(&question.question);
        let (kind, values): (&str, &[String]) = match &question.expect {
            Expectation::AnyOf(values) => ("any of", values),
            Expectation::Rubric(values) => ("rubric", values),
            Expectation::Unanswerable => ("unanswerable", &[]),
        };
        hash.add(kind);
        values.iter().chain(&question.stale).for_each(|value| hash.add(value));
    }
    has_words.then(|| hash.short())
}

/// The rows of a run one by one: all of them at once need much memory if there are many sessions.
pub fn unit_rows<'a>(
    report: &'a Report,
    table: &'a SessionTable<'_>,
) -> impl Iterator<Item = UnitRow> + 'a {
    table.rows().map(|(key, row)| unit_row(&report.sessions, key, row))
}

/// The figures of each session whose replay reached its end.
pub(crate) fn session_rows(table: &SessionTable<'_>) -> Vec<SessionRow> {
    let mut rows = Vec::new();
    for (key, row) in table.rows() {
        let columns: Vec<Vec<Option<f64>>> = (SESSION_MEASURES.iter())
            .filter_map(|measure| spec_of(measure.id))
            .map(|spec| {
                let each = row.contributions(spec);
                each.map(|(_, own)| figure(spec.pool, own)?.number()).collect()
            })
            .collect();
        rows.extend(row.sessions.iter().enumerate().map(|(at, unit)| SessionRow {
            unit: *unit,
            strategy: key.strategy.clone(),
            window: key.window.clone(),
            billed_as: key.billing_model.clone(),
            figures: columns.iter().map(|column| column[at]).collect(),
        }));
    }
    rows
}

/// A row with the figures of its sessions; a measure that the row has no figure of is left out.
fn unit_row(facts: &[SessionFacts], key: &RowKey, row: &TableRow) -> UnitRow {
    let of_dataset = |at: &usize| facts[*at].dataset == key.dataset;
    let positions: Vec<usize> = (0..facts.len()).filter(of_dataset).collect();
    let mut figures = BTreeMap::new();
    for spec in MEASURES.iter() {
        let own: Vec<(usize, Contribution)> = row.contributions(spec).collect();
        let is_unknown = own.iter().any(|(_, own)| matches!(own, Contribution::Unknown(_)));
        let each = own.into_iter().filter_map(|(at, own)| Some((at, figure(spec.pool, own)?)));
        let mut own: BTreeMap<usize, Figure> = each.collect();
        if is_unknown || own.is_empty() || row.mixes_times(spec) {
            continue;
        }
        let in_order = positions.iter().map(|at| own.remove(at)).collect();
        figures.insert(spec.id().to_owned(), in_order);
    }
    UnitRow {
        dataset: key.dataset.clone(),
        strategy: key.strategy.clone(),
        window: key.window.clone(),
        billed_as: key.billing_model.clone(),
        row_kind: row.row_kind(),
        failed: row.failed.len() as u64,
        figures,
    }
}

/// The figure of one session.
fn figure(pool: Pool, own: Contribution) -> Option<Figure> {
    let figure = match (own, pool) {
        (Contribution::One(value), _) => Figure::One(rounded(value)),
        (Contribution::Fraction { of, to }, _) => Figure::Fraction(rounded(of), rounded(to)),
        (Contribution::Many(mut values), Pool::Percentile(percent)) => {
            values.sort_by(f64::total_cmp);
            Figure::One(rounded(nearest_rank(&values, percent)?))
        }
        _ => return None,
    };
    Some(figure)
}

/// A number rounded to [`DIGITS`].
fn rounded(x: f64) -> f64 {
    let text = format!("{x:.*e}", DIGITS - 1);
    text.parse().expect("a number that was printed is one")
}

#[cfg(test)]
#[path = "by_session_tests.rs"]
mod tests;
