//! Answers whose correctness is known, because people labelled them.

use std::sync::Arc;

use super::{Expectation, Judgement, QuestionKind, RIGHT, Verdict};

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

/// The label of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
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

impl Label {
    /// The lower-case name used in files; a score has none.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Label::Correct => Some("correct"),
            Label::Incorrect => Some("incorrect"),
            Label::Stale => Some("stale"),
            Label::Abstained => Some("abstained"),
            Label::Score(_) => None,
        }
    }
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

impl Outcome {
    /// The kebab-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
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
mod tests {
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
        let verdict = Verdict::Unscored(NoGrade::Rubric);
        let judgement =
            Judgement { verdict, score: None, rationale: "busy".to_owned(), votes: Vec::new() };
        assert_eq!(right.outcome(&judgement), Outcome::Unscored);
        assert_eq!(right.outcome(&scored(0.49)), Outcome::FalseReject);
        assert_eq!(right.outcome(&scored(0.5)), Outcome::Agrees);
    }
}
