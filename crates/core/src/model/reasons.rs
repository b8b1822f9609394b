//! Reasons why a figure or a grade is absent. An absent figure is never shown as zero. In files
//! each reason is its text.

use serde::Deserialize;

use super::{EXAM_REFERENCES, EXAM_REQUESTS};

/// Why an answer was not graded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[serde(from = "String")]
pub enum NoGrade {
    /// There is no answer to grade, and why. A refusal by the provider is never an answer.
    #[error("not answered: {0}")]
    NotAnswered(String),
    /// The judge gave no usable reply, and why.
    #[error("not graded: {0}")]
    Judge(String),
    /// No judge of a panel graded the answer. Contains what each judge
    /// returned.
    #[error("no judge graded it: {0}")]
    NoJudge(String),
    /// Only a model could judge, or the judges of a panel disagree.
    #[error("{0}")]
    Other(String),
}

impl NoGrade {
    /// Whether another reply of the models could bring a grade.
    pub fn awaits_reply(&self) -> bool {
        !matches!(self, Self::Other(_))
    }
}

impl From<String> for NoGrade {
    fn from(words: String) -> Self {
        let reasons: [fn(String) -> Self; 3] = [Self::NotAnswered, Self::Judge, Self::NoJudge];
        let begins = |reason: &fn(String) -> Self| {
            let start = reason(String::new()).to_string();
            words.strip_prefix(&start).map(|rest| reason(rest.to_owned()))
        };
        reasons.iter().find_map(begins).unwrap_or(Self::Other(words))
    }
}

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
    NoRecordedBoundary "no recorded boundary";
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

written_as_words!(Absent NoGrade);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_parsed_from_its_text() {
        let text = || "a: b, 12".to_owned();
        for reason in [
            NoGrade::NotAnswered(text()),
            NoGrade::Judge(text()),
            NoGrade::NoJudge(text()),
            NoGrade::Other(text()),
        ] {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(json, format!("\"{reason}\""));
            assert_eq!(serde_json::from_str::<NoGrade>(&json).unwrap(), reason);
        }
    }
}
