//! What a search over settings of a strategy came to.

use serde::{Deserialize, Serialize};

/// What a run searches: the settings beside its strategies in the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// The strategy as typed: a name, or a file.
    pub typed: String,
    /// The strategy as its author has it: the first one of the run.
    pub author: String,
    /// What each of the other strategies changes, in their order: `KEY=VALUE; KEY=VALUE`.
    pub changes: Vec<String>,
    /// Changes that the strategy refuses, each with the reason.
    pub refused: Vec<(String, String)>,
}

/// A figure with its 95 % interval, from six projects or sessions on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranged {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
}

/// Whether a setting may take the place of the author's, by one half of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Admission {
    /// It may.
    Admissible,
    /// A cell of it failed.
    Failed,
    /// The provider would have refused more of its prompts.
    Refused,
    /// A price is not known.
    Unpriced,
    /// Its bill is higher.
    Dearer,
    /// It keeps fewer facts, or answers fewer questions.
    KeepsLess,
}

/// The figures of a setting on one half of the sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunedHalf {
    /// Whether it may take the place of the author's.
    pub admission: Admission,
    /// Dollars of the half, with what is lost fetched again; absent where a price is not known.
    pub usd: Option<f64>,
    /// Share of the author's bill that it saves.
    pub saving: Option<Ranged>,
    /// Prompts that the provider would have refused, a mean over repetitions.
    pub refused: f64,
    /// Facts that requests used.
    pub facts: f64,
    /// Share of them that these requests still saw; absent where no request used one.
    pub kept: Option<Ranged>,
    /// That share less the author's.
    pub kept_difference: Option<Ranged>,
    /// Mean score of the data sets' questions, `0.0..=1.0`; absent where none was asked.
    pub answers: Option<Ranged>,
    /// That score less the author's.
    pub answers_difference: Option<Ranged>,
}

/// A setting and what the search found of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunedSetting {
    /// What it changes; empty for the author's.
    pub changes: String,
    /// Name of the changed strategy: that of its rows.
    pub strategy: String,
    /// Whether it is admissible by the half that settings are chosen by, and no other such one
    /// keeps as much for less.
    pub frontier: bool,
    /// On the half that settings are chosen by.
    pub choosing: TunedHalf,
    /// On the half that is held back.
    pub held_back: TunedHalf,
}

/// One half of the sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TunedSessions {
    /// Sessions.
    pub sessions: usize,
    /// Requests of these sessions.
    pub requests: usize,
    /// Projects, or sessions with their forks, that stay together.
    pub units: usize,
}

/// The result of a search over settings of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuned {
    /// The strategy.
    pub strategy: String,
    /// The same as typed: a name, or a file.
    pub typed: String,
    /// What stays together: `project` or `session`.
    pub unit: &'static str,
    /// The half that settings are chosen by.
    pub choosing: TunedSessions,
    /// The half that is held back.
    pub held_back: TunedSessions,
    /// The settings, the author's first.
    pub settings: Vec<TunedSetting>,
    /// Changes that the strategy refuses, each with the reason.
    pub refused: Vec<(String, String)>,
    /// Position of the setting that is recommended: 0 is the author's.
    pub recommended: usize,
    /// Why that one, in a sentence.
    pub because: String,
}
