//! Reasons why a figure, a reply, an answer or a grade is absent, and why a session has no cut. An
//! absent figure is never shown as zero. In files each reason is its text; an unknown text is kept as
//! it is.

use serde::Deserialize;

use super::{EXAM_REFERENCES, EXAM_REQUESTS, QuestionKind, Support};
use crate::text::{counted, grouped};

/// Why a model's reply cannot be used. The text quotes neither question nor
/// reply: it also stays in runs that are shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// The reply was cut off at this number of tokens, or at the end of the
    /// model's window.
    #[error("the reply was cut off at {0} tokens")]
    CutOff(u64),
    /// The model declined to reply.
    #[error("the model refused")]
    Refused,
    /// The provider withheld the reply.
    #[error("the provider withheld the reply")]
    Filtered,
    /// The reply ended for another reason, in the provider's words.
    #[error("the reply ended early: {0}")]
    Ended(String),
    /// Neither the first nor the second reply has the requested format.
    /// Contains the error.
    #[error("the reply had not the asked shape, nor had the second one: {0}")]
    Misshapen(String),
    /// There is no reply. Contains the message of the failed call.
    #[error("{0}")]
    Other(String),
}

/// Why there is no answer. A refusal by the provider is never an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[serde(from = "String")]
pub enum NoAnswer {
    /// The model returned an empty answer.
    #[error("the reply is empty")]
    Empty,
    /// What the answerer looked for could not be compared: the embedder, and why.
    #[error("the search failed at {0}: {1}")]
    Search(String, String),
    /// There is no reply that can be used.
    #[error(transparent)]
    Reply(#[from] NoReply),
}

/// Why an answer was not graded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[serde(from = "String")]
pub enum NoGrade {
    /// There is no answer to grade.
    #[error("not answered: {0}")]
    NotAnswered(NoAnswer),
    /// The judge gave no usable reply.
    #[error("not graded: {0}")]
    Judge(NoReply),
    /// Only a model can judge answers of this kind.
    #[error("a model has to judge the kind {}", .0.as_str())]
    Kind(QuestionKind),
    /// Only a model can judge by a rubric.
    #[error("a model has to judge a rubric")]
    Rubric,
    /// No judge of a panel graded the answer. Contains what each judge
    /// returned.
    #[error("no judge graded it: {0}")]
    NoJudge(String),
    /// The judges of a panel disagree. Contains what each judge returned.
    #[error("the judges disagree: {0}")]
    Disagreement(String),
    /// A text in a run folder that is none of these reasons.
    #[error("{0}")]
    Other(String),
}

impl NoGrade {
    /// Whether another reply of the models could bring a grade.
    pub fn awaits_reply(&self) -> bool {
        matches!(self, Self::NotAnswered(_) | Self::Judge(_) | Self::NoJudge(_))
    }
}

/// Number of requests that a session needs before a cut, and from the cut on.
pub const REQUESTS_AROUND_CUT: u32 = 5;

/// Why a session has no cut, in words without its name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[serde(from = "String")]
pub enum NoCut {
    /// The user chose `--cuts none`.
    #[error("no cut was asked for")]
    NotAsked,
    /// Cuts are at recorded compactions, and the session has none.
    #[error("the recorded agent never compacted before a request")]
    NeverCompacted,
    /// The session is too short.
    #[error(
        "it has {} and {} of messages; a cut needs {REQUESTS_AROUND_CUT} requests and {} tokens \
         before it and {REQUESTS_AROUND_CUT} requests from it on, between two recorded compactions",
        counted(*requests, "request"), counted(*tokens, "token"), grouped(*least)
    )]
    Short {
        /// Number of requests of the session.
        requests: u64,
        /// Tokens of the messages before its last request.
        tokens: u64,
        /// Number of tokens that a cut needs before it.
        least: u64,
    },
    /// A text in a run folder that is none of these reasons.
    #[error("{0}")]
    Other(String),
}

/// Parses a reason whose text begins with fixed words and ends with any text.
fn ending<T: ToString, W: From<String>>(words: &str, reason: fn(W) -> T) -> Option<T> {
    let start = reason(W::from(String::new())).to_string();
    words.strip_prefix(&start).map(|rest| reason(W::from(rest.to_owned())))
}

/// The reason with exactly this text, if it is among these.
fn same<T: ToString>(words: &str, reasons: impl IntoIterator<Item = T>) -> Option<T> {
    reasons.into_iter().find(|reason| reason.to_string() == words)
}

/// The whole numbers in a text.
fn numbers(words: &str) -> impl Iterator<Item = u64> {
    words.split(' ').filter_map(|word| word.replace(',', "").parse().ok())
}

impl From<String> for NoReply {
    fn from(words: String) -> Self {
        let bound = numbers(&words).map(NoReply::CutOff);
        same(&words, bound.chain([NoReply::Refused, NoReply::Filtered]))
            .or_else(|| ending(&words, NoReply::Ended))
            .or_else(|| ending(&words, NoReply::Misshapen))
            .unwrap_or(NoReply::Other(words))
    }
}

impl From<String> for NoAnswer {
    fn from(words: String) -> Self {
        let search = words.split_once(": ").and_then(|(at, why)| {
            Some(NoAnswer::Search(at.rsplit(' ').next()?.to_owned(), why.to_owned()))
        });
        same(&words, search.into_iter().chain([NoAnswer::Empty]))
            .unwrap_or_else(|| NoReply::from(words).into())
    }
}

impl From<String> for NoGrade {
    fn from(words: String) -> Self {
        let kinds = QuestionKind::ALL.into_iter().map(NoGrade::Kind);
        same(&words, kinds.chain([NoGrade::Rubric]))
            .or_else(|| ending(&words, NoGrade::NotAnswered))
            .or_else(|| ending(&words, NoGrade::Judge))
            .or_else(|| ending(&words, NoGrade::NoJudge))
            .or_else(|| ending(&words, NoGrade::Disagreement))
            .unwrap_or(NoGrade::Other(words))
    }
}

impl From<String> for NoCut {
    fn from(words: String) -> Self {
        let figures: Vec<u64> = numbers(&words).collect();
        let short = match figures[..] {
            [requests, tokens, _, least, _] => Some(NoCut::Short { requests, tokens, least }),
            _ => None,
        };
        same(&words, short.into_iter().chain([NoCut::NotAsked, NoCut::NeverCompacted]))
            .unwrap_or(NoCut::Other(words))
    }
}

written_as_words!(NoAnswer NoGrade NoCut);

/// Declares the reasons, each with its text.
macro_rules! reasons {
    ($($name:ident $(($of:ty))? $words:literal;)*) => {
        /// Why a figure is absent.
        #[derive(Clone, Debug, PartialEq, thiserror::Error)]
        pub enum Absent {
            $(
                #[doc = $words]
                #[error($words)]
                $name $(($of))?,
            )*
        }
    };
}

reasons! {
    // Reasons that concern a whole row.
    CellsFailed "every cell failed";
    NothingMeasured "nothing to measure";
    AskedOnly "this control is asked and sends no requests";
    NotFinite "not a finite number";
    // Reasons of sizes.
    NoRequest "no request";
    NoCompaction "nothing was compacted";
    // Reasons of prices and times.
    NoBill "the run has no bill";
    Price(String) "the price of {0} is unknown";
    Storage(String) "the price of keeping a cache of {0} is unknown";
    SomePrice "a price is unknown";
    CacheRules(String) "the cache rules of {0} are unknown";
    NothingBilled "nothing was billed";
    NoBillOfFull "needs the bill of `full`";
    NoBillOfRecorded "needs the bill of the control `recorded`";
    NothingToFetch "no references that could have to be fetched again";
    NoModelCalled "no model was called";
    Latency "the latency of the compactor's calls is unknown";
    MixedTimes(String) "{0} times do not mix in one figure";
    // Reasons of the receipt.
    NoModelNamed "the recording names no model";
    CacheNotTold "the recording does not say how much of the prompt a cache held";
    NoUsage "no request reports its tokens";
    NoHour(String) "no price is listed for keeping a cache of {0} an hour";
    HourAlready "the cache was written for an hour already";
    NothingWritten "no request wrote to a cache";
    // Reasons of references.
    NoReferences "no references";
    NoneLost "no reference is lost";
    NoRecordedBoundary "no recorded boundary";
    FewReferences(Support) "{0}: at least {EXAM_REFERENCES} at {EXAM_REQUESTS} are needed";
    NoWorkingSession
        "no session asks for at least {EXAM_REFERENCES} references at {EXAM_REQUESTS} requests: \
         it is a measure for working sessions";
    // Reasons of questions.
    NoQuestions "the data set has no questions";
    NoneGraded "no question was graded";
    NoValueExpected "no question expects a value";
    NoEvidenceNamed "no question names its evidence";
    NoTemptation "no unanswerable question";
    NoAnswerer "no model answers the questions (`--answerer MODEL`)";
    NoneCompactedBeforeRight
        "nothing was compacted before a question that the whole conversation gets right";
    NoChannel "the strategy has no recovery channel";
    // Reasons of cuts.
    NotCut
        "no session of it was cut: none was asked for, they are too short, or it is the recorded \
         agent, which only `--cuts recorded` evaluates";
    NoFacts "nothing that the agent used after a cut came from before it";
    NothingExposed "every fact was still sent as it was recorded";
    NoSummary "no model writes text for this strategy";
    WithoutSummaryFailed "it failed at some cut without its summaries";
    NoQuestionAtCut "no question that can be answered uncompressed stands at a cut";
}

written_as_words!(Absent);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_parsed_from_its_text() {
        let text = || "a: b, 12".to_owned();
        let mut replies = vec![NoReply::CutOff(12_000), NoReply::Refused, NoReply::Filtered];
        replies.extend([NoReply::Ended(text()), NoReply::Misshapen(text())]);
        replies.push(NoReply::Other(text()));
        let search = NoAnswer::Search("a/b:c".to_owned(), text());
        let mut answers = vec![NoAnswer::Empty, search];
        answers.extend(replies.iter().cloned().map(NoAnswer::Reply));
        let mut grades = vec![NoGrade::Kind(QuestionKind::Tone), NoGrade::Rubric];
        grades.extend([NoGrade::NoJudge(text()), NoGrade::Disagreement(text())]);
        grades.push(NoGrade::Other(text()));
        grades.extend(replies.iter().cloned().map(NoGrade::Judge));
        grades.extend(answers.iter().cloned().map(NoGrade::NotAnswered));
        let short = NoCut::Short { requests: 1, tokens: 12_345, least: 8_000 };
        let cuts = [NoCut::NotAsked, NoCut::NeverCompacted, short, NoCut::Other(text())];
        replies.iter().for_each(|it| assert_eq!(NoReply::from(it.to_string()), *it));
        answers.iter().for_each(|it| assert_eq!(NoAnswer::from(it.to_string()), *it));
        grades.iter().for_each(|it| assert_eq!(NoGrade::from(it.to_string()), *it));
        cuts.iter().for_each(|it| assert_eq!(NoCut::from(it.to_string()), *it));
        let json = serde_json::to_string(&grades[0]).unwrap();
        assert_eq!(json, "\"a model has to judge the kind tone\"");
        assert_eq!(serde_json::from_str::<NoGrade>(&json).unwrap(), grades[0]);
    }
}
