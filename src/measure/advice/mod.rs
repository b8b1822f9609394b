//! Advice on when to compact, from the first compactions that a run forced at
//! contexts of every size (depth 1).
//!
//! A preset *saves* at a size if the range of its saving lies above zero, and it
//! pays from the smallest size on from which it saves at every larger one. The
//! recommended preset and size follow the rules for recommending a row (cuts
//! §5): it keeps at least half of the facts at stake, and of presets that are
//! not known to keep less than the best one, that which saves most.

mod sizes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{clusters, noun, paired, weighed};
use super::preference::{ENOUGH, is_more};
use super::ranking::FEWEST_ASKED;
use crate::model::{
    Advice, Basis, Because, Cut, Estimate, Limits, Pays, PresetAdvice, Report, Standing,
    TranscriptFacts,
};
use sizes::{BySize, by_size};

/// Whether a range or only a described one is asked for: see [`Estimate::tested`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Only sizes with a 95 % interval count.
    Tested,
    /// The lowest session counts where there are too few for an interval.
    Described,
}

impl Asked {
    /// The estimate, if it is of this kind.
    fn of(self, estimate: Option<Estimate>) -> Option<Estimate> {
        estimate.filter(|estimate| estimate.tested || self == Asked::Described)
    }
}

/// A preset with its figures by size.
struct Candidate {
    strategy: String,
    standing: Standing,
    sizes: Vec<BySize>,
}

impl Candidate {
    /// Position of the smallest size from which on the preset saves at every
    /// larger one.
    fn from(&self, asked: Asked) -> Option<usize> {
        let sizes = self.sizes.iter().enumerate();
        let known = sizes.filter_map(|(at, size)| Some((at, asked.of(size.figures.saving_usd)?)));
        let mut from = None;
        for (at, saving) in known {
            from = if saving.lo > 0.0 { from.or(Some(at)) } else { None };
        }
        from
    }

    /// Sizes at which the preset may be recommended.
    fn options(&self, asked: Asked) -> impl Iterator<Item = usize> {
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

    fn into_advice(self) -> PresetAdvice {
        let from = self.from(Asked::Tested).map(|at| self.sizes[at].figures.from);
        PresetAdvice {
            strategy: self.strategy,
            standing: self.standing,
            from_tokens: from,
            sizes: self.sizes.into_iter().map(|size| size.figures).collect(),
        }
    }
}

/// The advice that a run gives. It reads the cuts of depth 1 and bills them as
/// the first payer of the run.
pub fn advice(report: &Report) -> Advice {
    let cuts: Vec<Cut> = report.sessions.cuts().collect();
    let candidates: Vec<Candidate> = standings(report)
        .into_iter()
        .map(|(strategy, standing)| {
            let sizes = by_size(report, &cuts, strategy);
            Candidate { strategy: strategy.to_owned(), standing, sizes }
        })
        .collect();
    let (pays, because, choice) = decided(report, &cuts, &candidates);
    Advice {
        pays,
        because,
        choice,
        presets: candidates.into_iter().map(Candidate::into_advice).collect(),
        basis: basis(report, &cuts),
    }
}

/// Every preset without controls, by name; void where any of its rows is.
fn standings(report: &Report) -> BTreeMap<&str, Standing> {
    let mut standings: BTreeMap<&str, Standing> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.standing != Standing::Control) {
        let known = standings.entry(&row.strategy).or_insert(row.standing);
        if row.standing == Standing::Void {
            *known = Standing::Void;
        }
    }
    standings
}

type Decision = (Pays, Because, Option<(usize, usize)>);

fn decided(report: &Report, cuts: &[Cut], candidates: &[Candidate]) -> Decision {
    let has = |standing| candidates.iter().any(|one| one.standing == standing);
    if cuts.is_empty() {
        return (Pays::No, Because::NoPlace, None);
    }
    match (has(Standing::Ranked), has(Standing::StandIn)) {
        (true, _) => {}
        (false, true) => return (Pays::Undecided, Because::OnlyStandIns, None),
        (false, false) => return (Pays::Undecided, Because::NoPreset, None),
    }
    if let Some(choice) = choose(report, candidates, Asked::Tested) {
        return (Pays::Yes, Because::Saves, Some(choice));
    }
    let ranked = || candidates.iter().filter(|one| one.standing == Standing::Ranked);
    let savings = || ranked().flat_map(|one| &one.sizes).filter_map(|size| size.figures.saving_usd);
    let tested = || savings().filter(|saving| saving.tested);
    if savings().next().is_none() {
        (Pays::Undecided, Because::NoPrice, None)
    } else if tested().next().is_none() {
        let seen = choose(report, candidates, Asked::Described);
        (Pays::Undecided, Because::FewClusters, seen)
    } else if ranked().any(|one| one.from(Asked::Tested).is_some()) {
        (Pays::No, Because::LosesTooMuch, None)
    } else if tested().all(|saving| saving.hi <= 0.0) {
        (Pays::No, Because::NoSaving, None)
    } else {
        (Pays::Undecided, Because::Open, None)
    }
}

/// The preset and the size at which the sessions save most in all: a size that
/// few sessions reach is worth less than one that many do.
fn choose(report: &Report, candidates: &[Candidate], asked: Asked) -> Option<(usize, usize)> {
    let mut by_size: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for (preset, one) in candidates.iter().enumerate() {
        for at in one.options(asked).filter(|_| one.standing == Standing::Ranked) {
            by_size.entry(one.sizes[at].figures.from).or_default().push((preset, at));
        }
    }
    let size = |(preset, at): (usize, usize)| &candidates[preset].sizes[at];
    let preferred = by_size.values().filter_map(|options| {
        let first =
            *options.iter().reduce(|a, b| if kept(size(*b)) > kept(size(*a)) { b } else { a })?;
        let alike = options.iter().filter(|other| !keeps_more(report, size(first), size(**other)));
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

/// Whether one preset is known to keep more than another at contexts of a size.
fn keeps_more(report: &Report, one: &BySize, other: &BySize) -> bool {
    let pairs = weighed(&report.transcripts, &paired(&one.shares, &other.shares), &one.weights);
    is_more(&pairs, &report.manifest, 1.0)
}

fn basis(report: &Report, cuts: &[Cut]) -> Basis {
    let facts = &report.transcripts;
    let cut: BTreeSet<(&str, &str)> =
        cuts.iter().map(|cut| (cut.dataset.as_str(), cut.transcript.as_str())).collect();
    let was_cut = |facts: &TranscriptFacts| cut.contains(&(&*facts.dataset, &*facts.transcript));
    let positions = facts.iter().enumerate().filter(|(_, facts)| was_cut(facts));
    let units: BTreeMap<usize, f64> = positions.map(|(at, _)| (at, 0.0)).collect();
    let mut not_cut: BTreeMap<String, u64> = BTreeMap::new();
    for why in facts.iter().filter_map(|facts| facts.no_cut.as_ref()) {
        *not_cut.entry(why.to_string()).or_default() += 1;
    }
    let windows: Vec<u64> =
        report.sessions.cells().filter_map(|cell| Some(cell.rows()?.window)).collect();
    let limits = windows.iter().min().zip(windows.iter().max());
    Basis {
        sessions: facts.len() as u64,
        cut_sessions: cut.len() as u64,
        clusters: clusters(facts, &units).n() as u64,
        noun: noun(units.keys().map(|at| &facts[*at])),
        cuts: cuts.len() as u64,
        largest_tokens: largest(report, cuts),
        limits: limits.map(|(least, most)| Limits { least: *least, most: *most }),
        compactor: report.manifest.compactor.clone(),
        not_cut: not_cut.into_iter().collect(),
    }
}

/// Largest context of any session: as the provider counted it, else as the run
/// does where the recorded agent never compacted.
fn largest(report: &Report, cuts: &[Cut]) -> u64 {
    let sent = report.transcripts.iter().flat_map(|facts| {
        let whole = facts.recorded_compactions == 0;
        facts.requests.iter().filter_map(move |request| match request.recorded {
            Some(usage) => Some(usage.prompt()),
            None => whole.then_some(request.tokens_full),
        })
    });
    sent.chain(cuts.iter().map(|cut| cut.tokens_before)).max().unwrap_or(0)
}
