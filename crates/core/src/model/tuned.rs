//! The result of a search over the parameters of a strategy.

use serde::{Deserialize, Serialize};

/// Version of `tune.json`.
pub const TUNED_VERSION: u32 = 3;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranged {
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval; absent with fewer than six clusters.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
}

/// What became of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TunedStatus {
    /// No other setting keeps as much for as few dollars.
    Frontier,
    /// Another setting keeps no less for no more dollars.
    Behind,
    /// A cell or a cut of it failed.
    Failed,
    /// Its waits are longer than allowed.
    TooSlow,
    /// No session of the search fits its window.
    Unseen,
}

impl TunedStatus {
    /// The name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A setting and what the search found of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedSetting {
    /// Its number, from 0: the author's setting.
    pub number: usize,
    /// What distinguishes it from the author's setting.
    pub label: String,
    /// Name of the changed strategy.
    pub strategy: String,
    /// Hash of the changed strategy.
    pub hash: String,
    /// The window, where the space names windows.
    pub window: Option<String>,
    /// The compactor.
    pub compactor: String,
    /// What became of it.
    pub status: TunedStatus,
    /// Number of sessions of the search that tell of it.
    pub sessions: usize,
    /// Number of clusters with a fact that was needed.
    pub clusters: usize,
    /// Share that is kept, 0 to 1; absent where no fact was needed.
    pub kept: Option<Ranged>,
    /// Dollars a session.
    pub usd: Option<Ranged>,
    /// 95th percentile of its waits, in seconds; absent where some wait is not
    /// known.
    pub wait_p95_s: Option<f64>,
    /// Why it failed.
    pub why: Option<String>,
}

/// Sizes of the two parts of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedSplit {
    /// Whether sessions are split by project.
    pub by_project: bool,
    /// Sessions of the search.
    pub search_sessions: usize,
    /// Clusters of the search: projects, or sessions where none is known.
    pub search_clusters: usize,
    /// Sessions that are held back.
    pub held_back_sessions: usize,
    /// Clusters that are held back.
    pub held_back_clusters: usize,
}

/// A difference between the setting that the search found and the author's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedDifference {
    /// The author's figure.
    pub author: f64,
    /// The figure of the setting that the search found.
    pub found: f64,
    /// Found minus author's, paired by session.
    pub difference: Ranged,
    /// Two-sided p of the sign-flip test, from six clusters on.
    pub p: Option<f64>,
    /// Number of clusters.
    pub clusters: usize,
}

/// How the setting that the search found does on sessions that it never saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedHeldBack {
    /// Number of the setting. It is not recommended where it does worse than the
    /// author's.
    pub setting: usize,
    /// Number of sessions.
    pub sessions: usize,
    /// What is kept; absent where no fact was needed.
    pub kept: Option<TunedDifference>,
    /// Dollars a session.
    pub usd: Option<TunedDifference>,
    /// The comparison in words.
    pub words: String,
}

/// The result of a search: `tune.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// Version of this form: [`TUNED_VERSION`].
    pub version: u32,
    /// The base as typed.
    pub base: String,
    /// Names of the data sets.
    pub title: String,
    /// Id of the measure of what is kept.
    pub measure: String,
    /// Depth of the cuts.
    pub depth: u32,
    /// Largest 95th percentile of the waits, in seconds.
    pub max_wait_s: Option<f64>,
    /// Seed of the search.
    pub seed: u64,
    /// The two parts of the sessions.
    pub split: TunedSplit,
    /// Combinations of the space, saturating.
    pub combinations: u64,
    /// The settings, the author's first.
    pub settings: Vec<TunedSetting>,
    /// Changes that the strategy refuses, each with the reason.
    pub refused: Vec<(String, String)>,
    /// The recommended setting; absent where none can be.
    pub recommended: Option<usize>,
    /// Why that one.
    pub because: String,
    /// File of the recommended strategy, beside this one.
    pub strategy_file: Option<String>,
    /// How the setting that the search found does on held-back sessions; absent
    /// where it is the author's.
    pub held_back: Option<TunedHeldBack>,
    /// What limits these figures.
    pub notes: Vec<String>,
}
