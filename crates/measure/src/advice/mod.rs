//! Advice on when to compact, from the first compactions that a run forced at
//! contexts of every size (depth 1).
//!
//! A strategy *saves* at a size if the range of its saving lies above zero, and it
//! pays from the smallest size on from which it saves at every larger one. The
//! recommended strategy and size follow the rules for recommending a row (how-it-works
//! §47): it keeps at least half of the facts, and of strategies that are
//! not known to keep less than the best one, that which saves most.

mod followed;
mod sizes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{clusters, noun, paired, weighed};
use super::preference::{ENOUGH, is_more};
use super::ranking::FEWEST_ASKED;
use recap_core::model::{
    Advice, Basis, Cut, Estimate, Limits, Manifest, Payback, Reason, RowKind, RunResults,
    SessionFacts, StrategyAdvice,
};
use sizes::BySize;

/// Whether a range or only a described one is asked for: see [`Estimate::tested`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeKind {
    /// Only sizes with a 95 % interval count.
    Tested,
    /// The lowest session counts where there are too few for an interval.
    Described,
}

impl RangeKind {
    /// The estimate, if it is of this kind.
    fn of(self, estimate: Option<Estimate>) -> Option<Estimate> {
        estimate.filter(|estimate| estimate.tested || self == RangeKind::Described)
    }
}

/// A strategy with its figures by size.
struct Candidate {
    strategy: String,
    row_kind: RowKind,
    sizes: Vec<BySize>,
}

impl Candidate {
    /// Position of the smallest size from which on the strategy saves at every
    /// larger one.
    fn from(&self, asked: RangeKind) -> Option<usize> {
        let sizes = self.sizes.iter().enumerate();
        let known = sizes.filter_map(|(at, size)| Some((at, asked.of(size.figures.saving_usd)?)));
        let mut from = None;
        for (at, saving) in known {
            from = if saving.lo > 0.0 { from.or(Some(at)) } else { None };
        }
        from
    }

    /// Sizes at which the strategy may be recommended.
    fn options(&self, asked: RangeKind) -> impl Iterator<Item = usize> {
        let from = self.from(asked).unwrap_or(usize::MAX);
        let enough = |size: &BySize| {
            let kept = size.figures.kept.is_some_and(|kept| kept.value >= ENOUGH);
            kept && size.figures.facts >= FEWEST_ASKED as u64
        };
        let sizes = self.sizes.iter().enumerate().filter(move |(at, _)| *at >= from);
        sizes.filter_map(move |(at, size)| {
            asked.of(size.figures.saving_usd)?;
            enough(size).then_some(at)
        })
    }

    fn into_advice(self) -> StrategyAdvice {
        let from = self.from(RangeKind::Tested).map(|at| self.sizes[at].figures.from);
        StrategyAdvice {
            strategy: self.strategy,
            row_kind: self.row_kind,
            from_tokens: from,
            sizes: self.sizes.into_iter().map(|size| size.figures).collect(),
        }
    }
}

/// What the advice of a run is computed from.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// The settings of the run.
    pub manifest: &'a Manifest,
    /// The facts of its sessions, sorted by data set and id.
    pub facts: &'a [SessionFacts],
    /// Its cells and cuts.
    pub results: &'a RunResults,
}

impl Inputs<'_> {
    /// Position of a session in the facts.
    fn position(&self, dataset: &str, session: &str) -> Option<usize> {
        let key =
            |facts: &SessionFacts| (&*facts.dataset, &*facts.session).cmp(&(dataset, session));
        self.facts.binary_search_by(key).ok()
    }
}

/// Whether a run gives advice: it forced first compactions at places that are
/// spread over its sessions.
pub fn advises(manifest: &Manifest) -> bool {
    manifest.depth == 1 && !matches!(&*manifest.cuts, "none" | "recorded")
}

/// The advice that a run gives, billed as its first billing model. Strategies that are
/// `unusable` had too many unusable replies to be recommended.
pub fn advice(
    manifest: &Manifest,
    facts: &[SessionFacts],
    results: &RunResults,
    unusable: &BTreeSet<String>,
) -> Advice {
    let inputs = Inputs { manifest, facts, results };
    // A token saver does not compact at a size.
    let by_size = sizes::by_size(inputs).into_iter();
    let compacting = by_size.filter(|(strategy, _)| !manifest.savers.contains(strategy));
    let candidates = compacting.map(|(strategy, (row_kind, sizes))| {
        let row_kind = if unusable.contains(&strategy) { RowKind::Unusable } else { row_kind };
        Candidate { strategy, row_kind, sizes }
    });
    let candidates: Vec<Candidate> = candidates.collect();
    let basis = basis(inputs);
    let (mut pays, mut because, choice) = decided(inputs, basis.cuts, &candidates);
    let strategies: Vec<StrategyAdvice> =
        candidates.into_iter().map(Candidate::into_advice).collect();
    let through = choice.and_then(|(strategy, size)| {
        let strategy = &strategies[strategy];
        followed::through(inputs, &strategy.strategy, strategy.sizes[size].from)
    });
    if through.as_ref().is_some_and(|through| through.usd >= through.today_usd) {
        (pays, because) = (Payback::No, Reason::DearerInTheWhole);
    }
    Advice { pays, because, choice, strategies, through, apply: None, basis }
}

type Decision = (Payback, Reason, Option<(usize, usize)>);

fn decided(inputs: Inputs<'_>, cuts: u64, candidates: &[Candidate]) -> Decision {
    let has = |row_kind| candidates.iter().any(|one| one.row_kind == row_kind);
    if cuts == 0 {
        return (Payback::No, Reason::NoPlace, None);
    }
    match (has(RowKind::Ranked), has(RowKind::OfflineSummary)) {
        (true, _) => {}
        (false, true) => return (Payback::Undecided, Reason::OnlyOfflineSummaries, None),
        (false, false) => return (Payback::Undecided, Reason::NoStrategy, None),
    }
    if let Some(choice) = choose(inputs, candidates, RangeKind::Tested) {
        return (Payback::Yes, Reason::Saves, Some(choice));
    }
    let ranked = || candidates.iter().filter(|one| one.row_kind == RowKind::Ranked);
    let savings = || ranked().flat_map(|one| &one.sizes).filter_map(|size| size.figures.saving_usd);
    let tested = || savings().filter(|saving| saving.tested);
    if savings().next().is_none() {
        (Payback::Undecided, Reason::NoPrice, None)
    } else if tested().next().is_none() {
        let seen = choose(inputs, candidates, RangeKind::Described);
        (Payback::Undecided, Reason::FewClusters, seen)
    } else if ranked().any(|one| one.from(RangeKind::Tested).is_some()) {
        (Payback::No, Reason::LosesTooMuch, None)
    } else if tested().all(|saving| saving.hi <= 0.0) {
        (Payback::No, Reason::NoSaving, None)
    } else {
        (Payback::Undecided, Reason::Open, None)
    }
}

/// The strategy and the size at which the sessions save most in all: a size that
/// few sessions reach is worth less than one that many do.
fn choose(
    inputs: Inputs<'_>,
    candidates: &[Candidate],
    asked: RangeKind,
) -> Option<(usize, usize)> {
    let mut by_size: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for (strategy, one) in candidates.iter().enumerate() {
        for at in one.options(asked).filter(|_| one.row_kind == RowKind::Ranked) {
            by_size.entry(one.sizes[at].figures.from).or_default().push((strategy, at));
        }
    }
    let size = |(strategy, at): (usize, usize)| &candidates[strategy].sizes[at];
    let preferred = by_size.values().filter_map(|options| {
        let first =
            *options.iter().reduce(|a, b| if kept(size(*b)) > kept(size(*a)) { b } else { a })?;
        let alike = options.iter().filter(|other| !keeps_more(inputs, size(first), size(**other)));
        alike.copied().reduce(|a, b| if saved(size(b)) > saved(size(a)) { b } else { a })
    });
    let total = |option| saved(size(option)) * size(option).figures.sessions as f64;
    preferred.reduce(|a, b| if total(b) > total(a) { b } else { a })
}

fn kept(size: &BySize) -> f64 {
    size.figures.kept.map_or(0.0, |kept| kept.value)
}

fn saved(size: &BySize) -> f64 {
    size.figures.saving_usd.map_or(f64::NEG_INFINITY, |saving| saving.value)
}

/// Whether one strategy is known to keep more than another at contexts of a size.
fn keeps_more(inputs: Inputs<'_>, one: &BySize, other: &BySize) -> bool {
    let pairs = weighed(inputs.facts, &paired(&one.shares, &other.shares), &one.weights);
    is_more(&pairs, inputs.manifest, 1.0)
}

fn basis(inputs: Inputs<'_>) -> Basis {
    let Inputs { manifest, facts, results } = inputs;
    let mut units: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut cuts, mut largest, mut fit) = (0, 0, 0);
    let mut limits: Option<Limits> = None;
    for (at, of) in facts.iter().enumerate() {
        let session = results.get(&of.dataset, &of.session);
        let own_cuts = session.as_ref().map_or(&[][..], |session| session.cuts());
        let cells = session.iter().flat_map(|session| session.cells());
        let own = cells.filter_map(|cell| Some(cell.rows()?.window)).max();
        let context = largest_context(of, own_cuts);
        let compacted = of.recorded_compactions > 0;
        fit += u64::from(!compacted && own.is_some_and(|window| context <= window));
        largest = largest.max(context);
        if let Some(own) = own {
            let known = limits.unwrap_or(Limits { least: own, most: own });
            limits = Some(Limits { least: known.least.min(own), most: known.most.max(own) });
        }
        if !own_cuts.is_empty() {
            cuts += own_cuts.len() as u64;
            units.insert(at, 0.0);
        }
    }
    let mut not_cut: BTreeMap<String, u64> = BTreeMap::new();
    for why in facts.iter().filter_map(|facts| facts.no_cut.as_ref()) {
        *not_cut.entry(why.to_string()).or_default() += 1;
    }
    Basis {
        sessions: facts.len() as u64,
        cut_sessions: units.len() as u64,
        fit,
        recorded_compactions: facts.iter().map(|f| u64::from(f.recorded_compactions)).sum(),
        clusters: clusters(facts, &units).n() as u64,
        noun: noun(units.keys().map(|at| &facts[*at])),
        cuts,
        largest_tokens: largest,
        limits,
        compactor: manifest.compactor.clone(),
        not_cut: not_cut.into_iter().collect(),
    }
}

/// Largest context of a session: as the provider counted it, else as the run does
/// where the recorded agent never compacted.
fn largest_context(facts: &SessionFacts, cuts: &[Cut]) -> u64 {
    let whole = facts.recorded_compactions == 0;
    let sent = facts.requests.iter().filter_map(|request| match request.recorded {
        Some(usage) => Some(usage.prompt()),
        None => whole.then_some(request.tokens_full),
    });
    sent.chain(cuts.iter().map(|cut| cut.tokens_before)).max().unwrap_or(0)
}
