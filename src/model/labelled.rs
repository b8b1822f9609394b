//! Answers whose correctness is known: because people labelled them, or by construction.

use std::sync::Arc;

use super::{Expectation, Judgement, ProbeKind, RIGHT, Verdict};

/// A question that labelled answers are given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledQuestion {
    /// Path of its file as given, or name of the bundled data set.
    pub file: Arc<str>,
    /// Its id in the file, or its place there.
    pub id: String,
    /// The question as it was put.
    pub question: String,
    /// What it asks for.
    pub kind: ProbeKind,
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
    /// Line of the answer in its file, from 1; absent where it was planted.
    pub line: Option<u64>,
    /// The text of the answer.
    pub answer: String,
    /// How the answer is labelled.
    pub label: Label,
    /// Where the answer comes from.
    pub author: Author,
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

/// Where an answer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The file does not name a source.
    Unnamed,
    /// A model, or any other named group of answers.
    Group(Arc<str>),
    /// Recap: it was made to test the judge.
    Planted(Planted),
}

/// Kinds of planted answers. A judge should accept only the right ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Planted {
    /// An expected value as it stands, or every nugget.
    Right,
    /// An expected value in a sentence.
    RightInSentence,
    /// About half of the nuggets.
    Partial,
    /// The value that another question expects.
    Wrong,
    /// The subject of the question without any value.
    Vague,
    /// The expected value, denied.
    Negated,
    /// A value that no longer holds, or the expected one said to be past.
    Stale,
    /// A refusal to answer.
    Refused,
    /// "I don't know", where something can be known.
    Abstained,
    /// An answer without any text.
    Empty,
    /// A wrong value, and instructions to the judge.
    Injected,
}

impl Planted {
    /// Every kind, in the order of tables.
    pub const ALL: [Planted; 11] = [
        Planted::Right,
        Planted::RightInSentence,
        Planted::Partial,
        Planted::Wrong,
        Planted::Vague,
        Planted::Negated,
        Planted::Stale,
        Planted::Refused,
        Planted::Abstained,
        Planted::Empty,
        Planted::Injected,
    ];

    /// The kebab-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn due(self) -> Due {
        match self {
            Planted::Right | Planted::RightInSentence => Due::Accept,
            Planted::Partial => Due::Between,
            _ => Due::Reject,
        }
    }
}

/// Range of scores, both ends included, that is right for a planted half.
pub const HALF: (f64, f64) = (0.3, 0.7);

/// The grade that a judge is expected to give an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A score from [`RIGHT`] on.
    Accept,
    /// A score within [`HALF`].
    Between,
    /// A score below [`RIGHT`].
    Reject,
}

/// How a judgement compares with the expected grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// The answer was graded as expected.
    Agrees,
    /// Graded higher than expected.
    FalseAccept,
    /// Graded lower than expected.
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
    /// The grade that a judge is expected to give it.
    pub fn due(&self) -> Due {
        if let Author::Planted(planted) = self.author {
            return planted.due();
        }
        let right = match self.label {
            Label::Correct => true,
            Label::Incorrect | Label::Stale => false,
            Label::Abstained => self.asked.expect == Expectation::Unanswerable,
            Label::Score(score) => score >= RIGHT,
        };
        if right { Due::Accept } else { Due::Reject }
    }

    /// How a judgement of it compares with the expected grade.
    pub fn outcome(&self, judgement: &Judgement) -> Outcome {
        let score = match (&judgement.verdict, judgement.score) {
            (Verdict::Unscored(_), _) | (_, None) => return Outcome::Unscored,
            (_, Some(score)) => score,
        };
        let (low, high) = match self.due() {
            Due::Accept => (score < RIGHT, false),
            Due::Between => (score < HALF.0, score > HALF.1),
            Due::Reject => (false, score >= RIGHT),
        };
        match (low, high) {
            (true, _) => Outcome::FalseReject,
            (_, true) => Outcome::FalseAccept,
            _ => Outcome::Agrees,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NoGrade;

    fn case(expect: Expectation, label: Label, author: Author) -> LabelledCase {
        let asked = LabelledQuestion {
            file: Arc::from("f"),
            id: "1".to_owned(),
            question: "Which port?".to_owned(),
            kind: ProbeKind::Fact,
            expect,
            stale: Vec::new(),
        };
        let (asked, id) = (Arc::new(asked), "1".to_owned());
        LabelledCase { asked, id, line: None, answer: "80".to_owned(), label, author }
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
    fn not_knowing_is_right_only_where_nothing_can_be_known() {
        let value = Expectation::AnyOf(vec!["80".to_owned()]);
        for (expect, due) in [(value, Due::Reject), (Expectation::Unanswerable, Due::Accept)] {
            assert_eq!(case(expect, Label::Abstained, Author::Unnamed).due(), due);
        }
    }

    #[test]
    fn a_half_may_be_graded_too_high_and_too_low() {
        let nuggets = Expectation::Rubric(vec!["a".to_owned(), "b".to_owned()]);
        let half = case(nuggets, Label::Score(0.5), Author::Planted(Planted::Partial));
        for (score, outcome) in [
            (0.29, Outcome::FalseReject),
            (0.3, Outcome::Agrees),
            (0.7, Outcome::Agrees),
            (0.71, Outcome::FalseAccept),
        ] {
            assert_eq!(half.outcome(&scored(score)), outcome, "{score}");
        }
    }

    #[test]
    fn what_was_not_graded_is_no_disagreement() {
        let value = Expectation::AnyOf(vec!["80".to_owned()]);
        let right = case(value, Label::Correct, Author::Unnamed);
        let verdict = Verdict::Unscored(NoGrade::Rubric);
        let judgement =
            Judgement { verdict, score: None, rationale: "busy".to_owned(), votes: Vec::new() };
        assert_eq!(right.outcome(&judgement), Outcome::Unscored);
        assert_eq!(right.outcome(&scored(0.49)), Outcome::FalseReject);
        assert_eq!(right.outcome(&scored(0.5)), Outcome::Agrees);
    }

    #[test]
    fn every_planted_kind_is_listed_once() {
        let mut kinds = Planted::ALL.to_vec();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds, Planted::ALL);
    }
}
