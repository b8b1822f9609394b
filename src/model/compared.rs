//! Presets beside each other: tests, sizes, and where chance comes from.

use serde::{Deserialize, Serialize};

/// What a test of the confirmatory family comes to (measures §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outranks {
    /// Better than the comparator, after Holm's correction.
    Better,
    /// Worse, after Holm's correction.
    Worse,
    /// Every pair is alike.
    Tie,
    /// The data leave it open.
    Undecided,
    /// Too few clusters to say more than what was seen.
    Descriptive,
}

impl Outranks {
    /// Its name in files and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            Outranks::Better => "better",
            Outranks::Worse => "worse",
            Outranks::Tie => "tie",
            Outranks::Undecided => "undecided",
            Outranks::Descriptive => "descriptive",
        }
    }
}

/// A preset at a window less the comparator, paired by transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// Plain preset id.
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
    /// The same after Holm's correction over the family.
    pub p_holm: Option<f64>,
    /// Smallest difference found with a power of 0.8, from six clusters on.
    pub mde: Option<f64>,
    /// What may be said.
    pub outranks: Outranks,
}

/// The one confirmatory family of a run: presets × windows, one measure, one
/// comparator (measures §7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Id of the measure.
    pub measure: String,
    /// Plain id of the preset that the others are compared with.
    pub comparator: String,
    /// The tests, in printing order of the rows. Their number is the family's size m.
    pub tests: Vec<Tested>,
    /// What the number of clusters and of tests forbids to say, if anything.
    pub limit: Option<String>,
}

/// What the newest tokens alone keep, against their mean size: the grey curve
/// behind every preset (measures §8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecencyCurve {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// Id of the measure.
    pub measure: String,
    /// Mean tokens of a request and the measure there, ascending by tokens.
    pub points: Vec<(f64, f64)>,
}

/// One preset at the size at which others are looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtSize {
    /// Plain preset id.
    pub strategy: String,
    /// The measure, interpolated within its sweep on the logarithm of the
    /// size; or why it is not known there.
    pub value: super::Value,
}

/// Presets at equal size, never extrapolated (measures §8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EqualSize {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// Whose prices bill it.
    pub agent_model: String,
    /// Id of the measure of quality.
    pub measure: String,
    /// Id of the measure of size: `mean_tokens` or `cost_usd`.
    pub size: String,
    /// The size.
    pub at: f64,
    /// Ranked presets with a sweep, the best first.
    pub presets: Vec<AtSize>,
}

/// Where chance comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChanceOf {
    /// Sessions differ.
    Transcript,
    /// Probes of a session differ.
    Probe,
    /// The compactor writes another summary.
    Compaction,
    /// The answerer answers otherwise.
    Answer,
    /// The judge grades otherwise.
    Judge,
}

/// One part of a figure's variance, where it was repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariancePart {
    /// Where the chance comes in.
    pub of: ChanceOf,
    /// Variance in the square of the measure's unit; or why it is not known.
    pub variance: super::Value,
    /// Degrees of freedom; 0 where it is not known.
    pub freedom: u64,
}

/// The parts of one row's variance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variance {
    /// Plain preset id.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// Id of the measure.
    pub measure: String,
    /// Every part, in order.
    pub parts: Vec<VariancePart>,
}
