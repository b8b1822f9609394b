//! Questions as they were asked of a context, with their answers and the judge's verdicts.

use serde::{Deserialize, Serialize};

use super::{LedgerState, MessageIndex, NoGrade, Question, Role};

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
pub struct Vote {
    /// The judge: `offline`, or `provider/model`.
    pub judge: String,
    /// This judge's own verdict.
    pub verdict: Verdict,
    /// Its score; absent where it did not grade.
    pub score: Option<f64>,
}

/// How a role works: the two are never mixed in one mean (reference §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Source {
    /// Compares words and dates, without calling a model.
    Lexical,
    /// Calls a language model.
    Model,
}

/// A question with everything about it that follows from its session alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionFacts {
    /// The question, and what makes an answer right.
    pub question: Question,
    /// Ordinal of the request whose context it is put to; the number of
    /// requests for the virtual one at the end (how-it-works §28).
    pub request: u32,
    /// Messages that answer it, ascending; none later than `asked_at`.
    pub evidence: Vec<MessageIndex>,
    /// Tokens of the messages between the newest evidence and that request;
    /// absent without evidence.
    pub age_tokens: Option<u64>,
}

/// One stretch of a snapshot, in the order in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotPart {
    /// Consecutive messages of the recording, unchanged.
    Messages {
        /// Position of the first message.
        from: MessageIndex,
        /// Position after the last message.
        to: MessageIndex,
    },
    /// One message of the recording whose text the strategy changed.
    Edited {
        /// Position of the message in the session.
        message: MessageIndex,
        /// Hash of its text in `texts.jsonl`.
        text: String,
    },
    /// A text that is no recorded message: the preamble, a note, or something
    /// the strategy wrote.
    Written {
        /// Its role; `System` for preamble and notes.
        role: Role,
        /// Hash of its text in `texts.jsonl`.
        text: String,
    },
}

/// The context at a question point: what the answerer is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Ordinal of the request; the number of requests for the virtual one at
    /// the end.
    pub request: u32,
    /// Tokens of the context, preamble included.
    pub tokens: u64,
    /// Whether context and output reserve exceed the window: the provider
    /// would have refused the request.
    pub overflow: bool,
    /// Compactions made so far.
    pub compactions: u32,
    /// What is sent, in order.
    pub parts: Vec<SnapshotPart>,
}

/// The result of asking a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The text that the answerer gave.
    Said(String),
    /// No answer, with the reason. It is never graded.
    Nothing(String),
}

/// The result of one question under one strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionRow {
    /// Position of the question in [`SessionFacts::questions`](super::SessionFacts).
    pub question: u32,
    /// Position of its context in [`CellRows::snapshots`](super::CellRows).
    pub snapshot: u32,
    /// Worst state of its evidence (how-it-works §29); absent without evidence.
    pub evidence: Option<LedgerState>,
    /// Compactions since its evidence was last said; absent without evidence.
    pub age_compactions: Option<u32>,
    /// Whether one of the three best passages of the context states an accepted value
    /// with no former value behind it; absent where no value is expected
    /// (how-it-works §32).
    pub findable: Option<bool>,
    /// What a model answered; absent where no model answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<GradedAnswer>,
    /// The same, where the answerer could use the strategy's recovery channel;
    /// absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Recovered>,
}

impl QuestionRow {
    /// Score `0.0..=1.0`: the judge's where a model answers, else whether the answer
    /// is findable; absent where neither is known.
    pub fn score(&self) -> Option<f64> {
        match &self.answered {
            Some(answered) => answered.judgement.score,
            None => self.findable.map(|findable| f64::from(u8::from(findable))),
        }
    }

    /// The answers of a model, with and without a recovery channel.
    pub fn graded(&self) -> impl Iterator<Item = &GradedAnswer> {
        self.recovered.iter().map(|recovered| &recovered.answered).chain(&self.answered)
    }

    /// The same, to be changed.
    pub fn graded_mut(&mut self) -> impl Iterator<Item = &mut GradedAnswer> {
        let recovered = self.recovered.iter_mut().map(|recovered| &mut recovered.answered);
        recovered.chain(&mut self.answered)
    }

    /// The judge's verdict on a model's answer.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.answered.as_ref().map(|answered| &answered.judgement.verdict)
    }
}

/// A model's answer, and its grade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradedAnswer {
    /// The answer, or the reason why there is none.
    pub answer: Answer,
    /// The judge's verdict on the answer.
    pub judgement: Judgement,
}

/// The result of a question whose answerer could search what was dropped from the context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// What was answered after searching.
    pub answered: GradedAnswer,
    /// Number of searches that the answerer made.
    pub calls: u32,
    /// Tokens of the search results, as the run counts them; a result that was
    /// returned twice counts twice.
    pub tokens: u64,
}

/// The effect of compression on one question: right or wrong under `full`, and
/// under the strategy, both against the question's own expectation (how-it-works §31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Agreement {
    /// Right before and after.
    Kept,
    /// Right before, wrong after.
    Lost,
    /// Wrong before, right after.
    Gained,
    /// Wrong before and after.
    Neither,
}

impl Agreement {
    /// Combines whether the answer was right before and after compression.
    pub fn of(before: bool, after: bool) -> Self {
        match (before, after) {
            (true, true) => Agreement::Kept,
            (true, false) => Agreement::Lost,
            (false, true) => Agreement::Gained,
            (false, false) => Agreement::Neither,
        }
    }
}

/// Lowest score that counts as right (how-it-works §31).
pub const RIGHT: f64 = 0.5;
