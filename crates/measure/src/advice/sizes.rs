//! The figures of each strategy at contexts of each size.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{clusters, weighed};
use crate::statistics::{Clusters, quantile};
use crate::waiting::km_median;
use recap_core::model::{Cut, CutBill, CutRow, Estimate, RowKind, SizeFigures};

use super::Inputs;

/// The first size ends here, in tokens; each further one ends at twice as many.
const SMALLEST: u64 = 4_000;

/// The figures of a strategy at one size, with what each session kept.
pub(super) struct BySize {
    /// The figures.
    pub figures: SizeFigures,
    /// Share of the facts that is kept, by position of the session.
    pub shares: BTreeMap<usize, f64>,
    /// Facts of these sessions.
    pub weights: BTreeMap<usize, f64>,
}

/// Everything that was tried with a strategy, by size.
struct Strategy {
    row_kind: RowKind,
    sizes: BTreeMap<(u64, u64), Group>,
}

/// Everything that was tried with a strategy at one size.
#[derive(Default)]
struct Group {
    tried: Vec<Tried>,
    /// Facts of each class that are not kept, and all of them.
    missing: BTreeMap<&'static str, (u64, u64)>,
}

/// A compaction that was forced.
struct Tried {
    /// Position of its session in the facts of the run.
    session: usize,
    /// The request that the cut stands before.
    request: u32,
    tokens_before: u64,
    /// Requests after the cut that were replayed, and all that were still to come.
    replayed: u32,
    left: u32,
    compactions: u32,
    window: u64,
    blocking_ms: Option<f64>,
    /// Facts that are kept, and all of them.
    kept: u32,
    facts: u32,
    /// Tokens after the cut / before it.
    tokens: f64,
    /// Nothing where a price is unknown.
    money: Option<Money>,
}

/// What a compaction is worth by the end of its session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Money {
    /// Dollars saved.
    pub saving: f64,
    /// Requests until it has saved what it cost; nothing where it never does.
    pub break_even: Option<f64>,
}

/// The money of a compaction that is followed by `left` requests, of which
/// `replayed` were replayed with and without it. Behind these it goes on saving
/// at its mean rate per request:
///
/// saving = `without` − `with` − `call` + rate × (left − replayed)
///
/// The break-even is the request at which the replayed bills met, if the one with
/// the compaction is still no higher where the replay ends, else the one at which
/// they would meet at that rate.
pub(super) fn money(bill: &CutBill, replayed: u32, left: u32) -> Option<Money> {
    let replayed_saving = bill.without_usd? - bill.with_usd? - bill.compactions_usd?;
    let rate = bill.saved_per_request_usd?;
    let met = bill.pays_after.filter(|_| replayed_saving >= 0.0).map(f64::from);
    let later = || (rate > 0.0).then(|| f64::from(replayed) + (-replayed_saving / rate).ceil());
    Some(Money {
        saving: replayed_saving + rate * f64::from(left.saturating_sub(replayed)),
        break_even: met.or_else(later),
    })
}

/// Lower and upper bound of the size that a context has, in tokens.
pub(super) fn bounds(tokens: u64) -> (u64, u64) {
    let mut to = SMALLEST;
    while tokens >= to {
        to *= 2;
    }
    (if to == SMALLEST { 0 } else { to / 2 }, to)
}

/// The figures of every strategy without controls by size, ascending, and where it
/// stands. Cuts of runs that did not count the requests to come are left out.
pub(super) fn by_size(inputs: Inputs<'_>) -> BTreeMap<String, (RowKind, Vec<BySize>)> {
    let mut strategies: BTreeMap<String, Strategy> = BTreeMap::new();
    for session in inputs.results.iter() {
        let Some(at) = inputs.position(session.dataset, session.id) else { continue };
        for cut in session.cuts() {
            for row in cut.rows.iter().filter(|row| row.row_kind != RowKind::Control) {
                let new = || Strategy { row_kind: row.row_kind, sizes: BTreeMap::new() };
                let strategy = strategies.entry(row.strategy.clone()).or_insert_with(new);
                if let Some(tried) = tried(at, cut, row) {
                    let size = strategy.sizes.entry(bounds(cut.tokens_before)).or_default();
                    size.add(cut, row, tried);
                }
            }
        }
    }
    let figures = |Strategy { row_kind, sizes }: Strategy| {
        let sizes = sizes.into_iter().map(|(size, group)| figures(inputs, size, group));
        (row_kind, sizes.collect())
    };
    strategies.into_iter().map(|(name, strategy)| (name, figures(strategy))).collect()
}

impl Group {
    fn add(&mut self, cut: &Cut, row: &CutRow, tried: Tried) {
        let states = row.exam().into_iter().flat_map(|exam| &exam.states);
        for (fact, state) in cut.facts.iter().zip(states) {
            let (missing, all) = self.missing.entry(fact.class.as_str()).or_default();
            *missing += u64::from(!state.is_kept());
            *all += 1;
        }
        self.tried.push(tried);
    }
}

fn tried(session: usize, cut: &Cut, row: &CutRow) -> Option<Tried> {
    // A row that does not fit its cut is from another version of the data.
    let exam = row.exam().filter(|exam| exam.states.len() == cut.facts.len())?;
    let left = cut.left?;
    let money = match exam.compactions {
        0 => Some(Money { saving: 0.0, break_even: None }),
        _ => exam.bills.first().and_then(|bill| money(bill, cut.requests, left)),
    };
    Some(Tried {
        session,
        request: cut.request,
        tokens_before: cut.tokens_before,
        replayed: cut.requests,
        left,
        compactions: exam.compactions,
        window: exam.window,
        blocking_ms: exam.blocking_ms,
        kept: exam.states.iter().filter(|state| state.is_kept()).count() as u32,
        facts: exam.states.len() as u32,
        tokens: exam.tokens_after as f64 / cut.tokens_before as f64,
        money,
    })
}

fn figures(inputs: Inputs<'_>, (from, to): (u64, u64), group: Group) -> BySize {
    let (seed, facts) = (inputs.manifest.seed, inputs.facts);
    let Group { tried, missing } = group;
    let acted: Vec<&Tried> = tried.iter().filter(|one| one.compactions > 0).collect();
    let paid: Vec<Money> = acted.iter().filter_map(|one| one.money).collect();
    let waits = paid.iter().map(|money| match money.break_even {
        Some(requests) => (requests, true),
        None => (f64::INFINITY, false),
    });
    let back = paid.iter().filter(|money| money.saving >= 0.0).count();
    let (shares, weights) = kept(&tried);
    let pooled = weighed(facts, &shares, &weights);
    let sessions: BTreeSet<usize> = tried.iter().map(|one| one.session).collect();
    let of = |value: fn(&Tried) -> f64| median(tried.iter().map(value)).unwrap_or(0.0);
    let figures = SizeFigures {
        from,
        to,
        tokens: of(|one| one.tokens_before as f64).round() as u64,
        window: median(acted.iter().map(|one| one.window as f64)).map(|window| window as u64),
        cuts: cuts(tried.iter()),
        compacted: cuts(acted.iter().copied()),
        sessions: sessions.len() as u64,
        freed: median(acted.iter().map(|one| 1.0 - one.tokens)),
        requests_left: of(|one| f64::from(one.left)),
        extrapolated: cuts(tried.iter().filter(|one| one.left > one.replayed)),
        saving_usd: estimate(&clusters(facts, &savings(&tried)), seed),
        paid_back: (!paid.is_empty()).then(|| back as f64 / paid.len() as f64),
        break_even_requests: km_median(&waits.collect::<Vec<_>>()),
        facts: weights.values().sum::<f64>().round() as u64,
        kept: estimate(&pooled, seed).map(|kept| Estimate {
            lo: kept.lo.clamp(0.0, 1.0),
            hi: kept.hi.clamp(0.0, 1.0),
            ..kept
        }),
        missing,
        wait_ms: median(tried.iter().filter_map(|one| one.blocking_ms)),
    };
    BySize { figures, shares, weights }
}

/// Number of cuts; repetitions of a compaction are at the same one.
fn cuts<'a>(tried: impl Iterator<Item = &'a Tried>) -> u64 {
    tried.map(|one| (one.session, one.request)).collect::<BTreeSet<_>>().len() as u64
}

/// Mean saving of each session. Sessions with an unknown price are left out.
fn savings(tried: &[Tried]) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, Option<(f64, f64)>> = BTreeMap::new();
    for one in tried {
        let sum = sums.entry(one.session).or_insert(Some((0.0, 0.0)));
        *sum = sum.zip(one.money).map(|((sum, n), money)| (sum + money.saving, n + 1.0));
    }
    sums.into_iter().filter_map(|(session, sum)| sum.map(|(sum, n)| (session, sum / n))).collect()
}

/// Share of the facts that each session keeps, and how many there are;
/// repetitions have the same facts.
fn kept(tried: &[Tried]) -> (BTreeMap<usize, f64>, BTreeMap<usize, f64>) {
    let mut counts: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let mut facts: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    for one in tried.iter().filter(|one| one.facts > 0) {
        let (kept, all) = counts.entry(one.session).or_default();
        *kept += f64::from(one.kept);
        *all += f64::from(one.facts);
        facts.insert((one.session, one.request), f64::from(one.facts));
    }
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for ((session, _), facts) in facts {
        *weights.entry(session).or_default() += facts;
    }
    let share = |(session, (kept, all)): (usize, (f64, f64))| (session, kept / all);
    (counts.into_iter().map(share).collect(), weights)
}

/// The mean over clusters with its interval, or with the lowest and the highest
/// cluster where there are fewer than six; nothing without clusters.
pub(super) fn estimate(clusters: &Clusters, seed: u64) -> Option<Estimate> {
    let means = clusters.means();
    let described = means.first().copied().zip(means.last().copied())?;
    let interval = clusters.confidence(seed).map(|confidence| confidence.bounds());
    let (lo, hi) = interval.map_or(described, |bounds| (bounds.lo, bounds.hi));
    let (value, clusters) = (clusters.mean(), clusters.n() as u64);
    Some(Estimate { value, lo, hi, tested: interval.is_some(), clusters })
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile(&sorted, 0.5))
}
