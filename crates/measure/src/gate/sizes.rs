//! Rows for rules about the size at which the recorded agent compacts:
//! `cost_usd@claude-code at 130k`.

use super::rule::{Limit, Rule};
use crate::ALL;
use recap_core::model::{
    Manifest, Measure, Report, RowKind, SizeRow, StrategyRow, Value, catalogue,
};
use recap_core::text::number_of_tokens;

/// The measures that a size has.
pub(super) const MEASURES: [&Measure; 4] = [
    catalogue::COST_USD,
    catalogue::COMPACTIONS,
    catalogue::COST_SAVINGS_VS_RECORDED,
    catalogue::SESSIONS,
];

/// The size that a rule names: the agent's own, at none of the windows of the run.
pub(super) fn named(rule: &Rule, agent: Option<&str>, windows: &[String]) -> Option<u64> {
    let window = rule.window.as_ref().filter(|window| !windows.contains(window))?;
    number_of_tokens(window).filter(|_| rule.strategy.as_deref() == agent && agent.is_some())
}

/// Why a rule about a size cannot be checked, and what to write; `None` if it can.
pub(super) fn refused(rule: &Rule, size: u64, compact_at: &[u64]) -> Option<(String, String)> {
    let window = rule.window.as_deref().unwrap_or_default();
    let measures = MEASURES.map(|measure| measure.id);
    if !measures.contains(&rule.measure.as_str()) {
        let problem = format!("`{}` is not known of a size", rule.measure);
        return Some((problem, format!("a size has {}", measures.join(", "))));
    }
    if !compact_at.contains(&size) {
        let problem = format!("the run has no size `{window}`");
        return Some((problem, format!("add `--compact-at {window}`")));
    }
    if !matches!(rule.limit, Limit::Figure(_)) {
        let problem = "a size is not set against a baseline".to_owned();
        return Some((problem, "compare it with a number".to_owned()));
    }
    rule.dataset.as_ref().map(|_| {
        let problem = "a size is of all sessions together".to_owned();
        (problem, "leave the data set out".to_owned())
    })
}

/// The row of a size.
pub(super) fn row(report: &Report, rule: &Rule, manifest: &Manifest) -> Option<StrategyRow> {
    let size = named(rule, manifest.agent.as_deref(), &manifest.windows)?;
    let curve = report.curve.as_ref()?.as_ref().ok()?;
    let of: &SizeRow = curve.sizes.iter().find(|row| row.size == size)?;
    let figures = [of.usd, of.compactions as f64, of.saving, curve.sessions as f64];
    let values = MEASURES.iter().zip(figures);
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
