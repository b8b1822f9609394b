//! The gate in words: its verdict, and every check that did not pass.

use std::cmp::Reverse;

use super::document::Part;
use super::{block, plain};
use recap_core::model::{Check, CheckOutcome, Gate, UndecidedPolicy};

/// Checks that are listed.
const LISTED: usize = 12;

/// What the gate came to.
pub(super) struct GateVerdict {
    pub(super) outcome: CheckOutcome,
    /// A sign, then what it says.
    pub(super) words: &'static str,
    /// The worst check, or how many passed.
    pub(super) because: String,
}

/// The verdict of a gate.
pub(super) fn verdict(gate: &Gate) -> GateVerdict {
    let outcome = gate.finding();
    let words = match outcome {
        CheckOutcome::Passed => "✅ the gate passed",
        CheckOutcome::Unchecked => "➖ the gate compared nothing yet",
        CheckOutcome::Failed => "❌ the gate failed",
        CheckOutcome::Undecided => "⚠️ no verdict, the data leave the gate undecided",
        CheckOutcome::Missing => "⚠️ no verdict, the gate lacks figures",
    };
    let worst = open_checks(gate).into_iter().find(|(_, found, _)| *found == outcome);
    let because = match worst {
        Some((rule, _, check)) => {
            format!("{} on {}: {}", plain::line(rule), place(check), plain::line(&check.reason))
        }
        None => format!(
            "{} of {}",
            block::counted(gate.checks().count(), "check"),
            block::counted(gate.rules.len(), "rule")
        ),
    };
    GateVerdict { outcome, words, because }
}

/// What did not pass, with its figures, and how many did.
pub(super) fn parts(gate: &Gate) -> Vec<Part> {
    let open = open_checks(gate);
    let mut items: Vec<String> =
        open.iter().take(LISTED).map(|(rule, _, check)| item(gate, rule, check)).collect();
    if let Some(more @ 1..) = open.len().checked_sub(LISTED) {
        items.push(format!("… and {} more", block::counted(more, "such check")));
    }
    let passed = gate.checks().count() - open.len();
    items.extend((passed > 0).then(|| format!("✅ {} passed", block::counted(passed, "check"))));
    let baseline = gate.baseline.iter();
    let baseline = baseline.map(|name| Part::Text(format!("Baseline: {}.", plain::line(name))));
    let list = (!items.is_empty()).then_some(Part::List(items));
    baseline.chain(list).collect()
}

/// Every check that did not pass, the worst first, as its policy counts it.
fn open_checks(gate: &Gate) -> Vec<(&str, CheckOutcome, &Check)> {
    let counted = |check: &Check| match (check.finding, gate.undecided) {
        (CheckOutcome::Undecided, UndecidedPolicy::Fail) => CheckOutcome::Failed,
        (finding, _) => finding,
    };
    let all = gate.rules.iter().flat_map(|rule| {
        rule.checks.iter().map(move |check| (rule.rule.as_str(), counted(check), check))
    });
    let mut open: Vec<_> =
        all.filter(|(_, _, check)| check.finding != CheckOutcome::Passed).collect();
    open.sort_by_key(|(_, found, _)| Reverse(*found));
    open
}

fn item(gate: &Gate, rule: &str, check: &Check) -> String {
    let state = match (check.finding, gate.undecided) {
        (CheckOutcome::Failed, _) => "❌ failed",
        (CheckOutcome::Undecided, UndecidedPolicy::Fail) => "❌ undecided, which counts as failed",
        (CheckOutcome::Undecided, UndecidedPolicy::Pass) => "➖ undecided, which counts as passed",
        (CheckOutcome::Undecided, UndecidedPolicy::Incomplete) => "⚠️ undecided",
        (CheckOutcome::Missing, _) => "⚠️ missing",
        (CheckOutcome::Unchecked, _) => "➖ unchecked",
        (CheckOutcome::Passed, _) => "✅ passed",
    };
    let dataset = if check.dataset == block::ALL { "all data sets" } else { &check.dataset };
    let names = [rule, dataset, &check.reason].map(plain::line);
    let [rule, dataset, reason] = names;
    format!("{state}: {rule} on {}, {dataset}: {reason}", place(check))
}

/// The row that a check looks at.
pub(super) fn place(check: &Check) -> String {
    format!("{} at {}", plain::line(&check.strategy), block::at(&check.window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::check;
    use recap_core::model::RuleFindings;

    fn gate(findings: &[CheckOutcome], undecided: UndecidedPolicy) -> Gate {
        let check = |finding: &CheckOutcome| check("fifo", *finding, "it fell by 0.125");
        let checks = findings.iter().map(check).collect();
        let rules = vec![RuleFindings { rule: "recall drops > 0.1".into(), checks }];
        Gate { baseline: Some("main".into()), undecided, rules }
    }

    #[test]
    fn worst_check_comes_first_with_its_reason() {
        use CheckOutcome::{Failed, Passed, Undecided};
        let gate = gate(&[Passed, Undecided, Failed], UndecidedPolicy::Incomplete);
        assert_eq!(verdict(&gate).words, "❌ the gate failed");
        let because = "recall drops > 0.1 on fifo at 25 %: it fell by 0.125";
        assert_eq!(verdict(&gate).because, because);
        let [Part::Text(baseline), Part::List(items)] = &parts(&gate)[..] else { panic!() };
        assert_eq!(baseline, "Baseline: main.");
        let row = "recall drops > 0.1 on fifo at 25 %, all data sets: it fell by 0.125";
        let states = ["❌ failed", "⚠️ undecided"];
        let mut expected: Vec<String> = states.map(|state| format!("{state}: {row}")).into();
        expected.push("✅ 1 check passed".to_owned());
        assert_eq!(items, &expected);
    }

    #[test]
    fn policy_decides_undecided_and_check_stays_visible() {
        let words = |policy| verdict(&gate(&[CheckOutcome::Undecided], policy)).words;
        assert_eq!(words(UndecidedPolicy::Pass), "✅ the gate passed");
        assert_eq!(words(UndecidedPolicy::Fail), "❌ the gate failed");
        let gate = gate(&[CheckOutcome::Undecided; 14], UndecidedPolicy::Pass);
        assert_eq!(verdict(&gate).because, "14 checks of 1 rule");
        let Some(Part::List(items)) = parts(&gate).pop() else { panic!() };
        assert_eq!(items.len(), LISTED + 1);
        assert_eq!(items[LISTED], "… and 2 such checks more");
    }
}
