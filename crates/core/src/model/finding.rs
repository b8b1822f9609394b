//! Findings: facts that a run shows or leaves open, each with its numbers.
//! `wording` turns a finding into a sentence; the terminal, the page,
//! `report.md` and `summary.json` show the same findings.

use super::{BillErrors, Missing, Primary, UnusableReplies};

/// A row over all sessions, named by strategy and window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowName {
    /// Id of the strategy.
    pub strategy: String,
    /// Label of the window, as typed.
    pub window: String,
}

/// The conclusions that a small number of clusters allows (reference §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSizeLimit {
    /// Figures only describe the data; nothing is tested.
    Description,
    /// No strategy can be called non-inferior.
    NoNonInferior,
    /// Any verdict "non-inferior" is provisional.
    Provisional,
    /// At least one row is provisionally non-inferior.
    RareLosses,
    /// At least one row is undecided.
    SmallDifferences,
}

/// Why the bill of a strategy that sends less is higher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DearBecause {
    /// The strategy breaks the prompt cache at many of its requests.
    CacheBreaks {
        /// Number of requests with a cache break, a mean over replicates.
        breaks: f64,
        /// Number of all requests, a mean over replicates.
        requests: f64,
    },
    /// This share of the strategy's bill is the cost of the calls of its
    /// compactions.
    Compactions(f64),
}

/// A fact that a run shows or leaves open. Shares are `0.0..=1.0`, money is in US
/// dollars, times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A property of this run that may mislead, and that can often be
    /// corrected.
    Problem(Problem),
    /// A result that the figures show.
    Observation(Observation),
    /// A limit of the method or of the data, whatever the figures are.
    Limit(Limit),
}

/// A property of a run that may mislead, and that can often be corrected.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Problem {
    /// The run was interrupted before all results were there.
    Incomplete(Missing),
    /// A message from reading the inputs or from calling models.
    Notice(String),
    /// Replies of the compactor were unusable. A row with many of them has no rank.
    UnusableReplies { rows: Vec<(RowName, UnusableReplies)>, ranked: bool },
    /// Cells failed, so that some rows cover fewer sessions than others.
    FailedCells { failed: usize, cells: usize, strategies: Vec<String> },
    /// No strategy compacted anything at this window (how-it-works §40).
    NothingCompacts { window: String, largest: u64 },
    /// Rows with the number of successive compactions that freed almost nothing.
    /// `by_size`: their triggers depend on the size of the context.
    IdleCompactions { rows: Vec<(RowName, u64)>, by_size: bool },
    /// Judges contradict each other (reference §6).
    JudgesDisagree { judges: Vec<String>, kappa: f64, answers: u64 },
    /// Answers or grades are missing for one reason.
    Ungraded(Ungraded),
    /// Answers or grades are missing for reasons that are not listed.
    UngradedOtherwise { missing: usize, answers: usize, reasons: usize },
    /// Facts that a text carries by the rule of words alone, since the judge gave no usable reply.
    Unchecked { facts: usize, cuts: usize },
    /// Strategies are graded on different questions.
    UnevenQuestions,
    /// All answers with a recovery channel are missing.
    Unrecovered { missing: usize, answers: usize, reason: String },
    /// With all the evidence and little else in its context, the answerer does
    /// clearly better or worse than under `full`: recall of each row, and
    /// recall of `full` (reference §6).
    SizeMatters { rows: Vec<(RowName, f64, f64)> },
    /// The whole conversation and an empty context have nearly the same score.
    NarrowScale { window: String, floor: f64, ceiling: f64 },
    /// A bare list of identifiers has nearly the score of the best row.
    NamesSuffice { best: RowName, kept: f64, list: f64 },
    /// Share of the exam that the recorded agent did without after its own
    /// compactions (reference §4).
    ExamInDoubt { share: f64 },
    /// Sessions that reference recall leaves out, because their exams are
    /// too small (reference §4).
    ThinExams { thin: usize, sessions: usize, references: u64, requests: u64 },
    /// Sessions without a place for a cut (how-it-works §44).
    NotCut { sessions: usize, of: usize, example: String, why: String },
    /// Bills that depend on where the agent sets its first cache breakpoint.
    BreakpointUnknown { rows: Vec<OtherBill>, more: usize, least: f64 },
    /// Sessions that name no model.
    DefaultModel { sessions: usize, of: usize, billed_as: Vec<String> },
    /// Models without a price, and in how many sessions one is the model of the session.
    Unpriced { models: Vec<String>, sessions: usize, of: usize },
    /// Rows whose bill lacks the storage of an explicit cache, and the models for
    /// which it has no price.
    StorageUnpriced { rows: Vec<RowName>, models: Vec<String> },
    /// Summaries of the recorded agent whose calls are not on record, and are estimated.
    UnbilledSummaries { unknown: usize, of: usize },
    /// Sessions whose simulated bill differs much from the recorded one.
    BillOff { off: usize, checked: usize, worst: String, errors: BillErrors },
}

/// Share of ungraded answers from which a figure is questioned (how-it-works §41).
pub const QUESTIONED: f64 = 0.05;

impl Problem {
    /// Whether figures may be off by more than their intervals say.
    pub fn changes_figures(&self) -> bool {
        use Problem::*;
        match self {
            Incomplete(_) | FailedCells { .. } | JudgesDisagree { .. } => true,
            Unchecked { .. } => true,
            Unrecovered { .. } | NarrowScale { .. } | ExamInDoubt { .. } => true,
            Unpriced { .. } | StorageUnpriced { .. } => true,
            UnbilledSummaries { .. } | BillOff { .. } => true,
            UnusableReplies { ranked, .. } => !ranked,
            Ungraded(of) => of.missing as f64 > QUESTIONED * of.answers as f64,
            UngradedOtherwise { missing, answers, .. } => {
                *missing as f64 > QUESTIONED * *answers as f64
            }
            Notice(_) | IdleCompactions { .. } | UnevenQuestions | SizeMatters { .. } => false,
            ThinExams { .. } | NotCut { .. } | BreakpointUnknown { .. } => false,
            DefaultModel { .. } | NamesSuffice { .. } | NothingCompacts { .. } => false,
        }
    }
}

/// A result that the figures show.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Observation {
    /// A strategy sends fewer tokens than the whole conversation and costs more.
    LessSentMoreBilled {
        row: RowName,
        billed_as: Option<String>,
        fewer: f64,
        dearer: f64,
        hypothetical: bool,
        why: Option<DearBecause>,
    },
    /// Shares of requests that a provider would have refused.
    Refused { window: String, rows: Vec<(String, f64)> },
    /// Strategies that are no better than the newest messages of the same size,
    /// the largest loss among them, and the best strategy.
    NoBetterThanRecency {
        window: String,
        rows: Vec<String>,
        worst: f64,
        best: Option<(String, f64)>,
    },
    /// Share of the row's losses that no tool result ever contained.
    CannotBeFetched { row: RowName, share: f64 },
    /// Share of the wrong answers whose evidence was removed, or is still in
    /// the context.
    WrongAnswers { row: RowName, share: f64, gone: bool },
    /// The kind of question at which the best row is weakest, in points of 100.
    WeakestKind { row: RowName, kind: String, kept: f64, over_all: f64 },
    /// Strategies whose summaries keep no more than empty texts would.
    AddsNothing { rows: Vec<(String, f64)> },
    /// The number of sessions in which the first two rows keep their order.
    Order { window: String, first: String, second: String, wins: usize, losses: usize, of: usize },
    /// The relative error of a strategy's own token counts.
    EstimateOff { row: RowName, error: f64 },
    /// Compactions that made the context longer, as means over replicates.
    ContextGrew { row: RowName, inflated: f64, compactions: f64 },
    /// The gain of the best row of the smallest window at a larger window.
    MoreRoom {
        row: RowName,
        to: String,
        kept: (f64, f64),
        leader: Option<(String, f64)>,
        by: Primary,
    },
}

/// A limit of the method or of the data, whatever the figures are.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Limit {
    /// The recorded agent does not react to what was forgotten.
    OpenLoop,
    /// How tokens were counted in the sessions (reference §0).
    Counts(Counts),
    /// Rows whose summaries the offline summary wrote.
    OfflineSummaries { strategies: Vec<String>, compactor: String },
    /// No model answers, so that answers are looked for in the contexts.
    NoAnswerer,
    /// What this model answers is graded without a model.
    OfflineJudge { answerer: String },
    /// Summaries in a model's own words are compared word by word.
    Paraphrased { compactor: String, strategies: Vec<String> },
    /// A model grades, and its error rate was not measured.
    Uncalibrated { judge: String, judges: Vec<String> },
    /// The run has few sessions or projects.
    FewClusters { clusters: u64, noun: &'static str, allows: SampleSizeLimit },
    /// All sessions come from one project.
    OneProject { sessions: usize },
    /// Windows smaller than those of recorded agents (how-it-works §10).
    SmallWindows { windows: Vec<String>, scaled: bool },
    /// The exam asks for identifiers alone.
    IdentifiersOnly,
    /// Rows whose summaries a model wrote: what a sentence says of an identifier
    /// is not compared with what was so.
    SentencesUnread { compactor: String, strategies: Vec<String> },
    /// The assumptions of every bill.
    BillsAssume { prices: String, date: Option<String>, hash: String },
    /// Sessions whose times are assumed.
    ModelledClock { sessions: usize, of: usize, user_ms: f64, tool_ms: f64 },
    /// Waits that are computed from these rates.
    ModelledWaits { first_token_ms: f64, prefill_per_s: f64, decode_per_s: f64 },
    /// Records that the import left out, by reason, the most frequent reason
    /// first.
    LeftOut { records: Vec<(String, u64)> },
}

/// Answers or grades that are missing for one reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Ungraded {
    /// `true`: the grade is missing; `false`: the answer is missing.
    pub answered: bool,
    /// Whether all answers to the questions concerned are affected.
    pub throughout: bool,
    /// Number of missing answers or grades.
    pub missing: usize,
    /// Number of all answers.
    pub answers: usize,
    /// Number of questions concerned.
    pub questions: usize,
    /// Number of all questions.
    pub of: usize,
    /// The reason, as a clause.
    pub why: String,
}

/// A bill under another assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherBill {
    /// The row that is billed.
    pub row: RowName,
    /// The agent model, if the run has several.
    pub billed_as: Option<String>,
    /// The reported bill in USD.
    pub own: f64,
    /// The bill in USD under the other assumption.
    pub other: f64,
}

/// Where token counts come from, as numbers of sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Sessions whose counts are scaled to the provider's own counts.
    pub scaled: usize,
    /// All sessions of the run.
    pub sessions: usize,
    /// Sessions with usage that are counted by the vocabulary on request.
    pub as_asked: usize,
    /// Sessions without usage, which are counted by the vocabulary.
    pub without_usage: usize,
    /// Largest median error on requests after those that a count was fitted to.
    pub ahead: f64,
    /// Largest median error after the first recorded compaction.
    pub behind: f64,
}

impl Finding {
    /// Name of the finding in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Finding::Problem(problem) => problem.into(),
            Finding::Observation(observation) => observation.into(),
            Finding::Limit(limit) => limit.into(),
        }
    }

    /// Name of the group of the finding in files: `problem`, `observation` or
    /// `limit`.
    pub fn severity(&self) -> &'static str {
        match self {
            Finding::Problem(_) => "problem",
            Finding::Observation(_) => "observation",
            Finding::Limit(_) => "limit",
        }
    }
}

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        Finding::Problem(problem)
    }
}

impl From<Observation> for Finding {
    fn from(observation: Observation) -> Self {
        Finding::Observation(observation)
    }
}

impl From<Limit> for Finding {
    fn from(limit: Limit) -> Self {
        Finding::Limit(limit)
    }
}
