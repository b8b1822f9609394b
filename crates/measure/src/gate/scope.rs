//! Checks whether a rule fits a run, and finds the row of a rule about the size at which the
//! recorded agent compacts: `cost_usd@claude-code at 130k`. This happens before anything runs, so that
//! no money is spent for a gate that cannot be evaluated.

use super::rule::{Amount, GateMeasure, Limit, Mark, Parsed, Rule, RuleError, find_measure};
use crate::ALL;
use recap_core::model::{
    Manifest, Measure, Report, RowKind, SizeRow, StrategyRow, Unit, Value, catalogue, suggest,
};
use recap_core::text::number_of_tokens;

/// The strategies, windows and data sets of a run.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// All strategies of the run.
    pub strategies: &'a [String],
    /// The strategies that the user named with `--strategy`.
    pub named: &'a [String],
    /// Labels of the windows, as typed.
    pub windows: &'a [String],
    /// Names of the data sets.
    pub datasets: &'a [String],
    /// The agent that recorded everything, where it is one.
    pub agent: Option<&'a str>,
    /// Sizes at which its compaction is to fire, in tokens: `--compact-at`.
    pub compact_at: &'a [u64],
    /// Whether a baseline is given.
    pub baseline: bool,
}

/// Checks that a rule names parts of this run and that its limit fits its
/// measure.
pub fn fits(parsed: &Parsed, scope: &Scope<'_>) -> Result<(), RuleError> {
    let (rule, columns) = (&parsed.rule, parsed.columns);
    if let Some(size) = size_named(rule, scope.agent, scope.windows) {
        if let Some((problem, help)) = size_refused(rule, size, scope.compact_at) {
            return Err(parsed.error(columns.window, problem, help));
        }
        return limit(parsed, scope.baseline)
            .map_err(|(problem, help)| parsed.error(columns.limit, problem, help));
    }
    match &rule.strategy {
        Some(strategy) => known(parsed, columns.strategy, "strategy", strategy, scope.strategies)?,
        None if scope.named.is_empty() => {
            let problem = "it names no strategy, and neither does `--strategy`".to_owned();
            let help = format!(
                "write `{}@STRATEGY`, or run with `--strategy STRATEGY`: rules without a strategy \
                 speak of those",
                rule.measure
            );
            return Err(parsed.error(columns.measure, problem, help));
        }
        None => {}
    }
    if let Some(dataset) = rule.dataset.as_ref().filter(|name| *name != ALL) {
        known(parsed, columns.dataset, "data set", dataset, scope.datasets)?;
    }
    if let Some(window) = &rule.window {
        known(parsed, columns.window, "window", window, scope.windows)?;
    }
    limit(parsed, scope.baseline)
        .map_err(|(problem, help)| parsed.error(columns.limit, problem, help))
}

fn known(
    parsed: &Parsed,
    column: usize,
    what: &str,
    name: &str,
    all: &[String],
) -> Result<(), RuleError> {
    if all.iter().any(|other| other == name) {
        return Ok(());
    }
    let problem = format!("the run has no {what} `{name}`");
    Err(parsed.error(column, problem, suggest(name, all.iter().map(String::as_str))))
}

type Wrong = (String, String);

/// Checks that the limit fits the measure.
fn limit(parsed: &Parsed, baseline: bool) -> Result<(), Wrong> {
    let rule = &parsed.rule;
    let measure = find_measure(&rule.measure)?;
    if !rule.limit.needs_baseline() {
        let Limit::Figure(amount) = rule.limit else { return Ok(()) };
        let figure = in_unit(measure, amount)?;
        return plausible(measure, amount, figure);
    }
    if !baseline {
        let help = "give a run folder or a baseline.json with `--baseline`".to_owned();
        return Err(("there is no baseline".to_owned(), help));
    }
    if !measure.pairs() {
        let help = "compare it with a number".to_owned();
        let problem = format!("`{}` cannot be set against a baseline in pairs", rule.measure);
        return Err((problem, help));
    }
    let low = rule.operator.forbids_low();
    let tolerates = match rule.limit {
        Limit::Figure(_) | Limit::Baseline => true,
        Limit::BaselineLess(amount) => change(measure, amount)? == 0.0 || low,
        Limit::BaselinePlus(amount) => change(measure, amount)? == 0.0 || !low,
        Limit::BaselineTimes(factor) if low => factor <= 1.0,
        Limit::BaselineTimes(factor) => factor >= 1.0,
    };
    if tolerates {
        return Ok(());
    }
    let sign = rule.operator.as_str();
    let example = if low { "baseline - 0.02" } else { "baseline * 1.1" };
    let problem = "it would forbid to stay as good as the baseline".to_owned();
    Err((problem, format!("a change for the worse is allowed by `{sign} {example}`")))
}

fn in_unit(measure: GateMeasure, amount: Amount) -> Result<f64, Wrong> {
    let help = || "write the plain number, in the unit of its column in summary.csv".to_owned();
    measure.amount(amount).map_err(|problem| (format!("`{amount}`: {problem}"), help()))
}

/// The size of a change against the baseline, in the measure's unit. A
/// percentage is a part of the baseline's figure; it is refused for measures
/// where it could also mean points of a hundred.
fn change(measure: GateMeasure, amount: Amount) -> Result<f64, Wrong> {
    if amount.mark != Mark::Percent {
        return in_unit(measure, amount);
    }
    match measure.unit() {
        Unit::Tokens | Unit::Count | Unit::Dollars | Unit::Milliseconds => Ok(amount.number),
        _ => Err((
            format!("`{amount}` may be points of a hundred or a part of the baseline"),
            "write `baseline - 0.02` for the one, `baseline * 0.98` for the other".to_owned(),
        )),
    }
}

/// Refuses a limit that the measure cannot reach: such a gate would always fail
/// or always pass.
fn plausible(measure: GateMeasure, amount: Amount, figure: f64) -> Result<(), Wrong> {
    let number = amount.number;
    match measure.unit() {
        Unit::Share if figure > 1.0 => Err((
            format!("`{amount}` is more than the whole: it is a share from 0 to 1"),
            format!("write `{}` or `{number}%`", number / 100.0),
        )),
        Unit::Points if !(0.0..=100.0).contains(&figure) => Err((
            format!("`{amount}` is out of reach: it counts in points from 0 to 100"),
            "write for example `80`".to_owned(),
        )),
        Unit::Points if amount.mark == Mark::Plain && figure > 0.0 && figure < 1.0 => Err((
            format!("`{amount}` is less than one point: it counts in points from 0 to 100"),
            format!("write `{}`, or `{amount}%` if that is meant", number * 100.0),
        )),
        _ => Ok(()),
    }
}

/// The measures that a size has.
pub(super) const OF_A_SIZE: [&Measure; 4] = [
    catalogue::COST_USD,
    catalogue::COMPACTIONS,
    catalogue::COST_SAVINGS_VS_RECORDED,
    catalogue::SESSIONS,
];

/// The size that a rule names: the agent's own, at none of the windows of the run.
pub(super) fn size_named(rule: &Rule, agent: Option<&str>, windows: &[String]) -> Option<u64> {
    let window = rule.window.as_ref().filter(|window| !windows.contains(window))?;
    number_of_tokens(window).filter(|_| rule.strategy.as_deref() == agent && agent.is_some())
}

/// Why a rule about a size cannot be checked, and what to write; `None` if it can.
pub(super) fn size_refused(rule: &Rule, size: u64, compact_at: &[u64]) -> Option<(String, String)> {
    let window = rule.window.as_deref().unwrap_or_default();
    let measures = OF_A_SIZE.map(|measure| measure.id);
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
pub(super) fn size_row(report: &Report, rule: &Rule, manifest: &Manifest) -> Option<StrategyRow> {
    let size = size_named(rule, manifest.agent.as_deref(), &manifest.windows)?;
    let curve = report.curve.as_ref()?.as_ref().ok()?;
    let of: &SizeRow = curve.sizes.iter().find(|row| row.size == size)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A gate with a limit out of reach would always fail or always pass.
    #[test]
    fn limit_the_measure_cannot_reach_is_refused() {
        let is_plausible = |rule| limit(&crate::gate::parse(rule).unwrap(), false).is_ok();
        for rule in [
            "continuity < 80",
            "continuity < 1",
            "continuity > 0",
            "continuity > 100",
            "recall < 1",
            "recall > 0",
        ] {
            assert!(is_plausible(rule), "{rule}");
        }
        // Points count to a hundred: 0.8 is a share.
        for rule in ["continuity < 0.8", "continuity < 101", "continuity > -1", "recall < 1.1"] {
            assert!(!is_plausible(rule), "{rule}");
        }
    }

    /// A run of two strategies, of which `fifo` was named.
    fn actual(rule: &str, named: bool) -> Option<(usize, String, String)> {
        let strategies = ["fifo", "prune"].map(str::to_owned);
        let (windows, datasets) = (["16k".to_owned()], ["mine".to_owned()]);
        let scope = Scope {
            strategies: &strategies,
            named: if named { &strategies[..1] } else { &[] },
            windows: &windows,
            datasets: &datasets,
            agent: Some("claude-code"),
            compact_at: &[130_000],
            baseline: false,
        };
        let actual = fits(&crate::gate::parse(rule).unwrap(), &scope).err();
        actual.map(|error| (error.column, error.problem, error.help))
    }

    #[test]
    fn rule_without_strategy_needs_one_named_by_user() {
        assert_eq!(actual("tokens_sent > 5", true), None);
        assert_eq!(actual("tokens_sent@prune > 5", false), None);
        let (column, problem, help) = actual(" tokens_sent > 5", false).unwrap();
        assert_eq!((column, &*problem), (2, "it names no strategy, and neither does `--strategy`"));
        assert!(help.starts_with("write `tokens_sent@STRATEGY`"), "{help}");
    }

    #[test]
    fn a_size_of_the_agent_is_one_of_those_asked_for() {
        assert_eq!(actual("cost_usd@claude-code at 130k > 5", false), None);
        assert_eq!(actual("compactions@claude-code at 130000 > 5", false), None);
        for (rule, problem, help) in [
            (
                "cost_usd@claude-code at 100k > 5",
                "the run has no size `100k`",
                "add `--compact-at 100k`",
            ),
            (
                "tokens_sent@claude-code at 130k > 5",
                "`tokens_sent` is not known of a size",
                "a size has cost_usd, compactions, cost_savings_vs_recorded, sessions",
            ),
            (
                "cost_usd@claude-code at 130k > baseline",
                "a size is not set against a baseline",
                "compare it with a number",
            ),
        ] {
            let (_, found, advice) = actual(rule, false).unwrap();
            assert_eq!((&*found, &*advice), (problem, help), "{rule}");
        }
        let (_, other, _) = actual("cost_usd@codex at 130k > 5", false).unwrap();
        assert_eq!(other, "the run has no strategy `codex`");
    }

    #[test]
    fn a_rule_names_parts_of_the_run_only() {
        assert_eq!(actual("tokens_sent@fifo on mine at 16k > 5", false), None);
        assert_eq!(actual(&format!("tokens_sent on {ALL} > 5"), true), None);
        for (rule, at, problem) in [
            ("tokens_sent@fifa > 5", 13, "the run has no strategy `fifa`"),
            ("tokens_sent on yours > 5", 16, "the run has no data set `yours`"),
            ("tokens_sent at 32k > 5", 16, "the run has no window `32k`"),
        ] {
            let (column, actual, _) = actual(rule, true).unwrap();
            assert_eq!((column, &*actual), (at, problem), "{rule}");
        }
        assert_eq!(actual("tokens_sent@fifa > 5", true).unwrap().2, "did you mean `fifo`?");
    }

    #[test]
    fn unfitting_limit_is_refused_with_correct_form() {
        let said = |rule: &str| actual(rule, true).map(|(_, problem, help)| (problem, help));
        for (rule, problem, help) in [
            (
                "recall < 80",
                "`80` is more than the whole: it is a share from 0 to 1",
                "write `0.8` or `80%`",
            ),
            (
                "continuity < 101",
                "`101` is out of reach: it counts in points from 0 to 100",
                "write for example `80`",
            ),
            (
                "continuity < 0.5",
                "`0.5` is less than one point: it counts in points from 0 to 100",
                "write `50`, or `0.5%` if that is meant",
            ),
            (
                "cost_usd > 5%",
                "`5%`: a percentage of what? it is no share",
                "write the plain number, in the unit of its column in summary.csv",
            ),
            (
                "recall < 5k",
                "`5k`: it does not count in `k`",
                "write the plain number, in the unit of its column in summary.csv",
            ),
            (
                "recall < baseline",
                "there is no baseline",
                "give a run folder or a baseline.json with `--baseline`",
            ),
        ] {
            assert_eq!(said(rule), Some((problem.to_owned(), help.to_owned())), "{rule}");
        }
        assert_eq!(said("continuity < 0.5%"), None);
        assert_eq!(actual("recall@fifo on mine < 80", true).unwrap().0, 23, "the limit's column");
    }

    #[test]
    fn zero_change_is_allowed_in_either_direction() {
        let actual = |rule: &str| limit(&crate::gate::parse(rule).unwrap(), true).err();
        for rule in [
            "recall < baseline - 0",
            "recall < baseline + 0",
            "cost_usd > baseline - 0",
            "cost_usd > baseline + 0",
            "recall < baseline * 1",
            "cost_usd > baseline * 1",
        ] {
            assert_eq!(actual(rule), None, "{rule}");
        }
        let help = |rule| actual(rule).unwrap().1;
        let low = "a change for the worse is allowed by `< baseline - 0.02`";
        assert_eq!(help("recall < baseline * 1.01"), low);
        let high = "a change for the worse is allowed by `>= baseline * 1.1`";
        assert_eq!(help("cost_usd >= baseline * 0.99"), high);
        assert_eq!(
            help("recall < baseline - 2%"),
            "write `baseline - 0.02` for the one, `baseline * 0.98` for the other"
        );
    }
}
