//! Comparisons of strategies by tests, and of two runs on the same data.

use serde::{Deserialize, Serialize};

use super::{Primary, RowKind};

/// What differs between two runs, B less A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of run A (never a whole path).
    pub a: String,
    /// Name of run B.
    pub b: String,
    /// Names of the data sets.
    pub title: String,
    /// Number of sessions that are in both runs.
    pub sessions: u64,
    /// Id of the measure that is tested.
    pub primary: Primary,
    /// Number of tests, over which p is corrected.
    pub family: u64,
    /// Conclusions that the number of clusters and tests rules out, if any.
    pub limit: Option<String>,
    /// Strategies that are in A only.
    pub only_a: Vec<String>,
    /// Strategies that are in B only.
    pub only_b: Vec<String>,
    /// Settings that differ, and what is left out for that reason.
    pub notes: Vec<String>,
    /// The rows that are in both runs.
    pub rows: Vec<ComparedRow>,
}

/// A strategy at a window in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRow {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// Plain strategy id in A.
    pub strategy_a: String,
    /// Plain strategy id in B; usually the same.
    pub strategy_b: String,
    /// Window label as typed.
    pub window: String,
    /// Whether the row is ranked.
    pub row_kind: RowKind,
    /// Measures that have a figure in both runs.
    pub measures: Vec<ComparedMeasure>,
}

/// A measure of one row in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedMeasure {
    /// The measure's id, as in `StrategyRow::values`.
    pub measure: String,
    /// Figure in A over the sessions of both.
    pub a: f64,
    /// Figure in B over the sessions of both.
    pub b: f64,
    /// Figure in B minus figure in A.
    pub difference: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Differences by cluster where there are too few for an interval.
    pub dots: Vec<f64>,
    /// Sessions with a figure in both.
    pub sessions: u64,
    /// Number of clusters of those sessions.
    pub clusters: u64,
    /// Sessions with a better figure in B; of a measure that only describes,
    /// with a higher one.
    pub better: u64,
    /// Sessions with a worse figure in B; of a measure that only describes,
    /// with a lower one.
    pub worse: u64,
    /// Sessions with the same figure in both runs.
    pub alike: u64,
    /// Sign-flip p; of the primary measure only.
    pub p: Option<f64>,
    /// That p after Holm's correction; of the primary measure only.
    pub p_holm: Option<f64>,
    /// Smallest difference found with a power of 0.8.
    pub mde: Option<f64>,
    /// The conclusion that the test allows; of the primary measure only.
    pub outcome: Option<TestOutcome>,
}

/// The result of a test of the confirmatory family (reference §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "kebab-case")]
pub enum TestOutcome {
    /// Better than the comparator, after Holm's correction.
    Better,
    /// Worse, after Holm's correction.
    Worse,
    /// The difference of every pair is zero.
    Tie,
    /// The data do not decide it.
    Undecided,
    /// Too few clusters for more than a description.
    Descriptive,
}

/// A strategy at a window less the comparator, paired by session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The strategy's id, without markup.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// Clusters with a pair.
    pub clusters: u64,
    /// Mean difference in the measure's own unit.
    pub difference: f64,
    /// Its 95 % interval, from six clusters on.
    pub interval: Option<(f64, f64)>,
    /// Sign-flip p over clusters, where the number of clusters allows one.
    pub p: Option<f64>,
    /// That p after Holm's correction over the family.
    pub p_holm: Option<f64>,
    /// Smallest difference found with a power of 0.8, from six clusters on.
    pub mde: Option<f64>,
    /// The conclusion that the test allows.
    pub outranks: TestOutcome,
}

/// The one confirmatory family of a run: strategies × windows, one measure, one
/// comparator (reference §7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Id of the measure.
    pub measure: Primary,
    /// Plain id of the strategy that the others are compared with.
    pub comparator: String,
    /// The tests, in printing order of the rows. Their number is the family's size m.
    pub tests: Vec<Tested>,
    /// Conclusions that the number of clusters and tests rules out, if any.
    pub limit: Option<String>,
}
