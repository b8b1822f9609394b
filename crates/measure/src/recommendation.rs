//! Recommends a strategy: what it keeps and costs, how sure that is and what
//! questions it most (how-it-works §47, reference §2 and §7). Every part is computed from
//! measures of this run, and left out if they are absent.

use std::collections::BTreeSet;

use super::cluster::noun;
use super::findings::{Evidence, place_of};
use super::next_step;
use super::preference::{ENOUGH, Judge, NotPreferred, Preferred};
use super::ranking::FEWEST_ASKED;
use super::rows::Entry;
use recap_core::model::{
    Against, Alternative, Choice, Chosen, ComparisonWithFull, Finding, Interval, Limit, Measured,
    NATIVE, NoChoice, Priced, Primary, Problem, QUESTIONED, Range, RangeOf, Recommendation,
    Replayed, RowKind, RowName, RunnerUp, SMALLEST_NATIVE, SampleSizeLimit, Savings, StrategyRow,
    Value, catalogue,
};
use recap_core::model::{FULL, RECORDED};

/// Shares below this value are not mentioned as numbers.
const LEAST_TOLD: f64 = 0.001;

/// The recommendation; `None` for a run without rows.
pub fn recommendation(run: &Evidence<'_>, findings: &[Finding]) -> Option<Recommendation> {
    run.rows.first()?;
    let (choice, sure, doubt) = match choose(run) {
        _ if run.missing.is_some() => (none(NoChoice::Incomplete), None, None),
        Ok(preferred) => {
            let row = &preferred.row.row;
            let doubt = doubt(run, findings, row);
            (Choice::Use(Box::new(chosen(run, &preferred))), sure(run, preferred.row), doubt)
        }
        Err(choice) => {
            let is_few = |finding: &&Finding| {
                let Finding::Limit(Limit::FewClusters { allows, .. }) = finding else {
                    return false;
                };
                *allows == SampleSizeLimit::Description
            };
            let few = findings.iter().find(is_few).cloned();
            let best = run.rows.iter().find(|e| e.row.rank.is_some());
            (choice, None, few.or_else(|| doubt(run, findings, &best?.row)))
        }
    };
    let next = next_step::next(run, findings);
    Some(Recommendation { replayed: replayed(run), choice, sure, doubt, next, hint: hint(run) })
}

/// The strategy that keeps most with offline summaries at the first window, where
/// questions are asked.
fn hint(run: &Evidence<'_>) -> Option<(RowName, f64)> {
    let rows = run.at_windows().next().filter(|_| run.primary == Primary::Continuity)?;
    let summaries =
        rows.iter().map(|e| &e.row).filter(|row| row.row_kind == RowKind::OfflineSummary);
    let best = summaries.filter_map(|row| Some((row, row.number(run.primary.measure())?)));
    let (row, figure) = best.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    Some((place_of(row), figure))
}

fn replayed(run: &Evidence<'_>) -> Replayed {
    let facts = run.facts;
    let questions: usize = facts.iter().map(|f| f.questions.len()).sum();
    let references: usize = facts.iter().map(|f| f.exam.references.len()).sum();
    let count = |measure| {
        let figures = run.rows.iter().filter_map(|e| e.row.number(measure));
        figures.fold(0.0, f64::max) as usize
    };
    let asked = match (run.primary, questions, references) {
        (Primary::FactsKept, 0, _) => Measured::FactsAtCuts {
            facts: count(catalogue::FACTS_NEEDED),
            cuts: count(catalogue::CUTS),
            sessions: run.results.iter().filter(|session| !session.cuts().is_empty()).count(),
        },
        (_, 0, 0) => Measured::Nothing,
        (_, 0, n) => Measured::NeededFacts(n),
        (_, n, _) => Measured::Questions(n),
    };
    let strategies = run.rows.iter().filter(|e| e.row.row_kind != RowKind::Control);
    let strategies: BTreeSet<&str> = strategies.map(|e| e.row.strategy.as_str()).collect();
    Replayed {
        sessions: facts.len(),
        requests: facts.iter().map(|f| f.requests.len()).sum(),
        asked,
        strategies: strategies.len(),
        windows: run.at_windows().map(|rows| rows[0].row.window.clone()).collect(),
    }
}

/// The row to use, at the window whose row keeps most; of equals the smaller
/// bill and then the first window decide. The error says why there is none at
/// any window.
fn choose<'a>(run: &Evidence<'a>) -> Result<Preferred<'a>, Choice> {
    let better = |a: Preferred<'a>, b: Preferred<'a>| {
        if leads(run, &b.row.row, &a.row.row) { b } else { a }
    };
    leaders(run).reduce(better).ok_or_else(|| why_none(run))
}

/// The row to use at each window that has one, windows as typed.
fn leaders<'a>(run: &Evidence<'a>) -> impl Iterator<Item = Preferred<'a>> {
    run.at_windows().filter_map(|rows| judge(run).prefer(rows).ok())
}

fn judge<'a>(run: &Evidence<'a>) -> Judge<'a> {
    Judge { facts: run.facts, manifest: run.manifest, primary: run.primary }
}

/// Whether the row of one window comes before that of another: first by fitting
/// its window, then by what it keeps, then by its cost.
fn leads(run: &Evidence<'_>, one: &StrategyRow, other: &StrategyRow) -> bool {
    // An unknown bill is no smaller than any.
    let usd = |row: &StrategyRow| row.number(catalogue::COST_USD).unwrap_or(f64::INFINITY);
    let apart = kept(run, one) - kept(run, other);
    let over = |row: &StrategyRow| row.refused_often().is_some();
    match over(one) == over(other) {
        false => over(other),
        // Figures that are printed alike count as equal.
        true if apart.abs() < 0.005 * run.primary.most() => usd(one) < usd(other),
        true => apart > 0.0,
    }
}

pub(super) fn kept(run: &Evidence<'_>, row: &StrategyRow) -> f64 {
    row.number(run.primary.measure()).unwrap_or(0.0)
}

/// Whether a provider would have refused some of the row's requests.
fn is_over(row: &StrategyRow) -> bool {
    row.number(catalogue::OVERFLOWS).is_some_and(|n| n > 0.0)
}

/// Number of requests that a provider would have refused, and of all requests.
fn over(row: &StrategyRow) -> Option<(f64, f64)> {
    is_over(row).then_some((row.number(catalogue::OVERFLOWS)?, row.number(catalogue::REQUESTS)?))
}

fn chosen(run: &Evidence<'_>, preferred: &Preferred<'_>) -> Chosen {
    let (entry, row) = (preferred.row, &preferred.row.row);
    let margin = run.manifest.margin * run.primary.most();
    let others = run.rows.iter().filter(|e| e.row.window == row.window);
    let alike = others.filter(|e| e.row.rank == row.rank && !std::ptr::eq(**e, entry));
    let elsewhere = leaders(run).map(|other| &other.row.row).filter(|r| r.window != row.window);
    let none_at = run.at_windows().filter(|rows| judge(run).prefer(rows).is_err());
    let adds = row.added().filter(|(added, bounds)| {
        // The lower bound, if there is one.
        bounds.map_or(*added, |(least, _)| least) <= 0.0
    });
    Chosen {
        row: place_of(row),
        by: run.primary,
        kept: kept(run, row),
        spread: spread(run, row),
        loses_much: row.number(catalogue::DIFFERENCE_TO_FULL).is_some_and(|d| d < -2.0 * margin),
        bill: bill(run, row),
        over: over(row),
        alike: alike.map(|e| e.row.strategy.clone()).collect(),
        keeps_more: preferred.best.map(|most| rival(run, &most.row)),
        refused: refused(run, row).map(|row| rival(run, row)),
        elsewhere: elsewhere.map(|row| (place_of(row), kept(run, row))).collect(),
        none_at: none_at.map(|rows| rows[0].row.window.clone()).collect(),
        adds: adds.map(|(added, _)| added),
    }
}

fn rival(run: &Evidence<'_>, row: &StrategyRow) -> RunnerUp {
    RunnerUp {
        strategy: row.strategy.clone(),
        kept: kept(run, row),
        usd: row.number(catalogue::COST_USD),
        over: over(row),
    }
}

/// The row that keeps more than the best one of a window, but has requests over
/// the window.
fn refused<'a>(run: &Evidence<'a>, best: &StrategyRow) -> Option<&'a StrategyRow> {
    let ahead = |e: &&&Entry| e.row.window == best.window && e.row.rank < best.rank;
    let first = run.rows.iter().filter(|e| e.row.rank.is_some()).find(ahead)?;
    first.row.refused_often().map(|_| &first.row)
}

/// The range that is shown with the figure.
fn spread(run: &Evidence<'_>, row: &StrategyRow) -> Option<Range> {
    let (lo, hi, of) = match row.intervals.get(run.primary.id())? {
        Interval::Dots { values } => {
            // There is one value per cluster: sessions of one project count
            // once.
            let alone = row.number(catalogue::SESSIONS) == Some(values.len() as f64);
            let of = if alone { RangeOf::Sessions } else { RangeOf::Projects };
            (*values.first()?, *values.last()?, of)
        }
        Interval::ThisSessionOnly { lo, hi } => (*lo, *hi, RangeOf::WithinSession),
        Interval::Student { lo, hi } | Interval::Wider { lo, hi } => (*lo, *hi, RangeOf::Interval),
    };
    Some(Range { lo, hi, of })
}

/// The bill, compared with that of the recorded agent if it is known, else with that
/// of the whole conversation. If the whole conversation is larger than the window,
/// nobody could have sent it, so nothing is called cheaper than it.
fn bill(run: &Evidence<'_>, row: &StrategyRow) -> Option<Priced> {
    let usd = row.number(catalogue::COST_USD)?;
    let dearer = row.number(catalogue::COST_USD_REFETCH).map(|refetch| refetch / usd);
    let savings = |measure| {
        let share: f64 = row.number(measure)?;
        Some(Savings { share, refetched: dearer.map(|dearer| 1.0 - (1.0 - share) * dearer) })
    };
    let recorded = run.beside(row, RECORDED);
    let recorded = recorded.and_then(|_| savings(catalogue::COST_SAVINGS_VS_RECORDED));
    let whole = run.beside(row, FULL).filter(|whole| !is_over(whole));
    let whole = whole.and_then(|_| savings(catalogue::COST_SAVINGS));
    let against = match (recorded, whole) {
        _ if row.refused_often().is_some() => None,
        (Some(savings), _) => Some(Against::Recorded(savings)),
        (None, whole) => whole.map(Against::Whole),
    };
    Some(Priced {
        usd,
        billed_as: run.billing_model(row),
        against: against.unwrap_or(Against::Nothing),
    })
}

/// The statistical comparison of the choice with the whole conversation
/// (reference §7).
fn sure(run: &Evidence<'_>, entry: &Entry) -> Option<ComparisonWithFull> {
    let row = &entry.row;
    let most = run.primary.most();
    let bounds = row
        .number(catalogue::DIFFERENCE_TO_FULL_LO)
        .zip(row.number(catalogue::DIFFERENCE_TO_FULL_HI));
    let mean = row.number(catalogue::DIFFERENCE_TO_FULL);
    Some(ComparisonWithFull {
        verdict: row.verdict?,
        clusters: row.number(catalogue::N_CLUSTERS)? as u64,
        noun: noun(entry.scores.keys().map(|unit| &run.facts[*unit])),
        margin: run.manifest.margin * most,
        difference: mean.zip(bounds).map(|(mean, (lo, hi))| (mean, lo, hi)),
        // Without any spread every difference would be detected, which is not
        // informative.
        detectable: row.number(catalogue::MDE).filter(|mde| *mde >= LEAST_TOLD * most),
        by: run.primary,
    })
}

/// The finding that questions a row most. Findings on other rows, or on every
/// replay, do not count.
fn doubt(run: &Evidence<'_>, findings: &[Finding], row: &StrategyRow) -> Option<Finding> {
    let weighed = findings.iter().filter_map(|finding| Some((weight(run, finding, row)?, finding)));
    let heaviest = weighed.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    Some(heaviest.1.clone())
}

fn weight(run: &Evidence<'_>, finding: &Finding, row: &StrategyRow) -> Option<f64> {
    let asked = run.primary == Primary::Continuity;
    let place = place_of(row);
    let if_so = |so: bool, weight: f64| so.then_some(weight);
    match finding {
        Finding::Problem(problem) => match problem {
            Problem::JudgesDisagree { .. } => if_so(asked, 0.95),
            Problem::NarrowScale { window, .. } => if_so(asked && *window == row.window, 0.9),
            Problem::ExamInDoubt { .. } => if_so(run.primary == Primary::ReferenceRecall, 0.9),
            Problem::NamesSuffice { best, .. } => if_so(best.window == row.window, 0.85),
            Problem::Ungraded(ungraded) => {
                let share = ungraded.missing as f64 / ungraded.answers as f64;
                if_so(asked && share > QUESTIONED, 0.8)
            }
            Problem::SizeMatters { rows } => {
                if_so(asked && rows.iter().any(|(at, ..)| *at == place), 0.7)
            }
            _ => None,
        },
        Finding::Limit(limit) => match limit {
            Limit::NoAnswerer | Limit::OfflineJudge { .. } => if_so(asked, 0.6),
            Limit::Uncalibrated { .. } => if_so(asked, 0.5),
            Limit::IdentifiersOnly => Some(0.4),
            Limit::SmallWindows { windows, .. } => {
                let entry = run.rows.iter().find(|e| std::ptr::eq(&e.row, row))?;
                let small = entry.window_tokens < SMALLEST_NATIVE as f64;
                let here = row.window != NATIVE && windows.contains(&row.window);
                if_so(here && small, 0.2)
            }
            _ => None,
        },
        Finding::Observation(_) => None,
    }
}

fn none(why: NoChoice) -> Choice {
    Choice::None { why, nor_at: Vec::new() }
}

/// Why no row is recommended.
fn why_none(run: &Evidence<'_>) -> Choice {
    not_preferred(run).unwrap_or_else(|| none(none_ranked(run)))
}

/// Why no row is preferred at the window at which the best one keeps most.
fn not_preferred(run: &Evidence<'_>) -> Option<Choice> {
    let whys = run.at_windows().filter_map(|rows| judge(run).prefer(rows).err());
    let whys: Vec<(NotPreferred<'_>, &StrategyRow)> =
        whys.filter_map(|why| Some((why, &why.best()?.row))).collect();
    let (why, row) = whys.iter().reduce(|a, b| if leads(run, b.1, a.1) { b } else { a })?;
    let (best, figure) = (place_of(row), row.number(run.primary.measure()));
    let (within, by) = (refused(run, row).is_some(), run.primary);
    let why = match why {
        NotPreferred::NoneRanked => return None,
        NotPreferred::TooLittle(_) => {
            NoChoice::TooLittle { best, kept: figure?, within, least: ENOUGH * by.most(), by }
        }
        NotPreferred::NoGain { other, .. } => {
            let usd = other.row.number(catalogue::COST_USD)?;
            let over = match other.row.strategy == RECORDED {
                true => Alternative::Recorded(usd),
                false => Alternative::Whole(usd),
            };
            let usd = row.number(catalogue::COST_USD);
            NoChoice::NoGain { best, kept: figure?, within, usd, over, by }
        }
        NotPreferred::NoneActed(_) => {
            let at_cuts = by == Primary::FactsKept;
            let idle = |e: &&Entry| e.row.row_kind == RowKind::Control || !e.acted;
            if !at_cuts && run.rows.iter().copied().all(|e| idle(&e)) {
                return None;
            }
            let most = figure.filter(|_| at_cuts).map(|figure| (best.strategy, figure));
            NoChoice::NoneActed { window: best.window, most }
        }
    };
    let others = whys.iter().map(|(_, other)| &other.window).filter(|at| **at != row.window);
    Some(Choice::None { why, nor_at: others.cloned().collect() })
}

/// Why no row has a rank.
fn none_ranked(run: &Evidence<'_>) -> NoChoice {
    let by = run.primary;
    let strategies = run.rows.iter().filter(|e| e.row.row_kind != RowKind::Control);
    let strategies: Vec<&&Entry> = strategies.collect();
    let all = |of: fn(&Entry) -> bool| strategies.iter().all(|e| of(e));
    let nothing_risked = |rows: &[&&Entry]| rows.iter().all(|e| e.row.risked_nothing(by));
    if strategies.is_empty() {
        return NoChoice::OnlyControls;
    }
    if by == Primary::FactsKept && nothing_risked(&strategies) {
        return NoChoice::NoFactsNeeded;
    }
    if all(|e| !e.acted && e.row.failed.is_empty()) {
        let contexts = run.facts.iter().flat_map(|f| &f.requests).map(|r| r.tokens_full);
        return NoChoice::NothingCompacted { largest: contexts.max().unwrap_or(0) };
    }
    if all(|e| e.row.row_kind == RowKind::OfflineSummary) {
        return NoChoice::OnlyOfflineSummaries;
    }
    let ranked: Vec<&&Entry> =
        strategies.into_iter().filter(|e| e.row.row_kind == RowKind::Ranked).collect();
    if ranked.is_empty() {
        return NoChoice::OnlyUnusable;
    }
    if let Some(few) = ranked.iter().find(|e| e.asked > 0 && e.asked < FEWEST_ASKED) {
        let (strategy, asked) = (few.row.strategy.clone(), few.asked);
        return NoChoice::FewAsked { strategy, asked, least: FEWEST_ASKED, by };
    }
    if ranked.iter().all(|e| !e.row.failed.is_empty()) {
        return NoChoice::AllFailed;
    }
    if nothing_risked(&ranked) {
        return NoChoice::NoFactsNeeded;
    }
    let why = ranked.iter().find_map(|e| match e.row.values.get(by.id()) {
        Some(Value::Absent(reason)) => Some(reason.to_string()),
        _ => None,
    });
    NoChoice::NoFigure { by, why }
}

#[cfg(test)]
#[path = "recommendation_tests.rs"]
mod tests;
