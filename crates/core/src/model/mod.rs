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

mod absent;
mod answer;
mod asked;
mod bill;
mod calibration;
mod call;
pub mod catalogue;
mod cell;
mod compaction;
mod compared;
mod comparison;
mod cut;
mod facts;
mod finding;
mod gate;
mod judged;
mod labelled;
mod manifest;
mod measure;
mod no_answer;
mod planned;
mod question;
mod receipt;
mod recommendation;
mod recorded;
mod reply;
mod report;
mod results;
mod saver;
mod session;
mod setting;
mod shard;
mod sizes;
mod suggest;
#[cfg(any(test, feature = "testkit"))]
mod testkit;
mod tuned;
mod unusable;
mod usage;

pub use crate::text::IdentifierClass;
pub use absent::{Absent, SPREAD};
pub use answer::{Judgement, Source, Verdict, Vote};
pub use asked::{
    Agreement, Answer, GradedAnswer, QuestionFacts, QuestionRow, RIGHT, Recovered, Snapshot,
    SnapshotPart,
};
pub use bill::{Bill, Buckets, CacheRules, CallBill, FULL, PromptBill, RECORDED, RequestBill};
pub use calibration::{BillErrors, Calibration, Exogenous, Fit, TokensSource, Validation};
pub use call::{CallOutcome, CallRow, LatencySource, ModelRole, Timing};
pub use cell::{
    Cell, CellKey, CellOutcome, CellRows, LedgerState, LossRow, NATIVE, ReferenceOutcome,
    ReferenceState, RequestRow, RowKind, SMALLEST_NATIVE, TimeProfile,
};
pub use compaction::{CompactionRow, is_of_size};
pub use compared::{Family, TestOutcome, Tested};
pub use comparison::{ComparedMeasure, ComparedQuestions, ComparedRow, Comparison};
pub use cut::{Cut, CutExam, CutOutcome, CutRow, Fact, NO_SUMMARY, counts_refusals};
pub use facts::{
    EXAM_REFERENCES, EXAM_REQUESTS, Exam, Fingerprint, MessageFacts, Reference, RequestFacts,
    SessionFacts, Support,
};
pub use finding::{Finding, Severity};
pub use gate::{
    Check, CheckOutcome, Differs, Gate, Ground, Operator, RuleFindings, UndecidedPolicy,
};
pub use judged::{
    JudgeReport, JudgeRow, PanelAgreement, TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA, Trust,
};
pub use labelled::{Label, LabelledCase, LabelledQuestion, Outcome};
pub use manifest::{MARGIN, Manifest, OFFLINE, PANEL, Prices, Provenance};
pub use measure::{Column, Direction, Measure, Nature, Primary, Unit, Value};
pub use no_answer::{NoAnswer, NoCut, NoGrade, NoReply, REQUESTS_AROUND_CUT};
pub use planned::{Missing, Planned, PlannedSession, PlannedStrategy};
pub use question::{Expectation, Question, QuestionKind};
pub use receipt::{
    AROUND, Amount, Cause, CompactionFacts, Content, Hour, Origin, Rebuilt, Receipt, ReceiptFacts,
    Sender, Spent, TokenKind, UsedAgain,
};
pub use recommendation::{Recommendation, RowName};
pub use recorded::{Piece, RecordedCall, RecordedCompaction, RecordedTrigger};
pub use reply::{ReplyFacts, Unusable};
pub use report::{
    AgainstFull, Answered, AnsweredAtCuts, INSTRUMENT, Interval, Report, SESSION_MEASURES,
    SessionRow, StrategyRow, UNRANKED, is_exam_doubtful,
};
pub use results::{RunResults, SessionResults};
pub use saver::{SaverFacts, SaverRecovery, SaverRow, SaverSavings, ToolCut};
pub use session::{
    Block, Call, CallId, Message, MessageIndex, Preamble, PreambleChange, Role, SIDECHAIN, Session,
    ToolDefinition, sent,
};
pub use setting::Setting;
pub use shard::{MOST_SHARDS, Shard};
pub use sizes::{
    Kept, NoCurve, Quantities, Quantity, RecordedRow, SessionAtSize, SizeCurve, SizeRow,
};
pub use suggest::{alike, suggest};
pub use tuned::{Admission, Grid, Ranged, Tuned, TunedHalf, TunedSessions, TunedSetting};
pub use unusable::{Fallbacks, Repeated, RepeatedTexts, UnusableReplies, unusable_replies};
pub use usage::{CacheMiss, MOST_TOKENS, SessionTotal, SidechainRequest, Usage};
