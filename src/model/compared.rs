//! Comparisons of presets: tests, equal sizes, and sources of variance.

use serde::{Deserialize, Serialize};

use super::Primary;

/// The result of a test of the confirmatory family (measures §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "kebab-case")]
pub enum Outranks {
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

impl Outranks {
    /// Its name in files and on screens.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A preset at a window less the comparator, paired by transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The preset's id, without markup.
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
    pub outranks: Outranks,
}

/// The one confirmatory family of a run: presets × windows, one measure, one
/// comparator (measures §7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Id of the measure.
    pub measure: Primary,
    /// Plain id of the preset that the others are compared with.
    pub comparator: String,
    /// The tests, in printing order of the rows. Their number is the family's size m.
    pub tests: Vec<Tested>,
    /// Conclusions that the number of clusters and tests rules out, if any.
    pub limit: Option<String>,
}

/// What a preset that keeps only the newest tokens retains, against their mean
/// size: the grey curve drawn behind every preset (measures §8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecencyCurve {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// Id of the measure.
    pub measure: Primary,
    /// Mean tokens of a request and the measure there, ascending by tokens.
    pub points: Vec<(f64, f64)>,
}

/// One preset at the size at which presets are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtSize {
    /// The preset's id, without markup.
    pub strategy: String,
    /// The measure, interpolated within its sweep on the logarithm of the
    /// size; or why it is not known there.
    pub value: super::Value,
}

/// Presets at equal size, never extrapolated (measures §8).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EqualSize {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// The model or payer whose prices are used.
    pub agent_model: String,
    /// Id of the measure of quality.
    pub measure: Primary,
    /// Id of the measure of size: `mean_tokens` or `cost_usd`.
    pub size: String,
    /// The size at which the presets are compared, in the unit of that measure.
    pub at: f64,
    /// Ranked presets with a sweep, the best first.
    pub presets: Vec<AtSize>,
}

/// A source of variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChanceOf {
    /// The sampling of sessions.
    Transcript,
    /// Sampling of probes within a session.
    Probe,
    /// Repeated summaries of the compactor.
    Compaction,
    /// Repeated answers of the answerer.
    Answer,
    /// Repeated grades of the judge.
    Judge,
}

/// One component of a figure's variance, estimated from repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariancePart {
    /// The source of this component.
    pub of: ChanceOf,
    /// Variance in the square of the measure's unit, or the reason why it is not known.
    pub variance: super::Value,
    /// Degrees of freedom; 0 where it is not known.
    pub freedom: u64,
}

/// The parts of one row's variance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variance {
    /// The preset's id, without markup.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// Id of the measure.
    pub measure: Primary,
    /// The components, in the order of [`ChanceOf`].
    pub parts: Vec<VariancePart>,
}
