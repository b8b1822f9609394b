//! Advice on when to compact: whether it pays, from which size of context on,
//! with which strategy, and how sure that is. `wording` turns it into sentences.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RowKind;

/// Whether compacting pays in sessions like these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Payback {
    /// From some size on, the interval of the saving lies above zero.
    Yes,
    /// At no size does any strategy save that could be recommended.
    No,
    /// The sessions do not decide it.
    Undecided,
}

/// Why the advice is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A strategy saves from some size on, and keeps enough there.
    Saves,
    /// No session has a place at which a compaction could be tried.
    NoPlace,
    /// The run has controls only.
    NoStrategy,
    /// No bill is known: a price is missing.
    NoPrice,
    /// A model would write the summaries of every strategy, and an offline summary wrote
    /// them.
    OnlyOfflineSummaries,
    /// Where a strategy saves, it keeps too little of what was needed afterwards.
    LosesTooMuch,
    /// No strategy saves at any size.
    NoSaving,
    /// Too few sessions or projects reach any one size.
    FewClusters,
    /// The intervals of the savings contain zero.
    Open,
    /// Single compactions save, but followed through whole sessions the strategy
    /// costs as much as today or more.
    DearerInTheWhole,
}

/// A mean with the range that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean over sessions or projects.
    pub value: f64,
    /// Lower end of the range.
    pub lo: f64,
    /// Upper end of the range.
    pub hi: f64,
    /// Whether the range is a 95 % interval; else it is the lowest and highest
    /// session or project, because there are fewer than six.
    pub tested: bool,
    /// Number of sessions or projects.
    pub clusters: u64,
}

/// A strategy at contexts of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeFigures {
    /// Fewest tokens of the context before the compaction, preamble included.
    pub from: u64,
    /// First number of tokens above.
    pub to: u64,
    /// Median number of tokens of the contexts that were compacted.
    pub tokens: u64,
    /// Median of the context limits, in tokens, at which the strategy compacts such
    /// contexts by its own trigger; absent where it compacted none.
    pub window: Option<u64>,
    /// Number of cuts.
    pub cuts: u64,
    /// Cuts at which the strategy compacted anything.
    pub compacted: u64,
    /// Sessions that have these cuts.
    pub sessions: u64,
    /// Median share of the context that a compaction frees; absent without one.
    pub freed: Option<f64>,
    /// Median number of requests that were still to come.
    pub requests_left: f64,
    /// Cuts with more requests to come than were replayed: the rate at which the
    /// compaction saves is taken to go on there.
    pub extrapolated: u64,
    /// Dollars that compacting here, and on at the same threshold, saves by the end
    /// of the session, in the mean over sessions; negative where it costs more than
    /// it saves. Absent where a price is unknown.
    pub saving_usd: Option<Estimate>,
    /// Share of the compactions that saved more than they cost by the end of
    /// the session; absent without compactions or prices.
    pub paid_back: Option<f64>,
    /// Median number of requests until a compaction has saved what it cost;
    /// absent if more than half never do.
    pub break_even_requests: Option<f64>,
    /// Number of facts.
    pub facts: u64,
    /// Share of the facts that is kept; absent without facts.
    pub kept: Option<Estimate>,
    /// Facts of each class of identifier that are not kept, and all of them.
    pub missing: BTreeMap<&'static str, (u64, u64)>,
    /// Median milliseconds that the user waits for a compaction; absent without
    /// a model call.
    pub wait_ms: Option<f64>,
}

/// A strategy at every size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategyAdvice {
    /// The strategy's id.
    pub strategy: String,
    /// Whether the strategy may be recommended.
    pub row_kind: RowKind,
    /// Fewest tokens from which on every interval of its saving lies above zero.
    pub from_tokens: Option<u64>,
    /// Its figures by size, ascending; sizes without a cut are left out.
    pub sizes: Vec<SizeFigures>,
}

impl StrategyAdvice {
    /// The size at which compacting saves most; nothing without prices.
    pub fn best(&self) -> Option<&SizeFigures> {
        let known = self.sizes.iter().filter_map(|at| Some((at, at.saving_usd?.value)));
        known.reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|(at, _)| at)
    }

    /// What it saves there.
    pub fn most_saved(&self) -> Option<f64> {
        Some(self.best()?.saving_usd?.value)
    }
}

/// The context limits of the recorded models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// The smallest one, in tokens.
    pub least: u64,
    /// The largest one, in tokens.
    pub most: u64,
}

/// What the advice rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    /// Sessions that were replayed.
    pub sessions: u64,
    /// Sessions that have at least one cut.
    pub cut_sessions: u64,
    /// Sessions that the recorded agent never compacted and whose contexts all fit
    /// the window.
    pub fit: u64,
    /// Compactions of the recorded agent.
    pub recorded_compactions: u64,
    /// Sessions or projects that are independent of each other.
    pub clusters: u64,
    /// Noun for one of these.
    pub noun: &'static str,
    /// Cuts at which every strategy was examined.
    pub cuts: u64,
    /// Largest context of a session between two recorded compactions, in tokens.
    pub largest_tokens: u64,
    /// Context limits that were assumed; absent where every replay failed.
    pub limits: Option<Limits>,
    /// Model in the compactor's role.
    pub compactor: String,
    /// Why sessions have no cut, with the number of sessions.
    pub not_cut: Vec<(String, u64)>,
}

/// A strategy that was advised, replayed through every session at a context limit at
/// which it compacts contexts of the advised size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Followed {
    /// The strategy's id.
    pub strategy: String,
    /// The advised size: [`SizeFigures::from`].
    pub from: u64,
    /// The context limit, in tokens; in a session whose model has a smaller one it
    /// is that.
    pub window: u64,
    /// Every session.
    pub sessions: Vec<FollowedSession>,
}

/// A session that was replayed as advised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowedSession {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Its bill in USD; absent where the replay failed or a price is unknown.
    pub usd: Option<f64>,
    /// Number of compactions.
    pub compactions: u32,
}

/// What a strategy costs when it is followed through whole sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Through {
    /// Bill of all sessions in USD.
    pub usd: f64,
    /// Bill of the same sessions today, in USD.
    pub today_usd: f64,
    /// Whether today is what the recorded agent sent; else the whole conversation
    /// is sent.
    pub as_recorded: bool,
    /// The context limit, in tokens: [`Followed::window`].
    pub window: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// The session that more than a third of the difference comes from.
    pub most: Option<CostlySession>,
}

/// A session that stands out of a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostlySession {
    /// Id of the session.
    pub session: String,
    /// Its bill as advised less its bill today, in USD.
    pub difference_usd: f64,
    /// Number of compactions as advised.
    pub compactions: u64,
}

/// A setting of the recorded agent by which the advice is applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The agent: the format that its recordings were detected as.
    pub agent: String,
    /// Name of the setting.
    pub name: String,
    /// The line to write.
    pub line: String,
    /// Where it is written.
    pub file: String,
    /// What else is to be known of it.
    pub note: Option<String>,
    /// Address of the public source that it was read in.
    pub source: String,
    /// Version or commit of that source.
    pub version: String,
    /// The day on which it was read: `2026-11-27`.
    pub checked: String,
}

/// Advice on when to compact.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Whether compacting pays.
    pub pays: Payback,
    /// Why.
    pub because: Reason,
    /// Positions of the recommended strategy in `strategies` and of the best size in
    /// its sizes. With `pays` undecided it is what was seen and not tested.
    pub choice: Option<(usize, usize)>,
    /// Every strategy without controls, by name.
    pub strategies: Vec<StrategyAdvice>,
    /// What the recommended strategy costs when it is followed; absent where it was
    /// not followed.
    pub through: Option<Through>,
    /// How the recorded agent is told to do it; absent where nothing is advised, or
    /// the agent is not known to have a setting for it.
    pub apply: Option<Setting>,
    /// What it rests on.
    pub basis: Basis,
}

impl Advice {
    /// The recommended strategy and its figures at the best size.
    pub fn chosen(&self) -> Option<(&StrategyAdvice, &SizeFigures)> {
        let (strategy, size) = self.choice?;
        let strategy = self.strategies.get(strategy)?;
        Some((strategy, strategy.sizes.get(size)?))
    }

    /// Strategies whose summaries an offline summary wrote.
    pub fn offline_summaries(&self) -> impl Iterator<Item = &StrategyAdvice> {
        self.strategies.iter().filter(|strategy| strategy.row_kind == RowKind::OfflineSummary)
    }

    /// The strategy that tables and pictures show first: the recommended one, else
    /// the one that saves most at any size, ranked ones before offline summaries.
    pub fn shown(&self) -> Option<&StrategyAdvice> {
        let ranked = |strategy: &StrategyAdvice| strategy.row_kind == RowKind::Ranked;
        let saved = |strategy: &StrategyAdvice| strategy.most_saved().unwrap_or(f64::NEG_INFINITY);
        let better = |a: &StrategyAdvice, b: &StrategyAdvice| {
            ranked(a).cmp(&ranked(b)).then(saved(a).total_cmp(&saved(b))).is_lt()
        };
        let best = || self.strategies.iter().reduce(|a, b| if better(a, b) { b } else { a });
        self.chosen().map(|(strategy, _)| strategy).or_else(best)
    }
}
