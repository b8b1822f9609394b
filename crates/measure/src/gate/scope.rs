//! Checks whether a rule fits a run, and finds the row of a rule about the size at which the
//! recorded agent compacts: `cost_usd@claude-code at 130k`. This happens before anything runs, so
//! that no money is spent for a gate that cannot be evaluated.

use super::rule::{Limit, Rule, RuleError, Wrong, wrong};
use crate::ALL;
use recap_core::model::{
    Manifest, Measure, Report, RowKind, StrategyRow, Value, catalogue, suggest,
};
use recap_core::text::number_of_tokens;

/// Checks that a rule names parts of this run, and that it has the baseline that it needs.
pub fn fits(
    rule: &Rule,
    manifest: &Manifest,
    datasets: &[String],
    baseline: bool,
) -> Result<(), RuleError> {
    let wrong = names_parts(rule, manifest, datasets).and_then(|()| {
        if rule.needs_baseline() && !baseline {
            let help = "give a run folder or a baseline.json with `--baseline`";
            return wrong("there is no baseline", help);
        }
        Ok(())
    });
    wrong.map_err(|(problem, help)| RuleError { rule: rule.text.clone(), problem, help })
}

fn names_parts(rule: &Rule, manifest: &Manifest, datasets: &[String]) -> Result<(), Wrong> {
    if let Some(size) = size_named(rule, manifest) {
        return fits_size(rule, size, &manifest.compact_at);
    }
    let known = |what: &str, name: &Option<String>, all: &[&str]| match name {
        Some(name) if !all.contains(&name.as_str()) => {
            let problem = format!("the run has no {what} `{name}`");
            wrong(problem, suggest(name, all.iter().copied()))
        }
        _ => Ok(()),
    };
    let strategies: Vec<&str> = manifest.strategies.iter().map(|one| one.name.as_str()).collect();
    known("strategy", &rule.strategy, &strategies)?;
    if rule.strategy.is_none() && manifest.named.is_empty() {
        let help = format!(
            "write `{}@STRATEGY`, or run with `--strategy STRATEGY`: rules without a strategy \
             speak of those",
            rule.measure.id
        );
        return wrong("it names no strategy, and neither does `--strategy`", help);
    }
    if rule.dataset.as_deref() != Some(ALL) {
        known("data set", &rule.dataset, &datasets.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    known("window", &rule.window, &manifest.windows.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The measures that a size has.
const OF_A_SIZE: [&Measure; 4] = [
    catalogue::COST_USD,
    catalogue::COMPACTIONS,
    catalogue::COST_SAVINGS_VS_RECORDED,
    catalogue::SESSIONS,
];

/// The size that a rule names: the agent's own, at none of the windows of the run.
pub(super) fn size_named(rule: &Rule, manifest: &Manifest) -> Option<u64> {
    let window = rule.window.as_ref().filter(|window| !manifest.windows.contains(window))?;
    let is_agent = manifest.agent.is_some() && rule.strategy == manifest.agent;
    number_of_tokens(window).filter(|_| is_agent)
}

/// Checks a rule about a size.
fn fits_size(rule: &Rule, size: u64, compact_at: &[u64]) -> Result<(), Wrong> {
    let window = rule.window.as_deref().unwrap_or_default();
    let measures = OF_A_SIZE.map(|measure| measure.id);
    if !measures.contains(&rule.measure.id) {
        let problem = format!("`{}` is not known of a size", rule.measure.id);
        return wrong(problem, format!("a size has {}", measures.join(", ")));
    }
    if !compact_at.contains(&size) {
        let problem = format!("the run has no size `{window}`");
        return wrong(problem, format!("add `--compact-at {window}`"));
    }
    if !matches!(rule.limit, Limit::Figure(_)) {
        return wrong("a size is not set against a baseline", "compare it with a number");
    }
    if rule.dataset.is_some() {
        return wrong("a size is of all sessions together", "leave the data set out");
    }
    Ok(())
}

/// The row of a size.
pub(super) fn size_row(report: &Report, rule: &Rule) -> Option<StrategyRow> {
    let size = size_named(rule, &report.manifest)?;
    let curve = report.curve.as_ref()?.as_ref().ok()?;
    let of = curve.sizes.iter().find(|row| row.size == size)?;
    let figures = [of.usd, of.compactions as f64, of.saving, curve.sessions as f64];
    let values = OF_A_SIZE.iter().zip(figures);
    Some(StrategyRow {
        dataset: ALL.to_owned(),
        strategy: curve.agent.clone(),
        window: rule.window.clone().unwrap_or_default(),
        agent_model: String::new(),
        row_kind: RowKind::Control,
        rank: None,
        values: values.map(|(of, figure)| (of.id.to_owned(), Value::Known(figure))).collect(),
        intervals: Default::default(),
        verdict: None,
        failed: Vec::new(),
    })
}
