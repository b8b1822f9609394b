//! Two runs on the same data beside each other.

use serde::{Deserialize, Serialize};

use super::{Outranks, Standing};

/// What differs between two runs, B less A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of run A (never a whole path).
    pub a: String,
    /// Name of run B.
    pub b: String,
    /// Names of the data sets.
    pub title: String,
    /// Transcripts of both.
    pub transcripts: u64,
    /// Id of the measure that is tested.
    pub primary: String,
    /// Number of tests, over which p is corrected.
    pub family: u64,
    /// What the number of clusters and of tests forbids to say, if anything.
    pub limit: Option<String>,
    /// Presets that only A has.
    pub only_a: Vec<String>,
    /// Presets that only B has.
    pub only_b: Vec<String>,
    /// Settings that differ, and what is left out for that reason.
    pub notes: Vec<String>,
    /// The rows of both runs.
    pub rows: Vec<ComparedRow>,
}

/// A preset at a window in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRow {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// Plain preset id in A.
    pub strategy_a: String,
    /// Plain preset id in B; mostly the same.
    pub strategy_b: String,
    /// Window label as typed.
    pub window: String,
    /// Whether the row is ranked.
    pub standing: Standing,
    /// Measures with a figure in both.
    pub measures: Vec<ComparedMeasure>,
    /// Probes that are right in both, in one, or in neither; absent without any.
    pub probes: Option<ComparedProbes>,
}

/// A measure of one row in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedMeasure {
    /// Its id.
    pub measure: String,
    /// Figure in A over the transcripts of both.
    pub a: f64,
    /// Figure in B.
    pub b: f64,
    /// B less A.
    pub difference: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Whether that speaks of these very sessions only.
    pub these_sessions_only: bool,
    /// Differences by cluster where there are too few for an interval.
    pub dots: Vec<f64>,
    /// Transcripts with a figure in both.
    pub transcripts: u64,
    /// Their clusters.
    pub clusters: u64,
    /// Transcripts with a better figure in B; of a measure that only describes,
    /// with a higher one.
    pub better: u64,
    /// Transcripts with a worse one.
    pub worse: u64,
    /// Transcripts with the same.
    pub alike: u64,
    /// Sign-flip p, of the primary measure.
    pub p: Option<f64>,
    /// The same after Holm's correction.
    pub p_holm: Option<f64>,
    /// Smallest difference found with a power of 0.8.
    pub mde: Option<f64>,
    /// What may be said, of the primary measure.
    pub outcome: Option<Outranks>,
}

/// How many probes are right where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedProbes {
    /// Right in both.
    pub both: u64,
    /// Right in A only.
    pub only_a: u64,
    /// Right in B only.
    pub only_b: u64,
    /// Right in neither.
    pub neither: u64,
}
