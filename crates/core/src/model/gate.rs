//! The rules of a gate, and their findings.

use serde::{Deserialize, Serialize};

/// The finding of one rule on one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum CheckOutcome {
    /// The row does not violate the rule.
    Passed,
    /// Nothing was compared: this run makes the baseline that the rule needs.
    Unchecked,
    /// The data do not decide it: the effect is large enough but not certain,
    /// or certain but not large enough.
    Undecided,
    /// The row has no figure for the rule. Missing data never passes.
    #[default]
    Missing,
    /// The row violates the rule: a measured regression.
    Failed,
}

/// How undecided findings count when no finding is worse (how-it-works §41).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UndecidedPolicy {
    /// No verdict: the run is incomplete.
    #[default]
    Incomplete,
    /// It counts as passed.
    Pass,
    /// It counts as failed.
    Fail,
}

/// One rule applied to one row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Data set of the row, or `ALL`.
    pub dataset: String,
    /// The strategy's id, without markup.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// The model whose prices are used.
    pub agent_model: String,
    /// Column name of the measure, the kind of question included.
    pub measure: String,
    /// Its figure, if there is one.
    pub value: Option<f64>,
    /// The baseline's figure over the same sessions, for a rule that
    /// compares with a baseline.
    pub baseline: Option<f64>,
    /// Bounds that the finding uses: of the figure, or of the paired difference
    /// to the baseline.
    pub interval: Option<(f64, f64)>,
    /// Number of sessions that the finding uses.
    pub sessions: u64,
    /// Whether the row passed.
    pub finding: CheckOutcome,
    /// The finding in words: figures, threshold, and what is missing where
    /// something is.
    pub reason: String,
}

/// How a figure is compared with a limit, by its sign in a rule; the longer signs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum Operator {
    /// A figure of at most the limit is forbidden.
    #[strum(serialize = "<=")]
    AtMost,
    /// A figure of at least the limit is forbidden.
    #[strum(serialize = ">=")]
    AtLeast,
    /// A figure below the limit is forbidden.
    #[strum(serialize = "<")]
    Below,
    /// A figure above the limit is forbidden.
    #[strum(serialize = ">")]
    Above,
}

impl Operator {
    /// All operators, the longer signs first.
    pub const ALL: &'static [Operator] = <Self as strum::VariantArray>::VARIANTS;

    /// Whether the rule forbids this figure.
    pub fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Operator::Below => figure < limit,
            Operator::AtMost => figure <= limit,
            Operator::Above => figure > limit,
            Operator::AtLeast => figure >= limit,
        }
    }

    /// Whether the operator forbids low figures.
    pub fn forbids_low(self) -> bool {
        matches!(self, Operator::Below | Operator::AtMost)
    }
}

/// One rule and its findings, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleFindings {
    /// The rule as typed.
    pub rule: String,
    /// The checks of every row that the rule applies to; never empty.
    pub checks: Vec<Check>,
}

/// All rules of a run's gate, with their findings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Name of the baseline, where one is given (never a whole path).
    pub baseline: Option<String>,
    /// How undecided findings count.
    pub undecided: UndecidedPolicy,
    /// The rules in the order typed.
    pub rules: Vec<RuleFindings>,
}

impl Gate {
    /// The checks of all rules, in order.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.rules.iter().flat_map(|rule| &rule.checks)
    }

    /// The gate's overall finding: failed before missing, missing before
    /// undecided, undecided before unchecked and passed. Undecided findings count as the
    /// policy says.
    pub fn finding(&self) -> CheckOutcome {
        let counted = |check: &Check| match (check.finding, self.undecided) {
            (CheckOutcome::Undecided, UndecidedPolicy::Pass) => CheckOutcome::Passed,
            (CheckOutcome::Undecided, UndecidedPolicy::Fail) => CheckOutcome::Failed,
            (finding, _) => finding,
        };
        self.checks().map(counted).max().unwrap_or(CheckOutcome::Passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(findings: &[CheckOutcome], undecided: UndecidedPolicy) -> Gate {
        let check = |finding: &CheckOutcome| Check {
            dataset: "ALL".into(),
            strategy: "fifo".into(),
            window: "25%".into(),
            agent_model: "m".into(),
            measure: "recall".into(),
            value: Some(0.5),
            baseline: None,
            interval: None,
            sessions: 1,
            finding: *finding,
            reason: String::new(),
        };
        let checks = findings.iter().map(check).collect();
        let rules = vec![RuleFindings { rule: "recall < 0.6".into(), checks }];
        Gate { baseline: None, undecided, rules }
    }

    #[test]
    fn gate_finding_is_its_worst_finding() {
        use CheckOutcome::{Failed, Missing, Passed, Undecided};
        let worst =
            |findings: &[CheckOutcome]| gate(findings, UndecidedPolicy::Incomplete).finding();
        assert_eq!(worst(&[Passed, Passed]), Passed);
        assert_eq!(worst(&[Passed, Undecided]), Undecided);
        assert_eq!(worst(&[Missing, Undecided, Passed]), Missing);
        assert_eq!(worst(&[Missing, Failed, Passed]), Failed);
    }

    #[test]
    fn undecided_follows_policy_and_missing_never_passes() {
        use CheckOutcome::{Failed, Missing, Passed, Undecided};
        let with = |findings: &[CheckOutcome], policy| gate(findings, policy).finding();
        assert_eq!(with(&[Undecided], UndecidedPolicy::Pass), Passed);
        assert_eq!(with(&[Undecided], UndecidedPolicy::Fail), Failed);
        assert_eq!(with(&[Undecided, Missing], UndecidedPolicy::Pass), Missing);
    }
}
