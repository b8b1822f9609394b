//! The rules of a gate, and their findings.

use serde::{Deserialize, Serialize};

use super::{Absent, Missing, Unit};

/// What one rule finds on one row.
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

impl CheckOutcome {
    /// Its name in files and on screens.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How a gate ends whose worst finding is undecided (semantics §41).
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
    /// The preset's id, without markup.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// The model or payer whose prices are used.
    pub agent_model: String,
    /// Column name of the measure, the kind of probe included.
    pub measure: String,
    /// Its figure, if there is one.
    pub value: Option<f64>,
    /// The baseline's figure over the same transcripts, for a rule that
    /// compares with a baseline.
    pub baseline: Option<f64>,
    /// Bounds that the finding uses: of the figure, or of the paired difference
    /// to the baseline.
    pub interval: Option<(f64, f64)>,
    /// Number of transcripts that the finding uses.
    pub transcripts: u64,
    /// Whether the row passed.
    pub finding: CheckOutcome,
    /// The finding in words: figures, threshold, and what is missing where
    /// something is.
    pub reason: String,
}

/// How a figure is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// Every one, the longer signs first.
    pub const ALL: [Operator; 4] =
        [Operator::AtMost, Operator::AtLeast, Operator::Below, Operator::Above];

    /// Its sign.
    pub fn as_str(self) -> &'static str {
        match self {
            Operator::Below => "<",
            Operator::AtMost => "<=",
            Operator::Above => ">",
            Operator::AtLeast => ">=",
        }
    }

    /// Whether a figure is what the rule forbids.
    pub fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Operator::Below => figure < limit,
            Operator::AtMost => figure <= limit,
            Operator::Above => figure > limit,
            Operator::AtLeast => figure >= limit,
        }
    }

    /// Whether low figures are the forbidden ones.
    pub fn forbids_low(self) -> bool {
        matches!(self, Operator::Below | Operator::AtMost)
    }
}

/// What a check rests on, with its numbers; `wording` says it in words. Figures
/// are in the unit of the measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// The figure against the limit, and whether it is as the rule forbids.
    Compared { unit: Unit, figure: f64, operator: Operator, limit: f64, holds: bool },
    /// The same figure in the baseline, session by session.
    Unchanged { unit: Unit, figure: f64, sessions: u64 },
    /// A paired difference to the baseline.
    Differs(Differs),
    /// The amount is none of the measure's.
    Incomparable { measure: String, amount: String },
    /// The measure is not known, or no number.
    Unknown(String),
    /// A stand-in wrote the summaries (measures §6).
    StandIn,
    /// Too many replies of the compactor were void.
    VoidReplies,
    /// There is no figure.
    NoFigure(Absent),
    /// There is a word instead of a figure.
    NotANumber,
    /// Nothing was asked.
    NothingAsked,
    /// The run was interrupted.
    Interrupted(Missing),
    /// Cells of the row failed; one of them.
    Failed { cells: usize, first: String },
    /// This share of the row's questions was not answered or not graded.
    Ungraded { share: f64, most: f64 },
    /// No baseline was given.
    NoBaseline,
    /// The run has no such row.
    NoRow,
    /// The baseline has no such row.
    NoRowInBaseline,
    /// Cells of the baseline's row failed.
    BaselineFailed { cells: u64 },
    /// No session has a figure in both.
    NoPair,
    /// The cuts of some session put other facts at stake.
    OtherFacts,
    /// Sessions with a median here and none in the baseline.
    NewMedians { sessions: u64 },
    /// Sessions with a figure in the baseline and none here.
    GoneFigures { sessions: u64 },
    /// A part of a negative figure says nothing.
    NegativeBaseline,
}

/// A paired difference to the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// What the figures count in.
    pub unit: Unit,
    /// The figure here, over the sessions that both have.
    pub figure: f64,
    /// The baseline's.
    pub baseline: f64,
    /// Their difference.
    pub difference: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval is one over the requests of these sessions only.
    pub these_only: bool,
    /// Sessions, and sessions or projects that they come from.
    pub sessions: u64,
    /// Sessions or projects.
    pub clusters: u64,
    /// Fewest of them that an interval takes.
    pub fewest: u64,
    /// The difference that is allowed, with its sign.
    pub allowed: f64,
    /// What was found.
    pub outcome: CheckOutcome,
    /// The smallest difference that would have been found.
    pub detectable: Option<f64>,
}

/// One rule and what it found, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleFindings {
    /// The rule as typed.
    pub rule: String,
    /// The checks of every row that the rule applies to; never empty.
    pub checks: Vec<Check>,
}

/// Every rule of a run's gate.
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
    /// Every check of every rule.
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
            transcripts: 1,
            finding: *finding,
            reason: String::new(),
        };
        let checks = findings.iter().map(check).collect();
        let rules = vec![RuleFindings { rule: "recall < 0.6".into(), checks }];
        Gate { baseline: None, undecided, rules }
    }

    #[test]
    fn the_worst_finding_is_the_gates_own() {
        use CheckOutcome::{Failed, Missing, Passed, Undecided};
        let worst =
            |findings: &[CheckOutcome]| gate(findings, UndecidedPolicy::Incomplete).finding();
        assert_eq!(worst(&[Passed, Passed]), Passed);
        assert_eq!(worst(&[Passed, Undecided]), Undecided);
        assert_eq!(worst(&[Missing, Undecided, Passed]), Missing);
        assert_eq!(worst(&[Missing, Failed, Passed]), Failed);
    }

    #[test]
    fn undecided_counts_as_the_policy_says_and_missing_never_passes() {
        use CheckOutcome::{Failed, Missing, Passed, Undecided};
        let with = |findings: &[CheckOutcome], policy| gate(findings, policy).finding();
        assert_eq!(with(&[Undecided], UndecidedPolicy::Pass), Passed);
        assert_eq!(with(&[Undecided], UndecidedPolicy::Fail), Failed);
        assert_eq!(with(&[Undecided, Missing], UndecidedPolicy::Pass), Missing);
    }
}
