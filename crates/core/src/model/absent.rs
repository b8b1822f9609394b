//! Reasons why a figure is absent. An absent figure is never shown as zero.

use super::{EXAM_REFERENCES, EXAM_REQUESTS, Support};

/// Smallest difference between the whole conversation and an empty memory at
/// which a score between the two means anything (reference §5).
pub const SPREAD: f64 = 0.2;

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
