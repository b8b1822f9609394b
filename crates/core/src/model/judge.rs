//! Labelled answers, and how far a judge agrees with them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Expectation, Judgement, QuestionKind, RIGHT, Source, Verdict};

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

/// A question that labelled answers are given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledQuestion {
    /// Path of its file as given.
    pub file: Arc<str>,
    /// Its id in the file, or its place there.
    pub id: String,
    /// The question as it was put.
    pub question: String,
    /// What it asks for.
    pub kind: QuestionKind,
    /// What makes an answer right: values, a rubric, or abstaining.
    pub expect: Expectation,
    /// Values that would be wrong.
    pub stale: Vec<String>,
}

/// An answer with its label.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledCase {
    /// The question that the answer is for.
    pub asked: Arc<LabelledQuestion>,
    /// Id of the answer in its file.
    pub id: String,
    /// Line of the answer in its file, from 1.
    pub line: u64,
    /// The text of the answer.
    pub answer: String,
    /// How the answer is labelled.
    pub label: Label,
    /// The model that gave it, or any other named group of answers, if the file
    /// names one.
    pub group: Option<Arc<str>>,
}

/// The label of an answer, by its name in files; a score stands there as a number.
#[derive(Clone, Copy, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Label {
    /// The answer is right.
    Correct,
    /// The answer is wrong or beside the point.
    Incorrect,
    /// It asserts something that is no longer true.
    Stale,
    /// It says that it does not know: right only for an unanswerable question.
    Abstained,
    /// The score that it deserves by a rubric, `0.0..=1.0`.
    Score(f64),
}

/// How a judgement compares with the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// The answer was graded as people labelled it.
    Agrees,
    /// A wrong answer was accepted.
    FalseAccept,
    /// A right answer was rejected.
    FalseReject,
    /// Not graded: neither agreement nor disagreement.
    Unscored,
}

impl LabelledCase {
    /// Whether people find the answer right, which a judge then has to accept.
    pub fn is_right(&self) -> bool {
        match self.label {
            Label::Correct => true,
            Label::Incorrect | Label::Stale => false,
            Label::Abstained => self.asked.expect == Expectation::Unanswerable,
            Label::Score(score) => score >= RIGHT,
        }
    }

    /// How a judgement of it compares with its label.
    pub fn outcome(&self, judgement: &Judgement) -> Outcome {
        let score = match (&judgement.verdict, judgement.score) {
            (Verdict::Unscored(_), _) | (_, None) => return Outcome::Unscored,
            (_, Some(score)) => score,
        };
        match (self.is_right(), score >= RIGHT) {
            (true, false) => Outcome::FalseReject,
            (false, true) => Outcome::FalseAccept,
            _ => Outcome::Agrees,
        }
    }
}

#[cfg(test)]
mod labelled_tests {
    use super::*;
    use crate::model::NoGrade;

    fn case(expect: Expectation, label: Label) -> LabelledCase {
        let asked = LabelledQuestion {
            file: Arc::from("f"),
            id: "1".to_owned(),
            question: "Which port?".to_owned(),
            kind: QuestionKind::Fact,
            expect,
            stale: Vec::new(),
        };
        let (asked, id) = (Arc::new(asked), "1".to_owned());
        LabelledCase { asked, id, line: 1, answer: "80".to_owned(), label, group: None }
    }

    fn scored(score: f64) -> Judgement {
        Judgement {
            verdict: Verdict::Correct,
            score: Some(score),
            rationale: String::new(),
            votes: Vec::new(),
        }
    }

    #[test]
    fn abstaining_is_right_only_where_answer_is_unknowable() {
        let value = Expectation::AnyOf(vec!["80".to_owned()]);
        for (expect, is_right) in [(value, false), (Expectation::Unanswerable, true)] {
            assert_eq!(case(expect, Label::Abstained).is_right(), is_right);
        }
    }

    #[test]
    fn what_was_not_graded_is_no_disagreement() {
        let value = Expectation::AnyOf(vec!["80".to_owned()]);
        let right = case(value, Label::Correct);
        let verdict = Verdict::Unscored(NoGrade::Other("a model has to judge it".to_owned()));
        let judgement =
            Judgement { verdict, score: None, rationale: "busy".to_owned(), votes: Vec::new() };
        assert_eq!(right.outcome(&judgement), Outcome::Unscored);
        assert_eq!(right.outcome(&scored(0.49)), Outcome::FalseReject);
        assert_eq!(right.outcome(&scored(0.5)), Outcome::Agrees);
    }
}
