//! The answer to a question, and the judge's verdict on it.

use serde::{Deserialize, Serialize};

use super::NoGrade;

/// The judge's verdict on an answer. There are no numbers between the verdicts:
/// on a rubric, `Partial` holds the share of the nuggets that the answer gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// It says what was expected.
    Correct,
    /// It says a part of it: the share, `0.0..1.0` with both ends left out.
    Partial(f64),
    /// It asserts something else, or nothing to the point.
    Incorrect,
    /// It asserts a value that the question lists as stale.
    Stale,
    /// It says that it does not know.
    Abstained,
    /// It was not graded, and why: never a score of 0.
    Unscored(NoGrade),
}

impl Verdict {
    /// The lower-case name used in files.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}

/// A verdict with the judge's reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Whether the answer is right, wrong, partly right or ungraded.
    pub verdict: Verdict,
    /// Score `0.0..=1.0`; absent where it was not graded. An answer that
    /// abstains scores 1 where the question is unanswerable, else 0.
    pub score: Option<f64>,
    /// Why, in a sentence that a reader can check.
    pub rationale: String,
    /// What the judges of a panel said, the first two always first; empty for
    /// a single judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
}

impl Judgement {
    /// That of an answer that was graded.
    pub fn scored(verdict: Verdict, score: f64, rationale: String) -> Self {
        Judgement { verdict, score: Some(score), rationale, votes: Vec::new() }
    }

    /// That of an answer that was not graded.
    pub fn unscored(why: NoGrade) -> Self {
        let rationale = why.to_string();
        Judgement { verdict: Verdict::Unscored(why), score: None, rationale, votes: Vec::new() }
    }
}

/// One judge's verdict in a panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// The judge: `offline`, or `provider/model`.
    pub judge: String,
    /// This judge's own verdict.
    pub verdict: Verdict,
    /// Its score; absent where it did not grade.
    pub score: Option<f64>,
}

/// How a role works: the two are never mixed in one mean (reference §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Compares words and dates, without calling a model.
    Lexical,
    /// Calls a language model.
    Model,
}

impl Source {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Lexical => "lexical",
            Source::Model => "model",
        }
    }
}
