//! How far a judge agrees with labelled answers.

use serde::{Deserialize, Serialize};

use super::Source;

/// The result of calibrating a judge.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeReport {
    /// The judge's name: `offline`, or `provider/model`.
    pub judge: String,
    /// Whether the judge calls a model.
    pub source: Source,
    /// Seed of the sample and of the resampling.
    pub seed: u64,
    /// By file: all answers, then each group; where there are several files, all
    /// of them together stand last.
    pub rows: Vec<JudgeRow>,
    /// Why answers were not graded, most frequent first.
    pub reasons: Vec<(String, u64)>,
    /// Whether the judge can be relied on.
    pub trust: Trust,
}

impl JudgeReport {
    /// The row of all answers; `None` without any.
    pub fn overall(&self) -> Option<&JudgeRow> {
        self.rows.iter().rev().find(|row| row.group.is_none())
    }

    /// Of the groups with enough questions for an interval, the one of whose
    /// wrong answers the largest share is accepted; of several, the first. A
    /// single group has no row of its own.
    pub fn worst_group(&self) -> Option<&JudgeRow> {
        let groups = self.rows.iter().filter(|row| row.group.is_some());
        let known = groups.filter(|row| row.false_accept_bounds.is_some()).rev();
        known.max_by(|a, b| {
            let share = |row: &JudgeRow| row.false_accept_share().unwrap_or(0.0);
            share(a).total_cmp(&share(b))
        })
    }
}

/// Agreement on some answers. Answers that were not graded are counted apart
/// and are in no share.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeRow {
    /// The file; `None` for all files together.
    pub file: Option<String>,
    /// The group whose answers this row covers; `None` for all.
    pub group: Option<String>,
    /// Number of questions that were answered.
    pub questions: u64,
    /// Number of answers that were graded.
    pub graded: u64,
    /// Number of answers graded as people labelled them.
    pub agreed: u64,
    /// Cohen's kappa of accepting and rejecting; absent where label and judge
    /// both know one class only.
    pub kappa: Option<f64>,
    /// Its 95 % interval; absent below six questions.
    pub kappa_bounds: Option<(f64, f64)>,
    /// Wrong answers that were accepted.
    pub false_accepts: u64,
    /// Graded answers that people find wrong.
    pub to_reject: u64,
    /// The 95 % interval of their share; absent where fewer than six questions
    /// have such an answer.
    pub false_accept_bounds: Option<(f64, f64)>,
    /// Right answers that were rejected.
    pub false_rejects: u64,
    /// Graded answers that people find right.
    pub to_accept: u64,
    /// Answers that were not graded.
    pub unscored: u64,
    /// Mean distance between the score given and the labelled one; absent
    /// where no label is a score.
    pub score_error: Option<f64>,
}

impl JudgeRow {
    /// Share of the graded answers that were graded as people labelled them.
    pub fn agreement(&self) -> Option<f64> {
        share(self.agreed, self.graded)
    }

    /// Share of the wrong answers that were accepted.
    pub fn false_accept_share(&self) -> Option<f64> {
        share(self.false_accepts, self.to_reject)
    }

    /// Share of the answers that were rejected.
    pub fn false_reject_share(&self) -> Option<f64> {
        share(self.false_rejects, self.to_accept)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Lowest kappa at which a judge is trusted (reference §7).
pub const TRUSTED_KAPPA: f64 = 0.7;
/// Upper bound of the 95 % interval of the share of wrong answers accepted below
/// which a judge is trusted (reference §7): so that a few answers prove nothing.
pub const TRUSTED_FALSE_ACCEPTS: f64 = 0.05;

/// Whether a judge can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Trust {
    /// It meets both bounds.
    Trusted,
    /// It misses one of them.
    Untrusted,
    /// People labelled too few answers, and no bound is missed.
    Unknown,
}

impl Trust {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How far the judges of a panel agreed in a run (reference §7). An answer that
/// several strategies gave counts for each of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelAgreement {
    /// The first two judges, and the third if it was ever asked.
    pub judges: Vec<String>,
    /// Answers that were put to the panel.
    pub answers: u64,
    /// Those that the first two both graded.
    pub both: u64,
    /// Of these, those that both find right or both find not right.
    pub agreed: u64,
    /// Cohen's kappa of the first two on them; absent where chance alone would
    /// agree always.
    pub kappa: Option<f64>,
    /// Answers that the third judge decided, because the first two did not
    /// agree on a verdict.
    pub third: u64,
    /// Answers without a grade, because no judge graded or the judges did not agree.
    pub nobody: u64,
}

impl PanelAgreement {
    /// Whether the first two judges agree less than trusted judges do.
    pub fn is_doubtful(&self) -> bool {
        self.kappa.is_some_and(|kappa| kappa < TRUSTED_KAPPA)
    }
}
