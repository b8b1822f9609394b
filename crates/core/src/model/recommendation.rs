//! The recommendation of a run: which strategy to use, how sure that is, and what
//! was tested. `wording` turns it into sentences.

use super::{AgainstFull, Finding, Primary, RowName};

/// The recommendation of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// The amount of data that the recommendation is based on.
    pub replayed: Replayed,
    /// The strategy to use, or why there is none.
    pub choice: Choice,
    /// The statistical verdict on the choice; absent without a choice or a
    /// test.
    pub sure: Option<ComparisonWithFull>,
    /// The finding that questions the choice most.
    pub doubt: Option<Finding>,
    /// A further run that would show more.
    pub next: Option<NextStep>,
    /// Of questions: the strategy that keeps most with offline summaries, and what
    /// it keeps. A model may keep more or less.
    pub hint: Option<(RowName, f64)>,
}

/// A further run that would show more than this one.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// A run at a window at which strategies compress something.
    SmallerWindow,
    /// A run with summaries of a model.
    RealSummaries {
        /// The strategies whose summaries the offline compactor wrote and that kept most.
        strategies: Vec<String>,
        /// The strategies to compare them with.
        beside: Vec<String>,
        /// Expected cost of the summaries in USD: the bills of the offline compactor's
        /// calls. Absent where a price is unknown.
        usd: Option<f64>,
    },
    /// Models that answer the questions and grade the answers.
    ModelAnswerer,
    /// A run with the same answers, graded by a model.
    ModelJudge,
}

/// The amount of data that a recommendation is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Number of replayed sessions.
    pub sessions: usize,
    /// Number of requests of all sessions.
    pub requests: usize,
    /// The questions or facts by which each strategy is measured.
    pub asked: Measured,
    /// Number of strategies without controls.
    pub strategies: usize,
    /// Labels of the windows, as typed.
    pub windows: Vec<String>,
}

/// The questions or facts by which each strategy is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Number of questions of the data set.
    Questions(usize),
    /// Facts that the agent used after cuts.
    FactsAtCuts {
        /// Number of facts.
        facts: usize,
        /// Number of examined cuts.
        cuts: usize,
        /// Number of sessions that were cut.
        sessions: usize,
    },
    /// Number of facts that the agent used from request to request.
    NeededFacts(usize),
    /// No questions and no facts.
    Nothing,
}

/// The strategy to use, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// The recommended strategy with its figures.
    Use(Box<Chosen>),
    /// No strategy, and the labels of further windows without one.
    None { why: NoChoice, nor_at: Vec<String> },
}

impl Choice {
    /// The row of the recommended strategy.
    pub fn place(&self) -> Option<&RowName> {
        match self {
            Choice::Use(chosen) => Some(&chosen.row),
            Choice::None { .. } => None,
        }
    }
}

/// The recommended strategy with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The strategy and the window.
    pub row: RowName,
    /// The measure that ranks the strategies.
    pub by: Primary,
    /// Figure of that measure for the strategy.
    pub kept: f64,
    /// Range of that figure.
    pub spread: Option<Range>,
    /// Whether the loss against the whole conversation exceeds twice the
    /// margin.
    pub loses_much: bool,
    /// The bill of the strategy.
    pub bill: Option<Priced>,
    /// Requests larger than the window, and all requests; means over
    /// replicates.
    pub over: Option<(f64, f64)>,
    /// Other strategies with the same rank.
    pub alike: Vec<String>,
    /// A strategy that keeps more, and whose higher bill may not be justified.
    pub keeps_more: Option<RunnerUp>,
    /// A strategy that keeps more, with requests larger than the window.
    pub refused: Option<RunnerUp>,
    /// The recommended rows at the other windows, with their figures.
    pub elsewhere: Vec<(RowName, f64)>,
    /// Windows without a recommended strategy.
    pub none_at: Vec<String>,
    /// The gain of the model's summaries over empty texts, if that gain may be
    /// zero.
    pub adds: Option<f64>,
}

/// A range around a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end of the range.
    pub lo: f64,
    /// Upper end of the range.
    pub hi: f64,
    /// How the range was computed.
    pub of: RangeOf,
}

/// How a range was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeOf {
    /// Lowest and highest figure of a session.
    Sessions,
    /// Lowest and highest figure of a project.
    Projects,
    /// An interval over the questions or facts of the only session.
    WithinSession,
    /// A 95 % interval.
    Interval,
}

/// Another strategy that keeps more.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerUp {
    /// Id of the strategy.
    pub strategy: String,
    /// Figure of the measure that ranks.
    pub kept: f64,
    /// Bill of the strategy in USD.
    pub usd: Option<f64>,
    /// Requests larger than the window, and all requests; means over
    /// replicates.
    pub over: Option<(f64, f64)>,
}

/// A bill, compared with what is done without the strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The bill in USD.
    pub usd: f64,
    /// The agent model, if the run has several.
    pub billed_as: Option<String>,
    /// The bill that it is compared with.
    pub against: Against,
}

/// The bill that another bill is compared with. Savings are shares of the
/// former.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// No bill: a provider would have refused the strategy's own requests or those of
    /// the whole conversation, or there is no other bill.
    Nothing,
    /// The bill of the whole conversation, which fits the window.
    Whole(Savings),
    /// The bill of the recorded agent.
    Recorded(Savings),
}

/// How much smaller a bill is than another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Savings {
    /// Savings without the cost of losses, as a share of the other bill.
    pub share: f64,
    /// Savings that remain if everything lost is fetched again.
    pub refetched: Option<f64>,
}

/// Why no strategy is recommended.
#[derive(Clone, Debug, PartialEq)]
pub enum NoChoice {
    /// Every strategy keeps too little; `best` keeps most.
    TooLittle { best: RowName, kept: f64, within: bool, least: f64, by: Primary },
    /// No strategy is better than `over`, which needs no strategy.
    NoGain {
        best: RowName,
        kept: f64,
        within: bool,
        usd: Option<f64>,
        over: Alternative,
        by: Primary,
    },
    /// No ranked strategy compacted anything; `most` keeps most at cuts.
    NoneActed { window: String, most: Option<(String, f64)> },
    /// The run has only controls.
    OnlyControls,
    /// Everything that the agent used later was still sent as recorded.
    NoFactsNeeded,
    /// No context was larger than this number of tokens.
    NothingCompacted { largest: u64 },
    /// All strategies are offline summaries.
    OnlyOfflineSummaries,
    /// All strategies had too many unusable replies.
    OnlyUnusable,
    /// The best figure is based on too few questions or facts.
    FewAsked { strategy: String, asked: usize, least: usize, by: Primary },
    /// All strategies failed on at least one session.
    AllFailed,
    /// No strategy has a figure of the measure that ranks.
    NoFigure { by: Primary, why: Option<String> },
    /// The run was interrupted.
    Incomplete,
}

/// An alternative that needs no strategy, with its bill in USD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alternative {
    /// The compactions of the recorded agent.
    Recorded(f64),
    /// Sending the whole conversation.
    Whole(f64),
}

/// The statistical comparison of the choice with the whole conversation
/// (reference §7), in the unit of the measure that ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonWithFull {
    /// The verdict of the comparison.
    pub verdict: AgainstFull,
    /// Number of independent sessions or projects.
    pub clusters: u64,
    /// Noun for one cluster: session or project.
    pub noun: &'static str,
    /// The loss that is still accepted.
    pub margin: f64,
    /// Mean difference to the whole conversation, and both ends of its
    /// interval.
    pub difference: Option<(f64, f64, f64)>,
    /// Smallest difference that the comparison could have detected, if it is
    /// informative.
    pub detectable: Option<f64>,
    /// The measure that ranks.
    pub by: Primary,
}
