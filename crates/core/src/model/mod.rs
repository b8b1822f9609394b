//! The shared data types: plain data that every other module uses, without I/O.
//!
//! Invariant: nothing here reads a file, a clock or the environment, and
//! nothing here knows a session format, a strategy or a report.

/// Has reasons written as their words.
macro_rules! written_as_words {
    ($($reason:ty)*) => {
        $(impl serde::Serialize for $reason {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })*
    };
}

mod answer;
mod bill;
mod calibration;
pub mod catalogue;
mod cell;
mod compaction;
mod comparison;
mod facts;
mod finding;
mod gate;
mod judge;
mod manifest;
mod measure;
mod planned;
mod question;
mod reasons;
mod receipt;
mod recommendation;
mod report;
mod results;
mod saver;
mod session;
mod sizes;
mod suggest;
#[cfg(any(test, feature = "testkit"))]
mod testkit;
mod tuned;
mod usage;

pub use crate::text::IdentifierClass;
pub use answer::{
    Agreement, Answer, GradedAnswer, Judgement, QuestionFacts, QuestionRow, RIGHT, Recovered,
    Snapshot, SnapshotPart, Source, Verdict, Vote,
};
pub use bill::{Bill, Buckets, CacheRules, CallBill, FULL, PromptBill, RECORDED, RequestBill};
pub use calibration::{BillErrors, Calibration, Exogenous, Fit, TokensSource, Validation};
pub use cell::{
    Cell, CellKey, CellOutcome, CellRows, LedgerState, LossRow, NATIVE, ReferenceOutcome,
    ReferenceState, RequestRow, RowKind, SMALLEST_NATIVE, TimeProfile,
};
pub use compaction::{
    CompactionRow, Fallbacks, Repeated, RepeatedTexts, ReplyFacts, Unusable, UnusableReplies,
    unusable_replies,
};
pub use comparison::{
    ComparedMeasure, ComparedQuestions, ComparedRow, Comparison, Family, TestOutcome, Tested,
};
pub use facts::{
    Cut, CutExam, CutOutcome, CutRow, EXAM_REFERENCES, EXAM_REQUESTS, Exam, Fact, Fingerprint,
    MessageFacts, NO_SUMMARY, Reference, RequestFacts, SessionFacts, Support, counts_refusals,
};
pub use finding::{Finding, Severity};
pub use gate::{Check, CheckOutcome, Gate, Operator, RuleFindings, UndecidedPolicy};
pub use judge::{
    JudgeReport, JudgeRow, Label, LabelledCase, LabelledQuestion, Outcome, PanelAgreement,
    TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA, Trust,
};
pub use manifest::{MARGIN, Manifest, OFFLINE, PANEL, Prices, Provenance};
pub use measure::{Column, Direction, Measure, Nature, Primary, Unit, Value};
pub use planned::{MOST_SHARDS, Missing, Planned, PlannedSession, PlannedStrategy, Shard};
pub use question::{Expectation, Question, QuestionKind};
pub use reasons::{Absent, NoAnswer, NoCut, NoGrade, NoReply, REQUESTS_AROUND_CUT};
pub use receipt::{
    AROUND, Amount, Cause, CompactionFacts, Content, Hour, Origin, Rebuilt, Receipt, ReceiptFacts,
    Sender, Spent, TokenKind, UsedAgain,
};
pub use recommendation::{Recommendation, RowName};
pub use report::{
    AgainstFull, Answered, AnsweredAtCuts, INSTRUMENT, Interval, Report, SESSION_MEASURES,
    SessionRow, StrategyRow, UNRANKED, is_exam_doubtful,
};
pub use results::{RunResults, SessionResults};
pub use saver::{SaverFacts, SaverRecovery, SaverRow, SaverSavings, ToolCut};
pub use session::{
    Block, Call, CallId, Message, MessageIndex, Piece, Preamble, PreambleChange, RecordedCall,
    RecordedCompaction, RecordedTrigger, Role, SIDECHAIN, Session, ToolDefinition, sent,
};
pub use sizes::{
    Kept, NoCurve, Quantities, Quantity, RecordedRow, SessionAtSize, Setting, SizeCurve, SizeRow,
};
pub use suggest::{alike, suggest};
pub use tuned::{Admission, Grid, Ranged, Tuned, TunedHalf, TunedSessions, TunedSetting};
pub use usage::{
    CacheMiss, CallOutcome, CallRow, LatencySource, MOST_TOKENS, ModelRole, SessionTotal,
    SidechainRequest, Timing, Usage,
};
