//! Checks whether a rule fits a run. This happens before anything runs, so that no money is spent
//! for a gate that cannot be evaluated.

use super::rule::{Rule, RuleError, Wrong, wrong};
use crate::ALL;
use recap_core::model::{Manifest, suggest};

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
