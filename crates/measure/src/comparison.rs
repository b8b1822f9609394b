//! Compares two runs on the same data, row by row (reference §7): the primary
//! measure is tested, all others are described.

use std::collections::BTreeSet;

use crate::ALL;
use crate::advice::family::{corrected, outranks};
use crate::figures::by_session::BySession;
use crate::figures::paired::{Side, Unpaired, paired};
use recap_core::model::{
    ComparedMeasure, ComparedRow, Comparison, Primary, Report, RowKind, catalogue,
};

/// The measures that are compared, besides those by kind of question.
const COMPARED: [&str; 17] = [
    catalogue::CONTINUITY.id,
    catalogue::FACTS_KEPT.id,
    catalogue::ADDED_AT_CUT.id,
    catalogue::CARRIED_SHARE.id,
    catalogue::TOKENS_AT_CUT.id,
    catalogue::RECALL.id,
    catalogue::REFERENCE_RECALL.id,
    catalogue::RECENCY_GAIN.id,
    catalogue::FINDABLE.id,
    catalogue::EVIDENCE_GONE.id,
    catalogue::OVERFLOWS.id,
    catalogue::COMPACTIONS.id,
    catalogue::TOKENS_SENT.id,
    catalogue::PEAK_TOKENS.id,
    catalogue::COST_USD.id,
    catalogue::COMPACTION_COST_USD.id,
    catalogue::BLOCKING_MS_P95.id,
];

/// One of the two runs.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Name of the run in the report.
    pub name: &'a str,
    /// The measures of the run, row by row.
    pub report: &'a Report,
    /// The figures of the run by session.
    pub by_session: &'a BySession,
}

/// Compares two runs on the same data. `pairs` maps strategies of A to strategies of
/// B; if it is empty, strategies of the same name are compared. Measures in
/// `left_out` are not compared.
pub fn compare(
    a: Run<'_>,
    b: Run<'_>,
    pairs: &[(String, String)],
    left_out: &[&str],
) -> Comparison {
    let strategies = |run: Run<'_>| -> Vec<String> {
        run.report.manifest.strategies.iter().map(|strategy| strategy.name.clone()).collect()
    };
    let (own_a, own_b) = (strategies(a), strategies(b));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|name| !those.contains(name)).cloned().collect()
    };
    let namesakes = own_a.iter().filter(|name| own_b.contains(name));
    let pairs: Vec<(String, String)> = if pairs.is_empty() {
        namesakes.map(|name| (name.clone(), name.clone())).collect()
    } else {
        pairs.to_vec()
    };
    let datasets: BTreeSet<&str> =
        b.by_session.sessions.iter().map(|session| session.dataset.as_str()).collect();
    let mut datasets: Vec<&str> = datasets.into_iter().collect();
    if datasets.len() > 1 {
        datasets.insert(0, ALL);
    }
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for dataset in &datasets {
        for window in &b.report.manifest.windows {
            for pair in &pairs {
                rows.extend(row(a, b, (dataset, window, pair), left_out, &mut notes));
            }
        }
    }
    let first = datasets.first().copied().unwrap_or(ALL);
    let (family, limit) = test(&mut rows, first, b.report.primary);
    // Stable: rows that differ as much stay in the order of data sets and windows.
    let size = |row: &ComparedRow| size(row, b.report.primary);
    let part = |row: &ComparedRow| row.dataset != *first;
    rows.sort_by(|x, y| part(x).cmp(&part(y)).then(size(y).total_cmp(&size(x))));
    Comparison {
        a: a.name.to_owned(),
        b: b.name.to_owned(),
        title: b.report.title.clone(),
        sessions: b.by_session.sessions.len() as u64,
        primary: b.report.primary,
        family,
        limit,
        only_a: only(&own_a, &own_b),
        only_b: only(&own_b, &own_a),
        notes,
        rows,
    }
}

/// How much a row differs: by the share of the scale of the measure that ranks, or by the
/// share of the bill, whichever is more.
fn size(row: &ComparedRow, primary: Primary) -> f64 {
    let of = |id: &str| row.measures.iter().find(|measure| measure.measure == id);
    let kept = of(primary.id()).map(|of| of.difference.abs() / primary.most());
    let bill = of(catalogue::COST_USD.id).map(|of| of.difference.abs() / of.a.max(of.b));
    [kept, bill].into_iter().flatten().filter(|size| size.is_finite()).fold(0.0, f64::max)
}

fn row(
    a: Run<'_>,
    b: Run<'_>,
    (dataset, window, pair): (&str, &str, &(String, String)),
    left_out: &[&str],
    notes: &mut Vec<String>,
) -> Option<ComparedRow> {
    let side_a = Side::find(a.by_session, dataset, &pair.0, window, None)?;
    let side_b = Side::find(b.by_session, dataset, &pair.1, window, None)?;
    let row_kind = side_b.rows()[0].row_kind;
    // A control compared with itself shows no difference between the runs.
    if row_kind == RowKind::Control && pair.0 == pair.1 {
        return None;
    }
    let kinds = catalogue::CONTINUITY_BY_KIND.iter().map(|measure| measure.id);
    let ids = COMPARED.into_iter().chain(kinds).filter(|id| !left_out.contains(id));
    let mut measures = Vec::new();
    for id in ids {
        match paired(id, &side_a, &side_b, b.report.manifest.seed) {
            Ok(found) => measures.push(found.compared),
            Err(Unpaired::NoPair) => {}
            Err(Unpaired::OtherFacts) => notes.push(format!(
                "{} at {window} on {dataset}: {id} is left out, for its cuts have other facts \
                 in A than in B",
                pair.1
            )),
        }
    }
    Some(ComparedRow {
        dataset: dataset.to_owned(),
        strategy_a: pair.0.clone(),
        strategy_b: pair.1.clone(),
        window: window.to_owned(),
        row_kind,
        measures,
    })
}

/// Tests the primary measure over strategies and windows. Returns the size of the
/// family and a sentence on what cannot be concluded. Kinds and other measures
/// have no p.
fn test(rows: &mut [ComparedRow], dataset: &str, primary: Primary) -> (u64, Option<String>) {
    let mut tested: Vec<&mut ComparedMeasure> = Vec::new();
    for row in rows.iter_mut() {
        let in_family = row.dataset == dataset && row.row_kind != RowKind::Control;
        for measure in &mut row.measures {
            if in_family && measure.measure == primary.id() {
                tested.push(measure);
            } else {
                measure.p = None;
            }
        }
    }
    let each = tested.iter().map(|measure| (measure.clusters as usize, measure.p));
    let (corrected, limit) = corrected(&each.collect::<Vec<_>>());
    let family = tested.len() as u64;
    for (measure, p_holm) in tested.into_iter().zip(corrected) {
        measure.p_holm = p_holm;
        measure.p = p_holm.and(measure.p);
        let is_alike = measure.alike == measure.sessions;
        measure.outcome = Some(outranks(is_alike, measure.interval, p_holm));
    }
    (family, limit)
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
