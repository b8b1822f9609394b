//! The race: which settings are replayed on which sessions, and which are
//! dropped.
//!
//! A setting is *dominated* by another one that keeps no less and costs no
//! more, both within the margin, and keeps more or costs less. It is dropped
//! once all of that is shown: each of the three by a one-sided test over
//! clusters, all pairs of settings tested together
//! ([`shown_above_zero`](crate::measure::shown_above_zero)). To drop a setting
//! that is not dominated, a test has to reject a true hypothesis about its
//! quality or about its dollars; over all pairs, looks and both objectives that
//! happens with a chance of at most [`Rule::false_drops`]
//! ([`Schedule`](super::schedule::Schedule)), as far as signs of clusters can be
//! exchanged. `simulation_tests` simulates it.
//!
//! A pair is *decided* where one of the two is dropped, or where one is shown to
//! keep more and the other to cost less. Settings whose pairs are all decided
//! are settled: they wait until the others are through.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::schedule::Schedule;
use super::split::{Cluster, sessions};
use crate::measure::{SessionFigures, shown_above_zero};
use crate::model::catalogue;

/// What is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Objective {
    /// Facts at cuts.
    Kept,
    /// Answers to questions at cuts.
    Continuity,
}

impl Objective {
    /// The id of the measure.
    pub fn measure(self) -> &'static str {
        match self {
            Objective::Kept => catalogue::KEPT_AT_CUT.id,
            Objective::Continuity => catalogue::CONTINUITY_AT_CUT.id,
        }
    }

    /// The largest value of the measure.
    pub fn most(self) -> f64 {
        match self {
            Objective::Kept => 1.0,
            Objective::Continuity => 100.0,
        }
    }
}

/// When a setting is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What counts as no less and as no more: this share of all facts, and this
    /// share of the dollars.
    pub margin: f64,
    /// Largest chance that any setting is dropped that is not dominated.
    pub false_drops: f64,
    /// Largest 95th percentile of the waits, in seconds. A setting that waits
    /// longer dominates none.
    pub max_wait: Option<f64>,
    /// Seed of the tests.
    pub seed: u64,
}

/// What became of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It is not dropped.
    Racing,
    /// Another setting dominates it.
    Dropped {
        /// The round after which it was dropped, from 1.
        round: usize,
        /// The other setting.
        by: usize,
    },
    /// A cell or a cut of it failed.
    Failed {
        /// The round, from 1.
        round: usize,
        /// The first error.
        why: String,
    },
}

/// Cells that are replayed together: these settings on these clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The settings, ascending.
    pub settings: Vec<usize>,
    /// Position of the first cluster.
    pub from: usize,
    /// Position behind the last cluster.
    pub to: usize,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// More cells.
    Work(Work),
    /// Every setting that is left has every session, or one is left.
    Over,
    /// The cells that are left do not suffice for the next cluster.
    TooDear,
}

/// A round that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Its cells.
    pub work: Work,
    /// Number of cells.
    pub cells: u64,
    /// Settings that were dropped after it.
    pub dropped: Vec<usize>,
    /// Whether settings were compared after it.
    pub compared: bool,
}

/// The state of a race. It follows from the rounds alone.
#[derive(Clone, Debug)]
pub struct Race {
    /// The clusters of the search, in the order in which they are replayed.
    pub clusters: Vec<Cluster>,
    /// Figures so far.
    pub figures: Figures,
    /// What became of each setting.
    pub fates: Vec<Fate>,
    /// Number of clusters that each setting was replayed on.
    pub done: Vec<usize>,
    /// The rounds so far.
    pub rounds: Vec<Round>,
    /// When settings are compared.
    pub schedule: Schedule,
    rule: Rule,
    decided: BTreeSet<(usize, usize)>,
}

impl Race {
    /// A race of so many settings.
    pub fn new(settings: usize, clusters: Vec<Cluster>, rule: Rule) -> Self {
        Race {
            schedule: Schedule::new(clusters.len(), rule.false_drops),
            clusters,
            figures: Figures::default(),
            fates: vec![Fate::Racing; settings],
            done: vec![0; settings],
            rounds: Vec::new(),
            rule,
            decided: BTreeSet::new(),
        }
    }

    /// The settings that are not dropped.
    pub fn racing(&self) -> Vec<usize> {
        (0..self.fates.len()).filter(|at| self.fates[*at] == Fate::Racing).collect()
    }

    /// The settings whose place is not decided against some other one.
    pub fn unsettled(&self) -> Vec<usize> {
        let racing = self.racing();
        let open = |a: usize, b: usize| a != b && !self.decided.contains(&(a.min(b), a.max(b)));
        racing.iter().copied().filter(|a| racing.iter().any(|b| open(*a, *b))).collect()
    }

    /// The cells that come next, within what can be afforded: first the
    /// settings that are not settled, up to the next look, then the others.
    pub fn next(&self, affordable: Option<u64>) -> Next {
        let left = |settings: Vec<usize>| -> Vec<usize> {
            settings.into_iter().filter(|at| self.done[*at] < self.clusters.len()).collect()
        };
        let racing = self.racing();
        // Nothing is left to be compared with.
        if racing.len() < 2 {
            return Next::Over;
        }
        let (undecided, is_open) = match left(self.unsettled()) {
            open if open.is_empty() => (left(racing.clone()), false),
            open => (open, true),
        };
        let Some(from) = undecided.iter().map(|at| self.done[*at]).min() else {
            return Next::Over;
        };
        let settings: Vec<usize> =
            undecided.into_iter().filter(|at| self.done[*at] == from).collect();
        let look = self.schedule.looks.iter().copied().find(|look| *look > from);
        let to = look.filter(|_| is_open).unwrap_or(self.clusters.len());
        let each = settings.len() as u64;
        let fits = |to: &usize| {
            let cells = each * sessions(&self.clusters[from..*to]) as u64;
            affordable.is_none_or(|most| cells <= most)
        };
        match (from + 1..=to).rev().find(fits) {
            Some(to) => Next::Work(Work { settings, from, to }),
            None => Next::TooDear,
        }
    }

    /// Number of cells of some work.
    pub fn cells(&self, work: &Work) -> u64 {
        work.settings.len() as u64 * sessions(&self.clusters[work.from..work.to]) as u64
    }

    /// Takes the figures of a round, and drops what is shown to be dominated.
    pub fn close(&mut self, work: Work, figures: Vec<(usize, SessionFigures)>) {
        let number = self.rounds.len() + 1;
        for (setting, figures) in figures {
            if let Some(why) = figures.failed.first()
                && self.fates[setting] == Fate::Racing
            {
                let why = format!("{}: {why}", figures.transcript);
                self.fates[setting] = Fate::Failed { round: number, why };
            }
            self.figures.add(setting, figures);
        }
        work.settings.iter().for_each(|at| self.done[*at] = work.to);
        let compared = self.schedule.looks.contains(&work.to);
        let dropped = match self.schedule.level.filter(|_| compared) {
            Some(level) => self.compare(work.to, level, number),
            None => Vec::new(),
        };
        let cells = self.cells(&work);
        self.rounds.push(Round { work, cells, dropped, compared });
    }

    /// Compares the settings that are not settled, and returns those that are
    /// dropped.
    fn compare(&mut self, to: usize, level: f64, round: usize) -> Vec<usize> {
        let mut open = self.unsettled();
        open.retain(|at| self.done[*at] == to);
        let shown = Shown::over(&self.figures, &open, &self.clusters[..to], (self.rule, level));
        let mut dropped = Vec::new();
        // The author's setting is the first: of two that are the same within the
        // margin it stays.
        for a in (0..open.len()).rev() {
            let fates = &self.fates;
            let stays = |b: &usize| fates[open[*b]] == Fate::Racing && !self.waits(open[*b], to);
            let by = (0..open.len()).filter(|b| *b != a).filter(stays);
            if let Some(by) = by.into_iter().find(|b| shown.dominates(*b, a)) {
                self.fates[open[a]] = Fate::Dropped { round, by: open[by] };
                dropped.push(open[a]);
            }
        }
        for a in 0..open.len() {
            for b in a + 1..open.len() {
                if shown.trades(a, b) {
                    self.decided.insert((open[a].min(open[b]), open[a].max(open[b])));
                }
            }
        }
        dropped.sort_unstable();
        dropped
    }

    /// Whether a setting lets people wait longer than is allowed, as far as is
    /// known.
    pub fn waits(&self, setting: usize, to: usize) -> bool {
        let Some(most) = self.rule.max_wait else { return false };
        self.figures.wait_p95(setting, &self.clusters[..to]).is_none_or(|wait| wait > most)
    }
}

/// What is shown of every ordered pair of settings.
struct Shown {
    n: usize,
    keeps_more: Vec<bool>,
    keeps_no_less: Vec<bool>,
    costs_less: Vec<bool>,
    costs_no_more: Vec<bool>,
}

impl Shown {
    fn over(
        figures: &Figures,
        settings: &[usize],
        clusters: &[Cluster],
        (rule, level): (Rule, f64),
    ) -> Self {
        let n = settings.len();
        let quality: Vec<Vec<(f64, f64)>> = settings
            .iter()
            .map(|at| {
                let pooled = figures.quality(*at, clusters);
                pooled.groups().iter().flatten().map(|v| (v.value, v.weight)).collect()
            })
            .collect();
        let dollars: Vec<Vec<f64>> = settings
            .iter()
            .map(|at| {
                let known = figures.dollars(*at, clusters);
                known.groups().iter().map(|c| c.iter().map(|v| v.value).sum()).collect()
            })
            .collect();
        let kept = |a: usize, b: usize, margin: f64| -> Vec<f64> {
            let both = quality[a].iter().zip(&quality[b]);
            both.map(|((own, weight), (other, _))| weight * (other - own + margin)).collect()
        };
        let saved = |a: usize, b: usize, margin: f64| -> Vec<f64> {
            let both = dollars[a].iter().zip(&dollars[b]);
            both.map(|(own, other)| own * (1.0 + margin) - other).collect()
        };
        let [keeps_more, keeps_no_less] = tested(&quality, n, &kept, (rule, level));
        let [costs_less, costs_no_more] = tested(&dollars, n, &saved, (rule, level));
        Shown { n, keeps_more, keeps_no_less, costs_less, costs_no_more }
    }

    fn at(&self, a: usize, b: usize) -> usize {
        a * self.n + b
    }

    /// Whether b dominates a.
    fn dominates(&self, b: usize, a: usize) -> bool {
        let at = self.at(a, b);
        let no_less = self.keeps_no_less[at] || self.keeps_more[at];
        let no_more = self.costs_no_more[at] || self.costs_less[at];
        no_less && no_more && (self.keeps_more[at] || self.costs_less[at])
    }

    /// Whether one keeps more and the other costs less.
    fn trades(&self, a: usize, b: usize) -> bool {
        let (to_b, to_a) = (self.at(a, b), self.at(b, a));
        (self.keeps_more[to_b] && self.costs_less[to_a])
            || (self.keeps_more[to_a] && self.costs_less[to_b])
    }
}

/// For every ordered pair, row by row: whether the difference is shown to be
/// above zero, and whether it is with the margin added. All are tested together.
/// Settings that do not have the same clusters show nothing.
fn tested<T>(
    known: &[Vec<T>],
    n: usize,
    difference: &dyn Fn(usize, usize, f64) -> Vec<f64>,
    (rule, level): (Rule, f64),
) -> [Vec<bool>; 2] {
    let alike = known.windows(2).all(|pair| pair[0].len() == pair[1].len());
    if !alike {
        return [vec![false; n * n], vec![false; n * n]];
    }
    let margins = [0.0, rule.margin];
    let rows = margins.iter().flat_map(|margin| {
        (0..n * n).map(move |at| match (at / n, at % n) {
            (a, b) if a == b => Vec::new(),
            (a, b) => difference(a, b, *margin),
        })
    });
    let rows: Vec<Vec<f64>> = rows.collect();
    let mut shown = shown_above_zero(&rows, level, rule.seed);
    let with_margin = shown.split_off(n * n);
    [shown, with_margin]
}
