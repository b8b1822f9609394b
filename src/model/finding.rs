//! What a run shows and what it leaves open, each with the numbers that it rests
//! on. A finding says which fact was found; `wording` says it in words, and the
//! terminal, the page, `report.md` and `summary.json` show the same ones.

use super::{BillErrors, Missing, Primary, VoidReplies};

/// A row over all transcripts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The preset's id.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
}

/// What so few clusters allow (measures §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allows {
    /// Figures describe what was seen, and nothing is tested.
    Description,
    /// No preset can be called non-inferior.
    NoNonInferior,
    /// Non-inferior is provisional.
    Provisional,
    /// Some row is provisionally non-inferior.
    RareLosses,
    /// Some row is undecided.
    SmallDifferences,
}

/// Why a preset that sends less is billed more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DearBecause {
    /// It breaks the prompt cache at so many of its requests.
    CacheBreaks {
        /// Requests at which it does, a mean over replicates.
        breaks: f64,
        /// All requests.
        requests: f64,
    },
    /// The calls of its compactions are this share of its bill.
    Compactions(f64),
}

/// A fact that a run shows or leaves open. Shares are `0.0..=1.0`, money is in US
/// dollars, times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Something about this run that may mislead, and that can often be mended.
    Problem(Problem),
    /// Something that the figures show.
    Observation(Observation),
    /// A limit of the method or of the data, whatever the figures are.
    Limit(Limit),
}

/// Something about a run that may mislead, and that can often be mended.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Problem {
    /// The run was interrupted.
    Incomplete(Missing),
    /// What reading the inputs, or calling models, had to tell.
    Notice(String),
    /// The compactor's replies were void; without a rank where there were many.
    VoidReplies { rows: Vec<(Place, VoidReplies)>, ranked: bool },
    /// Cells failed, so rows rest on other transcripts than the rest.
    FailedCells { failed: usize, cells: usize, strategies: Vec<String> },
    /// No preset had anything to do at this window (semantics §40).
    NothingCompacts { window: String, largest: u64 },
    /// Compactions in a row that freed next to nothing, of triggers by size or
    /// of others.
    IdleCompactions { rows: Vec<(Place, u64)>, by_size: bool },
    /// Judges contradict each other (measures §6).
    JudgesDisagree { judges: Vec<String>, kappa: f64, answers: u64 },
    /// Answers are missing or without a grade for one reason.
    Ungraded(Ungraded),
    /// The same for reasons that are not listed.
    UngradedOtherwise { missing: usize, answers: usize, reasons: usize },
    /// Strategies are not graded on the same questions.
    UnevenQuestions,
    /// No answer came with the help of a recovery channel.
    Unrecovered { missing: usize, answers: usize, reason: String },
    /// With all the evidence at hand the reader does better or worse than under
    /// `full`: recall of each row, and that of `full` (measures §6).
    SizeMatters { rows: Vec<(Place, f64, f64)> },
    /// The whole conversation and an empty memory score nearly the same.
    NarrowScale { window: String, floor: f64, ceiling: f64 },
    /// A bare list of identifiers scores nearly as much as the best row.
    NamesSuffice { best: Place, kept: f64, list: f64 },
    /// Share of the exam that the agent did without behind its own compactions
    /// (measures §4).
    ExamInDoubt { share: f64 },
    /// Transcripts that reference recall leaves out (measures §4).
    ThinExams { thin: usize, transcripts: usize, references: u64, requests: u64 },
    /// Sessions without a place for a cut (cuts §1).
    NotCut { sessions: usize, of: usize, example: String, why: String },
    /// Bills that hang on where the agent sets its first cache breakpoint.
    BreakpointUnknown { rows: Vec<OtherBill>, more: usize, least: f64 },
    /// Sessions that name no model with a price.
    DefaultModel { sessions: usize, of: usize, models: Vec<String>, billed_as: Vec<String> },
    /// Models without a price.
    Unpriced { models: Vec<String> },
    /// Summaries of the recorded agent whose calls are not on record.
    UnbilledSummaries { unknown: usize, of: usize },
    /// Sessions whose simulated bill is far from the recorded one.
    BillOff { off: usize, checked: usize, worst: String, errors: BillErrors },
}

/// Something that the figures show.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Observation {
    /// A preset sends fewer tokens than the whole conversation and costs more.
    LessSentMoreBilled {
        row: Place,
        billed_as: Option<String>,
        fewer: f64,
        dearer: f64,
        hypothetical: bool,
        why: Option<DearBecause>,
    },
    /// Shares of the requests that a provider would have refused.
    Refused { window: String, rows: Vec<(String, f64)> },
    /// Presets that do no better than the newest messages of the same size, the
    /// worst gain, and who does best.
    NoBetterThanRecency {
        window: String,
        rows: Vec<String>,
        worst: f64,
        best: Option<(String, f64)>,
    },
    /// Share of what the row loses that no tool result ever held.
    CannotBeFetched { row: Place, share: f64 },
    /// Share of the wrong answers whose evidence is gone, or still there.
    WrongAnswers { row: Place, share: f64, gone: bool },
    /// The kind of question that the best row is weakest at, in points.
    WeakestKind { row: Place, kind: String, kept: f64, over_all: f64 },
    /// Summaries that keep no more than empty texts would.
    AddsNothing { rows: Vec<(String, f64)> },
    /// In how many sessions the first two rows keep their order.
    Order { window: String, first: String, second: String, wins: usize, losses: usize, of: usize },
    /// A preset's own count is off by this share.
    EstimateOff { row: Place, error: f64 },
    /// Compactions that made the context longer, means over replicates.
    ContextGrew { row: Place, inflated: f64, compactions: f64 },
    /// What more room brings the best row of the smallest window.
    MoreRoom {
        row: Place,
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
    /// Whose token counts are the provider's (measures §0).
    Counts(Counts),
    /// Rows whose summaries the offline stand-in wrote.
    StandIns { strategies: Vec<String>, compactor: String },
    /// Answers or grades come from words and dates; a model's name where one
    /// sits in the other seat.
    OfflineSeats { answerer: Option<String>, judge: Option<String> },
    /// A model's own words are compared by words.
    Paraphrased { compactor: String, seats: Vec<&'static str>, strategies: Vec<String> },
    /// A model grades, and how often it is wrong was not measured.
    Uncalibrated { judge: String, judges: Vec<String> },
    /// So few sessions or projects.
    FewClusters { clusters: u64, noun: &'static str, allows: Allows },
    /// All sessions come from one project.
    OneProject { transcripts: usize },
    /// Windows that no recorded agent had (semantics §10).
    SmallWindows { windows: Vec<String>, scaled: bool },
    /// The exam asks for identifiers alone.
    IdentifiersOnly,
    /// What every bill takes for granted.
    BillsAssume { prices: String, date: Option<String>, hash: String },
    /// Sessions whose times are assumptions.
    ModelledClock { sessions: usize, of: usize, user_ms: f64, tool_ms: f64 },
    /// Waits that are computed from these rates.
    ModelledWaits { first_token_ms: f64, prefill_per_s: f64, decode_per_s: f64 },
    /// Records that import left out, by reason, the most frequent first.
    LeftOut { records: Vec<(String, u64)> },
}

/// Answers that are missing, or without a grade, for one reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Ungraded {
    /// Whether there was an answer to grade.
    pub answered: bool,
    /// Whether it holds for every answer to the questions concerned.
    pub throughout: bool,
    /// Answers that it concerns.
    pub missing: usize,
    /// All answers.
    pub answers: usize,
    /// Questions that it concerns.
    pub probes: usize,
    /// All questions.
    pub of: usize,
    /// The reason.
    pub why: String,
}

/// A bill under another assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherBill {
    /// Whose bill.
    pub row: Place,
    /// As whom it is billed, where there are several.
    pub billed_as: Option<String>,
    /// As it is reported.
    pub own: f64,
    /// Under the other assumption.
    pub other: f64,
}

/// Where token counts come from, in transcripts.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// With the provider's own counts.
    pub scaled: usize,
    /// All of them.
    pub transcripts: usize,
    /// Counted by the vocabulary though they have usage.
    pub as_asked: usize,
    /// Counted by the vocabulary for want of usage.
    pub without_usage: usize,
    /// Largest median error ahead of what a count was fitted to.
    pub ahead: f64,
    /// The same behind recorded compactions.
    pub behind: f64,
}

impl Finding {
    /// Its name in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Finding::Problem(problem) => problem.into(),
            Finding::Observation(observation) => observation.into(),
            Finding::Limit(limit) => limit.into(),
        }
    }

    /// The name of what it asks of the reader: `problem`, `observation` or `limit`.
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
