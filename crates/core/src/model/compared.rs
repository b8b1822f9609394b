//! Comparisons of strategies by tests.

use serde::{Deserialize, Serialize};

use super::Primary;

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

impl TestOutcome {
    /// Its name in files and on screens.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
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
