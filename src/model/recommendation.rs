//! The answer of a run: which preset to use, how sure that is, and what was at
//! stake. `wording` says it in words.

use super::{AgainstFull, Finding, Place, Primary};

/// What a run answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// What was replayed.
    pub replayed: Replayed,
    /// What to use.
    pub choice: Choice,
    /// What chance allows to be said of it.
    pub sure: Option<Sure>,
    /// The finding that puts it in doubt most.
    pub doubt: Option<Finding>,
    /// The run that would tell more.
    pub next: Option<NextStep>,
}

/// A further run that would tell more than this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// At a window at which something is compressed.
    SmallerWindow,
    /// With summaries that a model writes for these presets.
    RealSummaries(Vec<String>),
    /// With the same answers, graded by a model.
    ModelJudge,
}

/// What was replayed and asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Transcripts.
    pub sessions: usize,
    /// Requests of them.
    pub requests: usize,
    /// What was asked of each preset.
    pub asked: AtStake,
    /// Presets, controls apart.
    pub strategies: usize,
    /// Labels of the windows, as typed.
    pub windows: Vec<String>,
}

/// What was asked of each preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStake {
    /// Questions of the data set.
    Questions(usize),
    /// Facts that the agent used behind cuts.
    FactsAtCuts {
        /// Facts at stake.
        facts: usize,
        /// Cuts.
        cuts: usize,
    },
    /// Facts that the agent used from request to request.
    NeededFacts(usize),
    /// Nothing.
    Nothing,
}

/// What to use.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// This preset.
    Use(Box<Chosen>),
    /// None, and the labels of further windows without one.
    None { why: NoChoice, nor_at: Vec<String> },
}

impl Choice {
    /// The row to use.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Choice::Use(chosen) => Some(&chosen.row),
            Choice::None { .. } => None,
        }
    }
}

/// The preset to use.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// It, and the window.
    pub row: Place,
    /// The measure that ranks.
    pub by: Primary,
    /// Its figure of that measure.
    pub kept: f64,
    /// What chance or the sessions make of that figure.
    pub spread: Option<Range>,
    /// Whether it loses more than twice the margin against the whole conversation.
    pub loses_much: bool,
    /// Its bill.
    pub bill: Option<Priced>,
    /// Requests over the window, of all of its requests; means over replicates.
    pub over: Option<(f64, f64)>,
    /// Others that rank the same.
    pub alike: Vec<String>,
    /// One that keeps more and is not known to be worth its bill.
    pub keeps_more: Option<Rival>,
    /// One that keeps more beyond the window.
    pub refused: Option<Rival>,
    /// What to use at the other windows, and its figure.
    pub elsewhere: Vec<(Place, f64)>,
    /// Windows at which there is none.
    pub none_at: Vec<String>,
    /// What its model's texts keep over empty ones, where that is not known to
    /// be anything.
    pub adds: Option<f64>,
}

/// The range of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Its lower end.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
    /// What it is the range of.
    pub of: RangeOf,
}

/// What a range is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeOf {
    /// From the lowest session to the highest.
    Sessions,
    /// From the lowest project to the highest.
    Projects,
    /// Over what was asked in the one session.
    WithinSession,
    /// A 95 % interval.
    Interval,
}

/// Another preset that keeps more.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// The preset's id.
    pub strategy: String,
    /// Its figure of the measure that ranks.
    pub kept: f64,
    /// Its bill in USD.
    pub usd: Option<f64>,
    /// Requests over the window, of all of its requests.
    pub over: Option<(f64, f64)>,
}

/// A bill against what is done today.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The bill in USD.
    pub usd: f64,
    /// As whom, where there are several.
    pub billed_as: Option<String>,
    /// What it is set against.
    pub against: Against,
}

/// What a bill is set against. Savings are shares of the other bill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// Nothing: its own requests are over the window, or there is no other bill.
    Nothing,
    /// The whole conversation, which fits the window.
    Whole(Savings),
    /// What the recorded agent sent, for the whole conversation is over the window.
    Recorded(Savings),
    /// The whole conversation is over the window, and there is no other bill.
    OverWindow,
}

/// How much smaller a bill is than another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Savings {
    /// As billed.
    pub share: f64,
    /// What is left of it if everything lost is fetched again.
    pub refetched: Option<f64>,
}

/// Why no preset is recommended.
#[derive(Clone, Debug, PartialEq)]
pub enum NoChoice {
    /// Each keeps too little; this one keeps most.
    TooLittle { best: Place, kept: f64, within: bool, least: f64, by: Primary },
    /// Each brings nothing over what needs no preset.
    NoGain { best: Place, kept: f64, within: bool, usd: f64, over: Instead, by: Primary },
    /// None that is ranked had anything to compress; who keeps most at cuts.
    NoneActed { window: String, most: Option<(String, f64)> },
    /// There is none but controls.
    OnlyControls,
    /// All that the agent used next was still sent as it was recorded.
    NothingAtStake,
    /// No context was larger than this number of tokens.
    NothingCompacted { largest: u64 },
    /// All of them are stand-ins.
    OnlyStandIns,
    /// Each had too many void replies.
    OnlyVoid,
    /// What one keeps rests on too few questions or facts.
    FewAsked { strategy: String, asked: usize, least: usize, by: Primary },
    /// Each failed on some session.
    AllFailed,
    /// None has a figure of the measure that ranks.
    NoFigure { by: Primary, why: Option<String> },
    /// The run is incomplete.
    Incomplete,
}

/// What needs no preset, with its bill in USD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instead {
    /// What the recorded agent does today.
    Recorded(f64),
    /// Sending the whole conversation.
    Whole(f64),
}

/// What chance allows to be said of the choice against the whole conversation
/// (measures §7), in the unit of the measure that ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Sure {
    /// How it stands.
    pub verdict: AgainstFull,
    /// Sessions or projects that it rests on.
    pub clusters: u64,
    /// What one of them is called.
    pub noun: &'static str,
    /// The margin.
    pub margin: f64,
    /// The mean difference to the whole conversation and its interval.
    pub difference: Option<(f64, f64, f64)>,
    /// The smallest difference that would have been found, where it says something.
    pub detectable: Option<f64>,
    /// The measure.
    pub by: Primary,
}
