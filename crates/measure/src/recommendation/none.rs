//! Why no strategy is recommended.

use recap_core::model::{Primary, RowKind, Value};
use recap_core::text::counted;
use recap_core::wording::{listed, window};

use super::leads;
use crate::findings::Evidence;
use crate::preference::prefer;
use crate::ranking::FEWEST_ASKED;
use crate::rows::Entry;

/// Why there is none at any window.
pub(super) fn why(run: &Evidence<'_>) -> String {
    none_preferred(run).unwrap_or_else(|| none_ranked(run))
}

/// Why no row is preferred at the window at which the best one keeps most, and which others have
/// none. Where nothing at all compacted that is the reason.
fn none_preferred(run: &Evidence<'_>) -> Option<String> {
    if run.primary != Primary::FactsKept && run.strategies().all(|e| !e.acted) {
        return None;
    }
    let whys = run.at_windows().filter_map(|rows| prefer(run, rows).err().flatten());
    let whys: Vec<(&Entry, String)> = whys.collect();
    let (best, why) =
        whys.iter().reduce(|a, b| if leads(run, &b.0.row, &a.0.row) { b } else { a })?;
    let others = whys.iter().map(|(other, _)| &other.row.window);
    let others: Vec<String> =
        others.filter(|at| **at != best.row.window).map(|label| window(label)).collect();
    if others.is_empty() {
        return Some(why.clone());
    }
    Some(format!("{why} Nor is one recommended at {}.", listed(&others)))
}

/// Why no row has a rank.
fn none_ranked(run: &Evidence<'_>) -> String {
    let by = run.primary;
    let strategies: Vec<&Entry> = run.strategies().collect();
    let nothing_risked = |rows: &[&Entry]| rows.iter().all(|e| e.row.risked_nothing(by));
    let no_fact_needed = "No fact was needed: all that the agent used next was still sent as it was \
                          recorded, so nothing tells strategies apart.";
    if strategies.is_empty() {
        return "Only controls ran: there is no strategy to choose from.".to_owned();
    }
    if by == Primary::FactsKept && nothing_risked(&strategies) {
        return no_fact_needed.to_owned();
    }
    if strategies.iter().all(|e| !e.acted && e.row.failed.is_empty()) {
        let contexts = run.facts.iter().flat_map(|f| &f.requests).map(|r| r.tokens_full);
        return format!(
            "Nothing compacted: the largest context seen has {}. Only a smaller window can tell \
             strategies apart.",
            counted(contexts.max().unwrap_or(0), "token")
        );
    }
    if strategies.iter().all(|e| e.row.row_kind == RowKind::OfflineSummary) {
        return "No strategy is ranked: all of them need a model for their summaries (`--compactor \
                MODEL`)."
            .to_owned();
    }
    let ranked: Vec<&Entry> =
        strategies.into_iter().filter(|e| e.row.row_kind == RowKind::Ranked).collect();
    if ranked.is_empty() {
        return "No strategy is ranked: of each more than 5 % of the compactor's replies were \
                unusable."
            .to_owned();
    }
    if let Some(few) = ranked.iter().find(|e| e.asked > 0 && e.asked < FEWEST_ASKED) {
        let what = if by == Primary::Continuity { "question" } else { "fact" };
        return format!(
            "None is ranked: {} was measured by {} only, and a rank takes at least {FEWEST_ASKED}.",
            few.row.strategy,
            counted(few.asked, what)
        );
    }
    if ranked.iter().all(|e| !e.row.failed.is_empty()) {
        return "Each of those that could be ranked failed on some session, so none is.".to_owned();
    }
    if nothing_risked(&ranked) {
        return no_fact_needed.to_owned();
    }
    let measure = match by {
        Primary::Continuity => "continuity",
        Primary::FactsKept => "share of facts kept",
        Primary::ReferenceRecall => "share of needed facts kept",
    };
    let why = ranked.iter().find_map(|e| match e.row.values.get(by.id()) {
        Some(Value::Absent(reason)) => Some(reason.to_string()),
        _ => None,
    });
    let why = why.unwrap_or_else(|| "nothing to measure".to_owned());
    format!("None is ranked, since there is no {measure}: {why}.")
}
