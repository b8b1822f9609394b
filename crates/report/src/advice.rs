//! Advice on when to compact before the limit: for a wide terminal, and as JSON for
//! scripts and agents.

use serde::Serialize;
use serde_json::{Value, json};

use super::document::{Head, Part, Table, absent, figures, words};
use super::forgets::forgets;
use super::number;
use recap_core::model::{Advice, Estimate, Payback, Report, RowKind, SizeFigures, StrategyAdvice};
use recap_core::wording;

/// Heads of the table by size; the first column names the size.
const BY_SIZE: &[Head] = &[
    words("context"),
    figures("cuts"),
    figures("to come"),
    figures("even after"),
    figures("paid back"),
    figures("saved"),
    figures("facts kept"),
];

/// Heads of the table by strategy.
const BY_STRATEGY: &[Head] = &[
    words("strategy"),
    figures("pays from"),
    figures("best at"),
    figures("saved"),
    figures("facts kept"),
];

/// Cells of the table by size.
fn by_size(strategy: &StrategyAdvice) -> Vec<Vec<String>> {
    let row = |at: &SizeFigures| {
        let size = wording::size_words(at);
        vec![
            size.trim_end_matches(" tokens").to_owned(),
            format!("{} in {}", number::grouped(at.cuts), number::grouped(at.sessions)),
            format!("{:.0}", at.requests_left),
            at.break_even_requests.map_or_else(absent, |requests| format!("{requests:.0}")),
            at.paid_back.map_or_else(absent, number::percent),
            at.saving_usd.as_ref().map_or_else(absent, |of| ranged(of, number::dollars)),
            at.kept.as_ref().map_or_else(absent, |of| ranged(of, number::percent)),
        ]
    };
    strategy.sizes.iter().map(row).collect()
}

/// Cells of the table by strategy, the recommended one first, then by what they
/// save at their best size; offline summaries last.
fn by_strategy(advice: &Advice) -> Vec<Vec<String>> {
    let chosen = advice.chosen().map(|(strategy, _)| strategy.strategy.as_str());
    let mut strategies: Vec<&StrategyAdvice> = advice.strategies.iter().collect();
    let saved = |one: &StrategyAdvice| one.most_saved().unwrap_or(f64::NEG_INFINITY);
    let last = |one: &StrategyAdvice| {
        (Some(one.strategy.as_str()) != chosen, one.row_kind != RowKind::Ranked)
    };
    strategies.sort_by(|a, b| last(a).cmp(&last(b)).then(saved(b).total_cmp(&saved(a))));
    let row = |strategy: &StrategyAdvice| {
        let best = strategy.best();
        let kept = best.and_then(|at| at.kept.as_ref()).map(|of| ranged(of, number::percent));
        let kept = if strategy.row_kind == RowKind::Ranked { kept } else { None };
        vec![
            named(strategy),
            strategy.from_tokens.map_or_else(absent, wording::edge),
            best.map_or_else(absent, |at| {
                wording::size_words(at).trim_end_matches(" tokens").to_owned()
            }),
            best.and_then(|at| at.saving_usd.as_ref())
                .map_or_else(absent, |of| ranged(of, number::dollars)),
            kept.unwrap_or_else(absent),
        ]
    };
    strategies.into_iter().map(row).collect()
}

/// A strategy as people are told of it.
pub(super) fn named(strategy: &StrategyAdvice) -> String {
    let note = match strategy.row_kind {
        RowKind::OfflineSummary => " (offline)",
        RowKind::Unusable => " (unusable replies)",
        RowKind::Ranked | RowKind::Control => "",
    };
    format!("{}{note}", strategy.strategy)
}

/// A figure with its interval, or with the lowest and the highest session.
fn ranged(of: &Estimate, words: fn(f64) -> String) -> String {
    // The unit stands with the figure.
    let plain = |end: f64| words(end).replace(['$', '%'], "").trim_end().to_owned();
    let (value, lo, hi) = (words(of.value), plain(of.lo), plain(of.hi));
    match (of.tested, of.clusters) {
        (_, 1) => value,
        (true, _) => format!("{value} [{lo} to {hi}]"),
        (false, _) => format!("{value} ({lo} to {hi})"),
    }
}

/// Why the advice is what it is, and what the chosen strategy forgets.
pub(super) fn reasons(report: &Report, advice: &Advice) -> Vec<String> {
    let mut reasons = wording::reasons(advice);
    reasons.extend(advice.chosen().and_then(|(one, _)| forgets(report, &one.strategy)));
    reasons
}

/// Why the advice is what it is, and what to know before acting on it.
pub(super) fn said(report: &Report, advice: &Advice) -> Vec<Part> {
    let mut parts = vec![Part::Heading("Compacting before the limit".to_owned())];
    parts.push(Part::List(reasons(report, advice)));
    parts.push(Part::Heading("Before acting on it".to_owned()));
    parts.push(Part::List(wording::caveats(advice)));
    parts
}

/// The figures by size and by strategy.
pub(super) fn tables(advice: &Advice) -> Vec<Part> {
    let Some(strategy) = advice.shown().filter(|strategy| !strategy.sizes.is_empty()) else {
        return Vec::new();
    };
    let best = "Every strategy at the size at which it saves most";
    let ranges = "cuts in sessions; requests to come and requests until it has saved what it cost, \
                  medians; [ ] 95 % interval; ( ) lowest and highest session or project.";
    vec![
        Part::Heading(format!("{} by size of the context", named(strategy))),
        Part::Table(Table::new("By size of the context", BY_SIZE, by_size(strategy))),
        Part::Heading(best.to_owned()),
        Part::Table(Table::new(best, BY_STRATEGY, by_strategy(advice))),
        Part::Text(ranges.to_owned()),
    ]
}

/// Where to compact, as agents read it.
#[derive(Serialize)]
struct Threshold {
    tokens: u64,
    /// Of the smallest context limit.
    share_of_window: Option<f64>,
}

/// A strategy at its best size.
#[derive(Serialize)]
struct Choice<'a> {
    strategy: &'a str,
    from_tokens: u64,
    threshold: Threshold,
    saving_usd: Option<Estimate>,
    kept: Option<Estimate>,
    break_even_requests: Option<f64>,
    requests_left: f64,
    paid_back: Option<f64>,
    wait_ms: Option<f64>,
}

/// The advice in `summary.json`.
pub(super) fn advice_json(report: &Report, advice: &Advice) -> Value {
    let choice = advice.chosen().map(|(strategy, at)| choice(advice, strategy, at));
    let (advised, seen) = if advice.pays == Payback::Yes { (choice, None) } else { (None, choice) };
    rounded(json!({
        "pays": advice.pays,
        "because": advice.because,
        "before_the_limit": wording::before_the_limit(advice),
        "reasons": reasons(report, advice),
        "caveats": wording::caveats(advice),
        "advised": advised,
        "seen": seen,
        "apply": advice.apply,
        "followed": advice.through,
        "basis": advice.basis,
        "strategies": advice.strategies,
    }))
}

fn choice<'a>(advice: &Advice, strategy: &'a StrategyAdvice, at: &SizeFigures) -> Choice<'a> {
    let limits = advice.basis.limits;
    Choice {
        strategy: &strategy.strategy,
        from_tokens: strategy.from_tokens.unwrap_or(at.from),
        threshold: Threshold {
            tokens: at.tokens,
            share_of_window: limits.map(|limits| at.tokens as f64 / limits.least as f64),
        },
        saving_usd: at.saving_usd,
        kept: at.kept,
        break_even_requests: at.break_even_requests,
        requests_left: at.requests_left,
        paid_back: at.paid_back,
        wait_ms: at.wait_ms,
    }
}

/// The same with every fraction at six decimals, so that equal figures are
/// equal bytes everywhere.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            json!(number.as_f64().and_then(number::rounded))
        }
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, rounded(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
