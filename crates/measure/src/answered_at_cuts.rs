//! Which kinds of questions a strategy still answers at cuts, of those that the
//! whole conversation answers right: the measure `continuity_at_cut` by kind,
//! over all cuts and over repetitions. Questions that the
//! session does not answer count where the strategy says so.

use std::collections::BTreeMap;

use super::measures::at_cuts::agreements;
use recap_core::model::FULL;
use recap_core::model::{
    Agreement, AnsweredAtCuts, Cut, CutRow, NO_SUMMARY, RunResults, SessionFacts, counts_refusals,
};

/// Every strategy whose answers at cuts were graded, in the order of their names;
/// empty if no question was asked there. Sessions must be sorted.
pub fn answered_at_cuts(
    facts: &[SessionFacts],
    results: &RunResults,
    depth: u32,
) -> Vec<AnsweredAtCuts> {
    let mut strategies: BTreeMap<String, AnsweredAtCuts> = BTreeMap::new();
    for session in results.iter() {
        let place = (session.dataset, session.id);
        let at = facts.binary_search_by(|f| (&*f.dataset, &*f.session).cmp(&place));
        if let Ok(at) = at {
            session.cuts().iter().for_each(|cut| add(&mut strategies, cut, depth, &facts[at]));
        }
    }
    strategies.into_values().filter(|strategy| !strategy.kinds.is_empty()).collect()
}

fn add(
    strategies: &mut BTreeMap<String, AnsweredAtCuts>,
    cut: &Cut,
    depth: u32,
    facts: &SessionFacts,
) {
    let full = cut.rows.iter().find(|row| row.strategy == FULL).and_then(CutRow::exam);
    let Some(full) = full else { return };
    for row in cut.rows.iter().filter(|row| !row.strategy.starts_with(NO_SUMMARY)) {
        let Some(exam) = row.exam() else { continue };
        let strategy = strategies.entry(row.strategy.clone()).or_insert_with(|| AnsweredAtCuts {
            strategy: row.strategy.clone(),
            row_kind: row.row_kind,
            kinds: BTreeMap::new(),
        });
        let answers = counts_refusals(&row.strategy, row.row_kind, depth);
        for (kind, agreement) in agreements(facts, full, exam, answers) {
            let kept = u64::from(agreement == Agreement::Kept);
            if kept > 0 || agreement == Agreement::Lost {
                let of_kind = strategy.kinds.entry(kind).or_default();
                (of_kind.before, of_kind.after) = (of_kind.before + 1, of_kind.after + kept);
            }
        }
    }
}
