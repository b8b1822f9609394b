//! The gate on the page: its state in words, and every check that did not pass.

use crate::{block, number, plain};
use recap_core::model::{Check, CheckOutcome, Gate, Report, RuleFindings};

/// Checks that stand open; the others are folded away below them.
const OPEN: usize = 8;

/// The gate's state, and what stands against it.
pub(in crate::html) struct GatePanel {
    pub(in crate::html) class: &'static str,
    pub(in crate::html) icon: &'static str,
    pub(in crate::html) word: &'static str,
    pub(in crate::html) words: String,
    pub(in crate::html) open: Vec<Line>,
    pub(in crate::html) folded: Vec<Line>,
}

/// One check that did not pass.
pub(in crate::html) struct Line {
    pub(in crate::html) class: &'static str,
    pub(in crate::html) icon: &'static str,
    pub(in crate::html) finding: &'static str,
    pub(in crate::html) rule: String,
    pub(in crate::html) row: String,
    pub(in crate::html) reason: String,
    pub(in crate::html) figures: String,
}

/// Nothing where no gate was asked for.
pub(in crate::html) fn gate(report: &Report) -> Option<GatePanel> {
    let gate = report.gate.as_ref()?;
    let mut open: Vec<(CheckOutcome, Line)> = gate
        .rules
        .iter()
        .flat_map(|rule| rule.checks.iter().map(move |check| (rule, check)))
        .filter(|(_, check)| check.finding != CheckOutcome::Passed)
        .map(|(rule, check)| (check.finding, line(rule, check)))
        .collect();
    // The worst first, else in the order of the rules.
    open.sort_by_key(|(finding, _)| std::cmp::Reverse(*finding));
    let mut lines: Vec<Line> = open.into_iter().map(|(_, line)| line).collect();
    let folded = lines.split_off(lines.len().min(OPEN));
    let (class, icon) = class_and_icon(gate.finding());
    let word = match gate.finding() {
        CheckOutcome::Passed => "Gate passed:",
        CheckOutcome::Failed => "Gate failed:",
        CheckOutcome::Undecided => "Gate undecided:",
        CheckOutcome::Missing => "Gate without a verdict, figures are missing:",
    };
    Some(GatePanel { class, icon, word, words: words(gate), open: lines, folded })
}

fn class_and_icon(finding: CheckOutcome) -> (&'static str, &'static str) {
    match finding {
        CheckOutcome::Passed => ("passed", "✓"),
        CheckOutcome::Failed => ("failed", "✗"),
        CheckOutcome::Undecided => ("undecided", "?"),
        CheckOutcome::Missing => ("missing", "∅"),
    }
}

/// How many checks came to what, of how many rules, against which baseline.
fn words(gate: &Gate) -> String {
    let count = |finding| gate.checks().filter(|check| check.finding == finding).count();
    let found = [
        CheckOutcome::Failed,
        CheckOutcome::Missing,
        CheckOutcome::Undecided,
        CheckOutcome::Passed,
    ];
    let parts = found.into_iter().map(|f| (count(f), f)).filter(|(n, _)| *n > 0);
    let parts: Vec<String> =
        parts.map(|(n, f)| format!("{} {}", number::grouped(n as u64), f.as_str())).collect();
    let baseline = gate.baseline.as_ref();
    let baseline = baseline
        .map_or(String::new(), |name| format!(", against the baseline {}", plain::line(name)));
    let checks = block::counted(gate.checks().count(), "check");
    let rules = block::counted(gate.rules.len(), "rule");
    format!("of {checks} of {rules}, {}{baseline}.", parts.join(", "))
}

fn line(rule: &RuleFindings, check: &Check) -> Line {
    let (class, icon) = class_and_icon(check.finding);
    let dataset = if check.dataset == block::ALL { "all data sets" } else { &check.dataset };
    let mut figures = Vec::new();
    figures
        .extend(check.value.map(|x| format!("{} {}", plain::line(&check.measure), number::any(x))));
    figures.extend(check.baseline.map(|x| format!("baseline {}", number::any(x))));
    let bounds = |(lo, hi)| format!("between {} and {}", number::any(lo), number::any(hi));
    figures.extend(check.interval.map(bounds));
    figures.push(block::counted(check.sessions as usize, "session"));
    Line {
        class,
        icon,
        finding: check.finding.as_str(),
        rule: plain::line(&rule.rule),
        row: format!(
            "{} at {}, {}",
            plain::line(&check.strategy),
            block::at(&check.window),
            plain::line(dataset)
        ),
        reason: plain::line(&check.reason),
        figures: figures.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::UndecidedPolicy;

    fn check(strategy: &str, finding: CheckOutcome) -> Check {
        Check {
            dataset: "ALL".into(),
            strategy: strategy.into(),
            window: "25%".into(),
            agent_model: "m".into(),
            measure: "recall".into(),
            value: Some(0.5),
            baseline: Some(0.625),
            interval: Some((-0.25, -0.125)),
            sessions: 6,
            finding,
            reason: "it fell by 0.125".into(),
        }
    }

    fn gated(findings: &[CheckOutcome], undecided: UndecidedPolicy) -> GatePanel {
        let mut report = Kit::default().report();
        let checks = findings.iter().map(|finding| check("fifo", *finding)).collect();
        let rules = vec![RuleFindings { rule: "recall drops > 0.1".into(), checks }];
        report.gate = Some(Gate { baseline: Some("main".into()), undecided, rules });
        gate(&report).unwrap()
    }

    #[test]
    fn failed_gate_names_what_failed_first() {
        use CheckOutcome::{Failed, Passed, Undecided};
        let shown = gated(&[Passed, Undecided, Failed], UndecidedPolicy::Incomplete);
        assert_eq!((shown.class, shown.word), ("failed", "Gate failed:"));
        let words =
            "of 3 checks of 1 rule, 1 failed, 1 undecided, 1 passed, against the baseline main.";
        assert_eq!(shown.words, words);
        let found: Vec<&str> = shown.open.iter().map(|line| line.finding).collect();
        assert_eq!(found, ["failed", "undecided"]);
        let first = &shown.open[0];
        assert_eq!(first.row, "fifo at 25 %, all data sets");
        assert_eq!(
            first.figures,
            "recall 0.500, baseline 0.625, between −0.250 and −0.125, 6 sessions"
        );
    }

    #[test]
    fn many_findings_are_folded_and_none_is_dropped() {
        let shown = gated(&[CheckOutcome::Failed; 11], UndecidedPolicy::Incomplete);
        assert_eq!((shown.open.len(), shown.folded.len()), (8, 3));
    }

    #[test]
    fn policy_decides_undecided_and_check_stays_visible() {
        let shown = gated(&[CheckOutcome::Undecided], UndecidedPolicy::Pass);
        assert_eq!((shown.class, shown.open.len()), ("passed", 1));
    }
}
