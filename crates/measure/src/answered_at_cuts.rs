//! Which kinds of questions a strategy still answers at cuts, of those that the
//! whole conversation answers right: the measure `continuity_at_cut` by kind,
//! over all cuts and over repetitions. Questions that the session does not answer
//! count where the strategy says so.

use std::collections::BTreeMap;

use super::measures::at_cuts::AskedAtCuts;
use recap_core::model::FULL;
use recap_core::model::{
    AnsweredAtCuts, Cut, CutRow, NO_SUMMARY, RunResults, SessionFacts, counts_refusals,
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
            add(&mut strategies, session.cuts(), depth, &facts[at]);
        }
    }
    strategies.into_values().filter(|strategy| !strategy.kinds.is_empty()).collect()
}

/// Adds the questions of a session.
fn add(
    strategies: &mut BTreeMap<String, AnsweredAtCuts>,
    cuts: &[Cut],
    depth: u32,
    facts: &SessionFacts,
) {
    let mut asked: BTreeMap<&str, (&CutRow, AskedAtCuts<'_>)> = BTreeMap::new();
    for cut in cuts {
        let full = cut.rows.iter().find(|row| row.strategy == FULL).and_then(CutRow::exam);
        let Some(full) = full else { continue };
        for row in cut.rows.iter().filter(|row| !row.strategy.starts_with(NO_SUMMARY)) {
            let Some(exam) = row.exam() else { continue };
            let answers = counts_refusals(&row.strategy, row.row_kind, depth);
            let (_, own) = asked.entry(&row.strategy).or_insert_with(|| (row, Default::default()));
            own.add(facts, full, exam, answers);
        }
    }
    for (name, (row, asked)) in asked {
        let strategy = strategies.entry(name.to_owned()).or_insert_with(|| AnsweredAtCuts {
            strategy: name.to_owned(),
            row_kind: row.row_kind,
            kinds: BTreeMap::new(),
        });
        for (kind, kept) in asked.kept() {
            let of_kind = strategy.kinds.entry(kind).or_default();
            of_kind.before += 1;
            of_kind.after += kept;
        }
    }
}
