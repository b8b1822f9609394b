//! The rules of a gate, and their findings.

use serde::{Deserialize, Serialize};

use super::{Absent, Missing, NoCurve, Unit};

/// The finding of one rule on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum CheckOutcome {
    /// The row does not violate the rule.
    Passed,
    /// The data do not decide it: the effect is large enough but not certain,
    /// or certain but not large enough.
    Undecided,
    /// The row has no figure for the rule. Missing data never passes.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// How a figure is compared with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`: a figure below the limit is forbidden.
    Below,
    /// `<=`: a figure of at most the limit is forbidden.
    AtMost,
    /// `>`: a figure above the limit is forbidden.
    Above,
    /// `>=`: a figure of at least the limit is forbidden.
    AtLeast,
}

impl Operator {
    /// All operators, the longer signs first.
    pub const ALL: [Operator; 4] =
        [Operator::AtMost, Operator::AtLeast, Operator::Below, Operator::Above];

    /// The sign of the operator in a rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Operator::Below => "<",
            Operator::AtMost => "<=",
            Operator::Above => ">",
            Operator::AtLeast => ">=",
        }
    }

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

/// The reason for a finding, with its numbers; `wording` turns it into a
/// sentence. Figures are in the unit of the measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// A comparison of the figure with a number, and whether the rule forbids
    /// the figure.
    Compared { unit: Unit, figure: f64, operator: Operator, limit: f64, holds: bool },
    /// Each session has the same figure in the baseline.
    Unchanged { unit: Unit, figure: f64, sessions: u64 },
    /// A paired difference to the baseline.
    Differs(Differs),
    /// The amount in the rule does not fit the measure's unit.
    Incomparable { measure: String, amount: String },
    /// The measure is not known, or is not a number.
    Unknown(String),
    /// The offline compactor wrote the summaries (reference §6).
    OfflineSummary,
    /// Too many replies of the compactor were unusable.
    UnusableReplies,
    /// The row has no figure of the measure.
    NoFigure(Absent),
    /// The row has a text instead of a figure.
    NotANumber,
    /// The row has no questions.
    NothingAsked,
    /// The run was interrupted.
    Interrupted(Missing),
    /// Some cells of the row failed; `first` names one of them.
    Failed { cells: usize, first: String },
    /// This share of the row's questions has no answer or no grade.
    Ungraded { share: f64, most: f64 },
    /// No baseline was given.
    NoBaseline,
    /// The run has no such row.
    NoRow,
    /// The run has no sizes at which the agent compacts.
    NoSizes(NoCurve),
    /// The baseline has no such row.
    NoRowInBaseline,
    /// Cells of the baseline's row failed.
    BaselineFailed { cells: u64 },
    /// No session has a figure in both runs.
    NoPair,
    /// The cuts of some session have other facts than in the baseline.
    OtherFacts,
    /// Some sessions have a figure in the baseline and none in this run.
    GoneFigures { sessions: u64 },
    /// The baseline's figure is negative, and the limit is a part of it.
    NegativeBaseline,
}

/// A paired difference to the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// Unit of the figures.
    pub unit: Unit,
    /// Figure of this run, over the sessions that both runs have.
    pub figure: f64,
    /// Figure of the baseline, over the same sessions.
    pub baseline: f64,
    /// Figure of this run minus that of the baseline.
    pub difference: f64,
    /// Both ends of the interval of the difference.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval covers only the requests or questions of these
    /// sessions.
    pub these_only: bool,
    /// Number of sessions that both runs have.
    pub sessions: u64,
    /// Number of independent sessions or projects.
    pub clusters: u64,
    /// Smallest number of clusters for an interval over clusters.
    pub fewest: u64,
    /// The allowed difference, with its sign.
    pub allowed: f64,
    /// The finding by the truth table of the gate.
    pub outcome: CheckOutcome,
    /// Smallest difference that the comparison could have detected.
    pub detectable: Option<f64>,
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
    /// undecided, undecided before passed. Undecided findings count as the
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
