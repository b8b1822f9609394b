//! Reasons why a figure is absent. An absent figure is never shown as zero.

use super::{EXAM_REFERENCES, EXAM_REQUESTS, Support};

/// Smallest difference between the whole conversation and an empty memory at
/// which a figure between the two means anything (reference §5, retention).
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
    NoMessageBefore "no message stands before the last request";
    NoEstimate "the strategy makes no estimate of its own";
    NoCompaction "nothing was compacted";
    CompactorNotAsked "the compactor was not asked";
    // Reasons of prices and times.
    NoBill "the run has no bill";
    Price(String) "the price of {0} is unknown";
    Storage(String) "the price of keeping a cache of {0} is unknown";
    SomePrice "a price is unknown";
    CacheRules(String) "the cache rules of {0} are unknown";
    NothingBilled "nothing was billed";
    NoRequestBilled "no request is billed";
    NoBillOfFull "needs the bill of `full`";
    NoBillOfRecorded "needs the bill of the control `recorded`";
    NothingToFetch "no references that could have to be fetched again";
    NoModelCalled "no model was called";
    NoReadingSpeed "the profile gives no speed of reading";
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
    NoReferencesThere "no references at this distance";
    NoneLost "no reference is lost";
    NoRecordedBoundary "no recorded boundary";
    FewReferences(Support) "{0}: at least {EXAM_REFERENCES} at {EXAM_REQUESTS} are needed";
    NoWorkingSession
        "no session asks for at least {EXAM_REFERENCES} references at {EXAM_REQUESTS} requests: \
         it is a measure for working sessions";
    // Reasons of questions.
    NoQuestions "the data set has no questions";
    NoneGraded "no question was graded";
    NoneOfKindGraded "no question of this kind was graded";
    NoGradedValue "no graded question expects a value";
    NoWholeEvidence "no graded question has all of its evidence";
    NoValueExpected "no question expects a value";
    NoEvidenceNamed "no question names its evidence";
    NothingSaid "no question asks for something that was said";
    NoTemptation "no unanswerable question";
    NoAnswerer "no model answers the questions (`--answerer MODEL`)";
    NoneCompactedBeforeRight
        "nothing was compacted before a question that the whole conversation gets right";
    NoneCompactedBeforeGraded "nothing was compacted before a graded question";
    NoChannel "the strategy has no recovery channel";
    NoRecallOfControls "needs the recall of the row, of `empty` and of `full`";
    LittleSpread(f64) "`full` and `empty` are {0:.2} apart, less than {SPREAD}";
    FewOfEachKind(usize) "no kind has {0} questions with a continuity";
    LeaksNeedModel "finding leaked questions takes a model as answerer";
    LeaksNeedAnswers "finding leaked questions takes three answers each, and one is asked for";
    // Reasons of cuts.
    NotCut
        "no session of it was cut: none was asked for, they are too short, or it is the recorded \
         agent, which only `--cuts recorded` evaluates";
    NoFacts "nothing that the agent used after a cut came from before it";
    NoFactsNeeded "no fact was needed after a cut";
    NothingExposed "every fact was still sent as it was recorded";
    NoSummary "no model writes text for this strategy";
    WithoutSummaryFailed "it failed at some cut without its summaries";
    NoQuestionAtCut "no question that can be answered uncompressed stands at a cut";
}

written_as_words!(Absent);
