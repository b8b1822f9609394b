//! Why no strategy is recommended.

use recap_core::model::{Primary, RECORDED, RowKind, StrategyRow, Value, catalogue};
use recap_core::text::counted;
use recap_core::wording::number::dollars;
use recap_core::wording::{self, listed, window};

use super::{ahead_but_over, keeps, leads, limit};
use crate::findings::Evidence;
use crate::preference::{ENOUGH, NotPreferred, prefer};
use crate::ranking::FEWEST_ASKED;
use crate::rows::Entry;

/// Why there is none at any window.
pub(super) fn why(run: &Evidence<'_>) -> String {
    none_preferred(run).unwrap_or_else(|| none_ranked(run))
}

/// Why no row is preferred at the window at which the best one keeps most, and which others have
/// none.
fn none_preferred(run: &Evidence<'_>) -> Option<String> {
    let whys = run.at_windows().filter_map(|rows| prefer(run, rows).err());
    let whys: Vec<(NotPreferred<'_>, &StrategyRow)> =
        whys.filter_map(|why| Some((why, &why.best()?.row))).collect();
    let (why, row) = whys.iter().reduce(|a, b| if leads(run, b.1, a.1) { b } else { a })?;
    let why = not_preferred(run, *why, row)?;
    let others = whys.iter().map(|(_, other)| &other.window).filter(|at| **at != row.window);
    let others: Vec<String> = others.map(|label| window(label)).collect();
    if others.is_empty() {
        return Some(why);
    }
    Some(format!("{why} Nor is one recommended at {}.", listed(&others)))
}

/// Why this row, which keeps most at its window, is not preferred.
fn not_preferred(run: &Evidence<'_>, why: NotPreferred<'_>, row: &StrategyRow) -> Option<String> {
    let at = limit(&row.window);
    let figure = row.number(run.primary.measure());
    let within = if ahead_but_over(run, row).is_some() { " within the window" } else { "" };
    let most = || {
        let (strategy, kept) = (&row.strategy, keeps(run, row));
        figure.map(|_| format!("{strategy} keeps most{within} ({kept})"))
    };
    match why {
        NotPreferred::NoneRanked => None,
        NotPreferred::TooLittle(_) => Some(format!(
            "At {at} {}, which is less than {}: leave the context more room, or have a model write \
             summaries.",
            most()?,
            wording::kept(run.primary, ENOUGH * run.primary.most())
        )),
        NotPreferred::NoGain { other, .. } => {
            let bill = dollars(other.row.number(catalogue::COST_USD)?);
            let instead = if other.row.strategy == RECORDED {
                format!(
                    "At {at} keep what the agent does ({bill} today): nothing that keeps half of \
                     the facts costs less"
                )
            } else {
                format!(
                    "Send the whole conversation ({bill}): it fits {at}, and nothing that keeps \
                     half of the facts costs less"
                )
            };
            let usd = row.number(catalogue::COST_USD).map(dollars);
            let usd = usd.unwrap_or_else(|| "a bill whose storage has no known price".to_owned());
            Some(format!("{instead}; {} for {usd}.", most()?))
        }
        NotPreferred::NoneActed(_) => {
            let at_cuts = run.primary == Primary::FactsKept;
            let idle = |e: &&Entry| e.row.row_kind == RowKind::Control || !e.acted;
            if !at_cuts && run.rows.iter().all(idle) {
                return None;
            }
            let most = figure.filter(|_| at_cuts).map(|_| {
                let (strategy, kept) = (&row.strategy, keeps(run, row));
                format!("; where a compaction was made to happen, {strategy} keeps most ({kept})")
            });
            Some(format!(
                "At {at} no strategy that needs no model had anything to compact{}.",
                most.unwrap_or_default()
            ))
        }
    }
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
